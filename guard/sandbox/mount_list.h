/*
 * The mounts of a run as a list, in their order: the run's own directories,
 * the layers, then masks and grants, parents first, so that the deeper path
 * wins; on the same path the grant wins. pid 1 makes the list before any mount,
 * while no path is covered, and mounts it (mounts.c). `guard explain` makes the
 * same list and reads from it what a run would see (explain.c).
 */
#ifndef GUARD_SANDBOX_MOUNT_LIST_H
#define GUARD_SANDBOX_MOUNT_LIST_H

#include "guard/sandbox/setup.h"

/* Fills s->mounts from s->policy and s->sockets: opens the granted paths and
 * finds the masked ones, each under all its mount points. Errors: -ESTALE for a
 * grant that was replaced, -EPERM for one of policy->never_granted. */
int mount_list_make(struct setup *s, struct err *err);
void mount_list_free(struct setup *s);

/* Appends an entry, which then owns path. The pointer is valid until the next
 * call. */
struct mount_entry *mount_list_add(struct setup *s, enum visibility sight,
				   char *path);

/* The directory around path, or path itself, that is private in every run,
 * static; NULL: none. */
const char *mount_list_private_dir(const char *path);

#endif
