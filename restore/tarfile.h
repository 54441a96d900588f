/*
 * A tar archive in the pax interchange format (POSIX.1-2017, pax), written by
 * libarchive, piece by piece: sparse files in GNU's form 1.0, extended
 * attributes as SCHILY.xattr.NAME, ACLs as SCHILY.acl.access and .default, all
 * of which GNU tar and bsdtar read. Names are bytes; only one that is no UTF-8
 * is marked as such (hdrcharset=BINARY), for which GNU tar has a warning.
 *
 *	tarfile_open *( tarfile_entry *tarfile_data ) tarfile_close
 *
 * libarchive is loaded when it is first needed, as libgit2 is and for the same
 * reason (restore/git/libgit.h). Where guard was built without its header,
 * tarfile_open() fails.
 */
#ifndef GUARD_RESTORE_TARFILE_H
#define GUARD_RESTORE_TARFILE_H

#include "snapshot/tree/entry.h"

struct tarfile;

struct tarfile_sink {
	/* The next bytes of the archive. */
	int (*add)(void *arg, const void *data, size_t len, struct err *err);
	void *arg;
};

struct tarfile_range {
	uint64_t at, len;
};

struct tarfile_item {
	const char *path; /* "" for the root, written as "./" */
	const struct entry *entry; /* no socket */
	const struct xattrs *attrs;
	const char *same_as; /* path of its first name, or NULL */
	/* Of a sparse file: where it has data, in order. */
	const struct tarfile_range *ranges;
	size_t count;
	bool sparse;
};

/* The sink must live as long. -ENOENT: libarchive cannot be loaded; -ENOSYS:
 * guard was built without it. */
int tarfile_open(const struct tarfile_sink *sink, struct tarfile **ret,
		 struct err *err);
/* Errors of the sink come back as they are. */
int tarfile_entry(struct tarfile *t, const struct tarfile_item *item,
		  struct err *err);
/* The next bytes of a regular file that is no second name: all of them in the
 * end, holes as zeros. */
int tarfile_data(struct tarfile *t, const void *data, size_t len,
		 struct err *err);
/* The end of the archive; without it, it is worth nothing. */
int tarfile_close(struct tarfile *t, struct err *err);
void tarfile_free(struct tarfile **t);

#endif
