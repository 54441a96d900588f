#include "guard/history/runview.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/whiteout.h"
#include "overlay/scan.h"
#include "overlay/session.h"
#include "guard/change/resolve_run.h"
#include "snapshot/tree/catalog.h"

/* Private directories of a run: their paths in the run, and their names in the
 * run's directory. */
static const struct place {
	const char *inside, *directory;
} places[] = {{"/tmp", "tmp"}, {"/var/tmp", "var-tmp"}};

#define PLACES ARRAY_SIZE(places)

static const struct place *private_place_of(const char *path)
{
	size_t i;

	for (i = 0; i < PLACES && path[0] == '/'; i++)
		if (path_below(path, places[i].inside))
			return &places[i];
	return NULL;
}

int runview_find(struct context *c, const char *arg, struct session *ret,
		 char **ret_path, struct err *err)
{
	size_t len = strcspn(arg, ":");
	auto_free char *run = mem_strndup(arg, len);
	int got;

	*ret_path = NULL;
	if (!session_name_ok(run) && !session_id_ok(run))
		return 0;
	got = resolve_run_text(c, run, false, ret, err);
	if (got < 0)
		return got == -ENOENT && !session_id_ok(run) ? 0 : got;
	arg += len + (arg[len] != '\0');
	/* No shell expands it behind a colon; diff prints such names. */
	*ret_path = strncmp(arg, "~/", 2) == 0 && c->state.home
			    ? path_join(c->state.home, arg + 2)
			    : mem_strdup(arg);
	return 1;
}

static int open_run_dir(const struct session *s, const char *directory,
			struct err *err)
{
	int fd = fd_open_dir_path(s->fd, directory);

	return fd < 0 ? fail_errno(err, "the run's directory %s", directory)
		      : fd;
}

/* Whether the run has a layer over the path, also when the path is below a
 * private directory. */
static bool is_shown_by_layer(const struct session *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (path_below(path, s->roots[i].path))
			return true;
	return false;
}

/* Returns the part of the path below one of the run's own directories, whose
 * name is *ret_directory, to free: a private place, or the layer of an
 * additional root, of the project or of the home directory. NULL: the path is
 * in none of these. */
static const char *find_run_dir(const struct session *s, const char *path,
				char **ret_directory)
{
	const struct place *place = private_place_of(path);
	size_t i;

	*ret_directory = NULL;
	if (place && !is_shown_by_layer(s, path)) {
		*ret_directory = mem_strdup(place->directory);
		return path_rest(path, place->inside);
	}
	for (i = 1; i < s->root_count; i++)
		if (path_below(path, s->roots[i].path)) {
			*ret_directory = session_root_dir(i, "upper");
			return path_rest(path, s->roots[i].path);
		}
	if (path[0] != '/' || path_below(path, s->project)) {
		*ret_directory = mem_strdup("upper");
		return path[0] == '/' ? path_rest(path, s->project) : path;
	}
	if (!s->home || !s->home[0] || !path_below(path, s->home))
		return NULL;
	*ret_directory = mem_strdup("home-upper");
	return path_rest(path, s->home);
}

static int fail_elsewhere(const char *path, struct err *err)
{
	return fail(err, EXDEV,
		    "%s is not in the run's /tmp, /var/tmp, project or home "
		    "directory",
		    text_quote(path));
}

int runview_open(const struct session *s, const char *path, struct err *err)
{
	auto_free char *directory = NULL;
	const char *rest = find_run_dir(s, path, &directory);
	auto_close int dir = -1;
	int got;

	if (!rest || !path_ok(rest))
		return fail_elsewhere(path, err);
	if (!*rest)
		return fail(err, EISDIR, "%s is a directory", text_quote(path));
	dir = open_run_dir(s, directory, err);
	got = dir < 0 ? dir : scan_open(dir, rest, err);
	if (got == -ENOENT && s->roots[0].late)
		return fail(err, ENODATA,
			    "only the paths that it changed are stored, "
			    "because the snapshot of the project was not ready "
			    "at its end");
	return got;
}

int runview_result(struct context *c, const struct session *s, const char *path,
		   struct entry *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	bool relative = path[0] != '/';
	const struct session_root *root =
		&s->roots[relative || path_below(path, s->project)
				  ? 0
				  : s->root_count];
	size_t i;

	for (i = 1; i < s->root_count; i++)
		if (path_below(path, s->roots[i].path))
			root = &s->roots[i];
	if (!root->result || (!relative && !path_below(path, root->path)))
		return 0;
	path = relative ? path : path_rest(path, root->path);
	if (!path_ok(path))
		return 0;
	if (context_store(c, STORE_READ, err) < 0 ||
	    catalog_load(c->store, root->result, &result, err) < 0)
		return -err->num;
	return tree_lookup(c->store, &result.root, path, ret, err);
}

/* The entries of a directory in one of the run's own; prefix: put before the
 * names. Entries that were removed during the listing and whiteouts are
 * skipped. */
static int list_run_dir(const struct session *s, const char *directory,
			const char *path, const char *prefix, struct tree *to,
			struct err *err)
{
	AUTO(temp_chmod) struct temp_chmod opened = {.fd = -1};
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int root = open_run_dir(s, directory, err);
	auto_close int at =
		root < 0 ? root : beneath_open(root, path, O_PATH, 0, err);
	auto_close int dir = at < 0 ? at
				    : upper_open(at, "", O_RDONLY | O_DIRECTORY,
						 0500, &opened, err);
	size_t i;

	if (dir < 0)
		return dir;
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		char link[PATH_MAX];
		struct entry e = {0};
		struct meta m;
		ssize_t len;

		if (meta_get(dir, name, &m) < 0 || whiteout_is(&m))
			continue;
		e.name = mem_printf("%s%s", prefix, name);
		e.mode = m.mode;
		e.uid = m.uid;
		e.gid = m.gid;
		e.mtime = m.mtime;
		e.size = S_ISREG(m.mode) ? m.size : 0;
		len = S_ISLNK(m.mode)
			      ? readlinkat(dir, name, link, sizeof(link))
			      : -1;
		if (len > 0)
			e.link = mem_strndup(link, (size_t)len);
		tree_add(to, &e);
	}
	return 0;
}

int runview_load_tree(struct store *store, const struct entry *e,
		      struct tree *ret, struct err *err)
{
	struct entry copy = {0};

	if (S_ISDIR(e->mode))
		return tree_load(store, &e->content, ret, err);
	entry_copy(&copy, e);
	tree_add(ret, &copy);
	return 0;
}

int runview_list(struct context *c, const struct session *s, const char *path,
		 struct tree *ret, struct err *err)
{
	bool own = private_place_of(path) && !is_shown_by_layer(s, path);
	auto_free char *directory = NULL;
	AUTO(entry) struct entry e = {0};
	const char *rest;
	size_t i;
	int got = 0;

	for (i = 0; !*path && got == 0 && i < PLACES; i++) {
		auto_free char *prefix = mem_printf("%s/", places[i].inside);

		got = list_run_dir(s, places[i].directory, "", prefix, ret,
				   err);
	}
	if (*path) {
		rest = find_run_dir(s, path, &directory);
		if (!rest || (!own && !path_ok(rest)))
			return fail_elsewhere(path, err);
		/* The project as the run left it is in the stored result. */
		if (strcmp(directory, "upper") == 0) {
			got = runview_result(c, s, path, &e, err);
			if (got > 0)
				got = runview_load_tree(c->store, &e, ret, err);
			else if (got == 0 && !s->roots[0].result)
				got = fail(err, ENODATA,
					   "the result of run %s is not stored "
					   "(yet); guard diff %s shows its "
					   "changes",
					   session_label(s), session_label(s));
			else if (got == 0)
				got = fail(err, ENOENT,
					   "no such path: %s in the result of "
					   "run %s",
					   text_quote(path), session_label(s));
			return got;
		}
		got = list_run_dir(s, directory, rest, "", ret, err);
	}
	if (got < 0)
		return err_context(err, "run %s: %s", session_label(s),
				   text_quote(path));
	return 0;
}
