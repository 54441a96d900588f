/*
 * The process that reads a stranger's repository: started, limited, asked.
 */
#ifndef GUARD_CHANGE_IMPORTER_CHILD_H
#define GUARD_CHANGE_IMPORTER_CHILD_H

#include <sys/types.h>

#include "restore/git/gitimport.h"

struct importer_job {
	const char *from, *to; /* the copy, the user's .git */
	const char *run_id;
	const struct gittips *tips;
	bool write;
	uint64_t bytes; /* of the copy */
};

/*
 * Seconds of a processor that may be spent on so many bytes of objects. A pack
 * of 100 KB can be made so that each of its thousands of objects has to be got
 * out of one that is a thousand times larger: who waits longer for it than for
 * an honest one waits for nothing.
 */
unsigned int importer_child_seconds(uint64_t bytes);

struct importer_child {
	pid_t pid;
	unsigned int seconds; /* that it may take */
	int report_fd, go_fd;
};

int importer_child_start(const struct importer_job *job,
			 struct importer_child *ret, struct err *err);
/* Its list. The child's own failure is what is returned. */
int importer_child_list(struct importer_child *child,
			struct gitimport_list *ret, struct err *err);
/* Lets it write, and waits for it. */
int importer_child_go(struct importer_child *child, struct err *err);
/* Ends it. */
void importer_child_end(struct importer_child *child);

#endif
