#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/whiteout.h"
#include "overlay/pre_copy_up.h"
#include "overlay/upper_discard_trash.h"
#include "overlay/scan.h"

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
	return fail(err, EEXIST, "the run has something else at %s since",
		    text_quote(path));
}

/* Whether an entry, also a whiteout, has that name: 1, 0 or a negative
 * errno. */
static int lstat_if_exists(int dir, const char *name, struct meta *ret,
			   struct err *err)
{
	if (meta_get(dir, name, ret) == 0)
		return 1;
	return errno == ENOENT
		       ? 0
		       : fail_errno(err, "look at %s", text_quote(name));
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
		return fail_errno(err, "put back %s", text_quote(at));
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
		       : fail_errno(err, "put back %s", text_quote(name));
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
			return fail_errno(err, "look at the layer");
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
			    "the run has no folder any more that %s could be "
			    "in",
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
	auto_free char *name = mem_printf("%s" UPPER_DISCARD_ROOT, p->name);
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
		auto_free char *trash_name =
			upper_discard_trash_name(name, ++depth);
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

static int restore_from_trash(struct upper_restore *p, int upper_fd,
			      struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_free char *at_path = NULL, *trash_name = NULL;
	auto_close int upper = upper_open(upper_fd, "", O_RDONLY | O_DIRECTORY,
					  0700, &opened, err);
	struct meta m;
	int got;

	if (upper < 0)
		return upper;
	got = lstat_if_exists(p->trash_fd, p->name, &m, err);
	if (got < 0)
		return got;
	if (got)
		return *p->path ? restore_at(p, upper, p->path, p->path, err)
				: restore_all_names(p, upper, &opened, err);
	at_path = find_trashed_ancestor(p->trash_fd, p->path, p->name,
					&trash_name);
	if (!at_path)
		return 0;
	p->name = trash_name;
	p->exchange_built_dir = true;
	return restore_at(p, upper, at_path, at_path, err);
}

int upper_restore(int upper_fd, const char *path, const struct pathset *along,
		  int trash_fd, const char *name, bool dry_run, struct err *err)
{
	struct upper_restore p = {
		.path = path,
		.along = along,
		.trash_fd = trash_fd,
		.name = name,
		.dry_run = dry_run,
	};

	if (!path_ok(path) || !path_name_ok(name, strlen(name)))
		return fail(err, EINVAL, "%s is no path of a layer",
			    text_quote(path));
	return restore_from_trash(&p, upper_fd, err);
}
