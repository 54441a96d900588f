#include "guard/run/copy_up.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/path.h"
#include "base/text.h"
#include "base/timestamp.h"
#include "guard/sandbox/watch.h"
#include "guard/state/report.h"

#define LOOK_MS 250
/* The last part of a copy-up is an fsync(2), which takes no space. */
#define AFTER_MS 5000
/* Loss between two looks. Slow disks take this much, too. */
#define LOSS_MIN (4u << 20)
/* The copy of a smaller file takes less than a second. */
#define SIZE_MIN (64u << 20)
/* A thread that copies has written so much more than it asked for. */
#define COPIED_MIN (16u << 20)
/* Such a thread waits for the disk now and then, for moments. The threads of a
 * run share the tries of a look. */
#define TRIES 40
#define TRY_NSEC 500000
/* Greater numbers are no descriptors, but addresses. */
#define DESCRIPTORS_MAX (1u << 24)

/* The text of a file of a thread; "": it cannot be read. */
static const char *read_file(const char *thread, const char *name,
			     struct buf *to)
{
	auto_free char *path = mem_printf("%s/%s", thread, name);
	struct err ignored;

	return fd_slurp_at(AT_FDCWD, path, 4096, to, &ignored) < 0
		       ? ""
		       : buf_text(to);
}

/* Opens the file that a call of a thread names, if its first argument is a
 * path, or a directory and its second argument a path. -1: it is in no such
 * call. The lookup cannot hang on a file system that the run mounted: it ends
 * at a name that the kernel does not have in memory, or stays in one layer. */
static int open_argument(const char *thread)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_CACHED};
	auto_free char *memory = mem_printf("%s/mem", thread), *dir = NULL;
	AUTO(buf) struct buf text = {0};
	unsigned long long args[2];
	char path[PATH_MAX] = "";
	auto_close int start = -1, fd = -1;
	bool at;
	long got;

	if (sscanf(read_file(thread, "syscall", &text), "%*d %llx %llx",
		   &args[0], &args[1]) != 2)
		return -1;
	at = (int)args[0] != AT_FDCWD && args[0] < DESCRIPTORS_MAX;
	fd = open(memory, O_RDONLY | O_CLOEXEC);
	if (fd < 0 ||
	    pread(fd, path, sizeof(path),
		  (off_t)args[at || (int)args[0] == AT_FDCWD]) <= 0 ||
	    !memchr(path, '\0', sizeof(path)))
		return -1;
	dir = at ? mem_printf("%s/fd/%d", thread, (int)args[0])
		 : mem_printf("%s/cwd", thread);
	start = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	got = syscall(SYS_openat2, start, path, &how, sizeof(how));
	/* The kernel follows no link of a layer so. */
	how.resolve = RESOLVE_NO_XDEV;
	if (got < 0 && *path != '/' &&
	    fstype_of_fd(start)->traits & FSTYPE_OVERLAY)
		got = syscall(SYS_openat2, start, path, &how, sizeof(how));
	return (int)got;
}

/* Whether a layer of the run covers the file and does not have it. */
static bool is_uncopied(const struct session *s, const char *path)
{
	size_t i = session_root_of(s, path);
	auto_free char *upper = i == s->root_count
					? mem_strdup("home-upper")
					: session_root_dir(i, "upper");
	auto_close int layer = fd_open_dir_path(s->fd, upper), copy = -1;
	struct err ignored;

	if (layer < 0 || !*s->roots[i].path ||
	    !path_below(path, s->roots[i].path))
		return false;
	copy = beneath_open(layer, path_rest(path, s->roots[i].path), O_PATH, 0,
			    &ignored);
	return copy == -ENOENT;
}

static void tell_once(struct copy_up_watch *w, const char *path, uint64_t size)
{
	if (!mem_list_add_once(&w->told, path))
		return;
	/* guard's own terminal may be in raw mode. */
	report_note("%s: the kernel copies all of its %s into the layer before "
		    "the first change (xfs and btrfs need no copy)%s",
		    text_quote(path), text_size(size),
		    isatty(STDERR_FILENO) ? "\r" : "");
}

static void look_at_thread(struct copy_up_watch *w, const char *thread)
{
	const struct timespec pause = {.tv_nsec = TRY_NSEC};
	AUTO(buf) struct buf text = {0};
	unsigned long long asked, written;

	if (sscanf(read_file(thread, "io", &text),
		   "%*s %*u %*s %llu %*s %*u %*s %*u %*s %*u %*s %llu", &asked,
		   &written) != 2 ||
	    written < asked + COPIED_MIN)
		return;
	for (;;) {
		auto_close int fd = open_argument(thread);
		auto_free char *path = fd < 0 ? NULL : fd_path(fd);
		struct stat st;

		if (path && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_size >= SIZE_MIN && is_uncopied(w->session, path)) {
			tell_once(w, path, (uint64_t)st.st_size);
			return;
		}
		if (!w->tries)
			return;
		w->tries--;
		(void)nanosleep(&pause, NULL);
	}
}

static void look_at_process(void *arg, pid_t pid)
{
	char pattern[48];
	glob_t threads;
	size_t i;

	(void)snprintf(pattern, sizeof(pattern), "/proc/%d/task/*", (int)pid);
	if (glob(pattern, GLOB_NOSORT, NULL, &threads) != 0)
		return;
	for (i = 0; i < threads.gl_pathc; i++)
		look_at_thread(arg, threads.gl_pathv[i]);
	globfree(&threads);
}

void copy_up_watch_tick(struct copy_up_watch *w, const struct session *s,
			const struct sandbox *sb)
{
	int64_t now = timestamp_monotonic_ms();
	struct statvfs fs;
	uint64_t left;

	if (now < w->next || report_is_quiet() || fstatvfs(s->fd, &fs) < 0)
		return;
	w->next = now + LOOK_MS;
	w->session = s;
	w->tries = TRIES;
	left = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (w->free_bytes > left + LOSS_MIN)
		w->until = now + AFTER_MS;
	w->free_bytes = left;
	if (now < w->until &&
	    (!isatty(STDERR_FILENO) || sandbox_takes_lines(sb)))
		watch_each(sandbox_pid1(sb), look_at_process, w);
}
