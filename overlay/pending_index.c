#include "overlay/pending_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/meta.h"

#define NAME "pending-runs"
#define KIND "pending-runs"
#define VERSION 1
#define SEEN "seen" /* = the ctime of runs/; the first line */

/* The clock of a file system ticks every 10 ms at worst: a later change can
 * have the same ctime as one before. */
#define TICK_NS 100000000

bool pending_index_load(int runs_fd, struct record *ret,
			struct timestamp *ret_seen)
{
	auto_close int state_fd = fd_open_dir_path(runs_fd, "..");
	struct timestamp seen = {0};
	struct meta meta;
	struct err ignored;

	*ret = (struct record){0};
	*ret_seen = seen;
	if (state_fd < 0 || meta_get(runs_fd, "", &meta) < 0)
		return false;
	*ret_seen = meta.ctime;
	if (record_load(state_fd, NAME, KIND, VERSION, ret, &ignored) < 0 ||
	    !ret->count || strcmp(ret->items[0].key, SEEN) != 0 ||
	    sscanf(ret->items[0].value, "%" SCNd64 ".%" SCNu32, &seen.sec,
		   &seen.nsec) != 2)
		return false;
	record_set(ret, SEEN, NULL);
	return timestamp_compare(seen, meta.ctime) == 0;
}

static int64_t age_ns(struct timestamp t)
{
	struct timestamp now = timestamp_now();

	return (now.sec - t.sec) * 1000000000 + (int64_t)now.nsec -
	       (int64_t)t.nsec;
}

void pending_index_save(int runs_fd, const struct record *lines,
			struct timestamp seen)
{
	auto_close int state_fd = fd_open_dir_path(runs_fd, "..");
	AUTO(record) struct record r = {0};
	auto_free char *text =
		mem_printf("%" PRId64 ".%" PRIu32, seen.sec, seen.nsec);
	struct err ignored;
	size_t i;

	if (state_fd < 0 || !seen.sec || age_ns(seen) < TICK_NS)
		return;
	record_add(&r, SEEN, text);
	for (i = 0; i < lines->count; i++)
		record_add(&r, lines->items[i].key, lines->items[i].value);
	(void)record_save(state_fd, NAME, KIND, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

void pending_index_drop(int runs_fd)
{
	auto_close int state_fd = fd_open_dir_path(runs_fd, "..");

	if (state_fd >= 0)
		(void)unlinkat(state_fd, NAME, 0);
}
