#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/parallel_for.h"
#include "base/path.h"
#include "base/vec.h"
#include "overlay/scan.h"
#include "overlay/scan_range.h"

/*
 * A large layer is scanned in ranges of paths, by two threads. The ranges have
 * about as many names each of one level of directories, the first one with
 * enough names. A small layer is one range.
 */
#define RANGES 16
#define NAMES_MIN 64
/* The search for that level opens no more directories, and each range lists
 * again the ones above it. */
#define DIRS_MAX 64
#define WIDE_MIN 20000
/* Room for so many changes is mapped, not in the heap, and grows in place. */
#define CAPACITY 32768

struct level_name {
	char *path;
	bool is_dir;
};

struct level {
	struct level_name *items;
	size_t count, capacity;
};

static void level_free(struct level *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		free(l->items[i].path);
	VEC_FREE(l);
}

/* Adds the names of a directory of the layer; false: too many. An unreadable
 * directory adds none: a range must not begin below it, and a chmod(2) here
 * would change the ctime that the scan looks for. */
static bool add_dir_names(int upper_fd, const char *dir, struct level *to)
{
	AUTO(dirlist) struct dirlist list = {0};
	const int flags = O_RDONLY | O_DIRECTORY;
	struct err ignored;
	auto_close int fd =
		*dir ? beneath_open(upper_fd, dir, flags, 0, &ignored)
		     : fd_reopen(upper_fd, flags);
	struct meta m;
	size_t i;

	if (fd < 0 || meta_get(fd, "", &m) < 0 ||
	    (geteuid() != 0 && (m.mode & 0500) != 0500) ||
	    dirlist_read(fd, &list, &ignored) < 0)
		return true;
	/* A part of many names is enough to divide them. */
	for (i = 0; i < list.count && list.count < WIDE_MIN;
	     i += 1 + list.count / 256)
		*VEC_ADD(to) = (struct level_name){
			.path = path_join(dir, list.items[i].name),
			.is_dir = list.items[i].type == DT_DIR,
		};
	return list.count < WIDE_MIN;
}

/* No names: the layer is one range. */
static void find_level(int upper_fd, struct level *ret)
{
	AUTO(level) struct level level = {0};
	bool fits = add_dir_names(upper_fd, "", &level);
	size_t opened = 0, i;

	while (fits && level.count && level.count < NAMES_MIN) {
		AUTO(level) struct level below = {0};

		for (i = 0; i < level.count && fits && opened < DIRS_MAX; i++) {
			if (!level.items[i].is_dir)
				continue;
			fits = add_dir_names(upper_fd, level.items[i].path,
					     &below);
			opened++;
		}
		level_free(&level);
		level = TAKE(below);
	}
	if (!fits)
		return;
	*ret = TAKE(level);
}

struct ranges {
	struct scan_range items[RANGES];
	struct change_list lists[RANGES];
	bool done[RANGES];
	size_t count;
	pthread_mutex_t mutex;
	struct change_list all; /* the lists of `joined` ranges */
	size_t joined;
};

static void ranges_free(struct ranges *r)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		change_list_free(&r->lists[i]);
	change_list_free(&r->all);
	(void)pthread_mutex_destroy(&r->mutex);
}

/* The lists are joined while others are read, so that their memory is used
 * again. */
static int scan_one_range(void *arg, size_t i, struct err *err)
{
	struct ranges *r = arg;

	if (scan_range(&r->items[i], &r->lists[i], err) < 0)
		return -err->num;
	(void)pthread_mutex_lock(&r->mutex);
	r->done[i] = true;
	while (r->joined < r->count && r->done[r->joined])
		change_list_append(&r->all, &r->lists[r->joined++]);
	(void)pthread_mutex_unlock(&r->mutex);
	return 0;
}

int scan_layer(int upper_fd, int lower_fd, const char *const *skip,
	       struct change_list *ret, struct err *err)
{
	AUTO(level) struct level level = {0};
	AUTO(ranges)
	struct ranges r = {.count = 1, .mutex = PTHREAD_MUTEX_INITIALIZER};
	size_t i;

	find_level(upper_fd, &level);
	if (level.count) {
		r.count = RANGES;
		r.all.capacity = CAPACITY;
		r.all.items = mem_resize(NULL, CAPACITY, sizeof(struct change));
	}
	for (i = 0; i < r.count; i++)
		r.items[i] = (struct scan_range){
			.upper_fd = upper_fd,
			.lower_fd = lower_fd,
			.skip = skip,
		};
	for (i = 1; i < r.count; i++)
		r.items[i].from = r.items[i - 1].until =
			level.items[i * level.count / RANGES].path;
	if (parallel_for(r.count, false, scan_one_range, &r, err) < 0)
		return -err->num;
	*ret = r.all;
	r.all = (struct change_list){0};
	return 0;
}
