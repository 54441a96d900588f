#include "overlay/kept.h"

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

/* A folder that is opened by guard, and again by the child. */
struct opened {
	char *path; /* NULL: not used */
	struct meta was;
	int fd;
};

struct kept_item {
	char *place;
	bool cache;
	struct opened source; /* of a folder */
	int mount_fd; /* of a cache, in the child */
};

struct kept {
	struct kept_item *items; /* by place */
	size_t count, room;
	char *home; /* of the caches */
	struct opened lower, upper, work;
	int lock;
};

struct kept *kept_new(void)
{
	struct kept *k = mem_zalloc(sizeof(*k));

	k->lock = k->lower.fd = k->upper.fd = k->work.fd = -1;
	return k;
}

static void opened_done(struct opened *o)
{
	free(o->path);
	if (o->fd >= 0)
		(void)close(o->fd);
}

void kept_free(struct kept **k)
{
	struct kept *gone = *k;
	size_t i;

	if (!gone)
		return;
	*k = NULL;
	for (i = 0; i < gone->count; i++) {
		free(gone->items[i].place);
		opened_done(&gone->items[i].source);
	}
	free(gone->items);
	free(gone->home);
	opened_done(&gone->lower);
	opened_done(&gone->upper);
	opened_done(&gone->work);
	if (gone->lock >= 0)
		(void)close(gone->lock);
	free(gone);
}

const char *kept_place(const struct kept *k, size_t n)
{
	return k && n < k->count ? k->items[n].place : NULL;
}

static struct kept_item *add(struct kept *k, const char *place)
{
	size_t at = k->count;

	GROW(k->items, k->count, k->room);
	while (at && path_compare(k->items[at - 1].place, place) > 0)
		at--;
	memmove(k->items + at + 1, k->items + at,
		(k->count++ - at) * sizeof(*k->items));
	k->items[at] = (struct kept_item){
		.place = mem_strdup(place), .source.fd = -1, .mount_fd = -1};
	return &k->items[at];
}

static int open_absolute(const char *path, struct err *err)
{
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root < 0 ? fail_errno(err, "open /")
			: mount_open_dir(root, path, false, err);
}

/* path is taken. The descriptor is the child's to make. */
static int open_first(struct opened *o, char *path, struct err *err)
{
	auto_close int fd = open_absolute(path, err);

	o->path = path;
	if (fd >= 0 && meta_get(fd, "", &o->was) < 0)
		return fail_errno(err, "%s", text_quote(path));
	return fd < 0 ? fd : 0;
}

int kept_add_folder(struct kept *k, const char *place, const char *source,
		    struct err *err)
{
	return open_first(&add(k, place)->source, mem_strdup(source), err);
}

/* ---- caches ---- */

static char *path_of(int fd, const char *name)
{
	auto_free char *path = fd_path(fd);

	return path_join(path ? path : "", name);
}

/*
 * A mount wants a work folder that none has used before. What is in the last
 * one takes the file system a millisecond to remove, which nobody is to wait
 * for: it goes with the run's folder.
 */
static int prepare_caches(int dir, int aside_fd, struct err *err)
{
	if (renameat2(dir, "work", aside_fd, KEPT_ASIDE, RENAME_NOREPLACE) <
		    0 &&
	    errno != ENOENT && dirtree_remove(dir, "work", err) < 0)
		return -err->num;
	if (mkdirat(dir, "work", 0700) < 0 ||
	    (mkdirat(dir, "upper", 0700) < 0 && errno != EEXIST))
		return fail_errno(err, "make their folders");
	return 0;
}

static int check_mounts(const char *home, struct err *err)
{
	auto_close int fd = open_absolute(home, err);
	char **mounts = NULL;
	int got = fd < 0 ? fd : mount_list_below(fd, home, &mounts, err);

	if (got > 0)
		got = fail(err, EXDEV, "mounts below %s: %s", text_quote(home),
			   text_quote(mounts[0]));
	mem_list_free(&mounts);
	return got;
}

int kept_open_caches(struct kept *k, const char *home, int dir, int aside_fd,
		     struct err *err)
{
	int got = check_mounts(home, err);

	if (got < 0)
		return got;
	k->lock = lock_take(dir, "lock", true, false, err);
	if (k->lock < 0)
		return k->lock == -EWOULDBLOCK ? -EBUSY : k->lock;
	if (prepare_caches(dir, aside_fd, err) < 0)
		return -err->num;
	k->home = mem_strdup(home);
	got = open_first(&k->lower, mem_strdup(home), err);
	if (got == 0)
		got = open_first(&k->upper, path_of(dir, "upper"), err);
	if (got == 0)
		got = open_first(&k->work, path_of(dir, "work"), err);
	return got;
}

void kept_add_cache(struct kept *k, const char *place)
{
	if (k->home && path_below(place, k->home) && strcmp(place, k->home))
		add(k, place)->cache = true;
}

/* ---- in the child ---- */

static int open_again(struct opened *o, struct err *err)
{
	struct meta now;

	if (!o->path)
		return 0;
	o->fd = open_absolute(o->path, err);
	if (o->fd < 0)
		return o->fd;
	if (meta_get(o->fd, "", &now) < 0 || now.dev != o->was.dev ||
	    now.ino != o->was.ino)
		return fail(err, ESTALE, "%s was replaced meanwhile",
			    text_quote(o->path));
	return 0;
}

int kept_open(struct kept *k, struct err *err)
{
	size_t i;
	int got = open_again(&k->lower, err);

	if (got == 0)
		got = open_again(&k->upper, err);
	if (got == 0)
		got = open_again(&k->work, err);
	for (i = 0; i < k->count && got == 0; i++)
		got = open_again(&k->items[i].source, err);
	return got < 0 ? err_context(err, "what is kept between runs") : 0;
}

/* Of a part of what is mounted somewhere. */
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

static int move_to(int mount_fd, int target)
{
	return move_mount(mount_fd, "", target, "",
			  MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/*
 * Only a mount that is somewhere can be copied in part: the overlay lies on
 * its own work folder, on the machine's side, which goes when the run's root
 * is entered. A part that cannot be had is left out.
 */
static void open_caches(struct kept *k)
{
	const char *home = k->home;
	auto_close int whole = -1;
	struct err ignored;
	size_t first, i;

	for (first = 0; first < k->count && !k->items[first].cache; first++)
		;
	if (first == k->count ||
	    mount_overlay_loose(k->lower.fd, k->upper.fd, k->work.fd,
				k->work.fd, home, &ignored) < 0)
		return;
	whole = open_absolute(k->work.path, &ignored);
	for (i = first; i < k->count && whole >= 0; i++) {
		struct kept_item *item = &k->items[i];
		auto_close int part = -1;

		if (!item->cache)
			continue;
		part = mount_open_dir(whole, path_rest(item->place, home), true,
				      &ignored);
		item->mount_fd = part < 0 ? -1 : copy_mount(part);
	}
}

static int mount_item(struct kept_item *item, int root_fd, struct err *err)
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
	if (move_to(item->mount_fd, target) < 0)
		return fail_errno(err, "mount");
	return 0;
}

int kept_mount(struct kept *k, int root_fd, struct err *err)
{
	size_t i;

	if (k->home)
		open_caches(k);
	for (i = 0; i < k->count; i++)
		if (mount_item(&k->items[i], root_fd, err) < 0 &&
		    !k->items[i].cache)
			return err_context(err, "make room for %s",
					   text_quote(k->items[i].place));
	return 0;
}

/* ---- afterwards ---- */

void kept_clear_point(int upper_fd, int lower_fd, const char *path)
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
