/*
 * The store's directory: its creation, its modes and locks, and the cleanup of
 * tmp/.
 *
 *	FORMAT   "guard-store 1", then uuid, hash, chunker, features-mandatory,
 *	         features-optional (words, separated by blanks), check
 *	secret   192 random bytes and their check (XXH3-64), 0400; secret.2 is
 *	         a second copy, used when the first is damaged
 *	lock     flock: shared by writers, exclusive while the store is created
 *	         and in the last phase of prune
 *	commit.lock   flock: held to rename into packs/ or snaps/
 *	packs/ snaps/ 0500 at rest, 0700 while commit.lock is held; so is the
 *	         store's directory itself: an rm -rf of a whole home leaves
 *	         the packs and the files that they need
 *	tmp/     packs being written, each flocked by its writer
 *	trash/   packs and snapshots that prune has removed
 *
 * A store exists once FORMAT is in place and synced; all other files are
 * durable before. Two processes that create the store at the same time take
 * turns through `lock`. A process that is killed during the creation leaves
 * nothing that looks like a store.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_DIR_H
#define GUARD_SNAPSHOT_STORE_STORE_DIR_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/packformat.h"

struct store_dir {
	int fd, packs_fd, tmp_fd; /* tmp_fd: -1 when open for reading */
	int lock_fd; /* shared lock of a writer, else -1 */
	struct format format;
	struct hash_key key;
};

/* Opens the directory as store_open() describes; write: creates a missing store
 * and locks it. A writer removes files of dead processes from tmp/ and restores
 * mode 0500 of packs/ and snaps/ when another writer died while they were open.
 */
int store_dir_open(struct store_dir *ret, const char *dir, bool write,
		   struct err *err);

/* Closes the descriptors, releases the lock and erases the key. */
void store_dir_close(struct store_dir *f);

/* Recreates a damaged or missing FORMAT from the headers of the packs. Returns
 * 1 when it did, 0 when FORMAT is intact. -EBADMSG: no pack has a readable
 * header. -EPROTO: of a newer guard. */
int store_dir_repair_format(const char *dir, struct err *err);

/* Makes the subdirectories of a new store; those that exist stay. Temporary
 * files beside them, which may contain a secret, are removed. */
int store_dir_make_subdirs(int fd, struct err *err);
/* Changes the mode of the directory, packs/ and snaps/: 0700 or 0500. */
int store_dir_set_modes(int fd, mode_t mode, struct err *err);
/* Writes both copies of the secret into the directory of a new store. given:
 * SECRET_LEN bytes; NULL: random ones. */
int store_dir_write_secrets(int fd, const void *given, struct err *err);
/* Whether a copy of the secret ("secret" or "secret.2") is intact: 0, or a
 * negative errno. */
int store_dir_check_secret(const struct store_dir *f, const char *name,
			   struct err *err);
/* Writes a damaged copy again, under the commit lock. Returns 1 when it did, 0
 * when the copy is intact. */
int store_dir_repair_secret(const struct store_dir *f, const char *name,
			    struct err *err);

struct store;

/* The directory of an open store, valid until store_free(). For the modules
 * that maintain the store as a whole. */
const struct store_dir *store_get_dir(const struct store *s);

/* Opens a directory of the store, which is open as dirfd. Returns a descriptor
 * or a negative errno. */
int store_dir_open_subdir(int dirfd, const char *name, struct err *err);
/* The same of an open store: "snaps", "tmp" or "trash". */
int store_open_subdir(const struct store *s, const char *name, struct err *err);

/* As store_commit_begin() and store_commit_end(). */
int store_dir_commit_begin(const struct store_dir *f, struct err *err);
void store_dir_commit_end(const struct store_dir *f, int lock_fd);

/* Replaces a file in the store's directory that is only a cache, under the
 * commit lock. Not synced: readers notice a torn file. */
int store_dir_put_cache(const struct store_dir *f, const char *name,
			const struct buf *bytes, struct err *err);

#endif
