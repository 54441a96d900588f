#include "guard/change/importer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/change/late_base.h"
#include "guard/state/report.h"
#include "overlay/layers.h"
#include "overlay/scan.h"
#include "restore/git/gitdir.h"
#include "restore/result.h"
#include "snapshot/store/content.h"
#include "snapshot/tree/catalog.h"

#define GIT ".git"
#define MODULES "modules"

/* The two trees of a root that are compared. */
struct sides {
	struct snapshot base, result;
	struct entry made; /* of a run whose result was not stored */
	const struct entry *then, *now;
};

static void sides_free(struct sides *s)
{
	snapshot_free(&s->base);
	snapshot_free(&s->result);
	entry_free(&s->made);
}

static void repository_free(struct importer_repository *r)
{
	gitimport_free(&r->im);
	entry_free(&r->then);
	entry_free(&r->now);
	free(r->name);
	free(r->path);
	free(r->git);
	free(r->own);
	*r = (struct importer_repository){0};
}

void importer_free(struct importer *imp)
{
	size_t i;

	for (i = 0; i < imp->items.count; i++)
		repository_free(&imp->items.items[i]);
	VEC_FREE(&imp->items);
}

/* The state of an importer_open(). */
struct opening {
	struct context *c;
	struct session *s;
	struct importer *imp;
	bool check;
	/* The trees that are searched: of a root, or of the layer over the
	 * repository outside of the project. */
	size_t root;
	const char *outside; /* its path, or NULL */
	const struct entry *then, *now;
	char *last; /* the repository of the path before */
};

/* --- the trees --- */

static int load_sides(struct opening *o, size_t index, struct sides *ret,
		      struct err *err)
{
	AUTO(changes) struct changes changes = CHANGES_NONE;
	const struct session_root *root = &o->s->roots[index];
	struct store *store = o->c->store;

	if (catalog_load(store, root->base, &ret->base, err) < 0)
		return -err->num;
	ret->then = &ret->base.root;
	ret->now = root->result		      ? &ret->result.root
		   : changes_are_stored(o->s) ? ret->then
					      : &ret->made;
	if (root->result)
		return catalog_load(store, root->result, &ret->result, err);
	if (ret->now == ret->then)
		return 0;
	/* A run that was cut off has a layer only. */
	return changes_load(o->s, NULL, &changes, err) < 0
		       ? -err->num
		       : result_make(store, ret->then,
				     changes.roots[index].upper_fd,
				     &changes.roots[index].list, NULL,
				     &ret->made, err);
}

static int put_text(struct store *store, struct tree_editor *editor,
		    const char *path, const char *text, struct err *err)
{
	struct entry e = {.mode = S_IFREG | 0600, .size = strlen(text)};

	return content_put_bytes(store, text, e.size, &e.content, err) < 0
		       ? -err->num
		       : tree_editor_put(editor, path, &e, err);
}

bool importer_began(const struct session *s, struct githead *ret)
{
	const char *text = record_get(&s->more, IMPORTER_HEAD);
	const char *branch = text ? strchr(text, ' ') : NULL;

	*ret = (struct githead){0};
	if (!branch)
		return false;
	(void)gittips_read_id(text, &ret->id);
	ret->branch = branch[1] ? mem_strdup(branch + 1) : NULL;
	return true;
}

/* HEAD when the run began, as the files that git reads. */
static int make_began(struct opening *o, const char *own, struct entry *ret,
		      struct err *err)
{
	const struct entry empty = {.mode = S_IFDIR | 0700};
	struct store *store = o->c->store;
	struct tree_editor *editor = tree_editor_new(store, &empty);
	auto_free char *path = path_join(own, "HEAD");
	auto_free char *above = path_parent(own);
	AUTO(githead) struct githead head = {0};
	auto_free char *text = NULL, *ref = NULL;
	int got = 0;

	if (*own && (tree_editor_put_dir(editor, above, &empty, err) < 0 ||
		     tree_editor_put_dir(editor, own, &empty, err) < 0))
		got = -err->num;
	if (got == 0 && importer_began(o->s, &head)) {
		text = head.branch ? mem_printf("ref: %s\n", head.branch)
				   : mem_printf("%s\n", head.id.hex);
		ref = mem_printf("%s %s\n", head.id.hex, head.branch ?: "");
		got = put_text(store, editor, path, text, err);
		if (got == 0 && head.branch && *head.id.hex)
			got = put_text(store, editor, "packed-refs", ref, err);
	}
	return tree_editor_end(&editor, got, ret, err);
}

/* A directory outside of the project has a layer of its own, and no snapshot.
 * 0: the run changed nothing there. */
static int load_layer(struct opening *o, const char *dir,
		      const struct entry *then, struct entry *ret,
		      struct err *err)
{
	AUTO(change_list) struct change_list changes = {0};
	auto_close int upper = fd_open_dir(o->s->fd, "git-upper");
	auto_close int lower = -1;

	if (upper < 0)
		return fail_errno(err, "open the layer of run %s",
				  session_label(o->s));
	lower = fd_open_dir(AT_FDCWD, dir);
	if (lower < 0)
		return fail_errno(err, "%s", text_quote(dir));
	if (scan_layer(upper, lower, NULL, &changes, err) < 0)
		return -err->num;
	if (!changes.count)
		return 0;
	return result_make(o->c->store, then, upper, &changes, NULL, ret, err) <
			       0
		       ? -err->num
		       : 1;
}

/* --- the repositories --- */

static bool unchanged(const struct importer_repository *r)
{
	return S_ISDIR(r->then.mode) && S_ISDIR(r->now.mode) &&
	       oid_equal(&r->then.content, &r->now.content);
}

/* -ENOENT, -ENOTDIR: it is no directory. */
static int check_directory(const struct importer_repository *r, struct err *err)
{
	if (!r->now.mode)
		return fail(err, ENOENT, "the run left no %s directory",
			    r->path);
	if (S_ISLNK(r->now.mode))
		return fail(err, ENOTDIR,
			    "the run's %s is a link to %s, which guard does "
			    "not follow",
			    r->path, text_quote(r->now.link));
	return S_ISDIR(r->now.mode)
		       ? 0
		       : fail(err, ENOTDIR,
			      "the run's %s is a file, which guard does not "
			      "follow",
			      r->path);
}

static int open_changed(struct opening *o, struct importer_repository *r,
			struct err *err)
{
	auto_free char *copy = mem_printf("import-%zu", o->imp->items.count);
	auto_free char *id = r->missing
				     ? mem_printf("%s/%s", o->s->id,
						  strstr(r->path, MODULES "/"))
				     : mem_strdup(o->s->id);
	const struct gitimport_job job = {
		.store = o->c->store,
		.then = r->then.mode && !r->outside ? &r->then : NULL,
		.now = &r->now,
		.dirfd = o->s->fd,
		.copy = o->imp->items.count ? copy : "import",
		.to = r->git,
		.run_id = id,
		.check = o->check,
	};
	const struct gitimport_list *list;

	if (gitimport_open(&job, &r->im, err) < 0)
		return *r->name ? err_context(err, "%s", text_quote(r->name))
				: -err->num;
	list = gitimport_listed(r->im);
	o->imp->commits += list->commits;
	o->imp->fresh += list->fresh;
	return 0;
}

/* The user's directory of a repository below the root or the layer. */
static char *user_path(const struct opening *o, const char *path)
{
	return path_join(o->outside ?: o->s->roots[o->root].path, path);
}

/* Whether one of the sides has a HEAD there. 0, 1. */
static int is_repository(const struct opening *o, const char *path,
			 struct err *err)
{
	auto_free char *head = path_join(path, "HEAD");
	auto_free char *there = user_path(o, head);
	AUTO(entry) struct entry e = {0};

	return access(there, F_OK) == 0
		       ? 1
		       : tree_lookup(o->c->store, o->now, head, &e, err);
}

/* The end of the repository's directory that a path is in, also of one in
 * modules/ of another; 0: it is in none. */
static int find_directory(const struct opening *o, const char *path,
			  size_t start, size_t *ret, struct err *err)
{
	size_t at;
	int got;

	for (;;) {
		const char *rest = path + start + (path[start] == '/');

		*ret = start;
		if (path_below(rest, "worktrees") && strchr(rest, '/')) {
			rest = strchr(rest, '/') + 1;
			rest += strcspn(rest, "/");
			rest += *rest == '/';
		}
		if (!path_below(rest, MODULES))
			return 0;
		at = (size_t)(rest - path) + strlen(MODULES);
		for (got = 0; got == 0 && path[at];) {
			auto_free char *dir = NULL;

			at += 1 + strcspn(path + at + 1, "/");
			dir = mem_strndup(path, at);
			got = is_repository(o, dir, err);
		}
		if (got <= 0)
			return got;
		start = at;
	}
}

static bool is_listed(const struct opening *o, const char *git)
{
	size_t i;

	for (i = 0; i < o->imp->items.count; i++)
		if (strcmp(o->imp->items.items[i].git, git) == 0)
			return true;
	return false;
}

/* A repository that the run added is a part of the project's commits if it has
 * a commit that no remote has. */
static int make_missing(const struct opening *o, struct importer_repository *r,
			struct err *err)
{
	const struct importer_repository *project = o->imp->items.items;

	if (!path_has_part(r->path, MODULES) || !o->imp->items.count ||
	    *project->name)
		return 0;
	if (o->check)
		report_note("the run added the submodule %s: guard apply %s . "
			    ".git takes it with its repository",
			    text_quote(strstr(r->path, MODULES "/") + 8),
			    session_label(o->s));
	r->missing = true;
	free(r->git);
	r->git = mem_strdup(project->git);
	return gittips_has_local(o->c->store, &r->now, err);
}

static int add_repository(struct opening *o, const char *path, struct err *err)
{
	struct importer_repository r = {
		.root = o->root,
		.outside = o->outside != NULL,
		.path = mem_strdup(path),
		.name = o->root ? user_path(o, path) : mem_strdup(path),
		.git = user_path(o, path),
		.own = mem_strdup(""),
	};
	auto_free char *head = path_join(r.git, "HEAD");
	int got = is_listed(o, r.git) ? 0 : 1;

	if (got > 0 && !o->outside)
		got = tree_lookup(o->c->store, o->then, path, &r.then, err) < 0
			      ? -err->num
			      : 1;
	if (got > 0)
		got = tree_lookup(o->c->store, o->now, path, &r.now, err);
	if (got > 0)
		got = S_ISDIR(r.now.mode);
	if (got > 0 && access(head, F_OK) < 0)
		got = make_missing(o, &r, err);
	if (got > 0)
		got = open_changed(o, &r, err) < 0 ? -err->num : 1;
	/* No commit of the project names one of it. */
	if (got < 0 && o->check && !path_has_part(path, MODULES)) {
		report_warning("its commits are skipped: %s", err->text);
		got = 0;
	}
	if (got > 0)
		*VEC_ADD(&o->imp->items) = TAKE(r);
	repository_free(&r);
	return got < 0 ? got : 0;
}

/* An entry that differs. */
static int find_repository(void *arg, const char *path,
			   const struct entry *then, const struct entry *now,
			   struct err *err)
{
	struct opening *o = arg;
	const struct importer_repository *project = o->imp->items.items;
	size_t start = path_part_end(path, GIT), end;
	auto_free char *dir = NULL;

	(void)then;
	(void)now;
	if (o->outside)
		start = 0;
	else if (o->imp->items.count && !project->outside && !o->root &&
		 path_below(path, project->path))
		start = strlen(project->path);
	else if (!start)
		return 0;
	if (find_directory(o, path, start, &end, err) < 0)
		return -err->num;
	dir = mem_strndup(path, end);
	if (o->last && strcmp(o->last, dir) == 0)
		return 0;
	free(o->last);
	o->last = TAKE(dir);
	return add_repository(o, o->last, err);
}

static int find_repositories(struct opening *o, size_t root,
			     const char *outside, const struct entry *then,
			     const struct entry *now, struct err *err)
{
	int got;

	o->root = root;
	o->outside = outside;
	o->then = then;
	o->now = now;
	got = tree_diff(o->c->store, then, now, find_repository, o, err);
	free(o->last);
	o->last = NULL;
	return got;
}

/* --- the project's repository --- */

static int open_outside(struct opening *o, struct importer_repository *r,
			struct err *err)
{
	int got;

	r->outside = true;
	r->path = mem_strdup("");
	if (context_store(o->c, STORE_WRITE, err) < 0 ||
	    store_refresh(o->c->store, err) < 0 ||
	    make_began(o, r->own, &r->then, err) < 0)
		return -err->num;
	got = load_layer(o, r->git, &r->then, &r->now, err);
	if (got > 0)
		return open_changed(o, r, err);
	if (got == 0)
		entry_copy(&r->now, &r->then);
	return got;
}

/* objects: the directory with a layer of its own, or NULL. */
static int open_inside(struct opening *o, const struct sides *sides,
		       const char *objects, struct importer_repository *r,
		       struct err *err)
{
	const struct entry empty = {.mode = S_IFDIR | 0700};
	struct store *store = o->c->store;
	AUTO(entry) struct entry layer = {0}, link = {0}, other = {0};
	struct tree_editor *editor;
	int got;

	if (tree_lookup(store, sides->then, r->path, &r->then, err) < 0 ||
	    tree_lookup(store, sides->now, r->path, &r->now, err) < 0 ||
	    tree_lookup(store, sides->then, GIT, &link, err) < 0 ||
	    tree_lookup(store, sides->now, GIT, &other, err) < 0)
		return -err->num;
	if (strcmp(r->path, GIT) != 0 && !entry_same_content(&link, &other))
		return fail(err, ENOTDIR,
			    "the run made its .git lead to another directory, "
			    "which guard does not follow");
	if (objects) {
		got = load_layer(o, objects, &empty, &layer, err);
		if (got < 0)
			return got;
		editor = tree_editor_new(store, &r->now);
		got = got ? tree_editor_put(editor, "objects", &layer, err) : 0;
		if (tree_editor_end(&editor, got, &r->now, err) < 0)
			return -err->num;
	}
	if (unchanged(r) ||
	    (o->s->roots[0].late && !r->then.mode && !r->now.mode))
		return 0;
	return check_directory(r, err) < 0 ? -err->num
					   : open_changed(o, r, err);
}

static int open_project(struct opening *o, const struct sides *sides,
			struct err *err)
{
	const char *project = o->s->project;
	const char *linked = record_get(&o->s->more, LAYERS_GIT);
	struct importer_repository r = {.name = mem_strdup("")};
	AUTO(gitdir) struct gitdir d = {0};
	const char *objects = NULL;
	int got;

	if (!gitdir_find(project, &d)) {
		repository_free(&r);
		return fail(err, ENOENT,
			    "%s is not a git repository: cannot import into it",
			    text_quote(project));
	}
	r.git = TAKE(d.common);
	r.own = mem_strdup(strcmp(d.own, r.git) == 0 ||
					   !path_below(d.own, r.git)
				   ? ""
				   : path_rest(d.own, r.git));
	if (linked && d.objects && strcmp(linked, d.objects) == 0)
		objects = linked;
	if (!objects && linked && strcmp(linked, r.git) != 0) {
		got = fail(err, ESTALE,
			   "the repository of %s is %s, and was %s when the "
			   "run began",
			   text_quote(project), text_quote(r.git),
			   text_quote(linked));
	} else if (linked && !objects) {
		got = open_outside(o, &r, err);
	} else if (path_below(r.git, project)) {
		r.path = mem_strdup(path_rest(r.git, project));
		got = open_inside(o, sides, objects, &r, err);
	} else {
		got = fail(err, ENOTDIR,
			   "%s is not a directory, and the repository that it "
			   "names had no layer in the run",
			   text_quote(d.own));
	}
	if (got == 0)
		*VEC_ADD(&o->imp->items) = TAKE(r);
	repository_free(&r);
	return got;
}

static int open_all(struct opening *o, struct err *err)
{
	struct session *s = o->s;
	const char *linked = record_get(&s->more, LAYERS_GIT);
	AUTO(sides) struct sides sides = {0};
	const struct importer_repository *own;
	struct err none = {0};
	size_t i;
	int got = 0;

	if (late_base_ensure(o->c, s, false, err) < 0 ||
	    load_sides(o, 0, &sides, err) < 0) {
		err_context(err,
			    "the files from before run %s were not stored, so "
			    "its commits cannot be separated from yours",
			    session_label(s));
		/* A layer of its own has new files alone. */
		return linked ? open_project(o, &sides, err) : -err->num;
	}
	got = open_project(o, &sides, &none);
	if (got < 0 && got != -ENOENT && got != -ENOTDIR) {
		*err = none;
		return got;
	}
	own = o->imp->items.items;
	if (got == 0 && own->outside &&
	    find_repositories(o, 0, linked, &own->then, &own->now, err) < 0)
		return -err->num;
	for (i = 0; i < s->root_count; i++) {
		AUTO(sides) struct sides other = {0};

		if (i && load_sides(o, i, &other, err) < 0)
			return -err->num;
		if (find_repositories(o, i, NULL, i ? other.then : sides.then,
				      i ? other.now : sides.now, err) < 0)
			return -err->num;
	}
	if (got < 0 && !o->imp->items.count) {
		*err = none;
		return got;
	}
	return 0;
}

int importer_open(struct context *c, struct session *s, bool check,
		  struct importer *ret, struct err *err)
{
	struct opening o = {.c = c, .s = s, .imp = ret, .check = check};

	*ret = (struct importer){0};
	if (open_all(&o, err) == 0)
		return 0;
	importer_free(ret);
	return -err->num;
}

int importer_write(struct context *c, struct session *s, struct importer *imp,
		   struct err *err)
{
	size_t i = imp->items.count;

	while (i-- > 0) {
		struct importer_repository *r = &imp->items.items[i];
		const struct gitimport_list *list = gitimport_listed(r->im);

		if (!list->fresh)
			continue;
		if (gitimport_write(r->im, err) < 0)
			return *r->name ? err_context(err, "%s",
						      text_quote(r->name))
					: -err->num;
		record_add(&s->more, "imported", list->prefix);
		state_log(&c->state, "import", "run", s->id, "project",
			  s->project, "refs", list->prefix, NULL);
	}
	return session_save(s, err);
}

char *importer_left(struct context *c, struct session *s, struct err *err)
{
	AUTO(importer) struct importer imp = {0};
	int got = importer_open(c, s, false, &imp, err);

	if (got == -ENOENT || got == -ENOTDIR)
		return mem_strdup("");
	if (got < 0)
		return NULL;
	return mem_strdup(!imp.fresh	? ""
			  : imp.commits ? text_count(imp.commits, "commit")
					: text_count(imp.fresh, "ref"));
}
