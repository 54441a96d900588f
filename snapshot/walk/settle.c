#include "snapshot/walk/settle.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/fstype.h"
#include "base/meta.h"
#include "base/dirtree.h"

#define LOOK_MS 500
/* What walk_is_moved() takes for changed since: vfat's two seconds. */
#define COARSE_SEC 2
#define LEVELS_MAX 100 /* each holds a descriptor */

struct look {
	struct timespec end; /* of the monotonic clock */
	dev_t dev;
	int64_t newest;
	bool cut;
};

static bool is_over(const struct look *l)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > l->end.tv_sec ||
	       (now.tv_sec == l->end.tv_sec && now.tv_nsec >= l->end.tv_nsec);
}

static void look_below(struct look *l, int fd, unsigned int level)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if (level == LEVELS_MAX || is_over(l)) {
		l->cut = true;
		return;
	}
	/* What cannot be read is no version's either. */
	if (dirlist_read(fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count && !l->cut; i++) {
		const char *name = list.items[i].name;
		struct stat st;

		if (i % 64 == 63 && is_over(l))
			l->cut = true;
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_dev != l->dev)
			continue;
		if (st.st_ctim.tv_sec > l->newest)
			l->newest = st.st_ctim.tv_sec;
		/* A repository is not compared file by file. */
		if (S_ISDIR(st.st_mode) && strcmp(name, ".git") != 0) {
			auto_close int below =
				openat(fd, name,
				       O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
					       O_CLOEXEC);

			if (below >= 0)
				look_below(l, below, level + 1);
		}
	}
}

static void wait_until(int64_t sec)
{
	struct timestamp now = timestamp_now();
	struct timespec left = {.tv_sec = sec - now.sec - 1,
				.tv_nsec = 1000000000L - now.nsec};

	if (sec <= now.sec || left.tv_sec > COARSE_SEC)
		return;
	(void)nanosleep(&left, NULL);
}

void settle_wait(int root_fd)
{
	struct look look = {0};
	struct timestamp began = timestamp_now();
	struct stat root;

	if (fstat(root_fd, &root) < 0 ||
	    fstype_of_fd(root_fd)->traits & FSTYPE_KERNEL_TIMES)
		return;
	look.dev = root.st_dev;
	look.newest = root.st_ctim.tv_sec;
	(void)clock_gettime(CLOCK_MONOTONIC, &look.end);
	look.end.tv_nsec += LOOK_MS * 1000000L;
	look.end.tv_sec += look.end.tv_nsec / 1000000000L;
	look.end.tv_nsec %= 1000000000L;
	look_below(&look, root_fd, 0);
	/* Whatever a clock elsewhere says: not longer than from now. */
	if (look.newest > began.sec)
		look.newest = began.sec;
	if (!look.cut)
		wait_until(look.newest + COARSE_SEC + 1);
}
