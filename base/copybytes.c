#include "base/copybytes.h"

#include <errno.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/fd.h"

#define STEP ((size_t)8 << 20)

static ssize_t copy_by_read_write(int from, int to, off_t at, size_t len)
{
	static char data[1 << 16];
	ssize_t got =
		pread(from, data, len < sizeof(data) ? len : sizeof(data), at);

	if (got > 0 && fd_pwrite(to, data, (size_t)got, (uint64_t)at) < 0)
		return -1;
	return got;
}

static int copy_range(int from, int to, off_t at, off_t end,
		      bool (*should_continue)(void *arg), void *arg,
		      struct err *err)
{
	bool by_hand = false;

	while (at < end) {
		size_t left = (size_t)(end - at);
		off_t in = at, out = at;
		ssize_t got;

		if (left > STEP)
			left = STEP;
		if (should_continue && !should_continue(arg))
			return fail(err, EINTR, "interrupted");
		got = by_hand ? copy_by_read_write(from, to, at, left)
			      : copy_file_range(from, &in, to, &out, left, 0);
		if (got < 0 && !by_hand && errno != ENOSPC && errno != EIO &&
		    errno != EDQUOT) {
			by_hand = true;
			continue;
		}
		if (got < 0)
			return fail_errno(err, "copy");
		if (got == 0)
			break; /* the source got shorter */
		at += got;
	}
	return 0;
}

int copybytes(int from, int to, off_t size, bool (*should_continue)(void *arg),
	      void *arg, struct err *err)
{
	off_t at = 0;

	if (size > 0 && ioctl(to, FICLONE, from) == 0)
		return 0;

	while (at < size) {
		off_t data = lseek(from, at, SEEK_DATA);
		off_t hole;

		if (data < 0 && errno == ENXIO)
			break;
		if (data < 0)
			data = at;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0 || hole > size)
			hole = size;
		if (copy_range(from, to, data, hole, should_continue, arg,
			       err) < 0)
			return -err->num;
		at = hole;
	}
	if (ftruncate(to, size) < 0)
		return fail_errno(err, "copy");
	return 0;
}
