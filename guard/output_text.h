/*
 * Texts for people, appended to a buffer or in a buffer of their own: nothing
 * here prints. Names are escaped, so that no byte of a run reaches the terminal
 * as it is.
 */
#ifndef GUARD_OUTPUT_TEXT_H
#define GUARD_OUTPUT_TEXT_H

#include "base/mem.h"
#include "base/meta.h"

/* Appends the escaped name, without quotes. */
void output_name(struct buf *to, const char *name);
/* Escaped texts of a list ended by NULL, ", " between them. */
void output_list(struct buf *to, char *const *texts);
/* An absolute path as one types it in the folder `here`: what lies below it
 * without it in front. */
void output_path(struct buf *to, const char *path, const char *here);
/* A name, "..." behind the first 60 columns: commands in lists. */
void output_truncated(struct buf *to, const char *text);

/* "5 min ago", "in 2 h" for odd clocks; buffer of eight as in text_quote(). */
const char *output_age(struct timestamp when);
/* "2026-11-21 14:30:05", local time; the same kind of buffer. */
const char *output_time(struct timestamp when);

#endif
