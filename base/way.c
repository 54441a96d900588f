#include "base/way.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/mem.h"
#include "base/path.h"

static void drop_mark(struct way *w)
{
	(void)close(w->marks[--w->count].fd);
}

void way_free(struct way *w)
{
	while (w->count)
		drop_mark(w);
	free(w->marks);
	free(w->path);
	*w = (struct way){.root_fd = -1};
}

/* Marks that are not on the way to path. */
static void turn_back(struct way *w, const char *path)
{
	size_t same = 0;

	while (w->path && w->path[same] && w->path[same] == path[same])
		same++;
	while (w->count && (w->marks[w->count - 1].len > same ||
			    path[w->marks[w->count - 1].len] != '/'))
		drop_mark(w);
}

/* Where the way goes on: the last mark, and what is left of path. */
static int last_mark(const struct way *w, const char **path)
{
	if (!w->count)
		return w->root_fd;
	*path += w->marks[w->count - 1].len + 1;
	return w->marks[w->count - 1].fd;
}

/* One more mark on the way to path. */
static int go_on(struct way *w, const char *path, struct err *err)
{
	const char *rest = path;
	int from = last_mark(w, &rest);
	size_t len = WAY_PIECE;
	auto_free char *piece = NULL;
	int fd;

	while (rest[len] != '/')
		len--;
	piece = mem_strndup(rest, len);
	fd = beneath_open(from, piece, O_PATH | O_DIRECTORY, 0, err);
	if (fd < 0)
		return fd;
	GROW(w->marks, w->count, w->room);
	w->marks[w->count++] = (struct way_mark){
		.fd = fd,
		.len = (size_t)(rest - path) + len,
	};
	return 0;
}

int way_open(struct way *w, const char *path, int flags, struct err *err)
{
	const char *rest = path;
	struct err odd;
	int fd = w->root_fd;

	if (!w->count && strlen(path) <= 2 * WAY_PIECE)
		return beneath_open(w->root_fd, path, flags, 0, err);
	turn_back(w, path);
	free(w->path);
	w->path = mem_strdup(path);
	while (fd >= 0) {
		rest = path;
		fd = last_mark(w, &rest);
		if (strlen(rest) <= 2 * WAY_PIECE)
			break;
		fd = path_ok(path) ? go_on(w, path, &odd) : -1;
	}
	if (fd >= 0)
		fd = beneath_open(fd, rest, flags, 0, &odd);
	/* Once more from the root: the error names all of the path. */
	return fd >= 0 ? fd : beneath_open(w->root_fd, path, flags, 0, err);
}

int way_parent(struct way *w, const char *path, const char **ret_name,
	       struct err *err)
{
	auto_free char *parent = path_parent(path);
	int fd;

	if (!*path)
		return beneath_parent(w->root_fd, path, ret_name, err);
	fd = way_open(w, parent, O_PATH | O_DIRECTORY, err);
	if (fd >= 0)
		*ret_name = path_name(path);
	return fd;
}
