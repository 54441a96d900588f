/*
 * The text part of `guard diff`: what changed within files, escaped.
 */
#ifndef GUARD_CLI_DIFFTEXT_H
#define GUARD_CLI_DIFFTEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "overlay/scan.h"

/* Files above this are named with their sizes only. */
#define DIFFTEXT_MAX (1u << 20)

/* Where the two sides of a change are had from. */
struct difftext_source {
	/* A regular file's bytes before or (now) after it, at most
	 * DIFFTEXT_MAX of them. */
	int (*bytes)(void *arg, const struct change *c, bool now,
		     struct buf *to, struct err *err);
	/* A link's target, appended; negative: not to be had. */
	int (*target)(void *arg, const struct change *c, bool now,
		      struct buf *to, struct err *err);
	void *arg;
};

/* The two sides of a run's changes; fds must live as long as the source. */
struct difftext_fds {
	int upper_fd, lower_fd;
};
struct difftext_source difftext_from_run(struct difftext_fds *fds);

/*
 * Prints the difference of one change on stdout: files as hunks, symbolic links
 * as their targets; nothing for directories, deletions and the like. One line
 * stands for content that cannot be shown (binary, too large, unreadable).
 */
void difftext_print(const struct change *c, const struct difftext_source *from);

/* The same of a move, with what git says of one; nothing when the bytes are
 * the same. */
void difftext_print_move(const struct change_move *m,
			 const struct difftext_source *from);

struct difftext_stat {
	size_t added, removed;
	bool text; /* false: no text, or not read */
};
/* The counted lines; for a deleted file its lines. */
void difftext_count(const struct change *c, const struct difftext_source *from,
		    struct difftext_stat *ret);
void difftext_count_move(const struct change_move *m,
			 const struct difftext_source *from,
			 struct difftext_stat *ret);

#endif
