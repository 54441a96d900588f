#include "guard/parse/parse_table.h"

#include "guard/parse/json_ops.h"
#include "restore/git/git_ops.h"

const struct parse_row parse_table[PARSE_OPS] = {
	[PARSE_DIFF] = {git_ops_diff, 3},
	[PARSE_MERGE] = {git_ops_merge, 4},
	[PARSE_BINARY] = {git_ops_binary, 2},
	[PARSE_SIMILAR] = {git_ops_similar, 2},
	[PARSE_SIGN] = {git_ops_sign, 2},
	[PARSE_COMPARE] = {git_ops_compare, 1},
	[PARSE_MEMBERS] = {json_ops_members, 3},
	[PARSE_MEMBER_TEXTS] = {json_ops_member_texts, 2},
	[PARSE_MEMBERS_UNDO] = {json_ops_members_undo, 4},
	[PARSE_MEMBERS_MERGE] = {json_ops_members_merge, 3},
	[PARSE_MEMBERS_ADD] = {json_ops_members_add, 4},
	[PARSE_MEMBER_IS] = {json_ops_member_is, 3},
	[PARSE_JSON_LINES] = {json_ops_lines, 1},
};
