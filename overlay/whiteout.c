#include "overlay/whiteout.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/text.h"

#define OPAQUE LAYER_XATTR_PREFIX "opaque"

bool whiteout_is(const struct meta *m)
{
	return S_ISCHR(m->mode) && m->rdev == 0;
}

int whiteout_create(int dirfd, const char *name, struct err *err)
{
	if (mknodat(dirfd, name, S_IFCHR, makedev(0, 0)) < 0)
		return fail_errno(err, "mark %s as deleted", text_quote(name));
	return 0;
}

int opaque_is_set(int dir_fd, struct err *err)
{
	char value[4];
	ssize_t len = fgetxattr(dir_fd, OPAQUE, value, sizeof(value));

	if (len < 0 && errno != ENODATA && errno != ENOTSUP && errno != ERANGE)
		return fail_errno(err, "read the layer's xattr");
	return len == 1 && value[0] == 'y';
}

int opaque_set(int dir_fd, bool on, struct err *err)
{
	int got = on ? fsetxattr(dir_fd, OPAQUE, "y", 1, 0)
		     : fremovexattr(dir_fd, OPAQUE);

	if (got < 0 && (on || errno != ENODATA))
		return fail_errno(err, "write the layer's xattr");
	return 0;
}

/* Opens a directory with sufficient permissions, as nearly all have. -1: the
 * caller must inspect the entry first. */
static int open_without_chmod(int dirfd, const char *name, int flags,
			      uint32_t want)
{
	auto_close int fd = -1;
	struct err ignored;
	struct meta m;

	if (!*name || !(flags & O_DIRECTORY))
		return -1;
	fd = beneath_open(dirfd, name, flags | O_NONBLOCK, 0, &ignored);
	if (fd < 0 || geteuid() == 0)
		return TAKE_FD(fd);
	if (meta_get(fd, "", &m) < 0 || (m.mode & want) != want)
		return -1;
	return TAKE_FD(fd);
}

int upper_open(int dirfd, const char *name, int flags, uint32_t want,
	       struct temp_chmod *ret, struct err *err)
{
	int fd = open_without_chmod(dirfd, name, flags, want);
	auto_close int path_fd = -1;
	struct meta m;
	bool needs_chmod;

	*ret = (struct temp_chmod){.fd = -1};
	if (fd >= 0)
		return fd;
	/* "" is dirfd itself: opening "." would need search permission. */
	path_fd = *name ? beneath_open(dirfd, name, O_PATH, 0, err)
			: fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	if (path_fd < 0)
		return *name ? path_fd
			     : fail_errno(err, "open the layer's directory");
	if (meta_get(path_fd, "", &m) < 0)
		return fail_errno(err, "%s", text_quote(name));
	if (!S_ISDIR(m.mode) && !S_ISREG(m.mode))
		return fail(err, EINVAL, "%s is neither a file nor a directory",
			    text_quote(name));
	/* A directory with r but without x can be opened, but its entries
	 * cannot be read. So the mode counts as well. */
	needs_chmod =
		S_ISDIR(m.mode) && geteuid() != 0 && (m.mode & want) != want;
	flags |= O_NONBLOCK | O_NOCTTY;
	fd = needs_chmod ? -1 : fd_reopen(path_fd, flags);
	if (fd >= 0)
		return fd;
	fd = needs_chmod || errno == EACCES
		     ? temp_chmod_open(path_fd, flags, want, ret, err)
		     : fail_errno(err, "open");
	return fd < 0 && *name ? err_context(err, "%s", text_quote(name)) : fd;
}
