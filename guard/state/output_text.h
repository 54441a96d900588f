/*
 * Texts for people, in a buffer of the caller or of their own; the module
 * prints nothing. Names are escaped, so that no raw byte of a run reaches the
 * terminal.
 */
#ifndef GUARD_STATE_OUTPUT_TEXT_H
#define GUARD_STATE_OUTPUT_TEXT_H

#include "base/mem.h"
#include "base/meta.h"

/* Appends the escaped name, without quotes. */
void output_name(struct buf *to, const char *name);
/* Appends the escaped texts of a NULL-terminated list, with ", " between
 * them. */
void output_list(struct buf *to, char *const *texts);
/* Appends an absolute path as a user in the directory `here` types it: relative
 * when it is below `here`. */
void output_path(struct buf *to, const char *path, const char *here);
/* Appends the first 60 columns of a name and "...": for commands in lists. */
void output_truncated(struct buf *to, const char *text);

/* "5 min ago", or "in 2 h" when the clock was set back. The text is in one of
 * eight buffers, as of text_quote(). */
const char *output_age(struct timestamp when);
/* "2026-11-21 14:30:05" in local time, in a buffer like that of
 * output_age(). */
const char *output_time(struct timestamp when);

#endif
