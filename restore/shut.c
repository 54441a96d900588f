#include "restore/shut.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/text.h"

bool shut_is(uint32_t mode)
{
	return geteuid() != 0 && S_ISDIR(mode) &&
	       (mode & (S_IRUSR | S_IXUSR)) != (S_IRUSR | S_IXUSR);
}

static int set_mode(int fd, uint32_t mode)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return chmod(path, mode & 07777);
}

void shut_free(struct shut *s)
{
	while (s->count) {
		struct shut_folder *f = &s->items[--s->count];

		(void)set_mode(f->fd, f->mode);
		(void)close(f->fd);
	}
	free(s->items);
	*s = (struct shut){0};
}

static int open_one(struct shut *s, int root_fd, const char *path,
		    struct err *err)
{
	auto_close int fd = beneath_open(root_fd, path, O_PATH, 0, err);
	struct meta m;

	/* What is not there, or no folder any more, is for others to tell. */
	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "look at %s", text_quote(path));
	if (!shut_is(m.mode) || m.uid != geteuid())
		return 0;
	if (set_mode(fd, m.mode | S_IRWXU) < 0)
		return fail_errno(err, "open the folder %s", text_quote(path));
	GROW(s->items, s->count, s->room);
	s->items[s->count++] = (struct shut_folder){path, TAKE_FD(fd), m.mode};
	return 0;
}

int shut_open(int root_fd, char *const *paths, struct shut *ret,
	      struct err *err)
{
	AUTO(shut) struct shut s = {0};

	for (; paths && *paths; paths++)
		if (open_one(&s, root_fd, *paths, err) < 0)
			return -err->num;
	*ret = s;
	s = (struct shut){0};
	return 0;
}

uint32_t shut_mode(const struct shut *s, const char *path, uint32_t mode)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		if (strcmp(s->items[i].path, path) == 0)
			return s->items[i].mode;
	return mode;
}

int shut_correct(const struct shut *s, struct store *store, struct entry *root,
		 struct err *err)
{
	struct tree_editor *ed = tree_editor_new(store, root);
	AUTO(entry) struct entry corrected = {0};
	size_t i;
	int got = 0;

	for (i = 0; i < s->count && got >= 0; i++) {
		AUTO(entry) struct entry e = {0};

		got = tree_editor_get(ed, s->items[i].path, &e, err);
		e.mode = s->items[i].mode;
		if (got > 0)
			got = tree_editor_put_folder(ed, s->items[i].path, &e,
						     err);
	}
	if (got >= 0)
		got = tree_editor_save(ed, &corrected, err);
	tree_editor_free(&ed);
	if (got < 0)
		return got;
	entry_free(root);
	*root = corrected;
	corrected = (struct entry){0};
	return 0;
}
