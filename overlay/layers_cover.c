#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/layers_private.h"
#include "overlay/mount.h"
#include "overlay/submount_overlay.h"
#include "overlay/pre_copy_up.h"

/* Limits in bytes for files beside a mount, which guard copies before the run:
 * for each file and for all files of the home directory, where a run need not
 * see large files; and for the project, where the run must see all files. */
#define HOME_FILE_MAX (1u << 20)
#define HOME_MAX (64u << 20)
#define PROJECT_MAX (1ull << 30)
#define NAMED_MAX 5

struct layer *layers_add(struct layers *l)
{
	GROW(l->items, l->count, l->capacity);
	l->items[l->count] =
		(struct layer){.lower_fd = -1, .upper_fd = -1, .work_fd = -1};
	return &l->items[l->count++];
}

void layers_drop(struct layers *l)
{
	layer_free(&l->items[--l->count]);
}

char *layer_path_of(int fd, struct err *err)
{
	auto_free char *path = fd_path(fd);

	if (!path || *path != '/') {
		(void)fail(err, ENOENT, "where guard's state lies");
		return NULL;
	}
	return TAKE(path);
}

int layer_open_absolute(const char *path, struct err *err)
{
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return fail_errno(err, "open /");
	return mount_open_dir(root, path, false, err);
}

/*
 * Creates work/<n> and removes the older ones. Each mount needs an unused work
 * directory: remains of an earlier mount can make the overlay read-only.
 * *ret_first: there were no older ones. Returns the path, to free, or NULL.
 */
static char *make_fresh_work(int session_fd, const char *name, bool *ret_first,
			     struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_open_dir(session_fd, name);
	unsigned long last = 0;
	char number[24];
	size_t i;

	if (dir < 0) {
		(void)fail_errno(err, "open folder %s", name);
		return NULL;
	}
	if (dirlist_read(dir, &list, err) < 0)
		return NULL;
	for (i = 0; i < list.count; i++) {
		unsigned long n = strtoul(list.items[i].name, NULL, 10);

		last = n > last ? n : last;
	}
	(void)snprintf(number, sizeof(number), "%lu", last + 1);
	if (mkdirat(dir, number, 0700) < 0) {
		(void)fail_errno(err, "make folder %s/%s", name, number);
		return NULL;
	}
	for (i = 0; i < list.count; i++)
		if (dirtree_remove(dir, list.items[i].name, err) < 0)
			return NULL;
	*ret_first = list.count == 0;
	return mem_printf("%s/%s", name, number);
}

static int prepare_layer(struct layer *l, const struct session *s,
			 const char *upper_name, const char *work_name,
			 bool groups, bool *ret_first, struct buf *notes,
			 struct err *err)
{
	auto_free char *state = layer_path_of(s->fd, err);
	auto_close int upper = -1;
	auto_free char *work = NULL;

	if (!state)
		return -err->num;
	upper = fd_open_dir_path(s->fd, upper_name);
	if (upper < 0 || meta_get(upper, "", &l->upper_meta) < 0)
		return fail_errno(err, "open folder %s", upper_name);
	work = make_fresh_work(s->fd, work_name, ret_first, err);
	if (!work)
		return -err->num;
	l->upper = mem_printf("%s/%s", state, upper_name);
	l->work = mem_printf("%s/%s", state, work);
	/* A continued run keeps its changes to the root. */
	if (!*ret_first)
		return 0;
	if (groups &&
	    pre_copy_up_groups(upper, l->lower_fd, l->path, notes, err) < 0)
		return -err->num;
	return pre_copy_up_root(upper, l->lower_fd, err);
}

int layer_open_lower(struct layer *l, const char *path, struct err *err)
{
	l->lower_fd = l->upper_fd = l->work_fd = -1;
	l->path = mem_strdup(path);
	l->lower = mem_strdup(path);
	l->lower_fd = layer_open_absolute(path, err);
	if (l->lower_fd < 0)
		return l->lower_fd;
	if (meta_get(l->lower_fd, "", &l->lower_meta) < 0)
		return fail_errno(err, "%s", text_quote(path));
	return 0;
}

/* ---- directories with mounts below ---- */

bool layers_is_special(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 ||
	       fstype_of_magic((uint32_t)fs.f_type)->traits & FSTYPE_PSEUDO;
}

/* Whether path has its own layer, which is mounted later. */
static bool has_own_layer(const struct session *s, const char *path)
{
	const char *git = record_get(&s->more, LAYERS_GIT);
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (strcmp(s->roots[i].path, path) == 0)
			return true;
	return git && strcmp(git, path) == 0;
}

static void add_covered_point(char ***points, const char *path, const char *dir)
{
	if (path_below(path, dir) && strcmp(path, dir) != 0)
		mem_list_add(points, path_rest(path, dir));
}

/* Paths below dir, relative to dir, that mounts or other layers cover. */
static char **list_covered_points(const struct session *s, const char *dir,
				  char *const *mounts)
{
	const char *git = record_get(&s->more, LAYERS_GIT);
	char **points = NULL;
	size_t i;

	for (; *mounts; mounts++)
		add_covered_point(&points, *mounts, dir);
	for (i = 0; i < s->root_count; i++)
		add_covered_point(&points, s->roots[i].path, dir);
	if (git)
		add_covered_point(&points, git, dir);
	return points;
}

static char *join_layer_path(const char *dir, const char *rest)
{
	return mem_printf("%s/%s", dir, rest);
}

/* Adds an overlay over a subdirectory of a layer that consists of parts. */
static int add_subdir_layer(struct layers *l, size_t split_index,
			    const char *rest, size_t number, struct err *err)
{
	struct layer *sub = layers_add(l), *w = &l->items[split_index];
	auto_free char *lower = join_layer_path(w->lower, rest);

	if (layer_open_lower(sub, lower, err) < 0)
		return -err->num;
	free(sub->path);
	sub->path = join_layer_path(w->path, rest);
	sub->upper = join_layer_path(w->upper, rest);
	sub->work = mem_printf("%s/%zu", w->work, number);
	if (mkdir(sub->work, 0700) < 0)
		return fail_errno(err, "make folder %s", text_quote(sub->work));
	sub->upper_fd = layer_open_absolute(sub->upper, err);
	if (sub->upper_fd < 0 ||
	    meta_get(sub->upper_fd, "", &sub->upper_meta) < 0)
		return sub->upper_fd < 0 ? sub->upper_fd
					 : fail_errno(err, "the layer");
	return 0;
}

/* Adds a mount without a layer, visible read-only. Pseudo file systems of the
 * kernel are not mounted at all. */
static int add_read_only_mount(struct layers *l, const char *path,
			       struct err *err)
{
	struct layer *real = layers_add(l);
	struct err inner_err;
	struct stat st;

	/* A mount on a file is visible as a copy of the file. */
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    layer_open_lower(real, path, &inner_err) < 0 ||
	    layers_is_special(real->lower_fd)) {
		layers_drop(l);
		return 0;
	}
	real->kind = LAYER_READ_ONLY;
	(void)err;
	return 0;
}

static void note_split_layer(const struct layer *w, char *const *mounts,
			     char *const *skipped, struct buf *notes)
{
	const char *between = "";
	size_t i;

	buf_printf(notes, "%s has mounts below (", text_quote(w->path));
	for (i = 0; mounts[i] && i < NAMED_MAX; i++, between = ", ")
		buf_printf(notes, "%s%s", between,
			   text_quote(path_rest(mounts[i], w->lower)));
	buf_printf(notes,
		   "%s): the folders beside them have a layer each, so "
		   "that none can be removed as a whole and a rename "
		   "from one to another copies\n",
		   mounts[i] ? ", ..." : "");
	if (!skipped || !skipped[0])
		return;
	buf_printf(notes, "not seen in the run, too large to be copied or not "
			  "to be read: ");
	between = "";
	for (i = 0; skipped[i] && i < NAMED_MAX; i++, between = ", ") {
		auto_free char *path = join_layer_path(w->path, skipped[i]);

		buf_printf(notes, "%s%s", between, text_quote(path));
	}
	buf_add_text(notes, skipped[i] ? ", ...\n" : "\n");
}

static int fill_split_layer(struct layers *l, size_t split_index,
			    const struct session *s, const char *upper_name,
			    bool home, bool first, struct submount_overlay *p,
			    struct err *err)
{
	struct layer *w = &l->items[split_index];
	auto_close int upper = layer_open_absolute(w->upper, err);
	size_t i;

	if (upper < 0)
		return upper;
	p->session_fd = s->fd;
	p->upper_fd = upper;
	p->lower_fd = w->lower_fd;
	p->name = upper_name;
	p->first = first;
	p->file_max = home ? HOME_FILE_MAX : PROJECT_MAX;
	p->total_max = home ? HOME_MAX : PROJECT_MAX;
	if (submount_overlay_fill(p, err) < 0)
		return -err->num;
	w->kind = LAYER_UPPER;
	/* The work directories of the parts are inside this layer's work
	 * directory. */
	for (i = 0; p->dirs && p->dirs[i]; i++)
		if (add_subdir_layer(l, split_index, p->dirs[i], i, err) < 0)
			return -err->num;
	return 0;
}

/* Fails for a mount that is in no list: it is newer than the run. */
static int check_no_new_mounts(const struct session *s, char *const *mounts,
			       struct err *err)
{
	const char *known;
	struct stat st;
	size_t n;

	for (; *mounts; mounts++) {
		for (n = 0;
		     (known = record_get_nth(&s->more, LAYERS_UNCOVERED, n));
		     n++)
			if (strcmp(known, *mounts) == 0)
				break;
		if (!known && !has_own_layer(s, *mounts) &&
		    lstat(*mounts, &st) == 0 && S_ISDIR(st.st_mode))
			return fail(err, EXDEV,
				    "%s was mounted after the run was made: "
				    "unmount it, or begin a new run",
				    text_quote(*mounts));
	}
	return 0;
}

/* Whether a mount has no layer of its own. Only such a mount in the home
 * directory is worth a note: the mounts of a project in it have layers. */
static bool has_uncovered(const struct session *s, char *const *mounts)
{
	for (; *mounts; mounts++)
		if (!has_own_layer(s, *mounts))
			return true;
	return false;
}

static int split_layer(struct layers *l, const struct session *s,
		       const char *upper_name, bool home, bool first,
		       char *const *mounts, struct buf *notes, struct err *err)
{
	size_t split_index = l->count - 1;
	struct submount_overlay p = {0};
	char **points =
		list_covered_points(s, l->items[split_index].path, mounts);
	int got = home ? 0 : check_no_new_mounts(s, mounts, err);

	p.points = points;
	if (got == 0)
		got = fill_split_layer(l, split_index, s, upper_name, home,
				       first, &p, err);
	if (got == 0 && (!home || p.skipped || has_uncovered(s, mounts)))
		note_split_layer(&l->items[split_index], mounts, p.skipped,
				 notes);
	for (; got == 0 && *mounts; mounts++)
		if (!has_own_layer(s, *mounts))
			got = add_read_only_mount(l, *mounts, err);
	submount_overlay_done(&p);
	mem_list_free(&points);
	return got;
}

static bool has_one_group(const struct session *s, const char *path)
{
	const char *known;
	size_t i;

	for (i = 0; (known = record_get_nth(&s->more, LAYERS_ONE_GROUP, i));
	     i++)
		if (strcmp(known, path) == 0)
			return true;
	return false;
}

int layers_cover(struct layers *l, const struct session *s, const char *upper,
		 const char *work, struct buf *notes, struct err *err)
{
	struct layer *layer = &l->items[l->count - 1];
	bool home = strcmp(upper, "home-upper") == 0, first = true;
	char **mounts = NULL;
	int got;

	if (prepare_layer(layer, s, upper, work,
			  !home && !has_one_group(s, layer->path), &first,
			  notes, err) < 0)
		return -err->num;
	got = mount_list_below(layer->lower_fd, layer->lower, &mounts, err);
	if (got > 0)
		got = split_layer(l, s, upper, home, first, mounts, notes, err);
	mem_list_free(&mounts);
	return got < 0 ? err_context(err, "%s",
				     text_quote(l->items[l->count - 1].path))
		       : 0;
}

int layers_finalize(const struct session *s, struct err *err)
{
	static const char *const names[] = {"home-upper", "git-upper"};
	const size_t own = sizeof(names) / sizeof(*names);
	size_t i;

	for (i = 0; i < own + s->root_count; i++) {
		auto_free char *name =
			i < own ? mem_strdup(names[i])
				: session_root_dir(i - own, "upper");
		auto_close int upper = fd_open_dir_path(s->fd, name);

		if (upper >= 0 &&
		    submount_overlay_add_whiteouts(s->fd, name, upper, err) < 0)
			return err_context(err, "the layer of run %s", s->id);
	}
	return 0;
}
