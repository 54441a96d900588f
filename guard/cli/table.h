/*
 * Columns of text that line up, for people.
 */
#ifndef GUARD_CLI_TABLE_H
#define GUARD_CLI_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/vec.h"

#define TABLE_WHOLE SIZE_MAX

struct table {
	size_t columns; /* in each row */
	size_t width; /* rows are cut to so many columns, and go over several
			 lines where that would leave nothing of the last one;
			 0: those of the terminal, TABLE_WHOLE: no row is cut */
	const char *right; /* a letter a column, 'r': numbers end where the
			      widest does; NULL: none */
	VEC(char *) cells;
};

/* A row: as many texts as the other rows have, copied; already escaped. */
#define table_row(t, ...)                                                      \
	table_add(t, (const char *const[]){__VA_ARGS__},                       \
		  ARRAY_SIZE(((const char *const[]){__VA_ARGS__})))
void table_add(struct table *t, const char *const *cells, size_t count);
/* indent: printed in front of every row. The last column is not padded, a row
 * has no spaces at its end. */
void table_print(struct table *t, const char *indent, FILE *to);
void table_free(struct table *t);

#endif
