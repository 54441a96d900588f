#include "guard/table.h"

#include <stdlib.h>

#include "base/mem.h"

/* Characters, not bytes; those of double width are not known here. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

void table_row(struct table *t, const char *const *cells)
{
	size_t i;

	for (i = 0; i < t->columns; i++) {
		GROW(t->cells, t->count, t->room);
		t->cells[t->count++] = mem_strdup(cells[i]);
	}
}

void table_print(const struct table *t, const char *indent, FILE *to)
{
	size_t *widths = mem_zalloc((t->columns + 1) * sizeof(*widths));
	size_t i;

	for (i = 0; i < t->count; i++) {
		size_t len = width(t->cells[i]);

		if (len > widths[i % t->columns])
			widths[i % t->columns] = len;
	}
	for (i = 0; i < t->count; i++) {
		size_t column = i % t->columns;

		if (column == 0)
			(void)fputs(indent, to);
		(void)fputs(t->cells[i], to);
		if (column + 1 == t->columns)
			(void)fputc('\n', to);
		else
			(void)fprintf(
				to, "%*s",
				(int)(widths[column] + 2 - width(t->cells[i])),
				"");
	}
	free(widths);
}

void table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		free(t->cells[i]);
	free(t->cells);
	*t = (struct table){0};
}
