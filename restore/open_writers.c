#include "restore/open_writers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

#define REMEDY                                                                 \
	"open for writing; end that program, or exclude this path: nothing "   \
	"was changed"

int open_writers_check(int fd, struct err *err)
{
	if (fd < 0 || fd_find_writers(fd) != FD_WRITERS_SOME)
		return 0;
	return fail(err, EBUSY, "another program has it " REMEDY);
}

int open_writers_check_at(int dirfd, const char *name, struct err *err)
{
	auto_close int fd = openat(dirfd, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);

	return open_writers_check(fd, err);
}

int open_writers_check_in(int dir_fd, const struct dirlist *list,
			  const char *path, struct err *err)
{
	struct err ignored;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct dirlist_item *item = &list->items[i];
		auto_free char *own = NULL;

		/* A directory entry of unknown type may be a file. */
		if ((item->type != DT_REG && item->type != DT_UNKNOWN) ||
		    open_writers_check_at(dir_fd, item->name, &ignored) == 0)
			continue;
		own = path_join(path, item->name);
		return fail(err, EBUSY, "another program has %s in it " REMEDY,
			    text_quote(own));
	}
	return 0;
}

static int check_dir_writers(int dir_fd, const char *path, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(dir_fd, &list, err) < 0 ||
	    open_writers_check_in(dir_fd, &list, path, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_free char *own = path_join(path, list.items[i].name);
		auto_close int fd =
			openat(dir_fd, list.items[i].name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		if (fd >= 0 && check_dir_writers(fd, own, err) < 0)
			return -err->num;
	}
	return 0;
}

int open_writers_check_below(int dir_fd, struct err *err)
{
	return check_dir_writers(dir_fd, "", err);
}
