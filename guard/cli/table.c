#include "guard/cli/table.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"

/* Columns for the last cell: with fewer, and fewer than it needs, a row takes
 * several lines, the later ones indented. */
#define LAST_MIN 16u
#define FOLD_INDENT 4u

void table_add(struct table *t, const char *const *cells, size_t count)
{
	size_t i;

	t->columns = count;
	for (i = 0; i < count; i++)
		*VEC_ADD(&t->cells) = mem_strdup(cells[i]);
}

static void add_cell(const struct table *t, const char *cell, size_t column,
		     size_t wide, size_t used, struct buf *row)
{
	size_t room = t->width > used ? t->width - used : 0;
	size_t pad = wide - text_width(cell);

	if (t->right && strlen(t->right) > column && t->right[column] == 'r') {
		buf_printf(row, "%*s%s", (int)pad, "", cell);
		pad = 0;
	} else if (column + 1 == t->columns && text_width(cell) > room &&
		   room >= 4) {
		buf_add(row, cell, text_fit(cell, room - 3));
		buf_add_text(row, "...");
	} else {
		buf_add_text(row, cell);
	}
	if (column + 1 < t->columns)
		buf_printf(row, "%*s", (int)pad + 2, "");
}

static void print_row(const struct table *t, char **cells, const size_t *widths,
		      const char *indent, FILE *to)
{
	AUTO(buf) struct buf row = {0};
	size_t used = text_width(indent), i;

	buf_add_text(&row, indent);
	for (i = 0; i < t->columns; i++) {
		/* A column in which no row has anything takes no room. */
		if (!widths[i])
			continue;
		add_cell(t, cells[i], i, widths[i], used, &row);
		used += widths[i] + 2;
	}
	while (row.len && row.data[row.len - 1] == ' ')
		row.len--;
	(void)fprintf(to, "%s\n", buf_text(&row));
}

/* In as many lines as it takes, no cell parted that has room in one. */
static void print_folded(const struct table *t, char **cells,
			 const char *indent, FILE *to)
{
	AUTO(buf) struct buf row = {0};
	size_t deep = text_width(indent) + FOLD_INDENT;
	size_t at = text_width(indent), i;
	bool fresh = true;

	buf_add_text(&row, indent);
	for (i = 0; i < t->columns; i++) {
		size_t wide = text_width(cells[i]);

		if (!wide)
			continue;
		if (!fresh && at + 2 + wide > t->width) {
			buf_printf(&row, "\n%*s", (int)deep, "");
			at = deep;
		} else if (!fresh) {
			buf_add_text(&row, "  ");
			at += 2;
		}
		/* Nothing begins behind what takes several lines. */
		wide += at;
		at = output_wrap(&row, cells[i], at, deep, t->width);
		at = wide > t->width ? t->width : at;
		fresh = false;
	}
	(void)fprintf(to, "%s\n", buf_text(&row));
}

void table_print(struct table *t, const char *indent, FILE *to)
{
	auto_free size_t *widths =
		mem_zalloc((t->columns + 1) * sizeof(*widths));
	size_t used = text_width(indent), last = 0, i;
	bool fold;

	for (i = 0; i < t->cells.count; i++) {
		size_t len = text_width(t->cells.items[i]);

		if (len > widths[i % t->columns])
			widths[i % t->columns] = len;
	}
	for (i = 0; i < t->columns; i++) {
		if (!widths[i])
			continue;
		used += last ? last + 2 : 0;
		last = widths[i];
	}
	if (!t->width)
		t->width = output_width() ?: TABLE_WHOLE;
	/* Else hardly anything of the last column would be seen. */
	fold = used + (last < LAST_MIN ? last : LAST_MIN) > t->width;
	for (i = 0; i < t->cells.count; i += t->columns)
		if (fold)
			print_folded(t, t->cells.items + i, indent, to);
		else
			print_row(t, t->cells.items + i, widths, indent, to);
}

void table_free(struct table *t)
{
	size_t i;

	for (i = 0; i < t->cells.count; i++)
		free(t->cells.items[i]);
	VEC_FREE(&t->cells);
	*t = (struct table){0};
}
