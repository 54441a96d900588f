/*
 * What a run's output switches on at the terminal, so that it can be switched
 * off when the run leaves it on: alternate screen, hidden cursor, mouse
 * reports, bracketed paste, line drawing characters, colours. Reads along,
 * changes nothing.
 */
#ifndef GUARD_SANDBOX_TTY_TTYMODES_H
#define GUARD_SANDBOX_TTY_TTYMODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct ttymodes {
	enum { TTY_TEXT, TTY_ESC, TTY_CSI, TTY_CHARSET, TTY_STRING } state;
	char prefix; /* of a CSI: one of ? > < =, or 0 */
	unsigned int numbers[16], count;
	uint32_t changed; /* of the known modes: away from the default */
	bool keypad, charset, shifted, colors, insert, region;
	bool other_keys; /* xterm's modifyOtherKeys */
	bool key_set; /* kitty's keyboard flags, */
	unsigned int key_depth; /* and how often they were pushed */
	bool has_query; /* a question that the terminal answers */
	unsigned int status_queries; /* how often with CSI 5 n */
};

void ttymodes_read(struct ttymodes *m, const void *data, size_t len);

/* What brings the terminal back; nothing when nothing was changed. */
void ttymodes_undo(const struct ttymodes *m, struct buf *to);

#endif
