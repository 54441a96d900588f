/*
 * Folders that an apply may have taken out of a run's layer
 * (restore/move_from_upper.h): which ones stands in the run's record, and is on
 * disk, before the first one is renamed. They stay noted as long as the run
 * counts as applied. Where it does not any more, they are made again from the
 * run's result in the store.
 */
#ifndef GUARD_MOVED_DIRS_H
#define GUARD_MOVED_DIRS_H

#include "overlay/session.h"
#include "snapshot/store/store.h"

/* Whether any are noted. */
bool moved_dirs_any(const struct session *s);
/* Notes them; session_save() or session_set_state() has to follow. */
void moved_dirs_record(struct session *s, char *const *paths);

/*
 * The layer is whole again, and nothing is noted; s is locked. Where there is
 * no room for that, they stay noted, and moved_dirs_check() keeps everybody
 * from taking what is left for all that the run did.
 */
int moved_dirs_restore(struct session *s, struct store *store, struct err *err);
/* -ENODATA, with the way out, when parts of a layer that waits for a decision
 * are missing. */
int moved_dirs_check(const struct session *s, struct err *err);

#endif
