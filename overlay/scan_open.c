/* One file of a layer. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/text.h"
#include "overlay/scan.h"
#include "overlay/scan_range.h"
#include "overlay/whiteout.h"

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

int scan_open(int upper_fd, const char *path, struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	auto_close int fd = -1, root = -1, at = -1;
	struct stat st;

	if (!path_ok(path) || !*path || strlen(path) > SCAN_LEN_MAX)
		return fail(err, EINVAL, "%s is not a file of a layer",
			    text_quote(path));
	/* A single call is enough when no directory on the way lacks
	 * permissions. */
	at = beneath_open(upper_fd, path, O_PATH, 0, err);
	if (at >= 0) {
		fd = upper_open(at, "", O_RDONLY, 0400, &opened, err);
	} else if (at == -EACCES) {
		root = upper_open(upper_fd, "", O_RDONLY | O_DIRECTORY, 0500,
				  &opened, err);
		if (root >= 0)
			fd = open_by_components(root, path, err);
	}
	if (fd < 0)
		return -err->num;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return fail(err, S_ISDIR(st.st_mode) ? EISDIR : EINVAL,
			    "%s is not a regular file", text_quote(path));
	return TAKE_FD(fd);
}
