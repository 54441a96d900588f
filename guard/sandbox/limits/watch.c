#include "guard/sandbox/limits/watch.h"

#include "guard/sandbox/sandbox.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/vec.h"
#include "guard/sandbox/limits/procfs.h"

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
		for (; word; word = strtok_r(NULL, " ", &save)) {
			*VEC_ADD(&s->todo) = (pid_t)atoi(word);
		}
	}
	(void)closedir(dir);
}

static void add_process(struct process_sums *s, pid_t pid)
{
	struct procfs_stat stat;

	if (!procfs_stat_of(pid, &stat))
		return;
	s->threads += (uint64_t)stat.threads;
	s->rss += stat.pages * (uint64_t)sysconf(_SC_PAGESIZE);
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
		if (s->exact)
			add_exact_memory(s, s->todo.items[i]);
		else
			add_process(s, s->todo.items[i]);
		add_children(s, s->todo.items[i]);
	}
}

static void process_sums_free(struct process_sums *s)
{
	VEC_FREE(&s->todo);
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

/* Decides whether to count: once a second, and always if the run had many
 * threads or the machine has many more than at the last call (one system
 * call). */
static bool is_time_to_count(struct watch *w)
{
	uint64_t now = machine_threads(), before = w->machine;

	w->machine = now;
	return w->memory || w->ticks++ % 4 == 0 || w->threads * 2 > w->pids ||
	       (now > before && (now - before) * 8 > w->pids);
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

	if (exceeds_quota(w))
		return SANDBOX_LIMIT_QUOTA;
	if (!is_time_to_count(w))
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
