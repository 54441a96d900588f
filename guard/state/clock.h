/*
 * Whether the age of a file may lead to a deletion that cannot be undone. A
 * clock that jumps (a dead battery, a restored virtual machine, faketime) makes
 * everything look old at once.
 *
 * Within one boot the wall clock must move with CLOCK_BOOTTIME, which also
 * counts while the machine sleeps. Across boots the time that passed is
 * unknown. The record "clock" of the state has both clocks as guard saw them
 * last. After a jump, and across boots after a gap of more than two days, no
 * age is believed for one day.
 */
#ifndef GUARD_STATE_CLOCK_H
#define GUARD_STATE_CLOCK_H

#include <stdbool.h>

/* Updates the record of the state. fresh: the state has no files yet, so that
 * no earlier record can be missing. */
void clock_keep(int state_fd, bool fresh);
/* Whether ages may be believed now; updates the record as well. */
bool clock_believed(int state_fd);

#endif
