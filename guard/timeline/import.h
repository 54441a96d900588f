/*
 * Moves the contents of a run from its spool to the store (contents.h). The
 * files of the spool are removed when the snapshot with them is durable: killed
 * anywhere, an import loses nothing, and the next one completes it. Two imports
 * of a run exclude each other.
 */
#ifndef GUARD_TIMELINE_IMPORT_H
#define GUARD_TIMELINE_IMPORT_H

#include <sys/types.h>

#include "overlay/session.h"
#include "snapshot/store/store.h"

/* Whether the spool has more than these bytes; 0: any file. */
bool import_is_due(int run_fd, uint64_t bytes);

/* The run has a timeline. ended: it is not live. Its records are stored, too,
 * and the contents that stand in its result or layer. Returns 0, or a negative
 * errno; -EWOULDBLOCK: another process imports, and is not waited for. */
int import_run(struct store *store, const struct session *s, bool ended,
	       bool wait, struct err *err);
/* The same with the user's store; nothing, if the run has no timeline. */
int import_now(const struct session *s, bool ended, bool wait, struct err *err);
/* In a process of its own, with idle priority, which may outlive this one. Its
 * pid, or -1. What fails stays in the spool for the next one. */
pid_t import_start(const struct session *s, bool ended);

#endif
