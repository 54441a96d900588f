/*
 * Text for people. File names and contents are untrusted: none of their bytes
 * may reach a terminal as a control sequence, reorder the line or be invisible.
 *
 * Escaped are C0 (line feed and tab only unless kept), DEL, C1, bidi controls,
 * zero-width and other invisible characters as <U+202E>, bytes that are not
 * UTF-8 as \xNN, ESC and other control characters as \x1b. Letters that look
 * like those of ASCII are escaped as <U+0430> in a word that has Latin letters,
 * too; a text in another alphabet stays as it is.
 */
#ifndef GUARD_BASE_TEXT_H
#define GUARD_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "base/timestamp.h"

/* Appends len bytes escaped; keep_lines keeps \n and \t. */
void text_escape(struct buf *to, const void *data, size_t len, bool keep_lines);

/* Appends `part` bytes from `at` on, which are judged as part of all of them: a
 * word does not change where a style begins in it. */
void text_escape_part(struct buf *to, const void *data, size_t all, size_t at,
		      size_t part, bool keep_lines);

/* Appends a name escaped, without quotes. */
void text_escape_name(struct buf *to, const char *name);

/* 'name' in quotes and escaped, for messages. The result is in one of eight
 * buffers of this thread and is valid until the eighth call after it. A name
 * over 400 bytes is shortened in the middle. */
const char *text_quote(const char *name);

/* Appends a word of a command that the user may copy: a shell reads exactly
 * these bytes, but for line feeds at the end. Quoted only where a shell needs
 * it; control and invisible characters are written as printf's \ooo. */
void text_shell_word(struct buf *to, const char *word);
/* The same for messages. Buffers as in text_quote(). */
const char *text_shell(const char *word);

/* Decodes one character (RFC 3629) of at least one byte. Returns its length; 0:
 * invalid bytes. */
size_t text_decode(const void *data, size_t len, uint32_t *ret_c);
/* Appends a character of at most 21 bits. */
void text_encode(struct buf *to, uint32_t c);
/* The small letter of a character, in any script; both small forms of one
 * capital give the same. On machines without C.UTF-8 only of ASCII. */
uint32_t text_lower_case(uint32_t c);
/* Whether a character is invisible, moves others, or is a C1 control. */
bool text_is_invisible(uint32_t c);
/*
 * Whether letters of another alphabet, or in a mathematical or full-width form,
 * pass for letters of ASCII: in one word with Latin ones; in a word of nothing
 * else that is joined with Latin ones by . _ - or / (a host); or as a word in
 * such a form, which Python reads as ASCII.
 */
bool text_has_lookalikes(const void *data, size_t len);
/* Whether the bytes are valid UTF-8 without surrogates and overlong forms. */
bool text_is_utf8(const void *data, size_t len);

/*
 * Columns of an escaped text on a terminal, as wcwidth(3) counts in a UTF-8
 * locale, whatever the caller's locale is: 2 for CJK and emoji, 0 for combining
 * characters. On machines without such a locale, and for bytes that are not
 * UTF-8, each byte counts as one.
 */
size_t text_width(const char *text);

/* Bytes of the longest prefix that takes at most this many columns. A character
 * stays together with its combining characters. */
size_t text_fit(const char *text, size_t columns);

/* "1.4 GB", "12 KB", "310 B": powers of 1000. Buffers as in text_quote(). */
const char *text_size(uint64_t bytes);

/* "2 files", "1 file", "3 entries": count and noun, with 's' or 'ies' for the
 * plural. Buffers as in text_quote(). */
const char *text_count(uint64_t count, const char *noun);

/* "5 min ago", or "in 2 h" when the clock was set back. Buffers as in
 * text_quote(). */
const char *text_age(struct timestamp when);
/* "2026-11-21 14:30:05" in local time. Buffers as in text_quote(). */
const char *text_time(struct timestamp when);
/* As printf(3), cut off at 2,047 bytes. Buffers as in text_quote(). */
const char *text_printf(const char *format, ...)
	__attribute__((format(printf, 1, 2)));
/* "14:30:05.412", or "2026-11-21T14:30:05.412" unless it was today; the digits
 * are cut off, not rounded. Buffers as in text_quote(). */
const char *text_moment(struct timestamp when);

struct text_part {
	uint64_t count;
	const char *name;
};

/* Appends "3 deleted, 1 added"; `none` when every count is 0. */
void text_sum(struct buf *to, const struct text_part *parts, size_t count,
	      const char *none);

/* Decodes \ooo in place. The kernel escapes space, tab, line feed and
 * backslash so in mountinfo. */
void text_unescape_octal(char *text);

/* The length of the line at `at`, without its line feed. at is before end. */
size_t text_line_len(const void *at, const void *end);

/* Copies a line without the blanks around it and without a CR at its end. For
 * the caller to free. */
char *text_trim(const char *text, size_t len);

/* The bytes of exactly 2 * len lower-case hex digits; false: other text. */
bool text_unhex(unsigned char *to, const char *text, size_t len);
/* The lower-case hex digits of at most 1,000 bytes. Buffers as in text_quote().
 */
const char *text_hex(const void *data, size_t len);

#endif
