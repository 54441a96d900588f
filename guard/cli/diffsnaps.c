#include "guard/cli/diffsnaps.h"

#include <sys/stat.h>

#include "base/path.h"
#include "guard/change/changes.h"
#include "guard/change/delta.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/listing.h"
#include "guard/history/locate.h"
#include "guard/history/run_timeline.h"
#include "guard/change/resolve_run.h"
#include "restore/transaction.h"
#include "snapshot/tree/time_spec.h"
#include "snapshot/tree/tree.h"

/* --- points in time --- */

/* Meant as one, most likely, though it is none. */
static bool looks_like_point(const char *operand)
{
	return strncmp(operand, "latest", 6) == 0 ||
	       strncmp(operand, "yesterday", 9) == 0 ||
	       strncmp(operand, "today", 5) == 0 || strstr(operand, " ago") ||
	       (*operand >= '0' && *operand <= '9' && strpbrk(operand, " :"));
}

/* 1, 0 or negative. */
static int is_snapshot_operand(struct context *c, const char *operand,
			       struct err *err)
{
	struct session s = SESSION_NONE;
	struct time_spec time_spec;
	struct stat st;
	struct err why, ignored;
	int parsed =
		time_spec_parse(operand, timestamp_now(), &time_spec, &why);
	bool is_file = lstat(operand, &st) == 0;
	int got;

	if (!is_file && run_timeline_name_len(operand) &&
	    locate_is_point(c, operand))
		return 1;
	if (parsed == 0 && time_spec.kind == TIME_SPEC_SEQ && !is_file)
		return 1;
	if (parsed == 0 && time_spec.kind == TIME_SPEC_SEQ && *operand != 's')
		return fail(err, EINVAL,
			    "%s is a snapshot's number and also a file: write "
			    "s%s for the snapshot, ./%s for the file",
			    text_quote(operand), operand, operand);
	if (is_file || (parsed < 0 && !looks_like_point(operand)))
		return 0;
	got = resolve_run_text(c, operand, false, &s, &ignored);
	session_free(&s);
	if (got != -ENOENT && got != -EINVAL)
		return 0;
	if (parsed == 0)
		return 1;
	*err = why;
	return -err->num;
}

int diffsnaps_points(struct context *c, int count, char **argv, struct err *err)
{
	int i, got;

	for (i = 0; i < 2 && i < count; i++) {
		got = is_snapshot_operand(c, argv[i], err);
		if (got < 0)
			return got;
		if (!got)
			break;
	}
	return i;
}

/* --- the two sides --- */

struct diff_point {
	struct snapshot snapshot; /* seq 0: the files as they are */
	struct entry top; /* the compared path */
	const char *base; /* absolute path of that */
};

static void diff_point_free(struct diff_point *s)
{
	snapshot_free(&s->snapshot);
	entry_free(&s->top);
}

/* A number is taken whole, whatever its root; a time is one of the project, a
 * moment one of the run's directory with the path (absolute, or "/": of the
 * run's project). files: it is compared with the files of this project. */
static int load_point(struct context *c, const char *text, const char *path,
		      bool files, struct diff_point *ret, struct err *err)
{
	bool of_run = run_timeline_name_len(text) > 0;
	struct time_spec time_spec = {0};
	int got;

	if (!of_run &&
	    time_spec_parse(text, timestamp_now(), &time_spec, err) < 0)
		return -err->num;
	got = time_spec.kind == TIME_SPEC_SEQ
		      ? catalog_load_version(c->store, time_spec.number,
					     &ret->snapshot, err)
		      : locate_find(c, text, of_run ? path : c->project, false,
				    &ret->snapshot, err);
	if (got == 0 && files &&
	    !path_below(c->project, ret->snapshot.root_path) &&
	    !path_below(ret->snapshot.root_path, c->project))
		return fail(err, EXDEV,
			    "snapshot %s is of another directory: guard -C %s "
			    "diff %s compares it",
			    text, text_shell(ret->snapshot.root_path), text);
	ret->base = of_run || time_spec.kind == TIME_SPEC_SEQ
			    ? ret->snapshot.root_path
			    : c->project;
	return got;
}

/* The comparison begins at the deeper one of the two directories. */
static int find_common_top(struct context *c, struct diff_point *a,
			   struct diff_point *b, struct err *err)
{
	struct diff_point *const point_pair[] = {a, b};
	const char *base = path_below(b->base, a->base) ? b->base : a->base;
	size_t i;

	if (!path_below(base, a->base) || !path_below(base, b->base))
		return fail(err, EXDEV,
			    "cannot compare a snapshot of %s with one of %s",
			    text_quote(a->base), text_quote(b->base));
	for (i = 0; i < 2; i++) {
		struct diff_point *s = point_pair[i];

		if (s->snapshot.root.mode &&
		    tree_lookup(c->store, &s->snapshot.root,
				path_rest(base, s->snapshot.root_path), &s->top,
				err) < 0)
			return -err->num;
		s->base = base;
	}
	return 0;
}

static int snapshot_current_files(struct context *c, struct diff_point *a,
				  struct diff_point *b, struct err *err)
{
	struct project p = PROJECT_NONE;
	int got;

	if (project_open(a->base, c->state.workspaces_fd, false, &p, err) < 0)
		return -err->num;
	context_skip_private(c, &p);
	got = project_inspect(c->store, &p, "", "", &b->snapshot, err);
	project_close(&p);
	b->base = a->base;
	return got;
}

/* --- differences --- */

struct point_pair {
	struct store *const *store; /* the context's */
	struct diff_point *a, *b;
};

/* The entry is missing there because it was excluded, or could not be read. */
static bool is_unrecorded(void *arg, const char *path, bool now)
{
	const struct point_pair *pair = arg;
	const struct diff_point *s = now ? pair->b : pair->a;
	auto_free char *whole = NULL;
	struct err ignored;

	if (!s->snapshot.note_count &&
	    !(s->snapshot.root.flags & ENTRY_INCOMPLETE))
		return false;
	whole = path_join(s->base, path);
	return snapshot_has_note(&s->snapshot, NOTE_INCOMPLETE,
				 path_rest(whole, s->snapshot.root_path)) ||
	       snapshot_covers_path(*pair->store, &s->snapshot, whole,
				    &ignored) == 0;
}

/* --- telling --- */

static void add_point_text(struct buf *to, const struct snapshot *s)
{
	if (!s->seq && !*s->run_id) {
		buf_add_text(to, "the files as they are now");
		return;
	}
	buf_printf(to, "%s  %s  %s", snapshot_label(s), text_time(s->time),
		   s->reason);
	if (s->seq && (*s->message || *s->command)) {
		buf_add_text(to, "  ");
		output_truncated(to, *s->message ? s->message : s->command);
	}
}

static json_t *json_point(const struct snapshot *s)
{
	json_t *object = json_object();

	if (!s->seq && !*s->run_id) {
		json_decref(object);
		return json_null();
	}
	jsonout_snapshot(object, s);
	jsonout_time(object, "time", s->time);
	jsonout_text(object, "reason", s->reason);
	jsonout_text(object, "run", s->run_id);
	jsonout_text(object, "message", s->message);
	jsonout_text(object, "root", s->root_path);
	return object;
}

static void print_differences(const struct point_pair *s,
			      struct changes *changes,
			      const struct diff_options *o)
{
	enum diff_form form = o->form;
	struct changes_root *root = changes_project(changes);
	AUTO(view) struct view view = {0};

	diffshow_sort(&root->list);
	if (form == FORM_JSON) {
		struct change_list *list = &root->list;
		json_t *object = jsonout_document("guard.diff-snapshots/1");
		struct jsonstream to = {0};

		jsonout_text(object, "base", s->a->base);
		jsonout_set(object, "from", json_point(&s->a->snapshot));
		jsonout_set(object, "to", json_point(&s->b->snapshot));
		jsonout_set(object, "counts", diffshow_counts(list));
		jsonstream_begin(&to, object);
		diffshow_json(list, "entries", &to);
		jsonstream_open(&to, "moves", '[');
		diffshow_moves(root, s->a->base, &to);
		jsonstream_close(&to, ']');
		jsonstream_close(&to, '}');
		return;
	}
	if (form <= FORM_STAT) {
		AUTO(buf) struct buf b = {0};
		struct change_counts n;

		changes_count(&root->list, &n);
		buf_add_text(&b, BOLD "from ");
		add_point_text(&b, &s->a->snapshot);
		buf_add_text(&b, PLAIN "\n" BOLD "  to ");
		add_point_text(&b, &s->b->snapshot);
		buf_add_text(&b, PLAIN "\nin ");
		text_escape_name(&b, s->a->base);
		buf_add_text(&b, ": ");
		changes_summary(&n, &b);
		styled_line(styled_out(), LINE_PLAIN, "%s", buf_text(&b));
	}
	if (form != FORM_TEXT) {
		diffshow_lines(root, NULL, o);
		return;
	}
	view_of_changes(root, &view);
	fold_make(&view, o->full);
	listing_print(changes, &view, styled_out());
	diffshow_texts(&view, o, false, styled_out());
}

/* --- all of it --- */

/* paths: only these, below the compared directory; NULL: all. */
static int compare_points(struct point_pair *s, const char *const *paths,
			  const struct diff_options *o, struct err *err)
{
	AUTO(changes) struct changes changes = changes_of_project();
	struct changes_root *root = changes_project(&changes);

	root->delta = mem_zalloc(sizeof(*root->delta));
	root->delta->store = s->store;
	entry_copy(&root->delta->old, &s->a->top);
	entry_copy(&root->delta->now, &s->b->top);
	root->list.flags_known = true;
	if (delta_list(root->delta, is_unrecorded, s, &root->list, err) < 0)
		return -err->num;
	if (!o->no_renames)
		changes_find_moves(&changes);
	if (paths)
		changes_filter(&root->list, paths);
	diffshow_start(o);
	print_differences(s, &changes, o);
	if (!diffshow_has_compared())
		return STATUS_REFUSED;
	return o->exit_code && root->list.count;
}

/* --- snapshots --- */

/* The named paths below the compared directory. A path that neither side has is
 * an error. */
static int list_named_paths(const struct point_pair *s, char **argv, int count,
			    char ***ret, struct err *err)
{
	int i, got;

	for (i = 0; i < count; i++) {
		AUTO(entry) struct entry a = {0}, b = {0};
		auto_free char *path = resolve_run_path(argv[i], err);

		if (!path)
			return -err->num;
		if (!path_below(path, s->a->base))
			return fail(err, EXDEV, "%s is not in %s",
				    text_quote(path), text_quote(s->a->base));
		mem_list_add(ret, path_rest(path, s->a->base));
		got = tree_lookup(*s->store, &s->a->top, (*ret)[i], &a, err);
		if (got == 0)
			got = tree_lookup(*s->store, &s->b->top, (*ret)[i], &b,
					  err);
		if (got < 0)
			return got;
		if (!got)
			return fail(err, ENOENT,
				    "%s is in neither of the two states",
				    text_quote(argv[i]));
	}
	return 0;
}

int diffsnaps(struct context *c, char **argv, int points, int count,
	      const struct diff_options *o, struct err *err)
{
	AUTO(diff_point) struct diff_point a = {0}, b = {0};
	AUTO(mem_list) char **paths = NULL;
	struct point_pair s = {.store = &c->store, .a = &a, .b = &b};
	size_t run = run_timeline_name_len(argv[0]);
	auto_free char *end = NULL;
	auto_free char *path = count > points
				       ? resolve_run_path(argv[points], err)
				       : mem_strdup("/");
	bool alone = points == 1 && !run;
	int got = path ? context_store(c, alone ? STORE_WRITE : STORE_READ, err)
		       : -err->num;

	if (got == 0)
		got = load_point(c, argv[0], path, alone, &a, err);
	/* One moment: the changes of the run since then. */
	end = mem_printf("%s@end", got == 0 ? a.snapshot.run_id : "");
	if (got == 0)
		got = alone ? snapshot_current_files(c, &a, &b, err)
			    : load_point(c, points > 1 ? argv[1] : end, path,
					 false, &b, err);
	if (got == 0)
		got = find_common_top(c, &a, &b, err);
	if (got == 0)
		got = list_named_paths(&s, argv + points, count - points,
				       &paths, err);
	return got < 0 ? got
		       : compare_points(&s, (const char *const *)paths, o, err);
}

/* --- runs --- */

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

int diffsnaps_open_runs(struct context *c, int count, char **argv,
			struct session *a, struct session *b, struct err *err)
{
	struct session *const ret[] = {a, b};
	int i;

	for (i = 0; i < 2; i++) {
		AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;

		if (count < 2 ||
		    choose_run_open(
			    c,
			    &(struct options){.operands = &argv[i], .count = 1},
			    &p, err) < 0 ||
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
	const char *side =
		only   ? text_printf("only %s", session_label(only->session))
		: same ? "both, the same"
		       : "both, differently";
	json_t *object = json_object();

	jsonout_text(object, "path", item->path);
	jsonout_set(object, "side",
		    only ? json_integer(second ? 2 : 1) : json_string("both"));
	jsonout_bool(object, "same", same);
	jsonout_add(rows->json, object);
	text_escape_name(&name, item->path);
	table_row(&rows->table, side,
		  (const char[]){changes_letter(item->kind), '\0'},
		  buf_text(&name));
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

/* From the first result to the second, the paths that differ. */
static int compare_results(struct context *c, const struct run_side *sides,
			   char **differing, const struct diff_options *o,
			   struct err *err)
{
	const char *base = sides[0].session->project;
	/* Borrowed. */
	struct diff_point a = {sides[0].result, sides[0].result.root, base};
	struct diff_point b = {sides[1].result, sides[1].result.root, base};
	struct point_pair s = {.store = &c->store, .a = &a, .b = &b};

	return compare_points(&s, (const char *const *)differing, o, err);
}

int diffsnaps_runs(struct context *c, const struct session *a,
		   const struct session *b, char **paths, int count,
		   const struct diff_options *o, struct err *err)
{
	struct run_side sides[] = {{.session = a, .changes = CHANGES_NONE},
				   {.session = b, .changes = CHANGES_NONE}};
	struct run_rows rows = {
		.table = {.width = TABLE_WHOLE},
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
		got = compare_results(c, sides, rows.differing, o, err);
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
