/*
 * The discard of single paths of a run that itself stays pending: their files
 * are moved from the layer into the trash (upper_discard()); an undo restores
 * them from there.
 *
 * Both are announced as next-action first, like every action on a project
 * (action.h). After a crash in the middle the files are moved back into the
 * layer: an interrupted discard is undone, an interrupted undo is finished.
 */
#ifndef GUARD_CHANGE_PARTIAL_DISCARD_H
#define GUARD_CHANGE_PARTIAL_DISCARD_H

#include "guard/change/action.h"
#include "guard/change/changes.h"
#include "guard/change/resolve_run.h"
#include "guard/state/context.h"
#include "overlay/session.h"

/*
 * Discards the named paths of the run, which is locked, all or none: after an
 * error the discarded ones are restored. changes: of the run, with the layers
 * open. -EBUSY: another guard process works in the project.
 */
int partial_discard(struct context *c, struct resolved_run *p,
		    const struct changes *changes, struct err *err);

/* The path for messages, with "~/" or the directory of --cow in front; to
 * free. */
char *partial_discard_text(const struct session *s,
			   const struct action_part *part);

/* The absolute path of a part; to free. */
char *partial_discard_path(const struct session *s,
			   const struct action_part *part);

/*
 * Checks whether all paths can be restored, and changes nothing. Returns how
 * many of them are still in the trash. -EEXIST: later changes of the run are in
 * the way.
 */
int partial_discard_check(const struct state *st, const struct session *s,
			  const struct action *a, struct err *err);

/*
 * Ends the discard or the undo that next-action announces, and removes
 * next-action: the paths of a discard that has not become the last action are
 * restored, and so are those of a discard that is to be undone, which then is
 * no action any more. The workspace is locked. s: the run, locked; NULL: it is
 * opened here, -EBUSY if it is in use. -EEXIST: entries in the run's layer are
 * in the way; the paths then count as discarded.
 */
int partial_discard_finalize(struct context *c, int workspace_fd,
			     struct session *s, struct err *err);

#endif
