/*
 * Which folders of the real machine a run sees through a layer, and their
 * mounts.
 *
 * Two of the three steps are taken in the run's child, because a descriptor
 * from another mount namespace cannot be mounted and an overlay covers what
 * lies below it:
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
 * A layer for nothing, below an empty folder, and a file written through it.
 * In a process with a mount namespace of its own, which is left as it is; the
 * caller removes what is in the folder.
 */
int layers_probe(const char *dir_path, struct err *err);

/* In the session's record: the start of the machine in which it was made. After
 * another one a folder may have another device's number. */
#define LAYERS_BOOT "boot"

/* In the session's record, once a mount below the project: it is seen as it
 * is, read-only. All others are session.roots. */
#define LAYERS_UNCOVERED "uncovered"

/*
 * In the session's record, once a folder: nothing in it has another group of
 * the user's than the one that the run gets, so it is not looked through.
 */
#define LAYERS_ONE_GROUP "one-group"

/* A file system that belongs to the kernel itself, as /proc: no layer can lie
 * over it, and no run shall see it. */
bool layers_is_special(int fd);

/*
 * Prepares the uppers (root's mode, owner, xattrs, times; fresh work folders;
 * entries of groups that the run cannot map). A folder with mounts below is put
 * together of its parts (patchwork.h); -EXDEV: a mount in the project came
 * after the session was made. home NULL: not covered. What the user should
 * know is added to notes, a line each.
 */
int layers_plan(const struct session *s, const char *home, struct layers **ret,
		struct buf *notes, struct err *err);

/* Whether a folder is put together of parts: files of one folder are on
 * several file systems then, as the run sees it. */
bool layers_are_split(const struct layers *l);

/* After the run, by who has its lock, or of one that was interrupted: gives
 * layers that were put together the look of any other. */
int layers_finalize(const struct session *s, struct err *err);

/* Opens every lower, upper and work again and compares (device, inode). */
int layers_open(struct layers *l, struct err *err);

/*
 * Mounts each overlay (nosuid, nodev; userxattr) on its path below root_fd
 * (the new root, a mount of our own). Mount points that are missing there
 * because a private folder hides them are made.
 */
int layers_mount(struct layers *l, int root_fd, struct err *err);

#endif
