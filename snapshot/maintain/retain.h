/*
 * Which snapshots stay. Pure: looks at numbers and times only.
 *
 * A snapshot stays when any rule keeps it. Floors, which no policy and no
 * budget removes: the newest three of each root, all of the last 24 hours, and
 * what the caller pins. Then the policy: the last N; all within a span of
 * time; the last one of each of the N newest hours, days, weeks (from Monday)
 * months or years that have any, in local time; each for every root on its
 * own; and what has one of the tags that keep.
 *
 * What a run left ("post-run", "during-run") is no version of the real files:
 * floors of time, `within` and pins keep it, nothing that counts does, so a
 * flood of runs pushes nobody's own versions out.
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
	int64_t within; /* seconds */
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
	bool result; /* of a run */
	bool pinned;
	bool tagged; /* with one of the tags that keep */
	unsigned int why; /* what keeps it, 0: nothing; filled here */
};

/* All of 14 days, then 30 daily, 12 weekly and 24 monthly ones. */
extern const struct retain_policy retain_default;

/* Fills `why` of all; they may come in any order and keep it. */
void retain_decide(struct retain_item *items, size_t count,
		   const struct retain_policy *policy, struct timestamp now);

#endif
