#include "guard/state/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"

#define NAME "reserve"
#define SIZE_MAX_BYTES ((uint64_t)256 << 20)
#define SIZE_MIN_BYTES ((uint64_t)4 << 20)
#define SIZE_LEAST_BYTES ((uint64_t)256 << 10)
#define PERCENT 1
/* Directory of empty files: inodes for a snapshot, a journal and an action. */
#define FILES "reserve-files"
#define FILES_COUNT 64u
/* The reserve is created when this multiple of its size is free. */
#define PLENTY 4
#define QUOTA_PROBE ((off_t)256 << 10)

struct disk_space {
	uint64_t free, wanted, held;
	bool counts_files;
	uint64_t free_files;
};

static bool measure_disk_space(int state_fd, struct disk_space *r)
{
	struct statvfs fs;
	struct stat st;

	if (fstatvfs(state_fd, &fs) < 0)
		return false;
	r->free = (uint64_t)fs.f_bavail * fs.f_frsize;
	r->wanted = (uint64_t)fs.f_blocks * fs.f_frsize / 100 * PERCENT;
	if (r->wanted > SIZE_MAX_BYTES)
		r->wanted = SIZE_MAX_BYTES;
	if (r->wanted < SIZE_MIN_BYTES)
		r->wanted = SIZE_MIN_BYTES;
	/* The records of a discard need some blocks on a small disk, too. */
	while (r->wanted > SIZE_LEAST_BYTES && r->free / PLENTY < r->wanted)
		r->wanted /= 2;
	r->held = fstatat(state_fd, NAME, &st, AT_SYMLINK_NOFOLLOW) == 0
			  ? (uint64_t)st.st_blocks * 512
			  : 0;
	r->counts_files = fs.f_files != 0;
	r->free_files = fs.f_favail;
	return true;
}

static void remove_reserve_files(int state_fd)
{
	auto_close int fd = fd_open_dir(state_fd, FILES);
	char name[16];
	unsigned int i;

	if (fd < 0)
		return;
	for (i = 0; i < FILES_COUNT; i++) {
		(void)snprintf(name, sizeof(name), "%u", i);
		(void)unlinkat(fd, name, 0);
	}
	(void)unlinkat(state_fd, FILES, AT_REMOVEDIR);
}

/* The directory exists only with all its files, so its existence is the only
 * check. */
static void create_reserve_files(int state_fd)
{
	auto_close int fd = -1;
	char name[16];
	unsigned int i;

	if (mkdirat(state_fd, FILES, 0700) < 0)
		return;
	fd = fd_open_dir(state_fd, FILES);
	for (i = 0; i < FILES_COUNT; i++) {
		int one;

		(void)snprintf(name, sizeof(name), "%u", i);
		one = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			     0600);
		if (one < 0) {
			remove_reserve_files(state_fd);
			return;
		}
		(void)close(one);
	}
}

void reserve_create(int state_fd)
{
	auto_close int fd = -1;
	struct disk_space r;

	if (!measure_disk_space(state_fd, &r))
		return;
	if (r.counts_files && r.free_files / PLENTY >= FILES_COUNT)
		create_reserve_files(state_fd);
	if (r.held >= r.wanted || r.free / PLENTY < r.wanted)
		return;
	fd = openat(state_fd, NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	/* Not posix_fallocate(), which writes zeros on a file system without
	 * fallocate(). */
	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)r.wanted) < 0)
		(void)unlinkat(state_fd, NAME, 0);
}

/* statfs() does not know the free space of a quota, so the function tries to
 * allocate. */
static bool quota_is_full(int state_fd)
{
	auto_close int fd =
		openat(state_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno == EDQUOT;
	return fallocate(fd, 0, 0, QUOTA_PROBE) < 0 && errno == EDQUOT;
}

void reserve_release(int state_fd)
{
	struct disk_space r;

	if (!measure_disk_space(state_fd, &r))
		return;
	if (r.held && (r.free < r.held || quota_is_full(state_fd)))
		(void)unlinkat(state_fd, NAME, 0);
	if (r.counts_files && r.free_files < FILES_COUNT)
		remove_reserve_files(state_fd);
}
