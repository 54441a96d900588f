/*
 * A destination: a directory that takes backups, on a disk, a network file
 * system, or one that another program carries elsewhere.
 *
 *	guard-copy, guard-copy.2
 *	<space>/root-<hash>	space: uuid of the store "-" incarnation, 32 hex
 *				digits each
 *	<space>/p/<hash>	packs of data
 *	<space>/s/<hash>	snapshots, packs of trees, indexes
 *	<space>/c/<number>-<hash>	manifests; number: 10 digits
 *
 * Files are only added: no file is opened for writing, replaced or deleted once
 * it has its name, but by destination_delete(), which only a prune calls. A
 * file is written without a name (O_TMPFILE), synced and linked, which chattr
 * +a allows. Other file systems: as .tmp-<random>, synced and renamed.
 * Where a directory refuses both it is written under its name at once, and a
 * file whose bytes do not match the hash in its name counts for nothing.
 *
 * Everything that is read is untrusted: links and other kinds of files are
 * refused.
 */
#ifndef GUARD_SNAPSHOT_BACKUP_DESTINATION_H
#define GUARD_SNAPSHOT_BACKUP_DESTINATION_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/dirtree.h"
#include "base/mem.h"
#include "snapshot/backup/keyfile.h"

struct destination {
	char *path; /* absolute */
	int fd;
	/* Set by the caller of destination_open(): the content of guard-copy,
	 * the id in it, and the key of all sealed files. */
	struct buf keyfile;
	unsigned char id[KEYFILE_ID_LEN], key[SEAL_KEY_LEN];
	bool no_renames; /* files are written under their names at once; found
			    by the first file */
	bool has_backups; /* a prune could delete some of this machine; set by
			     push_store() */
	char **swept; /* directories without old temporary files */
};

#define DESTINATION_NONE                                                       \
	{                                                                      \
		.fd = -1                                                       \
	}

/* Puts the destination in front of an error of a read or write of one of its
 * files, and the way out behind it. For errors of other modules: the functions
 * below do so themselves. Returns -err->num. */
int destination_explain(const struct destination *d, struct err *err);

/* Whether a negative errno is about one file there, which is damaged or
 * missing: the others may be read. */
bool destination_is_damage(int got);

/* Opens a directory that exists. -ENOENT, -ENOTDIR: with the way out (mount the
 * disk, or create the directory). */
int destination_open(const char *path, struct destination *ret,
		     struct err *err);
void destination_free(struct destination *d);

/* Begins a file in `dir`, a path below the destination that is created where it
 * is missing, "" for the top. Temporary files in `dir` that are older than a
 * day are removed where this one needs a temporary name. Errors name the
 * destination and say what to do: -ENOSPC, -EROFS, -EACCES, -EIO. */
int destination_begin(struct destination *d, const char *dir,
		      struct atomic_file *ret, struct err *err);
/* Whether a name ends with a hash: those of all files but guard-copy. */
bool destination_is_hashed(const char *name);
/* Gives the file its name; it and its directory are durable on return. A file
 * of that name is left as it is (0), because names are hashes; for a name that
 * is none (guard-copy) -EEXIST. */
int destination_publish(struct destination *d, struct atomic_file *f,
			const char *name, struct err *err);
/* As atomic_file_free(), and closes the directory. */
void destination_file_free(struct atomic_file *f);

/* Opens a file for reading; a descriptor or a negative errno. -ENOENT: missing,
 * also when an older listing still has it; -EBADMSG: a link or another kind of
 * file. */
int destination_read(const struct destination *d, const char *path,
		     struct err *err);
/* All names in a directory, also of temporary files and of the user's. A
 * missing directory leaves *ret, which must be empty, unchanged. */
int destination_list(const struct destination *d, const char *dir,
		     struct dirlist *ret, struct err *err);
/* Deletes a file, for a prune; a missing one is no error. */
int destination_delete(const struct destination *d, const char *path,
		       struct err *err);

/* Protection of the files of the destination from the user who writes them. */
enum destination_promise {
	DESTINATION_PLAIN, /* files can be deleted */
	DESTINATION_OVERWRITABLE, /* and these only overwritten */
	DESTINATION_APPEND_ONLY, /* files can be appended to, not deleted */
	DESTINATION_LOCKED, /* files can be neither changed nor deleted */
	DESTINATION_UNKNOWN, /* for callers: it could not be tried */
};
#define DESTINATION_TRY "guard-try"
/* Found by trying, on a small file of that name, which stays where
 * it cannot be deleted. A later call tries that one: locks may come with
 * time. */
int destination_try(struct destination *d, enum destination_promise *ret,
		    struct err *err);

#endif
