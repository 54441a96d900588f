#include "restore/tarfile.h"

#include <errno.h>

#if __has_include(<archive.h>)

#include <archive.h>
#include <archive_entry.h>
#include <locale.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/library.h"
#include "base/text.h"

/* Bytes passed on at once, in complete tar records. */
#define RECORD 10240
#define AT_ONCE (10 * RECORD)

#define CALLS(X)                                                               \
	X(entry_acl_add_entry)                                                 \
	X(entry_free)                                                          \
	X(entry_new)                                                           \
	X(entry_set_gid)                                                       \
	X(entry_set_hardlink)                                                  \
	X(entry_set_mode)                                                      \
	X(entry_set_mtime)                                                     \
	X(entry_set_pathname)                                                  \
	X(entry_set_rdev)                                                      \
	X(entry_set_size)                                                      \
	X(entry_set_symlink)                                                   \
	X(entry_set_uid)                                                       \
	X(entry_sparse_add_entry)                                              \
	X(entry_xattr_add_entry)                                               \
	X(error_string)                                                        \
	X(write_close)                                                         \
	X(write_data)                                                          \
	X(write_fail)                                                          \
	X(write_free)                                                          \
	X(write_header)                                                        \
	X(write_new)                                                           \
	X(write_open)                                                          \
	X(write_set_bytes_in_last_block)                                       \
	X(write_set_bytes_per_block)                                           \
	X(write_set_format_pax)                                                \
	X(write_set_options)

static struct {
#define MEMBER(name) __typeof__(archive_##name) *name;
	CALLS(MEMBER)
#undef MEMBER
} lib;
static struct err failed; /* num 0: loaded */

static void load_libarchive(void)
{
	(void)library_load(LIBRARY_LIBARCHIVE, "archive_", CALLS(LIBRARY_NAME),
			   &lib, &failed);
}

struct tarfile {
	const struct tarfile_sink *sink;
	struct archive *archive;
	locale_t utf8; /* 0: none */
	struct err why; /* the sink's error */
	bool closed;
};

static la_ssize_t write_piece(struct archive *a, void *arg, const void *data,
			      size_t len)
{
	struct tarfile *t = arg;

	(void)a;
	return t->sink->add(t->sink->arg, data, len, &t->why) < 0
		       ? -1
		       : (la_ssize_t)len;
}

static int tar_failed(struct tarfile *t, struct err *err)
{
	const char *why = lib.error_string(t->archive);
	AUTO(buf) struct buf text = {0};

	if (t->why.num) {
		*err = t->why;
		return -err->num;
	}
	if (why)
		text_escape(&text, why, strlen(why), false);
	return fail(err, EIO, "write the archive: %s",
		    text.len ? buf_text(&text)
			     : "libarchive reports no reason");
}

int tarfile_open(const struct tarfile_sink *sink, struct tarfile **ret,
		 struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct tarfile *t;

	(void)pthread_once(&once, load_libarchive);
	if (failed.num) {
		*err = failed;
		return -err->num;
	}
	t = mem_zalloc(sizeof(*t));
	t->sink = sink;
	t->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	t->archive = lib.write_new();
	if (lib.write_set_format_pax(t->archive) != ARCHIVE_OK ||
	    lib.write_set_options(t->archive, "pax:xattrheader=SCHILY") !=
		    ARCHIVE_OK ||
	    lib.write_set_bytes_per_block(t->archive, AT_ONCE) != ARCHIVE_OK ||
	    lib.write_set_bytes_in_last_block(t->archive, RECORD) !=
		    ARCHIVE_OK ||
	    lib.write_open(t->archive, t, NULL, write_piece, NULL) !=
		    ARCHIVE_OK) {
		(void)tar_failed(t, err);
		tarfile_free(&t);
		return -err->num;
	}
	*ret = t;
	return 0;
}

/* --- ACLs: linux/posix_acl_xattr.h --- */

#define ACL_VERSION 2
#define ACL_NO_ID UINT32_MAX

static int acl_tag(unsigned int tag)
{
	switch (tag) {
	case 0x01:
		return ARCHIVE_ENTRY_ACL_USER_OBJ;
	case 0x02:
		return ARCHIVE_ENTRY_ACL_USER;
	case 0x04:
		return ARCHIVE_ENTRY_ACL_GROUP_OBJ;
	case 0x08:
		return ARCHIVE_ENTRY_ACL_GROUP;
	case 0x10:
		return ARCHIVE_ENTRY_ACL_MASK;
	case 0x20:
		return ARCHIVE_ENTRY_ACL_OTHER;
	}
	return 0;
}

/* False: not an ACL, or of another kind. */
static bool add_acl(struct archive_entry *e, const struct xattr *x)
{
	struct dec d;
	int type;

	if (strcmp(x->name, "system.posix_acl_access") == 0)
		type = ARCHIVE_ENTRY_ACL_TYPE_ACCESS;
	else if (strcmp(x->name, "system.posix_acl_default") == 0)
		type = ARCHIVE_ENTRY_ACL_TYPE_DEFAULT;
	else
		return false;
	d = dec_start(x->value, x->len);
	if (dec_u32(&d) != ACL_VERSION)
		return false;
	while (!dec_end(&d)) {
		int tag = acl_tag(dec_u16(&d));
		int may = dec_u16(&d);
		uint32_t id = dec_u32(&d);

		if (d.bad || !tag)
			return false;
		(void)lib.entry_acl_add_entry(
			e, type,
			(may & 4 ? ARCHIVE_ENTRY_ACL_READ : 0) |
				(may & 2 ? ARCHIVE_ENTRY_ACL_WRITE : 0) |
				(may & 1 ? ARCHIVE_ENTRY_ACL_EXECUTE : 0),
			tag, id == ACL_NO_ID ? -1 : (int)id, NULL);
	}
	return true;
}

/* --- entries --- */

static void fill_archive_entry(struct archive_entry *to,
			       const struct tarfile_item *item)
{
	const struct entry *e = item->entry;
	bool file = S_ISREG(e->mode) && !item->same_as;
	size_t i;

	lib.entry_set_pathname(to, *item->path ? item->path : ".");
	lib.entry_set_mode(to, (mode_t)e->mode);
	lib.entry_set_uid(to, e->uid);
	lib.entry_set_gid(to, e->gid);
	/* libarchive writes the fraction of a time before 1970 with the wrong
	 * sign. */
	lib.entry_set_mtime(to, e->mtime.sec,
			    e->mtime.sec < 0 ? 0 : (long)e->mtime.nsec);
	lib.entry_set_size(to, file ? (la_int64_t)e->size : 0);
	if (S_ISCHR(e->mode) || S_ISBLK(e->mode))
		lib.entry_set_rdev(to, (dev_t)e->rdev);
	if (S_ISLNK(e->mode))
		lib.entry_set_symlink(to, e->link);
	if (item->same_as)
		lib.entry_set_hardlink(to, item->same_as);
	if (file && item->sparse)
		for (i = 0; i < item->count; i++)
			lib.entry_sparse_add_entry(
				to, (la_int64_t)item->ranges[i].at,
				(la_int64_t)item->ranges[i].len);
	/* The whole file is a hole. */
	if (file && item->sparse && !item->count)
		lib.entry_sparse_add_entry(to, (la_int64_t)e->size, 0);
	for (i = 0; i < item->attrs->count; i++) {
		const struct xattr *x = &item->attrs->items[i];

		if (!add_acl(to, x))
			lib.entry_xattr_add_entry(to, x->name, x->value,
						  x->len);
	}
}

int tarfile_entry(struct tarfile *t, const struct tarfile_item *item,
		  struct err *err)
{
	struct archive_entry *e = lib.entry_new();
	const char *link = S_ISLNK(item->entry->mode) ? item->entry->link
			   : item->same_as	      ? item->same_as
						      : "";
	locale_t had = (locale_t)0;
	int got;

	fill_archive_entry(e, item);
	/* libarchive reads names in the locale's encoding. */
	if (t->utf8)
		had = uselocale(t->utf8);
	got = lib.write_header(t->archive, e);
	if (t->utf8)
		(void)uselocale(had);
	lib.entry_free(e);
	/* libarchive warns about a name that is not UTF-8 and writes it
	 * unchanged. */
	if (got == ARCHIVE_OK ||
	    (got == ARCHIVE_WARN &&
	     (!text_is_utf8(item->path, strlen(item->path)) ||
	      !text_is_utf8(link, strlen(link)))))
		return 0;
	return tar_failed(t, err);
}

int tarfile_data(struct tarfile *t, const void *data, size_t len,
		 struct err *err)
{
	la_ssize_t done;

	while (len) {
		done = lib.write_data(t->archive, data, len);
		if (done < 0)
			return tar_failed(t, err);
		/* More bytes than the entry's size: libarchive drops the
		 * rest. */
		if (!done)
			return fail(err, EBADMSG,
				    "write the archive: a file has more bytes "
				    "than its size");
		data = (const char *)data + done;
		len -= (size_t)done;
	}
	return 0;
}

int tarfile_close(struct tarfile *t, struct err *err)
{
	t->closed = true;
	return lib.write_close(t->archive) == ARCHIVE_OK ? 0
							 : tar_failed(t, err);
}

void tarfile_free(struct tarfile **pt)
{
	struct tarfile *t = *pt;

	if (!t)
		return;
	/* Otherwise libarchive would write an end that makes the archive look
	 * complete. */
	if (!t->closed)
		(void)lib.write_fail(t->archive);
	(void)lib.write_free(t->archive);
	if (t->utf8)
		freelocale(t->utf8);
	free(t);
	*pt = NULL;
}

#else

int tarfile_open(const struct tarfile_sink *sink, struct tarfile **ret,
		 struct err *err)
{
	(void)sink;
	(void)ret;
	return fail(err, ENOSYS,
		    "guard was built without libarchive: install the header "
		    "files of libarchive and build guard again");
}

int tarfile_entry(struct tarfile *t, const struct tarfile_item *item,
		  struct err *err)
{
	(void)t;
	(void)item;
	return fail(err, ENOSYS, "guard was built without libarchive");
}

int tarfile_data(struct tarfile *t, const void *data, size_t len,
		 struct err *err)
{
	(void)t;
	(void)data;
	(void)len;
	return fail(err, ENOSYS, "guard was built without libarchive");
}

int tarfile_close(struct tarfile *t, struct err *err)
{
	(void)t;
	return fail(err, ENOSYS, "guard was built without libarchive");
}

void tarfile_free(struct tarfile **t)
{
	*t = NULL;
}

#endif
