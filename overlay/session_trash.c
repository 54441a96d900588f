#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/persistent_mount.h"
#include "overlay/session_base.h"
#include "overlay/session_private.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz"
#define NUMBERS "0123456789"
#define EMPTY_SECONDS 60
#define REMAINS_SECONDS 3600
#define TIME_LEN_MIN 9
#define TIME_LEN_MAX 11
#define WORK "work"

static bool is_work_dir(const char *name)
{
	static const char *const names[] = {WORK, "home-" WORK, "git-" WORK};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return strncmp(name, WORK "-", strlen(WORK "-")) == 0;
}

void session_open_work(const struct session *s)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_open_dir(s->fd, ".");
	struct err ignored;
	size_t i, k;

	if (dir < 0 || dirlist_read(dir, &list, &ignored) < 0)
		return;
	(void)dirtree_remove(dir, PERSISTENT_MOUNT_OLD_WORK, &ignored);
	for (i = 0; i < list.count; i++) {
		AUTO(dirlist) struct dirlist mounts = {0};
		auto_close int work = -1;

		if (!is_work_dir(list.items[i].name))
			continue;
		work = fd_open_dir(dir, list.items[i].name);
		if (work < 0 || dirlist_read(work, &mounts, &ignored) < 0)
			continue;
		for (k = 0; k < mounts.count; k++) {
			auto_close int mount =
				fd_open_dir(work, mounts.items[k].name);

			/* Without such a directory it was never mounted. */
			if (mount >= 0 && fchmodat(mount, WORK, 0700, 0) < 0)
				continue;
			/* Empty directories of mode 000, too: volatile. */
			(void)dirtree_remove(mount, WORK "/incompat", &ignored);
		}
	}
}

int session_trash_damaged(int runs_fd, int trash_fd, const char *id,
			  struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	int got = session_open_damaged(runs_fd, id, &s, err);

	if (got > 0 && session_trash(&s, runs_fd, trash_fd, "damaged", err) < 0)
		return -err->num;
	return got;
}

int session_trash(struct session *s, int runs_fd, int trash_fd,
		  const char *reason, struct err *err)
{
	auto_free char *name = NULL;
	auto_close int dir = -1;

	if (s->lock_fd < 0)
		return fail(err, EBUSY, "run %s is not locked", s->id);
	if (!*reason || reason[strspn(reason, LETTERS)])
		return fail(err, EINVAL, "%s is not a reason for the trash",
			    text_quote(reason));
	session_open_work(s);
	name = mem_printf("%" PRId64 "-%s-%s", timestamp_now().sec, reason,
			  s->id);
	dir = s->in_closed ? session_open_closed_dir(runs_fd) : -1;
	if ((s->in_closed && dir < 0) ||
	    renameat2(s->in_closed ? dir : runs_fd, s->id, trash_fd, name,
		      RENAME_NOREPLACE) < 0)
		return fail_errno(err, "move run %s to the trash", s->id);
	return 0;
}

/*
 * The time in a name of the form: time "-" word [ "-" id ]. -1 for any other
 * name, which guard must not delete.
 */
static int64_t trash_time(const char *name)
{
	size_t len = strspn(name, NUMBERS);
	const char *rest = name + len;

	if (len < TIME_LEN_MIN || len > TIME_LEN_MAX || *rest++ != '-')
		return -1;
	len = strspn(rest, LETTERS);
	if (!len)
		return -1;
	rest += len;
	if (*rest == '-' && rest[1])
		rest += strspn(rest, LETTERS NUMBERS "-");
	return *rest ? -1 : strtoll(name, NULL, 10);
}

char *session_find_trashed(int trash_fd, const char *id, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_free char *tail = mem_printf("-%s", id);
	size_t i;

	if (dirlist_read(trash_fd, &list, err) < 0)
		return NULL;
	for (i = list.count; i-- > 0;) {
		const char *at = strstr(list.items[i].name, tail);

		if (at && !at[strlen(tail)])
			return mem_strdup(list.items[i].name);
	}
	(void)fail(err, ENOENT, "run %s is no longer in guard's trash", id);
	return NULL;
}

int session_open_trashed(int trash_fd, const char *id, struct session *ret,
			 struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	auto_free char *name = session_find_trashed(trash_fd, id, err);
	struct err ignored;

	if (!name)
		return -err->num;
	(void)snprintf(s.id, sizeof(s.id), "%s", id);
	s.fd = fd_open_dir_path(trash_fd, name);
	if (s.fd < 0)
		return fail_errno(err, "run %s in the trash", id);
	if (session_load(&s, err) < 0)
		return -err->num;
	(void)session_base(&s, false, &ignored);
	*ret = s;
	s = SESSION_NONE;
	return 0;
}

/* The number of seconds for which this entry stays in the trash. */
static int64_t trash_age(const char *name, int64_t max_age)
{
	const char *word = name + strspn(name, NUMBERS);
	size_t len = strlen(SESSION_TRASH_EMPTY);
	int64_t most = INT64_MAX;

	if (dirtree_is_remains(name))
		most = REMAINS_SECONDS;
	else if (*word == '-' &&
		 strncmp(word + 1, SESSION_TRASH_EMPTY "-", len + 1) == 0)
		most = EMPTY_SECONDS;
	return max_age < most ? max_age : most;
}

int session_empty_trash(int trash_fd, int64_t max_age, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_open_dir(trash_fd, ".");
	int64_t now = timestamp_now().sec;
	int worst = 0;
	size_t i;

	if (dir < 0)
		return fail_errno(err, "open the trash");
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		int64_t when = trash_time(name);
		struct err inner_err;
		struct meta m;

		/* Another process may still be removing the remains of an
		 * interrupted removal. */
		if (when < 0 && dirtree_is_remains(name) &&
		    meta_get(dir, name, &m) == 0)
			when = m.ctime.sec;
		if (when < 0 || now - when <= trash_age(name, max_age))
			continue;
		/* An entry that cannot be removed does not stop the others. */
		if (dirtree_remove_aside(dir, name, &inner_err) < 0 && !worst) {
			*err = inner_err;
			worst = err_context(err, "empty the trash");
		}
	}
	return worst;
}
