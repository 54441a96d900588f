/*
 * The exchange of a staged file with the file of a project, and the steps that
 * take its place on file systems without RENAME_EXCHANGE (NFS, 9p, most of
 * FUSE): the old file gets a second name in the staging directory, the staged
 * file is renamed over it, and the second name is renamed to that of the staged
 * file. The path has one of the two files at any time. Without hard links (FAT,
 * sshfs) the old file is moved away first, so that the path is free for a
 * moment.
 *
 * Limit: a file that another process renames to the path between two of these
 * calls is replaced without a comparison.
 */
#ifndef GUARD_RESTORE_EXCHANGE_H
#define GUARD_RESTORE_EXCHANGE_H

#include <stdbool.h>

#define EXCHANGE_NAME_LEN 40

/* Afterwards `name` in dir is the staged file, and `staged` the earlier one.
 * Returns 0, or -1 with errno (ENOENT: there was no such name); the exchange
 * may be half done then. */
int exchange_files(int staging_fd, const char *staged, int dir,
		   const char *name);

/* The second name of the earlier file during these steps. Returns `to`. */
const char *exchange_aside(const char *staged, char to[EXCHANGE_NAME_LEN]);
/* Ends an exchange of which the second name is left: completes it if the new
 * file has the path, else restores the earlier file. Returns 0, or -1 with
 * errno (EEXIST: another entry has the path, the second name is left). */
int exchange_finish(int staging_fd, const char *staged, int dir,
		    const char *name);

#endif
