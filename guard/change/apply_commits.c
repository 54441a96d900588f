#include "guard/change/apply_commits.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/importer.h"
#include "overlay/layers.h"
#include "restore/git/gitindex.h"
#include "restore/git/gitlock.h"
#include "restore/entry_compare.h"
#include "snapshot/store/content.h"

#define GIT ".git"
#define HEADS "refs/heads/"
#define LOG_MAX (256u << 20)

void apply_commits_free(struct apply_commits *ac)
{
	gitimport_free(&ac->import);
	githead_free(&ac->from);
	githead_free(&ac->to);
}

const char *apply_commits_branch(const struct apply_commits *ac)
{
	return ac->to.branch + strlen(HEADS);
}

/* --- the states of both repositories --- */

/* Files of git that exist until the end of a merge, rebase or similar. */
static const char *const in_progress[] = {
	GIT "/MERGE_HEAD", GIT "/rebase-merge",	    GIT "/rebase-apply",
	GIT "/sequencer",  GIT "/CHERRY_PICK_HEAD", GIT "/REVERT_HEAD",
};
#define IN_PROGRESS (sizeof(in_progress) / sizeof(*in_progress))

bool apply_commits_must_wait(const struct session *s,
			     const struct change_list *list)
{
	size_t i, k;

	for (i = 0; i < IN_PROGRESS; i++) {
		auto_free char *path = path_join(s->project, in_progress[i]);
		struct stat st;

		if (lstat(path, &st) == 0)
			return true;
	}
	for (i = 0; i < list->count; i++)
		for (k = 0; k < IN_PROGRESS; k++)
			if (list->items[i].kind == CHANGE_ADDED &&
			    strcmp(list->items[i].path, in_progress[k]) == 0)
				return true;
	return false;
}

static int is_in_progress(struct store *store, const struct entry *root,
			  struct err *err)
{
	size_t i;
	int got = 0;

	for (i = 0; got == 0 && i < IN_PROGRESS; i++) {
		AUTO(entry) struct entry e = {0};

		got = tree_lookup(store, root, in_progress[i], &e, err);
	}
	return got;
}

/* The whole .git of the run can be applied if the user's is as the run found
 * it. */
static int fail_in_progress(const struct apply_plan *a, const char *whose,
			    struct err *err)
{
	const struct changeset_root *root = &a->change.roots[0];
	AUTO(entry) struct entry before = {0}, now = {0};
	auto_free char *whole = NULL;

	if (tree_lookup(a->c->store, &root->base.root, GIT, &before, err) < 0 ||
	    tree_lookup(a->c->store, &root->now.root, GIT, &now, err) < 0)
		return -err->num;
	if (entry_same_state(&before, &now))
		whole = mem_printf("; guard apply %s . .git applies the run's "
				   "whole repository",
				   session_label(&a->p->session));
	return fail(err, EBUSY,
		    "a merge, rebase or similar is in progress in %s: finish "
		    "or abort it first%s",
		    whose, whole ? whole : "");
}

/* git status writes the index of a submodule, too. Returns -EEXIST for another
 * change. */
static int find_submodule_change(void *arg, const char *path,
				 const struct entry *was,
				 const struct entry *now, struct err *err)
{
	int got;

	if (!was || !now || (was->mode & S_IFMT) != (now->mode & S_IFMT))
		return fail(err, EEXIST, "%s", text_quote(path));
	if (S_ISDIR(now->mode))
		return 0;
	got = entry_same_content(was, now);
	if (!got && strcmp(path_name(path), "index") == 0)
		got = gitindex_same(arg, was, now, err);
	return got == 0	 ? fail(err, EEXIST, "%s", text_quote(path))
	       : got < 0 ? got
			 : 0;
}

/* The commits of submodules are in repositories of their own. */
static int check_submodules(const struct apply_plan *a,
			    const struct entry *base, const struct entry *want,
			    struct err *err)
{
	AUTO(entry) struct entry old = {0}, now = {0};
	struct store *store = a->c->store;
	int got;

	if (tree_lookup(store, base, GIT "/modules", &old, err) < 0 ||
	    tree_lookup(store, want, GIT "/modules", &now, err) < 0)
		return -err->num;
	got = tree_diff(store, &old, &now, find_submodule_change, store, err);
	return got != -EEXIST
		       ? got
		       : fail(err, ENOTSUP,
			      "the run changed the repository of a submodule, "
			      "which --commits does not support: guard import "
			      "%s",
			      session_label(&a->p->session));
}

static int check_states(const struct apply_plan *a, const struct entry *base,
			const struct entry *want, const struct entry *now,
			struct err *err)
{
	int got = is_in_progress(a->c->store, now, err);

	if (got > 0)
		return fail_in_progress(a, "your repository", err);
	if (got == 0)
		got = is_in_progress(a->c->store, want, err);
	if (got > 0)
		return fail_in_progress(a, "the run", err);
	return got < 0 ? got : check_submodules(a, base, want, err);
}

static bool same_id(const struct githead *a, const struct githead *b)
{
	return gittips_compare_ids(&a->id, &b->id) == 0;
}

/* The run switched to another branch. */
static int check_new_branch(const struct apply_plan *a,
			    const struct githead *base,
			    const struct githead *want, struct err *err)
{
	const struct changeset_root *root = &a->change.roots[0];
	const char *run = session_label(&a->p->session);
	const char *name = want->branch + strlen(HEADS);
	struct gitid old;
	int got = githead_find(a->c->store, &root->base.root, want->branch,
			       &old, err);

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
		got = githead_check_new(a->c->store, &root->now.root,
					want->branch, err);
	if (got == -EEXIST)
		return err_context(err,
				   "the run's branch %s cannot be created "
				   "(guard import %s imports it)",
				   text_quote(name), run);
	return got;
}

/* Where HEAD and its branch are: as the run found them, and moved by it. */
static int check_heads(const struct apply_plan *a, const struct githead *base,
		       const struct githead *want, const struct githead *now,
		       struct err *err)
{
	const struct session *s = &a->p->session;
	const char *run = session_label(s), *id = s->id, *name;
	bool at_end;

	if (!now->branch || !base->branch)
		return fail(err, ENOTSUP,
			    "HEAD is detached: guard import %s, then git merge "
			    "a ref below refs/guard/%s",
			    run, id);
	name = now->branch + strlen(HEADS);
	at_end = want->branch && strcmp(want->branch, now->branch) == 0 &&
		 same_id(want, now);
	/* An applied run has its commits in the base, too. */
	if (at_end && (!same_id(want, base) || s->state == RUN_APPLIED))
		return fail(err, EALREADY,
			    "%s is at the commit of run %s already",
			    text_quote(name), run);
	if (strcmp(base->branch, now->branch) != 0)
		return fail(err, EBUSY,
			    "HEAD was at %s when the run began and is at %s: "
			    "guard import %s, then git merge refs/guard/%s/%s",
			    text_quote(base->branch + strlen(HEADS)),
			    text_quote(name), run, id, base->branch + 5);
	if (!same_id(base, now))
		return fail(err, EBUSY,
			    "%s moved since the run began: guard import %s, "
			    "then git merge refs/guard/%s/%s",
			    text_quote(name), run, id, now->branch + 5);
	if (!want->branch)
		return fail(err, ENOTSUP,
			    "the run detached HEAD: guard import %s, then git "
			    "merge refs/guard/%s/HEAD",
			    run, id);
	if (strcmp(want->branch, now->branch) != 0)
		return check_new_branch(a, base, want, err);
	if (at_end)
		return fail(err, ENODATA,
			    "run %s has no commits on %s: guard apply %s "
			    "applies its files",
			    run, text_quote(name), run);
	return 0;
}

/* git has checked the commit. */
static bool has_commit(const struct gitimport_list *list,
		       const struct githead *want)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct gitimport_ref *r = &list->items[i];

		if (strcmp(r->name, want->branch + 5) == 0 &&
		    strcmp(r->type, "commit") == 0 &&
		    gittips_compare_ids(&r->id, &want->id) == 0)
			return true;
	}
	return false;
}

/* --- the trees --- */

/* 1: the user's file; 0: a new one with the owner and mode of HEAD. */
static int load_git_file(struct tree_editor *editor, const char *path,
			 struct entry *ret, struct err *err)
{
	int got = tree_editor_get(editor, path, ret, err);

	if (got > 0 && S_ISREG(ret->mode))
		return 1;
	entry_free(ret);
	if (got >= 0)
		got = tree_editor_get(editor, GIT "/HEAD", ret, err);
	return got < 0 ? got : 0;
}

static int put_git_file(struct tree_editor *editor, const char *path,
			struct entry *e, struct err *err)
{
	e->link_group = 0;
	e->flags = 0;
	return tree_editor_put(editor, path, e, err);
}

static int put_text(struct apply_plan *a, const char *path, struct entry *e,
		    const struct buf *text, struct tree_editor *editor,
		    struct err *err)
{
	if (content_put_bytes(a->c->store, text->data, text->len, &e->content,
			      err) < 0)
		return -err->num;
	e->size = text->len;
	e->mtime = timestamp_now();
	return put_git_file(editor, path, e, err);
}

static int put_index(struct apply_plan *a, struct apply_commits *ac,
		     struct tree_editor *editor, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	int got = load_git_file(editor, GIT "/index", &e, err);

	if (got < 0)
		return got;
	/* The mtime stays: git compares it with the times of the files in the
	 * index, which are as old. */
	return gitimport_index(ac->import, a->c->store, got ? &e : NULL,
			       &ac->from.id, &ac->to.id, &e, err) < 0
		       ? -err->num
		       : put_git_file(editor, GIT "/index", &e, err);
}

/* Packed refs have no directories. */
static int put_missing_dirs(struct tree_editor *editor, const char *path,
			    struct err *err)
{
	AUTO(entry) struct entry refs = {0};
	const char *at = path + strlen(GIT "/" HEADS);
	int got = tree_editor_get(editor, GIT "/refs", &refs, err);

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

static int put_branch(struct apply_plan *a, const struct apply_commits *ac,
		      struct tree_editor *editor, struct err *err)
{
	auto_free char *path = path_join(GIT, ac->to.branch);
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf text = {0};

	buf_printf(&text, "%s\n", ac->to.id.hex);
	return put_missing_dirs(editor, path, err) < 0 ||
			       load_git_file(editor, path, &e, err) < 0
		       ? -err->num
		       : put_text(a, path, &e, &text, editor, err);
}

static int put_head(struct apply_plan *a, const struct apply_commits *ac,
		    struct tree_editor *editor, struct err *err)
{
	AUTO(entry) struct entry e = {0};
	AUTO(buf) struct buf text = {0};

	buf_printf(&text, "ref: %s\n", ac->to.branch);
	return load_git_file(editor, GIT "/HEAD", &e, err) < 0
		       ? -err->num
		       : put_text(a, GIT "/HEAD", &e, &text, editor, err);
}

/* A reflog that the user has gets a line, as by git reset. */
static int put_log(struct apply_plan *a, struct apply_commits *ac,
		   const char *name, struct tree_editor *editor,
		   struct err *err)
{
	auto_free char *path = path_join(GIT "/logs", name);
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
	gitimport_add_log(ac->import, a->c->state.home, &ac->from.id,
			  &ac->to.id, message, &text);
	return put_text(a, path, &e, &text, editor, err);
}

/* The user's .git in one of the plan's trees; ac: with the run's branch. */
static int put_git(struct apply_plan *a, struct apply_commits *ac,
		   const struct entry *git, struct entry *root, struct err *err)
{
	struct tree_editor *editor = tree_editor_new(a->c->store, root);
	int got = tree_editor_put(editor, GIT, git, err);

	if (got == 0 && ac)
		got = put_index(a, ac, editor, err);
	if (got == 0 && ac)
		got = put_branch(a, ac, editor, err);
	if (got == 0 && ac && ac->is_new)
		got = put_head(a, ac, editor, err);
	if (got == 0 && ac)
		got = put_log(a, ac, "HEAD", editor, err);
	if (got == 0 && ac)
		got = put_log(a, ac, ac->to.branch, editor, err);
	return tree_editor_end(&editor, got, root, err);
}

static int make(struct apply_plan *a, struct apply_commits *ac, struct err *err)
{
	struct session *s = &a->p->session;
	struct changeset_root *root = &a->change.roots[0];
	struct store *store = a->c->store;
	AUTO(githead) struct githead base = {0};
	AUTO(entry) struct entry git = {0}, before = {0}, after = {0};

	if (s->live)
		return fail(err, EBUSY, "run %s is still running",
			    session_label(s));
	if (record_get(&s->more, LAYERS_GIT))
		return fail(err, ENOTSUP,
			    "%s is a linked worktree or a submodule, which "
			    "--commits does not support: guard import %s",
			    text_quote(s->project), session_label(s));
	if (tree_lookup(store, &root->base.root, GIT, &before, err) < 0 ||
	    tree_lookup(store, &root->want.root, GIT, &after, err) < 0)
		return -err->num;
	if (!before.mode && after.mode)
		return fail(err, ENOTSUP,
			    "%s had no repository when run %s began: guard "
			    "apply %s . .git applies its files and its "
			    "repository",
			    text_quote(s->project), session_label(s),
			    session_label(s));
	if (githead_read(store, &root->base.root, &base, err) < 0 ||
	    githead_read(store, &root->want.root, &ac->to, err) < 0 ||
	    githead_read(store, &root->now.root, &ac->from, err) < 0 ||
	    check_heads(a, &base, &ac->to, &ac->from, err) < 0 ||
	    check_states(a, &root->base.root, &root->want.root, &root->now.root,
			 err) < 0 ||
	    importer_open(a->c, s, true, &ac->import, err) < 0)
		return -err->num;
	if (!has_commit(gitimport_listed(ac->import), &ac->to))
		return fail(err, EBADMSG,
			    "the run's %s names no commit: guard import %s",
			    text_quote(ac->to.branch), session_label(s));
	ac->is_new = strcmp(ac->from.branch, ac->to.branch) != 0;
	if (gitimport_distance(ac->import, &ac->from.id, &ac->to.id,
			       &ac->distance, err) < 0 ||
	    tree_lookup(store, &root->now.root, GIT, &git, err) < 0 ||
	    put_git(a, NULL, &git, &root->base.root, err) < 0 ||
	    put_git(a, ac, &git, &root->want.root, err) < 0)
		return -err->num;
	/* The layer has another .git. */
	a->changes.stored = false;
	return 0;
}

int apply_commits_make(struct apply_plan *a, struct apply_commits *ret,
		       struct err *err)
{
	return make(a, ret, err) < 0 ? err_context(err, "nothing is applied")
				     : 0;
}

int apply_commits_write(struct apply_plan *a, struct apply_commits *ac,
			struct err *err)
{
	auto_free char *git = path_join(a->p->session.project, GIT);

	if (gitlock_check(git, "index", err) < 0 ||
	    gitlock_check(git, "HEAD", err) < 0 ||
	    gitlock_check(git, ac->to.branch, err) < 0 ||
	    (gitimport_listed(ac->import)->fresh &&
	     importer_write(a->c, &a->p->session, ac->import, err) < 0))
		return err_context(err, "nothing is applied");
	return 0;
}
