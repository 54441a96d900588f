#include "restore/path_cursor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/path.h"

static void close_last_dir(struct path_cursor *w)
{
	(void)close(w->dirs.items[--w->dirs.count].fd);
}

void path_cursor_free(struct path_cursor *w)
{
	while (w->dirs.count)
		close_last_dir(w);
	VEC_FREE(&w->dirs);
	free(w->path);
	*w = (struct path_cursor){.root_fd = -1};
}

/* Returns the deepest open directory and moves *path behind its path. */
static int find_last_dir(const struct path_cursor *w, const char **path)
{
	if (!w->dirs.count)
		return w->root_fd;
	*path += w->dirs.items[w->dirs.count - 1].len + 1;
	return w->dirs.items[w->dirs.count - 1].fd;
}

/* Opens one more directory on the way to path. */
static int open_next_dir(struct path_cursor *w, const char *path,
			 struct err *err)
{
	const char *rest = path;
	int from = find_last_dir(w, &rest);
	size_t len = PATH_CURSOR_PIECE;
	auto_free char *piece = NULL;
	int fd;

	while (rest[len] != '/')
		len--;
	piece = mem_strndup(rest, len);
	fd = beneath_open(from, piece, O_PATH | O_DIRECTORY, 0, err);
	if (fd < 0)
		return fd;
	*VEC_ADD(&w->dirs) = (struct path_cursor_dir){
		.fd = fd,
		.len = (size_t)(rest - path) + len,
	};
	return 0;
}

int path_cursor_open(struct path_cursor *w, const char *path, int flags,
		     struct err *err)
{
	const char *rest = path;
	struct err cause;
	size_t same = 0;
	int fd = w->root_fd;

	if (!w->dirs.count && strlen(path) <= 2 * PATH_CURSOR_PIECE)
		return beneath_open(w->root_fd, path, flags, 0, err);
	/* Closes the directories that are not on the way to path. */
	while (w->path && w->path[same] && w->path[same] == path[same])
		same++;
	while (w->dirs.count &&
	       (w->dirs.items[w->dirs.count - 1].len > same ||
		path[w->dirs.items[w->dirs.count - 1].len] != '/'))
		close_last_dir(w);
	free(w->path);
	w->path = mem_strdup(path);
	while (fd >= 0) {
		rest = path;
		fd = find_last_dir(w, &rest);
		if (strlen(rest) <= 2 * PATH_CURSOR_PIECE)
			break;
		fd = path_ok(path) ? open_next_dir(w, path, &cause) : -1;
	}
	if (fd >= 0)
		fd = beneath_open(fd, rest, flags, 0, &cause);
	/* A second call from the root gives an error that names the whole path.
	 */
	return fd >= 0 ? fd : beneath_open(w->root_fd, path, flags, 0, err);
}

int path_cursor_parent(struct path_cursor *w, const char *path,
		       const char **ret_name, struct err *err)
{
	auto_free char *parent = path_parent(path);
	int fd;

	if (!*path)
		return beneath_parent(w->root_fd, path, ret_name, err);
	fd = path_cursor_open(w, parent, O_PATH | O_DIRECTORY, err);
	if (fd >= 0)
		*ret_name = path_name(path);
	return fd;
}
