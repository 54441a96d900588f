#include "guard/change/resolve_run.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/worktrees.h"
#include "guard/sandbox/freezer.h"
#include "guard/state/report.h"
#include "restore/plan/unit.h"
#include "overlay/session_list.h"

#define ID_LEAST 2

bool resolve_run_is_running(const struct session *s)
{
	return s->live && (s->state == RUN_NEW || s->state == RUN_RUNNING);
}

const char *resolve_run_state_text(const struct session *s)
{
	if (resolve_run_is_running(s))
		return freezer_is_paused(s->fd) ? "paused" : "running";
	if (s->live && s->state != RUN_APPLYING)
		return "in use";
	return run_state_name(s->state);
}

static int open_run(struct context *c, const char *id, bool lock,
		    struct session *ret, struct err *err)
{
	int got = session_open(c->state.runs_fd, id, lock, ret, err);
	AUTO(session) struct session held = SESSION_NONE;
	struct err ignored;

	if (got != -EBUSY ||
	    session_open(c->state.runs_fd, id, false, &held, &ignored) < 0)
		return got;
	if (!resolve_run_is_running(&held)) {
		auto_free char *holders = session_holders(&held);

		return fail(err, EBUSY,
			    "run %s is in use by %s: try again when it has "
			    "ended",
			    session_label(&held), holders);
	}
	return fail(err, EBUSY,
		    "run %s is still running: `guard stop %s` ends it, `guard "
		    "diff %s` shows its changes so far",
		    session_label(&held), session_label(&held),
		    session_label(&held));
}

/* The length of the run's root (project or additional root) at or above `here`;
 * 0: none. */
static size_t root_length(const struct session *s, const char *here)
{
	size_t i;

	for (i = 0; i < s->root_count; i++)
		if (path_below(here, s->roots[i].path))
			return strlen(s->roots[i].path);
	return 0;
}

/* The length of the nearest root at or above `here` that has a pending run. */
static size_t nearest_root(const struct session_list *list, const char *here)
{
	size_t most = 0, i;

	for (i = 0; i < list->count; i++)
		if (run_state_pending(list->items[i].state) &&
		    root_length(&list->items[i], here) > most)
			most = root_length(&list->items[i], here);
	return most;
}

int resolve_run_pending(struct context *c, struct session_list *ret,
			struct err *err)
{
	auto_free char *current = path_resolve(".", err);
	const char *here = current;
	size_t nearest, kept = 0, i;

	if (!here || session_list_pending(c->state.runs_fd, here, ret, err) < 0)
		return -err->num;
	nearest = nearest_root(ret, here);
	if (!nearest) {
		here = c->project;
		nearest = nearest_root(ret, here);
	}
	for (i = 0; i < ret->count; i++) {
		struct session *s = &ret->items[i];

		if (nearest && run_state_pending(s->state) &&
		    root_length(s, here) == nearest)
			ret->items[kept++] = *s;
		else
			session_free(s);
	}
	ret->count = kept;
	return 0;
}

/* Explains by the state of the last run here why no run is pending. */
static int fail_none_pending(struct context *c, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	size_t i;

	if (session_list(c->state.runs_fd, false, &list, err) < 0)
		return -err->num;
	for (i = list.count; i-- > 0;) {
		const struct session *s = &list.items[i];

		if (strcmp(s->project, c->project) == 0 &&
		    !run_state_pending(s->state))
			return fail(err, ENOENT,
				    "no run in %s is pending (the last one, "
				    "%s, is %s)",
				    text_quote(c->project), s->id,
				    run_state_name(s->state));
	}
	return fail(err, ENOENT,
		    "no run in %s is pending: `guard status --all` shows the "
		    "runs of every project",
		    text_quote(c->project));
}

/* The newest pending run. A newer run with an unreadable record could be the
 * one that the user means. */
static int open_newest(struct context *c, bool lock, struct session *ret,
		       struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	const struct session *newest;

	if (resolve_run_pending(c, &list, err) < 0)
		return -err->num;
	if (!list.count && list.unread.num) {
		*err = list.unread;
		return -err->num;
	}
	if (!list.count)
		return fail_none_pending(c, err);
	newest = &list.items[list.count - 1];
	if (list.unread.num && list.unread_time >= newest->began.sec)
		return fail(err, list.unread.num, "%s: name the run",
			    list.unread.text);
	return open_run(c, newest->id, lock, ret, err);
}

/* Whether a name means this run here: a name is that of one project only. In a
 * directory above the project it is known, too. */
static bool is_named_here(const struct context *c, const struct session *s)
{
	return c->project && (root_length(s, c->project) ||
			      path_below(s->project, c->project));
}

/* How well a run with the wanted name fits: pending runs before closed ones,
 * those of this project first. */
static int name_rank(const struct context *c, const struct session *s)
{
	bool here = strcmp(s->project, c->project) == 0;

	return (run_state_pending(s->state) ? 2 : 0) + here;
}

/* A pending run of this project. An undo can make a second one of a name
 * pending. */
#define RANK_HERE 3

/* Finds the run with this name in the list; the newest of the best rank.
 * Returns 1 with its id, 0: none. -EEXIST: several pending runs of this
 * project, or of projects below this directory, have it, or only one of another
 * project. */
static int find_name_in(struct context *c, const struct session_list *list,
			const char *name, char *ret_id, struct err *err)
{
	const struct session *far = NULL, *other = NULL, *found = NULL;
	int best = -1, again = 0;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct session *s = &list->items[i];
		const char *own = session_name(s);
		int rank;

		if (!own || strcmp(own, name) != 0)
			continue;
		if (!is_named_here(c, s)) {
			if (run_state_pending(s->state))
				far = s;
			continue;
		}
		rank = name_rank(c, s);
		if (rank < best)
			continue;
		again = rank == best ? again + 1 : 0;
		best = rank;
		other = found;
		found = s;
		(void)snprintf(ret_id, sizeof(s->id), "%s", s->id);
	}
	if (best == RANK_HERE && again)
		return fail(err, EEXIST,
			    "%d pending runs are called %s: give the id, %s, "
			    "%s%s",
			    again + 1, text_quote(name), other->id, found->id,
			    again > 1 ? " ..." : "");
	if (best == 2 && again)
		return fail(err, EEXIST,
			    "runs of several projects are called %s: give the "
			    "id, which `guard status --all` lists",
			    text_quote(name));
	if (best < 0 && far)
		return fail(err, EEXIST,
			    "no run of %s is called %s, only one of %s: give "
			    "its id, %s",
			    text_quote(c->project), text_quote(name),
			    text_quote(far->project), far->id);
	return best >= 0;
}

/* closed: closed runs count, too, when no pending run has the name. Each of
 * their records is read. */
static int find_name(struct context *c, const char *name, bool closed,
		     char *ret_id, struct err *err)
{
	AUTO(session_list) struct session_list pending = {0}, all = {0};
	int got;

	if (!session_name_ok(name))
		return 0;
	if (session_list_pending(c->state.runs_fd, NULL, &pending, err) < 0)
		return -err->num;
	got = find_name_in(c, &pending, name, ret_id, err);
	if (got > 0 || !closed)
		return got;
	if (session_list(c->state.runs_fd, false, &all, err) < 0)
		return -err->num;
	return find_name_in(c, &all, name, ret_id, err);
}

static int open_text(struct context *c, const char *text, bool closed,
		     bool lock, struct session *ret, struct err *err)
{
	char id[sizeof(ret->id)];
	int got;

	if (strcmp(text, "latest") == 0)
		return open_newest(c, lock, ret, err);
	got = find_name(c, text, closed, id, err);
	if (got < 0)
		return got;
	if (!got && strlen(text) < ID_LEAST)
		return fail(err, ENOENT,
			    "no such run: %s; `guard status --all` lists all "
			    "runs",
			    text_quote(text));
	return open_run(c, got ? id : text, lock, ret, err);
}

int resolve_run_text(struct context *c, const char *text, bool lock,
		     struct session *ret, struct err *err)
{
	return open_text(c, text, true, lock, ret, err);
}

/* Returns 1 when the operand names a run, which is open then; 0 for a path. */
static int resolve_operand(struct context *c, const char *operand, bool lock,
			   struct session *ret, struct err *err)
{
	struct stat st;
	bool is_file = lstat(operand, &st) == 0;
	int got;

	if (!*operand || strchr(operand, '/'))
		return 0;
	/* A file of that name is rather meant than a run of long ago. */
	got = open_text(c, operand, !is_file, lock, ret, err);
	if ((got == -ENOENT && strcmp(operand, "latest") != 0) ||
	    (got == -EEXIST && is_file))
		return 0;
	if (got < 0)
		return got;
	if (!is_file || strcmp(ret->id, operand) == 0)
		return 1;
	session_free(ret);
	*ret = SESSION_NONE;
	return fail(err, EINVAL,
		    "%s is a run and also a file here: write ./%s for the "
		    "file, or the run's full id",
		    text_quote(operand), operand);
}

char *resolve_run_path(const char *arg, struct err *err)
{
	const char *home = getenv("HOME");
	auto_free char *in_home = NULL;
	struct stat st;

	/* guard prints paths of the home this way, and in quotes no shell
	 * expands them. */
	if (strncmp(arg, "~/", 2) == 0 && home && lstat("~", &st) < 0) {
		in_home = path_join(home, arg + 2);
		return path_resolve_parent(in_home, err);
	}
	if (*arg)
		return path_resolve_parent(arg, err);
	(void)fail(err, EINVAL,
		   "the path is empty: write . for this directory");
	return NULL;
}

static int add_operand_path(struct resolved_run *p, const char *arg,
			    struct err *err)
{
	const struct session *s = &p->session;
	auto_free char *path = resolve_run_path(arg, err);
	const char *root = s->home;
	size_t i, k;

	if (!path)
		return -err->num;
	i = session_root_of(s, path);
	if (i < s->root_count)
		root = s->roots[i].path;
	else if (!root || !*root || !path_below(path, root))
		return fail(err, EXDEV,
			    "%s is neither a run nor a path in project %s of "
			    "run %s",
			    text_quote(arg), text_quote(s->project),
			    session_label(s));
	if (!p->paths) {
		p->path_lists = s->root_count + 1;
		p->paths = mem_zalloc(p->path_lists * sizeof(*p->paths));
	}
	mem_list_add(&p->paths[i], path_rest(path, root));
	/* A directory contains the mounts below it. */
	for (k = 1; i < s->root_count && k < s->root_count; k++)
		if (k != i && path_below(s->roots[k].path, path))
			mem_list_add(&p->paths[k], "");
	return 0;
}

int resolve_run_open(struct context *c, int count, char **argv, int dashed,
		     bool lock, struct resolved_run *ret, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	int got = 0, i;

	if (words_before_dashes(count, dashed)) {
		if (dashed == NO_DASHES)
			got = resolve_operand(c, argv[0], lock, &p.session,
					      err);
		else
			got = resolve_run_text(c, argv[0], lock, &p.session,
					       err) < 0
				      ? -err->num
				      : 1;
		if (got < 0)
			return got;
		p.named = got > 0;
	}
	if (!p.named && open_newest(c, lock, &p.session, err) < 0)
		return -err->num;
	for (i = p.named; i < count; i++)
		if (add_operand_path(&p, argv[i], err) < 0)
			return -err->num;
	*ret = p;
	p = (struct resolved_run)RESOLVED_RUN_NONE;
	return 0;
}

bool resolve_run_matches(const struct session *s, const char *glob)
{
	const char *name = session_name(s);

	return (name && fnmatch(glob, name, 0) == 0) ||
	       fnmatch(glob, s->id, 0) == 0;
}

bool resolve_run_is_glob(const char *text)
{
	struct stat st;

	return strpbrk(text, "*?[") && lstat(text, &st) < 0;
}

static int open_run_again(struct context *c, struct session *s, bool lock,
			  struct err *err)
{
	struct session again = SESSION_NONE;
	int got = open_run(c, s->id, lock, &again, err);

	if (got < 0)
		return got;
	session_free(s);
	*s = again;
	return 0;
}

int resolve_run_lock(struct context *c, struct resolved_run *p, struct err *err)
{
	return open_run_again(c, &p->session, true, err);
}

int resolve_run_reload(struct context *c, struct session *s, struct err *err)
{
	return open_run_again(c, s, false, err);
}

void resolve_run_unlock(struct resolved_run *p)
{
	lock_release(&p->session.lock_fd);
}

int resolve_run_relock(struct context *c, struct resolved_run *p,
		       struct err *err)
{
	AUTO(session) struct session locked = SESSION_NONE;

	if (open_run(c, p->session.id, true, &locked, err) < 0)
		return -err->num;
	if (locked.state != p->session.state)
		return fail(err, EBUSY,
			    "run %s is %s now: another guard process has "
			    "changed it",
			    session_label(&locked),
			    run_state_name(locked.state));
	p->session.lock_fd = TAKE_FD(locked.lock_fd);
	return 0;
}

bool resolve_run_has_paths(const struct resolved_run *p)
{
	return p->paths != NULL;
}

char **resolve_run_paths(const struct resolved_run *p, size_t index)
{
	return p->paths ? p->paths[index] : NULL;
}

char **resolve_run_home_paths(const struct resolved_run *p)
{
	return p->paths ? p->paths[p->path_lists - 1] : NULL;
}

bool resolve_run_has_extra_paths(const struct resolved_run *p)
{
	size_t i;

	for (i = 1; i + 1 < p->path_lists; i++)
		if (p->paths[i])
			return true;
	return false;
}

int resolve_run_check(const struct resolved_run *p, const struct changes *c,
		      struct err *err)
{
	const char *run = p->named ? session_label(&p->session) : NULL;
	size_t i;

	for (i = 0; i < c->root_count; i++)
		if (changes_check(&c->roots[i], resolve_run_paths(p, i), run,
				  err) < 0)
			return -err->num;
	return 0;
}

bool resolve_run_names_git(char *const *paths)
{
	for (; paths && *paths; paths++)
		if (path_has_part(*paths, ".git") ||
		    path_has_part(*paths, ".jj"))
			return true;
	return false;
}

bool resolve_run_is_complete(const struct resolved_run *p)
{
	size_t i;

	for (i = 0; i + 1 < p->path_lists; i++)
		if (!mem_list_has(p->paths[i], ""))
			return false;
	return true;
}

void resolve_run_filter(const struct resolved_run *p, struct changes *c)
{
	const char *const none[] = {NULL};
	size_t i;

	if (p->paths)
		worktrees_show(c);
	for (i = 0; p->paths && i < c->root_count; i++)
		changes_filter(&c->roots[i].list,
			       p->paths[i] ? (const char *const *)p->paths[i]
					   : none);
}

/* Whether a path is one of the named ones, or below it. */
static bool is_named(char *const *named, const char *path)
{
	for (; named && *named; named++)
		if (!**named || path_below(path, *named))
			return true;
	return false;
}

static bool names_half(const struct resolved_run *p, const struct changes *c)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].list.count; k++) {
			const struct change *item = &c->roots[i].list.items[k];

			if ((item->kind == CHANGE_ADDED ||
			     item->kind == CHANGE_DELETED) &&
			    is_named(p->paths[i], item->path))
				return true;
		}
	return false;
}

/* More halves than this are counted, not named. */
#define HALVES_SHOWN 5

/* The selection of both ends of moves. */
struct halves {
	const struct changes *changes;
	char ***lists; /* the named paths of each root */
	bool only;
	const char *done;
	size_t count;
};

static void report_half(const struct halves *h, const struct changes_across *m,
			bool from_named)
{
	const struct changes_root *roots = h->changes->roots;
	auto_free char *from =
		mem_printf("%s%s", roots[m->from_root].prefix, m->from);
	auto_free char *to =
		mem_printf("%s%s", roots[m->to_root].prefix, m->to);

	if (h->only)
		report_note(from_named ? "%s: its new name %s is still pending"
				       : "%s: its old name %s is still pending",
			    text_quote(from_named ? from : to),
			    text_quote(from_named ? to : from));
	else
		report_note(from_named ? "%s is %s too: it is the new name of "
					 "%s"
				       : "%s is %s too: it is the old name of "
					 "%s",
			    text_quote(from_named ? to : from), h->done,
			    text_quote(from_named ? from : to));
}

/* true: the paths have one end more. */
static bool add_half(struct halves *h, const struct changes_across *m)
{
	bool from = is_named(h->lists[m->from_root], m->from);

	if (from == is_named(h->lists[m->to_root], m->to))
		return false;
	if (h->count++ < HALVES_SHOWN)
		report_half(h, m, from);
	if (h->only)
		return false;
	if (from)
		mem_list_add(&h->lists[m->to_root], m->to);
	else
		mem_list_add(&h->lists[m->from_root], m->from);
	return true;
}

static bool is_database(const struct changes_root *root, const char *path)
{
	struct err ignored;
	auto_close int now = changes_open(root, path, true, &ignored);
	auto_close int old =
		now < 0 ? changes_open(root, path, false, &ignored) : -1;
	char head[UNIT_HEAD];
	ssize_t len = read(now < 0 ? old : now, head, sizeof(head));

	return len > 0 && unit_head_fits(UNIT_MAIN, head, (size_t)len);
}

static void report_unit(const struct changes_root *root, const char *path,
			const char *main, const char *done)
{
	auto_free char *member = mem_printf("%s%s", root->prefix, path);
	auto_free char *whole = mem_printf("%s%s", root->prefix, main);

	report_note("%s is %s too: it is a part of the database %s",
		    text_quote(member), done, text_quote(whole));
}

/* A path of a database names all members that the run has changed. true: the
 * paths have more members. */
static bool add_unit(struct halves *h, size_t root, const char *sidecar)
{
	const struct changes_root *of = &h->changes->roots[root];
	auto_free char *main = mem_strndup(sidecar, unit_stem(sidecar));
	bool named = false, more = false;
	size_t i;

	for (i = 0; *main && i < UNIT_MEMBERS; i++) {
		auto_free char *path = unit_path(main, (enum unit_member)i);

		named |= is_named(h->lists[root], path);
	}
	for (i = 0; named && i < UNIT_MEMBERS; i++) {
		auto_free char *path = unit_path(main, (enum unit_member)i);

		if (is_named(h->lists[root], path) ||
		    !changes_has(&of->list, path) || !is_database(of, main))
			continue;
		if (i != UNIT_SHM)
			report_unit(of, path, main, h->done);
		mem_list_add(&h->lists[root], path);
		more = true;
	}
	return more;
}

void resolve_run_add_halves(const struct changes *c, char ***lists, bool only,
			    const char *done)
{
	struct halves h = {c, lists, only, done, 0};
	bool more;
	size_t i, k;

	/* A directory of one move may contain ends of other moves. */
	do {
		more = false;
		for (i = 0; i < c->across.count; i++)
			more |= add_half(&h, &c->across.items[i]);
		for (i = 0; i < c->root_count; i++)
			for (k = 0; k < c->roots[i].list.move_count; k++) {
				const struct change_move *m =
					&c->roots[i].list.moves[k];
				const struct changes_across within = {
					i, i, m->from, m->to, true};

				more |= add_half(&h, &within);
			}
		for (i = 0; i < c->root_count; i++)
			for (k = 0; k < c->roots[i].list.count; k++)
				more |= add_unit(
					&h, i, c->roots[i].list.items[k].path);
	} while (more);
	if (h.count > HALVES_SHOWN)
		report_note("and the other names of %s",
			    text_count(h.count - HALVES_SHOWN, "moved file"));
}

static void add_below(char ***paths, const char *dir, const char *name)
{
	auto_free char *path = dir ? path_join(dir, name) : NULL;

	if (path)
		mem_list_add(paths, path);
}

/* A path that names a worktree, unless the user had it, names its files, its
 * .git and its directory in the repository. */
static void add_worktrees(struct resolved_run *p, struct changes *c,
			  const char *done)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].worktrees.count; k++) {
			struct worktree *w = &c->roots[i].worktrees.items[k];
			char ***owner = p->paths + w->owner;
			const char *path = w->path ?: w->from;

			w->named = worktrees_named(w, p->paths[i]);
			if (!w->named || worktrees_is_old(w))
				continue;
			if (!is_named(p->paths[i], path))
				report_note("the worktree %s is %s as a whole",
					    text_quote(path), done);
			add_below(&p->paths[i], w->path, "");
			add_below(&p->paths[i], w->path, ".git");
			add_below(&p->paths[i], w->from, "");
			add_below(&p->paths[i], w->from, ".git");
			if (w->outside)
				continue;
			add_below(owner, w->admin, "");
			/* Files that git obeys are named one by one. */
			add_below(owner, w->admin, "commondir");
			add_below(owner, w->admin, "config.worktree");
		}
}

void resolve_run_add_moves(struct resolved_run *p, struct changes *c,
			   const char *done)
{
	struct changes view;

	if (!p->paths)
		return;
	if (names_half(p, c))
		changes_find_moves(c);
	view = *c;
	if (p->within_roots)
		view.across.count = 0;
	resolve_run_add_halves(&view, p->paths, p->only, done);
	add_worktrees(p, c, done);
}

void resolved_run_free(struct resolved_run *p)
{
	size_t i;

	for (i = 0; i < p->path_lists; i++)
		mem_list_free(&p->paths[i]);
	free(p->paths);
	session_free(&p->session);
	*p = (struct resolved_run)RESOLVED_RUN_NONE;
}
