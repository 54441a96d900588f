#include "restore/result.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/text.h"
#include "restore/path_cursor.h"
#include "base/vec.h"
#include "overlay/whiteout.h"
#include "restore/plan/lookup.h"
#include "snapshot/walk/take.h"

/* A parent of the entry that is being read. */
struct level {
	char *path;
	struct temp_chmod opened; /* the chmod that was needed to open it */
};

struct result {
	struct store *store;
	struct tree_editor *editor;
	int upper_fd;
	VEC(struct level) levels; /* from the root down */
	int dir_fd; /* the last level's */
	struct path_cursor cursor; /* to directories that are entered again */
	char *removed_path; /* deleted together with all entries of base below
			     */
	char *saved_dir; /* the directory that the editor holds in memory */
	struct lookup base;
};

static void pop_result_level(struct result *r)
{
	struct level *w = &r->levels.items[--r->levels.count];

	temp_chmod_free(&w->opened);
	free(w->path);
}

static void result_free(struct result *r)
{
	while (r->levels.count)
		pop_result_level(r);
	free(r->levels.items);
	free(r->removed_path);
	free(r->saved_dir);
	if (r->dir_fd >= 0)
		(void)close(r->dir_fd);
	path_cursor_free(&r->cursor);
	lookup_free(&r->base);
	tree_editor_free(&r->editor);
}

static int push_result_level(struct result *r, const char *path,
			     struct err *err)
{
	struct temp_chmod opened = {.fd = -1};
	int fd = upper_open(r->levels.count ? r->dir_fd : r->upper_fd,
			    path_name(path), O_RDONLY | O_DIRECTORY, 0500,
			    &opened, err);

	if (fd < 0)
		return fd;
	if (r->dir_fd >= 0)
		(void)close(r->dir_fd);
	r->dir_fd = fd;
	*VEC_ADD(&r->levels) = (struct level){
		.path = mem_strdup(path),
		.opened = opened,
	};
	return 0;
}

/* Opens the directory `dir` of the upper as r->dir_fd. Directories that the run
 * made unreadable are readable only while an entry below is read. */
static int enter_layer_dir(struct result *r, const char *dir, struct err *err)
{
	size_t had = r->levels.count;

	while (r->levels.count &&
	       !path_below(dir, r->levels.items[r->levels.count - 1].path))
		pop_result_level(r);
	if (r->levels.count != had && r->levels.count) {
		auto_free char *path =
			mem_strdup(r->levels.items[r->levels.count - 1].path);
		int fd = path_cursor_open(&r->cursor, path,
					  O_RDONLY | O_DIRECTORY, err);

		if (fd < 0)
			return fd;
		(void)close(r->dir_fd);
		r->dir_fd = fd;
	}
	if (!r->levels.count && push_result_level(r, "", err) < 0)
		return -err->num;
	for (;;) {
		const char *here = r->levels.items[r->levels.count - 1].path;
		const char *rest = path_rest(dir, here);
		auto_free char *name = mem_strndup(rest, strcspn(rest, "/"));
		auto_free char *next = NULL;

		if (!*rest)
			return 0;
		next = path_join(here, name);
		if (push_result_level(r, next, err) < 0)
			return -err->num;
	}
}

int result_take_entry(struct store *store, int dir_fd, const char *name,
		      struct entry *ret, struct err *err)
{
	struct temp_chmod opened = {.fd = -1};
	struct meta m;
	int got = take_entry(store, dir_fd, name, LAYER_XATTR_PREFIX, ret, err);

	if (got == -EACCES && meta_get(dir_fd, name, &m) == 0 &&
	    (S_ISREG(m.mode) || S_ISDIR(m.mode))) {
		/* The entry must be readable during the read. */
		struct err ignored;
		auto_close int fd = upper_open(dir_fd, name, O_RDONLY,
					       S_ISDIR(m.mode) ? 0500 : 0400,
					       &opened, &ignored);

		if (fd >= 0)
			got = take_entry(store, dir_fd, name,
					 LAYER_XATTR_PREFIX, ret, err);
	}
	if (got == -EACCES && meta_get(dir_fd, name, &m) < 0) {
		got = fail_errno(err, "stat it");
	} else if (got == -EACCES) {
		got = 0;
		/* An incomplete entry for an unreadable file. */
		*ret = (struct entry){
			.name = mem_strdup(name),
			.mode = m.mode,
			.uid = m.uid,
			.gid = m.gid,
			.mtime = m.mtime,
			.size = S_ISREG(m.mode) ? m.size : 0,
			.flags = ENTRY_INCOMPLETE,
		};
	}
	if (got == 0 && opened.fd >= 0)
		ret->mode = opened.mode;
	temp_chmod_free(&opened);
	return got;
}

/* Stores one entry of the upper. */
static int store_layer_entry(struct result *r, const char *path,
			     struct entry *ret, struct err *err)
{
	auto_free char *dir = path_parent(path);

	if (enter_layer_dir(r, dir, err) < 0 ||
	    result_take_entry(r->store, r->dir_fd, path_name(path), ret, err) <
		    0)
		return -err->num;
	if (ret->link_group)
		ret->link_group |= RESULT_GROUP_OF_LAYER;
	return 0;
}

/*
 * An upper has the user's first group in place of a group that the layer cannot
 * have (overlay/pre_copy_up.h). Sets the real one: a set-group-ID directory and
 * its entries keep it, and so do entries without new content. old: the entry in
 * base, or an empty one.
 */
static int restore_group(struct result *r, const char *path,
			 const struct entry *old, struct entry *e,
			 struct err *err)
{
	AUTO(entry) struct entry above = {0};
	auto_free char *dir = path_parent(path);
	struct stat st;
	bool inherits;
	int got;

	if (geteuid() == 0 || e->gid != getegid() ||
	    (old->mode && old->gid == e->gid))
		return 0;
	inherits =
		*path && fstat(r->dir_fd, &st) == 0 && (st.st_mode & S_ISGID);
	if (old->mode) {
		if (inherits || (S_ISDIR(e->mode) && old->mode & S_ISGID) ||
		    (!group_member(old->gid) && entry_same_content(old, e)))
			e->gid = old->gid;
		return 0;
	}
	got = inherits ? tree_editor_get(r->editor, dir, &above, err) : 0;
	if (got > 0 && above.mode & S_ISGID)
		e->gid = above.gid;
	return got < 0 ? got : 0;
}

static int put_result_entry(struct result *r, const char *path, struct entry *e,
			    struct err *err)
{
	AUTO(entry) struct entry old = {0};
	int got = tree_editor_get(r->editor, path, &old, err);

	if (got < 0)
		return got;
	/* An upper keeps no chattr(1) flags: a rewritten file gets those of the
	 * file that it replaces. */
	if (got && (old.mode & S_IFMT) == (e->mode & S_IFMT))
		e->chattr = old.chattr;
	if (restore_group(r, path, &old, e, err) < 0)
		return -err->num;
	return S_ISDIR(e->mode) ? tree_editor_put_dir(r->editor, path, e, err)
				: tree_editor_put(r->editor, path, e, err);
}

/* Adds directories that base lacks, because the user created or moved them
 * while base was taken. */
static int add_missing_parents(struct result *r, const char *path,
			       struct err *err)
{
	size_t len;

	for (len = 0; path[len]; len++) {
		AUTO(entry) struct entry e = {0};
		auto_free char *dir = NULL;

		if (path[len] != '/')
			continue;
		dir = mem_strndup(path, len);
		if (store_layer_entry(r, dir, &e, err) < 0 ||
		    tree_editor_put_dir(r->editor, dir, &e, err) < 0)
			return -err->num;
	}
	return 0;
}

/* unreadable: a directory may hold more entries than were listed. */
static int store_result_path(struct result *r, const char *path,
			     bool unreadable, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got;

	if (store_layer_entry(r, path, &e, err) < 0)
		return -err->num;
	if (unreadable && S_ISDIR(e.mode))
		e.flags |= ENTRY_INCOMPLETE;
	got = put_result_entry(r, path, &e, err);
	if (got == -ENOTDIR) {
		if (add_missing_parents(r, path, err) < 0)
			return -err->num;
		got = put_result_entry(r, path, &e, err);
	}
	return got;
}

static int apply_layer_change(struct result *r, const struct change *c,
			      struct err *err)
{
	if (c->kind == CHANGE_DELETED && r->removed_path &&
	    path_below(c->path, r->removed_path))
		return 0;
	if (c->kind == CHANGE_DELETED || c->kind == CHANGE_TYPE) {
		/* Entries below a directory of that name are deleted with
		 * it. */
		free(r->removed_path);
		r->removed_path = mem_strdup(c->path);
		if (tree_editor_remove(r->editor, c->path, err) < 0)
			return -err->num;
	}
	return c->kind == CHANGE_DELETED
		       ? 0
		       : store_result_path(r, c->path,
					   c->flags & CHANGE_UNREADABLE, err);
}

/*
 * Applies a change of the mtime alone, or a new hard link. The file's bytes are
 * those of base, or the user's present ones, and are not read again. A file
 * with several hard links keeps its mtime: the upper splits the links, and a
 * time alone is no reason to split them in the project. A directory in the
 * upper may belong to the user where the real one belongs to another user, and
 * keeps the owner of base.
 */
static int apply_time_change(struct result *r, const char *path,
			     struct err *err)
{
	AUTO(entry) struct entry e = {0};
	auto_free char *dir = path_parent(path);
	struct meta m;
	int got;

	if (enter_layer_dir(r, dir, err) < 0)
		return -err->num;
	if (meta_get(r->dir_fd, path_name(path), &m) < 0)
		return fail_errno(err, "stat it");
	got = lookup_find(&r->base, path, &e, err);
	if (S_ISDIR(m.mode) && (got == 0 || (got > 0 && !S_ISDIR(e.mode))))
		return store_result_path(r, path, false, err);
	if (got <= 0 || (e.mode & S_IFMT) != (m.mode & S_IFMT) ||
	    (e.link_group && m.nlink < 2))
		return got < 0 ? got : 0;
	if (!e.link_group)
		e.mtime = m.mtime;
	if (m.nlink > 1 && S_ISREG(m.mode))
		e.link_group = m.ino | RESULT_GROUP_OF_LAYER;
	return put_result_entry(r, path, &e, err);
}

int result_make(struct store *store, const struct entry *base, int upper_fd,
		const struct change_list *changes, const char *const *only,
		struct entry *ret_root, struct err *err)
{
	AUTO(result)
	struct result r = {
		.store = store,
		.editor = tree_editor_new(store, base),
		.upper_fd = upper_fd,
		.dir_fd = -1,
		.cursor = {.root_fd = upper_fd},
		.base = {.store = store, .root = base},
	};
	AUTO(pathset) struct pathset meant = pathset_make(only);
	size_t i = 0, k = 0;

	/* All changes in one path order: each directory is saved when the walk
	 * leaves it, so memory holds few of them. */
	while (i < changes->count || k < changes->touched_count) {
		const struct change *c =
			i < changes->count ? &changes->items[i] : NULL;
		const char *path =
			k < changes->touched_count ? changes->touched[k] : NULL;
		bool first = c && (!path || path_compare(c->path, path) <= 0);
		auto_free char *dir = path_parent(first ? c->path : path);
		int got = 0;

		path = first ? c->path : path;
		i += first;
		k += !first;
		/* A parent of a selected path counts, too. */
		if (!pathset_contains(&meant, path) &&
		    !pathset_has_below(&meant, path))
			continue;
		/* The previous directory is saved once. */
		if (!r.saved_dir || strcmp(r.saved_dir, dir) != 0) {
			free(r.saved_dir);
			r.saved_dir = TAKE(dir);
			got = tree_editor_move_to(r.editor, path, err);
		}
		if (got < 0 || (first ? apply_layer_change(&r, c, err)
				      : apply_time_change(&r, path, err)) < 0)
			return err_context(err, "store the run's %s",
					   text_quote(*path ? path : "."));
	}
	return tree_editor_save(r.editor, ret_root, err);
}
