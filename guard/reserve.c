#include "guard/reserve.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/auto.h"

#define NAME "reserve"
#define SIZE_MAX_BYTES ((uint64_t)256 << 20)
#define SIZE_MIN_BYTES ((uint64_t)4 << 20)
#define PERCENT 1
/* It is made when that many times its size are free. */
#define PLENTY 4

struct room {
	uint64_t free, wanted, held;
};

static bool look(int state_fd, struct room *r)
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
	r->held = fstatat(state_fd, NAME, &st, AT_SYMLINK_NOFOLLOW) == 0
			  ? (uint64_t)st.st_blocks * 512
			  : 0;
	return true;
}

void reserve_keep(int state_fd)
{
	auto_close int fd = -1;
	struct room r;

	if (!look(state_fd, &r) || r.held >= r.wanted ||
	    r.free / PLENTY < r.wanted)
		return;
	fd = openat(state_fd, NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	/* A file system without the call would be made to write zeros. */
	if (fd >= 0 && fallocate(fd, 0, 0, (off_t)r.wanted) < 0)
		(void)unlinkat(state_fd, NAME, 0);
}

void reserve_use(int state_fd)
{
	struct room r;

	if (look(state_fd, &r) && r.held && r.free < r.held)
		(void)unlinkat(state_fd, NAME, 0);
}
