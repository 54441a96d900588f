#include <inttypes.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "guard/cli/commands.h"
#include "guard/cli/from_copy.h"
#include "guard/cli/plan_print.h"
#include "guard/cli/plan_summary.h"
#include "guard/cli/styled.h"
#include "guard/change/resolve_run.h"
#include "guard/history/locate.h"
#include "guard/history/sources.h"
#include "guard/change/recover.h"
#include "guard/review/fold.h"

#define REFUSED                                                                \
	"nothing restored: name only paths that are not refused; guard show "  \
	"SNAP:PATH prints the content of one"

struct restore {
	struct restore_paths in;
	const struct options *o;
	struct from_copy from; /* with --from */
	struct sources found;
	struct plan_counts counts; /* of the plan in place */
	bool done; /* something was restored */
	struct names lost; /* skipped: the store or the backup has no content */
};

/* The root of the plan; empty where there is no plan. */
static const struct changeset_root *planned_root(const struct restore *r)
{
	static const struct changeset_root none;

	return r->in.change.root_count ? &r->in.change.roots[0] : &none;
}

static const char *restored_root(const struct restore *r)
{
	return r->found.items[0].snapshot.root_path;
}

static bool is_silent_restore(const struct restore *r)
{
	return r->o->json || (output_is_quiet() && r->o->yes);
}

static int print_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	auto_free char *complete = path_join(arg, path);
	AUTO(buf) struct buf b = {0};

	(void)err;
	styled_row(&b, 'A', "", complete, S_ISDIR(e->mode));
	styled_line(styled_out(), LINE_ROW, "%s", buf_text(&b));
	return 0;
}

static int count_entry(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	struct fold *fold = arg;

	(void)path;
	(void)err;
	fold->added += !S_ISDIR(e->mode);
	fold->bytes += S_ISREG(e->mode) ? e->size : 0;
	return 0;
}

/* A directory with many files is one line, as a new one in guard diff. */
static int print_new(struct store *store, const struct entry *e, char *path,
		     struct err *err)
{
	struct fold fold = {.kind = FOLD_ADDED};
	AUTO(buf) struct buf b = {0};

	if (tree_each(store, e, count_entry, &fold, err) < 0)
		return -err->num;
	if (!S_ISDIR(e->mode) || fold.added < FOLD_LEAST)
		return tree_each(store, e, print_entry, path, err);
	styled_row(&b, 'A', "", path, true);
	buf_add_text(&b, "  ");
	fold_text(&fold, &b);
	styled_line(styled_out(), LINE_ROW, "%s", buf_text(&b));
	return 0;
}

/* A transfer_lost. */
static void add_lost(void *arg, const char *path, const char *why)
{
	(void)why;
	names_add(arg, path);
}

/* In a dry run, which executes nothing; that of a backup was read before.
 * -EBADMSG: content is lost. */
static int check_content(const struct restore *r, const char *path,
			 const struct entry *e, struct err *err)
{
	struct store *store = r->in.c->store;
	AUTO(names) struct names lost = {0};
	AUTO(entry) struct entry same = {0};

	if (!r->o->dry_run || r->o->from || r->lost.count)
		return 0;
	if (transfer_entry(store, store, path, e, add_lost, &lost, &same, err) <
	    0)
		return -err->num;
	return lost.count ? fail(err, EBADMSG, "the content of %s is lost",
				 text_quote(lost.items[0]))
			  : 0;
}

/* Files that the execution writes from the store. */
static int check_steps(const struct restore *r, struct err *err)
{
	const struct plan *plan = &planned_root(r)->plan;
	size_t i;

	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		if (S_ISREG(s->to.mode) &&
		    !oid_equal(&s->to.content, &s->from.content) &&
		    check_content(r, s->path, &s->to, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Without a directory to compare with, every entry is new. */
static int confirm_restore_all(struct restore *r, const char *where,
			       struct err *err)
{
	size_t i;

	for (i = 0; i < r->found.count; i++) {
		const struct restore_target *t = &r->found.items[i];
		const char *shown = r->o->to ? path_name(t->arg) : t->path;

		if (check_content(r, t->path, &t->entry, err) < 0 ||
		    (r->o->dry_run &&
		     restore_paths_report(r->in.c->store, t, shown, err) < 0))
			return -err->num;
	}
	for (i = 0; i < r->found.count && !is_silent_restore(r); i++) {
		const struct restore_target *t = &r->found.items[i];
		auto_free char *path =
			r->o->to ? path_join(where, path_name(t->arg))
				 : mem_strdup(t->arg);

		if (print_new(r->in.c->store, &t->entry, path, err) < 0)
			return -err->num;
	}
	if (r->o->dry_run)
		return project_may_make(where, err);
	return output_confirm(r->o->yes, "guard: restore all of it in %s?",
			      text_quote(where));
}

/* 1: go on; 0: nothing is to be done or it was not wanted (*ret is the
 * status); negative. */
static int confirm_restore(struct restore *r, const char *where, int *ret,
			   struct err *err)
{
	const struct plan *plan = &planned_root(r)->plan;

	*ret = STATUS_REFUSED;
	if (!is_silent_restore(r) &&
	    plan_print(r->in.c->store, plan, NULL, err) < 0)
		return -err->num;
	if (plan_print_blocks(
		    plan,
		    r->in.exact
			    ? "nothing restored: move the paths listed above "
			      "away, or use --to"
			    : "nothing restored: move the paths listed above "
			      "away, use --to, or --exact, which deletes them",
		    REFUSED))
		return 0;
	*ret = STATUS_OK;
	if (plan->left)
		output_print("kept by --overwrite never: %s",
			     text_count(plan->left, "path"));
	if (plan->git_skipped)
		output_print("a .git that the snapshot lacks is unchanged");
	plan_print_owners(plan);
	if (!plan->steps.count) {
		output_print("nothing to do: all of it exists already%s",
			     plan->left ? "" : " as it was stored");
		if (!plan->left)
			sources_print_earlier(&r->found);
		output_hint("guard log PATH lists other versions, guard "
			    "restore --at N PATH restores one");
		return 0;
	}
	if (r->o->dry_run)
		return changeset_check(&r->in.change, err);
	*ret = STATUS_REFUSED;
	return plan_summary_ask(&r->counts, NULL, where, r->o->yes);
}

/* Stores the targets again, those of a backup in the user's own store, without
 * files and directories that are lost. None may be left. */
static int copy_targets(struct restore *r, bool of_backup, struct err *err)
{
	struct store *store = r->in.c->store;
	size_t i, k;

	for (i = 0; i < r->found.count; i++) {
		struct restore_target *t = &r->found.items[i];
		AUTO(entry) struct entry e = {0};

		if ((of_backup
			     ? from_copy_import(&r->from, t, store, add_lost,
						&t->lost, &e, err)
			     : transfer_entry(store, store, t->path, &t->entry,
					      add_lost, &t->lost, &e, err)) < 0)
			return -err->num;
		entry_free(&t->entry);
		t->entry = TAKE(e);
		VEC_SORT(&t->lost, sorted_compare_texts);
		for (k = 0; k < t->lost.count; k++)
			*VEC_ADD(&r->lost) = path_join(t->snapshot.root_path,
						       t->lost.items[k]);
	}
	sources_skip_lost(&r->found);
	r->in.count = r->found.count;
	return store_flush(store, err);
}

/* After the failure `got`, if the store has lost a part of the targets: takes
 * that part out. True: the rest can be restored. The execution finds lost
 * content before it changes anything. */
static bool leave_out_lost(struct restore *r, int got)
{
	struct err ignored;

	if (r->lost.count || (got != -EBADMSG && got != -ENOENT) ||
	    copy_targets(r, false, &ignored) < 0 || !r->lost.count ||
	    !r->in.count)
		return false;
	restore_paths_free(&r->in);
	return true;
}

static int execute_restore(struct restore *r, struct err *err)
{
	AUTO(buf) struct buf sum = {0};

	if (restore_paths_execute(&r->in, err) < 0)
		return -err->num;
	r->done = true;
	plan_summary_text(&r->counts, &sum);
	output_print("restored: %s; the state before is snapshot %" PRIu64,
		     buf_text(&sum), planned_root(r)->now.seq);
	output_hint("guard undo reverts it");
	return STATUS_OK;
}

static bool is_root_missing(const struct restore *r)
{
	struct stat st;

	return lstat(restored_root(r), &st) < 0 && errno == ENOENT;
}

/* In place: the current state is stored first. */
static int restore_here(struct restore *r, struct err *err)
{
	int got, status;
	size_t i;

	for (i = 1; i < r->found.count; i++)
		if (strcmp(r->found.items[i].snapshot.root_path,
			   restored_root(r)) != 0)
			return fail(
				err, EXDEV,
				"%s was stored with %s, %s with %s: "
				"restore them one by one",
				text_quote(r->found.items[0].arg),
				text_quote(restored_root(r)),
				text_quote(r->found.items[i].arg),
				text_quote(
					r->found.items[i].snapshot.root_path));
	if (!r->in.root_missing && is_root_missing(r)) {
		output_print("%s no longer exists: it will be recreated",
			     text_quote(restored_root(r)));
		r->in.root_missing = true;
	}
	if (r->in.root_missing) {
		got = confirm_restore_all(r, restored_root(r), err);
		if (got <= 0)
			return got < 0	       ? got
			       : r->o->dry_run ? STATUS_OK
					       : STATUS_REFUSED;
	}
	if (restore_paths_plan(&r->in, err) < 0 ||
	    plan_summary_count(&r->in.change, &r->counts, err) < 0)
		return -err->num;
	if (check_steps(r, err) < 0)
		return -err->num;
	plan_print_choices(&planned_root(r)->plan);
	if (r->in.root_missing)
		return plan_print_blocks(&planned_root(r)->plan, NULL, REFUSED)
			       ? STATUS_REFUSED
			       : execute_restore(r, err);
	got = confirm_restore(r, restored_root(r), &status, err);
	if (got <= 0)
		return got < 0 ? got : status;
	return execute_restore(r, err);
}

/* --to: the directory must not have entries of these names. */
static int restore_to(struct restore *r, struct err *err)
{
	auto_free char *dir = NULL;
	int got;

	dir = path_resolve(r->o->to, err);
	if (dir && path_below(dir, (r->from.c ?: r->in.c)->state.path))
		return fail(err, EINVAL,
			    "%s is in guard's own state: restore into another "
			    "directory",
			    text_quote(dir));
	if (!dir || sources_check_free(&r->found, dir, err) < 0)
		return -err->num;
	got = confirm_restore_all(r, dir, err);
	if (got <= 0)
		return got < 0	       ? got
		       : r->o->dry_run ? STATUS_OK
				       : STATUS_REFUSED;
	r->in.to = dir;
	if (restore_paths_plan(&r->in, err) < 0)
		return -err->num;
	plan_print_choices(&planned_root(r)->plan);
	if (plan_print_blocks(&planned_root(r)->plan, NULL, REFUSED))
		return STATUS_REFUSED;
	if (restore_paths_execute(&r->in, err) < 0)
		return -err->num;
	r->done = true;
	output_print("restored into %s", text_quote(dir));
	return STATUS_OK;
}

/* A number where no file has this name. */
static bool is_snapshot_number(const char *text)
{
	unsigned long number;

	return parse_number(text, ULONG_MAX - 1, &number) == 0 &&
	       access(text, F_OK) < 0;
}

/* SNAP:PATH or RUN:PATH, as for guard show. */
static int suggest_command(struct context *c, const char *arg, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	auto_free char *when = NULL, *path = NULL;
	struct err ignored;

	locate_split(c, arg, &when, &path);
	if (!path || !*path)
		return -err->num;
	if (locate_is_point(c, when))
		return fail(err, ENOENT,
			    "no such path: %s; did you mean guard restore --at "
			    "%s %s?",
			    text_quote(arg), text_shell(when),
			    text_shell(path));
	if (!c->project)
		c->project =
			state_project(&c->state, NULL, PROJECT_FIND, &ignored);
	if (!c->project || resolve_run_text(c, when, false, &s, &ignored) < 0)
		return -err->num;
	return fail(err, ENOENT,
		    "no such path: %s; did you mean guard apply %s %s?",
		    text_quote(arg), text_shell(when), text_shell(path));
}

/* From here on, the sources are in the user's own store. A dry run that
 * compares them with no files leaves them in the view's. */
static int import_sources(struct restore *r, struct err *err)
{
	int got;

	if (r->o->dry_run && (r->o->to || is_root_missing(r)))
		r->in.c = &r->from.view;
	r->found.c = r->in.c;
	r->found.store = r->in.c->store;
	progress_start("read");
	got = copy_targets(r, true, err);
	progress_end();
	return got < 0 || r->in.count
		       ? got
		       : fail(err, EIO, "the backup has lost all of it");
}

/* The sources, the snapshots before and after (0: none), the lost paths and,
 * without --to, the members of plan_summary_json(). */
static void print_restore_json(const struct restore *r)
{
	json_t *object = jsonout_document("guard.restore/1");
	json_t *from = json_array();
	json_t *lost = json_array();
	size_t i;

	for (i = 0; i < r->found.count; i++) {
		const struct restore_target *t = &r->found.items[i];
		json_t *source = json_object();

		jsonout_text(source, "path", t->arg);
		jsonout_snapshot(source, &t->snapshot);
		jsonout_time(source, "time", t->snapshot.time);
		jsonout_add(from, source);
	}
	for (i = 0; i < r->lost.count; i++) {
		json_t *path = json_object();

		jsonout_text(path, "path", r->lost.items[i]);
		jsonout_add(lost, path);
	}
	jsonout_bool(object, "restored", r->done);
	jsonout_text(object, "to", r->o->to);
	jsonout_text(object, "backup", r->from.destination.path);
	jsonout_set(object, "from", from);
	jsonout_set(object, "lost", lost);
	jsonout_number(object, "before", planned_root(r)->now.seq);
	jsonout_number(object, "after", planned_root(r)->after);
	if (!r->o->to)
		plan_summary_json(r->in.c->store, &planned_root(r)->plan,
				  object);
	jsonstream_print(object);
}

static int restore(struct restore *r, int count, char **argv, struct err *err)
{
	int i, got;

	if (context_store(r->in.c, STORE_WRITE, err) < 0 ||
	    (r->o->from &&
	     from_copy_view(&r->from, r->in.c, r->o, r->o->at, err) < 0))
		return -err->num;
	r->found.c = r->o->from ? &r->from.view : r->in.c;
	r->found.store = r->found.c->store;
	r->found.at = r->o->at;
	if (count > 1 && !r->o->at && is_snapshot_number(argv[0]))
		return fail(err, ENOENT,
			    "no such path: %s; did you mean guard restore --at "
			    "%s %s?",
			    text_quote(argv[0]), argv[0], text_shell(argv[1]));
	for (i = 0; i < count; i++)
		if (sources_find(&r->found, argv[i], err) < 0)
			return r->o->from ? from_copy_fail(&r->from, err)
			       : err->num == ENOENT
				       ? suggest_command(r->in.c, argv[i], err)
				       : -err->num;
	r->in.targets = r->found.items;
	r->in.count = r->found.count;
	/* An interrupted action in a missing directory is recovered later, when
	 * this restore has created the directory. */
	if (!is_root_missing(r) &&
	    recover_project(r->in.c, restored_root(r), err) < 0)
		return -err->num;
	sources_print(&r->found);
	if (r->o->from && import_sources(r, err) < 0)
		return -err->num;
	output_run_commands(&r->in.c->state, restored_root(r));
	do {
		got = r->o->to ? restore_to(r, err) : restore_here(r, err);
	} while (leave_out_lost(r, got));
	if (r->lost.count && got >= 0) {
		output_warn("%s does not have all of it: %s listed above",
			    r->o->from ? "the backup" : "the store",
			    text_count(r->lost.count, "lost path"));
		got = STATUS_REFUSED;
	}
	if (got >= 0 && r->o->json)
		print_restore_json(r);
	return got;
}

int cmd_restore(const struct options *o, struct context *c, struct err *err)
{
	struct restore r = {
		.o = o,
		.in = {.c = c, .exact = o->exact},
		.from = FROM_COPY_NONE,
	};
	int got;

	if (!o->count)
		return options_usage_error(
			o, "no PATHS given: `.` is the current directory");
	/* Both are in the order of the words of --overwrite. */
	if (o->overwrite)
		r.in.overwrite = (enum restore_overwrite)(o->overwrite - 1);
	if (o->exact && r.in.overwrite == OVERWRITE_NEVER)
		return options_usage_error(
			o, "--exact and --overwrite never exclude each other");
	c->wait_for_lock = true;
	got = restore(&r, o->count, o->operands, err);
	sources_free(&r.found);
	names_free(&r.lost);
	from_copy_free(&r.from);
	restore_paths_free(&r.in);
	return got;
}
