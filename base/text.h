/*
 * Text for people. Names come from strangers: whatever a name or a file's
 * bytes hold, none of it may reach a terminal as a control sequence, reorder
 * the line or hide.
 *
 * Escaped: C0 (line feed and tab too, unless kept), DEL, C1, bidi controls,
 * zero-width and other invisible characters as <U+202E>, bytes that are not
 * UTF-8 as \xNN, ESC and its kin as \x1b.
 */
#ifndef GUARD_BASE_TEXT_H
#define GUARD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Appends len bytes escaped; keep_lines leaves \n and \t as they are. */
void text_escape(struct buf *to, const void *data, size_t len, bool keep_lines);

/*
 * 'name' in quotes, escaped: for messages. The result lies in one of eight
 * buffers of this thread and holds until the eighth call after it; a name
 * over 400 bytes is cut in the middle.
 */
const char *text_quote(const char *name);

/* Whether the bytes are valid UTF-8 (no surrogates, no overlong forms). */
bool text_is_utf8(const void *data, size_t len);

/*
 * Columns that an escaped text takes on a terminal, as wcwidth(3) has it in a
 * UTF-8 locale: 2 for CJK and emoji, 0 for what is put over the character
 * before; whatever locale the caller is in. Where the machine has no such
 * locale, or bytes are no UTF-8, each counts as one.
 */
size_t text_width(const char *text);

/* Bytes of the longest start of a text that takes at most so many columns; no
 * character is parted from what is put over it. */
size_t text_fit(const char *text, size_t columns);

/*
 * Appends the text in lines of so many columns at most, broken at blanks; a
 * word that is longer is left whole. The first line begins in column `at`, each
 * further one with `indent` blanks. width 0, or no wider than the indent: one
 * line. Returns the column behind it.
 */
size_t text_wrap(struct buf *to, const char *text, size_t at, size_t indent,
		 size_t width);

/* "1.4 GB", "12 KB", "310 B": powers of 1000; the buffers as above. */
const char *text_size(uint64_t bytes);

/* "2 files", "1 file": count and noun, plural by 's'; buffers as above. */
const char *text_count(uint64_t count, const char *noun);

struct text_part {
	uint64_t count;
	const char *name;
};

/* Appends "3 deleted, 1 added", or none where every count is 0. */
void text_sum(struct buf *to, const struct text_part *parts, size_t count,
	      const char *none);

/* A line of a file without blanks around it, nor a CR at its end. To free. */
char *text_trim(const char *text, size_t len);

#endif
