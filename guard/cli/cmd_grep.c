#include <inttypes.h>
#include <sys/stat.h>

#include "base/path.h"
#include "base/vec.h"
#include "guard/cli/commands.h"
#include "guard/cli/styled.h"
#include "guard/history/matcher.h"
#include "guard/history/versions.h"
#include "guard/change/resolve_run.h"
#include "snapshot/store/content.h"

/* On a terminal a line is shown as far as this. */
#define SHOWN_MAX 1000

struct grep {
	const struct options *o;
	bool git; /* a .git is searched, too */
	struct matcher matcher;
	struct store *store;
	char *cwd;
	size_t matched, unread;
};

/* A text and the versions that are it. */
struct text {
	struct oid id;
	uint64_t where;
	size_t version; /* one of them */
	bool matches;
};

struct texts {
	struct text *items; /* by id */
	size_t count, capacity;
	uint64_t bytes;
};

static void texts_free(struct texts *t)
{
	free(t->items);
}

/* --- the texts to search --- */

/* A .git is searched only where a path names it: its files are copies. */
static bool is_regular_file(void *arg, const char *path, const struct entry *e)
{
	const struct grep *g = arg;

	return S_ISREG(e->mode) && e->content.type != OBJECT_NONE &&
	       (g->git || !path_has_part(path + 1, ".git"));
}

static int compare_text_ids(const void *x, const void *y)
{
	const struct oid *a = &((const struct text *)x)->id;
	const struct oid *b = &((const struct text *)y)->id;
	int order = memcmp(a->hash, b->hash, sizeof(a->hash));

	if (order)
		return order;
	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->ord != b->ord)
		return a->ord < b->ord ? -1 : 1;
	return (a->len > b->len) - (a->len < b->len);
}

static int compare_text_offsets(const void *a, const void *b)
{
	const struct text *x = *(struct text *const *)a;
	const struct text *y = *(struct text *const *)b;

	return (x->where > y->where) - (x->where < y->where);
}

/* --- searching --- */

static int feed_scanner(void *arg, const void *data, size_t len,
			struct err *err)
{
	struct scanner *s = arg;
	int got = scanner_add(s, data, len, err);

	/* Any number that ends the reading; s->any tells the rest. */
	return got == 1 ? -ECANCELED : got;
}

static int scan_text(struct grep *g, const struct oid *id, struct scanner *s,
		     struct err *err)
{
	int got = content_each_text(g->store, id, feed_scanner, s, err);

	if (got == -ECANCELED)
		return 0;
	if (got == 0)
		got = scanner_end(s, err);
	return got < 0 ? got : 0;
}

/* Finds the texts that match, in their order in the store. */
static void search_all(struct grep *g, const struct versions *v,
		       struct texts *t)
{
	auto_free struct text **order =
		mem_resize(NULL, v->count + 1, sizeof(struct text *));
	uint64_t done = 0;
	size_t kept = 0, i;

	for (i = 0; i < v->count; i++)
		*VEC_ADD(t) = (struct text){.id = v->items[i].entry.content,
					    .version = i};
	VEC_SORT(t, compare_text_ids);
	for (i = 0; i < t->count; i++) {
		if (kept && oid_equal(&t->items[kept - 1].id, &t->items[i].id))
			continue;
		t->items[kept] = t->items[i];
		t->bytes += v->items[t->items[i].version].entry.size;
		kept++;
	}
	t->count = kept;
	for (i = 0; i < t->count; i++) {
		order[i] = &t->items[i];
		order[i]->where = store_position(g->store, &t->items[i].id);
	}
	qsort(order, t->count, sizeof(struct text *), compare_text_offsets);
	for (i = 0; i < t->count; i++) {
		AUTO(scanner) struct scanner s = {.matcher = &g->matcher};
		const struct version *item = &v->items[order[i]->version];
		struct err err;

		if (scan_text(g, &order[i]->id, &s, &err) < 0) {
			progress_pause();
			output_warn("%s of snapshot %" PRIu64 ": %s",
				    text_quote(item->path), item->last,
				    err.text);
			g->unread++;
		}
		order[i]->matches = s.any;
		done += item->entry.size;
		progress_bytes(done, t->bytes);
	}
}

/* --- showing --- */

/* Lines of one path that were printed for a newer version of it. */
struct printed_lines {
	uint64_t *slots; /* numbers of texts, 0: free */
	size_t count, capacity;
};

static void printed_lines_free(struct printed_lines *l)
{
	free(l->slots);
	*l = (struct printed_lines){0};
}

/* True when it was not in there. */
static bool printed_lines_add(struct printed_lines *l, uint64_t number)
{
	size_t i;

	number += !number;
	if (2 * (l->count + 1) > l->capacity) {
		struct printed_lines wider = {
			.capacity = l->capacity ? 4 * l->capacity : 64};

		wider.slots = mem_zalloc(wider.capacity * sizeof(*wider.slots));
		for (i = 0; i < l->capacity; i++)
			if (l->slots[i])
				(void)printed_lines_add(&wider, l->slots[i]);
		printed_lines_free(l);
		*l = wider;
	}
	for (i = number & (l->capacity - 1); l->slots[i];
	     i = (i + 1) & (l->capacity - 1))
		if (l->slots[i] == number)
			return false;
	l->slots[i] = number;
	l->count++;
	return true;
}

struct match_printer {
	struct grep *g;
	struct printed_lines *printed_lines;
	const char *label; /* "12:src/a.c" */
	json_t *matches; /* NULL: text */
};

static int print_or_add_match(void *arg, const struct match *m, struct err *err)
{
	const struct match_printer *s = arg;
	auto_free char *text = mem_strndup(m->line, m->len);

	if (s->matches) {
		json_t *object = json_object();

		jsonout_number(object, "line", m->number);
		jsonout_text(object, "text", text);
		jsonout_add(s->matches, object);
		return 0;
	}
	if (printed_lines_add(s->printed_lines, store_hash_text(text))) {
		AUTO(buf) struct buf b = {0};
		size_t len = m->len, start = m->start, end = m->end;
		bool cut = output_width() && len > SHOWN_MAX;

		if (cut)
			len = SHOWN_MAX;
		start = start < len ? start : len;
		end = end < len ? end : len;
		text_escape_part(&b, m->line, len, 0, start, true);
		if (end > start) {
			buf_add_text(&b, DELETED);
			text_escape_part(&b, m->line, len, start, end - start,
					 true);
			buf_add_text(&b, PLAIN);
		}
		text_escape_part(&b, m->line, len, end, len - end, true);
		if (cut)
			buf_add_text(&b, "...");
		if (s->g->o->numbers)
			styled_line(styled_out(), LINE_ROW, "%s:%" PRIu64 ":%s",
				    s->label, m->number, buf_text(&b));
		else
			styled_line(styled_out(), LINE_ROW, "%s:%s", s->label,
				    buf_text(&b));
	}
	return output_has_failed()
		       ? fail(err, EPIPE, "the reader has closed the pipe")
		       : 0;
}

static int print_one_version(struct grep *g, const struct version *v,
			     struct printed_lines *printed_lines, json_t *array,
			     struct err *err)
{
	AUTO(buf) struct buf label = {0};
	json_auto_t *matches = array ? json_array() : NULL;
	struct match_printer s = {
		.g = g, .printed_lines = printed_lines, .matches = matches};
	AUTO(scanner)
	struct scanner scanner = {
		.matcher = &g->matcher, .each = print_or_add_match, .arg = &s};
	json_t *object;

	if (v->last)
		buf_printf(&label, HUNK "%" PRIu64 PLAIN ":", v->last);
	else
		buf_printf(&label, HUNK "%s" PLAIN ":", g->o->at);
	output_path(&label, v->path, g->cwd);
	s.label = buf_text(&label);
	if (g->o->names && !array) {
		styled_line(styled_out(), LINE_ROW, "%s", s.label);
		return 0;
	}
	if (scan_text(g, &v->entry.content, &scanner, err) < 0)
		return -err->num;
	if (!array) {
		if (scanner.binary)
			styled_line(styled_out(), LINE_ROW,
				    "%s: binary, matches", s.label);
		return 0;
	}
	object = json_object();
	jsonout_text(object, "path", v->path);
	jsonout_number(object, "size", v->entry.size);
	jsonout_number(object, "first", v->first);
	jsonout_time(object, "first_time", v->first_time);
	jsonout_number(object, "last", v->last);
	jsonout_time(object, "last_time", v->last_time);
	jsonout_bool(object, "newest", v->newest);
	jsonout_bool(object, "binary", scanner.binary);
	jsonout_set(object, "matches", TAKE(matches));
	jsonout_add(array, object);
	return 0;
}

static int print_matches(struct grep *g, const struct versions *v,
			 const struct texts *t, struct err *err)
{
	AUTO(printed_lines) struct printed_lines printed_lines = {0};
	json_auto_t *array = g->o->json ? json_array() : NULL;
	const struct version *last = NULL;
	size_t i;

	if (!g->o->json && !g->o->no_pager)
		output_pager_start("grep");
	for (i = 0; i < v->count && !output_has_failed(); i++) {
		const struct version *item = &v->items[i];
		struct text key = {.id = item->entry.content};
		const struct text *text =
			bsearch(&key, t->items, t->count, sizeof(key),
				compare_text_ids);

		if (i && strcmp(v->items[i - 1].path, item->path) != 0)
			printed_lines_free(&printed_lines);
		if (!text->matches)
			continue;
		/* Names: the newest version of each path that has it. */
		if (g->o->names && last &&
		    strcmp(last->path, item->path) == 0 && !array)
			continue;
		last = item;
		g->matched++;
		if (print_one_version(g, item, &printed_lines, array, err) < 0)
			return -err->num;
	}
	if (g->o->json)
		jsonstream_print_list("guard.grep/1", "versions", TAKE(array));
	return 0;
}

static int grep(struct grep *g, struct context *c, char **paths, size_t count,
		struct err *err)
{
	AUTO(versions)
	struct versions v = {
		.want = is_regular_file, .progress = progress_show, .arg = g};
	AUTO(texts) struct texts t = {0};
	size_t i;
	int got;

	g->cwd = path_resolve(".", err);
	if (!g->cwd || context_store(c, STORE_READ, err) < 0)
		return -err->num;
	progress_start("grep");
	got = count ? 0
		    : versions_load(&v, c, g->o->all ? "/" : c->project,
				    g->o->at, err);
	for (i = 0; got == 0 && i < count; i++) {
		auto_free char *path = resolve_run_path(paths[i], err);

		g->git = path && path_has_part(path + 1, ".git");
		got = path ? versions_load(&v, c, path, g->o->at, err)
			   : -err->num;
	}
	/* A state of a run has opened the store again. */
	g->store = c->store;
	if (got == 0) {
		versions_sort(&v);
		search_all(g, &v, &t);
	}
	progress_end();
	if (got < 0 || print_matches(g, &v, &t, err) < 0)
		return output_has_failed() ? STATUS_OK : -err->num;
	if (!v.count && !g->o->json)
		output_print("no snapshot has a file there");
	return g->matched && !g->unread && !v.damaged ? STATUS_OK
						      : STATUS_REFUSED;
}

int cmd_grep(const struct options *o, struct context *c, struct err *err)
{
	struct grep g = {.o = o};
	int got;

	if (matcher_compile(&g.matcher, o->operands[0], o->fixed,
			    o->ignore_case, err) < 0) {
		output_error(err);
		return STATUS_USAGE;
	}
	got = grep(&g, c, o->operands + 1, (size_t)o->count - 1, err);
	matcher_free(&g.matcher);
	free(g.cwd);
	return got;
}
