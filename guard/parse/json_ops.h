/*
 * The operations of the parsing worker that read JSON: settings of agents, and
 * files that the rules judge.
 *
 * Answers, with the numbers of base/codec.h:
 *
 *	members	u8: 1 if both are JSON or TOML, else 0; then for each member
 *		that differs: u8 letter, text name
 *	member	texts that may name a command
 *	texts
 *	undo	u8: 1 and the new text; 0: no member goes back
 *	merge	u8: 1 and the new text; 0: the copy has the secrets
 *	add	u8: 1 and the new text; 0: nothing is to be added
 *	is	u8
 *	lines	u8: 1 if it is JSON, else 0; then for each value its path and
 *its text, each with a NUL behind it
 */
#ifndef GUARD_PARSE_JSON_OPS_H
#define GUARD_PARSE_JSON_OPS_H

#include "restore/parse/parse.h"

/* guard/agent/members.h: a struct members as three texts; before, now */
int json_ops_members(const struct parse_text *in, struct buf *ret,
		     struct err *err);
/* The same; the file */
int json_ops_member_texts(const struct parse_text *in, struct buf *ret,
			  struct err *err);
/* The same; before, after, now */
int json_ops_members_undo(const struct parse_text *in, struct buf *ret,
			  struct err *err);
/* guard/agent/members.h: file, wanted members, project */
int json_ops_members_add(const struct parse_text *in, struct buf *ret,
			 struct err *err);
/* guard/agent/redact.h, redact_merge(): the name, the real file, the copy.
 * -EINVAL: they differ too much. */
int json_ops_members_merge(const struct parse_text *in, struct buf *ret,
			   struct err *err);
/* members.h: file, key, value */
int json_ops_member_is(const struct parse_text *in, struct buf *ret,
		       struct err *err);
/* The text. -E2BIG: the answer would be longer than 64 MiB. */
int json_ops_lines(const struct parse_text *in, struct buf *ret,
		   struct err *err);

#endif
