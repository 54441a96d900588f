/*
 * Places of credentials: paths of files and directories that a run must not
 * read as they are. places_find() looks at the default places below the home
 * directory, at the places to which the caller's variables move them
 * (GNUPGHOME, KUBECONFIG...), at files that settings of git and ssh name, and
 * at fixed places of the machine. It reads the caller's environment, before
 * sandbox_environ() drops most of it.
 *
 * A variable can name anything. The root directory, system directories, the
 * home directory, the project, and directories above these are never masked
 * because of one: the run could do nothing without them. A note says so.
 */
#ifndef GUARD_SANDBOX_PLACES_H
#define GUARD_SANDBOX_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/mem.h"

/* How a run sees the place. With PLACE_MASKED and another bit: the copy, or a
 * mask where no copy can be made. */
enum {
	PLACE_MASKED = 1, /* empty */
	PLACE_SETTINGS = 2, /* a copy by redact_text() */
	PLACE_PROSE = 4, /* a copy by redact_prose() */
	PLACE_AGENT = 8, /* a copy by redact_settings(), also of files below */
};

struct place {
	char *path; /* absolute, its links not resolved */
	char *entry; /* "~/.ssh", or the variable or file that names path */
	bool moved; /* entry is not the default place */
	unsigned int how; /* PLACE_* */
};

struct places {
	struct place *items;
	size_t count, capacity;
	struct names notes; /* sentences for the user */
};

/* Larger settings are not read. */
#define PLACES_FILE_MAX (64u << 20)

/* guard's list of them in the source tree (base/shipped.h). */
#define PLACES_LIST "guard/sandbox/places.list"

/* -EINVAL names the file and the line that is none of such a list. */
int places_check(const char *path, const char *text, struct err *err);

/* Adds a place below the home directory to those of the list, unless one has
 * the same path. For places_find(), and before it. */
void places_add(const char *path, unsigned int how);

/* Finds the existing places. variables: "NAME=VALUE", NULL-terminated; home,
 * project: absolute, or NULL. A place whose existence cannot be checked counts
 * as existing. state_fd: the state, which keeps the names found in directories;
 * -1: none does. *ret must be empty; places_free() empties it again. */
void places_find(char *const *variables, const char *home, const char *project,
		 int state_fd, struct places *ret);
void places_free(struct places *places);

/* The place whose file or directory is real (links resolved), or NULL. */
const struct place *places_of(const struct places *places, const char *real);

#endif
