#include "restore/write_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/parallel_for.h"
#include "base/text.h"
#include "restore/entry_compare.h"
#include "snapshot/store/content.h"

/* Entries that one thread writes, one after the other. */
#define PART_COUNT 64

struct tree_write {
	struct store *store;
	int root_fd;
	char temp[64]; /* a name that a run cannot guess */
	const struct differences *differences;
	bool *left; /* of each */
};

/* Gives the owner, who is not root, the permissions to change entries of a
 * directory. It gets its mode at the end. */
static int open_dir(struct tree_write *w, const struct difference *d,
		    struct err *err)
{
	auto_close int fd = -1;
	struct meta m;

	if (!S_ISDIR(d->a.mode) || (d->a.mode & S_IRWXU) == S_IRWXU ||
	    geteuid() == 0)
		return 0;
	fd = beneath_open(w->root_fd, d->path, O_PATH | O_DIRECTORY, 0, err);
	/* The user may have deleted it. */
	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return fd;
	if (meta_get(fd, "", &m) == 0 && m.uid == geteuid() &&
	    chmod(fd_proc_path(fd).text, (m.mode & 07777) | S_IRWXU) < 0)
		return fail_errno(err, "open the directory");
	return 0;
}

/* Whether the old entry has to go before the new one comes: a rename replaces
 * no directory, and no directory replaces a file. */
static bool goes_first(const struct difference *d)
{
	return d->a.mode &&
	       (!d->b.mode || (S_ISDIR(d->a.mode) != S_ISDIR(d->b.mode)));
}

/* 1: the directory has other entries. */
static int remove_entry(struct tree_write *w, const struct difference *d,
			struct err *err)
{
	const char *name;
	auto_close int dir = beneath_parent(w->root_fd, d->path, &name, err);

	if (dir < 0)
		return dir == -ENOENT || dir == -ENOTDIR ? 0 : dir;
	if (unlinkat(dir, name, S_ISDIR(d->a.mode) ? AT_REMOVEDIR : 0) == 0 ||
	    errno == ENOENT)
		return 0;
	if (!d->b.mode && (errno == ENOTEMPTY || errno == EBUSY))
		return 1;
	return fail_errno(err, "delete it");
}

static int make_file(struct tree_write *w, int dir, const struct entry *e,
		     struct err *err)
{
	auto_close int fd =
		openat(dir, w->temp,
		       O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		       e->mode & 0777);

	if (fd < 0)
		return fail_errno(err, "create it");
	if (e->content.type != OBJECT_NONE &&
	    content_write(w->store, &e->content, fd, NULL, err) < 0)
		return -err->num;
	return entry_apply_meta(w->store, fd, e, err);
}

static int make_special(struct tree_write *w, int dir, const struct entry *e,
			struct err *err)
{
	auto_close int fd = -1;

	if ((S_ISLNK(e->mode)
		     ? symlinkat(e->link ?: "", dir, w->temp)
		     : mknodat(dir, w->temp, (e->mode & S_IFMT) | 0600, 0)) < 0)
		return fail_errno(err, "create it");
	fd = openat(dir, w->temp, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? fail_errno(err, "open it")
		      : entry_apply_meta(w->store, fd, e, err);
}

/* Puts the new file in the place of the old one. A rename over a file makes
 * ext4 write the new one to the disk at once, one by one. */
static int put_in_place(struct tree_write *w, int dir, const char *name,
			bool exchange, struct err *err)
{
	if (exchange &&
	    renameat2(dir, w->temp, dir, name, RENAME_EXCHANGE) == 0) {
		if (unlinkat(dir, w->temp, 0) == 0)
			return 0;
		(void)renameat2(dir, w->temp, dir, name, RENAME_EXCHANGE);
	}
	return renameat(dir, w->temp, dir, name) < 0
		       ? fail_errno(err, "replace it")
		       : 0;
}

static int replace_entry(struct tree_write *w, const struct difference *d,
			 struct err *err)
{
	const char *name;
	auto_close int dir = beneath_parent(w->root_fd, d->path, &name, err);
	int got;

	if (dir < 0)
		return dir;
	got = S_ISREG(d->b.mode) ? make_file(w, dir, &d->b, err)
				 : make_special(w, dir, &d->b, err);
	if (got == 0)
		got = put_in_place(w, dir, name, d->a.mode, err);
	if (got < 0)
		(void)unlinkat(dir, w->temp, 0);
	return got;
}

static int make_dir(struct tree_write *w, const struct difference *d,
		    struct err *err)
{
	const char *name;
	auto_close int dir = -1;

	if (!*d->path)
		return 0;
	dir = beneath_parent(w->root_fd, d->path, &name, err);
	if (dir < 0)
		return dir;
	return mkdirat(dir, name, 0700) < 0 && errno != EEXIST
		       ? fail_errno(err, "create directory")
		       : 0;
}

static int apply_meta(struct tree_write *w, const struct difference *d,
		      struct err *err)
{
	auto_close int fd = beneath_open(w->root_fd, d->path, O_PATH, 0, err);

	return fd < 0 ? fd : entry_apply_meta(w->store, fd, &d->b, err);
}

/* 1: the path stays as it is. The user may have deleted an entry of the real
 * directory that neither side of the difference changes. */
static int write_entry(struct tree_write *w, const struct difference *d,
		       struct err *err)
{
	uint32_t mode = d->b.mode;
	int got = -ENOENT;

	if (!mode || S_ISDIR(mode))
		return 0;
	if (d->a.mode && entry_same_content(&d->a, &d->b))
		got = apply_meta(w, d, err);
	if (got != -ENOENT)
		return got;
	if (S_ISSOCK(mode) || S_ISCHR(mode) || S_ISBLK(mode))
		return 1;
	return replace_entry(w, d, err);
}

static int write_part(void *arg, size_t part, struct err *err)
{
	struct tree_write w = *(const struct tree_write *)arg;
	size_t i = part * PART_COUNT, end = i + PART_COUNT, len;

	len = strlen(w.temp);
	(void)snprintf(w.temp + len, sizeof(w.temp) - len, "-%zu", part);
	for (; i < end && i < w.differences->count; i++) {
		const struct difference *d = &w.differences->items[i];
		int got = write_entry(&w, d, err);

		if (got < 0)
			return err_context(err, "%s", text_quote(d->path));
		w.left[i] = got;
	}
	return 0;
}

int write_tree(struct store *store, int root_fd, const struct differences *d,
	       char ***left, struct err *err)
{
	auto_free bool *stays = mem_zalloc(d->count * sizeof(*stays));
	struct tree_write w = {.store = store,
			       .root_fd = root_fd,
			       .differences = d,
			       .left = stays};
	uint64_t random[2];
	const struct difference *at = d->items;
	size_t i;
	int got;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return fail_errno(err, "getrandom");
	(void)snprintf(w.temp, sizeof(w.temp),
		       ".guard-%016" PRIx64 "%016" PRIx64, random[0],
		       random[1]);
	for (i = 0; i < d->count; i++)
		if (open_dir(&w, &at[i], err) < 0)
			return err_context(err, "%s", text_quote(at[i].path));
	/* Entries before their directory. */
	for (i = d->count; i-- > 0;) {
		got = goes_first(&at[i]) ? remove_entry(&w, &at[i], err) : 0;
		if (got < 0)
			return err_context(err, "%s", text_quote(at[i].path));
		if (got)
			mem_list_add(left, at[i].path);
	}
	for (i = 0; i < d->count; i++)
		if (S_ISDIR(at[i].b.mode) && make_dir(&w, &at[i], err) < 0)
			return err_context(err, "%s", text_quote(at[i].path));
	if (parallel_for((d->count + PART_COUNT - 1) / PART_COUNT, false,
			 write_part, &w, err) < 0)
		return -err->num;
	for (i = 0; i < d->count; i++)
		if (stays[i])
			mem_list_add(left, at[i].path);
	for (i = d->count; i-- > 0;)
		if (S_ISDIR(at[i].b.mode) && apply_meta(&w, &at[i], err) < 0)
			return err_context(err, "%s", text_quote(at[i].path));
	return 0;
}
