#include "guard/run/wait_timestamp_tick.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/meta.h"
#include "base/dirtree.h"

#define SEARCH_MS 500
/* Tolerance of walk_is_moved(): vfat keeps two seconds as one. */
#define COARSE_SEC 2
/* Waits of 1 ms; longer than the clock's tick. */
#define TICK_TRIES 20
#define LEVELS_MAX 100 /* each level holds a descriptor */

struct newest_search {
	int64_t end; /* monotonic ms */
	dev_t dev;
	int64_t newest;
	bool timed_out;
};

static void search_newest_below(struct newest_search *l, int fd,
				unsigned int level)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if (level == LEVELS_MAX || timestamp_monotonic_ms() >= l->end) {
		l->timed_out = true;
		return;
	}
	/* An unreadable directory is in no snapshot either. */
	if (dirlist_read(fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count && !l->timed_out; i++) {
		const char *name = list.items[i].name;
		struct stat st;

		if (i % 64 == 63 && timestamp_monotonic_ms() >= l->end)
			l->timed_out = true;
		if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		    st.st_dev != l->dev)
			continue;
		if (st.st_ctim.tv_sec > l->newest)
			l->newest = st.st_ctim.tv_sec;
		/* Files inside a repository are not compared one by one. */
		if (S_ISDIR(st.st_mode) && strcmp(name, ".git") != 0) {
			auto_close int below = fd_open_dir(fd, name);

			if (below >= 0)
				search_newest_below(l, below, level + 1);
		}
	}
}

/* The start time of the run comes from the coarse clock, which is some
 * milliseconds behind. */
static void wait_until_second(int64_t sec)
{
	const struct timespec tick = {.tv_nsec = 1000000};
	struct timestamp now = timestamp_now();
	struct timespec left = {.tv_sec = sec - now.sec - 1,
				.tv_nsec = 1000000000L - now.nsec};
	struct timespec coarse = {0};
	int tries;

	if (sec <= now.sec || left.tv_sec > COARSE_SEC)
		return;
	(void)nanosleep(&left, NULL);
	for (tries = 0; tries < TICK_TRIES && coarse.tv_sec < sec; tries++) {
		(void)nanosleep(&tick, NULL);
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
	}
}

void wait_timestamp_tick(int root_fd)
{
	struct newest_search newest_search = {0};
	struct timestamp began = timestamp_now();
	struct stat root;

	if (fstat(root_fd, &root) < 0 ||
	    fstype_of_fd(root_fd)->traits & FSTYPE_KERNEL_TIMES)
		return;
	newest_search.dev = root.st_dev;
	newest_search.newest = root.st_ctim.tv_sec;
	newest_search.end = timestamp_monotonic_ms() + SEARCH_MS;
	search_newest_below(&newest_search, root_fd, 0);
	/* A remote clock may be ahead: wait at most from now on. */
	if (newest_search.newest > began.sec)
		newest_search.newest = began.sec;
	if (!newest_search.timed_out)
		wait_until_second(newest_search.newest + COARSE_SEC + 1);
}
