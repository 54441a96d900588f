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
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/dirtree.h"
#include "overlay/mount.h"

struct persistent_mount_item {
	char *place;
	bool cache;
	struct mount_dir source; /* for a directory */
	int mount_fd; /* for a cache; set in the child */
};

struct persistent_mount {
	struct persistent_mount_item *items; /* sorted by place */
	size_t count, capacity;
	/* The home directory, which holds all cached places, and the layer of
	 * the caches. */
	struct mount_dir lower, upper, work;
	int lock;
};

struct persistent_mount *persistent_mount_new(void)
{
	struct persistent_mount *k = mem_zalloc(sizeof(*k));

	k->lock = k->lower.fd = k->upper.fd = k->work.fd = -1;
	return k;
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
		mount_dir_free(&freed->items[i].source);
	}
	free(freed->items);
	mount_dir_free(&freed->lower);
	mount_dir_free(&freed->upper);
	mount_dir_free(&freed->work);
	fd_close(&freed->lock);
	free(freed);
}

const char *persistent_mount_place(const struct persistent_mount *k, size_t n)
{
	return k && n < k->count ? k->items[n].place : NULL;
}

static struct persistent_mount_item *add_mount_item(struct persistent_mount *k,
						    const char *place)
{
	size_t at = INDEX_BY_PATH(place, k->items, k->count, place);

	(void)VEC_ADD(k);
	memmove(k->items + at + 1, k->items + at,
		(k->count - 1 - at) * sizeof(*k->items));
	k->items[at] = (struct persistent_mount_item){
		.place = mem_strdup(place), .source.fd = -1, .mount_fd = -1};
	return &k->items[at];
}

int persistent_mount_add_dir(struct persistent_mount *k, const char *place,
			     const char *source, struct err *err)
{
	return mount_dir_open(&add_mount_item(k, place)->source,
			      mem_strdup(source), err);
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
		return fail_errno(err, "create their directories");
	return 0;
}

int persistent_mount_open_caches(struct persistent_mount *k, const char *home,
				 int dir, int run_fd, struct err *err)
{
	char **mounts = NULL;
	int got = mount_dir_open(&k->lower, mem_strdup(home), err);

	if (got == 0)
		got = mount_list_below(k->lower.fd, home, &mounts, err);
	if (got > 0)
		got = fail(err, EXDEV, "mounts below %s: %s", text_quote(home),
			   text_quote(mounts[0]));
	mem_list_free(&mounts);
	if (got == 0)
		got = k->lock = lock_take(dir, "lock", true, false, err);
	if (got >= 0)
		got = prepare_caches(dir, run_fd, err);
	if (got < 0) {
		mount_dir_free(&k->lower);
		return got == -EWOULDBLOCK ? -EBUSY : got;
	}
	got = mount_dir_open(&k->upper, join_fd_path(dir, "upper"), err);
	if (got == 0)
		got = mount_dir_open(&k->work, join_fd_path(dir, "work"), err);
	return got;
}

void persistent_mount_add_cache(struct persistent_mount *k, const char *place)
{
	const char *home = k->lower.path;

	if (home && path_below(place, home) && strcmp(place, home) != 0)
		add_mount_item(k, place)->cache = true;
}

/* ---- in the child ---- */

int persistent_mount_open(struct persistent_mount *k, struct err *err)
{
	size_t i;
	int got = mount_dir_reopen(&k->lower, err);

	if (got == 0)
		got = mount_dir_reopen(&k->upper, err);
	if (got == 0)
		got = mount_dir_reopen(&k->work, err);
	for (i = 0; i < k->count && got == 0; i++)
		got = mount_dir_reopen(&k->items[i].source, err);
	return got < 0 ? err_context(err, "caches and directories of the agent")
		       : 0;
}

/*
 * Mounts the overlay of the caches and copies the part of each cache. The
 * kernel copies parts only of an attached mount, so the overlay is mounted on
 * its own work directory, in the machine's tree, which disappears when the
 * child enters the run's root. A part that cannot be opened is skipped.
 */
static void mount_caches(struct persistent_mount *k)
{
	const struct mount_overlay_dirs dirs = {k->lower.fd, k->upper.fd,
						k->work.fd, true};
	const char *home = k->lower.path;
	struct mount_dir overlay = {.fd = -1};
	struct err ignored;
	size_t first, i;

	for (first = 0; first < k->count && !k->items[first].cache; first++)
		;
	if (first == k->count ||
	    mount_overlay(&dirs, k->work.fd, home, &ignored) < 0)
		return;
	(void)mount_dir_open(&overlay, mem_strdup(k->work.path), &ignored);
	for (i = first; i < k->count && overlay.fd >= 0; i++) {
		struct persistent_mount_item *item = &k->items[i];
		auto_close int part = -1;

		if (!item->cache)
			continue;
		part = mount_open_dir(overlay.fd, path_rest(item->place, home),
				      true, &ignored);
		item->mount_fd =
			part < 0 ? -1 : mount_detached_copy(part, false);
	}
	mount_dir_free(&overlay);
}

static int mount_item(struct persistent_mount_item *item, int root_fd,
		      struct err *err)
{
	auto_close int target = -1;

	if (!item->cache) {
		item->mount_fd = mount_detached_copy(item->source.fd, false);
		if (item->mount_fd < 0)
			return fail_errno(err, "copy a mount");
	}
	if (item->mount_fd < 0)
		return 0;
	target = mount_open_dir(root_fd, item->place, true, err);
	if (target < 0)
		return target;
	if (mount_move(item->mount_fd, target) < 0)
		return fail_errno(err, "mount");
	return 0;
}

int persistent_mount_attach(struct persistent_mount *k, size_t n, int root_fd,
			    struct err *err)
{
	struct persistent_mount_item *item = &k->items[n];

	if (n == 0 && k->lower.path)
		mount_caches(k);
	if (mount_item(item, root_fd, err) < 0 && !item->cache)
		return err_context(err, "create the directories for %s",
				   text_quote(item->place));
	return 0;
}

/* ---- after the run ---- */

void persistent_mount_empty_work(const struct persistent_mount *k)
{
	if (k && k->work.fd >= 0)
		dirtree_empty(k->work.fd, ".");
}

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
