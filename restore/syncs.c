#include "restore/syncs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/mem.h"
#include "snapshot/store/ring.h"

void syncs_free(struct syncs *s)
{
	while (s->count)
		(void)close(s->fds[--s->count]);
	free(s->fds);
	*s = (struct syncs)SYNCS_NONE;
}

void syncs_add_all(struct syncs *s)
{
	syncs_free(s);
	s->whole_fs = true;
}

void syncs_add(struct syncs *s, int dirfd, const char *path)
{
	struct err ignored;
	int fd;

	if (s->whole_fs)
		return;
	fd = s->count == SYNC_EACH_MAX
		     ? -1
		     : beneath_open(dirfd, path, O_RDONLY | O_NONBLOCK, 0,
				    &ignored);
	if (fd < 0) {
		syncs_add_all(s);
		return;
	}
	if (!s->fds)
		s->fds = mem_alloc(SYNC_EACH_MAX * sizeof(*s->fds));
	s->fds[s->count++] = fd;
}

int syncs_run(struct syncs *s, int fs_fd, struct err *err)
{
	int got =
		s->whole_fs ? -EINVAL : ring_sync_files(s->fds, s->count, err);

	/* EINVAL: this kind of file does not support fsync(2). */
	if (got == -EINVAL)
		got = syncfs(fs_fd) < 0 ? fail_errno(err, "sync") : 0;
	return got;
}
