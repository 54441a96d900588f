/*
 * Which folders of the real machine a run sees through a layer, and their
 * mounts.
 *
 * Two steps in the run's child, because a descriptor from another mount
 * namespace cannot be mounted and an overlay covers what lies below it:
 *
 *	layers_plan()	parent: what is covered; prepares upper and work
 *	layers_open()	child, in its own mount namespace, nothing mounted yet
 *	layers_mount()	child, onto the new root
 *
 * The lower is the real folder and is never written. Layers are named to the
 * kernel as /proc/self/fd/N, so any path works. Kernel errors are told in
 * terms of what the user can do.
 */
#ifndef GUARD_OVERLAY_LAYERS_H
#define GUARD_OVERLAY_LAYERS_H

#include <stdbool.h>

#include "overlay/session.h"

struct layers;

/* In the session's record: the repository of a project that has it elsewhere
 * (gitdir.h). It gets a layer of its own, git-upper. */
#define LAYERS_GIT "git-folder"

void layers_free(struct layers **l);

/* Whether the file system of the folder with all runs can hold an upper:
 * before one is made. -EOPNOTSUPP with the way out. */
int layers_check_state(int runs_fd, struct err *err);

/*
 * Checks that the project can be a lower and has no mounts inside (-EXDEV,
 * names them), prepares the uppers
 * (root's mode, owner, xattrs, times; fresh work folders; entries of groups
 * that the run cannot map). home NULL or with mounts below: not covered, a
 * line of explanation is added to notes.
 */
int layers_plan(const struct session *s, const char *home, struct layers **ret,
		struct buf *notes, struct err *err);

/* Whether the home folder has a layer of its own. */
bool layers_cover_home(const struct layers *l);

/* Opens every lower, upper and work again and compares (device, inode). */
int layers_open(struct layers *l, struct err *err);

/*
 * Mounts each overlay (nosuid, nodev; userxattr) on its path below root_fd
 * (the new root, a mount of our own). Mount points that are missing there
 * because a private folder hides them are made.
 */
int layers_mount(struct layers *l, int root_fd, struct err *err);

#endif
