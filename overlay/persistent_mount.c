#include "overlay/persistent_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/mount.h"

/* A directory that guard opens and the child opens again and compares. */
struct checked_dir {
	char *path; /* NULL: not used */
	struct meta meta;
	int fd;
};

struct persistent_mount_item {
	char *place;
	bool cache;
	struct checked_dir source; /* for a directory */
	int mount_fd; /* for a cache; set in the child */
};

struct persistent_mount {
	struct persistent_mount_item *items; /* sorted by place */
	size_t count, capacity;
	char *home; /* home directory that holds all cached places */
	struct checked_dir lower, upper, work;
	int lock;
};

struct persistent_mount *persistent_mount_new(void)
{
	struct persistent_mount *k = mem_zalloc(sizeof(*k));

	k->lock = k->lower.fd = k->upper.fd = k->work.fd = -1;
	return k;
}

static void checked_dir_done(struct checked_dir *o)
{
	free(o->path);
	if (o->fd >= 0)
		(void)close(o->fd);
}

void persistent_mount_free(struct persistent_mount **k)
{
	struct persistent_mount *freed = *k;
	size_t i;

	if (!freed)
		return;
	*k = NULL;
	for (i = 0; i < freed->count; i++) {
		free(freed->items[i].place);
		checked_dir_done(&freed->items[i].source);
	}
	free(freed->items);
	free(freed->home);
	checked_dir_done(&freed->lower);
	checked_dir_done(&freed->upper);
	checked_dir_done(&freed->work);
	if (freed->lock >= 0)
		(void)close(freed->lock);
	free(freed);
}

const char *persistent_mount_place(const struct persistent_mount *k, size_t n)
{
	return k && n < k->count ? k->items[n].place : NULL;
}

static struct persistent_mount_item *add_mount_item(struct persistent_mount *k,
						    const char *place)
{
	size_t at = k->count;

	GROW(k->items, k->count, k->capacity);
	while (at && path_compare(k->items[at - 1].place, place) > 0)
		at--;
	memmove(k->items + at + 1, k->items + at,
		(k->count++ - at) * sizeof(*k->items));
	k->items[at] = (struct persistent_mount_item){
		.place = mem_strdup(place), .source.fd = -1, .mount_fd = -1};
	return &k->items[at];
}

static int open_absolute_dir(const char *path, struct err *err)
{
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? fail_errno(err, "open /")
			: mount_open_dir(root, path, false, err);
}

/* Records path, which *o then owns, and its metadata. The child opens the
 * descriptor in its own mount namespace. */
static int record_dir(struct checked_dir *o, char *path, struct err *err)
{
	auto_close int fd = open_absolute_dir(path, err);

	o->path = path;
	if (fd >= 0 && meta_get(fd, "", &o->meta) < 0)
		return fail_errno(err, "%s", text_quote(path));
	return fd < 0 ? fd : 0;
}

int persistent_mount_add_dir(struct persistent_mount *k, const char *place,
			     const char *source, struct err *err)
{
	return record_dir(&add_mount_item(k, place)->source, mem_strdup(source),
			  err);
}

/* ---- caches ---- */

static char *join_fd_path(int fd, const char *name)
{
	auto_free char *path = fd_path(fd);

	return path_join(path ? path : "", name);
}

/*
 * Creates upper and a new work directory: each mount needs an unused one.
 * Removing the old one takes about a millisecond, for which the user would
 * wait, so it moves into the run's directory and is removed with it.
 */
static int prepare_caches(int dir, int run_fd, struct err *err)
{
	if (renameat2(dir, "work", run_fd, PERSISTENT_MOUNT_OLD_WORK,
		      RENAME_NOREPLACE) < 0 &&
	    errno != ENOENT && dirtree_remove(dir, "work", err) < 0)
		return -err->num;
	if (mkdirat(dir, "work", 0700) < 0 ||
	    (mkdirat(dir, "upper", 0700) < 0 && errno != EEXIST))
		return fail_errno(err, "make their folders");
	return 0;
}

static int check_home_mounts(const char *home, struct err *err)
{
	auto_close int fd = open_absolute_dir(home, err);
	char **mounts = NULL;
	int got = fd < 0 ? fd : mount_list_below(fd, home, &mounts, err);

	if (got > 0)
		got = fail(err, EXDEV, "mounts below %s: %s", text_quote(home),
			   text_quote(mounts[0]));
	mem_list_free(&mounts);
	return got;
}

int persistent_mount_open_caches(struct persistent_mount *k, const char *home,
				 int dir, int run_fd, struct err *err)
{
	int got = check_home_mounts(home, err);

	if (got < 0)
		return got;
	k->lock = lock_take(dir, "lock", true, false, err);
	if (k->lock < 0)
		return k->lock == -EWOULDBLOCK ? -EBUSY : k->lock;
	if (prepare_caches(dir, run_fd, err) < 0)
		return -err->num;
	k->home = mem_strdup(home);
	got = record_dir(&k->lower, mem_strdup(home), err);
	if (got == 0)
		got = record_dir(&k->upper, join_fd_path(dir, "upper"), err);
	if (got == 0)
		got = record_dir(&k->work, join_fd_path(dir, "work"), err);
	return got;
}

void persistent_mount_add_cache(struct persistent_mount *k, const char *place)
{
	if (k->home && path_below(place, k->home) && strcmp(place, k->home))
		add_mount_item(k, place)->cache = true;
}

/* ---- in the child ---- */

static int reopen_recorded_dir(struct checked_dir *o, struct err *err)
{
	struct meta now;

	if (!o->path)
		return 0;
	o->fd = open_absolute_dir(o->path, err);
	if (o->fd < 0)
		return o->fd;
	if (meta_get(o->fd, "", &now) < 0 || now.dev != o->meta.dev ||
	    now.ino != o->meta.ino)
		return fail(err, ESTALE, "%s was replaced meanwhile",
			    text_quote(o->path));
	return 0;
}

int persistent_mount_open(struct persistent_mount *k, struct err *err)
{
	size_t i;
	int got = reopen_recorded_dir(&k->lower, err);

	if (got == 0)
		got = reopen_recorded_dir(&k->upper, err);
	if (got == 0)
		got = reopen_recorded_dir(&k->work, err);
	for (i = 0; i < k->count && got == 0; i++)
		got = reopen_recorded_dir(&k->items[i].source, err);
	return got < 0 ? err_context(err, "what is kept between runs") : 0;
}

/* A detached copy of the mount at fd; fd may be a directory inside of a
 * mount. */
static int copy_mount(int fd)
{
	struct mount_attr attr = {.attr_set =
					  MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
	auto_close int copy = open_tree(
		fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (copy < 0 ||
	    mount_setattr(copy, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -1;
	return TAKE_FD(copy);
}

static int move_mount_to(int mount_fd, int target)
{
	return move_mount(mount_fd, "", target, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/*
 * Mounts the overlay of the caches and copies the part of each cache. The
 * kernel copies parts only of an attached mount, so the overlay is mounted on
 * its own work directory, in the machine's tree, which disappears when the
 * child enters the run's root. A part that cannot be opened is skipped.
 */
static void mount_caches(struct persistent_mount *k)
{
	const char *home = k->home;
	auto_close int overlay_fd = -1;
	struct err ignored;
	size_t first, i;

	for (first = 0; first < k->count && !k->items[first].cache; first++)
		;
	if (first == k->count ||
	    mount_overlay_volatile(k->lower.fd, k->upper.fd, k->work.fd,
				   k->work.fd, home, &ignored) < 0)
		return;
	overlay_fd = open_absolute_dir(k->work.path, &ignored);
	for (i = first; i < k->count && overlay_fd >= 0; i++) {
		struct persistent_mount_item *item = &k->items[i];
		auto_close int part = -1;

		if (!item->cache)
			continue;
		part = mount_open_dir(overlay_fd, path_rest(item->place, home),
				      true, &ignored);
		item->mount_fd = part < 0 ? -1 : copy_mount(part);
	}
}

static int mount_item(struct persistent_mount_item *item, int root_fd,
		      struct err *err)
{
	auto_close int target = -1;

	if (!item->cache) {
		item->mount_fd = copy_mount(item->source.fd);
		if (item->mount_fd < 0)
			return fail_errno(err, "copy a mount");
	}
	if (item->mount_fd < 0)
		return 0;
	target = mount_open_dir(root_fd, item->place, true, err);
	if (target < 0)
		return target;
	if (move_mount_to(item->mount_fd, target) < 0)
		return fail_errno(err, "mount");
	return 0;
}

int persistent_mount_attach(struct persistent_mount *k, int root_fd,
			    struct err *err)
{
	size_t i;

	if (k->home)
		mount_caches(k);
	for (i = 0; i < k->count; i++)
		if (mount_item(&k->items[i], root_fd, err) < 0 &&
		    !k->items[i].cache)
			return err_context(err, "make room for %s",
					   text_quote(k->items[i].place));
	return 0;
}

/* ---- after the run ---- */

void persistent_mount_remove_point(int upper_fd, int lower_fd, const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (*at) {
		const char *name;
		struct err ignored;
		auto_close int above = -1;
		auto_close int real =
			beneath_open(lower_fd, at, O_PATH, 0, &ignored);
		char *up;

		if (real >= 0)
			return;
		above = beneath_parent(upper_fd, at, &name, &ignored);
		if (above < 0 || unlinkat(above, name, AT_REMOVEDIR) < 0)
			return;
		up = path_parent(at);
		free(at);
		at = up;
	}
}
