/*
 * How much of the disk a run may take: bytes and entries of its folder, which
 * are its layers and its /tmp.
 *
 *	budget_begin()	before the command
 *	budget_tick()	again and again, while it runs
 *	budget_end()
 *
 * The layer is not counted all the time. As long as the file system has not
 * lost more than the run has left to take, it cannot have taken it; only then
 * a process of its own counts, and some time later again. Where guard may not
 * read all of the layer, what the file system lost counts for the run.
 */
#ifndef GUARD_RUN_BUDGET_H
#define GUARD_RUN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "guard/usage.h"

struct budget {
	int fd; /* the run's folder: borrowed */
	/* 0: none of that kind */
	uint64_t bytes, entries;
	bool fixed_bytes, fixed_entries; /* given by the user */
	bool resumed; /* what the layer has already was not counted yet */
	uint64_t begin_bytes, begin_entries; /* free at the beginning */
	/* since the last count, or the beginning: */
	uint64_t free_bytes, free_entries;
	uint64_t allowed_bytes, allowed_entries;
	struct usage used;
	pid_t counter; /* 0: nobody counts */
	int result_fd;
	int64_t count_began, next_count; /* monotonic ms */
};

/*
 * bytes, entries 0: the defaults, a quarter of the free space (the version
 * that is kept at the end and an apply may need as much again, each) and a
 * third of the free inodes. resumed: what the layer has already comes on top of
 * them.
 */
int budget_begin(struct budget *b, int run_fd, uint64_t bytes, uint64_t entries,
		 bool resumed, struct err *err);

/* True: too much. *ret_next_ms: when to ask again. */
bool budget_tick(struct budget *b, int *ret_next_ms);

/* In a child of the one who began: from now on it asks, for itself. */
void budget_in_child(struct budget *b);

/* "its layer takes 70 MB, more than the 60 MB ...", behind budget_tick(). */
char *budget_explain(const struct budget *b);

void budget_end(struct budget *b);

#endif
