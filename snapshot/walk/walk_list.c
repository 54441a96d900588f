#include "snapshot/walk/walk_list.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "snapshot/walk/walk_partial.h"

#define LISTING_TRIES 3

static int open_walked_dir(struct walk *w, struct walk_dir *f)
{
	int flags =
		O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
	auto_free char *path = NULL;
	struct err err;
	int fd;

	if (!f->parent)
		return RETRY_ENOENT(openat(w->root_fd, ".", flags));
	if (f->parent->fd >= 0) {
		fd = RETRY_ENOENT(
			openat(f->parent->fd, f->name, flags | O_NOATIME));
		return fd < 0 && errno == EPERM
			       ? RETRY_ENOENT(
					 openat(f->parent->fd, f->name, flags))
			       : fd;
	}
	path = walk_path(f, "");
	fd = beneath_open(w->root_fd, path, flags, 0, &err);
	if (fd < 0)
		errno = err.num;
	return fd < 0 ? -1 : fd;
}

int walk_list_open(struct walk *w, struct walk_dir *f)
{
	struct meta seen = f->meta;
	int num;

	f->fd = open_walked_dir(w, f);
	num = errno;
	if (f->fd >= 0)
		atomic_fetch_add(&w->open_fds, 1);
	if (f->parent)
		walk_release_fd(w, f->parent);
	if (f->fd < 0 && (num == ENOENT || num == ENOTDIR || num == ELOOP)) {
		f->absent = true;
		return -1;
	}
	if (f->fd >= 0)
		num = meta_get(f->fd, "", &f->meta) < 0 ? errno : 0;
	if (num) {
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "", strerror(num));
		return -1;
	}
	if (f->meta.dev != w->dev) {
		f->meta = seen;
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "", "another file system");
		return -1;
	}
	return 0;
}

static void drop_skipped_names(const struct walk *w, struct walk_dir *f)
{
	size_t offset = f->path_len + (f->path_len > 0), kept = 0, i, k;

	for (i = 0; i < f->list.count; i++) {
		bool skip = false;

		for (k = 0; k < w->skip_count && !skip; k++)
			skip = (f->skips >> k & 1) &&
			       strcmp(w->skips[k] + offset,
				      f->list.items[i].name) == 0;
		if (!skip && f == w->root && w->skip_prefix)
			skip = strncmp(f->list.items[i].name, w->skip_prefix,
				       strlen(w->skip_prefix)) == 0;
		if (!skip)
			f->list.items[kept++] = f->list.items[i];
	}
	f->list.count = kept;
}

/* The glob that excludes the path, or NULL. */
static const char *find_matching_exclude(const struct walk *w,
					 const struct walk_dir *f,
					 const char *name)
{
	auto_free char *path = NULL;
	size_t i;

	for (i = 0; w->excludes[i]; i++) {
		const char *glob = w->excludes[i];
		bool on_path = strchr(glob, '/') != NULL;

		if (on_path && !path)
			path = walk_path(f, name);
		glob += *glob == '/';
		if (fnmatch(glob, on_path ? path : name,
			    on_path ? FNM_PATHNAME : 0) == 0)
			return w->excludes[i];
	}
	return NULL;
}

static void drop_excluded_names(struct walk *w, struct walk_dir *f)
{
	size_t kept = 0, i;

	for (i = 0; i < f->list.count; i++) {
		const char *name = f->list.items[i].name;
		const char *glob = find_matching_exclude(w, f, name);

		if (glob) {
			auto_free char *why =
				mem_printf(NOTE_EXCLUSION "%s", glob);

			f->incomplete = true;
			walk_add_note(w, NOTE_INCOMPLETE, f, name, why);
		} else {
			f->list.items[kept++] = f->list.items[i];
		}
	}
	f->list.count = kept;
}

void walk_list_names(struct walk *w, struct walk_dir *f)
{
	struct meta before = f->meta;
	struct err err;
	int tries;

	f->listed = true;
	atomic_fetch_add(&w->listed, 1);
	for (tries = 0; tries < LISTING_TRIES; tries++) {
		dirlist_free(&f->list);
		if (dirlist_read(f->fd, &f->list, &err) < 0) {
			f->incomplete = true;
			walk_add_note(w, NOTE_INCOMPLETE, f, "",
				      strerror(err.num));
			break;
		}
		if (meta_get(f->fd, "", &f->meta) == 0 &&
		    meta_same(&before, &f->meta))
			break;
		f->same = false;
		before = f->meta;
	}
	if (tries == LISTING_TRIES) {
		f->incomplete = true;
		walk_add_note(w, NOTE_INCOMPLETE, f, "",
			      "changed while it was read");
	}
	if (f->skips || (f == w->root && w->skip_prefix))
		drop_skipped_names(w, f);
	if (f->ancestor_only)
		walk_partial_filter(w, f);
	if (w->excludes)
		drop_excluded_names(w, f);
	f->count = f->list.count;
}
