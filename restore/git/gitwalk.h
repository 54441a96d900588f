/*
 * Everything that some commits and tags of one repository need and another
 * does not have, each object read whole, its hash and its form checked.
 *
 *	gitwalk_new, gitwalk_add for each tip, gitwalk_go, gitwalk_free
 *
 * An object that the other repository has is taken for complete, as git does.
 */
#ifndef GUARD_RESTORE_GIT_GITWALK_H
#define GUARD_RESTORE_GIT_GITWALK_H

#include "restore/git/gitparse.h"
#include "restore/git/libgit.h"

struct gitwalk;

struct gitwalk_sum {
	uint64_t commits, objects, bytes;
};

struct gitwalk *gitwalk_new(const struct libgit *git, git_odb *from,
			    git_odb *to);
void gitwalk_free(struct gitwalk **w);

void gitwalk_add(struct gitwalk *w, const struct gitid *id);
/* Marks all that this object of the other repository refers to as reached. */
int gitwalk_reach(struct gitwalk *w, const struct gitid *id, struct err *err);

/*
 * -EBADMSG: an object is damaged or not what git makes, and which; -ENODATA:
 * one is in neither repository; -E2BIG: too much.
 */
int gitwalk_go(struct gitwalk *w, struct err *err);

/* Another of the objects that were seen refers to it. */
bool gitwalk_is_reached(struct gitwalk *w, const struct gitid *id);
/* Its type as it was found, 0 when it was not seen. */
enum gittype gitwalk_type(struct gitwalk *w, const struct gitid *id);
/* What the other one lacks; valid until gitwalk_free(). */
const struct gitid *gitwalk_wanted(const struct gitwalk *w, size_t *ret_count);
const struct gitwalk_sum *gitwalk_sum(const struct gitwalk *w);

/* Whether the repository has it, and of what type; 0 when it has not. */
enum gittype gitwalk_has(const struct libgit *git, git_odb *odb,
			 const struct gitid *id);

#endif
