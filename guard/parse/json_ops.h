/*
 * The operations of the parsing worker that read settings of agents.
 *
 * Answers, with the numbers of base/codec.h:
 *
 *	members	u8: 1 if both are JSON or TOML, else 0; then for each member
 *		that differs: u8 letter, text name
 *	member	texts that may name a command
 *	texts
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

#endif
