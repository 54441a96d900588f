#include "guard/run/budget.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/state/background.h"
#include "overlay/session.h"

/* Shares of the free space at the start. */
#define BYTES_SHARE 4
#define ENTRIES_SHARE 3
/* More than any disk writes, and any kernel makes files, in a millisecond. */
#define BYTES_PER_MS (4u << 20)
#define ENTRIES_PER_MS 400u
#define TICK_MIN_MS 5
#define TICK_MAX_MS 250
/* Another process may free space while the run takes it. */
#define COUNT_EVERY_MS 60000
/* Counting takes this part of the time at most. */
#define COUNT_SHARE 20

static const char *const parts[] = {"upper", "home-upper", "git-upper", "tmp",
				    "var-tmp"};

static uint64_t subtract_clamped(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* False where the kernel does not tell. Some file systems have no table of
 * inodes that could be full: 0 of them. */
static bool stat_free_space(const struct budget *b, uint64_t *ret_bytes,
			    uint64_t *ret_entries)
{
	struct statvfs fs;

	if (fstatvfs(b->fd, &fs) < 0)
		return false;
	*ret_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	*ret_entries = fs.f_files ? fs.f_favail : 0;
	return true;
}

int budget_begin(struct budget *b, int run_fd, uint64_t bytes, uint64_t entries,
		 bool resumed, struct err *err)
{
	*b = (struct budget){
		.fd = run_fd,
		.bytes = bytes,
		.entries = entries,
		.fixed_bytes = bytes != 0,
		.fixed_entries = entries != 0,
		.resumed = resumed,
		.result_fd = -1,
	};
	if (!stat_free_space(b, &b->free_bytes, &b->free_entries))
		return fail_errno(err, "free space of the state");
	if (!bytes)
		b->bytes = b->free_bytes / BYTES_SHARE;
	if (!entries)
		b->entries = b->free_entries / ENTRIES_SHARE;
	if (!b->bytes)
		return fail(
			err, ENOSPC,
			"the disk with guard's state is full: `guard du` shows "
			"guard's disk usage, `guard prune --trash` empties the "
			"trash, GUARD_HOME=/some/path moves the state");
	b->begin_bytes = b->free_bytes;
	b->begin_entries = b->free_entries;
	b->allowed_bytes = b->bytes;
	b->allowed_entries = b->entries;
	b->next_count = timestamp_monotonic_ms();
	return 0;
}

/* ---- the count ---- */

static void __attribute__((noreturn)) count_usage(int run_fd, int result_fd)
{
	struct usage u = {0};
	size_t i;

	/* Not the run's lock, nor the caller's pipes. */
	if (dup3(fcntl(run_fd, F_DUPFD_CLOEXEC, 10), 0, 0) < 0 ||
	    dup3(fcntl(result_fd, F_DUPFD_CLOEXEC, 10), 1, 0) < 0 ||
	    syscall(SYS_close_range, 2u, ~0u, 0u) < 0)
		_exit(1);
	for (i = 0; i < ARRAY_SIZE(parts); i++)
		usage_add(0, parts[i], &u);
	for (i = 1;; i++) {
		auto_free char *upper = session_root_dir(i, "upper");

		if (faccessat(0, upper, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			break;
		usage_add(0, upper, &u);
	}
	_exit(fd_write(1, &u, sizeof(u)) < 0);
}

/* Takes the counter's result, if it has come. */
static void take_count(struct budget *b, int64_t now)
{
	uint64_t bytes, entries, lost;
	struct usage u;
	ssize_t len = read(b->result_fd, &u, sizeof(u));

	if (len < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	budget_end(b);
	b->next_count = now + COUNT_SHARE * (now - b->count_began);
	if (b->next_count < now + TICK_MAX_MS)
		b->next_count = now + TICK_MAX_MS;
	if (len != sizeof(u))
		return;
	/* An unreadable directory can be as large as the loss of the file
	 * system. */
	if (u.unread && stat_free_space(b, &bytes, &entries)) {
		lost = subtract_clamped(b->begin_bytes, bytes);
		u.bytes = u.bytes > lost ? u.bytes : lost;
		lost = subtract_clamped(b->begin_entries, entries);
		u.entries = u.entries > lost ? u.entries : lost;
	}
	if (b->resumed) {
		b->bytes += b->fixed_bytes ? 0 : u.bytes;
		b->entries += b->fixed_entries ? 0 : u.entries;
		b->resumed = false;
	}
	b->used = u;
	b->allowed_bytes = subtract_clamped(b->bytes, u.bytes);
	b->allowed_entries = subtract_clamped(b->entries, u.entries);
}

/* ---- now and then ---- */

bool budget_tick(struct budget *b, int *ret_next_ms)
{
	uint64_t bytes, entries, lost_bytes, lost_entries, ms, left;
	int64_t now = timestamp_monotonic_ms();

	*ret_next_ms = TICK_MIN_MS;
	if (b->counter)
		take_count(b, now);
	if (b->used.bytes > b->bytes ||
	    (b->entries && b->used.entries > b->entries))
		return true;
	if (b->counter || !stat_free_space(b, &bytes, &entries))
		return false;
	lost_bytes = subtract_clamped(b->free_bytes, bytes);
	lost_entries = subtract_clamped(b->free_entries, entries);
	if (lost_bytes >= b->allowed_bytes || b->resumed ||
	    (b->entries && lost_entries >= b->allowed_entries) ||
	    now >= b->next_count + COUNT_EVERY_MS) {
		if (now < b->next_count)
			return false;
		b->counter = background_fork("guard-count", &b->result_fd);
		if (b->counter == 0)
			count_usage(b->fd, b->result_fd);
		if (b->counter < 0) {
			b->counter = 0;
			return false;
		}
		b->count_began = now;
		/* Losses from here on are not in the count. */
		(void)stat_free_space(b, &b->free_bytes, &b->free_entries);
		return false;
	}
	/* Time in which the fastest run could fill the rest of its limit. */
	ms = (b->allowed_bytes - lost_bytes) / BYTES_PER_MS;
	left = b->entries ? b->allowed_entries - lost_entries : UINT64_MAX;
	if (left / ENTRIES_PER_MS < ms)
		ms = left / ENTRIES_PER_MS;
	if (ms > TICK_MIN_MS)
		*ret_next_ms = ms < TICK_MAX_MS ? (int)ms : TICK_MAX_MS;
	return false;
}

void budget_in_child(struct budget *b)
{
	if (!b->counter)
		return;
	/* Not a child of this one. */
	fd_close(&b->result_fd);
	b->counter = 0;
}

char *budget_explain(const struct budget *b)
{
	if (b->used.bytes > b->bytes)
		return mem_printf("its files take %s, the limit is %s; "
				  "--layer-size sets another limit",
				  text_size(b->used.bytes),
				  text_size(b->bytes));
	return mem_printf("it created %s, the limit is %llu; --layer-files "
			  "sets another limit",
			  text_count(b->used.entries, "file"),
			  (unsigned long long)b->entries);
}

void budget_end(struct budget *b)
{
	fd_close(&b->result_fd);
	child_end(&b->counter);
}
