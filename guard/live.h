/*
 * A run that is still going, looked at by another guard than its own.
 */
#ifndef GUARD_LIVE_H
#define GUARD_LIVE_H

#include "guard/sandbox/limits/freezer.h"
#include "overlay/session.h"

/* Notes in the record (not saved) who the run's pid 1 is. */
void live_record_init(struct session *s, pid_t init);

/*
 * Holds it still; *ret is NULL when there is nothing to be held: it is not
 * going, or has just ended. Others read its layer as if it were at rest then.
 */
int live_suspend(const struct session *s, struct freezer **ret,
		 struct err *err);

#endif
