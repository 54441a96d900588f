#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/text.h"
#include "overlay/whiteout.h"
#include "overlay/scan.h"

#define LEN_MAX 16384

/*
 * Opens path below dir part by part and adds missing permissions. A directory
 * keeps the added bits until the parts below it are open.
 */
static int open_by_components(int dir, const char *path, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	size_t len = strcspn(path, "/");
	auto_free char *name = mem_strndup(path, len);
	auto_close int fd = -1;

	if (!path[len])
		return upper_open(dir, name, O_RDONLY, 0400, &opened, err);
	fd = upper_open(dir, name, O_RDONLY | O_DIRECTORY, 0500, &opened, err);
	return fd < 0 ? fd : open_by_components(fd, path + len + 1, err);
}

/* Opens path in a single call when no directory on the way lacks
 * permissions. */
static int open_upper_path(int upper_fd, const char *path, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int at = beneath_open(upper_fd, path, O_PATH, 0, err);
	auto_close int root = -1;

	if (at >= 0)
		return upper_open(at, "", O_RDONLY, 0400, &opened, err);
	if (at != -EACCES)
		return at;
	root = upper_open(upper_fd, "", O_RDONLY | O_DIRECTORY, 0500, &opened,
			  err);
	return root < 0 ? root : open_by_components(root, path, err);
}

int scan_open(int upper_fd, const char *path, struct err *err)
{
	auto_close int fd = -1;
	struct stat st;

	if (!path_ok(path) || !*path || strlen(path) > LEN_MAX)
		return fail(err, EINVAL, "%s is no file of a layer",
			    text_quote(path));
	fd = open_upper_path(upper_fd, path, err);
	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
			    "%s is no file", text_quote(path));
	return TAKE_FD(fd);
}
