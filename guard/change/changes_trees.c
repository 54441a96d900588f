#include "guard/change/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/change/apply_log.h"
#include "guard/change/delta.h"
#include "guard/change/moved_dirs.h"
#include "guard/state/context.h"
#include "restore/entry_compare.h"
#include "restore/workspace.h"
#include "snapshot/tree/tree.h"

/* One directory that the run has a layer over. */
struct run_layer {
	size_t dir_index; /* 0: the project */
	const char *path;
	struct changes_root *root;
	struct snapshot base;
	/* the layer equals the stored result; else the layer is read */
	bool stored;
	struct snapshot result;
};

static void run_layer_free(struct run_layer *s)
{
	snapshot_free(&s->base);
	snapshot_free(&s->result);
}

/* Marks the changes of a list that the run has left in another state than its
 * base. */
struct changed_marks {
	const struct change_list *list;
	bool *changed;
};

static bool is_same_state(const struct entry *was, const struct entry *left)
{
	return was && left && was->mode && left->mode &&
	       !((was->flags | left->flags) & ENTRY_INCOMPLETE) &&
	       entry_same_meta(was, left) &&
	       (S_ISDIR(was->mode) || entry_same_content(was, left));
}

static int mark_changed_path(void *arg, const char *path,
			     const struct entry *was, const struct entry *left,
			     struct err *err)
{
	struct changed_marks *m = arg;
	const struct change *c;

	(void)err;
	if (is_same_state(was, left))
		return 0;
	c = FIND_BY_PATH(path, m->list->items, m->list->count, path);
	if (c)
		m->changed[c - m->list->items] = true;
	return 0;
}

static bool is_same_head(const struct change_side *left,
			 const struct entry *was)
{
	return left->mode && left->mode == was->mode && left->uid == was->uid &&
	       left->gid == was->gid &&
	       (!S_ISREG(was->mode) || left->size == was->size);
}

/* False also when the entry cannot be read. */
static bool layer_has_entry(struct store *store, int upper_fd,
			    const struct change *c, const struct entry *was)
{
	const char *name = c->path;
	AUTO(xattrs) struct xattrs want = {0};
	AUTO(xattrs) struct xattrs have = {0};
	auto_close int parent = -1, fd = -1;
	struct err ignored;

	if ((was->flags & ENTRY_INCOMPLETE) || !is_same_head(&c->now, was))
		return false;
	parent = beneath_parent(upper_fd, c->path, &name, &ignored);
	if (parent >= 0)
		fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || attrset_load(store, &was->attrs, &want, &ignored) < 0 ||
	    xattrs_get(fd, "", &have, &ignored) < 0)
		return false;
	(void)xattrs_remove_prefix(&have, LAYER_XATTR_PREFIX);
	return xattrs_equal(&want, &have) &&
	       (S_ISDIR(was->mode) ||
		entry_compare_content(store, parent, name, was, &ignored) == 1);
}

/* Whether the run has left the path in the state of its base (NULL: absent). */
static int is_left_by_run(struct store *store,
			  const struct run_layer *run_layer,
			  const struct change *c, const struct entry *was,
			  struct err *err)
{
	AUTO(entry) struct entry left = {0};
	int got;

	if (!run_layer->stored)
		return was ? layer_has_entry(store, run_layer->root->upper_fd,
					     c, was)
			   : !c->now.mode;
	got = tree_lookup(store, &run_layer->result.root, c->path, &left, err);
	if (got < 0)
		return got;
	return was ? is_same_state(was, &left) : !got || !left.mode;
}

/* Whether base and result have the path in the same state. */
static int is_as_begun(struct store *store, const struct run_layer *run_layer,
		       const struct change *c, struct err *err)
{
	AUTO(entry) struct entry was = {0};
	int got = tree_lookup(store, &run_layer->base.root, c->path, &was, err);

	if (got <= 0 || !was.mode)
		return got < 0 ? got : 0;
	/* The real file is as before the run, and differs from the run's
	 * file. */
	if (!run_layer->stored && c->kind == CHANGE_MODIFIED &&
	    is_same_head(&c->old, &was) &&
	    timestamp_compare(c->old.mtime, was.mtime) == 0)
		return 0;
	return is_left_by_run(store, run_layer, c, &was, err);
}

static bool may_be_untouched(const struct change *c)
{
	return c->kind == CHANGE_MODIFIED || c->kind == CHANGE_META;
}

/* Whether the layer deletes a directory around the path, but not the path by
 * itself. */
static bool is_deleted_around(int upper_fd, const char *path)
{
	struct err ignored;
	auto_close int fd = beneath_open(upper_fd, path, O_PATH, 0, &ignored);

	return fd == -ENOENT || fd == -ENOTDIR;
}

static bool deletes_around(const struct changes_root *root)
{
	size_t i;

	for (i = 0; i < root->list.count; i++)
		if (root->list.items[i].kind == CHANGE_DELETED &&
		    is_deleted_around(root->upper_fd, root->list.items[i].path))
			return true;
	return false;
}

/* Marks the changes whose applied version is in effect and that the run has
 * left as applied. A later edit of the user is no change of the run. */
struct dropped_marks {
	struct store *store;
	const struct run_layer *run_layer;
	bool *dropped;
};

static int mark_applied(void *arg, const char *path, const struct entry *began,
			struct err *err)
{
	struct dropped_marks *m = arg;
	const struct change_list *list = &m->run_layer->root->list;
	const struct change *c =
		FIND_BY_PATH(path, list->items, list->count, path);
	int got;

	if (!c)
		return 0;
	got = is_left_by_run(m->store, m->run_layer, c, began, err);
	if (got >= 0)
		m->dropped[c - list->items] = got;
	return got < 0 ? got : 0;
}

/* Whether a file of the project may differ from the base. Where none does, each
 * change is the run's: its file differs from that of the project. */
static int has_edits(struct store *store, const struct run_layer *run_layer,
		     struct err *err)
{
	const struct change_list *list = &run_layer->root->list;
	size_t i;

	if (changes_edited_compare(store, &run_layer->base, run_layer->root,
				   err) < 0)
		return -err->num;
	for (i = 0; i < list->count; i++)
		if (may_be_untouched(&list->items[i]) &&
		    (list->items[i].flags & CHANGES_NOT_BASE))
			return 1;
	return 0;
}

/* Whether the base is known not to have the path. */
static int base_lacks(struct store *store, const struct snapshot *base,
		      const char *path, struct err *err)
{
	auto_free char *at = mem_strdup(path);

	for (;;) {
		AUTO(entry) struct entry e = {0};
		int got = tree_lookup(store, &base->root, at, &e, err);
		char *up;

		if (got < 0)
			return got;
		if (got && e.mode)
			return strcmp(at, path) != 0 &&
			       !(e.flags & ENTRY_INCOMPLETE);
		if (!*at)
			return 0;
		up = path_parent(at);
		free(at);
		at = up;
	}
}

/* Marks the directories around a path that the user has added: an apply will
 * find a conflict. */
static void mark_dirs_edited(const struct change_list *list, const char *path)
{
	auto_free char *at = path_parent(path);

	while (*at) {
		struct change *c =
			FIND_BY_PATH(at, list->items, list->count, path);
		char *up = path_parent(at);

		if (c)
			c->flags |= CHANGES_EDITED;
		free(at);
		at = up;
	}
}

/* Drops entries that the user has added in directories that the run has
 * deleted. */
static int drop_added_since(struct store *store,
			    const struct run_layer *run_layer, bool *dropped,
			    struct err *err)
{
	const struct change_list *list = &run_layer->root->list;
	size_t i;

	if (!deletes_around(run_layer->root))
		return 0;
	if (changes_edited_compare(store, &run_layer->base, run_layer->root,
				   err) < 0)
		return -err->num;
	for (i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];
		int got;

		if (c->kind != CHANGE_DELETED ||
		    !(c->flags & CHANGES_NOT_BASE) ||
		    !is_deleted_around(run_layer->root->upper_fd, c->path))
			continue;
		got = base_lacks(store, &run_layer->base, c->path, err);
		if (got < 0)
			return got;
		if (!got)
			continue;
		dropped[i] = true;
		mark_dirs_edited(list, c->path);
	}
	return 0;
}

static int drop_marked_changes(struct context *c, const struct session *s,
			       struct run_layer *run_layer, struct err *err)
{
	struct change_list *list = &run_layer->root->list;
	auto_free bool *changed = mem_zalloc(list->count * sizeof(*changed));
	auto_free bool *dropped = mem_zalloc(list->count * sizeof(*dropped));
	struct changed_marks m = {list, changed};
	struct dropped_marks applied = {c->store, run_layer, dropped};
	auto_close int workspace_fd = workspace_open(
		c->state.workspaces_fd, run_layer->path, false, err);
	const struct apply_log_query query = {NULL, run_layer->root->lower_fd,
					      workspace_fd};
	size_t kept = 0, i;
	int got = 0;

	if (run_layer->stored)
		got = has_edits(c->store, run_layer, err);
	if (run_layer->stored && got == 0)
		memset(changed, true, list->count * sizeof(*changed));
	else if (got > 0)
		got = tree_diff(c->store, &run_layer->base.root,
				&run_layer->result.root, mark_changed_path, &m,
				err);
	for (i = 0; got >= 0 && i < list->count; i++) {
		const struct change *at = &list->items[i];

		if (changed[i] || !may_be_untouched(at))
			continue;
		got = is_as_begun(c->store, run_layer, at, err);
		dropped[i] = got > 0;
	}
	if (got >= 0)
		got = apply_log_each_base(c->store, s, run_layer->dir_index,
					  &query, &run_layer->base.root,
					  mark_applied, &applied, err);
	if (got >= 0)
		got = drop_added_since(c->store, run_layer, dropped, err);
	for (i = 0; got >= 0 && i < list->count; i++)
		if (!dropped[i])
			list->items[kept++] = list->items[i];
	if (got >= 0)
		list->count = kept;
	return got < 0 ? got : 0;
}

static int drop_untouched(struct context *c, const struct session *s,
			  const struct session_root *root,
			  struct run_layer *run_layer, struct err *err)
{
	const struct change_list *list = &run_layer->root->list;
	bool any = deletes_around(run_layer->root);
	size_t i;

	for (i = 0; i < list->count && !any; i++)
		any = may_be_untouched(&list->items[i]);
	if (!root->base || (!any && !apply_log_any(s)))
		return 0;
	/* A result that was stored after the end of the run equals the
	 * layer. */
	run_layer->stored = s->state == RUN_ENDED && !s->live && root->result &&
			    timestamp_compare(list->newest, s->ended) < 0;
	if (context_store(c, STORE_READ, err) < 0 ||
	    catalog_load(c->store, root->base, &run_layer->base, err) < 0 ||
	    (run_layer->stored &&
	     catalog_load(c->store, root->result, &run_layer->result, err) < 0))
		return -err->num;
	return drop_marked_changes(c, s, run_layer, err);
}

/* Whether base and result are all that the run changed in its roots. The result
 * of a root without changes is 0. */
static bool has_stored_trees(const struct session *s)
{
	const char *stored = record_get(&s->more, CHANGES_STORED);
	bool any = false;
	size_t i;

	if (s->state != RUN_ENDED || s->live || apply_log_any(s) || !stored ||
	    strcmp(stored, "1") != 0 || moved_dirs_any(s))
		return false;
	for (i = 0; i < s->root_count; i++) {
		if (s->roots[i].result && !s->roots[i].base)
			return false;
		any |= s->roots[i].result != 0;
	}
	return any;
}

/* Fails where a tree cannot be loaded, or the base does not have all paths. */
static int list_delta(void *arg, const struct session *s, size_t index,
		      struct changes_root *root, struct err *err)
{
	struct context *c = arg;
	AUTO(snapshot) struct snapshot base = {0}, result = {0};

	/* No change. */
	if (!s->roots[index].result)
		return 0;
	if (catalog_load(c->store, s->roots[index].base, &base, err) < 0 ||
	    catalog_load(c->store, s->roots[index].result, &result, err) < 0)
		return -err->num;
	if (base.note_count || (base.root.flags & ENTRY_INCOMPLETE))
		return fail(err, ENODATA, "the base lacks paths");
	root->delta = mem_zalloc(sizeof(*root->delta));
	root->delta->store = &c->store;
	entry_copy(&root->delta->old, &base.root);
	entry_copy(&root->delta->now, &result.root);
	root->stored = s->ended;
	return delta_list(root->delta, NULL, NULL, &root->list, err) < 0
		       ? -err->num
		       : changes_drop_present(root, c->store, err);
}

int changes_load_stored(struct context *c, const struct session *s,
			struct changes *ret, struct err *err)
{
	struct err ignored;

	if (has_stored_trees(s) &&
	    context_store(c, STORE_READ, &ignored) == 0 &&
	    changes_load_by(s, &c->state, list_delta, c, ret, &ignored) == 0) {
		ret->stored = true;
		return 0;
	}
	return changes_load(s, &c->state, ret, err);
}

int changes_load_own(struct context *c, const struct session *s,
		     struct changes *ret, struct err *err)
{
	struct session own = *s; /* borrowed, except for the roots */
	auto_free struct session_root *roots =
		mem_dup(s->roots, s->root_count * sizeof(*roots));
	struct err ignored;
	size_t i;

	own.roots = roots;
	if (changes_load_stored(c, s, ret, err) < 0)
		return -err->num;
	if (ret->stored ||
	    (s->state != RUN_ENDED && s->state != RUN_INTERRUPTED &&
	     !s->live) ||
	    session_base(&own, false, &ignored) <= 0)
		return 0;
	for (i = 0; i < s->root_count; i++) {
		struct changes_root *at = &ret->roots[i];
		AUTO(run_layer)
		struct run_layer run_layer = {
			.dir_index = i,
			.path = s->roots[i].path,
			.root = at,
		};

		(void)drop_untouched(c, s, &roots[i], &run_layer, &ignored);
	}
	return 0;
}
