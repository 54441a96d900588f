#include "restore/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/store.h"

#define RECORD_VERSION 1
#define DIRECTORY "directory" /* = identity of it and .git, first number */
#define SAME_NUMBER_MAX 100

static char *identity_text(const struct dir_identity *d)
{
	return mem_printf("%" PRIu64 " %" PRId64 ".%09u", d->ino, d->born.sec,
			  d->born.nsec);
}

static bool parse_identity(const char *text, struct dir_identity *ret,
			   int *ret_end)
{
	return sscanf(text, "%" SCNu64 " %" SCNd64 ".%9u %n", &ret->ino,
		      &ret->born.sec, &ret->born.nsec, ret_end) == 3;
}

static void add_dir(struct record *r, const struct workspace_dir *d)
{
	auto_free char *dir = identity_text(&d->dir);
	auto_free char *git = identity_text(&d->git);
	AUTO(buf) struct buf b = {0};
	size_t i;

	buf_printf(&b, "%s %s %" PRIu64, dir, git, d->first);
	for (i = 0; i < d->older.count; i++)
		buf_printf(&b, " %" PRIu64, d->older.items[i]);
	record_add(r, DIRECTORY, buf_text(&b));
}

static bool parse_dir(const char *text, struct workspace_dir *ret)
{
	int at = 0, end = 0;
	char *rest;

	*ret = (struct workspace_dir){0};
	if (!parse_identity(text, &ret->dir, &at) ||
	    !parse_identity(text + at, &ret->git, &end))
		return false;
	ret->first = strtoull(text + at + end, &rest, 10);
	while (*rest == ' ')
		*VEC_ADD(&ret->older) = strtoull(rest + 1, &rest, 10);
	return true;
}

void workspace_dirs_free(struct workspace_dirs *d)
{
	size_t i;

	for (i = 0; i < d->count; i++)
		free(d->items[i].older.items);
	free(d->items);
	*d = (struct workspace_dirs){0};
}

int workspace_dir_get(const char *path, struct workspace_dir *ret)
{
	auto_free char *git = path_join(path, ".git");
	struct meta meta;

	*ret = (struct workspace_dir){0};
	if (meta_get(AT_FDCWD, path, &meta) < 0)
		return -1;
	ret->dir = meta_identity(&meta);
	if (meta_get(AT_FDCWD, git, &meta) == 0)
		ret->git = meta_identity(&meta);
	return 0;
}

int workspace_load(int workspace_fd, char **ret_path,
		   struct workspace_dirs *ret, struct err *err)
{
	AUTO(record) struct record r = {0};
	AUTO(workspace_dirs) struct workspace_dirs dirs = {0};
	struct workspace_dir dir;
	const char *text;
	size_t i;
	int got = record_load(workspace_fd, "record", "workspace",
			      RECORD_VERSION, &r, err);

	if (got < 0)
		return got;
	text = record_get(&r, "path");
	if (!text)
		return fail(err, EBADMSG, "'record' has no path");
	*ret_path = mem_strdup(text);
	for (i = 0; (text = record_get_nth(&r, DIRECTORY, i)); i++)
		if (parse_dir(text, &dir))
			*VEC_ADD(&dirs) = dir;
	*ret = TAKE(dirs);
	return 0;
}

int workspace_save(int workspace_fd, const char *path,
		   const struct workspace_dirs *d, enum atomic_durability how,
		   struct err *err)
{
	AUTO(record) struct record r = {0};
	size_t i;

	record_add(&r, "path", path);
	for (i = 0; i < d->count; i++)
		add_dir(&r, &d->items[i]);
	return record_save(workspace_fd, "record", "workspace", RECORD_VERSION,
			   &r, how, err);
}

/* 1: the workspace of this path; 0: of another path; -ENOENT: of none yet;
 * -EBADMSG: unknown, the record is damaged. */
static int check_workspace_path(int fd, const char *path, struct err *err)
{
	AUTO(workspace_dirs) struct workspace_dirs dirs = {0};
	auto_free char *named = NULL;
	int got = workspace_load(fd, &named, &dirs, err);

	return got < 0 ? got : strcmp(named, path) == 0;
}

/* The record of a new workspace, or of one whose record is damaged. It is
 * written without a sync: a power cut may leave it empty. The directory's name
 * is the hash of the path, which is enough to make the record again. */
static int create_record(int fd, const char *path, struct err *err)
{
	struct workspace_dir dir;
	const struct workspace_dirs dirs = {
		.items = &dir,
		.count = workspace_dir_get(path, &dir) == 0,
	};

	return workspace_save(fd, path, &dirs, ATOMIC_NO_SYNC, err);
}

/* The name of the n-th directory that the workspace of a path can have. */
static void fill_name(char name[32], const char *path, unsigned int n)
{
	(void)snprintf(name, 32, "%016" PRIx64, store_hash_text(path));
	if (n)
		(void)snprintf(name + 16, 16, "-%u", n);
}

int workspace_open(int workspaces_fd, const char *path, bool make,
		   struct err *err)
{
	unsigned int n;

	for (n = 0; n < SAME_NUMBER_MAX; n++) {
		auto_close int fd = -1;
		char name[32];
		int got;

		fill_name(name, path, n);
		if (make && mkdirat(workspaces_fd, name, 0700) < 0 &&
		    errno != EEXIST)
			return fail_errno(err, "create the workspace of %s",
					  text_quote(path));
		fd = RETRY_ENOENT(openat(workspaces_fd, name,
					 O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						 O_CLOEXEC));
		if (fd < 0)
			return fail_errno(err, "open the workspace of %s",
					  text_quote(path));
		got = check_workspace_path(fd, path, err);
		if ((got == -ENOENT && make) || got == -EBADMSG) {
			got = create_record(fd, path, err);
			got = got < 0 ? got : 1;
		}
		if (got < 0)
			return err_context(err, "workspace of %s",
					   text_quote(path));
		if (got)
			return TAKE_FD(fd);
	}
	return fail(err, EEXIST, "too many workspaces of one number for %s",
		    text_quote(path));
}

int workspace_rename(int workspaces_fd, int workspace_fd, const char *to,
		     struct err *err)
{
	AUTO(workspace_dirs) struct workspace_dirs dirs = {0};
	auto_free char *from = NULL, *here = fd_path(workspace_fd);
	char name[32];
	unsigned int n;

	if (!here)
		return fail(err, ENOENT, "the workspace was removed");
	if (workspace_load(workspace_fd, &from, &dirs, err) < 0)
		return -err->num;
	for (n = 0; n < SAME_NUMBER_MAX; n++) {
		fill_name(name, to, n);
		if (strcmp(name, path_name(here)) == 0 ||
		    renameat2(AT_FDCWD, here, workspaces_fd, name,
			      RENAME_NOREPLACE) == 0)
			return workspace_save(workspace_fd, to, &dirs,
					      ATOMIC_DURABLE, err);
		if (errno != EEXIST)
			break;
	}
	return fail_errno(err, "rename the workspace of %s", text_quote(from));
}

int workspace_lock(int workspace_fd, bool wait, const char *what,
		   struct err *err)
{
	int lock = lock_take(workspace_fd, "lock", true, wait, err);
	auto_free char *holder = NULL;

	if (lock != -EWOULDBLOCK)
		return lock;
	holder = lock_holders_at(workspace_fd, "lock");
	return fail(err, EBUSY,
		    "%s is in use by %s: try again when it has ended", what,
		    holder);
}

char *workspace_cache_path(int workspace_fd)
{
	return mem_printf("/proc/self/fd/%d/stat-cache", workspace_fd);
}
