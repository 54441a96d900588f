/* The changes of a run as the delta of two trees: its base, and its result. */
#include "guard/change/changes.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "guard/change/applied_base.h"
#include "guard/change/apply_log.h"
#include "guard/change/delta.h"
#include "guard/change/worktrees.h"
#include "guard/state/context.h"
#include "overlay/session_base.h"
#include "restore/result.h"

struct tree_loader {
	struct context *c;
	bool stored; /* the results are; else the layers are read */
};

/* A path that the base could not read, or that was excluded from it, and that
 * the run has: whether it is new, only the real files tell. */
static void correct_unrecorded(struct changes_root *root)
{
	size_t i;

	for (i = 0; root->base.note_count && i < root->list.count; i++) {
		struct change *c = &root->list.items[i];
		const char *name = c->path;
		struct err ignored;
		auto_close int parent = -1;
		struct meta m;

		if (c->kind != CHANGE_ADDED ||
		    !snapshot_has_note(&root->base, NOTE_INCOMPLETE, c->path))
			continue;
		parent = beneath_parent(root->lower_fd, c->path, &name,
					&ignored);
		if (parent < 0 || meta_get(parent, name, &m) < 0)
			continue;
		c->kind = (m.mode ^ c->now.mode) & S_IFMT ? CHANGE_TYPE
							  : CHANGE_MODIFIED;
		c->flags |= CHANGE_UNREADABLE;
		c->old = (struct change_side){
			.mode = m.mode,
			.uid = m.uid,
			.gid = m.gid,
			.size = m.size,
			.mtime = m.mtime,
		};
	}
}

/* Makes the list the delta of root->base and the result. */
static int compare_trees(struct context *c, struct changes_root *root,
			 const struct entry *result, struct err *err)
{
	AUTO(change_list) struct change_list scanned = root->list, caches = {0};
	struct delta *delta = mem_zalloc(sizeof(*delta));

	root->list = (struct change_list){
		.newest = scanned.newest,
		.newest_below = scanned.newest_below,
	};
	delta->store = &c->store;
	entry_copy(&delta->old, &root->base.root);
	entry_copy(&delta->now, result);
	root->delta = delta;
	if (delta_list(delta, NULL, NULL, &root->list, err) < 0)
		return -err->num;
	/* The trees have caches below a deleted directory, and applied ones. */
	if (root->home)
		changes_take_caches(&root->list, &caches);
	correct_unrecorded(root);
	return changes_drop_present(root, c->store, err);
}

static int list_stored(struct context *c, const struct session *s, size_t index,
		       struct changes_root *root, struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};

	/* No change. */
	if (!s->roots[index].result)
		return 0;
	if (catalog_load(c->store, applied_base_seq(s, index), &root->base,
			 err) < 0 ||
	    catalog_load(c->store, s->roots[index].result, &result, err) < 0)
		return -err->num;
	root->stored = s->ended;
	return compare_trees(c, root, &result.root, err);
}

/* Whether the store's disk is too full for the bytes of the layer: a part of
 * them would take the place that a smaller apply needs. */
static bool lacks_space(const struct context *c, const struct changes_root *r)
{
	uint64_t bytes = 0;
	struct statvfs fs;
	size_t i;

	for (i = 0; i < r->list.count; i++)
		if (S_ISREG(r->list.items[i].now.mode))
			bytes += r->list.items[i].now.size;
	return fstatvfs(c->state.fd, &fs) < 0 ||
	       bytes > (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Makes the result of the changes that the layer has. */
static int import_list(struct context *c, const struct session *s, size_t index,
		       struct changes_root *root, struct err *err)
{
	uint64_t seq = applied_base_seq(s, index);
	AUTO(entry) struct entry result = {0};

	/* Without a base the tree holds the applied paths alone. */
	if (!root->list.count || !s->roots[index].base)
		return 0;
	if (lacks_space(c, root))
		return fail(err, ENOSPC, "the disk of the store is full");
	if (catalog_load(c->store, seq, &root->base, err) < 0 ||
	    result_make(c->store, &root->base.root, root->upper_fd, &root->list,
			NULL, &result, err) < 0)
		return -err->num;
	return compare_trees(c, root, &result, err);
}

/* Stores the layer's files, as the run's end does. */
static int import_layer(struct context *c, const struct session *s,
			size_t index, struct changes_root *root,
			struct err *err)
{
	AUTO(change_list) struct change_list caches = {0};
	int got = changes_scan(s, &c->state, index, root, err);

	if (root->home)
		changes_take_caches(&root->list, &caches);
	if (got == 0)
		got = import_list(c, s, index, root, err);
	changes_add_caches(&root->list, &caches);
	return got;
}

/* Adds the changes that are not stored. */
static int add_caches(const struct session *s, const struct state *state,
		      size_t index, struct changes_root *root, struct err *err)
{
	AUTO(change_list) struct change_list caches = {0};
	struct changes_root layer = *root; /* borrowed, except for the list */
	int got;

	layer.list = (struct change_list){0};
	got = changes_scan(s, state, index, &layer, err);
	changes_take_caches(&layer.list, &caches);
	changes_add_caches(&root->list, &caches);
	change_list_free(&layer.list);
	return got;
}

static int list_trees(void *arg, const struct session *s,
		      const struct state *state, size_t index,
		      struct changes_root *root, struct err *err)
{
	const struct tree_loader *l = arg;
	const char *home = record_get(&s->more, CHANGES_HOME);

	if (!l->stored)
		return import_layer(l->c, s, index, root, err);
	/* An earlier guard has stored no home directory. */
	if (root->home && !home)
		return changes_scan(s, state, index, root, err);
	if (list_stored(l->c, s, index, root, err) < 0)
		return -err->num;
	return root->home && strcmp(home, CHANGES_HOME_ALL) != 0
		       ? add_caches(s, state, index, root, err)
		       : 0;
}

/* --- all roots --- */

static int list_layer(void *arg, const struct session *s,
		      const struct state *state, size_t index,
		      struct changes_root *root, struct err *err)
{
	(void)arg;
	return changes_scan(s, state, index, root, err);
}

int changes_load(const struct session *s, const struct state *state,
		 struct changes *ret, struct err *err)
{
	if (changes_load_by(s, state, list_layer, NULL, ret, err) < 0)
		return -err->num;
	changes_torn_mark(s, ret);
	worktrees_find(s, ret);
	return 0;
}

static int load_trees(struct context *c, struct session *s, bool scan_live,
		      struct changes *ret, struct err *err)
{
	const struct session_root *home = &s->roots[s->root_count];
	struct tree_loader l = {.c = c};
	int got = 1;

	/* A live run's late base is in no record. */
	if (!s->roots[0].base || (home->result && !home->base))
		got = session_base(s, false, err);
	l.stored = session_is_stored(s);
	/* Where the run has changed nothing, no base is needed. */
	if (got <= 0 && !(l.stored && !s->roots[0].result))
		return got < 0 ? got : -ENODATA;
	if (apply_log_convert(c, s, err) < 0)
		return -err->num;
	if (s->live && scan_live && !session_has_applied(s))
		return changes_load(s, &c->state, ret, err);
	if (context_store(c, l.stored ? STORE_READ : STORE_WRITE, err) < 0)
		return -err->num;
	got = changes_load_by(s, &c->state, list_trees, &l, ret, err);
	if (got < 0)
		return got;
	changes_torn_mark(s, ret);
	worktrees_find(s, ret);
	ret->stored = l.stored;
	return got;
}

static int load(struct context *c, const struct session *s, bool scan_live,
		struct changes *ret, struct err *err)
{
	struct session own = *s; /* borrowed, except for the roots */
	auto_free struct session_root *roots =
		mem_dup(s->roots, (s->root_count + 1) * sizeof(*roots));
	struct err ignored;

	own.roots = roots;
	return load_trees(c, &own, scan_live, ret, &ignored) == 0
		       ? 0
		       : changes_load(s, &c->state, ret, err);
}

int changes_load_trees(struct context *c, const struct session *s,
		       struct changes *ret, struct err *err)
{
	return load(c, s, false, ret, err);
}

int changes_load_own(struct context *c, const struct session *s,
		     struct changes *ret, struct err *err)
{
	return load(c, s, true, ret, err);
}
