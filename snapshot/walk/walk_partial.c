#include "snapshot/walk/walk_partial.h"

#include <linux/fs.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"

enum only {
	WANTED_NONE, /* not wanted */
	WANTED_BELOW, /* a path below it is wanted */
	WANTED_ALL, /* wanted with everything below */
};

/* Index of the first wanted path that is not before path. */
static size_t first_wanted_from(const struct walk *w, const char *path)
{
	return sorted_path_index(path, w->only, w->only_count, sizeof(*w->only),
				 0);
}

/* Whether a path is wanted whose directory is above a wanted path. */
static enum only match_wanted_path(const struct walk *w, const char *path)
{
	size_t low = first_wanted_from(w, path);

	if (low == w->only_count || !path_below(w->only[low], path))
		return WANTED_NONE;
	return strcmp(w->only[low], path) == 0 ? WANTED_ALL : WANTED_BELOW;
}

bool walk_partial_is_ancestor(const struct walk *w, const struct walk_dir *f,
			      const char *name)
{
	auto_free char *path = f->ancestor_only ? walk_path(f, name) : NULL;

	return path && match_wanted_path(w, path) == WANTED_BELOW;
}

void walk_partial_filter(const struct walk *w, struct walk_dir *f)
{
	size_t kept = 0, i;

	for (i = 0; i < f->list.count; i++) {
		auto_free char *path = walk_path(f, f->list.items[i].name);

		if (match_wanted_path(w, path) != WANTED_NONE)
			f->list.items[kept++] = f->list.items[i];
	}
	f->list.count = kept;
	f->incomplete = true;
}

static bool folds_names(int fd)
{
	int flags = 0;

	return ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ||
	       (flags & FS_CASEFOLD_FL);
}

bool walk_partial_names(const struct walk *w, struct walk_dir *f)
{
	auto_free char *path = walk_path(f, "");
	size_t i = first_wanted_from(w, path),
	       skip = *path ? strlen(path) + 1 : 0;
	const char *last = NULL;
	size_t last_len = 0;

	if (folds_names(f->fd))
		return false;
	for (; i < w->only_count && path_below(w->only[i], path); i++) {
		const char *name = w->only[i] + skip;
		size_t len = strlen(w->only[i]) > skip ? strcspn(name, "/") : 0;

		if (!len ||
		    (last && len == last_len && memcmp(name, last, len) == 0))
			continue;
		dirlist_add(&f->list, name, len);
		last = name;
		last_len = len;
	}
	dirlist_sort(&f->list);
	f->listed = f->incomplete = true;
	f->count = f->list.count;
	return true;
}
