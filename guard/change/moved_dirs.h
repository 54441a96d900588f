/*
 * Directories that an apply may have moved out of a run's upper layer
 * (restore/move_from_upper.h). The run's record lists them, durably, before the
 * first one is renamed, and as long as the run counts as applied. When it no
 * longer does, they are restored from the run's result in the store.
 */
#ifndef GUARD_CHANGE_MOVED_DIRS_H
#define GUARD_CHANGE_MOVED_DIRS_H

#include "overlay/session.h"
#include "snapshot/store/store.h"

/* Whether the record lists any. */
bool moved_dirs_any(const struct session *s);
/* Lists the paths in s->more; session_save() or session_set_state() has to
 * follow. */
void moved_dirs_record(struct session *s, char *const *paths);

/*
 * Restores the directories in the layer and empties the list; s is locked.
 * Without enough free space the list stays, and moved_dirs_check() fails, so
 * that the rest of the layer is not mistaken for all changes of the run.
 */
int moved_dirs_restore(struct session *s, struct store *store, struct err *err);
/* -ENODATA, with the remedy in the text, if directories are missing in the
 * layer of a pending run, which is to be read. */
int moved_dirs_check(const struct session *s, struct err *err);

#endif
