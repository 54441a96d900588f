#include "guard/cli/diffshow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/changes.h"
#include "guard/jsonout.h"
#include "guard/cli/difftext.h"
#include "guard/cli/output.h"
#include "guard/resolve_run.h"

static int by_kind(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return path_compare(x->path, y->path);
}

/* Terminal lines for a command: one with a complete script would hide the
 * result. */
#define COMMAND_LINES 3u
#define CUT_MARK "..."

static void add_command(const char *command, struct buf *to)
{
	AUTO(buf) struct buf all = {0};
	size_t columns = output_width() * COMMAND_LINES, len;

	buf_add_text(&all, "$ ");
	output_name(&all, command);
	len = all.len;
	if (columns > strlen(CUT_MARK) && text_width(buf_text(&all)) > columns)
		len = text_fit(buf_text(&all), columns - strlen(CUT_MARK));
	buf_add(to, buf_text(&all), len);
	if (len < all.len)
		buf_add_text(to, CUT_MARK);
}

void diffshow_head(const struct session *s, struct buf *to)
{
	buf_printf(to, "%srun %s%s  %s  started %s", output_style(STYLE_BOLD),
		   s->id, output_style(STYLE_NONE), resolve_run_state_text(s),
		   output_age(s->started));
	if (s->status >= 0)
		buf_printf(to, ", exit status %d", s->status);
	buf_add_char(to, '\n');
	add_command(s->command ? s->command : "", to);
	buf_add_text(to, "\nin ");
	output_name(to, s->project);
	buf_add_text(to, ": ");
}

void diffshow_sort(struct change_list *list)
{
	VEC_SORT(list, by_kind);
}

void diffshow_texts(const struct changes_root *g)
{
	const struct change_list *list = &g->list;
	AUTO(buf) struct buf heading = {0};
	size_t i;

	/* Paths in patches are relative to the root, as patch(1) takes them. */
	output_name(&heading, g->prefix);
	if (heading.len && !g->home && list->count)
		(void)printf("\n%sIn %s%s\n", output_style(STYLE_BOLD),
			     buf_text(&heading), output_style(STYLE_NONE));

	for (i = 0; i < list->move_count && !output_has_failed(); i++)
		if (!list->moves[i].half)
			difftext_print_move(&list->moves[i], g);
	for (i = 0; i < list->count && !output_has_failed(); i++) {
		const struct change *c = &list->items[i];

		if (c->flags & CHANGES_NOISE ||
		    (c->kind == CHANGE_ADDED && changes_is_moved(list, c)) ||
		    (g->home ? changes_is_cache(c->path)
			     : (c->flags & CHANGE_GIT) != 0))
			continue;
		difftext_print(c, g);
	}
}

static void add_line_counts(const struct difftext_stat *n, struct buf *to)
{
	buf_printf(to, "  %s+%zu%s %s-%zu%s", output_style(STYLE_ADDED),
		   n->added, output_style(STYLE_NONE),
		   output_style(STYLE_DELETED), n->removed,
		   output_style(STYLE_NONE));
}

static void stat_moves(const struct changes_root *g)
{
	const struct change_list *list = &g->list;
	size_t i;

	for (i = 0; i < list->move_count && !output_has_failed(); i++) {
		const struct change_move *m = &list->moves[i];
		struct difftext_stat n = {0};
		AUTO(buf) struct buf b = {0};

		if (m->half || m->with_dir)
			continue;
		changes_move_text(m, g->prefix, output_width(), &b);
		if (m->percent < 100)
			difftext_count_move(m, g, &n);
		if (n.text)
			add_line_counts(&n, &b);
		(void)printf("R  %s\n", buf_text(&b));
	}
}

static void print_stat(const struct changes_root *g)
{
	const struct change_list *list = &g->list;
	bool moves = false;
	size_t i;

	for (i = 0; i < list->count && !output_has_failed(); i++) {
		const struct change *c = &list->items[i];
		AUTO(buf) struct buf b = {0};
		struct difftext_stat n;

		if (!moves && c->kind != CHANGE_DELETED) {
			moves = true;
			stat_moves(g);
		}
		if (changes_is_moved(list, c))
			continue;
		output_name(&b, g->prefix);
		output_name(&b, c->path);
		difftext_count(c, g, &n);
		if (n.text)
			add_line_counts(&n, &b);
		else
			changes_detail(c, &b);
		(void)printf("%c  %s\n", changes_letter(c->kind), buf_text(&b));
	}
}

void diffshow_lines(const struct changes_root *g, enum diff_form form)
{
	size_t i;

	if (form == FORM_STAT) {
		print_stat(g);
		return;
	}
	for (i = 0; i < g->list.count; i++) {
		const struct change *c = &g->list.items[i];
		AUTO(buf) struct buf b = {0};

		if (form == FORM_RAW) {
			(void)printf("%c%c%s%s%c", changes_letter(c->kind),
				     '\0', g->prefix, c->path, '\0');
			continue;
		}
		output_name(&b, g->prefix);
		output_name(&b, c->path);
		if (form == FORM_NAME_STATUS)
			(void)printf("%c\t", changes_letter(c->kind));
		(void)printf("%s\n", buf_text(&b));
	}
}

void diffshow_json(const struct change_list *list, const char *key,
		   struct jsonstream *to)
{
	size_t i;

	jsonstream_open(to, key, '[');
	for (i = 0; i < list->count && !output_has_failed(); i++)
		jsonstream_put(to, NULL, jsonout_change(list, &list->items[i]));
	jsonstream_close(to, ']');
}

void diffshow_moves(const struct changes_root *g, const char *heading,
		    struct jsonstream *to)
{
	size_t i;

	for (i = 0; i < g->list.move_count; i++) {
		const struct change_move *m = &g->list.moves[i];
		json_t *object;

		if (m->half || m->with_dir)
			continue;
		object = jsonout_move(m);
		(void)json_object_set_new(object, "home",
					  json_boolean(g->home));
		jsonout_text(object, "folder", heading);
		jsonstream_put(to, NULL, object);
	}
}

json_t *diffshow_counts(const struct change_list *list)
{
	struct change_counts n;

	changes_count(list, &n);
	return jsonout_counts(&n);
}
