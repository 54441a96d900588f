/*
 * Paths that were discarded out of a run's layer, while the run itself stays:
 * what the layer had of them lies in the trash (upper_discard()), and comes
 * back from there.
 *
 * Both ways are announced first, like all that is done to a project (action.h),
 * so that they happen as a whole: what was ended in the middle is put back, be
 * it a discard that was not done yet, or an undo that was.
 */
#ifndef GUARD_PARTIAL_DISCARD_H
#define GUARD_PARTIAL_DISCARD_H

#include "guard/action.h"
#include "guard/state.h"
#include "overlay/session.h"

/* A name in the trash for a path, that nothing had yet; to free. number: from
 * 1, of those that are discarded together. */
char *partial_discard_name(const struct session *s, unsigned int number);

/* The path for people, "~/" or a folder of --cow in front; to free. */
char *partial_discard_text(const struct session *s,
			   const struct action_part *part);

/*
 * Whether all of them can be put back into the run, and nothing is done: of how
 * many there is something. -EEXIST: what the run did since is in the way.
 */
int partial_discard_check(const struct state *st, const struct session *s,
			  const struct action *a, struct err *err);

/* What was taken out of layers, or put back, is on disk: some file systems
 * keep no order between it and the record that says so. */
int partial_discard_sync(const struct state *st, struct err *err);

/*
 * next-action, which says of them, is gone on return: a discard that has not
 * become the last action is put back; one that is to be undone is put back,
 * and no action any more. s: the run, locked; NULL: it is opened here, -EBUSY
 * when it is in use. The workspace is locked. -EEXIST: what is in the run
 * stands in the way; then it counts as discarded.
 */
int partial_discard_finalize(const struct state *st, int workspace_fd,
			     const struct session *s, struct err *err);

#endif
