#include "restore/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/text.h"
#include "snapshot/store/store.h"

#define RECORD_VERSION 1
#define SAME_NUMBER_MAX 100

/* 1: the workspace of this path; 0: of another path; -ENOENT: of none yet;
 * -EBADMSG: unknown, the record is damaged. */
static int check_workspace_path(int fd, const char *path, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *named;
	int got =
		record_load(fd, "record", "workspace", RECORD_VERSION, &r, err);

	if (got < 0)
		return got;
	named = record_get(&r, "path");
	if (!named)
		return fail(err, EBADMSG, "'record' has no path");
	return strcmp(named, path) == 0;
}

int workspace_open(int workspaces_fd, const char *path, bool make,
		   struct err *err)
{
	uint64_t number = store_hash_text(path);
	unsigned int n;

	for (n = 0; n < SAME_NUMBER_MAX; n++) {
		AUTO(record) struct record r = {0};
		auto_close int fd = -1;
		char name[32];
		int got;

		(void)snprintf(name, sizeof(name), "%016" PRIx64, number);
		if (n)
			(void)snprintf(name + 16, sizeof(name) - 16, "-%u", n);
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
		/* The record is written without a sync: a power cut may leave
		 * it empty. The directory's name is the hash of the path, which
		 * is enough to make the record again. */
		if ((got == -ENOENT && make) || got == -EBADMSG) {
			record_set(&r, "path", path);
			got = record_save(fd, "record", "workspace",
					  RECORD_VERSION, &r, ATOMIC_NO_SYNC,
					  err);
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
