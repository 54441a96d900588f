/*
 * A directory that was too large to be stored beside a run without a question
 * (ask-above): the workspace's record "unstored". It holds until a snapshot of
 * the whole directory is taken, which writes the stat cache.
 */
#ifndef GUARD_STATE_UNSTORED_H
#define GUARD_STATE_UNSTORED_H

#include <stdbool.h>
#include <stdint.h>

struct unstored {
	uint64_t files, bytes;
	bool at_least; /* not all of it is counted yet */
	bool declined; /* the user was asked, and does not want it stored */
	int64_t time; /* of the count; unstored_save() sets it */
};

void unstored_save(int workspace_fd, const struct unstored *u);
void unstored_forget(int workspace_fd);
/* False: there is no record, or the directory was stored since. */
bool unstored_load(int workspace_fd, struct unstored *ret);
/* "more than 4.0 GB in 300 files"; the caller's to free. */
char *unstored_text(const struct unstored *u);

#endif
