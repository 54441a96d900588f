/*
 * Units: a SQLite database with its -wal, -journal and -shm. Pages of the
 * database may be in the -wal alone, or its earlier pages in the -journal: main
 * file and sidecars of two states are a broken database. A plan therefore takes
 * all members of a unit from one side, and a path that names one member names
 * all.
 *
 * Only a file of the right name and with the right first bytes is a member: a
 * text with the name notes-wal is a file like any other. A -shm is an index of
 * the -wal that SQLite makes again: a plan only deletes it.
 *
 * Other databases of several files (LMDB, LevelDB, PostgreSQL) are no units.
 */
#ifndef GUARD_RESTORE_PLAN_UNIT_H
#define GUARD_RESTORE_PLAN_UNIT_H

#include "restore/plan/lookup.h"

enum unit_member {
	UNIT_MAIN,
	UNIT_JOURNAL,
	UNIT_SHM,
	UNIT_WAL,
	UNIT_MEMBERS,
};

/* The length of the main file's path in the path of a sidecar, by the name
 * alone; 0: no such name. */
size_t unit_stem(const char *path);
/* The path of a member, to free. */
char *unit_path(const char *main, enum unit_member member);
/* Whether a file that begins with these bytes can be this member. */
#define UNIT_HEAD 16
bool unit_head_fits(enum unit_member member, const void *head, size_t len);

/* 1: the entry is a file with the first bytes of a SQLite database; 0; or a
 * negative errno. */
int unit_is_main(struct store *store, const struct entry *e, struct err *err);

/* To a list of take_options.only, which may be NULL, adds the present members,
 * by their names, of each unit that the list names a member of. root_fd: the
 * directory. */
void unit_add_paths(int root_fd, char ***only);

struct unit {
	char *paths[UNIT_MEMBERS]; /* NULL: no such member */
};

void unit_free(struct unit *u);
/* 1: the path belongs to a unit of at least two members, and *ret has those
 * that one of the trees has; 0: it does not; or a negative errno. */
int unit_of(struct lookup *const *trees, size_t count, const char *path,
	    struct unit *ret, struct err *err);

#endif
