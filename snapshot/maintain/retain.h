/*
 * Selects the snapshots to keep. Pure: uses only sequence numbers and times.
 *
 * A snapshot stays when any rule keeps it. Floors, which no policy and no
 * budget overrides: the newest three of each root, all of the last 24 hours,
 * and snapshots that the caller pins. Then the policy, for each root
 * separately: the last N; all within a span of time; the last snapshot in each
 * of the N newest hours, days, weeks (from Monday), months or years that have
 * one, in local time; and snapshots with one of the tags to keep.
 *
 * The result of a run ("post-run", "during-run") is no version of the real
 * files. Floors of time, `within`, tags and pins keep it, but it never counts
 * as one of N: many runs do not displace the user's own versions.
 */
#ifndef GUARD_SNAPSHOT_MAINTAIN_RETAIN_H
#define GUARD_SNAPSHOT_MAINTAIN_RETAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/meta.h"

#define RETAIN_NEWEST 3
#define RETAIN_SECONDS ((int64_t)24 * 3600)

struct retain_policy {
	uint32_t last, hourly, daily, weekly, monthly, yearly;
	int64_t within; /* in seconds */
};

enum retain_why {
	RETAIN_FLOOR_NEWEST = 1,
	RETAIN_FLOOR_DAY = 2,
	RETAIN_FLOOR_PIN = 4,
	RETAIN_FLOORS = 7,
	RETAIN_LAST = 8,
	RETAIN_WITHIN = 16,
	RETAIN_HOURLY = 32,
	RETAIN_DAILY = 64,
	RETAIN_WEEKLY = 128,
	RETAIN_MONTHLY = 256,
	RETAIN_YEARLY = 512,
	RETAIN_TAG = 1024,
};

struct retain_item {
	uint64_t seq;
	struct timestamp time;
	const char *root;
	bool result; /* result of a run */
	bool pinned;
	bool tagged; /* has one of the tags to keep */
	/* rules that keep it, 0: none; set by retain_decide() */
	unsigned int why;
};

/* All of 14 days, then 30 daily, 12 weekly and 24 monthly snapshots. */
extern const struct retain_policy retain_default;

/* Sets `why` of all items. The items may be in any order, which does not
 * change. */
void retain_decide(struct retain_item *items, size_t count,
		   const struct retain_policy *policy, struct timestamp now);

#endif
