#include "snapshot/maintain/retain.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"

#define DAY ((int64_t)24 * 3600)

const struct retain_policy retain_default = {
	.within = 14 * DAY,
	.daily = 30,
	.weekly = 12,
	.monthly = 24,
};

/* Order by root, newest first. Sequence numbers decide, because the clock may
 * have been set back. */
static int compare_item_roots(const void *pa, const void *pb)
{
	const struct retain_item *a = *(struct retain_item *const *)pa;
	const struct retain_item *b = *(struct retain_item *const *)pb;
	int d = strcmp(a->root, b->root);

	return d ? d : (a->seq < b->seq) - (a->seq > b->seq);
}

/* A number that is equal for all times of one hour, day, week, month or
 * year. */
static int64_t retain_bucket(struct timestamp when, enum retain_why kind)
{
	time_t sec = (time_t)when.sec;
	struct tm tm = {0};
	int64_t days;

	(void)localtime_r(&sec, &tm);
	/* The local day counted as if in UTC: whole days since 1 January 1970,
	 * a Thursday. */
	days = (when.sec + tm.tm_gmtoff) / DAY -
	       ((when.sec + tm.tm_gmtoff) % DAY < 0);
	switch (kind) {
	case RETAIN_HOURLY:
		return days * 24 + tm.tm_hour;
	case RETAIN_DAILY:
		return days;
	case RETAIN_WEEKLY:
		return (days + 3 + 7 * 1000000) / 7;
	case RETAIN_MONTHLY:
		return (int64_t)tm.tm_year * 12 + tm.tm_mon;
	default:
		return tm.tm_year;
	}
}

/* items: all of one root, newest first. */
static void retain_newest_buckets(struct retain_item **items, size_t count,
				  uint32_t wanted, enum retain_why kind)
{
	int64_t last = INT64_MIN;
	size_t i;

	for (i = 0; i < count && wanted; i++) {
		int64_t bucket;

		if (items[i]->result)
			continue;
		bucket = retain_bucket(items[i]->time, kind);
		if (bucket == last)
			continue;
		last = bucket;
		items[i]->why |= kind;
		wanted--;
	}
}

static void retain_newest_items(struct retain_item **items, size_t count,
				uint32_t wanted, enum retain_why kind)
{
	size_t i;

	for (i = 0; i < count && wanted; i++) {
		if (items[i]->result)
			continue;
		items[i]->why |= kind;
		wanted--;
	}
}

static void retain_root_items(struct retain_item **items, size_t count,
			      const struct retain_policy *policy,
			      struct timestamp now)
{
	size_t i;

	for (i = 0; i < count; i++) {
		/* A time in the future has a negative age and counts as
		 * young. */
		int64_t age = now.sec - items[i]->time.sec;

		items[i]->why = 0;
		if (items[i]->pinned)
			items[i]->why |= RETAIN_FLOOR_PIN;
		if (items[i]->tagged)
			items[i]->why |= RETAIN_TAG;
		if (age <= RETAIN_SECONDS)
			items[i]->why |= RETAIN_FLOOR_DAY;
		if (policy->within && age <= policy->within)
			items[i]->why |= RETAIN_WITHIN;
	}
	retain_newest_items(items, count, RETAIN_NEWEST, RETAIN_FLOOR_NEWEST);
	retain_newest_items(items, count, policy->last, RETAIN_LAST);
	retain_newest_buckets(items, count, policy->hourly, RETAIN_HOURLY);
	retain_newest_buckets(items, count, policy->daily, RETAIN_DAILY);
	retain_newest_buckets(items, count, policy->weekly, RETAIN_WEEKLY);
	retain_newest_buckets(items, count, policy->monthly, RETAIN_MONTHLY);
	retain_newest_buckets(items, count, policy->yearly, RETAIN_YEARLY);
}

void retain_decide(struct retain_item *items, size_t count,
		   const struct retain_policy *policy, struct timestamp now)
{
	struct retain_item **sorted =
		mem_resize(NULL, count + 1, sizeof(struct retain_item *));
	size_t i, start;

	for (i = 0; i < count; i++)
		sorted[i] = &items[i];
	qsort(sorted, count, sizeof(struct retain_item *), compare_item_roots);
	for (start = 0; start < count; start = i) {
		for (i = start + 1; i < count; i++) {
			if (strcmp(sorted[i]->root, sorted[start]->root) != 0)
				break;
		}
		retain_root_items(sorted + start, i - start, policy, now);
	}
	free(sorted);
}
