#include "guard/change/apply_commits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/worktrees.h"
#include "guard/state/report.h"
#include "restore/git/gitdir.h"
#include "restore/git/gitlock.h"
#include "snapshot/store/content.h"

#define GIT ".git"
#define HEADS "refs/heads/"
#define WORKTREES "worktrees"
#define LOG_MAX (256u << 20)

const char *apply_commits_branch(const struct githead *head)
{
	return head->branch ? head->branch + strlen(HEADS) : "HEAD";
}

char *apply_commits_head(const struct githead *head)
{
	return mem_strdup(head->branch ? text_quote(apply_commits_branch(head))
				       : "no branch");
}

void apply_commits_report_push(const struct session *s,
			       const struct change_list *list, const char *git)
{
	AUTO(gitdir) struct gitdir d = {0};
	AUTO(githead) struct githead head = {0};
	auto_free char *path = NULL;
	size_t i;

	if (!gitdir_find(s->project, &d) || !gitdir_head(&d, &head) ||
	    !head.branch || !gitdir_has_upstream(&d, head.branch))
		return;
	path = path_join(git, head.branch);
	for (i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0 &&
		    S_ISREG(list->items[i].now.mode))
			report_note("commits on %s, which has an upstream: "
				    "after guard apply --commits %s, git push",
				    text_quote(apply_commits_branch(&head)),
				    session_label(s));
}

bool apply_commits_seen(const struct session *s, const struct change_list *list,
			const char *git)
{
	auto_free char *refs = path_join(git, "refs");
	auto_free char *own = path_join(git, "HEAD");
	AUTO(githead) struct githead began = {0};
	bool detached = importer_began(s, &began) && !began.branch;
	const char *added = NULL;
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];
		bool is_new = c->kind == CHANGE_ADDED && S_ISDIR(c->now.mode);

		if ((added && path_below(c->path, added)) ||
		    (*git && !(c->flags & CHANGE_GIT)) ||
		    path_has_part(c->path, "logs"))
			continue;
		if (is_new && (strcmp(path_name(c->path), GIT) == 0 ||
			       strstr(c->path, "modules/")))
			added = c->path;
		else if (path_below(c->path, refs) ? !*git
			 : strstr(c->path, "refs/heads/")
				 ? true
				 : c->kind == CHANGE_MODIFIED &&
					   strcmp(path_name(c->path), "HEAD") ==
						   0 &&
					   (detached ||
					    strcmp(c->path, own) != 0))
			return true;
	}
	return false;
}

/* --- the states of both repositories --- */

/* Files of git that exist until the end of a merge, rebase or similar. */
static const char *const in_progress[] = {
	"MERGE_HEAD", "rebase-merge",	  "rebase-apply",
	"sequencer",  "CHERRY_PICK_HEAD", "REVERT_HEAD",
};
#define IN_PROGRESS ARRAY_SIZE(in_progress)

static bool is_in_progress(const char *dir)
{
	struct stat st;
	size_t i;

	for (i = 0; i < IN_PROGRESS; i++) {
		auto_free char *path = path_join(dir, in_progress[i]);

		if (lstat(path, &st) == 0)
			return true;
	}
	return false;
}

bool apply_commits_must_wait(const struct session *s,
			     const struct change_list *list)
{
	AUTO(gitdir) struct gitdir d = {0};
	size_t i, k;

	if (!gitdir_find(s->project, &d))
		return false;
	if (is_in_progress(d.own))
		return true;
	for (i = 0; i < list->count; i++)
		for (k = 0; k < IN_PROGRESS; k++)
			if (list->items[i].kind == CHANGE_ADDED &&
			    path_below(list->items[i].path, GIT) &&
			    strcmp(path_rest(list->items[i].path, GIT),
				   in_progress[k]) == 0)
				return true;
	return false;
}

/* A HEAD of a repository: the work tree's, or that of a linked one. */
struct place {
	struct importer_repository *repo;
	const char
		*own; /* the directory of HEAD below that of the repository */
	/* The repository's directory before the run, after it, and the user's;
	 * borrowed. */
	const struct entry *base, *want, *now;
};

/* The whole .git of the run can be applied if the user's is as the run found
 * it. */
static int fail_in_progress(const struct apply_plan *a, const struct place *p,
			    const char *whose, struct err *err)
{
	auto_free char *whole = NULL;

	if (!*p->repo->name && !p->repo->outside && !*p->own &&
	    entry_same_state(p->base, p->now))
		whole = mem_printf("; guard apply %s . .git applies the run's "
				   "whole repository",
				   session_label(&a->p->session));
	return fail(err, EBUSY,
		    "a merge, rebase or similar is in progress in %s: finish "
		    "or abort it first%s",
		    whose, whole ? whole : "");
}

static int check_states(const struct apply_plan *a, const struct place *p,
			struct err *err)
{
	auto_free char *dir = path_join(p->repo->git, p->own);
	size_t i;
	int got = 0;

	if (is_in_progress(dir))
		return fail_in_progress(a, p, "your repository", err);
	for (i = 0; got == 0 && i < IN_PROGRESS; i++) {
		auto_free char *path = path_join(p->own, in_progress[i]);
		AUTO(entry) struct entry e = {0};

		got = tree_lookup(a->c->store, p->want, path, &e, err);
	}
	return got > 0 ? fail_in_progress(a, p, "the run", err) : got;
}

static bool same_id(const struct githead *a, const struct githead *b)
{
	return gittips_compare_ids(&a->id, &b->id) == 0;
}

/* The run switched to another branch. */
static int check_new_branch(const struct apply_plan *a, const struct place *p,
			    const struct githead *base,
			    const struct githead *want, struct err *err)
{
	const char *run = session_label(&a->p->session);
	const char *name = want->branch + strlen(HEADS);
	struct gitid old;
	int got = githead_find(a->c->store, p->base, want->branch, &old, err);

	if (got == 0 && *old.hex)
		return fail(err, ENOTSUP,
			    "the run switched to %s, a branch that you had "
			    "before: guard import %s, then git merge "
			    "refs/guard/%s/heads/%s",
			    text_quote(name), run, a->p->session.id, name);
	if (got == 0 && same_id(want, base))
		return fail(err, ENODATA,
			    "run %s has no commits on its new branch %s: guard "
			    "apply %s applies its files",
			    run, text_quote(name), run);
	if (got == 0)
		got = githead_check_new(a->c->store, p->now, want->branch, err);
	if (got == -EEXIST)
		return err_context(err,
				   "the run's branch %s cannot be created "
				   "(guard import %s imports it)",
				   text_quote(name), run);
	return got;
}

static bool share_branch(const struct githead *a, const struct githead *b)
{
	return a->branch && b->branch ? strcmp(a->branch, b->branch) == 0
				      : a->branch == b->branch;
}

/* Where HEAD and its branch are: as the run found them, and moved by it. */
static int check_heads(const struct apply_plan *a, const struct place *p,
		       const struct githead *base, const struct githead *want,
		       const struct githead *now, struct err *err)
{
	const struct session *s = &a->p->session;
	const char *run = session_label(s), *id = s->id;
	auto_free char *name = apply_commits_head(now),
		       *begun = apply_commits_head(base);
	const char *ref = base->branch ? base->branch + 5 : "HEAD";
	bool at_end = share_branch(want, now) && same_id(want, now);

	/* An applied run has its commits in the base, too. */
	if (at_end && (!same_id(want, base) || s->state == RUN_APPLIED))
		return fail(err, EALREADY,
			    "%s is at the commit of run %s already",
			    now->branch ? name : "HEAD", run);
	if (!share_branch(base, now))
		return fail(err, EBUSY,
			    "HEAD was at %s when the run began and is at %s: "
			    "guard import %s, then git merge refs/guard/%s/%s",
			    begun, name, run, id, ref);
	if (!same_id(base, now))
		return fail(err, EBUSY,
			    "%s moved since the run began: guard import %s, "
			    "then git merge refs/guard/%s/%s",
			    now->branch ? name : "HEAD", run, id, ref);
	/* HEAD of a submodule is mostly detached. */
	if (!want->branch && base->branch && *p->repo->name)
		return 0;
	if (!want->branch && base->branch)
		return fail(err, ENOTSUP,
			    "the run detached HEAD: guard import %s, then git "
			    "merge refs/guard/%s/HEAD",
			    run, id);
	if (!share_branch(want, now))
		return check_new_branch(a, p, base, want, err);
	if (at_end)
		return fail(err, ENODATA,
			    "run %s has no commits on %s: guard apply %s "
			    "applies its files",
			    run, now->branch ? name : "HEAD", run);
	return 0;
}

/* git has checked the commit. */
static bool has_commit(const struct gitimport_list *list,
		       const struct githead *want)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->items[i].type, "commit") == 0 &&
		    gittips_compare_ids(&list->items[i].id, &want->id) == 0)
			return true;
	return false;
}

/* --- the repository outside of the project --- */

/* A root of the transaction that is none of the run: of the repository only the
 * files are read that a move needs. */
static struct changeset_root *outside_root(const struct apply_plan *a)
{
	return &a->change.roots[a->change.root_count];
}

static struct changeset_root *commits_root(const struct apply_plan *a,
					   const struct importer_repository *r)
{
	return r->outside ? outside_root(a) : &a->change.roots[r->root];
}

/* --- the trees --- */

/* A file of the repository in the tree of its root, to free. */
static char *git_path(const struct commits_move *m, const char *name)
{
	return path_join(m->repo->path, name);
}

static char *own_path(const struct commits_move *m, const char *name)
{
	auto_free char *path = path_join(m->own, name);

	return git_path(m, path);
}

/* 1: the user's file; 0: a new one with the owner and mode of HEAD. */
static int load_git_file(const struct commits_move *m,
			 struct tree_editor *editor, const char *path,
			 struct entry *ret, struct err *err)
{
	auto_free char *head = git_path(m, "HEAD");
	int got = tree_editor_get(editor, path, ret, err);

	if (got > 0 && S_ISREG(ret->mode))
		return 1;
	entry_free(ret);
	if (got >= 0)
		got = tree_editor_get(editor, head, ret, err);
	return got < 0 ? got : 0;
}

static int put_git_file(struct tree_editor *editor, const char *path,
			struct entry *e, struct err *err)
{
	e->link_group = 0;
	e->flags = 0;
	return tree_editor_put(editor, path, e, err);
}

/* Writes text to a file of the repository, with the attributes of the user's.
 */
static int put_text(struct apply_plan *a, const struct commits_move *m,
		    const char *path, const struct buf *text,
		    struct tree_editor *editor, struct err *err)
{
	AUTO(entry) struct entry e = {0};

	if (load_git_file(m, editor, path, &e, err) < 0 ||
	    content_put_bytes(a->c->store, text->data, text->len, &e.content,
			      err) < 0)
		return -err->num;
	e.size = text->len;
	e.mtime = timestamp_now();
	return put_git_file(editor, path, &e, err);
}

static int put_index(struct apply_plan *a, const struct commits_move *m,
		     struct tree_editor *editor, struct err *err)
{
	auto_free char *path = own_path(m, "index");
	auto_free char *dir = NULL;
	AUTO(entry) struct entry e = {0};
	int got = load_git_file(m, editor, path, &e, err);

	if (got < 0)
		return got;
	dir = path_join(m->repo->git, got ? m->own : "");
	/* The mtime stays: git compares it with the times of the files in the
	 * index, which are as old. */
	return gitimport_index(m->repo->im, a->c->store, dir, got ? &e : NULL,
			       &m->from.id, &m->to.id, &e, err) < 0
		       ? -err->num
		       : put_git_file(editor, path, &e, err);
}

/* Packed refs have no directories. */
static int put_missing_dirs(const struct commits_move *m,
			    struct tree_editor *editor, const char *path,
			    struct err *err)
{
	auto_free char *above = git_path(m, "refs");
	AUTO(entry) struct entry refs = {0};
	const char *at = path + strlen(above) + 1;
	int got = tree_editor_get(editor, above, &refs, err);

	while (got >= 0 && (at = strchr(at, '/'))) {
		auto_free char *dir = mem_strndup(path, (size_t)(at - path));
		AUTO(entry) struct entry e = {0};

		got = tree_editor_get(editor, dir, &e, err);
		if (got == 0)
			got = tree_editor_put_dir(editor, dir, &refs, err);
		at++;
	}
	return got < 0 ? got : 0;
}

static int put_branch(struct apply_plan *a, const struct commits_move *m,
		      struct tree_editor *editor, struct err *err)
{
	auto_free char *path = git_path(m, m->to.branch);
	AUTO(buf) struct buf text = {0};

	buf_printf(&text, "%s\n", m->to.id.hex);
	return put_missing_dirs(m, editor, path, err) < 0
		       ? -err->num
		       : put_text(a, m, path, &text, editor, err);
}

static int put_head(struct apply_plan *a, const struct commits_move *m,
		    struct tree_editor *editor, struct err *err)
{
	auto_free char *path = own_path(m, "HEAD");
	AUTO(buf) struct buf text = {0};

	buf_printf(&text, m->to.branch ? "ref: %s\n" : "%s\n",
		   m->to.branch ?: m->to.id.hex);
	return put_text(a, m, path, &text, editor, err);
}

/* A reflog that the user has gets a line, as by git reset. */
static int put_log(struct apply_plan *a, const struct commits_move *m,
		   const char *path, struct tree_editor *editor,
		   struct err *err)
{
	auto_free char *message = mem_printf("guard: apply --commits of run %s",
					     a->p->session.id);
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf text = {0};
	int got = tree_editor_get(editor, path, &e, err);

	if (got <= 0 || !S_ISREG(e.mode) || e.size > LOG_MAX)
		return got < 0 ? got : 0;
	if (e.content.type != OBJECT_NONE &&
	    content_append(a->c->store, &e.content, &text, err) < 0)
		return -err->num;
	gitimport_add_log(m->repo->im, a->c->state.home, &m->from.id, &m->to.id,
			  message, &text);
	return put_text(a, m, path, &text, editor, err);
}

static int put_logs(struct apply_plan *a, const struct commits_move *m,
		    struct tree_editor *editor, struct err *err)
{
	auto_free char *head = own_path(m, "logs/HEAD");
	auto_free char *name =
		m->to.branch ? path_join("logs", m->to.branch) : NULL;
	auto_free char *branch = name ? git_path(m, name) : NULL;

	return put_log(a, m, head, editor, err) < 0 ||
			       (branch &&
				put_log(a, m, branch, editor, err) < 0)
		       ? -err->num
		       : 0;
}

/* An entry of the run's administrative directory of a worktree. */
struct admin {
	const struct commits_move *move;
	struct tree_editor *editor;
};

/* guard has checked no index, and no repository of a submodule. */
static int put_admin(void *arg, const char *name, const struct entry *e,
		     struct err *err)
{
	const struct admin *w = arg;
	auto_free char *path = own_path(w->move, name);
	AUTO(entry) struct entry own = {0};

	if (path_below(name, "modules") || strcmp(name, "index") == 0 ||
	    !(S_ISDIR(e->mode) || S_ISREG(e->mode)))
		return 0;
	if (S_ISDIR(e->mode))
		return tree_editor_put_dir(w->editor, path, e, err);
	entry_copy(&own, e);
	return put_git_file(w->editor, path, &own, err);
}

/* A new worktree: its files are the run's, which guard has checked, and its
 * index is made. */
static int put_worktree(struct apply_plan *a, const struct commits_move *m,
			struct tree_editor *editor, struct err *err)
{
	struct store *store = a->c->store;
	const struct entry *want = &commits_root(a, m->repo)->want.root;
	struct admin w = {m, editor};
	auto_free char *above = git_path(m, WORKTREES);
	auto_free char *own = own_path(m, "");
	AUTO(entry) struct entry dir = {0}, admin = {0};

	if (tree_lookup(store, want, above, &dir, err) < 0 ||
	    tree_lookup(store, want, own, &admin, err) < 0 ||
	    tree_editor_put_dir(editor, above, &dir, err) < 0 ||
	    tree_each(store, &admin, put_admin, &w, err) < 0)
		return -err->num;
	if (!*m->to.id.hex)
		return 0;
	return put_index(a, m, editor, err) < 0 ||
			       (m->to.branch &&
				put_branch(a, m, editor, err) < 0)
		       ? -err->num
		       : 0;
}

static int put_move(struct apply_plan *a, const struct commits_move *m,
		    struct tree_editor *editor, struct err *err)
{
	auto_free char *own = m->worktree ? own_path(m, "") : NULL;

	if (own)
		return m->worktree->path ? put_worktree(a, m, editor, err)
					 : tree_editor_remove(editor, own, err);
	if (m->to.branch && put_branch(a, m, editor, err) < 0)
		return -err->num;
	if (m->apart)
		return 0;
	return put_index(a, m, editor, err) < 0 ||
			       ((m->is_new || !m->to.branch) &&
				put_head(a, m, editor, err) < 0)
		       ? -err->num
		       : put_logs(a, m, editor, err);
}

/* The user's repositories in one of the plan's trees; ac: with the run's
 * branches. */
static int put_root(struct apply_plan *a, const struct apply_commits *ac,
		    size_t index, struct entry *root, struct err *err)
{
	struct changeset_root *r = &a->change.roots[index];
	struct tree_editor *editor = tree_editor_new(a->c->store, root);
	char **gits = r->gits;
	size_t i;
	int got = 0;

	for (; got == 0 && gits && *gits; gits++) {
		AUTO(entry) struct entry git = {0};

		if (!**gits)
			continue;
		got = tree_lookup(a->c->store, &r->now.root, *gits, &git, err);
		if (got >= 0)
			got = got ? tree_editor_put(editor, *gits, &git, err)
				  : tree_editor_remove(editor, *gits, err);
	}
	for (i = 0; ac && got == 0 && i < ac->moves.count; i++)
		if (commits_root(a, ac->moves.items[i].repo) == r)
			got = put_move(a, &ac->moves.items[i], editor, err);
	return tree_editor_end(&editor, got, root, err);
}

/* Reads what moves in these repositories need. */
static int open_outside(struct apply_plan *a, const struct importer *imp,
			struct err *err)
{
	static const char *const files[] = {
		"HEAD",	       "index",	     "logs/HEAD", "logs/refs/heads",
		"packed-refs", "refs/heads",
	};
	struct changeset_root *root = outside_root(a);
	size_t i, k;

	for (i = 0; i < imp->items.count; i++) {
		const struct importer_repository *r = &imp->items.items[i];
		auto_free char *own = path_join(r->path, r->own);

		for (k = 0; r->outside && k < ARRAY_SIZE(files); k++) {
			auto_free char *path = path_join(r->path, files[k]);
			auto_free char *linked = path_join(own, files[k]);

			mem_list_add(&root->only, path);
			mem_list_add(&root->only, linked);
		}
	}
	if (!root->only)
		return 0;
	a->change.hidden = 1;
	root->prefix =
		changes_prefix(imp->items.items->git, a->p->session.home);
	return changeset_open_root(&a->change, a->change.root_count,
				   imp->items.items->git, err) < 0 ||
			       changeset_inspect_root(
				       &a->change, a->change.root_count,
				       "pre-apply", a->p->session.id, err) < 0
		       ? -err->num
		       : 0;
}

static int plan_outside(struct apply_plan *a, const struct apply_commits *ac,
			struct err *err)
{
	struct changeset_root *root = outside_root(a);
	const struct plan_options options = {
		.partial = true,
		.refuse_special = true,
		.base_notes = &root->now,
		.now_notes = &root->now,
	};

	entry_copy(&root->want.root, &root->now.root);
	return put_root(a, ac, a->change.root_count, &root->want.root, err) <
				       0 ||
			       changeset_plan_root(&a->change,
						   a->change.root_count, NULL,
						   &options, err) < 0
		       ? -err->num
		       : 0;
}

/* --- the moves --- */

static void move_free(struct commits_move *m)
{
	githead_free(&m->from);
	githead_free(&m->to);
	free(m->own);
}

void apply_commits_free(struct apply_commits *ac)
{
	size_t i;

	for (i = 0; i < ac->moves.count; i++)
		move_free(&ac->moves.items[i]);
	VEC_FREE(&ac->moves);
	commit_files_free(&ac->files);
	importer_free(&ac->importer);
}

/* The HEADs of a repository in a layer, which has changed files alone. Of a
 * submodule there no earlier state is known: it only moves on. */
static int complete_heads(const struct apply_plan *a, const struct place *p,
			  struct commits_move *m, struct githead *base,
			  struct err *err)
{
	int got = 0;

	if (*p->repo->name) {
		base->branch =
			m->from.branch ? mem_strdup(m->from.branch) : NULL;
		base->id = m->from.id;
	} else if (!importer_began(&a->p->session, base)) {
		return fail(err, ENOTSUP,
			    "an earlier guard recorded run %s without HEAD: "
			    "guard import %s",
			    session_label(&a->p->session),
			    session_label(&a->p->session));
	}
	if (!m->to.branch && !*m->to.id.hex && base->branch) {
		m->to.branch = mem_strdup(base->branch);
		got = githead_find(a->c->store, p->want, m->to.branch,
				   &m->to.id, err);
	}
	if (!*m->to.id.hex)
		m->to.id = base->id;
	return got;
}

static int make_move(struct apply_plan *a, const struct place *p,
		     struct commits_move *m, struct err *err)
{
	struct store *store = a->c->store;
	AUTO(githead) struct githead base = {0};

	if (githead_read(store, p->base, p->own, &base, err) < 0 ||
	    githead_read(store, p->want, p->own, &m->to, err) < 0 ||
	    githead_read(store, p->now, p->own, &m->from, err) < 0 ||
	    (p->repo->outside && complete_heads(a, p, m, &base, err) < 0) ||
	    check_heads(a, p, &base, &m->to, &m->from, err) < 0 ||
	    check_states(a, p, err) < 0)
		return -err->num;
	if (!has_commit(gitimport_listed(p->repo->im), &m->to))
		return fail(err, EBADMSG,
			    "the run's %s names no commit: guard import %s",
			    text_quote(m->to.branch ?: "HEAD"),
			    session_label(&a->p->session));
	m->is_new = !share_branch(&m->from, &m->to);
	if (gitimport_distance(p->repo->im, &m->from.id, &m->to.id,
			       &m->distance, err) < 0)
		return -err->num;
	return p->repo->outside && *p->repo->name && m->distance.dropped
		       ? fail(err, EBUSY, "%s has commits that the run lacks",
			      text_quote(apply_commits_branch(&m->from)))
		       : 0;
}

static int add_move(struct apply_plan *a, struct apply_commits *ac,
		    const struct place *p, struct err *err)
{
	struct commits_move m = {
		.repo = p->repo,
		.own = mem_strdup(p->own),
	};

	if (make_move(a, p, &m, err) < 0) {
		move_free(&m);
		return -err->num;
	}
	*VEC_ADD(&ac->moves) = m;
	return 0;
}

/* A branch that the run made together with a linked worktree is created; the
 * files of the worktree are no part of it. */
static int add_apart(struct apply_plan *a, struct apply_commits *ac,
		     const struct place *p, struct err *err)
{
	struct store *store = a->c->store;
	struct commits_move m = {.repo = p->repo, .apart = true};
	struct gitid old = {0};
	struct err ignored;
	bool taken =
		githead_read(store, p->want, p->own, &m.to, &ignored) < 0 ||
		!m.to.branch ||
		!has_commit(gitimport_listed(p->repo->im), &m.to) ||
		githead_find(store, p->base, m.to.branch, &old, &ignored) < 0 ||
		*old.hex ||
		githead_check_new(store, p->now, m.to.branch, &ignored) < 0;
	size_t i;

	for (i = 0; !taken && i < ac->moves.count; i++)
		taken = share_branch(&ac->moves.items[i].to, &m.to);
	if (taken ||
	    githead_read(store, p->now, p->repo->own, &m.from, err) < 0 ||
	    gitimport_distance(p->repo->im, &m.from.id, &m.to.id, &m.distance,
			       err) < 0) {
		move_free(&m);
		return taken ? 0 : -err->num;
	}
	m.own = mem_strdup(p->own);
	*VEC_ADD(&ac->moves) = m;
	return 0;
}

struct worktrees {
	struct apply_plan *a;
	struct apply_commits *ac;
	const struct place *of;
};

/* Whether the user's linked worktree is in one of the roots. */
static bool is_worktree_below(const struct apply_plan *a, const struct place *p)
{
	const struct session *s = &a->p->session;
	auto_free char *path = path_join(p->own, "gitdir");
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf text = {0};
	struct err ignored;

	return !p->repo->outside &&
	       tree_lookup(a->c->store, p->now, path, &e, &ignored) > 0 &&
	       S_ISREG(e.mode) && e.size < LOG_MAX &&
	       content_append(a->c->store, &e.content, &text, &ignored) == 0 &&
	       session_root_of(s, buf_text(&text)) < s->root_count;
}

/* Commits that do not move leave out their worktree. */
static void leave_committed(struct apply_plan *a,
			    const struct importer_repository *r,
			    const char *own, const struct err *why)
{
	struct changes_root *root = &a->changes.roots[r->root];
	size_t i;

	for (i = 0; i < root->worktrees.count; i++) {
		struct worktree *w = &root->worktrees.items[i];

		if (!w->commits || w->owner != r->root ||
		    strcmp(path_rest(w->admin, r->path), own) != 0)
			continue;
		report_warning("%s does not move: %s", text_quote(w->path),
			       why->text);
		w->left = true;
	}
}

static int visit_worktree(void *arg, const char *path, const struct entry *e,
			  struct err *err)
{
	struct worktrees *w = arg;
	struct place p = *w->of;
	auto_free char *own = path_join(WORKTREES, path);
	auto_free char *there = path_join(p.repo->git, own);
	struct stat st;
	struct err why;

	if (!*path || strchr(path, '/') || !S_ISDIR(e->mode) ||
	    strcmp(own, w->of->own) == 0)
		return 0;
	p.own = own;
	if (lstat(there, &st) < 0)
		return add_apart(w->a, w->ac, &p, err);
	if (is_worktree_below(w->a, &p) &&
	    add_move(w->a, w->ac, &p, &why) < 0 && why.num != ENODATA &&
	    why.num != EALREADY)
		leave_committed(w->a, p.repo, own, &why);
	return 0;
}

/* The moves of a repository. A negative errno: none of the work tree's HEAD. */
static int add_repository(struct apply_plan *a, struct apply_commits *ac,
			  struct importer_repository *r, struct err *err)
{
	struct store *store = a->c->store;
	const struct changeset_root *root = commits_root(a, r);
	AUTO(entry) struct entry base = {0}, want = {0}, now = {0}, made = {0};
	const struct place p = {r, r->own, &base, &want, &now};
	struct worktrees w = {a, ac, &p};
	struct err more;
	int got;

	if (r->outside) {
		base.mode = S_IFDIR;
		entry_copy(&want, &r->now);
	} else if (tree_lookup(store, &root->base.root, r->path, &base, err) <
			   0 ||
		   tree_lookup(store, &root->want.root, r->path, &want, err) <
			   0) {
		return -err->num;
	}
	if (tree_lookup(store, &root->now.root, r->path, &now, err) < 0)
		return -err->num;
	got = !*r->own && gitdir_is_bare(r->git)
		      ? fail(err, ENODATA, "%s is a bare repository",
			     text_quote(r->git))
		      : add_move(a, ac, &p, err);
	if (tree_lookup(store, &want, WORKTREES, &made, &more) < 0 ||
	    (S_ISDIR(made.mode) &&
	     tree_each(store, &made, visit_worktree, &w, &more) < 0)) {
		*err = more;
		return -err->num;
	}
	return got;
}

/* The .git has to be named, and is replaced by the user's. */
static void add_git(struct apply_plan *a, size_t index, const char *path)
{
	struct changeset_root *root = &a->change.roots[index];
	size_t len = path_part_end(path, GIT);
	auto_free char *top = mem_strndup(path, len ? len : strlen(path));

	if (!root->gits)
		mem_list_add(&root->gits, "");
	mem_list_add_once(&root->gits, top);
}

static int add_repositories(struct apply_plan *a, struct apply_commits *ac,
			    struct err *err)
{
	struct importer *imp = &ac->importer;
	const char *run = session_label(&a->p->session);
	size_t i;

	(void)fail(err, ENODATA,
		   "run %s has no commits: guard apply %s applies its files",
		   run, run);
	if (open_outside(a, imp, err) < 0)
		return -err->num;
	for (i = 0; i < imp->items.count; i++) {
		struct importer_repository *r = &imp->items.items[i];
		struct err other;
		int got = r->missing ? 0
				     : add_repository(a, ac, r,
						      *r->name ? &other : err);

		if (got == 0 || got == -ENODATA || got == -EALREADY)
			continue;
		if (!*r->name)
			return got;
		report_warning("%s does not move, its commits are imported: "
			       "%s",
			       text_quote(r->name), other.text);
	}
	if (ac->moves.count)
		return 0;
	return imp->fresh ? fail(err, ENODATA,
				 "run %s has no commits on a branch that can "
				 "move: guard import %s imports them, --ff "
				 "BRANCH moves a branch to them",
				 run, run)
			  : -err->num;
}

/* --- named worktrees --- */

/* The branch of a new one is created, unless the user has it as it is. */
static int add_named(struct apply_plan *a, struct apply_commits *ac,
		     const struct worktree *w, struct err *err)
{
	struct store *store = a->c->store;
	const struct changeset_root *root;
	AUTO(entry) struct entry want = {0}, now = {0};
	struct place p = {.base = &want, .want = &want, .now = &now};
	struct gitid is;
	struct commits_move *m;
	size_t i;
	int got;

	for (i = 0; i < ac->importer.items.count; i++) {
		struct importer_repository *r = &ac->importer.items.items[i];

		if (r->root == w->owner && strcmp(r->path, GIT) == 0)
			p.repo = r;
	}
	if (!p.repo || !p.repo->im)
		return fail(err, ENOTSUP,
			    "worktree %s is of a repository outside of the "
			    "project: guard import %s imports its commits",
			    text_quote(w->path ?: w->from),
			    session_label(&a->p->session));
	root = &a->change.roots[w->owner];
	m = VEC_ADD(&ac->moves);
	m->repo = p.repo;
	m->worktree = w;
	m->own = mem_strdup(path_rest(w->admin, GIT));
	p.own = m->own;
	got = tree_lookup(store, &root->want.root, GIT, &want, err);
	if (got >= 0)
		got = tree_lookup(store, &root->now.root, GIT, &now, err);
	if (got >= 0 && w->path)
		got = check_states(a, &p, err);
	if (got >= 0 && w->path)
		got = githead_read(store, &want, m->own, &m->to, err);
	if (got < 0 || !m->to.branch)
		return got < 0 ? got : 0;
	got = githead_find(store, &now, m->to.branch, &is, err);
	if (got == 0 && gittips_compare_ids(&is, &m->to.id) != 0)
		got = githead_check_new(store, &now, m->to.branch, err);
	return got == -EEXIST
		       ? err_context(
				 err,
				 "guard import %s imports the commits, --ff "
				 "BRANCH moves a branch to them",
				 session_label(&a->p->session))
		       : got;
}

/* The worktrees that are taken with their directories; ac NULL: only their
 * number. */
static int add_worktrees(struct apply_plan *a, struct apply_commits *ac,
			 struct err *err)
{
	int count = 0;
	size_t i, k;

	for (i = 0; i < a->changes.root_count; i++)
		for (k = 0; k < a->changes.roots[i].worktrees.count; k++) {
			const struct worktree *w =
				&a->changes.roots[i].worktrees.items[k];

			if (!w->named || worktrees_is_old(w))
				continue;
			if (ac && add_named(a, ac, w, err) < 0)
				return -err->num;
			count++;
		}
	return count;
}

/* The work tree of a submodule that the run added stays out: git clones it, and
 * does not clone into files. */
static int leave_submodule(struct apply_plan *a,
			   const struct importer_repository *r, struct err *err)
{
	struct changeset_root *root = &a->change.roots[r->root];
	const struct changes_root *changes = &a->changes.roots[r->root];
	struct tree_editor *editor =
		tree_editor_new(a->c->store, &root->want.root);
	auto_free char *end = mem_printf("%s\n", r->path);
	size_t i;
	int got = 0;

	for (i = 0; got == 0 && i < changes->list.count; i++) {
		const struct change *c = &changes->list.items[i];
		auto_free char *dir = path_parent(c->path);
		AUTO(entry) struct entry old = {0};
		AUTO(buf) struct buf text = {0};

		if (strcmp(path_name(c->path), GIT) != 0 || !*dir ||
		    !S_ISREG(c->now.mode) ||
		    changes_read(changes, c->path, S_IFREG, true, &text, err) <
			    0 ||
		    !path_ends(buf_text(&text), end))
			continue;
		got = tree_lookup(a->c->store, &root->base.root, dir, &old,
				  err);
		if (got == 0)
			got = tree_editor_remove(editor, dir, err);
	}
	return tree_editor_end(&editor, got < 0 ? got : 0, &root->want.root,
			       err);
}

/* Another version of the file, whose versions follow each other. */
static bool is_asked_for(const struct consent *c, const char *path,
			 const char *rule)
{
	size_t i = c->commits.count;

	while (i-- > 0 && strcmp(c->commits.items[i].path, path) == 0)
		if (strcmp(c->commits.items[i].rule, rule) == 0)
			return true;
	return false;
}

/* Files that the plan does not have, and its commits do. worktrees: the
 * branches of worktrees are applied without their files. */
static void need_consents(struct consent *c, const struct commit_files *files,
			  const char *project, bool worktrees)
{
	size_t i, k;

	for (i = 0; i < files->count; i++) {
		const struct commit_file *f = &files->items[i];

		for (k = 0; k < f->risks.count; k++)
			if ((worktrees || !f->in_worktree) &&
			    f->risks.items[k].level == RISK_CRITICAL &&
			    !is_asked_for(c, f->path, f->risks.items[k].id))
				*VEC_ADD(&c->commits) = (struct consent_commit){
					.path = mem_strdup(f->path),
					.rule = f->risks.items[k].id,
					.text = commit_files_sentence(
						f, &f->risks.items[k]),
				};
	}
	if (files->unread)
		*VEC_ADD(&c->commits) = (struct consent_commit){
			.path = path_join(project, GIT),
			.rule = COMMIT_FILES_UNREAD,
			.text = mem_printf("has %s that guard did not read",
					   text_count(files->unread, "commit")),
		};
}

static int make(struct apply_plan *a, struct apply_commits *ac, struct err *err)
{
	struct session *s = &a->p->session;
	struct changeset_root *project = &a->change.roots[0];
	struct store *store = a->c->store;
	AUTO(entry) struct entry before = {0}, after = {0};
	size_t i;

	if (s->live)
		return fail(err, EBUSY, "run %s is still running",
			    session_label(s));
	if (tree_lookup(store, &project->base.root, GIT, &before, err) < 0 ||
	    tree_lookup(store, &project->want.root, GIT, &after, err) < 0)
		return -err->num;
	if (!before.mode && after.mode)
		return fail(err, ENOTSUP,
			    "%s had no repository when run %s began: guard "
			    "apply %s . .git applies its files and its "
			    "repository",
			    text_quote(s->project), session_label(s),
			    session_label(s));
	if (importer_open(a->c, s, true, &ac->importer, err) < 0 ||
	    commit_files_find(a->c, s, &ac->importer, &ac->files, err) < 0)
		return -err->num;
	need_consents(&a->consent, &ac->files, s->project, a->commits);
	if (ac->importer.masked.count)
		return fail(err, EPERM,
			    "the run's commits change %s, which was not your "
			    "file in the run (masked, without secrets, or "
			    "guard's copy): guard import %s, then take the "
			    "other changes from refs/guard/%s",
			    text_quote(ac->importer.masked.items[0]),
			    session_label(s), s->id);
	if ((a->commits ? add_repositories(a, ac, err)
			: add_worktrees(a, ac, err)) < 0)
		return -err->num;
	for (i = 0; a->commits && i < ac->importer.items.count; i++)
		if (ac->importer.items.items[i].missing &&
		    leave_submodule(a, &ac->importer.items.items[i], err) < 0)
			return -err->num;
	add_git(a, 0, GIT);
	for (i = 0; i < ac->moves.count; i++)
		if (!ac->moves.items[i].repo->outside)
			add_git(a, ac->moves.items[i].repo->root,
				ac->moves.items[i].repo->path);
	for (i = 0; i < s->root_count; i++) {
		struct changeset_root *root = &a->change.roots[i];

		if (root->gits &&
		    (put_root(a, NULL, i, &root->base.root, err) < 0 ||
		     put_root(a, ac, i, &root->want.root, err) < 0))
			return -err->num;
	}
	if (a->change.hidden && plan_outside(a, ac, err) < 0)
		return -err->num;
	/* The layer has another .git. */
	a->changes.stored = false;
	return 0;
}

int apply_commits_make(struct apply_plan *a, struct apply_commits *ret,
		       struct err *err)
{
	bool named = add_worktrees(a, NULL, err);
	int got = 0;

	if (named && !a->may_be_partial)
		got = fail(err, EINVAL,
			   "a worktree is applied as a whole: guard apply %s "
			   "with its path and no other option; guard diff %s "
			   "with its path shows it",
			   session_label(&a->p->session),
			   session_label(&a->p->session));
	else if (named || a->commits)
		got = make(a, ret, err);
	return got < 0 ? err_context(err, "nothing is applied") : 0;
}

static int check_locks(const struct commits_move *m, struct err *err)
{
	auto_free char *own = path_join(m->repo->git, m->own);

	return (!m->apart && (gitlock_check(own, "index", err) < 0 ||
			      gitlock_check(own, "HEAD", err) < 0)) ||
			       (m->to.branch &&
				gitlock_check(m->repo->git, m->to.branch, err) <
					0)
		       ? -err->num
		       : 0;
}

int apply_commits_write(struct apply_plan *a, struct apply_commits *ac,
			struct err *err)
{
	size_t i;
	int got = 0;

	for (i = 0; got == 0 && i < ac->moves.count; i++)
		got = check_locks(&ac->moves.items[i], err);
	if (got == 0 && ac->importer.fresh)
		got = importer_write(a->c, &a->p->session, &ac->importer, err);
	return got < 0 ? err_context(err, "nothing is applied") : 0;
}
