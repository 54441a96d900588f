/*
 * Where upper_discard() keeps what it took out of a layer, for whoever puts it
 * back. In the trash, with the name that the caller gave it:
 *
 *	NAME		what the layer had at the path: a file, a folder, the
 *			mark that it is deleted
 *	NAME-at-N	... at the first N parts of the path, which were deleted
 *			as a whole: that mark. A folder is there as long as it
 *			has not changed places with it
 *	NAME, NAME-root	of the path "": all that the layer had, in a folder;
 *			and an empty one with what the run made of the root
 */
#ifndef GUARD_OVERLAY_UPPER_DISCARD_TRASH_H
#define GUARD_OVERLAY_UPPER_DISCARD_TRASH_H

#define UPPER_DISCARD_ROOT "-root"

/* "NAME-at-N"; to free. */
char *upper_discard_trash_name(const char *name, unsigned int depth);

#endif
