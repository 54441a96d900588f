#include "base/derived.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/boot.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"

#define DIR_NAME "derived"
#define SUBJECT_LEN 16 /* hex digits */
#define YOUNG_S 2
#define KEPT_S 60 /* an older file may be in use by a run that starts */
#define UNUSED_S (30 * 86400)

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

static void add_stamp(struct buf *to, const struct stat *st)
{
	buf_printf(to, "%jx %jx %jx %jx.%lx %jx.%lx ", (uintmax_t)st->st_dev,
		   (uintmax_t)st->st_ino, (uintmax_t)st->st_size,
		   (uintmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
		   (uintmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
}

char *derived_name(const char *subject, const struct stat *from)
{
	AUTO(buf) struct buf stamp = {0};
	struct stat program = {0};

	(void)stat("/proc/self/exe", &program);
	add_stamp(&stamp, from);
	add_stamp(&stamp, &program);
	buf_add_text(&stamp, boot_id());
	return mem_printf(DIR_NAME "/%016jx%016jx",
			  (uintmax_t)hash_text(subject),
			  (uintmax_t)hash_text(buf_text(&stamp)));
}

int derived_open(int state_fd, const char *name)
{
	auto_close int fd =
		openat(state_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -1;
	if (time(NULL) - st.st_mtim.tv_sec < KEPT_S / 2)
		return TAKE_FD(fd);
	/* Another process may have removed the file in between. */
	return futimens(fd, NULL) < 0 || fstat(fd, &st) < 0 || !st.st_nlink
		       ? -1
		       : TAKE_FD(fd);
}

int derived_read(int state_fd, const char *name, size_t max, struct buf *to)
{
	auto_close int fd = derived_open(state_fd, name);
	struct err ignored;

	return fd < 0 ? -ENOENT : fd_slurp(fd, max, to, &ignored);
}

static void remove_old(int dir, const char *name)
{
	AUTO(dirlist) struct dirlist list = {0};
	const time_t now = time(NULL);
	struct err ignored;
	struct stat st;
	size_t i;

	if (dirlist_read(dir, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		const char *other = list.items[i].name;
		bool same = strncmp(other, name, SUBJECT_LEN) == 0;

		if (strcmp(other, name) != 0 &&
		    fstatat(dir, other, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    now - st.st_mtim.tv_sec > (same ? KEPT_S : UNUSED_S))
			(void)unlinkat(dir, other, 0);
	}
}

int derived_save(int state_fd, const char *name, const struct stat *from,
		 const void *data, size_t len, struct err *err)
{
	auto_close int dir = -1;

	if (time(NULL) - from->st_ctim.tv_sec < YOUNG_S)
		return fail(err, EAGAIN, "the original changed just now");
	if (mkdirat(state_fd, DIR_NAME, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create a directory");
	dir = fd_open_dir(state_fd, DIR_NAME);
	name += sizeof(DIR_NAME);
	if (dir < 0)
		return fail_errno(err, "open a directory");
	if (atomic_write(dir, name, data, len, 0444, ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	/* Without the umask: a run of another user reads it, too. The state is
	 * closed to all others. */
	(void)!fchmodat(dir, name, 0444, 0);
	remove_old(dir, name);
	return 0;
}
