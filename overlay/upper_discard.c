#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/whiteout.h"
#include "overlay/pre_copy_up.h"
#include "overlay/scan.h"

/*
 * Names in the trash for entries that upper_discard() removed from a layer.
 * NAME is the caller's name:
 *
 * 	NAME		the layer's entry at the path: a file, a directory or a
 * 			whiteout
 * 	NAME-at-N	the whiteout of the first N parts of the path, a
 * 			directory that the run had deleted. Before the exchange
 * 			with the whiteout this is the directory that replaces it
 * 	NAME, NAME-root	for the path "": a directory with all entries of the
 * 			layer; and an empty one with the metadata that the run
 * 			gave the root
 */
#define ROOT_META "-root"

static char *ancestor_trash_name(const char *name, unsigned int depth)
{
	return mem_printf("%s-at-%u", name, depth);
}

/*
 * State of the discard of one path, which must not uncover any other path.
 * Where the layer hides the complete real directory (opaque or deleted), the
 * directory is first converted into one with a whiteout for each name; then the
 * one name is uncovered. Each step before the last one keeps the merged view
 * unchanged, so a crash in between is harmless.
 */
struct upper_discard {
	int upper, lower; /* current directories; lower -1: none */
	struct temp_chmod opened;
	bool opaque; /* upper hides lower */
	unsigned int depth; /* depth of the current directories */
	int trash_fd;
	const char *trash_name;
};

static void upper_discard_free(struct upper_discard *r)
{
	fd_close(&r->upper);
	fd_close(&r->lower);
	temp_chmod_free(&r->opened);
}

/* Whether an entry, also a whiteout, has that name: 1, 0 or a negative
 * errno. */
static int lstat_if_exists(int dir, const char *name, struct meta *ret,
			   struct err *err)
{
	if (meta_get(dir, name, ret) == 0)
		return 1;
	return errno == ENOENT ? 0
			       : fail_errno(err, "stat %s", text_quote(name));
}

/* The same in the merged view: a whiteout (*ret_is_whiteout) is 0. */
static int lstat_layer_name(int dirfd, const char *name, struct meta *ret,
			    bool *ret_is_whiteout, struct err *err)
{
	int got = dirfd < 0 ? 0 : lstat_if_exists(dirfd, name, ret, err);

	*ret_is_whiteout = got > 0 && whiteout_is(ret);
	return *ret_is_whiteout ? 0 : got;
}

/*
 * Converts an opaque directory into a merged one with a whiteout for each lower
 * name that it does not have, except for `except`.
 */
static int whiteout_each_name(int upper, int lower, const char *except,
			      struct err *err)
{
	AUTO(dirlist) struct dirlist names = {0};
	auto_close int dir = fd_reopen(lower, O_RDONLY | O_DIRECTORY);
	size_t i;

	if (dir < 0)
		return fail_errno(err, "list the real directory");
	if (dirlist_read(dir, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *name = names.items[i].name;
		AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
		auto_close int fd = -1;
		struct meta u, l;
		bool is_whiteout, lower_white;
		int has_u =
			lstat_layer_name(upper, name, &u, &is_whiteout, err);
		int has_l =
			lstat_layer_name(lower, name, &l, &lower_white, err);
		int got = 0;

		if (has_u < 0 || has_l < 0)
			return -err->num;
		/* A directory inside of an opaque one was not merged, and must
		 * not become merged when its parent does. */
		if (has_u && has_l && S_ISDIR(u.mode) && S_ISDIR(l.mode)) {
			fd = upper_open(upper, name, O_RDONLY | O_DIRECTORY,
					0700, &opened, err);
			got = fd < 0 ? fd : opaque_set(fd, true, err);
		} else if (has_l && !has_u && !is_whiteout &&
			   strcmp(name, except) != 0) {
			got = whiteout_create(upper, name, err);
		}
		if (got < 0)
			return got;
	}
	return opaque_set(upper, false, err);
}

/* Builds a directory in the trash with the lower's metadata and a whiteout
 * for each name but the next part of path; inside it the same for the rest
 * of path. */
static int build_opaque_chain(int dir, const char *name, int lower_dir,
			      const char *path, struct err *err)
{
	size_t len = strcspn(path, "/");
	auto_free char *part = mem_strndup(path, len);
	auto_free char *next = NULL;
	auto_close int upper = -1, lower = -1;
	struct meta m;
	bool is_whiteout;
	int got;

	lower = beneath_open(lower_dir, part, O_PATH | O_DIRECTORY, 0, err);
	if (lower < 0)
		return lower;
	if (mkdirat(dir, name, 0700) < 0)
		return fail_errno(err, "create directory %s", text_quote(name));
	upper = beneath_open(dir, name, O_RDONLY | O_DIRECTORY, 0, err);
	if (upper < 0)
		return upper;
	path += len + 1;
	len = strcspn(path, "/");
	next = mem_strndup(path, len);
	if (whiteout_each_name(upper, lower, next, err) < 0)
		return -err->num;
	if (path[len]) {
		got = lstat_layer_name(lower, next, &m, &is_whiteout, err);
		if (got > 0 && S_ISDIR(m.mode))
			got = build_opaque_chain(upper, next, lower, path, err);
		if (got < 0)
			return got;
	}
	return pre_copy_up_root(upper, lower, err);
}

/*
 * Handles a path whose first part is deleted in the layer: the directory
 * returns, with all its entries deleted except for the path. A single
 * RENAME_EXCHANGE replaces the whiteout, which is in the trash afterwards.
 */
static int undelete_ancestor(struct upper_discard *r, const char *path,
			     struct err *err)
{
	auto_free char *name = mem_strndup(path, strcspn(path, "/"));
	auto_free char *trash_name =
		ancestor_trash_name(r->trash_name, r->depth + 1);
	auto_close int probe = beneath_open(r->lower, path, O_PATH, 0, err);

	if (probe == -ENOENT || probe == -ENOTDIR)
		return 0; /* the real directory has no such name */
	if (probe < 0)
		return probe;
	if (build_opaque_chain(r->trash_fd, trash_name, r->lower, path, err) <
	    0)
		return -err->num;
	if (renameat2(r->trash_fd, trash_name, r->upper, name,
		      RENAME_EXCHANGE) < 0)
		return fail_errno(err, "revert %s", text_quote(path));
	return 0;
}

/* Moves a name to the trash. Renaming a directory writes to it (".."), so the
 * directory itself must be writable. */
static int move_name_to_trash(struct upper_discard *r, const char *name,
			      struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int fd = -1;
	struct meta m;

	if (meta_get(r->upper, name, &m) < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "%s", text_quote(name));
	if (S_ISDIR(m.mode)) {
		fd = upper_open(r->upper, name, O_RDONLY | O_DIRECTORY, 0700,
				&opened, err);
		if (fd < 0)
			return fd;
	}
	if (renameat2(r->upper, name, r->trash_fd, r->trash_name,
		      RENAME_NOREPLACE) < 0)
		return fail_errno(err, "move %s to the trash",
				  text_quote(name));
	return 0;
}

static int discard_below(struct upper_discard *r, const char *path,
			 struct err *err);

/* Continues in the directory `name`; the parents keep their added mode bits
 * until it returns. */
static int discard_in_dir(const struct upper_discard *above, const char *name,
			  const char *rest, struct err *err)
{
	AUTO(upper_discard)
	struct upper_discard r = {.upper = -1,
				  .lower = -1,
				  .opened = {.fd = -1},
				  .depth = above->depth + 1,
				  .trash_fd = above->trash_fd,
				  .trash_name = above->trash_name};
	struct meta l;
	bool is_whiteout;
	int got = lstat_layer_name(above->lower, name, &l, &is_whiteout, err);

	if (got < 0)
		return got;
	if (got && S_ISDIR(l.mode)) {
		r.lower = beneath_open(above->lower, name, O_PATH | O_DIRECTORY,
				       0, err);
		if (r.lower < 0)
			return r.lower;
	}
	/* An entry of this directory will be uncovered, so an opaque parent
	 * must not hide the directory any longer. */
	if (above->opaque && r.lower >= 0 &&
	    whiteout_each_name(above->upper, above->lower, name, err) < 0)
		return -err->num;
	r.upper = upper_open(above->upper, name, O_RDONLY | O_DIRECTORY, 0700,
			     &r.opened, err);
	if (r.upper < 0)
		return r.upper;
	got = opaque_is_set(r.upper, err);
	if (got < 0)
		return got;
	r.opaque = got;
	return discard_below(&r, rest, err);
}

static int discard_component(struct upper_discard *r, const char *path,
			     struct err *err)
{
	size_t len = strcspn(path, "/");
	auto_free char *name = mem_strndup(path, len);
	struct meta u;
	bool is_whiteout;
	int has;

	if (!path[len]) {
		has = lstat_layer_name(r->lower, name, &u, &is_whiteout, err);
		/* In an opaque directory the names first get whiteouts of their
		 * own; the whiteout of this name moves to the trash. */
		if (has < 0 ||
		    (r->opaque && has &&
		     whiteout_each_name(r->upper, r->lower, "", err) < 0))
			return -err->num;
		return move_name_to_trash(r, name, err);
	}
	has = lstat_layer_name(r->upper, name, &u, &is_whiteout, err);
	if (has < 0)
		return has;
	if (has && S_ISDIR(u.mode))
		return discard_in_dir(r, name, path + len + 1, err);
	if (has)
		return fail(err, ENOTDIR,
			    "%s is not a directory in this run: discard that "
			    "change first",
			    text_quote(name));
	if (r->lower < 0 || (!is_whiteout && !r->opaque))
		return 0; /* the layer has nothing at this path */
	if (!is_whiteout) {
		/* The opaque parent hides the name: a whiteout of its own
		 * replaces that. */
		if (whiteout_each_name(r->upper, r->lower, "", err) < 0 ||
		    lstat_layer_name(r->upper, name, &u, &is_whiteout, err) < 0)
			return -err->num;
		if (!is_whiteout)
			return 0;
	}
	return undelete_ancestor(r, path, err);
}

static int discard_below(struct upper_discard *r, const char *path,
			 struct err *err)
{
	struct meta m;
	int got;

	if (meta_get(r->upper, "", &m) < 0)
		return fail_errno(err, "stat the layer");
	got = discard_component(r, path, err);
	/* The directory keeps the mtime that the run gave it, although its
	 * entries changed. */
	(void)meta_set_time(r->upper, "", m.mtime);
	return got;
}

/* Saves the metadata that the run gave the root, without entries. */
static int save_root_meta(struct upper_discard *r, struct err *err)
{
	auto_free char *name = mem_printf("%s" ROOT_META, r->trash_name);
	auto_close int fd = -1;
	struct meta m;

	if (mkdirat(r->trash_fd, name, 0700) < 0)
		return fail_errno(err, "create directory %s", text_quote(name));
	fd = beneath_open(r->trash_fd, name, O_RDONLY | O_DIRECTORY, 0, err);
	if (fd < 0)
		return fd;
	if (meta_get(r->upper, "", &m) < 0)
		return fail_errno(err, "stat the layer");
	if (r->opened.fd >= 0)
		m.mode = r->opened.mode;
	return pre_copy_up_meta(r->upper, fd, &m, err);
}

/* Discards the complete layer: all its entries move into one directory of the
 * trash. */
static int discard_all_names(struct upper_discard *r, struct err *err)
{
	AUTO(dirlist) struct dirlist names = {0};
	auto_close int to = -1;
	struct meta m;
	size_t i;

	if (dirlist_read(r->upper, &names, err) < 0 ||
	    save_root_meta(r, err) < 0)
		return -err->num;
	if (mkdirat(r->trash_fd, r->trash_name, 0700) < 0)
		return fail_errno(err, "create directory %s",
				  text_quote(r->trash_name));
	to = beneath_open(r->trash_fd, r->trash_name, O_PATH | O_DIRECTORY, 0,
			  err);
	if (to < 0)
		return to;
	for (i = 0; i < names.count; i++) {
		struct upper_discard one = {.upper = r->upper,
					    .trash_fd = to,
					    .trash_name = names.items[i].name};

		if (move_name_to_trash(&one, names.items[i].name, err) < 0)
			return -err->num;
	}
	if (pre_copy_up_root(r->upper, r->lower, err) < 0)
		return -err->num;
	/* temp_chmod_free() must set the real mode, not the mode that the run
	 * gave the root. */
	if (meta_get(r->lower, "", &m) < 0)
		return fail_errno(err, "stat the real directory");
	r->opened.mode = m.mode;
	return 0;
}

int upper_discard(int upper_fd, int lower_fd, const char *path, int trash_fd,
		  const char *name, struct err *err)
{
	AUTO(upper_discard)
	struct upper_discard r = {.upper = -1,
				  .lower = -1,
				  .opened = {.fd = -1},
				  .trash_fd = trash_fd,
				  .trash_name = name};
	int got;

	if (!path_ok(path) || !path_name_ok(name, strlen(name)))
		return fail(err, EINVAL, "%s is not a path in a layer",
			    text_quote(path));
	r.upper = upper_open(upper_fd, "", O_RDONLY | O_DIRECTORY, 0700,
			     &r.opened, err);
	if (r.upper < 0)
		return r.upper;
	r.lower = fcntl(lower_fd, F_DUPFD_CLOEXEC, 3);
	if (r.lower < 0)
		return fail_errno(err, "open the real directory");
	got = *path ? discard_below(&r, path, err) : discard_all_names(&r, err);
	return got < 0 ? err_context(err, "revert %s", text_quote(path)) : 0;
}

/* --- restoring --- */

struct upper_restore {
	const char *path; /* the discarded path */
	const struct pathset *along;
	int trash_fd;
	const char *name; /* name of the entry in the trash */
	/* for a directory that upper_discard() built in place of a whiteout */
	bool exchange_built_dir;
	bool dry_run; /* only check */
};

static int fail_occupied(const char *path, struct err *err)
{
	return fail(err, EEXIST,
		    "the run has a different entry at %s since then",
		    text_quote(path));
}

/*
 * Checks a directory that upper_discard() built to uncover one path. It may
 * hold only whiteouts and the directories on the way to that path, and to paths
 * in `along`. Any other entry is a newer change of the run.
 */
static int check_built_dir(const struct upper_restore *p, int dir,
			   const char *name, const char *at, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	AUTO(dirlist) struct dirlist names = {0};
	auto_close int fd = upper_open(dir, name, O_RDONLY | O_DIRECTORY, 0700,
				       &opened, err);
	size_t i;

	if (fd < 0 || dirlist_read(fd, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *below = names.items[i].name;
		auto_free char *child = path_join(at, below);
		struct meta m;
		int got = lstat_if_exists(fd, below, &m, err);

		if (got > 0 && path_below(p->path, child))
			got = S_ISDIR(m.mode) && strcmp(p->path, child) != 0
				      ? check_built_dir(p, fd, below, child,
							err)
				      : fail_occupied(child, err);
		else if (got > 0 && !whiteout_is(&m) &&
			 !pathset_has_below(p->along, child))
			got = fail_occupied(child, err);
		if (got < 0)
			return got;
	}
	return 0;
}

static int exchange_built_dir(const struct upper_restore *p, int dir,
			      const char *name, const char *at, struct err *err)
{
	struct meta m;
	struct err ignored;
	int got = lstat_if_exists(dir, name, &m, err);

	if (got < 0)
		return got;
	if (!got || !S_ISDIR(m.mode))
		return fail_occupied(at, err);
	if (check_built_dir(p, dir, name, at, err) < 0)
		return -err->num;
	if (p->dry_run)
		return 1;
	if (renameat2(p->trash_fd, p->name, dir, name, RENAME_EXCHANGE) < 0)
		return fail_errno(err, "restore %s", text_quote(at));
	(void)dirtree_remove_aside(p->trash_fd, p->name, &ignored);
	return 1;
}

/* Moves an entry out of the trash. Renaming a directory writes to it (".."), so
 * the directory itself must be writable. */
static int move_from_trash(const struct upper_restore *p, int trash,
			   const char *from, int dir, const char *name,
			   struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int fd = -1;
	struct meta m;
	int got = lstat_if_exists(dir, name, &m, err);

	if (got)
		return got < 0 ? got : fail_occupied(p->path, err);
	if (p->dry_run)
		return 1;
	if (meta_get(trash, from, &m) < 0)
		return fail_errno(err, "%s", text_quote(from));
	if (S_ISDIR(m.mode)) {
		fd = upper_open(trash, from, O_RDONLY | O_DIRECTORY, 0700,
				&opened, err);
		if (fd < 0)
			return fd;
	}
	if (renameat2(trash, from, dir, name, RENAME_NOREPLACE) == 0)
		return 1;
	return errno == EEXIST
		       ? fail_occupied(p->path, err)
		       : fail_errno(err, "restore %s", text_quote(name));
}

/* Restores the entry below dir. rest is the part of the layer's path that is
 * below dir. */
static int restore_at(const struct upper_restore *p, int dir, const char *rest,
		      const char *at_path, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	size_t len = strcspn(rest, "/");
	auto_free char *name = mem_strndup(rest, len);
	auto_close int fd = -1;
	struct meta m;
	int got;

	if (!rest[len]) {
		if (meta_get(dir, "", &m) < 0)
			return fail_errno(err, "stat the layer");
		got = p->exchange_built_dir
			      ? exchange_built_dir(p, dir, name, at_path, err)
			      : move_from_trash(p, p->trash_fd, p->name, dir,
						name, err);
		if (got > 0 && !p->dry_run)
			(void)meta_set_time(dir, "", m.mtime);
		return got;
	}
	got = lstat_if_exists(dir, name, &m, err);
	if (got < 0)
		return got;
	if (!got || !S_ISDIR(m.mode))
		return fail(err, EEXIST,
			    "the run no longer has the directory of %s",
			    text_quote(at_path));
	fd = upper_open(dir, name, O_RDONLY | O_DIRECTORY, 0700, &opened, err);
	return fd < 0 ? fd : restore_at(p, fd, rest + len + 1, at_path, err);
}

/* Restores the metadata that the run gave the layer's root; returns 0 when that
 * is already done. opened gets the mode to set at the end. */
static int restore_root_meta(const struct upper_restore *p, int upper,
			     struct temp_chmod *opened, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod own = {.fd = -1};
	auto_free char *name = mem_printf("%s" ROOT_META, p->name);
	auto_close int fd = -1;
	struct meta m;
	int got = lstat_if_exists(p->trash_fd, name, &m, err);

	if (got <= 0)
		return got;
	fd = upper_open(p->trash_fd, name, O_RDONLY | O_DIRECTORY, 0500, &own,
			err);
	if (fd < 0 || pre_copy_up_meta(fd, upper, &m, err) < 0)
		return -err->num;
	opened->mode = m.mode;
	return unlinkat(p->trash_fd, name, AT_REMOVEDIR) < 0
		       ? fail_errno(err, "empty the trash")
		       : 0;
}

static int restore_all_names(const struct upper_restore *p, int upper,
			     struct temp_chmod *opened, struct err *err)
{
	AUTO(dirlist) struct dirlist names = {0};
	auto_close int from = beneath_open(p->trash_fd, p->name,
					   O_RDONLY | O_DIRECTORY, 0, err);
	size_t i;

	if (from < 0 || dirlist_read(from, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *name = names.items[i].name;
		struct upper_restore one = *p;

		one.path = name;
		if (move_from_trash(&one, from, name, upper, name, err) < 0)
			return -err->num;
	}
	if (p->dry_run)
		return 1;
	if (restore_root_meta(p, upper, opened, err) < 0)
		return -err->num;
	return unlinkat(p->trash_fd, p->name, AT_REMOVEDIR) < 0
		       ? fail_errno(err, "empty the trash")
		       : 1;
}

/* The beginning of path that was deleted as a directory and has its whiteout in
 * the trash; to free, with *ret_name, the whiteout's name there. NULL: none. */
static char *find_trashed_ancestor(int trash_fd, const char *path,
				   const char *name, char **ret_name)
{
	const char *end = path;
	unsigned int depth = 0;

	while ((end = strchr(end, '/'))) {
		auto_free char *trash_name = ancestor_trash_name(name, ++depth);
		struct meta m;

		if (meta_get(trash_fd, trash_name, &m) == 0 &&
		    whiteout_is(&m)) {
			*ret_name = TAKE(trash_name);
			return mem_strndup(path, (size_t)(end - path));
		}
		end++;
	}
	return NULL;
}

int upper_restore(int upper_fd, const char *path, const struct pathset *along,
		  int trash_fd, const char *name, bool dry_run, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	struct upper_restore p = {
		.path = path,
		.along = along,
		.trash_fd = trash_fd,
		.name = name,
		.dry_run = dry_run,
	};
	auto_free char *at_path = NULL, *trash_name = NULL;
	auto_close int upper = -1;
	struct meta m;
	int got;

	if (!path_ok(path) || !path_name_ok(name, strlen(name)))
		return fail(err, EINVAL, "%s is not a path in a layer",
			    text_quote(path));
	upper = upper_open(upper_fd, "", O_RDONLY | O_DIRECTORY, 0700, &opened,
			   err);
	if (upper < 0)
		return upper;
	got = lstat_if_exists(trash_fd, name, &m, err);
	if (got < 0)
		return got;
	if (got)
		return *path ? restore_at(&p, upper, path, path, err)
			     : restore_all_names(&p, upper, &opened, err);
	at_path = find_trashed_ancestor(trash_fd, path, name, &trash_name);
	if (!at_path)
		return 0;
	p.name = trash_name;
	p.exchange_built_dir = true;
	return restore_at(&p, upper, at_path, at_path, err);
}
