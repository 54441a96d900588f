/*
 * What was moved: which of the things that came is one that went. For people:
 * nothing is planned or done by it.
 *
 * Files of the same bytes first, then folders by what was in them, then texts
 * that are alike, by libgit2's own measure and as git does it: at least half.
 * Of several that would do, the one of the same place in a moved folder is
 * taken, then one of the same name. Bounded: reading by the source, looking
 * for likeness by numbers below, all else by n log n.
 */
#ifndef GUARD_RESTORE_GIT_MOVES_H
#define GUARD_RESTORE_GIT_MOVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "snapshot/store/hash.h"

#define MOVES_NONE UINT32_MAX

/* Percent from which on two files are the same one. */
#define MOVES_SIMILAR 50
/* A larger one is only ever found by its very bytes. */
#define MOVES_SIMILAR_MAX (1u << 20)
/* So many files are compared with each other where neither name nor folder
 * says which; and so many bytes are read for likeness in all. */
#define MOVES_SIMILAR_FILES 2000
#define MOVES_SIMILAR_BYTES (128u << 20)

/* One folder, file or link; other kinds are never moved. */
struct moves_file {
	const char *path; /* the caller's */
	uint64_t size; /* of a file */
	uint32_t mode;
	uint32_t index; /* the caller's own */
	bool over; /* came: something else was there. Taken for a move only
		      where the bytes are the same */
	bool plain; /* not looked at for likeness */

	/* The answer: its place in the other list, or MOVES_NONE. */
	uint32_t other;
	uint8_t percent; /* 100: the very bytes, and any folder */
	bool with_parent; /* it moved with its folder, and kept its name */
};

/* Sorted by path_compare(). */
struct moves_side {
	struct moves_file *items;
	size_t count, capacity;
};

struct moves {
	struct moves_side deleted, added;
	bool limited; /* a limit was met: there may be more */
};

struct moves_source {
	/* Two files or links of one key have the same bytes. Negative: it
	 * cannot be had, -EFBIG: too much was asked for already. */
	int (*key)(void *arg, const struct moves_file *f, bool added,
		   unsigned char ret[HASH_LEN], struct err *err);
	/* The bytes of a file of at most MOVES_SIMILAR_MAX. */
	int (*bytes)(void *arg, const struct moves_file *f, bool added,
		     struct buf *to, struct err *err);
	void *arg;
};

void moves_free(struct moves *m);
/* To either side, in order; the path is borrowed. */
void moves_add(struct moves_side *side, const char *path, uint32_t mode,
	       uint64_t size, size_t index);
/* Its place, or MOVES_NONE. */
uint32_t moves_find_path(const struct moves_side *side, const char *path);

/* Fills in the answers. What cannot be read has none. */
void moves_find(struct moves *m, const struct moves_source *source);

#endif
