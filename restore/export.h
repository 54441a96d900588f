/*
 * A tree, or what it has otherwise than another one, as a tar archive
 * (restore/tarfile.h). Names in it are relative to the tree's root, "./".
 *
 * Entries of a tree come as they are there, folders before what is in them.
 * What is deleted no tar can say: it is told, before the first byte. Deleted
 * is also what has to go first because it was a folder and is none now, or the
 * other way round.
 */
#ifndef GUARD_RESTORE_EXPORT_H
#define GUARD_RESTORE_EXPORT_H

#include "snapshot/tree/entry.h"

enum export_loss {
	EXPORT_GIT, /* a .git that no path names: left out by intent */
	EXPORT_SOCKET, /* tar has no place for it */
	EXPORT_INCOMPLETE, /* not read whole when it was stored, or purged */
};

const char *export_loss_text(enum export_loss loss); /* for people */

struct export_sink {
	/* The next bytes of the archive. */
	int (*add)(void *arg, const void *data, size_t len, struct err *err);
	void (*deleted)(void *arg, const char *path);
	void (*lost)(void *arg, const char *path, enum export_loss loss);
	void *arg;
};

/*
 * old NULL: all of `now`. Only what is one of paths or below (NULL: all).
 * The archive is worth nothing unless it returns 0.
 */
int export_tar(struct store *store, const struct entry *old,
	       const struct entry *now, const char *const *paths,
	       const struct export_sink *sink, struct err *err);

#endif
