/*
 * What a restore did, or would do, as one object on stdout:
 *
 *	{"schema": "guard.restore/1", "restored": true, "to": null,
 *	 "from": [{"path": "/home/me/p/f", "snapshot": 12, "time": "..."}],
 *	 "before": 13, "after": 14, "steps": [...], ...}
 *
 * before and after: the snapshots of what stood there and stands there now.
 * The rest is that of plan_summary_json(); with `to` there is none of it.
 */
#ifndef GUARD_CLI_RESTORE_JSON_H
#define GUARD_CLI_RESTORE_JSON_H

#include "guard/change/sources.h"
#include "restore/plan/plan.h"

struct restore_report {
	struct store *store;
	const struct sources *found;
	const struct plan *plan; /* NULL: into another directory */
	const char *to; /* or NULL */
	bool done;
	uint64_t before, after; /* 0: none */
};

void restore_json(const struct restore_report *t);

#endif
