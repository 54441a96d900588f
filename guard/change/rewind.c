#include "guard/change/rewind.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/pathset.h"
#include "base/text.h"
#include "guard/change/applied_base.h"
#include "guard/change/delta.h"
#include "guard/change/late_base.h"
#include "guard/change/run_state.h"
#include "guard/timeline/marks.h"
#include "guard/timeline/moment.h"
#include "restore/workspace.h"
#include "overlay/whiteout.h"
#include "restore/write_tree.h"

void rewind_free(struct rewind *r)
{
	size_t i;

	freezer_end(&r->freezer);
	for (i = 0; i < r->roots.count; i++) {
		entry_free(&r->roots.items[i].now);
		entry_free(&r->roots.items[i].want);
		differences_free(&r->roots.items[i].differences);
		fd_close(&r->roots.items[i].upper_fd);
		fd_close(&r->roots.items[i].view_fd);
	}
	VEC_FREE(&r->roots);
	changes_free(&r->changes);
	mem_list_free(&r->left);
	torn_free(&r->torn);
}

/* --- the present state --- */

static int load_root(struct rewind *r, size_t i, struct err *err)
{
	const struct session *s = &r->p->session;
	const struct changes_root *changes = &r->changes.roots[i];
	struct rewind_root *root = VEC_ADD(&r->roots);
	AUTO(snapshot) struct snapshot base = {0};

	*root = (struct rewind_root){.upper_fd = -1, .view_fd = -1};
	if (changes_is_gone(changes))
		return fail(err, ENOENT, "%s does not exist any more",
			    text_quote(s->roots[i].path));
	if (changes->delta)
		entry_copy(&root->now, &changes->delta->now);
	else if (changes->list.count)
		return fail(err, ENODATA,
			    "the state of run %s cannot be stored: its "
			    "project from before the run is not stored "
			    "completely, or the disk is full",
			    session_label(s));
	else if (catalog_load(r->c->store, applied_base_seq(s, i), &base, err) <
		 0)
		return -err->num;
	else
		entry_copy(&root->now, &base.root);
	entry_copy(&root->want, &root->now);
	return 0;
}

int rewind_load(struct rewind *r, struct err *err)
{
	struct session *s = &r->p->session;
	size_t i;

	if (!run_state_pending(s->state))
		return fail(err, EINVAL, "run %s is %s: %s", session_label(s),
			    run_state_name(s->state),
			    s->state == RUN_APPLIED
				    ? "guard undo makes it pending again"
				    : "its layer is gone");
	if (s->live && !resolve_run_is_running(s))
		return fail(err, EBUSY,
			    "run %s is in use by another guard command: try "
			    "again",
			    session_label(s));
	if ((!s->live && resolve_run_lock(r->c, r->p, err) < 0) ||
	    late_base_ensure(r->c, s, false, err) < 0 ||
	    (s->live && live_suspend(s, &r->freezer, err) < 0))
		return -err->num;
	if (s->live && !r->freezer)
		return fail(err, ESRCH, "run %s has just ended: try again",
			    session_label(s));
	if (changes_load_trees(r->c, s, &r->changes, err) < 0 ||
	    changes_torn_keep(s, &r->changes, err) < 0 ||
	    context_store(r->c, STORE_WRITE, err) < 0)
		return -err->num;
	torn_load(s, &r->torn);
	for (i = 0; i < s->root_count; i++)
		if (load_root(r, i, err) < 0)
			return -err->num;
	return 0;
}

/* --- the wanted state --- */

void rewind_want(struct rewind *r, size_t root, const struct entry *tree)
{
	entry_free(&r->roots.items[root].want);
	entry_copy(&r->roots.items[root].want, tree);
}

/* A .git goes along completely: half of one is damaged. */
static void complete_paths(char **paths)
{
	for (; paths && *paths; paths++) {
		char *at = *paths;

		if (strcmp(at, ".") == 0)
			*at = '\0';
		for (; *at; at += strcspn(at, "/"), at += *at == '/')
			if (strncmp(at, ".git", 4) == 0 &&
			    (!at[4] || at[4] == '/'))
				at[4] = '\0';
	}
}

struct difference_filter {
	struct pathset paths, lost;
	const struct torn *torn;
	struct differences *to;
	char ***left; /* of the rewind */
};

/* The directories above a named path are in the list, too. They are made where
 * they are missing, and else stay as they are. */
static int add_difference(void *arg, const char *path, const struct entry *a,
			  const struct entry *b, struct err *err)
{
	const struct difference_filter *f = arg;
	struct differences *d = f->to;
	bool named = pathset_contains(&f->paths, path);

	(void)err;
	if (pathset_contains(&f->lost, path) ||
	    (!named &&
	     !(b && S_ISDIR(b->mode) && pathset_has_below(&f->paths, path))))
		return 0;
	/* Purged since. */
	if (b && S_ISREG(b->mode) && b->flags & ENTRY_INCOMPLETE) {
		mem_list_add(f->left, path);
		return 0;
	}
	differences_add(d, path, a, named || !a || !S_ISDIR(a->mode) ? b : a);
	/* Other files keep their state: make(1) has to see which are new. */
	if (!f->paths.all && b && S_ISREG(b->mode) &&
	    !(a && entry_same_content(a, b)) &&
	    !torn_has_copy(f->torn, b->size, b->mtime))
		d->items[d->count - 1].b.mtime = timestamp_now();
	return 0;
}

static int compare_root(struct rewind *r, size_t i, char **lost,
			struct err *err)
{
	struct rewind_root *root = &r->roots.items[i];
	struct changes_root *shown = &r->changes.roots[i];
	static char *none[] = {NULL};
	char **paths = resolve_run_paths(r->p, i);
	struct difference_filter f = {
		.torn = &r->torn,
		.to = &root->differences,
		.left = &r->left,
	};
	int got;

	if (!paths && resolve_run_has_paths(r->p))
		paths = none;
	complete_paths(paths);
	if (shown->delta)
		delta_free(shown->delta);
	else
		shown->delta = mem_zalloc(sizeof(*shown->delta));
	change_list_free(&shown->list);
	shown->list.flags_known = shown->git_taken = true;
	*shown->delta = (struct delta){.store = &r->c->store};
	entry_copy(&shown->delta->old, &root->now);
	entry_copy(&shown->delta->now, &root->want);
	f.paths = pathset_make((const char *const *)paths);
	f.lost = pathset_make((const char *const *)(lost ?: none));
	got = delta_list(shown->delta, NULL, NULL, &shown->list, err);
	if (got == 0)
		got = tree_diff(r->c->store, &root->now, &root->want,
				add_difference, &f, err);
	changes_exclude(&shown->list, (const char *const *)(lost ?: none));
	pathset_free(&f.paths);
	pathset_free(&f.lost);
	return got;
}

int rewind_changes(struct rewind *r, char ***lost, struct err *err)
{
	struct changes_root *home = changes_home(&r->changes);
	size_t i;

	if (resolve_run_home_paths(r->p))
		return fail(err, EINVAL,
			    "the layer over your home directory cannot be "
			    "rewound: name paths of the project or of a "
			    "directory of --cow");
	if (home->delta)
		delta_free(home->delta);
	free(TAKE(home->delta));
	change_list_free(&home->list);
	for (i = 0; i < r->roots.count; i++)
		if (compare_root(r, i, lost ? lost[i] : NULL, err) < 0)
			return -err->num;
	if (!r->undone && resolve_run_check(r->p, &r->changes, err) < 0)
		return -err->num;
	resolve_run_filter(r->p, &r->changes);
	/* The lists are those of the trees alone. */
	for (i = 0; i < r->roots.count; i++) {
		r->roots.items[i].upper_fd =
			TAKE_FD(r->changes.roots[i].upper_fd);
		fd_close(&r->changes.roots[i].lower_fd);
	}
	return 0;
}

static bool root_has_work(const struct rewind_root *root)
{
	const struct difference *d = root->differences.items;
	size_t i;

	for (i = 0; i < root->differences.count; i++)
		if (!S_ISDIR(d[i].a.mode) || !S_ISDIR(d[i].b.mode) ||
		    !entry_same_meta(&d[i].a, &d[i].b))
			return true;
	return false;
}

bool rewind_has_work(const struct rewind *r)
{
	size_t i;

	for (i = 0; i < r->roots.count; i++)
		if (root_has_work(&r->roots.items[i]))
			return true;
	return false;
}

/* --- the record --- */

#define MARK_WAIT_MS 3000
#define MARK_STEP_MS 2

static size_t count_marks(const struct session *s)
{
	struct timeline t = {0};
	struct err ignored;
	size_t count = 0, i;

	(void)timeline_load(&t, s->fd, &ignored);
	for (i = 0; i < t.count; i++)
		count += t.items[i].kind == TIMELINE_MARK;
	timeline_free(&t);
	return count;
}

static int store_before(struct rewind *r, size_t i, uint64_t *ret,
			struct err *err)
{
	const struct session *s = &r->p->session;
	AUTO(snapshot) struct snapshot base = {0};

	*ret = applied_base_seq(s, i);
	return catalog_load(r->c->store, *ret, &base, err) < 0
		       ? -err->num
		       : run_state_add(r->c->store, s, i, &base,
				       timestamp_now(), &r->roots.items[i].now,
				       ret, err);
}

/* Sets the mark, and returns when the version worker has taken it: later
 * writes are recorded after the mark. A run without versions has no FIFO. That
 * of an ended run may not have its worker yet. */
static void set_mark(const struct session *s)
{
	size_t count = count_marks(s);
	bool sent = false;
	int left;

	for (left = MARK_WAIT_MS / MARK_STEP_MS; left; left--) {
		sent = sent || marks_put(s->fd, TIMELINE_FIFO,
					 MOMENT_BEFORE_REWIND) == 0;
		if (!sent && errno == ENOENT)
			return;
		(void)poll(NULL, 0, MARK_STEP_MS);
		if (sent && count_marks(s) != count)
			return;
	}
}

static int record_action(struct rewind *r, struct action *a, struct err *err)
{
	auto_close int fd = workspace_open(r->c->state.workspaces_fd,
					   r->p->session.project, true, err);
	auto_close int lock = fd < 0 ? -1 : action_lock(fd, err);

	return lock < 0 || action_begin(fd, a, err) < 0
		       ? -err->num
		       : action_record(fd, a, NULL, err);
}

/* before 0: the root stays as it is. */
static int add_action_root(struct rewind *r, size_t i, struct action *a,
			   struct err *err)
{
	struct action_root *root = VEC_ADD(&a->roots);
	char **paths = resolve_run_paths(r->p, i);

	*root = (struct action_root){
		.path = i ? mem_strdup(r->p->session.roots[i].path) : NULL,
	};
	for (; paths && *paths; paths++)
		mem_list_add(&root->only, **paths ? *paths : ".");
	return root_has_work(&r->roots.items[i])
		       ? store_before(r, i, &root->before, err)
		       : 0;
}

/* Stores the present state, for an undo. */
static int record(struct rewind *r, struct err *err)
{
	const struct session *s = &r->p->session;
	const struct action *undone = r->undone;
	AUTO(action)
	struct action a = {
		.number = undone ? undone->number : 0,
		.kind = mem_strdup(undone ? "undo" : ACTION_REWIND),
		.origin = mem_strdup(undone ? ACTION_REWIND : NULL),
		.undone = undone && !undone->undone,
		.run_id = mem_strdup(s->id),
		.run_name = mem_strdup(session_name(s)),
	};
	auto_free char *before = NULL;
	size_t i;

	for (i = 0; i < r->roots.count; i++)
		if (add_action_root(r, i, &a, err) < 0)
			return -err->num;
	r->before = action_before(&a);
	if (store_flush(r->c->store, err) < 0)
		return -err->num;
	if (rewind_has_work(r))
		set_mark(s);
	if (record_action(r, &a, err) < 0)
		return -err->num;
	before = mem_printf("%" PRIu64, r->before);
	state_log(&r->c->state, a.kind, "run", s->id, "project", s->project,
		  "before", before, NULL);
	return 0;
}

/* --- the write --- */

static int write_root(struct rewind *r, size_t i, struct err *err)
{
	struct rewind_root *root = &r->roots.items[i];
	AUTO(mem_list) char **left = NULL;
	char **at;
	int got = root->view_fd < 0
			  ? 0
			  : write_tree(r->c->store, root->view_fd,
				       &root->differences, &left, err);

	for (at = left; at && *at; at++) {
		auto_free char *shown =
			mem_printf("%s%s", r->changes.roots[i].prefix, *at);

		mem_list_add(&r->left, shown);
	}
	return got;
}

void rewind_write(struct rewind *r, const struct session *s)
{
	size_t i;

	r->state = REWIND_FAILED;
	for (i = 0; i < r->roots.count; i++)
		if (root_has_work(&r->roots.items[i]) &&
		    (r->roots.items[i].view_fd =
			     live_open_dir(s, s->roots[i].path, &r->why)) < 0)
			return;
	if (record(r, &r->why) < 0)
		return;
	r->state = REWIND_BEGUN;
	for (i = 0; i < r->roots.count; i++)
		if (write_root(r, i, &r->why) < 0)
			return;
	r->state = REWIND_DONE;
}

/* A whiteout hides the user's present file, which the run has not deleted. */
static void uncover_path(const struct rewind *r, size_t i, const char *path)
{
	const struct rewind_root *root = &r->roots.items[i];
	AUTO(snapshot) struct snapshot base = {0};
	AUTO(entry) struct entry e = {0};
	struct err ignored;
	const char *name;
	auto_close int dir =
		beneath_parent(root->upper_fd, path, &name, &ignored);
	struct meta m;

	if (dir >= 0 && meta_get(dir, name, &m) == 0 && whiteout_is(&m) &&
	    catalog_load(r->c->store, applied_base_seq(&r->p->session, i),
			 &base, &ignored) == 0 &&
	    tree_lookup(r->c->store, &base.root, path, &e, &ignored) == 0)
		(void)unlinkat(dir, name, 0);
}

void rewind_uncover(const struct rewind *r)
{
	size_t i, k;

	for (i = 0; i < r->roots.count; i++)
		for (k = 0; k < r->roots.items[i].differences.count; k++) {
			const struct difference *d =
				&r->roots.items[i].differences.items[k];

			if (!d->b.mode)
				uncover_path(r, i, d->path);
		}
}
