#include "overlay/layers.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/walk.h"
#include "overlay/freeze.h"
#include "overlay/mount.h"
#include "overlay/preplace.h"

struct layer {
	char *path; /* what is covered, absolute */
	char *lower; /* what is shown there: the same, or a copy of it */
	char *upper, *work; /* absolute, in the run's folder */
	struct meta lower_meta, upper_meta;
	int lower_fd, upper_fd, work_fd;
};

struct layers {
	struct layer *items; /* in the order of their mounts */
	size_t count;
	bool home;
};

static void layer_free(struct layer *l)
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

bool layers_cover_home(const struct layers *l)
{
	return l->home;
}

/* The absolute path of an open folder, as this process sees it. */
static char *path_of(int fd, struct err *err)
{
	char link[32], text[PATH_MAX];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, text, sizeof(text));
	if (len < 0 || (size_t)len >= sizeof(text) || *text != '/') {
		(void)fail(err, ENOENT, "where guard's state lies");
		return NULL;
	}
	return mem_strndup(text, (size_t)len);
}

static int open_absolute(const char *path, struct err *err)
{
	auto_close int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		return fail_errno(err, "open /");
	return mount_open_dir(root, path, false, err);
}

/*
 * A mount wants a work folder that none has used before: what a former one
 * left there can turn it read-only. Makes work/<n>, removes the older ones;
 * *ret_first: there were none.
 */
static char *fresh_work(int session_fd, const char *name, bool *ret_first,
			struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir =
		openat(session_fd, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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
		if (walk_remove(dir, list.items[i].name, err) < 0)
			return NULL;
	*ret_first = list.count == 0;
	return mem_printf("%s/%s", name, number);
}

static int prepare(struct layer *l, const struct session *s,
		   const char *upper_name, const char *work_name, bool groups,
		   struct buf *notes, struct err *err)
{
	auto_free char *state = path_of(s->fd, err);
	auto_close int upper = -1;
	auto_free char *work = NULL;
	bool first;

	if (!state)
		return -err->num;
	upper = openat(s->fd, upper_name,
		       O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (upper < 0 || meta_get(upper, "", &l->upper_meta) < 0)
		return fail_errno(err, "open folder %s", upper_name);
	work = fresh_work(s->fd, work_name, &first, err);
	if (!work)
		return -err->num;
	l->upper = mem_printf("%s/%s", state, upper_name);
	l->work = mem_printf("%s/%s", state, work);
	/* A layer that goes on keeps what the run did to its root. */
	if (!first)
		return 0;
	if (groups &&
	    preplace_groups(upper, l->lower_fd, l->path, notes, err) < 0)
		return -err->num;
	return preplace_root(upper, l->lower_fd, err);
}

/* Fills path, lower_fd and lower_meta. */
static int open_lower(struct layer *l, const char *path, struct err *err)
{
	l->lower_fd = l->upper_fd = l->work_fd = -1;
	l->path = mem_strdup(path);
	l->lower = mem_strdup(path);
	l->lower_fd = open_absolute(path, err);
	if (l->lower_fd < 0)
		return l->lower_fd;
	if (meta_get(l->lower_fd, "", &l->lower_meta) < 0)
		return fail_errno(err, "%s", text_quote(path));
	return 0;
}

/* What will be in the way, and is better known before. */
static void note_project(const struct layer *l, struct buf *notes)
{
	struct statvfs fs;

	if (fstatvfs(l->lower_fd, &fs) == 0 && fs.f_flag & ST_RDONLY)
		buf_printf(notes,
			   "%s is on a read-only file system: what the run "
			   "does can be looked at, not applied\n",
			   text_quote(l->path));
	if (geteuid() == 0 && l->lower_meta.uid != 0)
		buf_printf(notes,
			   "%s belongs to uid %u: in a run, root has no power "
			   "over what is somebody else's; start guard as that "
			   "user to write there\n",
			   text_quote(l->path),
			   (unsigned int)l->lower_meta.uid);
}

/* --frozen: the copy that was made of it is the lower. */
static int use_copy(struct layer *l, const struct session *s, struct err *err)
{
	auto_free char *session_path = path_of(s->fd, err);
	auto_free char *copy =
		session_path ? freeze_path(s, session_path) : NULL;

	if (!session_path)
		return -err->num;
	if (!copy)
		return 0;
	free(l->lower);
	l->lower = TAKE(copy);
	(void)close(l->lower_fd);
	l->lower_fd = open_absolute(l->lower, err);
	if (l->lower_fd < 0)
		return l->lower_fd;
	if (meta_get(l->lower_fd, "", &l->lower_meta) < 0)
		return fail_errno(err, "%s", text_quote(l->lower));
	return 0;
}

static int refuse_mounts(const struct layer *l, struct err *err)
{
	AUTO(buf) struct buf names = {0};
	int mounts = mount_list_below(l->lower_fd, l->path, &names, err);

	if (mounts < 0)
		return mounts;
	if (mounts)
		return fail(err, EXDEV,
			    "%s has %s inside, which a layer cannot cover: "
			    "%s. Unmount, or run guard in a folder without",
			    text_quote(l->path),
			    text_count((uint64_t)mounts, "mount"),
			    buf_text(&names));
	return 0;
}

static int plan_project(struct layers *l, const struct session *s,
			struct buf *notes, struct err *err)
{
	struct layer *project = &l->items[l->count++];

	if (open_lower(project, s->project, err) < 0)
		return -err->num;
	if (project->lower_meta.dev != s->project_dev ||
	    project->lower_meta.ino != s->project_ino)
		return fail(err, ESTALE,
			    "%s is not the folder any more that the run was "
			    "made for",
			    text_quote(s->project));
	if (refuse_mounts(project, err) < 0)
		return -err->num;
	note_project(project, notes);
	if (use_copy(project, s, err) < 0)
		return -err->num;
	return prepare(project, s, "upper", "work", true, notes, err);
}

static void note_home(struct buf *notes, const char *home, const char *why)
{
	buf_printf(notes,
		   "home folder %s: no layer over it (%s), it cannot be "
		   "written in the run\n",
		   text_quote(home), why);
}

/* 1: covered, 0: not, and notes says why. */
static int plan_home(struct layers *l, const struct session *s,
		     const char *home, struct buf *notes, struct err *err)
{
	struct layer *layer = &l->items[l->count];
	AUTO(buf) struct buf names = {0};
	struct err odd;
	int mounts;

	if (path_below(home, s->project))
		return 0; /* the project's layer has it */
	if (strcmp(home, "/") == 0) {
		note_home(notes, home, "it is the root folder");
		return 0;
	}
	if (open_lower(layer, home, &odd) < 0) {
		layer_free(layer);
		note_home(notes, home, odd.text);
		return 0;
	}
	mounts = mount_list_below(layer->lower_fd, home, &names, err);
	if (mounts != 0)
		layer_free(layer);
	if (mounts < 0)
		return mounts;
	if (mounts) {
		auto_free char *why =
			mem_printf("mounts below it: %s", buf_text(&names));

		note_home(notes, home, why);
		return 0;
	}
	l->count++;
	if (prepare(layer, s, "home-upper", "home-work", false, notes, err) < 0)
		return -err->num;
	l->home = true;
	return 1;
}

/* One beside the project: --cow. */
static int plan_extra(struct layers *l, const struct session *s, size_t index,
		      struct buf *notes, struct err *err)
{
	const struct extra *e = &s->extras[index];
	auto_free char *upper = session_extra_folder(index, "upper");
	auto_free char *work = session_extra_folder(index, "work");
	struct layer *layer = &l->items[l->count++];

	if (open_lower(layer, e->path, err) < 0)
		return -err->num;
	if (layer->lower_meta.dev != e->dev || layer->lower_meta.ino != e->ino)
		return fail(err, ESTALE,
			    "%s is not the folder any more that the run was "
			    "made for",
			    text_quote(e->path));
	if (refuse_mounts(layer, err) < 0)
		return -err->num;
	note_project(layer, notes);
	return prepare(layer, s, upper, work, true, notes, err);
}

static int make_missing(int fd, const char *name, struct err *err)
{
	if (mkdirat(fd, name, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "make folder %s", name);
	return 0;
}

/* The repository, where it is not in the project. */
static int plan_git(struct layers *l, const struct session *s,
		    struct buf *notes, struct err *err)
{
	const char *path = record_get(&s->more, LAYERS_GIT);
	struct layer *layer = &l->items[l->count];
	AUTO(buf) struct buf names = {0};
	struct err odd;
	int mounts;

	if (!path)
		return 0;
	if (open_lower(layer, path, &odd) < 0) {
		layer_free(layer);
		buf_printf(notes, "repository %s: no layer over it (%s)\n",
			   text_quote(path), odd.text);
		return 0;
	}
	mounts = mount_list_below(layer->lower_fd, path, &names, err);
	if (mounts != 0)
		layer_free(layer);
	if (mounts < 0)
		return mounts;
	if (mounts) {
		buf_printf(notes,
			   "repository %s: no layer over it, there are mounts "
			   "in it\n",
			   text_quote(path));
		return 0;
	}
	l->count++;
	if (make_missing(s->fd, "git-upper", err) < 0 ||
	    make_missing(s->fd, "git-work", err) < 0)
		return -err->num;
	return prepare(layer, s, "git-upper", "git-work", true, notes, err);
}

int layers_plan(const struct session *s, const char *home, struct layers **ret,
		struct buf *notes, struct err *err)
{
	AUTO(layers) struct layers *l = mem_zalloc(sizeof(*l));
	size_t i;

	/* The project, its home, its repository, and the others. */
	l->items = mem_zalloc((s->extra_count + 3) * sizeof(*l->items));
	if (!home)
		buf_add_text(notes, "no home folder: the run gets an empty "
				    "one\n");
	/* A project in the home folder goes on top of the home's layer. */
	if (home && plan_home(l, s, home, notes, err) < 0)
		return err_context(err, "home folder");
	for (i = 0; i < s->extra_count; i++)
		if (plan_extra(l, s, i, notes, err) < 0)
			return -err->num;
	/* The repository may lie in one of them. */
	if (plan_git(l, s, notes, err) < 0)
		return err_context(err, "repository");
	if (plan_project(l, s, notes, err) < 0)
		return -err->num;
	*ret = TAKE(l);
	return 0;
}

static bool same_folder(int fd, const struct meta *was)
{
	struct meta now;

	return meta_get(fd, "", &now) == 0 && now.dev == was->dev &&
	       now.ino == was->ino;
}

static int reopen(int *fd, const char *path, const struct meta *was,
		  struct err *err)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = open_absolute(path, err);
	if (*fd < 0)
		return *fd;
	if (was && !same_folder(*fd, was))
		return fail(err, ESTALE, "%s was replaced meanwhile",
			    text_quote(path));
	return 0;
}

int layers_open(struct layers *l, struct err *err)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		struct layer *layer = &l->items[i];

		if (reopen(&layer->lower_fd, layer->lower, &layer->lower_meta,
			   err) < 0 ||
		    reopen(&layer->upper_fd, layer->upper, &layer->upper_meta,
			   err) < 0 ||
		    reopen(&layer->work_fd, layer->work, NULL, err) < 0)
			return err_context(err, "open the run's layer");
	}
	return 0;
}

static int mount_one(struct layer *l, int root_fd, struct err *err)
{
	auto_close int target = mount_open_dir(root_fd, l->path, true, err);
	auto_close int mounted = -1;
	struct statvfs fs;

	if (target < 0)
		return err_context(err, "make room for the layer over %s",
				   text_quote(l->path));
	if (mount_overlay(l->lower_fd, l->upper_fd, l->work_fd, target, l->path,
			  err) < 0)
		return -err->num;
	mounted = mount_open_dir(root_fd, l->path, false, err);
	if (mounted < 0)
		return mounted;
	if (fstatvfs(mounted, &fs) < 0)
		return fail_errno(err, "layer over %s", text_quote(l->path));
	/* What the kernel does when it cannot use the work folder. */
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
		if (mount_one(&l->items[i], root_fd, err) < 0)
			return -err->num;
	return 0;
}
