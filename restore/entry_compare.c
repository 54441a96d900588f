#include "restore/entry_compare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/chattr.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "restore/unreadable_dirs.h"
#include "restore/open_writers.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/tree.h"

/* The wanted attributes and those of the file. */
static int load_attrs(struct store *store, int fd, const struct entry *e,
		      struct xattrs *want, struct xattrs *have, struct err *err)
{
	return attrset_load(store, &e->attrs, want, err) < 0
		       ? -err->num
		       : xattrs_get(fd, "", have, err);
}

int entry_compare_attrs(struct store *store, int fd, const struct entry *e,
			struct err *err)
{
	AUTO(xattrs) struct xattrs want = {0}, have = {0};
	int got = load_attrs(store, fd, e, &want, &have, err);

	return got < 0 ? got : xattrs_equal(&want, &have);
}

static int same_disk_link(int dirfd, const char *name, const struct entry *e)
{
	size_t len = e->link ? strlen(e->link) : 0;
	auto_free char *text = mem_alloc(len + 2);
	ssize_t got = readlinkat(dirfd, name, text, len + 2);

	return got == (ssize_t)len && e->link &&
	       memcmp(text, e->link, len) == 0;
}

static int open_entry_bytes(int dirfd, const char *name)
{
	return openat(dirfd, name,
		      O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			      O_CLOEXEC);
}

static int same_disk_bytes(const struct entry_compare *o, int dirfd,
			   const char *name, const struct entry *e,
			   struct err *err)
{
	auto_close int fd = -1;
	struct meta m;

	if (e->content.type == OBJECT_NONE)
		return e->size == 0;
	fd = open_entry_bytes(dirfd, name);
	/* A file that its owner may not read is unchanged as long as its size
	 * and mtime are unchanged. */
	if (fd < 0 && errno == EACCES)
		return meta_get(dirfd, name, &m) == 0 && m.uid == geteuid() &&
		       m.size == e->size &&
		       timestamp_compare(m.mtime, e->mtime) == 0;
	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(name));
	return content_equal(o->store, &e->content, fd, o->watch, err);
}

static bool same_stat_fields(const struct meta *m, const struct entry *e,
			     uint32_t ignored_bits)
{
	if ((m->mode | ignored_bits) != (e->mode | ignored_bits) ||
	    m->uid != e->uid || m->gid != e->gid)
		return false;
	if (S_ISREG(m->mode) && m->size != e->size)
		return false;
	return !(S_ISCHR(m->mode) || S_ISBLK(m->mode)) || m->rdev == e->rdev;
}

bool entry_compare_unmodified(const struct meta *m, const struct entry *e,
			      struct timestamp unmodified_since)
{
	return S_ISREG(m->mode) && m->size == e->size &&
	       timestamp_compare(m->ctime, unmodified_since) < 0 &&
	       timestamp_compare(m->mtime, unmodified_since) < 0 &&
	       timestamp_compare(m->mtime, e->mtime) == 0;
}

static int same_disk_dir(const struct entry_compare *o, int dirfd,
			 const char *name, const char *path,
			 const struct entry *e, struct err *err);

/* above: path of the parent below the top; NULL: this is the top. */
static int same_disk_entry(const struct entry_compare *o, int dirfd,
			   const char *name, const char *above,
			   const struct entry *e, struct err *err)
{
	uint32_t ignored_bits = !above && S_ISDIR(e->mode) ? S_IWUSR : 0;
	auto_close int fd = -1;
	bool opened;
	struct meta m;
	int got;

	/* One descriptor is enough for the comparison of a file alone. Another
	 * entry than a regular file is not opened for it. */
	if (!above && S_ISREG(e->mode) && e->size &&
	    meta_get(dirfd, name, &m) == 0 && S_ISREG(m.mode))
		fd = open_entry_bytes(dirfd, name);
	opened = fd >= 0;
	if (!opened)
		fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : fail_errno(err, "open %s", text_quote(name));
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "%s", text_quote(name));
	if (!same_stat_fields(&m, e, ignored_bits))
		return 0;
	if (S_ISLNK(m.mode))
		return same_disk_link(dirfd, name, e);
	if (above && entry_compare_unmodified(&m, e, o->unmodified_since))
		return 1;
	got = entry_compare_attrs(o->store, fd, e, err);
	if (got <= 0)
		return got;
	if (opened)
		return o->unmodified_ino && m.ino == o->unmodified_ino &&
				       timestamp_compare(m.mtime, e->mtime) == 0
			       ? 1
			       : content_equal(o->store, &e->content, fd,
					       o->watch, err);
	if (S_ISDIR(m.mode)) {
		auto_free char *path =
			above ? path_join(above, name) : mem_strdup("");

		return same_disk_dir(o, dirfd, name, path, e, err);
	}
	return S_ISREG(m.mode) ? same_disk_bytes(o, dirfd, name, e, err) : 1;
}

static int same_disk_dir(const struct entry_compare *o, int dirfd,
			 const char *name, const char *path,
			 const struct entry *e, struct err *err)
{
	auto_free char *own = mem_strdup(name);
	char *const paths[] = {own, NULL};
	AUTO(unreadable_dirs)
	struct unreadable_dirs opened = UNREADABLE_DIRS_NONE;
	AUTO(tree) struct tree tree = {0};
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = -1;
	size_t i;

	if (unreadable_dirs_match(e->mode) &&
	    unreadable_dirs_open(dirfd, paths, o->workspace_fd, &opened, err) <
		    0)
		return -err->num;
	fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(name));
	if (tree_load(o->store, &e->content, &tree, err) < 0 ||
	    dirlist_read(fd, &list, err) < 0)
		return -err->num;
	if (tree.count != list.count)
		return 0;
	/* Checked before the first comparison, because a later write would go
	 * unnoticed. */
	if (o->no_writers && open_writers_check_in(fd, &list, path, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const struct entry *child =
			tree_find(&tree, list.items[i].name);
		int got;

		if (!child)
			return 0;
		got = same_disk_entry(o, fd, list.items[i].name, path, child,
				      err);
		if (got <= 0)
			return got;
	}
	return 1;
}

int entry_compare_equal(const struct entry_compare *o, int dirfd,
			const char *name, const struct entry *e,
			struct err *err)
{
	return same_disk_entry(o, dirfd, name, NULL, e, err);
}

int entry_compare_content(struct store *store, int dirfd, const char *name,
			  const struct entry *e, struct err *err)
{
	const struct entry_compare o = {.store = store};
	struct meta m;

	if (meta_get(dirfd, name, &m) < 0)
		return fail_errno(err, "%s", text_quote(name));
	if ((m.mode & S_IFMT) != (e->mode & S_IFMT) ||
	    (S_ISREG(m.mode) && m.size != e->size))
		return 0;
	if (S_ISLNK(m.mode))
		return same_disk_link(dirfd, name, e);
	return S_ISREG(m.mode) ? same_disk_bytes(&o, dirfd, name, e, err) : 1;
}

static int change_mode(int fd, uint32_t mode)
{
	if (fchmod(fd, mode & 07777) == 0)
		return 0;
	return errno == EBADF ? fd_chmod(fd, mode) : -1;
}

uint32_t entry_apply_owner(const struct entry *e)
{
	uid_t self = geteuid();

	return self ? self : e->uid;
}

/* 1: the owner was changed, which may have changed the mode as well. */
static int set_entry_owner(int fd, const struct meta *m, const struct entry *e,
			   struct err *err)
{
	if (m->uid == e->uid && m->gid == e->gid)
		return 0;
	if (fchownat(fd, "", e->uid, e->gid, AT_EMPTY_PATH) == 0)
		return 1;
	if (geteuid() == 0 || errno != EPERM)
		return fail_errno(err, "set the owner");
	if (m->gid != e->gid)
		(void)!fchownat(fd, "", (uid_t)-1, e->gid, AT_EMPTY_PATH);
	return 1;
}

/* 1: the xattrs were changed, as above. */
static int set_entry_attrs(struct store *store, int fd, const struct meta *m,
			   const struct entry *e, struct err *err)
{
	AUTO(xattrs) struct xattrs want = {0}, have = {0};

	if (load_attrs(store, fd, e, &want, &have, err) < 0)
		return -err->num;
	if (xattrs_equal(&want, &have))
		return 0;
	/* Setting user xattrs requires write permission. */
	if (!S_ISLNK(m->mode) && !(m->mode & S_IWUSR) &&
	    change_mode(fd, m->mode | S_IWUSR) < 0)
		return fail_errno(err, "set the mode");
	if (geteuid() != 0) {
		size_t i;

		(void)xattrs_remove_prefix(&want, "trusted.");
		(void)xattrs_remove_prefix(&want, "security.");
		for (i = 0; i < have.count; i++)
			if (strncmp(have.items[i].name, "security.", 9) == 0)
				xattrs_add(&want, have.items[i].name,
					   have.items[i].value,
					   have.items[i].len);
	}
	return xattrs_set(fd, &want, err) < 0 ? -err->num : 1;
}

/* Whether the call failed because the file belongs to another user, whose mtime
 * is left unchanged. */
static bool is_other_owners_time(int num, const struct meta *m)
{
	return num == EPERM && geteuid() != 0 && m->uid != geteuid();
}

int entry_apply_time(int fd, struct timestamp mtime, struct err *err)
{
	struct meta m;

	/* Entries were just created or removed in it, so the mtime differs. */
	if (meta_set_time(fd, "", mtime) == 0)
		return 0;
	(void)fail_errno(err, "set the time");
	/* In a read-only directory no entry was created or removed. */
	if (meta_get(fd, "", &m) < 0)
		return -err->num;
	return is_other_owners_time(err->num, &m) ||
			       timestamp_compare(m.mtime, mtime) == 0
		       ? 0
		       : -err->num;
}

void entry_apply_chattr(int fd, uint32_t mask, uint32_t chattr)
{
	auto_close int again =
		fd_reopen(fd, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	uint32_t bit;

	if (again < 0 || chattr_write(again, mask, chattr) == 0)
		return;
	/* A flag that this file system lacks must not prevent the others. */
	for (bit = 1; bit; bit <<= 1)
		if (mask & bit)
			(void)chattr_write(again, bit, chattr);
}

int entry_apply_meta(struct store *store, int fd, const struct entry *e,
		     struct err *err)
{
	struct meta m;
	int owner, attrs;

	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "read metadata");
	owner = set_entry_owner(fd, &m, e, err);
	attrs = owner < 0 ? owner : set_entry_attrs(store, fd, &m, e, err);
	if (attrs < 0)
		return attrs;
	/* A change of owner or of an ACL changes the mode as well. */
	if ((owner || attrs) && meta_get(fd, "", &m) < 0)
		return fail_errno(err, "read metadata");
	if (e->chattr & ~(uint32_t)CHATTR_FIXED)
		entry_apply_chattr(fd, CHATTR_STORED & ~CHATTR_FIXED,
				   e->chattr);
	if (!S_ISLNK(e->mode) && m.mode != e->mode &&
	    change_mode(fd, e->mode) < 0)
		return fail_errno(err, "set the mode");
	if (timestamp_compare(m.mtime, e->mtime) == 0 ||
	    meta_set_time(fd, "", e->mtime) == 0 ||
	    is_other_owners_time(errno, &m))
		return 0;
	return fail_errno(err, "set the time");
}
