/*
 * Writer of tar archives in the pax interchange format (POSIX.1-2017, pax), by
 * libarchive and as a stream: sparse files in GNU format 1.0, extended
 * attributes as SCHILY.xattr.NAME, ACLs as SCHILY.acl.access and .default, all
 * of which GNU tar and bsdtar read. Names are bytes. A name that is not UTF-8
 * is marked (hdrcharset=BINARY), for which GNU tar prints a warning.
 *
 *	tarfile_open *( tarfile_entry *tarfile_data ) tarfile_close
 *
 * libarchive is loaded at the first use, as libgit2 is and for the same reason
 * (restore/git/libgit.h). Without libarchive's header at build time
 * tarfile_open() always fails.
 */
#ifndef GUARD_RESTORE_TARFILE_H
#define GUARD_RESTORE_TARFILE_H

#include "snapshot/tree/entry.h"

struct tarfile;

struct tarfile_sink {
	/* Receives the next bytes of the archive. */
	int (*add)(void *arg, const void *data, size_t len, struct err *err);
	void *arg;
};

struct tarfile_range {
	uint64_t at, len;
};

struct tarfile_item {
	const char *path; /* "" for the root, which is written as "./" */
	const struct entry *entry; /* no socket */
	const struct xattrs *attrs;
	const char *same_as; /* path of the group's first hard link, or NULL */
	/* Data ranges of a sparse file, ascending. */
	const struct tarfile_range *ranges;
	size_t count;
	bool sparse;
};

/* Starts an archive; the sink must outlive it. -ENOPKG: libarchive cannot be
 * loaded; -ENOSYS: guard was built without it. */
int tarfile_open(const struct tarfile_sink *sink, struct tarfile **ret,
		 struct err *err);
/* Writes the header of an entry. Errors of the sink are returned unchanged. */
int tarfile_entry(struct tarfile *t, const struct tarfile_item *item,
		  struct err *err);
/* Writes the next bytes of a regular file that is not a later hard link. The
 * caller passes the complete file, holes as zeros. */
int tarfile_data(struct tarfile *t, const void *data, size_t len,
		 struct err *err);
/* Writes the end of the archive. Without it the archive is invalid. */
int tarfile_close(struct tarfile *t, struct err *err);
/* Frees the writer; an archive without tarfile_close() has no end. */
void tarfile_free(struct tarfile **t);

#endif
