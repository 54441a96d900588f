#include "guard/change/importer.h"

#include <ctype.h>
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
#include "guard/change/delta.h"
#include "guard/change/late_base.h"
#include "guard/state/report.h"
#include "overlay/layers.h"
#include "overlay/scan.h"
#include "restore/git/gitdir.h"
#include "restore/result.h"
#include "snapshot/tree/catalog.h"

#define GIT ".git"
#define MODULES "modules"

/* Copied without a question. */
#define ASK_ABOVE (4ull << 30)

static const struct entry empty = {.mode = S_IFDIR | 0700};

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
	for (i = 0; i < imp->roots.count; i++) {
		entry_free(&imp->roots.items[i].base);
		entry_free(&imp->roots.items[i].want);
	}
	VEC_FREE(&imp->roots);
	changes_free(&imp->changes);
	VEC_FREE(&imp->items);
	names_free(&imp->masked);
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
	struct names seen; /* directories of repositories in them */
};

/* --- the trees --- */

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

/* A directory outside of the project has a layer of its own, and no snapshot.
 * 0: the run changed nothing there. */
static int load_layer(struct opening *o, const char *dir, struct entry *ret,
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
	return result_make(o->c->store, &empty, upper, &changes, NULL, ret,
			   err) < 0
		       ? -err->num
		       : 1;
}

/* --- the repositories --- */

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
		.local = r->missing,
		.check = o->check,
		.most = o->check && !o->c->copies_large ? ASK_ABOVE : 0,
	};
	const struct gitimport_list *list;
	char *at;

	/* The name of a submodule may be none that a ref can have. */
	for (at = id + strlen(o->s->id); *at; at++)
		if (!strchr("/-", *at) && !isalnum((unsigned char)*at))
			*at = '_';
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

static int add_repository(struct opening *o, const char *path, struct err *err)
{
	const struct importer_repository *project = o->imp->items.items;
	struct importer_repository r = {
		.root = o->root,
		.outside = o->outside != NULL,
		.path = mem_strdup(path),
		.name = o->root ? user_path(o, path) : mem_strdup(path),
		.git = user_path(o, path),
		.own = mem_strdup(""),
	};
	auto_free char *head = path_join(r.git, "HEAD");
	const char *module = strstr(path, MODULES "/");
	int got = tree_lookup(o->c->store, o->then, path, &r.then, err);

	if (got >= 0)
		got = tree_lookup(o->c->store, o->now, path, &r.now, err);
	r.missing = access(head, F_OK) < 0;
	/* A submodule that the run added is a part of the project's commits. */
	if (r.missing && module && project && !*project->name) {
		if (o->check && got > 0)
			report_note("the run added the submodule %s, whose "
				    "files stay out: git submodule update "
				    "--init gets them afterwards",
				    text_quote(path_rest(module, MODULES)));
		free(r.git);
		r.git = mem_strdup(project->git);
	} else if (r.missing) {
		got = got < 0 ? got : 0;
	}
	if (got > 0 && S_ISDIR(r.now.mode)) {
		got = open_changed(o, &r, err);
		/* No commit of the project names one of it. */
		if (got < 0 && got != -EFBIG && o->check && !module) {
			report_warning("its commits are skipped: %s",
				       err->text);
			got = 0;
		} else if (got == 0) {
			*VEC_ADD(&o->imp->items) = TAKE(r);
		}
	}
	repository_free(&r);
	return got < 0 ? got : 0;
}

/* An entry that differs. */
static int find_repository(void *arg, const char *path,
			   const struct entry *then, const struct entry *now,
			   struct err *err)
{
	struct opening *o = arg;
	const struct importer_repository *r = o->imp->items.items;
	bool own = r && !*r->name && !o->root && r->outside == !!o->outside &&
		   path_below(path, r->path);
	size_t start = own ? strlen(r->path) : path_part_end(path, GIT);
	size_t end;
	auto_free char *dir = NULL;

	(void)then;
	(void)now;
	if (!own && !start)
		return 0;
	if (find_directory(o, path, start, &end, err) < 0)
		return -err->num;
	dir = mem_strndup(path, end);
	if (names_have(&o->seen, dir))
		return 0;
	names_add(&o->seen, dir);
	return own && end == start ? 0 : add_repository(o, dir, err);
}

/* --- the project's repository --- */

static int open_outside(struct opening *o, struct importer_repository *r,
			struct err *err)
{
	int got;

	r->outside = true;
	r->path = mem_strdup("");
	if (context_store(o->c, STORE_WRITE, err) < 0)
		return -err->num;
	entry_copy(&r->now, &empty);
	got = load_layer(o, r->git, &r->now, err);
	return got > 0 ? open_changed(o, r, err) : got;
}

/* objects: the directory with a layer of its own, or NULL. */
static int open_inside(struct opening *o, const char *objects,
		       struct importer_repository *r, struct err *err)
{
	struct store *store = o->c->store;
	AUTO(entry) struct entry layer = {0}, link = {0}, other = {0};
	struct tree_editor *editor;
	int got;

	if (tree_lookup(store, o->then, r->path, &r->then, err) < 0 ||
	    tree_lookup(store, o->now, r->path, &r->now, err) < 0 ||
	    tree_lookup(store, o->then, GIT, &link, err) < 0 ||
	    tree_lookup(store, o->now, GIT, &other, err) < 0)
		return -err->num;
	if (strcmp(r->path, GIT) != 0 && !entry_same_content(&link, &other))
		return fail(err, ENOTDIR,
			    "the run made its .git lead to another directory, "
			    "which guard does not follow");
	if (objects) {
		got = load_layer(o, objects, &layer, err);
		if (got < 0)
			return got;
		editor = tree_editor_new(store, &r->now);
		got = got ? tree_editor_put(editor, "objects", &layer, err) : 0;
		if (tree_editor_end(&editor, got, &r->now, err) < 0)
			return -err->num;
	}
	if ((S_ISDIR(r->then.mode) && S_ISDIR(r->now.mode) &&
	     oid_equal(&r->then.content, &r->now.content)) ||
	    (o->s->roots[0].late && !r->then.mode && !r->now.mode))
		return 0;
	if (!r->now.mode)
		return fail(err, ENOENT, "the run left no %s directory",
			    r->path);
	return S_ISDIR(r->now.mode)
		       ? open_changed(o, r, err)
		       : fail(err, ENOTDIR,
			      "the run's %s is a %s, which guard does not "
			      "follow",
			      r->path, S_ISLNK(r->now.mode) ? "link" : "file");
}

static int open_project(struct opening *o, struct err *err)
{
	const char *project = o->s->project;
	const char *linked = record_get(&o->s->more, LAYERS_GIT);
	struct importer_repository r = {.name = mem_strdup("")};
	AUTO(gitdir) struct gitdir d = {0};
	const char *objects = NULL;
	int got;

	(void)gitdir_find(project, &d);
	r.git = d.common ? TAKE(d.common) : mem_strdup(linked ?: "");
	r.own = mem_strdup(d.own && path_below(d.own, r.git)
				   ? path_rest(d.own, r.git)
				   : "");
	if (linked && d.objects && strcmp(linked, d.objects) == 0)
		objects = linked;
	if (!*r.git) {
		got = fail(err, ENOENT,
			   "%s is not a git repository: cannot import into it",
			   text_quote(project));
	} else if (!objects && linked && strcmp(linked, r.git) != 0) {
		got = fail(err, ESTALE,
			   "the repository of %s is %s, and was %s when the "
			   "run began",
			   text_quote(project), text_quote(r.git),
			   text_quote(linked));
	} else if (linked && !objects) {
		got = open_outside(o, &r, err);
	} else if (path_below(r.git, project)) {
		r.path = mem_strdup(path_rest(r.git, project));
		got = open_inside(o, objects, &r, err);
	} else {
		got = fail(err, ENOTDIR, "%s had no layer in the run",
			   text_quote(r.git));
	}
	if (got == 0)
		*VEC_ADD(&o->imp->items) = TAKE(r);
	repository_free(&r);
	return got;
}

static int find_repositories(struct opening *o, struct err *err)
{
	int got = tree_diff(o->c->store, o->then, o->now, find_repository, o,
			    err);

	names_free(&o->seen);
	return got;
}

/* The repositories in a root, or in the layer of its own that the project's
 * has.
 */
static int open_root(struct opening *o, const struct changes *changes,
		     struct err *err)
{
	const struct delta *delta = changes->roots[o->root].delta;
	const struct importer_repository *r;
	AUTO(snapshot) struct snapshot base = {0};
	struct importer_root *root = VEC_ADD(&o->imp->roots);
	int got = 0;

	if (catalog_load(o->c->store, o->s->roots[o->root].base, &base, err) <
	    0)
		return -err->num;
	o->then = &base.root;
	o->now = delta ? &delta->now : o->then;
	entry_copy(&root->base, o->then);
	entry_copy(&root->want, o->now);
	if (!o->root)
		got = open_project(o, err);
	if (got < 0 && got != -ENOENT && got != -ENOTDIR)
		return got;
	if (find_repositories(o, err) < 0)
		return -err->num;
	r = o->imp->items.items;
	if (o->root || got < 0 || !r->outside)
		return 0;
	o->outside = r->git;
	o->then = &empty;
	o->now = &r->now;
	got = find_repositories(o, err);
	o->outside = NULL;
	return got;
}

static int open_all(struct opening *o, struct err *err)
{
	struct changes *changes = &o->imp->changes;
	struct session *s = o->s;

	if (late_base_ensure(o->c, s, false, err) < 0 ||
	    changes_load_trees(o->c, s, changes, err) < 0) {
		err_context(err,
			    "the files from before run %s were not stored, so "
			    "its commits cannot be separated from yours",
			    session_label(s));
		/* A layer of its own has new files alone. */
		return record_get(&s->more, LAYERS_GIT) ? open_project(o, err)
							: -err->num;
	}
	for (; o->root < s->root_count; o->root++)
		if (open_root(o, changes, err) < 0)
			return -err->num;
	/* The error is open_project()'s. */
	return o->imp->items.count ? 0 : -err->num;
}

char *importer_work_tree(const struct session *s,
			 const struct importer_repository *r)
{
	const char *module = strstr(r->path, MODULES "/");
	auto_free char *git = path_join(s->roots[r->root].path, r->path);

	return !*r->name ? mem_strdup(s->project)
	       : module	 ? path_join(s->project, path_rest(module, MODULES))
			 : path_parent(git);
}

static int find_masked(const struct session *s, struct importer *imp,
		       struct err *err)
{
	const char *path;
	size_t i, k;

	for (i = 0; i < imp->items.count; i++) {
		const struct importer_repository *r = &imp->items.items[i];
		auto_free char *top = importer_work_tree(s, r);

		for (k = 0;
		     (path = record_get_nth(&s->more, IMPORTER_MASKED, k));
		     k++) {
			int got = r->im && path_below(path, top)
					  ? gitimport_touches(
						    r->im, path_rest(path, top),
						    err)
					  : 0;

			if (got < 0)
				return got;
			if (got)
				names_add(&imp->masked, path);
		}
	}
	return 0;
}

int importer_open(struct context *c, struct session *s, bool check,
		  struct importer *ret, struct err *err)
{
	struct opening o = {.c = c, .s = s, .imp = ret, .check = check};

	*ret = (struct importer){0};
	if (open_all(&o, err) == 0 && (!check || find_masked(s, ret, err) == 0))
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
