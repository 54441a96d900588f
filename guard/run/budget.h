/*
 * Limit of the disk space of a run: the bytes and entries of the run's
 * directory, which holds its layers and its /tmp.
 *
 *	budget_begin()	before the command
 *	budget_tick()	repeatedly while it runs
 *	budget_end()
 *
 * The layer is not counted all the time. The run cannot have exceeded its limit
 * while the file system has lost less than the run has left. Only after that
 * does a process of its own count the layer, and again some time later. Where
 * guard may not read all of the layer, the loss of the file system counts as
 * the run's.
 */
#ifndef GUARD_RUN_BUDGET_H
#define GUARD_RUN_BUDGET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "guard/state/usage.h"

struct budget {
	int fd; /* the run's directory: borrowed */
	/* 0: none of that kind */
	uint64_t bytes, entries;
	bool fixed_bytes, fixed_entries; /* given by the user */
	bool resumed; /* the layer of a resumed run was not counted yet */
	uint64_t begin_bytes, begin_entries; /* free at the beginning */
	/* since the last count, or the beginning: */
	uint64_t free_bytes, free_entries;
	uint64_t allowed_bytes, allowed_entries;
	struct usage used;
	pid_t counter; /* 0: no process counts */
	int result_fd;
	int64_t count_began, next_count; /* monotonic ms */
};

/*
 * bytes, entries: 0 means the defaults, a quarter of the free space (the last
 * version of the run and an apply may each need as much again) and a third of
 * the free inodes. resumed: the existing content of the layer is added to both.
 */
int budget_begin(struct budget *b, int run_fd, uint64_t bytes, uint64_t entries,
		 bool resumed, struct err *err);

/* True: too much. *ret_next_ms: when to ask again. */
bool budget_tick(struct budget *b, int *ret_next_ms);

/* In a child of the process that called budget_begin(): the child measures for
 * itself from here on. */
void budget_in_child(struct budget *b);

/* The reason after budget_tick(): "its layer takes 70 MB, more than the 60 MB
 * ...". */
char *budget_explain(const struct budget *b);

/* Ends the process that counts, if there is one. */
void budget_end(struct budget *b);

#endif
