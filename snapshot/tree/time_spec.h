/*
 * Points in the past as people write them. This module only parses the text;
 * catalog_find() selects the snapshot.
 *
 * 	when   = [ "latest" [ "~" number ] ]
 * 	       | [ "s" ] number                      ; a sequence number
 * 	       | number [ "." digits ] unit [ "ago" ]
 * 	       | date [ ( " " | "T" ) time [ "Z" ] ] ; local, Z: UTC, as in JSON
 * 	       | time                                ; local, today
 * 	       | ( "today" | "yesterday" ) [ " " time ]
 * 	unit   = s sec second | m min minute | h hour | d day | w week, plurals
 * 	date   = YYYY-MM-DD
 * 	time   = HH:MM[:SS]
 *
 * A date or time stands for its end: "2026-11-21" includes all of that day,
 * "14:30" all of that minute. Times are printed to the minute, and a snapshot
 * printed with 14:30 must be found by that text.
 */
#ifndef GUARD_SNAPSHOT_TREE_TIME_SPEC_H
#define GUARD_SNAPSHOT_TREE_TIME_SPEC_H

#include <stdint.h>

#include "base/err.h"
#include "base/meta.h"

enum time_spec_kind {
	TIME_SPEC_LATEST, /* number: how many snapshots before the latest */
	TIME_SPEC_SEQ, /* number: the sequence number */
	TIME_SPEC_TIME, /* time: the last snapshot not after it */
};

struct time_spec {
	enum time_spec_kind kind;
	uint64_t number;
	struct timestamp time;
	struct timestamp begin; /* of the day, minute, ... that ends there */
};

/* Parses text; `now` is the clock to count back from. -EDOM: not
 * understood; no system call ends with that number. */
int time_spec_parse(const char *text, struct timestamp now,
		    struct time_spec *ret, struct err *err);

#endif
