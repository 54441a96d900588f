/*
 * Earlier guards kept a log of the applies of a run in place of a moved base
 * (applied_base.h): the snapshots before and after each apply, and the paths
 * where edits of the user were merged. It is read once.
 */
#ifndef GUARD_CHANGE_APPLY_LOG_H
#define GUARD_CHANGE_APPLY_LOG_H

#include "guard/state/context.h"
#include "overlay/session.h"

/*
 * Stores the moved bases of a run with such a log, where that was not done
 * before. session_base() was called. An apply whose snapshots were removed from
 * the store is skipped.
 */
int apply_log_convert(struct context *c, struct session *s, struct err *err);

#endif
