/*
 * Folders that their owner may not look into himself. What is in them can only
 * be stored, compared and taken back while they are open to him; nobody else is
 * let in meanwhile. Whoever is ended in between leaves them open.
 */
#ifndef GUARD_RESTORE_SHUT_H
#define GUARD_RESTORE_SHUT_H

#include "snapshot/tree/tree.h"

struct shut_folder {
	const char *path;
	int fd; /* O_PATH */
	uint32_t mode; /* that it had */
};

struct shut {
	struct shut_folder *items;
	size_t count, room;
};

/* Whether its owner, who is not root, could not list it or reach into it. */
bool shut_is(uint32_t mode);
/*
 * Opens those among the paths that are ours and shut. paths: NULL-terminated,
 * those above before those below, or NULL; they stay where they are.
 */
int shut_open(int root_fd, char *const *paths, struct shut *ret,
	      struct err *err);
/* As they were. */
void shut_free(struct shut *s);

/* The mode that it had, of one that is open now; else `mode`. */
uint32_t shut_mode(const struct shut *s, const char *path, uint32_t mode);
/* A tree that was taken meanwhile gets the modes that they had. */
int shut_correct(const struct shut *s, struct store *store, struct entry *root,
		 struct err *err);

#endif
