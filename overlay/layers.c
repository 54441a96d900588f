#include "overlay/layers.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/path.h"
#include "base/text.h"
#include "overlay/lower_copy.h"
#include "overlay/layers_private.h"
#include "overlay/mount.h"

void layer_free(struct layer *l)
{
	free(l->path);
	free(l->lower);
	free(l->upper);
	free(l->work);
	if (l->lower_fd >= 0)
		(void)close(l->lower_fd);
	if (l->upper_fd >= 0)
		(void)close(l->upper_fd);
	if (l->work_fd >= 0)
		(void)close(l->work_fd);
}

void layers_free(struct layers **l)
{
	size_t i;

	if (!*l)
		return;
	for (i = 0; i < (*l)->count; i++)
		layer_free(&(*l)->items[i]);
	free((*l)->items);
	free(*l);
	*l = NULL;
}

bool layers_are_split(const struct layers *l)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (l->items[i].kind == LAYER_UPPER)
			return true;
	return false;
}

/* Notes about the project that the user should know before the run. */
static void note_project(const struct layer *l, struct buf *notes)
{
	struct statvfs fs;

	if (fstatvfs(l->lower_fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		buf_printf(notes,
			   "%s is on a read-only file system: what the run "
			   "does can be looked at, not applied\n",
			   text_quote(l->path));
	else if (geteuid() != 0 && faccessat(l->lower_fd, ".", W_OK, 0) < 0)
		buf_printf(notes,
			   "you may not write in %s: what the run does in it "
			   "can be looked at, not applied\n",
			   text_quote(l->path));
	if (geteuid() == 0 && l->lower_meta.uid != 0)
		buf_printf(notes,
			   "%s belongs to uid %u: in a run, root has no power "
			   "over what is somebody else's; start guard as that "
			   "user to write there\n",
			   text_quote(l->path),
			   (unsigned int)l->lower_meta.uid);
}

/* Makes the copy of --frozen, if one exists, the lower. */
static int use_lower_copy(struct layer *l, const struct session *s,
			  struct err *err)
{
	auto_free char *session_path = layer_path_of(s->fd, err);
	auto_free char *copy =
		session_path ? lower_copy_path(s, session_path) : NULL;

	if (!session_path)
		return -err->num;
	if (!copy)
		return 0;
	free(l->lower);
	l->lower = TAKE(copy);
	(void)close(l->lower_fd);
	l->lower_fd = layer_open_absolute(l->lower, err);
	if (l->lower_fd < 0)
		return l->lower_fd;
	if (meta_get(l->lower_fd, "", &l->lower_meta) < 0)
		return fail_errno(err, "%s", text_quote(l->lower));
	return 0;
}

/* Whether m is the directory for which the run was created. Device numbers are
 * valid for one boot only: btrfs and disks that are detected in turn get new
 * ones. */
static bool is_session_dir(const struct session *s, const struct meta *m,
			   uint64_t dev, uint64_t ino)
{
	const char *boot = record_get(&s->more, LAYERS_BOOT);

	return m->ino == ino &&
	       (m->dev == dev || (boot && strcmp(boot, boot_id()) != 0));
}

static void note_home(struct buf *notes, const char *home, const char *why)
{
	buf_printf(notes,
		   "home folder %s: no layer over it (%s), it cannot be "
		   "written in the run\n",
		   text_quote(home), why);
}

/* Returns 1: home has a layer; 0: it has none, and notes has the reason. */
static int plan_home(struct layers *l, const struct session *s,
		     const char *home, struct buf *notes, struct err *err)
{
	struct layer *layer;
	struct err inner_err;

	if (path_below(home, s->project))
		return 0; /* below the project's layer */
	if (strcmp(home, "/") == 0) {
		note_home(notes, home, "it is the root folder");
		return 0;
	}
	layer = layers_add(l);
	if (layer_open_lower(layer, home, &inner_err) < 0) {
		layers_drop(l);
		note_home(notes, home, inner_err.text);
		return 0;
	}
	if (layers_cover(l, s, "home-upper", "home-work", notes, err) < 0)
		return -err->num;
	return 1;
}

static int plan_root(struct layers *l, const struct session *s, size_t index,
		     struct buf *notes, struct err *err)
{
	const struct session_root *root = &s->roots[index];
	auto_free char *upper = session_root_dir(index, "upper");
	auto_free char *work = session_root_dir(index, "work");
	struct layer *layer = layers_add(l);

	if (layer_open_lower(layer, root->path, err) < 0)
		return -err->num;
	if (!is_session_dir(s, &layer->lower_meta, root->dev, root->ino))
		return fail(err, ESTALE,
			    "%s is not the folder any more that the run was "
			    "made for",
			    text_quote(root->path));
	note_project(layer, notes);
	if (!index && use_lower_copy(layer, s, err) < 0)
		return -err->num;
	return layers_cover(l, s, upper, work, notes, err);
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
		return fail_errno(err, "make folder %s", name);
	return 0;
}

/* Plans the repository when it is outside of the project. */
static int plan_git(struct layers *l, const struct session *s,
		    struct buf *notes, struct err *err)
{
	const char *path = record_get(&s->more, LAYERS_GIT);
	struct layer *layer;
	struct err inner_err;

	if (!path)
		return 0;
	layer = layers_add(l);
	if (layer_open_lower(layer, path, &inner_err) < 0) {
		layers_drop(l);
		buf_printf(notes, "repository %s: no layer over it (%s)\n",
			   text_quote(path), inner_err.text);
		return 0;
	}
	if (make_missing(s->fd, "git-upper", err) < 0 ||
	    make_missing(s->fd, "git-work", err) < 0)
		return -err->num;
	return layers_cover(l, s, "git-upper", "git-work", notes, err);
}

int layers_plan(const struct session *s, const char *home, struct layers **ret,
		struct buf *notes, struct err *err)
{
	AUTO(layers) struct layers *l = mem_zalloc(sizeof(*l));

	if (!home)
		buf_add_text(notes, "no home folder: the run gets an empty "
				    "one\n");
	/* The home layer comes first: a project in the home directory is
	 * mounted on top of it. */
	if (home && plan_home(l, s, home, notes, err) < 0)
		return err_context(err, "home folder");
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

static bool is_same_dir(int fd, const struct meta *was)
{
	struct meta now;

	return meta_get(fd, "", &now) == 0 && now.dev == was->dev &&
	       now.ino == was->ino;
}

static int reopen_layer_dir(int *fd, const char *path, const struct meta *was,
			    struct err *err)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = layer_open_absolute(path, err);
	if (*fd < 0)
		return *fd;
	if (was && !is_same_dir(*fd, was))
		return fail(err, ESTALE, "%s was replaced meanwhile",
			    text_quote(path));
	return 0;
}

int layers_open(struct layers *l, struct err *err)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		struct layer *layer = &l->items[i];

		if (reopen_layer_dir(&layer->lower_fd, layer->lower,
				     &layer->lower_meta, err) < 0 ||
		    (layer->upper &&
		     reopen_layer_dir(&layer->upper_fd, layer->upper,
				      &layer->upper_meta, err) < 0) ||
		    (layer->work &&
		     reopen_layer_dir(&layer->work_fd, layer->work, NULL, err) <
			     0))
			return err_context(err, "open the run's layer");
	}
	return 0;
}

static int mount_layer(struct layer *l, int root_fd, struct err *err)
{
	auto_close int target = mount_open_dir(root_fd, l->path, true, err);
	auto_close int mounted = -1;
	struct statvfs fs;

	if (target < 0)
		return err_context(err, "make room for the layer over %s",
				   text_quote(l->path));
	if (l->kind == LAYER_UPPER)
		return mount_bind(l->upper_fd, target, false, l->path, err);
	if (l->kind == LAYER_READ_ONLY)
		return mount_bind(l->lower_fd, target, true, l->path, err);
	if (mount_overlay(l->lower_fd, l->upper_fd, l->work_fd, target, l->path,
			  err) < 0)
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

int layers_mount(struct layers *l, int root_fd, struct err *err)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (mount_layer(&l->items[i], root_fd, err) < 0)
			return -err->num;
	return 0;
}
