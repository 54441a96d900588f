#include "restore/write_content.h"

#include <errno.h>
#include <fcntl.h>

/* What the disk is given at a time. */
#define WINDOW ((uint64_t)32 << 20)

struct writeback {
	int fd;
	const struct content_watch *watch;
	uint64_t begun, under_way; /* the disk writes from the one to the other,
				      and has all before */
	int failed; /* errno */
};

static int start_writeback(struct writeback *p, uint64_t to)
{
	int got;

	if (to - p->under_way < WINDOW)
		return 0;
	got = sync_file_range(p->fd, (off_t)p->under_way,
			      (off_t)(to - p->under_way),
			      SYNC_FILE_RANGE_WRITE);
	if (got == 0 && p->under_way > p->begun)
		got = sync_file_range(p->fd, (off_t)p->begun,
				      (off_t)(p->under_way - p->begun),
				      SYNC_FILE_RANGE_WAIT_BEFORE |
					      SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER);
	p->begun = p->under_way;
	p->under_way = to;
	return got;
}

/* Anything else: this file system cannot be asked for it. */
static bool is_write_error(int number)
{
	return number == EIO || number == ENOSPC || number == EDQUOT;
}

static bool write_back_progress(void *arg, uint64_t done)
{
	struct writeback *p = arg;

	if (!p->failed && start_writeback(p, done) < 0)
		p->failed = errno;
	return !is_write_error(p->failed) &&
	       p->watch->go_on(p->watch->arg, done);
}

int write_content(struct store *s, const struct oid *id, int fd,
		  const struct content_watch *watch, struct err *err)
{
	struct writeback p = {.fd = fd, .watch = watch};
	const struct content_watch own = {write_back_progress, &p};
	int got = content_write_watched(s, id, fd, &own, err);

	if (got != -EINTR || !is_write_error(p.failed))
		return got;
	errno = p.failed;
	return fail_errno(err, "write");
}
