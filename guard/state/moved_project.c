#include "guard/state/moved_project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/state/report.h"
#include "overlay/pending_index.h"
#include "overlay/session_base.h"
#include "overlay/session_list.h"
#include "restore/workspace.h"
#include "snapshot/tree/catalog.h"

struct takeover {
	const struct state *st;
	const char *old_path, *here;
	int workspace_fd; /* the old path's */
	struct workspace_dir dir; /* in its record */
	bool certain; /* recognized; else the user named the old path */
	struct workspace_dir now; /* at the new path */
	struct workspace_dir there; /* in the record of the old path now */
	uint64_t dev;
	size_t pending, versions; /* taken over so far */
	struct workspace_seqs moved; /* numbers of the versions */
	struct names others; /* paths that other roots of the runs may have */
};

static void takeover_free(struct takeover *m)
{
	fd_close(&m->workspace_fd);
	free(m->moved.items);
	names_free(&m->others);
	workspace_dir_free(&m->dir);
	workspace_dir_free(&m->there);
}

/* path with `here` in place of the old path, to free; NULL: it is not below, or
 * it had a project of its own that did not come along. */
static char *moved_path(const struct takeover *m, const char *path)
{
	AUTO(workspace_dir) struct workspace_dir own = {0};
	auto_free char *named = NULL, *to = NULL;
	auto_close int fd = -1;
	struct workspace_dir there;
	struct err ignored;

	if (!path_below(path, m->old_path))
		return NULL;
	to = path_join(m->here, path_rest(path, m->old_path));
	if (strcmp(path, m->old_path) == 0)
		return TAKE(to);
	fd = workspace_open(m->st->workspaces_fd, path, false, &ignored);
	if (fd >= 0 && workspace_load(fd, &named, &own, &ignored) == 0 &&
	    own.dir.ino &&
	    (workspace_dir_get(to, &there) < 0 ||
	     !meta_identity_maybe(&own.dir, &there.dir)))
		return NULL;
	return TAKE(to);
}

/* ---- runs ---- */

static bool is_root_of(const struct takeover *m, const struct session_root *r)
{
	return strcmp(r->path, m->old_path) == 0 &&
	       (!m->certain || meta_identity_maybe(&r->dir, &m->dir.dir));
}

/* Whether the directory is a root of the run: its project, or one of --cow. */
static bool is_run_of(const struct takeover *m, const struct session *s)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (is_root_of(m, &s->roots[i]))
			return true;
	return false;
}

/* Where another directory is when one above it and the project was renamed, to
 * free; NULL: nothing above both was. */
static char *path_beside(const struct takeover *m, const char *path)
{
	const char *old = m->old_path, *here = m->here;
	size_t a = strlen(old), b = strlen(here);
	auto_free char *above = NULL;

	while (a && b && old[a - 1] == here[b - 1]) {
		a--;
		b--;
	}
	/* "/x" of "/x/p" and "/y/p": whole names are equal from there on. */
	a += strcspn(old + a, "/");
	b += strcspn(here + b, "/");
	above = mem_strndup(old, a);
	return a && path_below(path, above)
		       ? mem_printf("%.*s%s", (int)b, here, path + a)
		       : NULL;
}

/* The home directory went along; to free. NULL: it did not. */
static char *moved_home(const struct takeover *m, const char *home)
{
	auto_free char *to =
		*home && access(home, F_OK) < 0 ? path_beside(m, home) : NULL;

	return to && m->st->home && strcmp(to, m->st->home) == 0 ? TAKE(to)
								 : NULL;
}

/* The snapshot beside a run may still be on its way: it has the old path. */
static int wait_for_runs(const struct takeover *m, struct session_list *list,
			 struct err *err)
{
	struct err ignored;
	size_t i;

	for (i = 0; i < list->count; i++) {
		struct session *s = &list->items[i];

		if (!is_run_of(m, s))
			continue;
		if (s->live)
			return fail(err, EBUSY,
				    "run %s is still going on in it",
				    session_label(s));
		if (session_base_pending(s))
			(void)session_base_whole(s, &ignored);
	}
	return 0;
}

static int move_run(struct takeover *m, const char *id, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	char *home;
	size_t i;

	if (session_open(m->st->runs_fd, id, true, &s, err) < 0)
		return -err->num;
	for (i = 0; i < s.root_count; i++) {
		struct session_root *root = &s.roots[i];
		char *path = moved_path(m, root->path);

		if (!path) {
			path = path_beside(m, root->path);
			if (path)
				names_add(&m->others, path);
			free(path);
			continue;
		}
		if (is_root_of(m, root)) {
			root->dir = m->now.dir;
			root->dev = m->dev;
		}
		free(root->path);
		root->path = path;
	}
	s.project = s.roots[0].path;
	home = moved_home(m, s.home);
	if (home) {
		free(s.home);
		s.home = s.roots[s.root_count].path = home;
	}
	m->pending += run_state_pending(s.state);
	return session_save(&s, err);
}

static int move_runs(struct takeover *m, const struct session_list *list,
		     struct err *err)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (is_run_of(m, &list->items[i]) &&
		    move_run(m, list->items[i].id, err) < 0)
			return -err->num;
	pending_index_drop(m->st->runs_fd);
	return 0;
}

/* ---- versions ---- */

static bool is_listed(const struct workspace_seqs *list, uint64_t seq)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->items[i] == seq)
			return true;
	return false;
}

/* Snapshots of another directory at the old path stay. */
static bool has_snapshot(const struct takeover *m, uint64_t seq)
{
	return !m->certain || is_listed(&m->dir.older, seq) ||
	       (seq >= m->dir.first && (!m->dir.end || seq < m->dir.end) &&
		!is_listed(&m->there.older, seq));
}

static int move_snapshot(struct takeover *m, struct store *store, uint64_t seq,
			 struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	char *path;
	int got = catalog_load(store, seq, &s, err);

	/* A damaged file is left for verify to report. */
	if (got == -ENOENT || got == -EBADMSG)
		return 0;
	if (got < 0)
		return got;
	path = moved_path(m, s.root_path);
	if (!path)
		return 0;
	free(s.root_path);
	s.root_path = path;
	m->versions += !snapshot_is_hidden(&s);
	*VEC_ADD(&m->moved) = seq;
	return strcmp(m->old_path, m->here) != 0
		       ? catalog_replace(store, &s, err)
		       : 0;
}

static int move_snapshots(struct takeover *m, struct err *err)
{
	struct store *store = NULL;
	auto_free uint64_t *seqs = NULL;
	size_t count = 0, i;
	int lock, got = store_open(&store, m->st->store_path, STORE_WRITE, err);

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	got = catalog_list(store, &seqs, &count, err);
	for (i = 0; got == 0 && i < count; i++)
		if (has_snapshot(m, seqs[i]))
			got = move_snapshot(m, store, seqs[i], err);
	lock = got < 0 ? got : store_commit_begin(store, err);
	if (lock >= 0) {
		catalog_drop_changed_paths(store);
		store_commit_end(store, lock);
	}
	store_free(&store);
	return lock < 0 ? lock : 0;
}

/* ---- the workspace ---- */

/* The number that the next snapshot gets, or a lower one. */
static uint64_t next_snapshot(const struct state *st)
{
	struct store *store = NULL;
	struct err ignored;
	uint64_t seq = 0;

	if (store_open(&store, st->store_path, STORE_READ, &ignored) < 0)
		return 0;
	(void)catalog_newest(store, &seq, &ignored);
	store_free(&store);
	return seq + 1;
}

/* The other directories of its actions: "other=BEFORE AFTER PATH". */
static int move_actions(const struct takeover *m, struct err *err)
{
	AUTO(record) struct record r = {0};
	bool any = false;
	size_t i;
	int got =
		record_load(m->workspace_fd, "actions", "actions", 1, &r, err);

	if (got < 0)
		return got == -ENOENT || got == -EBADMSG ? 0 : got;
	for (i = 0; i < r.count; i++) {
		char *value = r.items[i].value, *at = strchr(value, '/');
		auto_free char *to = NULL;

		if (!at || strcmp(r.items[i].key, "other") != 0)
			continue;
		to = moved_path(m, at) ?: moved_home(m, at);
		if (!to)
			continue;
		any = true;
		r.items[i].value =
			mem_printf("%.*s%s", (int)(at - value), value, to);
		free(value);
	}
	return any ? record_save(m->workspace_fd, "actions", "actions", 1, &r,
				 ATOMIC_DURABLE, err)
		   : 0;
}

/* The workspace goes along, with its log of actions. Last, since the search
 * finds its record. */
static int move_workspace(struct takeover *m, struct err *err)
{
	int workspaces = m->st->workspaces_fd;
	AUTO(workspace_dir) struct workspace_dir here = {0};
	struct workspace_dir dir = m->now;
	auto_free char *path = NULL;
	auto_close int fd = -1;

	if (move_actions(m, err) < 0)
		return -err->num;
	if (strcmp(m->old_path, m->here) == 0 && !m->dir.end) {
		m->dir.dir = m->now.dir;
		m->dir.git = m->now.git;
		return workspace_save(m->workspace_fd, m->here, &m->dir,
				      ATOMIC_DURABLE, err);
	}
	fd = workspace_open(workspaces, m->here, false, err);
	if (fd >= 0 && workspace_load(fd, &path, &here, err) < 0)
		return -err->num;
	/* The directory has records of its own by now: their log stays. */
	if (fd >= 0 && !meta_identity_other(&here.dir, &m->now.dir)) {
		m->dir.dir = m->dir.git = (struct dir_identity){0};
		return workspace_save(m->workspace_fd, m->old_path, &m->dir,
				      ATOMIC_DURABLE, err);
	}
	dir.first = next_snapshot(m->st);
	dir.older = m->moved;
	if ((fd >= 0 && workspace_set_aside(workspaces, fd, m->here, &here,
					    dir.first, err) < 0) ||
	    workspace_rename(workspaces, m->workspace_fd, m->here, err) < 0)
		return -err->num;
	return workspace_save(m->workspace_fd, m->here, &dir, ATOMIC_DURABLE,
			      err);
}

static int take(struct takeover *m, char **ret_text, struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	auto_close int lock = -1;
	auto_close int there =
		workspace_open(m->st->workspaces_fd, m->old_path, false, err);
	auto_free char *path = NULL;
	struct meta meta;

	if (there >= 0)
		(void)workspace_load(there, &path, &m->there, err);
	if (workspace_dir_get(m->here, &m->now) < 0 ||
	    meta_get(AT_FDCWD, m->here, &meta) < 0)
		return fail_errno(err, "%s", text_quote(m->here));
	m->dev = meta.dev;
	lock = workspace_lock(m->workspace_fd, false, text_quote(m->old_path),
			      err);
	if (lock < 0)
		return lock;
	if (session_list(m->st->runs_fd, false, &runs, err) < 0 ||
	    wait_for_runs(m, &runs, err) < 0 || move_snapshots(m, err) < 0 ||
	    move_runs(m, &runs, err) < 0 || move_workspace(m, err) < 0)
		return -err->num;
	*ret_text = mem_printf("%s, %s", text_count(m->pending, "pending run"),
			       text_count(m->versions, "snapshot"));
	state_log(m->st, "moved", "from", m->old_path, "to", m->here, NULL);
	return 0;
}

/* ---- search ---- */

/* Whether the directory of this identity is still at the path. */
static bool is_still_at(const char *path, const struct dir_identity *dir)
{
	struct workspace_dir there;
	struct err ignored;
	auto_free char *real = path_resolve(path, &ignored);

	return real && strcmp(real, path) == 0 &&
	       workspace_dir_get(path, &there) == 0 &&
	       meta_identity_maybe(&there.dir, dir);
}

static bool is_this_project(const struct workspace_dir *a,
			    const struct workspace_dir *b)
{
	return meta_identity_certain(&a->dir, &b->dir) ||
	       meta_identity_certain(&a->git, &b->git);
}

/* The project and the directories above it, up to the home directory. */
struct candidates {
	struct names paths;
	struct workspace_dir dirs[64];
};

static void find_candidates(const struct state *st, const char *project,
			    struct candidates *c)
{
	auto_free char *path = mem_strdup(project);

	while (c->paths.count < ARRAY_SIZE(c->dirs) && *path &&
	       strcmp(path, "/") != 0 &&
	       !(st->home && strcmp(path, st->home) == 0)) {
		char *above = path_parent(path);

		if (workspace_dir_get(path, &c->dirs[c->paths.count]) < 0)
			c->dirs[c->paths.count] = (struct workspace_dir){0};
		names_add(&c->paths, path);
		free(path);
		path = above;
	}
}

/* Compares one workspace with the candidates. The index of the candidate that
 * it belongs to; -1: to none. *maybe: the path of a project that the first
 * candidate may have been. */
static int compare_workspace(const struct workspace_dir *d, const char *path,
			     const struct candidates *c, char **maybe)
{
	size_t k;

	if (!d->dir.ino)
		return -1;
	/* The paths of other projects are looked at last: one may be on a
	 * server that does not answer. */
	for (k = 0; k < c->paths.count; k++) {
		if (is_this_project(d, &c->dirs[k]))
			return !d->end && is_still_at(path, &d->dir) ? -1
								     : (int)k;
		if (!k && !*maybe &&
		    meta_identity_maybe(&d->dir, &c->dirs[0].dir) &&
		    access(path, F_OK) < 0)
			*maybe = mem_strdup(path);
	}
	return -1;
}

static bool find_and_take(const struct state *st, const char *project)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct candidates c = {0};
	auto_free char *maybe = NULL, *text = NULL;
	struct err err;
	bool taken = false;
	size_t i;

	if (dirlist_read(st->workspaces_fd, &list, &err) < 0)
		return false;
	find_candidates(st, project, &c);
	for (i = 0; i < list.count && !taken; i++) {
		AUTO(takeover) struct takeover m = {.st = st, .certain = true};
		auto_free char *path = NULL;
		int k;

		m.workspace_fd =
			fd_open_dir(st->workspaces_fd, list.items[i].name);
		if (m.workspace_fd < 0 ||
		    workspace_load(m.workspace_fd, &path, &m.dir, &err) < 0)
			continue;
		k = compare_workspace(&m.dir, path, &c, &maybe);
		if (k < 0)
			continue;
		taken = true;
		m.old_path = path;
		m.here = c.paths.items[k];
		if (take(&m, &text, &err) < 0)
			report_warning("%s was %s, and its records are not "
				       "taken over: %s",
				       text_quote(m.here),
				       text_quote(m.old_path), err.text);
		else
			report_note("%s was %s: taken over: %s",
				    text_quote(m.here), text_quote(m.old_path),
				    text);
		for (k = 0; k < (int)m.others.count; k++)
			moved_project_find(st, m.others.items[k]);
	}
	if (!taken && maybe)
		report_note("this directory may have been %s: if so, `guard "
			    "repair --moved-from %s` takes over its runs and "
			    "versions",
			    text_quote(maybe), text_shell(maybe));
	names_free(&c.paths);
	return taken;
}

/* Another directory is at the path: its own records begin now, and those of the
 * earlier one wait until that is found. Not while an action is unfinished. */
static bool set_aside(const struct state *st, int fd, const char *project,
		      struct workspace_dir *dir)
{
	struct err ignored;
	auto_close int lock =
		workspace_lock(fd, false, text_quote(project), &ignored);

	return lock >= 0 && !fd_exists(fd, "journal") &&
	       !fd_exists(fd, "joined") &&
	       workspace_set_aside(st->workspaces_fd, fd, project, dir,
				   dir->end ?: next_snapshot(st),
				   &ignored) == 0;
}

static void begin_records(const struct state *st, const char *project,
			  struct workspace_dir *now)
{
	struct err ignored;
	auto_close int fd =
		workspace_open(st->workspaces_fd, project, true, &ignored);

	now->first = next_snapshot(st);
	if (fd >= 0)
		(void)workspace_save(fd, project, now, ATOMIC_NO_SYNC,
				     &ignored);
	report_note("%s is another directory than before: runs that began in "
		    "the earlier one are not applied to it",
		    text_quote(project));
}

static bool is_noted(const struct dir_identity *a, const struct dir_identity *b)
{
	return a->ino == b->ino && timestamp_compare(a->born, b->born) == 0;
}

void moved_project_find(const struct state *st, const char *project)
{
	AUTO(workspace_dir) struct workspace_dir noted = {0};
	auto_free char *path = NULL;
	struct workspace_dir now;
	struct err ignored;
	auto_close int fd =
		workspace_open(st->workspaces_fd, project, false, &ignored);

	if (workspace_dir_get(project, &now) < 0)
		return;
	if (fd < 0) {
		(void)find_and_take(st, project);
		return;
	}
	if (workspace_load(fd, &path, &noted, &ignored) < 0)
		return;
	/* Without a certain difference it is taken for the same directory. */
	if (!noted.dir.ino ||
	    (!noted.end && !meta_identity_other(&noted.dir, &now.dir))) {
		if (is_noted(&noted.dir, &now.dir) &&
		    is_noted(&noted.git, &now.git))
			return;
		noted.dir = now.dir;
		noted.git = now.git;
		(void)workspace_save(fd, project, &noted, ATOMIC_NO_SYNC,
				     &ignored);
	} else if (set_aside(st, fd, project, &noted) &&
		   !find_and_take(st, project)) {
		begin_records(st, project, &now);
	}
}

/* Opens the workspace that was set aside last of this path, or the present
 * one. */
static int open_earlier(const struct state *st, struct takeover *m,
			struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(st->workspaces_fd, &list, err) < 0)
		return -err->num;
	m->workspace_fd = -ENOENT;
	for (i = 0; i < list.count; i++) {
		AUTO(workspace_dir) struct workspace_dir d = {0};
		auto_free char *path = NULL;
		struct err ignored;
		auto_close int fd =
			fd_open_dir(st->workspaces_fd, list.items[i].name);

		if (fd < 0 || workspace_load(fd, &path, &d, &ignored) < 0 ||
		    strcmp(path, m->old_path) != 0 || d.end <= m->dir.end)
			continue;
		fd_close(&m->workspace_fd);
		m->workspace_fd = TAKE_FD(fd);
		workspace_dir_free(&m->dir);
		m->dir = d;
		d.older = (struct workspace_seqs){0};
	}
	return m->workspace_fd;
}

int moved_project_take(const struct state *st, const char *from, const char *to,
		       char **ret_text, struct err *err)
{
	AUTO(takeover)
	struct takeover m = {.st = st, .old_path = from, .here = to};
	auto_free char *path = NULL;

	m.workspace_fd = workspace_open(st->workspaces_fd, from, false, err);
	if (strcmp(from, to) != 0 && access(from, F_OK) == 0) {
		fd_close(&m.workspace_fd);
		m.certain = open_earlier(st, &m, err) >= 0;
		if (!m.certain)
			return fail(err, EEXIST,
				    "%s is still there: only a project that "
				    "was renamed can be taken over",
				    text_quote(from));
	}
	if (m.workspace_fd == -ENOENT)
		return fail(err, ENOENT,
			    "no project %s is known: `guard status --all` "
			    "lists the pending runs",
			    text_quote(from));
	if (m.workspace_fd < 0 ||
	    (!m.certain &&
	     workspace_load(m.workspace_fd, &path, &m.dir, err) < 0))
		return -err->num;
	return take(&m, ret_text, err);
}
