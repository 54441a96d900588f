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

	buf_printf(&b, "%s %s %" PRIu64 " %" PRIu64, dir, git, d->first,
		   d->end);
	for (i = 0; i < d->older.count; i++)
		buf_printf(&b, " %" PRIu64, d->older.items[i]);
	record_add(r, DIRECTORY, buf_text(&b));
}

static void parse_dir(const char *text, struct workspace_dir *ret)
{
	int at = 0, end = 0;
	char *rest;

	if (!text || !parse_identity(text, &ret->dir, &at) ||
	    !parse_identity(text + at, &ret->git, &end)) {
		*ret = (struct workspace_dir){0};
		return;
	}
	ret->first = strtoull(text + at + end, &rest, 10);
	ret->end = strtoull(rest, &rest, 10);
	while (*rest == ' ')
		*VEC_ADD(&ret->older) = strtoull(rest + 1, &rest, 10);
}

void workspace_dir_free(struct workspace_dir *d)
{
	free(d->older.items);
	*d = (struct workspace_dir){0};
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

int workspace_load(int workspace_fd, char **ret_path, struct workspace_dir *ret,
		   struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *text;
	int got = record_load(workspace_fd, "record", "workspace",
			      RECORD_VERSION, &r, err);

	if (got < 0)
		return got;
	text = record_get(&r, "path");
	if (!text)
		return fail(err, EBADMSG, "'record' has no path");
	*ret_path = mem_strdup(text);
	*ret = (struct workspace_dir){0};
	parse_dir(record_get(&r, DIRECTORY), ret);
	return 0;
}

int workspace_save(int workspace_fd, const char *path,
		   const struct workspace_dir *d, enum atomic_durability how,
		   struct err *err)
{
	AUTO(record) struct record r = {0};

	record_add(&r, "path", path);
	if (d->dir.ino)
		add_dir(&r, d);
	return record_save(workspace_fd, "record", "workspace", RECORD_VERSION,
			   &r, how, err);
}

/* 1: the workspace of this path; 0: of another path; -ENOENT: of none yet;
 * -EBADMSG: unknown, the record is damaged. */
static int check_workspace_path(int fd, const char *path, struct err *err)
{
	AUTO(workspace_dir) struct workspace_dir dir = {0};
	auto_free char *named = NULL;
	int got = workspace_load(fd, &named, &dir, err);

	return got < 0 ? got : strcmp(named, path) == 0;
}

/* The record of a new workspace, or of one whose record is damaged. It is
 * written without a sync: a power cut may leave it empty. The directory's name
 * is the hash of the path, which is enough to make the record again. */
static int create_record(int fd, const char *path, struct err *err)
{
	struct workspace_dir dir;

	(void)workspace_dir_get(path, &dir);
	return workspace_save(fd, path, &dir, ATOMIC_NO_SYNC, err);
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
	AUTO(workspace_dir) struct workspace_dir dir = {0};
	auto_free char *from = NULL, *here = fd_path(workspace_fd);
	char name[32];
	unsigned int n;

	if (!here)
		return fail(err, ENOENT, "the workspace was removed");
	if (workspace_load(workspace_fd, &from, &dir, err) < 0)
		return -err->num;
	for (n = 0; n < SAME_NUMBER_MAX; n++) {
		fill_name(name, to, n);
		if (strcmp(name, path_name(here)) == 0 ||
		    renameat2(AT_FDCWD, here, workspaces_fd, name,
			      RENAME_NOREPLACE) == 0)
			return workspace_save(workspace_fd, to, &dir,
					      ATOMIC_DURABLE, err);
		if (errno != EEXIST)
			break;
	}
	return fail_errno(err, "rename the workspace of %s", text_quote(from));
}

int workspace_renew(int workspace_fd, const char *path, struct err *err)
{
	AUTO(workspace_dir) struct workspace_dir dir = {0};
	auto_free char *named = NULL;
	struct workspace_dir now;

	if (workspace_load(workspace_fd, &named, &dir, err) < 0)
		return -err->num;
	(void)workspace_dir_get(path, &now);
	dir.dir = now.dir;
	dir.git = now.git;
	return workspace_save(workspace_fd, path, &dir, ATOMIC_NO_SYNC, err);
}

int workspace_set_aside(int workspaces_fd, int workspace_fd, const char *path,
			struct workspace_dir *d, uint64_t end, struct err *err)
{
	auto_free char *here = fd_path(workspace_fd);
	char name[32];
	unsigned int n;

	if (!here)
		return fail(err, ENOENT, "the workspace was removed");
	d->end = end;
	if (workspace_save(workspace_fd, path, d, ATOMIC_DURABLE, err) < 0)
		return -err->num;
	fill_name(name, path, 0);
	for (n = 0; n < SAME_NUMBER_MAX; n++) {
		(void)snprintf(name + 16, sizeof(name) - 16, ".%u", n);
		if (renameat2(AT_FDCWD, here, workspaces_fd, name,
			      RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return fail_errno(err, "set aside the workspace of %s",
			  text_quote(path));
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
