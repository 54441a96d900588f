#include "base/dirtree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"

#define DENTS_LEN 65536
#define REMAINS ".removing-"

struct kernel_dirent {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

void dirlist_free(struct dirlist *list)
{
	free(list->items);
	buf_free(&list->names);
	*list = (struct dirlist){0};
}

/* Items hold offsets into the memory of the names while it can still move. */
void dirlist_add(struct dirlist *list, const char *name, size_t len)
{
	*VEC_ADD(list) = (struct dirlist_item){
		.name = (const char *)list->names.len, // NOLINT
	};
	buf_add(&list->names, name, len);
	buf_add_char(&list->names, '\0');
}

void dirlist_sort(struct dirlist *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		list->items[i].name = (const char *)list->names.data +
				      (size_t)list->items[i].name;
	SORT_BY_TEXT(list->items, list->count, name);
}

/* Some file systems report no types. */
static unsigned char entry_type(int dir_fd, const struct kernel_dirent *d)
{
	struct stat st;

	if (d->type != DT_UNKNOWN ||
	    fstatat(dir_fd, d->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return d->type;
	return IFTODT(st.st_mode);
}

int dirlist_read(int dir_fd, struct dirlist *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_free char *dents = mem_alloc(DENTS_LEN);

	if (lseek(dir_fd, 0, SEEK_SET) < 0)
		return fd_fail(dir_fd, "read directory", err);
	for (;;) {
		long len = syscall(SYS_getdents64, dir_fd, dents, DENTS_LEN);
		long at;

		if (len < 0)
			return fd_fail(dir_fd, "read directory", err);
		if (len == 0)
			break;
		for (at = 0; at < len;) {
			struct kernel_dirent *d = (void *)(dents + at);

			at += d->len;
			if (strcmp(d->name, ".") == 0 ||
			    strcmp(d->name, "..") == 0)
				continue;
			dirlist_add(&list, d->name, strlen(d->name));
			list.items[list.count - 1].ino = d->ino;
			list.items[list.count - 1].type = entry_type(dir_fd, d);
		}
	}
	dirlist_sort(&list);
	*ret = TAKE(list);
	return 0;
}

const struct dirlist_item *dirlist_find(const struct dirlist *list,
					const char *name)
{
	return FIND_BY_TEXT(name, list->items, list->count, name);
}

static int open_dir_to_remove(int dirfd, const char *name, dev_t *ret_dev)
{
	struct stat st;
	int fd = RETRY_ENOENT(fd_open_dir(dirfd, name));

	if (fd < 0 && errno == EACCES &&
	    fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISDIR(st.st_mode)) {
		auto_close int path = fd_open_dir_path(dirfd, name);

		/* The mode is changed through the descriptor: another process
		 * may swap the name for a symbolic link. */
		if (path < 0 || fd_chmod(path, 0700) < 0)
			return -1;
		fd = fd_open_dir(dirfd, name);
	}
	if (fd >= 0 && RETRY_ENOENT(fstat(fd, &st)) < 0) {
		(void)close(fd);
		return -1;
	}
	if (fd >= 0)
		*ret_dev = st.st_dev;
	return fd;
}

/* A tree can be deeper than the limit of open descriptors: directories below
 * this depth are moved up beside the start and removed from there. */
#define DEPTH_MAX 200
#define TRIES_MAX 100

struct removal {
	int start_fd;
	dev_t dev;
	unsigned int moved, done;
};

static void make_remains_name(char name[64], unsigned int number)
{
	(void)snprintf(name, 64, REMAINS "%d-%u", (int)getpid(), number);
}

bool dirtree_is_remains(const char *name)
{
	size_t len = strlen(REMAINS);

	return strncmp(name, REMAINS, len) == 0 &&
	       !name[len + strspn(name + len, "0123456789-")];
}

/* Moving a directory to another parent needs write permission in it. */
static int move_to_start_dir(struct removal *r, int dirfd, const char *name,
			     struct err *err)
{
	auto_close int fd = -1;
	char to[64];
	dev_t here = 0;

	fd = open_dir_to_remove(dirfd, name, &here);
	if (fd < 0)
		return fail_errno(err, "open %s to remove it",
				  text_quote(name));
	if (here != r->dev)
		return fail(err, EXDEV,
			    "%s is a mount point: skipped; unmount it first",
			    text_quote(name));
	(void)fchmod(fd, 0700);
	make_remains_name(to, r->moved);
	if (renameat(dirfd, name, r->start_fd, to) < 0)
		return fail_errno(err, "move %s to the directory above",
				  text_quote(name));
	r->moved++;
	return 0;
}

static int remove_subtree(struct removal *r, int dirfd, const char *name,
			  unsigned int depth, struct err *err);

static int remove_entries(struct removal *r, int fd, unsigned int depth,
			  struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(fd, &list, err) < 0)
		return err->num == ENOENT ? 0 : -err->num;
	for (i = 0; i < list.count; i++) {
		const char *child = list.items[i].name;

		if (list.items[i].type != DT_DIR && unlinkat(fd, child, 0) == 0)
			continue;
		if (list.items[i].type != DT_DIR && errno == ENOENT)
			continue;
		if (list.items[i].type != DT_DIR && errno != EISDIR)
			return fail_errno(err, "remove %s", text_quote(child));
		if (remove_subtree(r, fd, child, depth + 1, err) < 0)
			return -err->num;
	}
	return 0;
}

static int remove_subtree(struct removal *r, int dirfd, const char *name,
			  unsigned int depth, struct err *err)
{
	auto_close int fd = -1;
	unsigned int tries = 0;
	struct stat st;
	dev_t here = 0;

	if (depth == DEPTH_MAX)
		return move_to_start_dir(r, dirfd, name, err);
	fd = open_dir_to_remove(dirfd, name, &here);
	if (fd < 0)
		return errno == ENOENT ? 0 /* another process was faster */
				       : fail_errno(err, "open %s to remove it",
						    text_quote(name));
	if (here != r->dev)
		return fail(err, EXDEV,
			    "%s is a mount point: skipped; unmount it first",
			    text_quote(name));
	/* The owner may lack write permission in this directory. */
	if (fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700);
	do {
		if (remove_entries(r, fd, depth, err) < 0)
			return err_context(err, "%s", text_quote(name));
		if (RETRY_ENOENT(unlinkat(dirfd, name, AT_REMOVEDIR)) == 0 ||
		    errno == ENOENT)
			return 0;
		/* A process that has the directory open may still add files:
		 * the end of a run beside a purge. */
	} while (errno == ENOTEMPTY && ++tries < TRIES_MAX);
	return fail_errno(err, "remove directory %s", text_quote(name));
}

static int remove_tree_at(int dirfd, const char *name, struct err *err)
{
	struct removal r = {.start_fd = dirfd};
	struct stat st;
	char moved[64];

	if (RETRY_ENOENT(fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW)) < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "%s", text_quote(name));
	if (!S_ISDIR(st.st_mode)) {
		if (RETRY_ENOENT(unlinkat(dirfd, name, 0)) < 0 &&
		    errno != ENOENT)
			return fail_errno(err, "remove %s", text_quote(name));
		return 0;
	}
	r.dev = st.st_dev;
	if (remove_subtree(&r, dirfd, name, 0, err) < 0)
		return -err->num;
	while (r.done < r.moved) {
		make_remains_name(moved, r.done++);
		if (remove_subtree(&r, dirfd, moved, 0, err) < 0)
			return -err->num;
	}
	return 0;
}

int dirtree_remove(int dirfd, const char *name, struct err *err)
{
	auto_free char *parent = path_parent(name);
	auto_close int fd = -1;

	/* Trees that are moved up must stay in the same directory. */
	if (!*parent)
		return remove_tree_at(dirfd, name, err);
	fd = RETRY_ENOENT(
		openat(dirfd, parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "open %s", text_quote(parent));
	return remove_tree_at(fd, path_name(name), err);
}

void dirtree_empty(int dirfd, const char *name)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_open_dir(dirfd, name);
	struct err ignored;
	size_t i;

	if (dir < 0 || dirlist_read(dir, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++)
		(void)dirtree_remove(dir, list.items[i].name, &ignored);
}

int dirtree_remove_aside(int dirfd, const char *name, struct err *err)
{
	unsigned int number = 0;
	char aside[64];

	do
		(void)snprintf(aside, sizeof(aside), REMAINS "%d-%u-0",
			       (int)getpid(), number++);
	while (renameat2(dirfd, name, dirfd, aside, RENAME_NOREPLACE) < 0 &&
	       errno == EEXIST);
	if (RETRY_ENOENT(faccessat(dirfd, aside, F_OK, AT_SYMLINK_NOFOLLOW)) ==
	    0)
		name = aside;
	return dirtree_remove(dirfd, name, err);
}

static void list_dir(const char *path, struct dirlist *ret)
{
	auto_close int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err ignored;

	if (fd >= 0)
		(void)dirlist_read(fd, ret, &ignored);
}

void dirtree_levels(const char *top, size_t levels, size_t most,
		    void (*list)(void *arg, const char *path,
				 struct dirlist *ret),
		    bool (*each)(void *arg, const char *path,
				 const struct dirlist_item *item),
		    void *arg)
{
	AUTO(names) struct names dirs = {0};
	size_t level = 1, level_end = 1, i, k;

	names_add(&dirs, top);
	for (i = 0; i < dirs.count; i++) {
		AUTO(dirlist) struct dirlist found = {0};

		if (i == level_end) {
			level_end = dirs.count;
			level++;
		}
		if (list)
			list(arg, dirs.items[i], &found);
		else
			list_dir(dirs.items[i], &found);
		for (k = 0; k < found.count; k++) {
			const struct dirlist_item *item = &found.items[k];
			auto_free char *path =
				path_join(dirs.items[i], item->name);

			if (each(arg, path, item) && item->type == DT_DIR &&
			    level < levels && dirs.count < most)
				names_add(&dirs, path);
		}
	}
}
