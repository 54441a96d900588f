/* One line of the record of a review, for decisions.c and its tests. */
#ifndef GUARD_REVIEW_DECISIONS_PRIVATE_H
#define GUARD_REVIEW_DECISIONS_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

#define DECISION_KEY_LEN 16

struct decision {
	char act;
	size_t root;
	unsigned char key[DECISION_KEY_LEN];
	char *part, *path;
	char *text; /* of an edited hunk, or of a conflict; else NULL */
};

/* Frees the texts. */
void decision_free(struct decision *a);
/* Appends the line with its line feed. */
void decision_encode(const struct decision *a, struct buf *to);
/* Decodes a line without its line feed; false: not a valid line. *ret is to be
 * freed with decision_free(). */
bool decision_decode(const char *line, size_t len, struct decision *ret);

#endif
