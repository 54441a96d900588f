#include "guard/cli/diffsnaps.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/change/delta.h"
#include "guard/cli/commands.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/listing.h"
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

/* A number is taken whole, whatever its root; a time is one of the project.
 * files: it is compared with the files of this project. */
static int load_point(struct context *c, const char *text, bool files,
		      struct diff_point *ret, struct err *err)
{
	struct time_spec time_spec;
	int got;

	if (time_spec_parse(text, timestamp_now(), &time_spec, err) < 0)
		return -err->num;
	got = time_spec.kind == TIME_SPEC_SEQ
		      ? catalog_load(c->store, time_spec.number, &ret->snapshot,
				     err)
		      : catalog_find(c->store, text, c->project, false,
				     &ret->snapshot, err);
	if (got == 0 && files &&
	    !path_below(c->project, ret->snapshot.root_path) &&
	    !path_below(ret->snapshot.root_path, c->project))
		return fail(err, EXDEV,
			    "snapshot %s is of another directory: guard -C %s "
			    "diff %s compares it",
			    text, text_quote(ret->snapshot.root_path), text);
	ret->base = time_spec.kind == TIME_SPEC_SEQ ? ret->snapshot.root_path
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
	struct project p = {.fd = -1, .workspace_fd = -1, .lock_fd = -1};
	int got;

	if (project_open(a->base, c->state.workspaces_fd, false, &p, err) < 0)
		return -err->num;
	got = project_inspect(c->store, &p, "", "", &b->snapshot, err);
	project_close(&p);
	b->base = a->base;
	return got;
}

/* --- differences --- */

struct point_pair {
	struct store *store;
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
	       snapshot_covers_path(pair->store, &s->snapshot, whole,
				    &ignored) == 0;
}

/* --- telling --- */

static void add_point_text(struct buf *to, const struct snapshot *s)
{
	if (!s->seq) {
		buf_add_text(to, "the files as they are now");
		return;
	}
	buf_printf(to, "snapshot %" PRIu64 "  %s  %s", s->seq,
		   text_time(s->time), s->reason);
	if (*s->message || *s->command) {
		buf_add_text(to, "  ");
		output_truncated(to, *s->message ? s->message : s->command);
	}
}

static json_t *json_point(const struct snapshot *s)
{
	json_t *object = json_object();

	if (!s->seq) {
		json_decref(object);
		return json_null();
	}
	jsonout_number(object, "snapshot", s->seq);
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
		json_t *object = json_object();
		struct jsonstream to = {0};

		jsonout_text(object, "schema", "guard.diff-snapshots/1");
		jsonout_text(object, "base", s->a->base);
		jsonout_set(object, "from", json_point(&s->a->snapshot));
		jsonout_set(object, "to", json_point(&s->b->snapshot));
		jsonout_set(object, "counts", diffshow_counts(list));
		jsonstream_open(&to, NULL, '{');
		jsonstream_put_all(&to, object);
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

/* Keeps the named paths; a path that neither side has is an error. */
static int keep_named_paths(const struct point_pair *s, char **argv, int count,
			    struct change_list *list, struct err *err)
{
	auto_free const char **rests =
		mem_resize(NULL, (size_t)count + 1, sizeof(*rests));
	char **paths = mem_zalloc(((size_t)count + 1) * sizeof(*paths));
	int i, got = 0;

	for (i = 0; i < count && got >= 0; i++) {
		AUTO(entry) struct entry a = {0}, b = {0};

		paths[i] = resolve_run_path(argv[i], err);
		if (!paths[i]) {
			got = -err->num;
		} else if (!path_below(paths[i], s->a->base)) {
			got = fail(err, EXDEV, "%s is not in %s",
				   text_quote(paths[i]),
				   text_quote(s->a->base));
		} else {
			rests[i] = path_rest(paths[i], s->a->base);
			got = tree_lookup(s->store, &s->a->top, rests[i], &a,
					  err);
			if (got == 0)
				got = tree_lookup(s->store, &s->b->top,
						  rests[i], &b, err);
			if (got == 0)
				got = fail(err, ENOENT,
					   "%s is in neither of the two states",
					   text_quote(argv[i]));
		}
	}
	rests[i] = NULL;
	if (got >= 0 && count)
		changes_filter(list, rests);
	while (i-- > 0)
		free(paths[i]);
	free(paths);
	return got < 0 ? got : 0;
}

static int compare_points(struct context *c, char **argv, int points,
			  struct point_pair *s, struct changes_root *root,
			  struct err *err)
{
	int got = context_store(c, points == 1 ? STORE_WRITE : STORE_READ, err);

	s->store = c->store;
	if (got == 0)
		got = load_point(c, argv[0], points < 2, s->a, err);
	if (got == 0)
		got = points == 1 ? snapshot_current_files(c, s->a, s->b, err)
				  : load_point(c, argv[1], false, s->b, err);
	if (got == 0)
		got = find_common_top(c, s->a, s->b, err);
	if (got < 0)
		return got;
	root->delta = mem_zalloc(sizeof(*root->delta));
	root->delta->store = &c->store;
	entry_copy(&root->delta->old, &s->a->top);
	entry_copy(&root->delta->now, &s->b->top);
	root->list.flags_known = true;
	return delta_list(root->delta, is_unrecorded, s, &root->list, err);
}

int diffsnaps(struct context *c, char **argv, int points, int count,
	      const struct diff_options *o, struct err *err)
{
	AUTO(diff_point) struct diff_point a = {0}, b = {0};
	AUTO(changes) struct changes changes = changes_of_project();
	struct changes_root *root = changes_project(&changes);
	struct change_list *list = &root->list;
	struct point_pair s = {.a = &a, .b = &b};

	if (compare_points(c, argv, points, &s, root, err) < 0)
		return -err->num;
	if (!o->no_renames)
		changes_find_moves(&changes);
	if (keep_named_paths(&s, argv + points, count - points, list, err) < 0)
		return -err->num;
	if (!o->no_pager && o->form <= FORM_STAT)
		output_pager_start("diff");
	print_differences(&s, &changes, o);
	if (!output_finish() || !diffshow_has_compared())
		return STATUS_REFUSED;
	return o->exit_code && list->count;
}
