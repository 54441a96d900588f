/*
 * A command in a run that has ended may only look: then nothing has to be
 * stored, synced or waited for, and the run's record stays what it was.
 *
 *	look_begin()	before anything of the layer is put up
 *	look_left_alone()	when the command has ended
 */
#ifndef GUARD_RUN_LOOK_H
#define GUARD_RUN_LOOK_H

#include <stdbool.h>

struct change_list;
struct changes;
struct look;
struct session;

/* NULL: the run had not ended in order, all has to be looked at anew. */
struct look *look_begin(const struct session *s);

/*
 * Nothing in the layer is newer than the end before, since when all of it is on
 * disk and in the store; s says when the command began and ended. By a clock
 * that was set back nothing can be told: false, as of NULL.
 */
bool look_left_alone(const struct look *l, const struct session *s,
		     const struct changes *c, const struct change_list *git);

void look_free(struct look *l);

#endif
