#include "overlay/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/text.h"
#include "overlay/scan.h"

#define OPAQUE LAYER_XATTR_PREFIX "opaque"

bool mark_is_whiteout(const struct meta *m)
{
	return S_ISCHR(m->mode) && m->rdev == 0;
}

int mark_whiteout(int dirfd, const char *name, struct err *err)
{
	if (mknodat(dirfd, name, S_IFCHR, makedev(0, 0)) < 0)
		return fail_errno(err, "mark %s as deleted", text_quote(name));
	return 0;
}

int mark_is_opaque(int dir_fd, struct err *err)
{
	char value[4];
	ssize_t len = fgetxattr(dir_fd, OPAQUE, value, sizeof(value));

	if (len < 0 && errno != ENODATA && errno != ENOTSUP && errno != ERANGE)
		return fail_errno(err, "read the layer's mark");
	return len == 1 && value[0] == 'y';
}

int mark_set_opaque(int dir_fd, bool on, struct err *err)
{
	int got = on ? fsetxattr(dir_fd, OPAQUE, "y", 1, 0)
		     : fremovexattr(dir_fd, OPAQUE);

	if (got < 0 && (on || errno != ENODATA))
		return fail_errno(err, "write the layer's mark");
	return 0;
}

/* "" is dirfd itself: opening "." in it would need the right to search. */
static int path_of(int dirfd, const char *name, struct err *err)
{
	int fd;

	if (*name)
		return beneath_open(dirfd, name, O_PATH, 0, err);
	fd = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? fail_errno(err, "open the layer's folder") : fd;
}

/* A folder that nothing stands in the way of, as nearly all are; -1: look what
 * it is first. */
static int open_at_once(int dirfd, const char *name, int flags, uint32_t want)
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

int mark_open(int dirfd, const char *name, int flags, uint32_t want,
	      struct temp_chmod *ret, struct err *err)
{
	int fd = open_at_once(dirfd, name, flags, want);
	auto_close int path_fd = -1;
	struct meta m;
	bool lacks;

	*ret = (struct temp_chmod){.fd = -1};
	if (fd >= 0)
		return fd;
	path_fd = path_of(dirfd, name, err);
	if (path_fd < 0)
		return path_fd;
	if (meta_get(path_fd, "", &m) < 0)
		return fail_errno(err, "%s", text_quote(name));
	if (!S_ISDIR(m.mode) && !S_ISREG(m.mode))
		return fail(err, EINVAL, "%s is neither a file nor a folder",
			    text_quote(name));
	/* A folder that may be listed but not searched opens well and then
	 * gives nothing: look at its mode as well. */
	lacks = S_ISDIR(m.mode) && geteuid() != 0 && (m.mode & want) != want;
	flags |= O_NONBLOCK | O_NOCTTY;
	fd = lacks ? -1 : fd_reopen(path_fd, flags);
	if (fd >= 0)
		return fd;
	fd = lacks || errno == EACCES
		     ? temp_chmod_open(path_fd, flags, want, ret, err)
		     : fail_errno(err, "open");
	return fd < 0 && *name ? err_context(err, "%s", text_quote(name)) : fd;
}
