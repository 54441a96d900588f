/*
 * Columns of text that line up, for people.
 */
#ifndef GUARD_CLI_TABLE_H
#define GUARD_CLI_TABLE_H

#include <stddef.h>
#include <stdio.h>

#include "base/vec.h"

struct table {
	size_t columns; /* set before the first row */
	size_t width; /* not 0: rows are cut to so many columns, and go over
			 several lines where that would leave nothing of the
			 last one */
	const char *right; /* a letter a column, 'r': numbers end where the
			      widest does; NULL: none */
	VEC(char *) cells;
};

/* A row: as many texts as there are columns, copied; already escaped. */
void table_row(struct table *t, const char *const *cells);
/* indent: printed in front of every row. The last column is not padded, a row
 * has no spaces at its end. */
void table_print(const struct table *t, const char *indent, FILE *to);
void table_free(struct table *t);

#endif
