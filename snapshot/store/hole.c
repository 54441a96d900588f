#include "snapshot/store/hole.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "snapshot/store/chunklist.h"

bool hole_next_data(int fd, uint64_t pos, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	off_t start = lseek(fd, (off_t)pos, SEEK_DATA);
	off_t end;

	if (start < 0 && errno == ENXIO) {
		end = lseek(fd, 0, SEEK_END);
		*ret_start =
			end > 0 && (uint64_t)end > pos ? (uint64_t)end : pos;
		return false;
	}
	if (start < 0) { /* the file system does not support SEEK_DATA */
		*ret_start = pos;
		*ret_end = UINT64_MAX;
		return true;
	}
	end = lseek(fd, start, SEEK_HOLE);
	*ret_start = (uint64_t)start & ~(HOLE_ALIGN - 1);
	*ret_end =
		end < 0 ? UINT64_MAX
			: ((uint64_t)end + HOLE_ALIGN - 1) & ~(HOLE_ALIGN - 1);
	return true;
}

static size_t block_at(size_t at, size_t len)
{
	return len - at < HOLE_ALIGN ? len - at : HOLE_ALIGN;
}

static bool all_zero(const unsigned char *p, size_t len)
{
	return !p[0] && memcmp(p, p + 1, len - 1) == 0;
}

size_t hole_zeros_len(const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (at < len && all_zero(data + at, block_at(at, len)))
		at += block_at(at, len);
	return at;
}

size_t hole_data_len(const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (at < len && !all_zero(data + at, block_at(at, len)))
		at += block_at(at, len);
	return at;
}
