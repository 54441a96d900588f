#include "base/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

int atomic_sync_dir(int dirfd, struct err *err)
{
	auto_close int fd = fd_open_dir(dirfd, ".");

	/* EINVAL: the file system does not sync directories (fsync(2)). */
	if (fd < 0 || (fsync(fd) < 0 && errno != EINVAL))
		return fd_fail(dirfd, "sync directory", err);
	return 0;
}

static char *make_temp_name(const char *path)
{
	const char *name = path_name(path);

	return mem_printf("%.*s.%s.%d.tmp", (int)(name - path), path, name,
			  (int)getpid());
}

int atomic_clear(int dirfd, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(dirfd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		size_t len = strlen(name);

		if (name[0] == '.' && len > 4 &&
		    strcmp(name + len - 4, ".tmp") == 0)
			(void)unlinkat(dirfd, name, 0);
	}
	return 0;
}

/* Creates a new file; a file that a killed process left under this name is
 * removed. */
static int create_temp_file(int dirfd, const char *temp, mode_t mode)
{
	(void)unlinkat(dirfd, temp, 0);
	return openat(dirfd, temp,
		      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		      mode);
}

int atomic_begin(int dirfd, const char *name, mode_t mode,
		 struct atomic_file *ret, struct err *err)
{
	auto_free char *temp = NULL;
	int fd = openat(dirfd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);

	/* Older file systems do not support O_TMPFILE. */
	if (fd < 0 &&
	    (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
		temp = make_temp_name(name);
		fd = create_temp_file(dirfd, temp, mode);
	}
	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(name));
	*ret = (struct atomic_file){dirfd, fd, TAKE(temp)};
	return 0;
}

int atomic_publish(struct atomic_file *f, const char *name, struct err *err)
{
	int got = fsync(f->fd);

	if (got == 0 && f->temp)
		got = fd_rename_new(f->dirfd, f->temp, f->dirfd, name);
	else if (got == 0)
		got = linkat(AT_FDCWD, fd_proc_path(f->fd).text, f->dirfd, name,
			     AT_SYMLINK_FOLLOW);
	if (got < 0)
		return fail_errno(err, "write %s", text_quote(name));
	free(TAKE(f->temp));
	return atomic_sync_dir(f->dirfd, err);
}

void atomic_file_free(struct atomic_file *f)
{
	if (f->temp)
		(void)unlinkat(f->dirfd, f->temp, 0);
	free(f->temp);
	fd_close(&f->fd);
	*f = (struct atomic_file)ATOMIC_FILE_NONE;
}

/* --- sets of files --- */

struct atomic_item {
	int fd, from_fd, dirfd; /* directories are borrowed */
	char *temp, *name; /* temp: NULL once the file has its name */
	bool must_be_new; /* the name must be free */
};

void atomic_set_free(struct atomic_set *s)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		struct atomic_item *item = &s->items[i];

		if (item->temp)
			(void)unlinkat(item->from_fd, item->temp, 0);
		(void)close(item->fd);
		free(item->temp);
		free(item->name);
	}
	free(s->items);
	*s = (struct atomic_set){0};
}

/* The set removes a file that could not be written. */
static int add_written_file(struct atomic_set *s, int dirfd, const char *name,
			    const struct iovec *parts, size_t count,
			    mode_t mode, struct err *err)
{
	auto_free char *temp = make_temp_name(name);
	int fd = create_temp_file(dirfd, temp, mode);
	size_t i;

	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(name));
	*VEC_ADD(s) = (struct atomic_item){
		fd, dirfd, dirfd, TAKE(temp), mem_strdup(name), false};
	for (i = 0; i < count; i++)
		if (fd_write(fd, parts[i].iov_base, parts[i].iov_len) < 0)
			return fail_errno(err, "write %s", text_quote(name));
	return 0;
}

int atomic_set_write(struct atomic_set *s, int dirfd, const char *name,
		     const void *data, size_t len, mode_t mode, struct err *err)
{
	const struct iovec part = {(void *)(uintptr_t)data, len};

	return add_written_file(s, dirfd, name, &part, 1, mode, err);
}

void atomic_set_adopt(struct atomic_set *s, int fd, int from_fd,
		      const char *temp, int dirfd, const char *name,
		      bool must_be_new)
{
	*VEC_ADD(s) = (struct atomic_item){
		fd,	    from_fd, dirfd, mem_strdup(temp), mem_strdup(name),
		must_be_new};
}

static int name_set_item(struct atomic_item *item, struct err *err)
{
	int got = item->must_be_new ? fd_rename_new(item->from_fd, item->temp,
						    item->dirfd, item->name)
				    : renameat(item->from_fd, item->temp,
					       item->dirfd, item->name);

	if (got < 0)
		return fail_errno(err, "write %s", text_quote(item->name));
	free(TAKE(item->temp));
	return 0;
}

static int sync_files_in_turn(const int *fds, size_t count, struct err *err)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (fdatasync(fds[i]) < 0)
			return fail_errno(err, "sync");
	return 0;
}

/* Directories may be O_PATH, so each is opened again for the sync. */
static int sync_set_dirs(const struct atomic_set *s, atomic_sync sync,
			 struct err *err)
{
	auto_free int *fds = mem_resize(NULL, s->count + 1, sizeof(*fds));
	size_t count = 0, i;
	int got = 0;

	for (i = 0; i < s->count && got == 0; i++) {
		size_t same = 0;

		while (s->items[same].dirfd != s->items[i].dirfd)
			same++;
		if (same < i)
			continue;
		fds[count] = fd_open_dir(s->items[i].dirfd, ".");
		if (fds[count] < 0)
			got = fd_fail(s->items[i].dirfd, "sync directory", err);
		else
			count++;
	}
	/* EINVAL: one of the directories does not support a sync, and the call
	 * does not say which one. */
	if (got == 0 && sync && count > 1)
		got = sync(fds, count, err);
	else if (got == 0)
		got = -EINVAL;
	if (got == -EINVAL)
		for (got = 0, i = 0; i < count && got == 0; i++)
			got = atomic_sync_dir(fds[i], err);
	while (count)
		(void)close(fds[--count]);
	return got;
}

int atomic_set_sync(struct atomic_set *s, atomic_sync sync, struct err *err)
{
	auto_free int *fds = mem_resize(NULL, s->count + 1, sizeof(*fds));
	size_t i;

	for (i = 0; i < s->count; i++)
		fds[i] = s->items[i].fd;
	if ((sync && s->count > 1 ? sync : sync_files_in_turn)(fds, s->count,
							       err) < 0)
		return -err->num;
	s->synced = true;
	return 0;
}

int atomic_set_publish(struct atomic_set *s, atomic_sync sync, struct err *err)
{
	size_t i;

	if (!s->synced && atomic_set_sync(s, sync, err) < 0)
		return -err->num;
	for (i = 0; i < s->count; i++)
		if (name_set_item(&s->items[i], err) < 0)
			return -err->num;
	return sync_set_dirs(s, sync, err);
}

/* --- single files --- */

int atomic_write(int dirfd, const char *name, const void *data, size_t len,
		 mode_t mode, enum atomic_durability how, struct err *err)
{
	const struct iovec part = {(void *)(uintptr_t)data, len};

	return atomic_write_parts(dirfd, name, &part, 1, mode, how, err);
}

int atomic_write_parts(int dirfd, const char *name, const struct iovec *parts,
		       size_t count, mode_t mode, enum atomic_durability how,
		       struct err *err)
{
	AUTO(atomic_set) struct atomic_set set = {0};

	if (add_written_file(&set, dirfd, name, parts, count, mode, err) < 0)
		return -err->num;
	if (how != ATOMIC_NO_SYNC && fdatasync(set.items->fd) < 0)
		return fail_errno(err, "write %s", text_quote(name));
	if (name_set_item(set.items, err) < 0)
		return -err->num;
	return how == ATOMIC_DURABLE ? atomic_sync_dir(dirfd, err) : 0;
}
