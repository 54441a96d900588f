/*
 * The store's folder: how it comes to be, what protects it, what is cleared.
 *
 *	FORMAT   "guard-store 1", then uuid, hash, chunker, features-mandatory,
 *	         features-optional (words, separated by blanks), check
 *	secret   192 random bytes and their check (XXH3-64), 0400; secret.2 is
 *	         a second copy, used when the first is damaged
 *	lock     flock: shared by writers, exclusive while the store is made and
 *	         in the last phase of prune
 *	commit.lock   flock: held to rename into packs/ or snaps/
 *	packs/ snaps/ 0500 at rest, 0700 while commit.lock is held; so is the
 *	         folder itself: the rm -rf of a whole home leaves the packs
 *	         alone, and what they cannot be read without
 *	tmp/     packs being written, each flocked by its writer
 *	trash/   what prune has taken away
 *
 * A store exists from the moment FORMAT is in place and synced; all else was
 * durable before. Two processes that make it at the same moment take turns by
 * `lock`; one that was killed in between leaves nothing that is taken for a
 * store.
 */
#ifndef GUARD_SNAPSHOT_STORE_STORE_DIR_H
#define GUARD_SNAPSHOT_STORE_STORE_DIR_H

#include <stdbool.h>

#include "base/err.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/packformat.h"

struct store_dir {
	int fd, packs_fd, tmp_fd; /* tmp_fd: -1 when only reading */
	int lock_fd; /* shared lock of a writer, else -1 */
	struct format format;
	struct hash_key key;
};

/* As store_open() says; write: make it when missing, and lock it. A writer
 * clears tmp/ of what dead processes have left and closes packs/ and snaps/
 * again when one died while they were open. */
int store_dir_open(struct store_dir *ret, const char *dir, bool write,
		   struct err *err);
void store_dir_close(struct store_dir *f);

/* Makes the store when there is none (1), 0 when there is one already.
 * secret: SECRET_LEN bytes, NULL: random ones. */
int store_dir_create(const char *dir, enum hash_kind hash, const void *secret,
		     struct err *err);

/* Makes a damaged or missing FORMAT anew from what the packs say: 1; 0: it is
 * whole; -EBADMSG: they do not say it; -EPROTO: of a newer guard. */
int store_dir_repair_format(const char *dir, struct err *err);

struct store;

/* The directory of an open store, valid until store_free(). For the modules
 * that maintain the store as a whole. */
const struct store_dir *store_get_dir(const struct store *s);

/* See store_commit_begin(). */
int store_dir_commit_begin(const struct store_dir *f, struct err *err);
void store_dir_commit_end(const struct store_dir *f, int lock_fd);

#endif
