#include "overlay/temp_chmod.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/dirtree.h"

#define NOTES "opened"

enum { NAME_LEN = 2 * sizeof(uint64_t) + 1 };

/* Process-wide: the state directory, and the locked directory of the notes once
 * this process has made one. */
static int state = -1, notes = -1;

/* Held while entries have added bits: two hard links are one inode, and another
 * thread would take these bits for its own ones. */
static pthread_mutex_t mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

struct chmod_note {
	char *path; /* relative to the state directory */
	const char *name;
	uint32_t mode;
};

static bool read_fd_path(int fd, char ret[PATH_MAX])
{
	ssize_t len = readlink(fd_proc_path(fd).text, ret, PATH_MAX);

	if (len <= 0 || len >= PATH_MAX)
		return false;
	ret[len] = '\0';
	return true;
}

static void format_note_name(uint64_t ino, char ret[NAME_LEN])
{
	(void)snprintf(ret, NAME_LEN, "%" PRIx64, ino);
}

/* Records a mode. No process would read a note about an entry outside of the
 * state directory. Without a note the entry is opened all the same. */
static void make_chmod_note(int path_fd, const struct meta *m)
{
	char path[PATH_MAX], state_path[PATH_MAX], name[NAME_LEN];
	auto_free char *text = NULL;

	if (state < 0)
		return;
	/* The lock is held until the process ends, because the process may make
	 * more notes. */
	if (notes < 0) {
		(void)mkdirat(state, NOTES, 0700);
		notes = fd_open_dir(state, NOTES);
		if (notes >= 0)
			(void)flock(notes, LOCK_SH);
	}
	if (notes < 0 || !read_fd_path(path_fd, path) ||
	    !read_fd_path(state, state_path) || !path_below(path, state_path))
		return;
	text = mem_printf("%o %s", m->mode, path_rest(path, state_path));
	format_note_name(m->ino, name);
	(void)!symlinkat(text, notes, name);
}

void temp_chmod_free(struct temp_chmod *o)
{
	char name[NAME_LEN];
	int saved = errno;

	if (o->fd > 0) {
		format_note_name(o->ino, name);
		if (fd_chmod(o->fd, o->mode) == 0 && notes >= 0)
			(void)unlinkat(notes, name, 0);
		(void)close(o->fd);
		(void)pthread_mutex_unlock(&mutex);
	}
	*o = (struct temp_chmod){.fd = -1};
	errno = saved;
}

static int open_with_bits(int path_fd, int flags, uint32_t want,
			  struct temp_chmod *ret, struct err *err)
{
	struct meta m;
	int fd;

	if (meta_get(path_fd, "", &m) < 0)
		return fail_errno(err, "stat");
	/* chmod(2) works only for the user's own entries. */
	if ((m.mode & want) == want || m.uid != geteuid())
		return fail(err, EACCES, "%s", strerror(EACCES));
	ret->fd = fcntl(path_fd, F_DUPFD_CLOEXEC, 3);
	if (ret->fd < 0)
		return fail_errno(err,
				  "change the mode of an entry of the layer");
	ret->mode = m.mode;
	ret->ino = m.ino;
	make_chmod_note(path_fd, &m);
	fd = fd_chmod(path_fd, m.mode | want) < 0 ? -1
						  : fd_reopen(path_fd, flags);
	return fd < 0 ? fail_errno(err,
				   "change the mode of an entry of the layer")
		      : fd;
}

int temp_chmod_open(int path_fd, int flags, uint32_t want,
		    struct temp_chmod *ret, struct err *err)
{
	int fd;

	(void)pthread_mutex_lock(&mutex);
	fd = open_with_bits(path_fd, flags, want, ret, err);
	if (ret->fd < 0)
		(void)pthread_mutex_unlock(&mutex);
	else if (fd < 0)
		temp_chmod_free(ret);
	return fd;
}

/* Deeper entries come first: a restored parent directory may deny access to its
 * entries. */
static int compare_note_depth(const void *a, const void *b)
{
	return path_compare(((const struct chmod_note *)b)->path,
			    ((const struct chmod_note *)a)->path);
}

static bool read_chmod_note(int dir, const char *name, struct chmod_note *ret)
{
	char text[PATH_MAX + 16];
	ssize_t len = readlinkat(dir, name, text, sizeof(text) - 1);
	int at = 0;

	if (len <= 0)
		return false;
	text[len] = '\0';
	if (sscanf(text, "%o %n", &ret->mode, &at) != 1 || !text[at])
		return false;
	ret->path = mem_strdup(text + at);
	ret->name = name;
	return true;
}

/* Restores a mode only if the inode is the noted one and nothing but the
 * owner's bits differs. */
static void restore_noted_mode(const struct chmod_note *n)
{
	struct err ignored;
	auto_close int fd = beneath_open(state, n->path, O_PATH, 0, &ignored);
	char name[NAME_LEN];
	struct meta m;

	if (fd < 0 || meta_get(fd, "", &m) < 0 || m.uid != geteuid())
		return;
	format_note_name(m.ino, name);
	if (strcmp(name, n->name) == 0 &&
	    (m.mode & ~S_IRWXU) == (n->mode & ~S_IRWXU))
		(void)fd_chmod(fd, n->mode);
}

void temp_chmod_begin(int state_fd)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_free struct chmod_note *all = NULL;
	auto_close int dir = -1;
	struct err ignored;
	size_t count = 0, i;

	state = state_fd;
	dir = fd_open_dir(state, NOTES);
	if (dir < 0 || dirlist_read(dir, &list, &ignored) < 0 || !list.count ||
	    flock(dir, LOCK_EX | LOCK_NB) < 0)
		return;
	all = mem_zalloc(list.count * sizeof(*all));
	for (i = 0; i < list.count; i++)
		count += read_chmod_note(dir, list.items[i].name, &all[count]);
	qsort(all, count, sizeof(*all), compare_note_depth);
	for (i = 0; i < count; i++) {
		restore_noted_mode(&all[i]);
		free(all[i].path);
	}
	for (i = 0; i < list.count; i++)
		(void)unlinkat(dir, list.items[i].name, 0);
}
