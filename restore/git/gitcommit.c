#include "restore/git/gitcommit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gitchanges.h"
#include "restore/git/gitclean.h"
#include "restore/git/gitsign.h"

#define HEADS "refs/heads/"
/* libgit2's own object stores have 1 and 2. */
#define FIRST_OF_ALL 1000

struct gitcommit {
	const struct libgit *git;
	git_repository *repo;
	git_commit *tip; /* NULL: the branch is to begin */
	git_tree *tree; /* of it, or NULL */
	char *ref;
	bool head; /* HEAD's branch */
	bool index; /* can be read */
	struct gitchanges changes;
	git_oid id;
	char hex[GIT_OID_HEXSZ + 1];
};

void gitcommit_free(struct gitcommit **pc)
{
	struct gitcommit *c = *pc;

	if (!c)
		return;
	gitchanges_done(&c->changes);
	c->git->tree_free(c->tree);
	c->git->commit_free(c->tip);
	c->git->repository_free(c->repo);
	libgit_home(c->git, NULL);
	free(c->ref);
	free(c);
	*pc = NULL;
}

/* --- the branch --- */

static int open_repository(struct gitcommit *c, const char *path,
			   struct err *err)
{
	int got = c->git->repository_open_ext(
		&c->repo, path, GIT_REPOSITORY_OPEN_NO_SEARCH, NULL);

	if (got == GIT_ENOTFOUND)
		return fail(err, ENOENT,
			    "%s is no git repository: there is nothing to "
			    "commit to",
			    text_quote(path));
	if (got < 0)
		(void)libgit_failed("the repository cannot be opened", err);
	if (got < 0 && strstr(err->text, "extensions.objectformat"))
		return fail(err, ENOTSUP,
			    "it uses SHA-256: guard commits to SHA-1 "
			    "repositories only");
	return got < 0 ? -err->num : 0;
}

/* What is made from here on goes with the repository's handle. */
static int keep_in_memory(struct gitcommit *c, struct err *err)
{
	git_odb_backend *memory = NULL;
	git_odb *odb = NULL;
	int got = c->git->repository_odb(&odb, c->repo);

	if (got == 0)
		got = c->git->mempack_new(&memory);
	if (got == 0)
		got = c->git->odb_add_backend(odb, memory, FIRST_OF_ALL);
	c->git->odb_free(odb);
	return got < 0 ? libgit_failed("keep objects in memory", err) : 0;
}

/* HEAD's branch, also when it is yet to begin. */
static int find_head(struct gitcommit *c, struct err *err)
{
	git_reference *head = NULL;
	const char *target = NULL;

	if (c->git->reference_lookup(&head, c->repo, "HEAD") < 0)
		return libgit_failed("HEAD", err);
	target = c->git->reference_symbolic_target(head);
	c->ref = mem_strdup(target);
	c->git->reference_free(head);
	c->head = true;
	if (!c->ref)
		return fail(err, ENODATA,
			    "HEAD is on no branch: name one with --branch");
	if (c->git->repository_state(c->repo) != GIT_REPOSITORY_STATE_NONE)
		return fail(err, ENODATA,
			    "a merge, rebase or the like is going on in the "
			    "repository: end it, or name a --branch");
	return 0;
}

static int name_branch(struct gitcommit *c, const char *branch, struct err *err)
{
	int valid = 0;

	c->ref = mem_printf(HEADS "%s", branch);
	/* To git, @ is HEAD. */
	if (c->git->branch_name_is_valid(&valid, branch) < 0 || !valid ||
	    strcmp(branch, "@") == 0)
		return fail(err, EINVAL, "%s is no name for a branch",
			    text_quote(branch));
	return 0;
}

static int in_the_way(const char *ref, const char *other, struct err *err)
{
	return fail(err, EEXIST,
		    "there is a branch %s, beside which git keeps no %s: name "
		    "another one",
		    text_quote(other + strlen(HEADS)),
		    text_quote(ref + strlen(HEADS)));
}

/* To git a branch's name is a file's: none is a folder above another. */
static int fits_others(struct gitcommit *c, struct err *err)
{
	auto_free char *below = mem_printf("%s/*", c->ref);
	auto_free char *above = mem_strdup(c->ref);
	git_reference_iterator *i = NULL;
	const char *name;
	char *slash;
	int got = 0;

	while ((slash = strrchr(above, '/')) > above + strlen(HEADS) - 1) {
		git_oid id;

		*slash = '\0';
		if (c->git->reference_name_to_id(&id, c->repo, above) == 0)
			return in_the_way(c->ref, above, err);
	}
	if (c->git->reference_iterator_glob_new(&i, c->repo, below) == 0 &&
	    c->git->reference_next_name(&name, i) == 0)
		got = in_the_way(c->ref, name, err);
	c->git->reference_iterator_free(i);
	return got;
}

static int find_tip(struct gitcommit *c, struct err *err)
{
	git_reference *ref = NULL;
	git_oid id;
	int got = c->git->reference_lookup(&ref, c->repo, c->ref);

	if (got == 0 && !c->head && c->git->branch_is_checked_out(ref)) {
		c->git->reference_free(ref);
		return fail(err, EEXIST,
			    "%s is checked out: name another branch, or leave "
			    "--branch away to apply and commit there",
			    text_quote(c->ref));
	}
	c->git->reference_free(ref);
	if (got != 0 && got != GIT_ENOTFOUND)
		return libgit_failed(c->ref, err);
	if (got != 0 && !c->head && fits_others(c, err) < 0)
		return -err->num;
	/* A new branch begins where HEAD is. */
	got = c->git->reference_name_to_id(&id, c->repo,
					   got == 0 ? c->ref : "HEAD");
	if (got == GIT_ENOTFOUND || got == GIT_EUNBORNBRANCH)
		return 0;
	if (got < 0 || c->git->commit_lookup(&c->tip, c->repo, &id) < 0 ||
	    c->git->commit_tree(&c->tree, c->tip) < 0)
		return libgit_failed("the commit to go on from", err);
	return 0;
}

/* --- the commit --- */

/* Deletions, then the rest: what was a file may be a folder now, or the other
 * way round. */
static int write_tree(struct gitcommit *c, bool deletions, const git_oid *base,
		      git_oid *ret, struct err *err)
{
	auto_free git_tree_update *list =
		mem_alloc((c->changes.count + 1) * sizeof(*list));
	git_tree *tree = NULL;
	size_t n = 0, i;
	int got = 0;

	for (i = 0; i < c->changes.count; i++)
		if (!c->changes.items[i].mode == deletions)
			list[n++] = (git_tree_update){
				.action = deletions ? GIT_TREE_UPDATE_REMOVE
						    : GIT_TREE_UPDATE_UPSERT,
				.id = c->changes.items[i].id,
				.filemode = (git_filemode_t)c->changes.items[i]
						    .mode,
				.path = c->changes.items[i].path,
			};
	if (base && c->git->tree_lookup(&tree, c->repo, base) < 0)
		return libgit_failed("read a tree", err);
	if (!deletions)
		got = gitchanges_check_dirs(&c->changes, tree, err);
	if (got == 0 &&
	    c->git->tree_create_updated(ret, c->repo, tree, n, list) < 0)
		got = libgit_failed("write a tree", err);
	c->git->tree_free(tree);
	return got;
}

static int write_commit(struct gitcommit *c, const struct gitcommit_job *job,
			struct err *err)
{
	const git_commit *parents[] = {c->tip};
	git_signature *who = NULL;
	git_tree *tree = NULL;
	git_oid between, id;
	int got;

	if (write_tree(c, true, c->tree ? c->git->tree_id(c->tree) : NULL,
		       &between, err) < 0 ||
	    write_tree(c, false, &between, &id, err) < 0 ||
	    gitsign_now(c->repo, &who, err) < 0)
		return -err->num;
	got = c->git->tree_lookup(&tree, c->repo, &id);
	if (got == 0)
		got = c->git->commit_create(&c->id, c->repo, NULL, who, who,
					    NULL, job->message, tree,
					    c->tip != NULL, parents);
	if (got < 0)
		got = libgit_failed("write the commit", err);
	c->git->tree_free(tree);
	c->git->signature_free(who);
	c->git->oid_tostr(c->hex, sizeof(c->hex), &c->id);
	return got;
}

static int nothing_left(const struct gitcommit *c, struct err *err)
{
	const struct gitchanges *x = &c->changes;

	if (!x->note_count)
		return fail(err, EALREADY, "%s has it all already", x->branch);
	return fail(err, EALREADY, "%s%s", x->notes[0],
		    x->note_count > 1 ? ", and so on with the others" : "");
}

static int make(struct gitcommit *c, struct store *store,
		const struct entry *old, const struct entry *now,
		const struct gitcommit_job *job, struct err *err)
{
	if (open_repository(c, job->repository, err) < 0 ||
	    (job->dry && keep_in_memory(c, err) < 0) ||
	    (job->branch ? name_branch(c, job->branch, err)
			 : find_head(c, err)) < 0 ||
	    find_tip(c, err) < 0)
		return -err->num;
	c->index = gitclean_begin(c->git, c->repo);
	c->changes = (struct gitchanges){
		.git = c->git,
		.store = store,
		.repo = c->repo,
		.tree = c->tree,
		.branch = c->ref + strlen(HEADS),
		.paths = job->paths,
	};
	if (tree_diff(store, old, now, gitchanges_add, &c->changes, err) < 0)
		return -err->num;
	if (!c->changes.count)
		return nothing_left(c, err);
	return write_commit(c, job, err);
}

int gitcommit_make(struct store *store, const struct entry *old,
		   const struct entry *now, const struct gitcommit_job *job,
		   struct gitcommit **ret, struct err *err)
{
	const struct libgit *git;
	struct gitcommit *c;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	(void)git->libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	c = mem_zalloc(sizeof(*c));
	c->git = git;
	libgit_home(git, job->home);
	if (make(c, store, old, now, job, err) < 0) {
		gitcommit_free(&c);
		return -err->num;
	}
	*ret = c;
	return 0;
}

/* --- the ref and the index --- */

/* What the index has where the path is a folder, or has a folder for it: to
 * add it would drop that. */
static bool index_collides(const struct gitcommit *c, git_index *index,
			   const char *path)
{
	auto_free char *below = mem_printf("%s/", path);
	auto_free char *above = mem_strdup(path);
	char *slash;

	while ((slash = strrchr(above, '/'))) {
		*slash = '\0';
		if (c->git->index_get_bypath(index, above, 0))
			return true;
	}
	return c->git->index_find_prefix(NULL, index, below) == 0;
}

/* What the user has staged himself stays as it is. */
static void update_entry(struct gitcommit *c, git_index *index,
			 const struct gitchange *u)
{
	const git_index_entry *e = c->git->index_get_bypath(index, u->path, 0);
	git_index_entry made = {
		.mode = u->mode,
		.id = u->id,
		.path = u->path,
	};
	bool same =
		e ? u->had && e->mode == u->had &&
				memcmp(&e->id, &u->had_id, sizeof(e->id)) == 0
		  : !u->had && !index_collides(c, index, u->path);

	/* What git is not to look at in the work tree, stays so. */
	if (e) {
		made.flags = e->flags & GIT_INDEX_ENTRY_VALID;
		made.flags_extended =
			e->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE;
	}
	if (!same)
		gitchanges_skip(&c->changes, u->path,
				"staged otherwise, and left so");
	else if (u->mode)
		(void)c->git->index_add(index, &made);
	else
		(void)c->git->index_remove_bypath(index, u->path);
}

static void update_entries(struct gitcommit *c, git_index *index,
			   bool deletions)
{
	size_t i;

	for (i = 0; i < c->changes.count; i++)
		if (!c->changes.items[i].mode == deletions)
			update_entry(c, index, &c->changes.items[i]);
}

static void update_index(struct gitcommit *c)
{
	git_index *index = NULL;
	int got;

	if (c->index && c->git->repository_index(&index, c->repo) == 0) {
		update_entries(c, index, true);
		update_entries(c, index, false);
		got = c->git->index_write(index);
		if (got == GIT_ELOCKED)
			gitchanges_skip(&c->changes, "index",
					"another git is at work (or was "
					"ended: then remove index.lock): "
					"git reset puts it right "
					"afterwards");
		else if (got < 0)
			gitchanges_skip(&c->changes, "index",
					"could not be written: git reset "
					"puts it right");
	} else {
		gitchanges_skip(&c->changes, "index",
				"could not be read: git reset puts it "
				"right");
	}
	c->git->index_free(index);
}

int gitcommit_point(struct gitcommit *c, struct err *err)
{
	git_reference *ref = NULL;
	static const git_oid none;
	git_oid now;
	int got = c->git->reference_name_to_id(&now, c->repo, c->ref);
	bool there = got == 0;

	if (there)
		got = c->git->reference_create_matching(
			&ref, c->repo, c->ref, &c->id, 1,
			c->tip ? c->git->commit_id(c->tip) : &none,
			"guard: commit of a run");
	else
		got = c->git->reference_create(&ref, c->repo, c->ref, &c->id, 0,
					       "guard: commit of a run");
	c->git->reference_free(ref);
	if (got == GIT_EMODIFIED || got == GIT_EEXISTS)
		return fail(err, EBUSY,
			    "%s has moved meanwhile: the commit %s is there, "
			    "and no branch at it",
			    text_quote(c->ref), c->hex);
	if (got == GIT_ELOCKED)
		return fail(err, EBUSY,
			    "another git is at work on %s (or was ended: then "
			    "remove its lock): git commit does the rest "
			    "afterwards",
			    text_quote(c->ref));
	if (got < 0)
		return libgit_failed("set the branch", err);
	if (c->head)
		update_index(c);
	return 0;
}

const char *gitcommit_id(const struct gitcommit *c)
{
	return c->hex;
}

const char *gitcommit_branch(const struct gitcommit *c)
{
	return path_below(c->ref, "refs/heads") ? c->ref + strlen(HEADS)
						: c->ref;
}

size_t gitcommit_paths(const struct gitcommit *c)
{
	return c->changes.count;
}

const char *gitcommit_note(const struct gitcommit *c, size_t n)
{
	return n < c->changes.note_count ? c->changes.notes[n] : NULL;
}
