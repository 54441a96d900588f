/*
 * Export of a tree, or of the difference of two trees, as a tar archive
 * (restore/tarfile.h). Names are relative to the tree's root and begin with
 * "./".
 *
 * Entries come in tree order, directories before their content. Tar cannot
 * express a deletion, so deletions are reported before the first byte of the
 * archive. A path also counts as deleted when a directory there becomes
 * something else, or the reverse.
 */
#ifndef GUARD_RESTORE_EXPORT_H
#define GUARD_RESTORE_EXPORT_H

#include "snapshot/tree/entry.h"

enum export_loss {
	EXPORT_GIT, /* a .git that no path names: excluded by intent */
	EXPORT_SOCKET, /* tar has no type for sockets */
	EXPORT_INCOMPLETE, /* not read completely when it was stored, or purged
			    */
};

struct export_sink {
	/* Receives the next bytes of the archive. */
	int (*add)(void *arg, const void *data, size_t len, struct err *err);
	void (*deleted)(void *arg, const char *path);
	void (*lost)(void *arg, const char *path, enum export_loss loss);
	void *arg;
};

/*
 * Writes the entries of `now` that differ from `old` (NULL: all entries of
 * `now`) and lie at or below one of `paths` (NULL: all paths). Returns 0 or a
 * negative errno; the archive is incomplete unless the result is 0. Errors of
 * sink->add() are returned unchanged.
 */
int export_tar(struct store *store, const struct entry *old,
	       const struct entry *now, const char *const *paths,
	       const struct export_sink *sink, struct err *err);

#endif
