#include "guard/cli/diffruns.h"

#include <inttypes.h>

#include "base/path.h"
#include "guard/change/changes.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/diffsnaps.h"
#include "snapshot/tree/catalog.h"

struct run_side {
	const struct session *session;
	struct changes changes; /* in the order of path_compare() */
	struct snapshot result;
};

static void run_side_free(struct run_side *s)
{
	changes_free(&s->changes);
	snapshot_free(&s->result);
}

int diffruns_open(struct context *c, int count, char **argv, struct session *a,
		  struct session *b, struct err *err)
{
	struct session *const ret[] = {a, b};
	int i;

	for (i = 0; i < 2; i++) {
		AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;

		if (count < 2 ||
		    resolve_run_open(c, 1, &argv[i], 0, false, &p, err) < 0 ||
		    !p.named)
			return 0;
		*ret[i] = p.session;
		p.session = SESSION_NONE;
	}
	return 1;
}

static int load_side(struct context *c, struct run_side *s, struct err *err)
{
	if (!s->session->roots[0].result)
		return fail(err, ENODATA, "run %s has no stored result%s%s",
			    session_label(s->session),
			    resolve_run_is_running(s->session)
				    ? " while it is running: guard stop "
				    : "",
			    resolve_run_is_running(s->session)
				    ? session_label(s->session)
				    : "");
	if (catalog_load(c->store, s->session->roots[0].result, &s->result,
			 err) < 0 ||
	    changes_load_own(c, s->session, &s->changes, err) < 0)
		return -err->num;
	return 0;
}

static bool is_wanted(char *const *paths, int count, const char *path)
{
	int i;

	for (i = 0; i < count; i++)
		if (!*paths[i] || path_below(path, paths[i]))
			return true;
	return !count;
}

struct run_rows {
	struct table table;
	json_t *json;
	char **differing; /* paths whose results differ */
	size_t listed;
};

static void add_row(struct run_rows *rows, const struct run_side *only,
		    const struct change *item, bool second, bool same)
{
	AUTO(buf) struct buf name = {0};
	auto_free char *side =
		only ? mem_printf("only %s", session_label(only->session))
		     : mem_strdup(same ? "both, the same"
				       : "both, differently");
	json_t *object = json_object();

	jsonout_text(object, "path", item->path);
	jsonout_set(object, "side",
		    only ? json_integer(second ? 2 : 1) : json_string("both"));
	jsonout_bool(object, "same", same);
	jsonout_add(rows->json, object);
	text_escape_name(&name, item->path);
	table_row(&rows->table,
		  (const char *const[]){
			  side,
			  (const char[]){changes_letter(item->kind), '\0'},
			  buf_text(&name)});
	if (!same)
		mem_list_add(&rows->differing, item->path);
	rows->listed++;
}

/* Goes through both lists, which have the same order, at once. */
static int add_rows(struct context *c, struct run_side *sides, char **paths,
		    int count, struct run_rows *rows, struct err *err)
{
	const struct change_list *a = &changes_project(&sides[0].changes)->list;
	const struct change_list *b = &changes_project(&sides[1].changes)->list;
	size_t i = 0, k = 0;

	while (i < a->count || k < b->count) {
		int order = i == a->count   ? 1
			    : k == b->count ? -1
					    : path_compare(a->items[i].path,
							   b->items[k].path);
		const struct change *item =
			order <= 0 ? &a->items[i] : &b->items[k];
		AUTO(entry) struct entry left = {0}, right = {0};

		i += order <= 0;
		k += order >= 0;
		if (item->flags & CHANGES_NOISE || item->flags & CHANGE_GIT ||
		    !is_wanted(paths, count, item->path))
			continue;
		if (tree_lookup(c->store, &sides[0].result.root, item->path,
				&left, err) < 0 ||
		    tree_lookup(c->store, &sides[1].result.root, item->path,
				&right, err) < 0)
			return -err->num;
		add_row(rows,
			order < 0   ? &sides[0]
			: order > 0 ? &sides[1]
				    : NULL,
			item, order > 0, entry_same_state(&left, &right));
	}
	return 0;
}

/* The text from the first result to the second, of the paths that differ. */
static int show_texts(struct context *c, const struct run_side *sides,
		      char **differing, const struct diff_options *o,
		      struct err *err)
{
	AUTO(mem_list) char **operands = NULL;
	int count = 0, i;

	for (i = 0; i < 2; i++) {
		auto_free char *seq =
			mem_printf("s%" PRIu64, sides[i].result.seq);

		mem_list_add(&operands, seq);
	}
	for (; differing[count]; count++) {
		auto_free char *path =
			path_join(sides[0].session->project, differing[count]);

		mem_list_add(&operands, path);
	}
	return diffsnaps(c, operands, 2, count + 2, o, err);
}

int diffruns(struct context *c, const struct session *a,
	     const struct session *b, char **paths, int count,
	     const struct diff_options *o, struct err *err)
{
	struct run_side sides[] = {{.session = a, .changes = CHANGES_NONE},
				   {.session = b, .changes = CHANGES_NONE}};
	struct run_rows rows = {
		.table = {.columns = 3},
		.json = json_array(),
	};
	int got;

	if (strcmp(a->project, b->project) != 0)
		return fail(err, EXDEV,
			    "%s and %s are runs of different projects",
			    session_label(a), session_label(b));
	got = context_store(c, STORE_READ, err);
	if (got == 0)
		got = load_side(c, &sides[0], err);
	if (got == 0)
		got = load_side(c, &sides[1], err);
	if (got == 0)
		got = add_rows(c, sides, paths, count, &rows, err);
	if (got == 0 && o->form == FORM_JSON)
		jsonstream_print_list("guard.diff-runs/1", "paths",
				      TAKE(rows.json));
	else if (got == 0 && o->form <= FORM_STAT)
		table_print(&rows.table, "", stdout);
	if (got == 0 && rows.differing && o->form != FORM_JSON)
		got = show_texts(c, sides, rows.differing, o, err);
	if (got == 0 && !rows.listed)
		output_print("neither run changed anything here");
	if (got == 0)
		got = o->exit_code && rows.differing;
	table_free(&rows.table);
	json_decref(rows.json);
	mem_list_free(&rows.differing);
	run_side_free(&sides[0]);
	run_side_free(&sides[1]);
	return got;
}
