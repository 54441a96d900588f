#include "guard/change/late_base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/change/applied_base.h"
#include "guard/change/apply_log.h"
#include "guard/state/private_paths.h"
#include "overlay/session_base.h"
#include "restore/plan/unit.h"
#include "restore/transaction.h"
#include "snapshot/walk/take.h"

#define GIT ".git"

/* --- the paths --- */

struct wanted {
	char *path;
	bool alone; /* a directory without its entries */
};

struct wanted_list {
	const struct changes_root *root;
	VEC(struct wanted) all;
	char *dir; /* a real directory, of the last path */
};

/* The length of the first part of the path that is no real directory. */
static size_t find_missing(struct wanted_list *list, const char *path)
{
	auto_free char *parent = path_parent(path);
	size_t len;

	if (list->dir && strcmp(parent, list->dir) == 0)
		return strlen(path);
	for (len = strcspn(path, "/"); path[len];
	     len += 1 + strcspn(path + len + 1, "/")) {
		auto_free char *dir = mem_strndup(path, len);

		if (!changes_is_dir(list->root, dir))
			return len;
	}
	free(list->dir);
	list->dir = TAKE(parent);
	return len;
}

static void add_wanted_path(struct wanted_list *list, const char *path,
			    bool alone)
{
	const char *git = strstr(path, GIT);
	size_t len = find_missing(list, path);

	/* An apply makes the missing directory, and an undo deletes it, with
	 * all entries. */
	alone = alone && !path[len];

	/* Of a repository everything: a part of it says nothing. */
	for (; git; git = strstr(git + 1, GIT)) {
		const char *end = git + strlen(GIT);

		if ((git != path && git[-1] != '/') || (*end && *end != '/') ||
		    (size_t)(end - path) > len)
			continue;
		len = (size_t)(end - path);
		alone = false;
		break;
	}
	/* Each snapshot has the root itself. */
	if (len)
		*VEC_ADD(&list->all) = (struct wanted){
			.path = mem_strndup(path, len),
			.alone = alone,
		};
}

static void add_changes(struct wanted_list *list,
			const struct changes_root *root)
{
	const struct change_list *changes = &root->list;
	size_t i;

	for (i = 0; i < changes->count; i++)
		add_wanted_path(
			list, changes->items[i].path,
			changes->items[i].kind == CHANGE_META &&
				changes_is_dir(root, changes->items[i].path));
	for (i = 0; i < changes->touched_count; i++)
		add_wanted_path(list, changes->touched[i],
				changes_is_dir(root, changes->touched[i]));
}

static int add_applied(void *arg, const char *path, const struct entry *e,
		       struct err *err)
{
	(void)err;
	add_wanted_path(arg, path, S_ISDIR(e->mode));
	return 0;
}

/* Frees the list. */
static char **end_wanted(struct wanted_list *list)
{
	const char *whole = NULL;
	/* Not NULL, which is everything. */
	char **paths = mem_zalloc(sizeof(*paths));
	size_t count = 0, i;

	SORT_BY_PATH(list->all.items, list->all.count, path);
	for (i = 0; i < list->all.count; i++) {
		const struct wanted *w = &list->all.items[i];
		auto_free char *alone = mem_printf("%s/", w->path);

		if (whole && path_below(w->path, whole))
			continue;
		mem_list_add(&paths, w->alone ? alone : w->path);
		count++;
		if (!w->alone)
			whole = w->path;
	}
	qsort(paths, count, sizeof(*paths), sorted_compare_paths);
	for (i = 0; i < list->all.count; i++)
		free(list->all.items[i].path);
	free(list->all.items);
	free(list->dir);
	return paths;
}

char **late_base_paths(const struct changes_root *root)
{
	struct wanted_list wanted = {.root = root};

	add_changes(&wanted, root);
	return end_wanted(&wanted);
}

/* With the paths that were applied of the run: an undo makes them differ from
 * the base again. */
static int list_paths(struct store *store, const struct changes_root *root,
		      uint64_t applied, char ***ret, struct err *err)
{
	AUTO(snapshot) struct snapshot left = {0};
	struct wanted_list wanted = {.root = root};
	int got = applied ? catalog_load(store, applied, &left, err) : 0;

	add_changes(&wanted, root);
	if (got == 0 && applied)
		got = tree_each(store, &left.root, add_applied, &wanted, err);
	*ret = end_wanted(&wanted);
	return got;
}

/* --- the snapshot --- */

struct late_base {
	const struct session *s;
	size_t index;
	bool early;
};

static bool has_git(const struct changes_root *root)
{
	const struct change_list *list = &root->list;
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->items[i].flags & CHANGE_GIT)
			return true;
	for (i = 0; i < list->touched_count; i++)
		if (path_has_part(list->touched[i], GIT))
			return true;
	return false;
}

/* What guard itself has applied of the run meanwhile is no edit of the user. */
static int forget_applied(void *arg, struct store *store, struct snapshot *base,
			  struct err *err)
{
	const struct late_base *l = arg;
	size_t i;

	if (applied_base_filter_notes(store, l->s, l->index, base, err) < 0)
		return -err->num;
	for (i = 0; l->early && i < base->note_count; i++)
		if (base->notes[i].kind == NOTE_MOVED)
			return fail(err, EAGAIN, "%s changed meanwhile",
				    text_quote(base->notes[i].path));
	return 1;
}

static int take_root(struct store *store, const struct state *state,
		     struct session *s, const struct changes_root *changes,
		     size_t index, bool early, struct err *err)
{
	struct session_root *root = &s->roots[index];
	AUTO(mem_list) char **only = NULL;
	AUTO(mem_list) char **skip = private_paths_list(state, NULL);
	struct late_base late = {s, index, early};
	AUTO(snapshot) struct snapshot base = {0};
	struct take_options options = {
		.root_path = root->path,
		.root_fd = changes->lower_fd,
		.reason = "pre-run",
		.run_id = s->id,
		.command = s->command,
		.moved_since = session_began(s),
		.skip = (const char *const *)skip,
		.skip_prefix = TRANSACTION_STAGING_PREFIX,
		.amend = forget_applied,
		.amend_arg = &late,
	};
	int got = list_paths(store, changes, root->left, &only, err);

	unit_add_paths(changes->lower_fd, &only);
	options.only = (const char *const *)only;
	if (got == 0)
		got = take_snapshot(store, &options, &base, err);
	if (got == -EAGAIN)
		return got;
	if (got < 0)
		return err_context(err, "store the changed files of %s",
				   text_quote(root->path));
	/* The real files have the applied changes. */
	root->applied = 0;
	root->base = base.seq;
	root->late = true;
	return 0;
}

int late_base_take(struct store *store, const struct state *state,
		   struct session *s, const struct changes *changes, bool early,
		   struct err *err)
{
	bool any = false;
	size_t i;

	for (i = 0; early && i < s->root_count; i++)
		if (has_git(&changes->roots[i]))
			return fail(err, EAGAIN, "a repository has changed");
	for (i = 0; i < s->root_count; i++) {
		if (s->roots[i].base)
			continue;
		if (take_root(store, state, s, &changes->roots[i], i, early,
			      err) < 0)
			return -err->num;
		any = true;
	}
	if (!any || s->live)
		return 0;
	return session_write_base(s, s->roots[0].base, NULL, early, err) < 0 ||
			       (fd_exists(s->fd, SESSION_APPLIED) &&
				session_put_applied(s, NULL, err) < 0)
		       ? -err->num
		       : 0;
}

int late_base_take_home(struct store *store, const struct state *state,
			struct session *s, const struct changes_root *home,
			struct err *err)
{
	if (s->roots[s->root_count].base)
		return 0;
	if (take_root(store, state, s, home, s->root_count, false, err) < 0)
		return -err->num;
	return s->live ? 0 : session_put_applied(s, NULL, err);
}

struct widening {
	struct snapshot *whole;
	struct tree_editor *editor;
	struct lookup from;
};

/* A path that the run has changed: the late base has it as it was, however late
 * the other snapshot came to it. */
static int widen_path(void *arg, const char *path, const struct entry *late,
		      const struct entry *result, struct err *err)
{
	struct widening *w = arg;
	struct snapshot *s = w->whole;
	size_t kept = 0, i;

	(void)late;
	(void)result;
	for (i = 0; i < s->note_count; i++) {
		struct note *n = &s->notes[i];

		if (n->kind == NOTE_MOVED && strcmp(n->path, path) == 0) {
			free(n->path);
			free(n->text);
		} else {
			s->notes[kept++] = *n;
		}
	}
	s->note_count = kept;
	return *path ? applied_base_copy(w->editor, &w->from, path, err) : 0;
}

/* whole: the root's number in the other snapshot, replaced by the base's. */
static int widen_root(struct context *c, const struct session *s, size_t index,
		      uint64_t *whole, uint64_t *applied, struct err *err)
{
	const struct session_root *root = &s->roots[index];
	AUTO(snapshot) struct snapshot late = {0}, base = {0}, other = {0};
	struct widening w = {
		.whole = &base,
		.from = {.store = c->store, .root = &late.root},
	};
	int got = 0;

	if (catalog_load(c->store, root->base, &late, err) < 0 ||
	    catalog_load(c->store, *whole, &base, err) < 0 ||
	    (root->result &&
	     catalog_load(c->store, root->result, &other, err) < 0))
		return -err->num;
	w.editor = tree_editor_new(c->store, &base.root);
	if (root->result)
		got = tree_diff(c->store, &late.root, &other.root, widen_path,
				&w, err);
	got = tree_editor_end(&w.editor, got, &base.root, err);
	lookup_free(&w.from);
	if (got < 0)
		return got;
	if (catalog_add(c->store, &base, err) < 0)
		return -err->num;
	*whole = base.seq;
	if (!root->applied)
		return 0;
	snapshot_free(&other);
	if (catalog_load(c->store, root->applied, &other, err) < 0)
		return -err->num;
	return applied_base_copy_different(c->store, &other.root, &late.root,
					   &base.root, err) < 0
		       ? -err->num
		       : applied_base_add(c->store, s, index, &base.root, &base,
					  applied, err);
}

int late_base_widen(struct context *c, struct session *s, struct err *err)
{
	struct session whole = *s; /* borrowed, except for the roots */
	auto_free struct session_root *roots =
		mem_dup(s->roots, (s->root_count + 1) * sizeof(*roots));
	struct err ignored;
	bool any = false;
	size_t i;

	if (session_base(s, false, &ignored) <= 0)
		return 0;
	for (i = 0; i < s->root_count; i++)
		any |= s->roots[i].late;
	whole.roots = roots;
	if (!any || session_base_whole(&whole, &ignored) <= 0)
		return 0;
	if (context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++) {
		struct session_root *root = &s->roots[i];

		if (!root->late || !roots[i].base)
			continue;
		if (widen_root(c, s, i, &roots[i].base, &root->applied, err) <
		    0)
			return -err->num;
		root->base = roots[i].base;
		root->late = false;
	}
	return (session_has_applied(s) &&
		session_put_applied(s, NULL, err) < 0) ||
			       session_write_base(s, s->roots[0].base, NULL,
						  false, err) < 0
		       ? -err->num
		       : 0;
}

int late_base_ensure(struct context *c, struct session *s, bool home,
		     struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	AUTO(change_list) struct change_list caches = {0};
	bool missing;
	size_t i;
	int got = session_base(s, true, err);

	if (got < 0 && got != -ENODATA)
		return got;
	if (context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	missing = home && !s->roots[s->root_count].base;
	for (i = 0; i < s->root_count; i++)
		missing |= !s->roots[i].base;
	if (!missing)
		return apply_log_convert(c, s, err);
	if (changes_load(s, &c->state, &changes, err) < 0 ||
	    late_base_take(c->store, &c->state, s, &changes, false, err) < 0)
		return -err->num;
	if (!home)
		return 0;
	changes_take_caches(&changes_home(&changes)->list, &caches);
	return apply_log_convert(c, s, err) < 0
		       ? -err->num
		       : late_base_take_home(c->store, &c->state, s,
					     changes_home(&changes), err);
}
