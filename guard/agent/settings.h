/* members.h in the parsing worker (restore/parse/parse.h): an agent's settings
 * were written by a run. */
#ifndef GUARD_AGENT_SETTINGS_H
#define GUARD_AGENT_SETTINGS_H

#include "base/err.h"
#include "guard/agent/members.h"

/* As members_compare(). False, too, if the worker fails. */
bool settings_compare(const struct members *m, const struct buf *before,
		      const struct buf *now, members_visit *each, void *arg);

/* As members_undo(). -EPROTO and other errors: the worker failed. 1: the new
 * text is appended; 0: no member goes back. */
int settings_undo(const struct members *m, const struct buf *before,
		  const struct buf *after, const struct buf *now,
		  struct buf *ret, struct err *err);

/* As redact_merge(), for the file with this name. 1: the new copy is appended;
 * 0: it has the secrets; a negative errno: the files differ too much, or the
 * worker failed. */
int settings_merge(const char *name, const struct buf *real,
		   const struct buf *copy, struct buf *ret, struct err *err);

/* As members_add(). 1; 0: nothing is to be added; a negative errno: the worker
 * failed. */
int settings_add(const char *file, const struct buf *text, const char *wanted,
		 const char *project, struct buf *ret, struct err *err);

/* As members_value_is(). False, too, if the worker fails. */
bool settings_member_is(const struct buf *text, const char *key,
			const char *value);

/* As members_texts(). If the worker fails, the complete file. */
void settings_texts(const struct members *m, struct buf *file,
		    void (*each)(void *arg, const char *text), void *arg);

#endif
