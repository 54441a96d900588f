#include "overlay/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "overlay/layers_private.h"
#include "overlay/lower_copy.h"
#include "overlay/mount.h"
#include "overlay/pre_copy_up.h"
#include "overlay/submount_overlay.h"

/* Limits in bytes for files beside a mount, which guard copies before the run:
 * for each file and for all files of the home directory, where a run need not
 * see large files; and for the project, where the run must see all files. */
#define HOME_FILE_MAX (1u << 20)
#define HOME_MAX (64u << 20)
#define PROJECT_MAX (1ull << 30)
#define NAMED_MAX 5

/* Removes and frees the last layer. */
static void drop_layer(struct layers *l)
{
	struct layer *last = &l->items[--l->count];

	free(last->path);
	mount_dir_free(&last->lower);
	mount_dir_free(&last->upper);
	mount_dir_free(&last->work);
	mount_dir_free(&last->copy_upper);
	mount_dir_free(&last->copy_work);
}

void layers_free(struct layers **l)
{
	if (!*l)
		return;
	while ((*l)->count)
		drop_layer(*l);
	free((*l)->items);
	free(*l);
	*l = NULL;
}

void layers_make_durable(struct layers *l)
{
	l->durable = true;
}

bool layers_are_split(const struct layers *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (l->items[i].kind == LAYER_UPPER)
			return true;
	return false;
}

/* Appends an empty layer. The pointer is valid until the next call. */
static struct layer *add_layer(struct layers *l)
{
	struct layer *layer = VEC_ADD(l);

	layer->lower.fd = layer->upper.fd = layer->work.fd = -1;
	layer->copy_upper.fd = layer->copy_work.fd = -1;
	return layer;
}

/* The absolute path of an open directory, as this process sees it; to free.
 * NULL on failure. */
static char *path_of_state(int fd, struct err *err)
{
	auto_free char *path = fd_path(fd);

	if (!path || *path != '/') {
		(void)fail(err, ENOENT,
			   "the directory of guard's state cannot be found");
		return NULL;
	}
	return TAKE(path);
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
		(void)fail_errno(err, "open directory %s", name);
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
		(void)fail_errno(err, "create directory %s/%s", name, number);
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
	auto_free char *state = path_of_state(s->fd, err);
	auto_close int upper = -1;
	auto_free char *work = NULL;

	if (!state)
		return -err->num;
	upper = fd_open_dir_path(s->fd, upper_name);
	if (upper < 0 || meta_get(upper, "", &l->upper.meta) < 0)
		return fail_errno(err, "open directory %s", upper_name);
	work = make_fresh_work(s->fd, work_name, ret_first, err);
	if (!work)
		return -err->num;
	l->upper.path = mem_printf("%s/%s", state, upper_name);
	l->work.path = mem_printf("%s/%s", state, work);
	/* A continued run keeps its changes to the root. */
	if (!*ret_first)
		return 0;
	if (groups &&
	    pre_copy_up_foreign(upper, l->lower.fd, l->path, notes, err) < 0)
		return -err->num;
	return pre_copy_up_root(upper, l->lower.fd, err);
}

/* Sets path and lower. */
static int open_layer_lower(struct layer *l, const char *path, struct err *err)
{
	l->path = mem_strdup(path);
	return mount_dir_open(&l->lower, mem_strdup(path), err);
}

/* ---- directories with mounts below ---- */

/* Whether path has its own layer, which is mounted later. */
static bool has_own_layer(const struct session *s, const char *path)
{
	const char *git = record_get(&s->more, LAYERS_GIT);

	return session_has_root(s, path) || (git && strcmp(git, path) == 0);
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

/* Adds an overlay over a subdirectory of a layer that consists of parts. */
static int add_subdir_layer(struct layers *l, size_t split_index,
			    const char *rest, size_t number, struct err *err)
{
	struct layer *sub = add_layer(l), *w = &l->items[split_index];
	auto_free char *lower = path_join(w->lower.path, rest);

	if (open_layer_lower(sub, lower, err) < 0)
		return -err->num;
	free(sub->path);
	sub->path = path_join(w->path, rest);
	sub->work.path = mem_printf("%s/%zu", w->work.path, number);
	if (mkdir(sub->work.path, 0700) < 0)
		return fail_errno(err, "create directory %s",
				  text_quote(sub->work.path));
	return mount_dir_open(&sub->upper, path_join(w->upper.path, rest), err);
}

/* Adds a mount without a layer, visible read-only. Pseudo file systems of the
 * kernel are not mounted at all. */
static void add_read_only_mount(struct layers *l, const char *path)
{
	struct layer *real = add_layer(l);
	struct err ignored;
	struct stat st;

	/* A mount on a file is visible as a copy of the file. */
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    open_layer_lower(real, path, &ignored) < 0 ||
	    fstype_of_fd(real->lower.fd)->traits & FSTYPE_PSEUDO)
		drop_layer(l);
	else
		real->kind = LAYER_READ_ONLY;
}

static void note_split_layer(const struct layer *w, char *const *mounts,
			     char *const *skipped, struct buf *notes)
{
	const char *between = "";
	size_t i;

	buf_printf(notes, "%s has mounts below (", text_quote(w->path));
	for (i = 0; mounts[i] && i < NAMED_MAX; i++, between = ", ")
		buf_printf(notes, "%s%s", between,
			   text_quote(path_rest(mounts[i], w->lower.path)));
	buf_printf(notes,
		   "%s): each directory next to them has its own layer: none "
		   "of these can be removed, and a rename from one to another "
		   "copies\n",
		   mounts[i] ? ", ..." : "");
	if (!skipped || !skipped[0])
		return;
	buf_printf(notes, "not visible in the run, since they are unreadable "
			  "or too large to be copied: ");
	between = "";
	for (i = 0; skipped[i] && i < NAMED_MAX; i++, between = ", ") {
		auto_free char *path = path_join(w->path, skipped[i]);

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
	auto_close int upper = fd_open_dir_path(s->fd, upper_name);
	size_t i;

	if (upper < 0)
		return fail_errno(err, "open directory %s", upper_name);
	p->session_fd = s->fd;
	p->upper_fd = upper;
	p->lower_fd = w->lower.fd;
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
	struct stat st;

	for (; *mounts; mounts++)
		if (!record_has(&s->more, LAYERS_UNCOVERED, *mounts) &&
		    !has_own_layer(s, *mounts) && lstat(*mounts, &st) == 0 &&
		    S_ISDIR(st.st_mode))
			return fail(err, EXDEV,
				    "%s was mounted after the run was created: "
				    "unmount it, or start a new run",
				    text_quote(*mounts));
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
			add_read_only_mount(l, *mounts);
	submount_overlay_done(&p);
	mem_list_free(&points);
	return got;
}

/*
 * Gives the last layer, whose lower is open, its upper and a work directory in
 * the run's directory. Where mounts are below the lower, adds more layers for
 * the parts (submount_overlay.h).
 */
static int cover_layer(struct layers *l, const struct session *s,
		       const char *upper, const char *work, struct buf *notes,
		       struct err *err)
{
	struct layer *layer = &l->items[l->count - 1];
	bool home = strcmp(upper, "home-upper") == 0, first = true;
	char **mounts = NULL;
	int got;

	if (prepare_layer(layer, s, upper, work,
			  !home && !record_has(&s->more, LAYERS_ONE_GROUP,
					       layer->path),
			  &first, notes, err) < 0)
		return -err->num;
	got = mount_list_below(layer->lower.fd, layer->lower.path, &mounts,
			       err);
	if (got > 0)
		got = split_layer(l, s, upper, home, first, mounts, notes, err);
	mem_list_free(&mounts);
	return got < 0 ? err_context(err, "%s",
				     text_quote(l->items[l->count - 1].path))
		       : 0;
}

/* ---- the plan ---- */

/* Notes about the project that the user should know before the run. */
static void note_project(const struct layer *l, struct buf *notes)
{
	struct statvfs fs;

	if (fstatvfs(l->lower.fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		buf_printf(notes,
			   "%s is on a read-only file system: the run's "
			   "changes can be inspected, not applied\n",
			   text_quote(l->path));
	else if (geteuid() != 0 && l->lower.meta.uid != geteuid() &&
		 faccessat(l->lower.fd, ".", W_OK, 0) < 0)
		buf_printf(notes,
			   "you have no permission to write in %s: the run's "
			   "changes there can be inspected, not applied\n",
			   text_quote(l->path));
	if (geteuid() == 0 && l->lower.meta.uid != 0)
		buf_printf(notes,
			   "%s belongs to uid %u: in a run, root has no power "
			   "over files of other users; start guard as that "
			   "user to write there\n",
			   text_quote(l->path),
			   (unsigned int)l->lower.meta.uid);
}

/* Without a layer over the home directory, notes has the reason. */
static int plan_home(struct layers *l, const struct session *s,
		     const char *home, struct buf *notes, struct err *err)
{
	const char *why = NULL;
	struct err inner_err;

	if (path_below(home, s->project))
		return 0; /* below the project's layer */
	if (strcmp(home, "/") == 0) {
		why = "it is the root directory";
	} else if (open_layer_lower(add_layer(l), home, &inner_err) < 0) {
		drop_layer(l);
		why = inner_err.text;
	}
	if (!why)
		return cover_layer(l, s, "home-upper", "home-work", notes, err);
	buf_printf(notes,
		   "home directory %s: no layer (%s); it is read-only in the "
		   "run\n",
		   text_quote(home), why);
	return 0;
}

static int plan_root(struct layers *l, const struct session *s, size_t index,
		     struct buf *notes, struct err *err)
{
	const struct session_root *root = &s->roots[index];
	auto_free char *upper = session_root_dir(index, "upper");
	auto_free char *work = session_root_dir(index, "work");
	const char *boot = record_get(&s->more, LAYERS_BOOT);
	struct layer *layer = add_layer(l);
	struct dir_identity now;

	if (open_layer_lower(layer, root->path, err) < 0)
		return -err->num;
	/* A disk can get another device number, at each boot and when it is
	 * attached again. Without birth times the number must be the same
	 * within one boot. */
	now = meta_identity(&layer->lower.meta);
	if (!meta_identity_maybe(&now, &root->dir) ||
	    (!meta_identity_certain(&now, &root->dir) &&
	     layer->lower.meta.dev != root->dev &&
	     (!boot || strcmp(boot, boot_id()) == 0)))
		return fail(err, ESTALE,
			    "%s was replaced: the run was created for another "
			    "directory",
			    text_quote(root->path));
	note_project(layer, notes);
	/* The copy of --frozen, if one exists, is the lower. */
	if (!index) {
		auto_free char *state = path_of_state(s->fd, err);
		char *copy = state ? lower_copy_path(s, state) : NULL;

		if (!state ||
		    (copy && mount_dir_open(&layer->lower, copy, err) < 0))
			return -err->num;
	}
	return cover_layer(l, s, upper, work, notes, err);
}

/* Plans the additional roots; inside: those in the project, else those
 * outside. */
static int plan_extras(struct layers *l, const struct session *s, bool inside,
		       struct buf *notes, struct err *err)
{
	size_t i;

	for (i = 1; i < s->root_count; i++)
		if (path_below(s->roots[i].path, s->project) == inside &&
		    plan_root(l, s, i, notes, err) < 0)
			return -err->num;
	return 0;
}

static int make_missing(int fd, const char *name, struct err *err)
{
	if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create directory %s", name);
	return 0;
}

/* Plans the repository when it is outside of the project. */
static int plan_git(struct layers *l, const struct session *s,
		    struct buf *notes, struct err *err)
{
	const char *path = record_get(&s->more, LAYERS_GIT);
	struct err inner_err;

	if (!path)
		return 0;
	if (open_layer_lower(add_layer(l), path, &inner_err) < 0) {
		drop_layer(l);
		buf_printf(notes, "repository %s: no layer (%s)\n",
			   text_quote(path), inner_err.text);
		return 0;
	}
	if (make_missing(s->fd, "git-upper", err) < 0 ||
	    make_missing(s->fd, "git-work", err) < 0)
		return -err->num;
	return cover_layer(l, s, "git-upper", "git-work", notes, err);
}

int layers_plan(const struct session *s, const char *home, struct layers **ret,
		struct buf *notes, struct err *err)
{
	AUTO(layers) struct layers *l = mem_zalloc(sizeof(*l));

	if (!home)
		buf_add_text(notes,
			     "no home directory: the run gets an empty one\n");
	/* The home layer comes first: a project in the home directory is
	 * mounted on top of it. */
	if (home && plan_home(l, s, home, notes, err) < 0)
		return err_context(err, "home directory");
	if (plan_extras(l, s, false, notes, err) < 0)
		return -err->num;
	/* The repository comes after the additional roots: one of them may hold
	 * it. */
	if (plan_git(l, s, notes, err) < 0)
		return err_context(err, "repository");
	if (plan_root(l, s, 0, notes, err) < 0 ||
	    plan_extras(l, s, true, notes, err) < 0)
		return -err->num;
	*ret = TAKE(l);
	return 0;
}

static int copy_layer(struct layer *l, const char *dir, size_t number,
		      struct err *err)
{
	auto_free char *upper = mem_printf("%s/upper-%zu", dir, number);
	auto_close int upper_fd = -1, from_fd = -1;

	l->copy_work.path = mem_printf("%s/work-%zu", dir, number);
	if (mkdir(upper, 0700) < 0 || mkdir(l->copy_work.path, 0700) < 0)
		return fail_errno(err, "create a directory");
	upper_fd = open(upper, O_PATH | O_DIRECTORY | O_CLOEXEC);
	from_fd = open(l->upper.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (upper_fd < 0 || from_fd < 0)
		return fail_errno(err, "open the run's layer");
	if (pre_copy_up_root(upper_fd, from_fd, err) < 0)
		return -err->num;
	return mount_dir_open(&l->copy_upper, TAKE(upper), err);
}

int layers_copy(struct layers *l, const char *dir, struct err *err)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		struct layer *layer = &l->items[i];

		if (layer->kind == LAYER_UPPER)
			return fail(err, EOPNOTSUPP,
				    "%s has mounts below it, and such a layer "
				    "cannot be copied",
				    text_quote(layer->path));
		if (layer->kind == LAYER_OVERLAY &&
		    copy_layer(layer, dir, i, err) < 0)
			return -err->num;
	}
	return 0;
}

int layers_open(struct layers *l, struct err *err)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		struct layer *layer = &l->items[i];

		if (mount_dir_reopen(&layer->lower, err) < 0 ||
		    mount_dir_reopen(&layer->copy_upper, err) < 0 ||
		    mount_dir_reopen(&layer->copy_work, err) < 0 ||
		    mount_dir_reopen(&layer->upper, err) < 0 ||
		    mount_dir_reopen(&layer->work, err) < 0)
			return err_context(err, "open the run's layer");
	}
	return 0;
}

static int mount_copy_of(struct layer *l, int root_fd, struct err *err)
{
	auto_close int layer = mount_open_dir(root_fd, l->path, false, err);

	if (layer < 0)
		return layer;
	return mount_overlay(
		&(struct mount_overlay_dirs){layer, l->copy_upper.fd,
					     l->copy_work.fd, true},
		layer, l->path, err);
}

const char *layers_path(const struct layers *l, size_t n)
{
	return n < l->count ? l->items[n].path : NULL;
}

int layers_mount(struct layers *layers, size_t n, int root_fd, struct err *err)
{
	struct layer *l = &layers->items[n];
	auto_close int target = mount_open_dir(root_fd, l->path, true, err);
	auto_close int mounted = -1;
	struct statvfs fs;

	if (target < 0)
		return err_context(
			err, "create the directories of the layer over %s",
			text_quote(l->path));
	if (l->kind == LAYER_UPPER)
		return mount_bind(l->upper.fd, target, false, l->path, err);
	if (l->kind == LAYER_READ_ONLY)
		return mount_bind(l->lower.fd, target, true, l->path, err);
	if (mount_overlay(&(struct mount_overlay_dirs){l->lower.fd, l->upper.fd,
						       l->work.fd,
						       !layers->durable},
			  target, l->path, err) < 0)
		return -err->num;
	if (l->copy_upper.path && mount_copy_of(l, root_fd, err) < 0)
		return -err->num;
	mounted = mount_open_dir(root_fd, l->path, false, err);
	if (mounted < 0)
		return mounted;
	if (fstatvfs(mounted, &fs) < 0)
		return fail_errno(err, "layer over %s", text_quote(l->path));
	/* The kernel mounts an overlay read-only when it cannot use the work
	 * directory. */
	if (fs.f_flag & ST_RDONLY)
		return fail(err, EROFS,
			    "the kernel made the layer over %s read-only (see "
			    "dmesg)",
			    text_quote(l->path));
	return 0;
}

int layers_finalize(const struct session *s, struct err *err)
{
	static const char *const names[] = {"home-upper", "git-upper"};
	const size_t own = ARRAY_SIZE(names);
	size_t i;

	for (i = 0; i < own + s->root_count; i++) {
		auto_free char *name =
			i < own ? mem_strdup(names[i])
				: session_root_dir(i - own, "upper");
		auto_close int upper = fd_open_dir_path(s->fd, name);

		if (upper >= 0 &&
		    submount_overlay_add_whiteouts(s->fd, name, upper, err) < 0)
			return err_context(err, "complete the layer of run %s",
					   s->id);
	}
	return 0;
}

/* ---- the state directory ---- */

int layers_check_state(int runs_fd, struct err *err)
{
	const struct fstype *type = fstype_of_fd(runs_fd);
	const char *name = type->traits & FSTYPE_NO_UPPER ? type->name : NULL;

	/* tmpfs has user xattrs only since Linux 6.6, other file systems only
	 * with a mount option: reading an xattr shows whether they are
	 * supported. */
	if (!name &&
	    getxattr(fd_proc_path(runs_fd).text, "user.guard", NULL, 0) < 0 &&
	    errno == ENOTSUP)
		name = "a file system without user xattrs";
	if (name)
		return fail(err, EOPNOTSUPP,
			    "guard's state is on %s, which cannot hold the "
			    "layer of a run: set GUARD_HOME to a directory on "
			    "ext4, btrfs or xfs",
			    name);
	return 0;
}

static int make_probe_layer_dir(int dir, const char *name, const char *dir_path,
				struct err *err)
{
	int fd = -1;

	if (mkdirat(dir, name, 0700) == 0)
		fd = fd_open_dir_path(dir, name);
	return fd < 0 ? fail_errno(err, "create %s in %s", name,
				   text_quote(dir_path))
		      : fd;
}

int layers_probe(const char *dir_path, struct err *err)
{
	auto_close int dir = open(dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_close int lower = -1, upper = -1, work = -1, file = -1;
	struct mount_overlay_dirs dirs;

	if (dir < 0)
		return fail_errno(err, "open %s", text_quote(dir_path));
	lower = make_probe_layer_dir(dir, "lower", dir_path, err);
	upper = lower < 0 ? lower
			  : make_probe_layer_dir(dir, "upper", dir_path, err);
	work = upper < 0 ? upper
			 : make_probe_layer_dir(dir, "work", dir_path, err);
	dirs = (struct mount_overlay_dirs){lower, upper, work, false};
	if (work < 0 || mount_overlay(&dirs, lower, dir_path, err) < 0)
		return -err->num;
	file = openat(dir, "lower/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	return file < 0 ? fail_errno(err, "write through a layer") : 0;
}
