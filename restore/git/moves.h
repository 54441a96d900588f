/*
 * Detection of moved files: pairs of a deleted and an added file. Lists display
 * them, and a path that names one file of a pair selects both; no plan depends
 * on a pair.
 *
 * Order: files with the same bytes, then directories by their content, then
 * similar texts by libgit2's measure, at least 50 % as in git. Among several
 * candidates the file in the same place of a moved directory wins, then the
 * file with the same name. The cost is bounded: reads by the source,
 * comparisons of content by the numbers below, the rest by n log n.
 *
 * git_diff_find_similar() of libgit2 1.5 knows no moved directories, and
 * compares each deleted file with each added one: 20,000 files of equal bytes
 * take 4 s, and beyond its limit of 1,000 files it finds nothing.
 */
#ifndef GUARD_RESTORE_GIT_MOVES_H
#define GUARD_RESTORE_GIT_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "snapshot/store/hash.h"
#include "snapshot/tree/entry.h"

/* Similarity in percent from which two files are a pair. */
#define MOVES_SIMILAR 50
/* Larger files are paired only when their bytes are equal. */
#define MOVES_SIMILAR_MAX (1u << 20)
/* Limits where neither name nor directory selects a pair: files compared with
 * each other, and bytes read for all comparisons. */
#define MOVES_SIMILAR_FILES 2000
#define MOVES_SIMILAR_BYTES (128u << 20)

/* One directory, file or symbolic link; other kinds are never moved. */
struct moves_file {
	const char *path; /* the caller's */
	const struct entry *entry; /* the caller's, or NULL: not stored */
	struct moves_copy *copy; /* owns both, or NULL */
	size_t index; /* for the caller */
	uint64_t size; /* bytes of a file */
	uint32_t mode;
	bool added;
	bool over; /* added: replaces another file. A pair only when the bytes
		      are equal */
	bool plain; /* content is not compared for similarity */

	/* Result: the file on the other side, or NULL. */
	struct moves_file *other;
	uint8_t percent; /* 100: equal bytes, and every directory */
	bool with_parent; /* moved with its directory and kept its name */

	/* For the search: the parent directory, if that is in the list; the
	 * key of the bytes. Of a deleted directory the number of files below,
	 * and the directory that received most of them, with how many. */
	struct moves_file *parent, *best;
	uint32_t files, votes;
	bool keyed;
	unsigned char key[HASH_LEN];
};

/* Sorted by path_compare(). */
struct moves_side {
	struct moves_file *items;
	size_t count, capacity;
};

struct moves {
	struct moves_side deleted, added;
	bool limited; /* a limit was reached: more moves are possible */
};

struct moves_source {
	/* Two files or symbolic links with the same key have the same bytes.
	 * Negative: no key; -EFBIG: the limit of the source is reached. */
	int (*key)(void *arg, const struct moves_file *f,
		   unsigned char ret[HASH_LEN], struct err *err);
	/* The bytes of a file of at most MOVES_SIMILAR_MAX. */
	int (*bytes)(void *arg, const struct moves_file *f, struct buf *to,
		     struct err *err);
	void *arg;
};

/* Frees both sides and the copies. */
void moves_free(struct moves *m);
/* Appends to a side, in path order; the path is borrowed. The result is valid
 * until the next call. */
struct moves_file *moves_add(struct moves *m, bool added, const char *path,
			     uint32_t mode, uint64_t size);
/* Adds copies of the path and the entry. */
void moves_add_copy(struct moves *m, bool added, const char *path,
		    const struct entry *e);
/* The same if it is an end of a move. */
const struct moves_file *moves_at(const struct moves *m, bool added,
				  const char *path);

/* Fills in the results. Unreadable files have none. */
void moves_find(struct moves *m, const struct moves_source *source);

/* Moves among entries of the store: files with the same bytes are found without
 * a read; texts are read only for candidates of similarity. */
struct moves_store {
	struct store *store;
	/* The entry that f stands for; NULL: f->entry. */
	const struct entry *(*entry)(void *arg, const struct moves_file *f);
	void *arg;
	struct hash_key hash; /* hashes the targets of symbolic links */
};

/* s and the objects in it must outlive the source. */
struct moves_source moves_of_store(struct moves_store *s);
/* Finds the moves among files that all have an entry. They were added in any
 * order. */
void moves_find_stored(struct moves *m, struct store *store);

/* Finds the moves among the entries of two trees that exist on one side only.
 * wanted(): whether the entry may be an end of a move. Added entries are not
 * visited when none was deleted. */
int moves_of_trees(struct store *store, const struct entry *old,
		   const struct entry *now,
		   bool (*wanted)(void *arg, const char *path,
				  const struct entry *e),
		   void *arg, struct moves *ret, struct err *err);

#endif
