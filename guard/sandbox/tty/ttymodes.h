/*
 * Terminal modes that a run's output switches on, so that guard can switch off
 * those that it leaves on: alternate screen, hidden cursor, mouse reports,
 * bracketed paste, line drawing characters, colors. The output itself is not
 * changed.
 */
#ifndef GUARD_SANDBOX_TTY_TTYMODES_H
#define GUARD_SANDBOX_TTY_TTYMODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct ttymodes {
	enum { TTY_TEXT, TTY_ESC, TTY_CSI, TTY_CHARSET, TTY_STRING } state;
	char prefix; /* of a CSI sequence: ? > < = or 0 */
	unsigned int numbers[16], count;
	uint32_t changed; /* bits of known modes that differ from the default */
	bool keypad, charset, shifted, colors, insert, region;
	bool other_keys; /* xterm's modifyOtherKeys */
	bool key_set; /* kitty's keyboard flags */
	unsigned int key_depth; /* entries on kitty's stack */
	bool has_query; /* the run sent a query that terminals reply to */
	unsigned int status_queries; /* number of queries CSI 5 n */
};

/* Reads a piece of the run's output, which may end inside a sequence. */
void ttymodes_read(struct ttymodes *m, const void *data, size_t len);

/* Appends the sequences that restore the default modes; nothing if no mode was
 * changed. */
void ttymodes_undo(const struct ttymodes *m, struct buf *to);

#endif
