#include "guard/sandbox/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/vec.h"
#include "guard/sandbox/procfs.h"
#include "guard/sandbox/sandbox.h"

/* The kernel's default for the machine's open files: a tenth of memory at 1 KiB
 * a file (fs/file_table.c). */
#define FILE_BYTES (10u << 10)

/* Closes the descriptors that the checks opened. */
static void kernel_quotas_close(struct kernel_quotas *s)
{
	fd_close(&s->files_fd);
	s->open = false;
}

/* ---- figures of the machine ---- */

static uint64_t read_quota(const struct kernel_quotas *s, const char *name)
{
	auto_free char *path = mem_printf("%s/sys/fs/%s", s->proc, name);
	int64_t number = fd_read_number(path, -1);

	return number > 0 ? (uint64_t)number : 0;
}

/* The number of open files, and a sensible maximum. */
static bool read_open_files(const struct kernel_quotas *s, uint64_t *ret_now,
			    uint64_t *ret_most)
{
	struct sysinfo info;
	uint64_t memory;
	char text[96] = "";

	if (s->files_fd < 0 ||
	    pread(s->files_fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%" SCNu64 " %*u %" SCNu64, ret_now, ret_most) != 2)
		return false;
	if (sysinfo(&info) == 0) {
		memory = (uint64_t)info.totalram * info.mem_unit / FILE_BYTES;
		if (*ret_most > memory)
			*ret_most = memory;
	}
	return true;
}

static uint64_t count_ports(const struct kernel_quotas *s)
{
	auto_free char *path =
		mem_printf("%s/sys/net/ipv4/ip_local_port_range", s->proc);
	FILE *f = fopen(path, "re");
	uint64_t from = 32768, to = 60999;

	if (f && fscanf(f, "%" SCNu64 " %" SCNu64, &from, &to) != 2)
		to = from;
	if (f)
		(void)fclose(f);
	return to > from ? to - from : UINT64_MAX;
}

static bool can_bind_port(int type)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	auto_close int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) == 0 ||
	       errno != EADDRINUSE;
}

static bool is_quota_short(const struct kernel_quotas *s, enum quota quota)
{
	uint64_t now, most;

	switch (quota) {
	case QUOTA_FILES:
		return read_open_files(s, &now, &most) && now > most / 2;
	case QUOTA_REQUESTS:
		/* The maximum is small, since most machines use no aio at
		 * all. */
		now = read_quota(s, "aio-nr");
		return now && now > read_quota(s, "aio-max-nr") / 2;
	case QUOTA_PORTS:
		return s->ports && (!can_bind_port(SOCK_DGRAM) ||
				    !can_bind_port(SOCK_STREAM));
	default:
		return false;
	}
}

/* The cheap check. Returns the first short quota after `after` (QUOTA_NONE: of
 * all), or QUOTA_NONE. A quota that was short at the first check is ignored
 * until it is no longer short. */
static enum quota kernel_quotas_check(struct kernel_quotas *s, enum quota after)
{
	bool first = !s->open;
	unsigned int quota;

	if (first) {
		auto_free char *path = mem_printf("%s/sys/fs/file-nr", s->proc);

		s->files_fd = open(path, O_RDONLY | O_CLOEXEC);
		s->open = true;
	}
	for (quota = after + 1; quota < QUOTA_KINDS; quota++) {
		unsigned int bit = 1u << quota;

		if (!is_quota_short(s, quota))
			s->external &= ~bit;
		else if (first)
			s->external |= bit;
		else if (!(s->external & bit))
			return quota;
	}
	return QUOTA_NONE;
}

/* ---- usage by the run ---- */

/* The number of seccomp filters; -1: not shown (before Linux 5.10). */
static int count_filters(pid_t pid)
{
	AUTO(buf) struct buf status = {0};
	const char *count = procfs_status(pid, &status)
				    ? procfs_field(&status, "Seccomp_filters")
				    : NULL;

	return count ? atoi(count) : -1;
}

/* True if the last call failed because the process hides its usage. A process
 * whose threads have all ended has none. A process cannot remove a filter: the
 * run's commands have one filter more than pid 1 and its workers. */
static bool is_usage_hidden(const struct kernel_quotas *s, pid_t pid)
{
	struct procfs_stat stat;
	int most, count;

	if (errno == ENFILE)
		return true;
	if ((errno != EACCES && errno != EPERM) || !procfs_stat_of(pid, &stat))
		return false;
	if ((stat.state == 'Z' || stat.state == 'X') && stat.threads <= 1)
		return false;
	most = count_filters(s->init);
	count = count_filters(pid);
	return most < 0 || count < 0 || count > most;
}

/* Usage of the processes. */
struct quota_usage {
	uint64_t files, requests, sockets;
	bool hidden; /* a part could not be read */
};

/* Inspects each descriptor: slow, since sockets have no total. */
static void add_sockets_of(const struct kernel_quotas *s, pid_t pid,
			   struct quota_usage *h)
{
	char path[64], link[64];
	struct dirent *e;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) {
		h->hidden = h->hidden || is_usage_hidden(s, pid);
		return;
	}
	while ((e = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, link,
					 sizeof(link) - 1);

		link[len > 0 ? len : 0] = '\0';
		h->sockets += strncmp(link, "socket:[", 8) == 0;
	}
	(void)closedir(dir);
}

/* Since Linux 6.2 the size of /proc/PID/fd is the number of descriptors;
 * before, they have to be counted. A thread can have a table of its own, which
 * is recognized by a different count. */
static void add_files_of(const struct kernel_quotas *s, pid_t pid,
			 struct quota_usage *h)
{
	char path[64];
	struct dirent *e;
	struct stat st;
	uint64_t before = 0, count;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(path, sizeof(path), "%.20s/fd", e->d_name);
		if (fstatat(dirfd(dir), path, &st, 0) < 0)
			continue;
		count = (uint64_t)st.st_size;
		if (!count) {
			auto_close int fd =
				openat(dirfd(dir), path,
				       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			DIR *all = fd < 0 ? NULL : fdopendir(TAKE_FD(fd));

			while (all && readdir(all))
				count++;
			if (all)
				(void)closedir(all);
		}
		if (count != before)
			h->files += count;
		before = count;
	}
	if (dir)
		(void)closedir(dir);
	else
		h->hidden = h->hidden || is_usage_hidden(s, pid);
}

/* The kernel maps a ring for each context: 32 bytes a request, for at least
 * twice the requested number. */
static void add_requests_of(const struct kernel_quotas *s, pid_t pid,
			    struct quota_usage *h)
{
	uint64_t from, to;
	char path[64], line[512];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "re");
	if (!f)
		h->hidden = h->hidden || is_usage_hidden(s, pid);
	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "/[aio]") &&
		    sscanf(line, "%" SCNx64 "-%" SCNx64, &from, &to) == 2)
			h->requests += (to - from) / 64;
	if (f)
		(void)fclose(f);
}

/* True if these processes hold most of the quota. Usage that a process hides
 * counts as such, except for guard's own workers, which are unreadable as well
 * and hold nothing. */
static bool kernel_quotas_held(const struct kernel_quotas *s, enum quota quota,
			       const pid_t *pids, size_t count)
{
	struct quota_usage h = {0};
	uint64_t now, most = 0;
	size_t i;

	for (i = 0; i < count; i++)
		if (quota == QUOTA_FILES)
			add_files_of(s, pids[i], &h);
		else if (quota == QUOTA_REQUESTS)
			add_requests_of(s, pids[i], &h);
		else
			add_sockets_of(s, pids[i], &h);
	if (h.hidden)
		return true;
	/* A share that no ordinary program holds. */
	if (quota == QUOTA_FILES)
		return read_open_files(s, &now, &most) && h.files > most / 2;
	if (quota == QUOTA_REQUESTS)
		return h.requests > read_quota(s, "aio-max-nr") / 2;
	return h.sockets > count_ports(s) / 4;
}

const char *kernel_quotas_explain(enum quota quota)
{
	static const char *const words[QUOTA_KINDS] = {
		[QUOTA_FILES] = "it had more than half of all files open that "
				"this machine allows (fs.file-max, or a tenth "
				"of its memory)",
		[QUOTA_REQUESTS] = "it used more than half of this machine's "
				   "asynchronous requests (fs.aio-max-nr)",
		[QUOTA_PORTS] = "it used up this machine's ports "
				"(net.ipv4.ip_local_port_range; with --net "
				"none or private a run has its own)",
	};

	return words[quota] ? words[quota] : "";
}

/* Time at the limit after which the run makes no progress. */
#define STUCK_MS 3000
#define TICK_MS 250
#define MEMORY_TICK_MS 100

struct process_sums {
	uint64_t threads, rss, pss;
	bool exact; /* sum up pss */
	VEC(pid_t) todo;
};

static void add_children(struct process_sums *s, pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return;
	while ((e = readdir(dir))) {
		AUTO(buf) struct buf b = {0};
		struct err ignored;
		char name[300], *save = NULL, *word;

		if (e->d_name[0] == '.')
			continue;
		(void)snprintf(name, sizeof(name), "%s/children", e->d_name);
		if (fd_slurp_at(dirfd(dir), name, 1 << 20, &b, &ignored) < 0)
			continue;
		(void)buf_text(&b);
		word = strtok_r((char *)b.data, " ", &save);
		for (; word; word = strtok_r(NULL, " ", &save))
			*VEC_ADD(&s->todo) = (pid_t)atoi(word);
	}
	(void)closedir(dir);
}

/* Adds the proportional set size, in which shared memory counts in parts. The
 * kernel computes it slowly, so only near the limit. */
static void add_exact_memory(struct process_sums *s, pid_t pid)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	const char *at;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if (fd_slurp_at(AT_FDCWD, path, 1 << 14, &b, &ignored) < 0)
		return;
	at = strstr(buf_text(&b), "\nPss:");
	if (at)
		s->pss += strtoull(at + 5, NULL, 10) * 1024;
}

/* Sums up all descendants of pid 1, which adopts orphans. */
static void sum_descendants(struct process_sums *s, pid_t pid1)
{
	size_t i;

	s->todo.count = 0;
	add_children(s, pid1);
	for (i = 0; i < s->todo.count; i++) {
		struct procfs_stat stat;
		pid_t pid = s->todo.items[i];

		if (s->exact) {
			add_exact_memory(s, pid);
		} else if (procfs_stat_of(pid, &stat)) {
			s->threads += (uint64_t)stat.threads;
			s->rss += stat.pages * (uint64_t)sysconf(_SC_PAGESIZE);
		}
		add_children(s, pid);
	}
}

static void process_sums_free(struct process_sums *s)
{
	VEC_FREE(&s->todo);
}

void watch_each(pid_t pid1, void (*each)(void *arg, pid_t pid), void *arg)
{
	AUTO(process_sums) struct process_sums s = {0};
	size_t i;

	sum_descendants(&s, pid1);
	for (i = 0; i < s.todo.count; i++)
		each(arg, s.todo.items[i]);
}

static uint64_t machine_threads(void)
{
	struct sysinfo info;

	return sysinfo(&info) < 0 ? 0 : info.procs;
}

void watch_begin(struct watch *w, pid_t pid1, uint64_t pids, bool enforced,
		 uint64_t memory, bool ports)
{
	*w = (struct watch){
		.pid1 = pid1,
		.pids = pids,
		.enforced = enforced,
		.memory = memory,
		.machine = machine_threads(),
		.kernel_quotas = KERNEL_QUOTAS_CLOSED,
	};
	w->kernel_quotas.ports = ports;
	/* A shortage at this time is not the run's. */
	(void)kernel_quotas_check(&w->kernel_quotas, QUOTA_NONE);
}

void watch_end(struct watch *w)
{
	kernel_quotas_close(&w->kernel_quotas);
}

int watch_interval(const struct watch *w)
{
	return w->memory ? MEMORY_TICK_MS : TICK_MS;
}

static bool has_too_many_threads(struct watch *w, uint64_t threads)
{
	/* Minus pid 1 and a pending fork. */
	if (threads + 2 < w->pids) {
		w->stuck_ms = 0;
		return false;
	}
	if (!w->enforced && threads > w->pids)
		return true;
	w->stuck_ms += watch_interval(w);
	return w->stuck_ms >= STUCK_MS;
}

/* True if a resource of the machine is short and the run holds most of it. */
static bool exceeds_quota(struct watch *w)
{
	AUTO(process_sums) struct process_sums s = {0};

	for (w->quota = kernel_quotas_check(&w->kernel_quotas, QUOTA_NONE);
	     w->quota != QUOTA_NONE;
	     w->quota = kernel_quotas_check(&w->kernel_quotas, w->quota)) {
		if (!s.todo.count)
			sum_descendants(&s, w->pid1);
		if (kernel_quotas_held(&w->kernel_quotas, w->quota,
				       s.todo.items, s.todo.count))
			return true;
	}
	return false;
}

enum sandbox_limit watch_tick(struct watch *w)
{
	AUTO(process_sums) struct process_sums s = {0};
	AUTO(process_sums) struct process_sums exact = {.exact = true};
	uint64_t now, before = w->machine;

	if (exceeds_quota(w))
		return SANDBOX_LIMIT_QUOTA;
	/* Counts once a second, and always if the run had many threads or the
	 * machine has many more than at the last call (one system call). */
	w->machine = now = machine_threads();
	if (!w->memory && w->ticks++ % 4 != 0 && w->threads * 2 <= w->pids &&
	    (now <= before || (now - before) * 8 <= w->pids))
		return SANDBOX_LIMIT_NONE;
	sum_descendants(&s, w->pid1);
	w->threads = s.threads;
	if (has_too_many_threads(w, s.threads))
		return SANDBOX_LIMIT_PIDS;
	if (!w->memory || s.rss <= w->memory)
		return SANDBOX_LIMIT_NONE;
	sum_descendants(&exact, w->pid1);
	return exact.pss > w->memory ? SANDBOX_LIMIT_MEMORY
				     : SANDBOX_LIMIT_NONE;
}
