#include "restore/git/gitcommit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/text.h"
#include "base/vec.h"
#include "restore/git/gitclean.h"
#include "restore/git/gitlock.h"
#include "restore/git/textmerge.h"
#include "snapshot/tree/tree.h"

#define HEADS "refs/heads/"
#define BLOB_MAX (256u << 20)
/* libgit2's own object stores have 1 and 2. */
#define FIRST_OF_ALL 1000

/* One path of the commit. */
struct gitchange {
	char *path;
	git_oid id, had_id; /* had: in the branch's tree */
	uint32_t mode; /* 0: deleted */
	uint32_t had;
	bool was_dir; /* a directory, whose files are deleted by changes of
			 their own */
};

struct commit {
	struct gitcommit made; /* the first member */
	const struct libgit *git;
	struct store *store;
	git_repository *repo;
	git_commit *tip; /* NULL: the branch is to begin */
	git_tree *tree; /* of it, or NULL */
	char *ref;
	bool head; /* HEAD's branch */
	bool begins; /* the branch does not exist yet */
	struct pathset meant;
	VEC(struct gitchange) changes;
	git_oid id;
};

void gitcommit_free(struct gitcommit **pc)
{
	struct commit *c = (struct commit *)*pc;
	size_t i;

	if (!c)
		return;
	for (i = 0; i < c->changes.count; i++)
		free(c->changes.items[i].path);
	VEC_FREE(&c->changes);
	names_free(&c->made.notes);
	pathset_free(&c->meant);
	c->git->tree_free(c->tree);
	c->git->commit_free(c->tip);
	c->git->repository_free(c->repo);
	libgit_home(c->git, NULL);
	free(c->ref);
	free(c);
	*pc = NULL;
}

/* Notes a skipped path with the reason. */
static void skip_path(struct commit *c, const char *path, const char *why)
{
	*VEC_ADD(&c->made.notes) = mem_printf("%s: %s", text_quote(path), why);
}

/* --- the branch --- */

/* Whether the configuration names another hash than SHA-1. Versions of libgit2
 * refuse such a repository with different messages. */
static bool uses_other_hash(const struct commit *c, const char *path)
{
	auto_free char *file = path_join(path, ".git/config");
	git_buf value = {0};
	git_config *config = NULL;
	bool other = c->git->config_open_ondisk(&config, file) == 0 &&
		     c->git->config_get_string_buf(
			     &value, config, "extensions.objectformat") == 0 &&
		     strcmp(value.ptr, "sha1") != 0;

	c->git->buf_dispose(&value);
	c->git->config_free(config);
	return other;
}

static int open_repository(struct commit *c, const char *path, struct err *err)
{
	int got = libgit_open(c->git, path, GIT_REPOSITORY_OPEN_NO_SEARCH,
			      &c->repo, err);

	if (got == 0)
		return fail(err, ENOENT,
			    "%s is not a git repository: cannot commit to it",
			    text_quote(path));
	if (got < 0 && uses_other_hash(c, path))
		return fail(err, ENOTSUP,
			    "the repository uses SHA-256: guard commits to "
			    "SHA-1 repositories only");
	return got < 0 ? got : 0;
}

/* Objects written from here on are freed with the repository's handle. */
static int keep_in_memory(struct commit *c, struct err *err)
{
	git_odb_backend *memory = NULL;
	git_odb *odb = NULL;
	int got = c->git->repository_odb(&odb, c->repo);

	if (got == 0)
		got = c->git->mempack_new(&memory);
	if (got == 0)
		got = c->git->odb_add_backend(odb, memory, FIRST_OF_ALL);
	c->git->odb_free(odb);
	return got < 0 ? libgit_failed("create a store of objects in memory",
				       err)
		       : 0;
}

/* The named branch, or HEAD's, also when it is yet to begin. */
static int find_branch(struct commit *c, const char *branch, struct err *err)
{
	git_reference *head = NULL;
	int valid = 0;

	if (branch) {
		c->ref = mem_printf(HEADS "%s", branch);
		/* To git, @ is HEAD. */
		if (c->git->branch_name_is_valid(&valid, branch) == 0 &&
		    valid && strcmp(branch, "@") != 0)
			return 0;
		return fail(err, EINVAL, "%s is not a valid name for a branch",
			    text_quote(branch));
	}
	if (c->git->reference_lookup(&head, c->repo, "HEAD") < 0)
		return libgit_failed("HEAD", err);
	c->ref = mem_strdup(c->git->reference_symbolic_target(head));
	c->git->reference_free(head);
	c->head = true;
	if (!c->ref)
		return fail(err, ENODATA,
			    "HEAD is detached: name a branch with --branch");
	if (c->git->repository_state(c->repo) != GIT_REPOSITORY_STATE_NONE)
		return fail(err, ENODATA,
			    "a merge, rebase or similar is in progress in the "
			    "repository: finish or abort it, or use --branch");
	return 0;
}

/* git stores a branch as a file, so no branch can be a directory above another.
 */
static int check_other_ref(void *arg, const char *name, const struct gitid *id,
			   struct err *err)
{
	const struct commit *c = arg;

	(void)id;
	return path_below(name, c->ref) || path_below(c->ref, name)
		       ? fail(err, EEXIST,
			      "branch %s exists, so git cannot create %s: use "
			      "another name",
			      text_quote(name + strlen(HEADS)),
			      text_quote(c->ref + strlen(HEADS)))
		       : 0;
}

static int find_tip(struct commit *c, struct err *err)
{
	git_reference *ref = NULL;
	git_oid id;
	int got = c->git->reference_lookup(&ref, c->repo, c->ref);

	if (got == 0 && !c->head && c->git->branch_is_checked_out(ref)) {
		c->git->reference_free(ref);
		return fail(err, EEXIST,
			    "%s is checked out: name another branch, or use "
			    "--commit to apply and commit there",
			    text_quote(c->ref));
	}
	c->git->reference_free(ref);
	if (got != 0 && got != GIT_ENOTFOUND)
		return libgit_failed(c->ref, err);
	if (got != 0 && !c->head &&
	    libgit_each_ref(c->git, c->repo, check_other_ref, c, err) < 0)
		return -err->num;
	c->begins = got != 0;
	/* A new branch begins where HEAD is. */
	got = c->git->reference_name_to_id(&id, c->repo,
					   c->begins ? "HEAD" : c->ref);
	if (got == GIT_ENOTFOUND || got == GIT_EUNBORNBRANCH)
		return 0;
	if (got < 0 || c->git->commit_lookup(&c->tip, c->repo, &id) < 0 ||
	    c->git->commit_tree(&c->tree, c->tip) < 0)
		return libgit_failed("read the parent commit", err);
	return 0;
}

/* --- the changes --- */

static int conflict(const struct commit *c, const char *path, struct err *err)
{
	return fail(err, EEXIST,
		    "%s has another %s than at the start of the run, and the "
		    "change does not apply: commit your own change first, or "
		    "exclude the path",
		    c->made.branch, text_quote(path));
}

/* bytes: of u, unless u is a deletion. */
static int push_gitchange(struct commit *c, const char *path,
			  struct gitchange *u, const struct buf *bytes,
			  struct err *err)
{
	if (u->mode && c->git->blob_create_from_buffer(
			       &u->id, c->repo,
			       bytes->data ? (const void *)bytes->data : "",
			       bytes->len) < 0)
		return libgit_failed("write an object", err);
	if (u->mode && u->mode == u->had &&
	    memcmp(&u->id, &u->had_id, sizeof(u->id)) == 0)
		return 0;
	u->path = mem_strdup(path);
	*VEC_ADD(&c->changes) = *u;
	return 0;
}

static int add_tree_change(struct commit *c, const char *path,
			   const struct entry *a, const struct entry *b,
			   struct err *err)
{
	AUTO(buf) struct buf old = {0}, now = {0}, branch = {0}, merged = {0};
	struct textmerge_sides sides = {
		.base = &old,
		.ours = &branch,
		.theirs = &now,
		.our_label = "branch",
		.their_label = "run",
	};
	struct gitchange u = {
		.mode = gitclean_mode(b),
		.was_dir = a && S_ISDIR(a->mode),
	};
	uint32_t was = gitclean_mode(a);
	int got;

	u.had = libgit_find(c->git, c->tree, path, &u.had_id);
	/* Complete deletion is checked when all changes are known. */
	if (u.had == GIT_FILEMODE_TREE && u.was_dir) {
		u.had = 0;
		u.had_id = (git_oid){{0}};
	}
	if (u.had && u.had != GIT_FILEMODE_BLOB && u.had != GIT_FILEMODE_LINK &&
	    u.had != GIT_FILEMODE_BLOB_EXECUTABLE)
		return conflict(c, path, err);
	if (!u.had && !u.mode)
		return 0;
	if (gitclean_read(c->store, a, &old, err) < 0 ||
	    gitclean_read(c->store, b, &now, err) < 0)
		return -err->num;
	if (u.had && libgit_read_blob(c->git, c->repo, &u.had_id, &branch) < 0)
		return libgit_failed("read a file of the branch", err);
	/* The branch has the version from the start of the run. */
	if (u.had && was && buf_same(&old, &branch))
		return push_gitchange(c, path, &u, &now, err);
	if (gitclean_by_program(c->git, c->repo, path)) {
		skip_path(c, path,
			  "git stores it through a filter, which guard does "
			  "not run: use git add");
		return 0;
	}
	if (u.had && u.mode && buf_same(&now, &branch))
		return push_gitchange(c, path, &u, &now, err);
	/* Both sides as git stores them. */
	if ((was != GIT_FILEMODE_LINK &&
	     gitclean_bytes(c->git, c->repo, path, &old, err) < 0) ||
	    (u.mode != GIT_FILEMODE_LINK &&
	     gitclean_bytes(c->git, c->repo, path, &now, err) < 0))
		return -err->num;
	/* The branch has no file, or a file that is equal for git. */
	if (!u.had || (was && buf_same(&old, &branch)) ||
	    (u.mode && buf_same(&now, &branch)))
		return push_gitchange(c, path, &u, &now, err);
	/* Lines end with CR LF in the directory and with LF in the branch, due
	 * to an earlier setting: the branch keeps LF. */
	if (old.len && memmem(old.data, old.len, "\r\n", 2) &&
	    !(branch.len && memmem(branch.data, branch.len, "\r\n", 2))) {
		gitclean_drop_returns(&old);
		gitclean_drop_returns(&now);
		if (buf_same(&old, &branch))
			return push_gitchange(c, path, &u, &now, err);
	}
	if (!was || !u.mode || u.mode == GIT_FILEMODE_LINK ||
	    u.had == GIT_FILEMODE_LINK || !textmerge_is_text(&old) ||
	    !textmerge_is_text(&branch) || !textmerge_is_text(&now))
		return conflict(c, path, err);
	if (u.mode == was)
		u.mode = u.had;
	/* The file of the branch differs from the one at the start of the run.
	 */
	got = textmerge(&sides, &merged, err);
	if (got < 0)
		return got;
	return got ? push_gitchange(c, path, &u, &merged, err)
		   : conflict(c, path, err);
}

/* Why the change is in no commit; NULL: it is in this one. */
static const char *find_obstacle(struct commit *c, const char *path,
				 const struct entry *a, const struct entry *b)
{
	int ignored = 0;
	git_oid id;
	size_t len;

	if (b && b->mode && !S_ISDIR(b->mode) && !gitclean_mode(b))
		return "git cannot store this file type";
	if ((a && a->size > BLOB_MAX) || (b && b->size > BLOB_MAX))
		return "too large";
	for (len = 0; path[len]; len++) {
		auto_free char *dir =
			path[len] == '/' ? mem_strndup(path, len) : NULL;

		if (dir && libgit_find(c->git, c->tree, dir, &id) ==
				   GIT_FILEMODE_COMMIT)
			return "in a submodule";
	}
	if (!libgit_find(c->git, c->tree, path, &id) &&
	    c->git->ignore_path_is_ignored(&ignored, c->repo, path) == 0 &&
	    ignored)
		return "ignored by git";
	return NULL;
}

static int add_change(void *arg, const char *path, const struct entry *a,
		      const struct entry *b, struct err *err)
{
	struct commit *c = arg;
	bool folder = (!a || !a->mode || S_ISDIR(a->mode)) &&
		      (!b || !b->mode || S_ISDIR(b->mode));
	const char *obstacle;

	if (folder || path_has_part(path, ".git") ||
	    !pathset_contains(&c->meant, path))
		return 0;
	if (a && b && gitclean_mode(a) == gitclean_mode(b) &&
	    entry_same_content(a, b))
		return 0;
	obstacle = find_obstacle(c, path, a, b);
	if (!obstacle)
		return add_tree_change(c, path, a, b, err);
	skip_path(c, path, obstacle);
	return 0;
}

/* --- the commit --- */

/* Deletions first, then the rest: a file may have become a directory, or the
 * reverse. */
static int write_tree(struct commit *c, bool deletions, const git_oid *base,
		      git_oid *ret, struct err *err)
{
	auto_free git_tree_update *list =
		mem_alloc((c->changes.count + 1) * sizeof(*list));
	git_tree *tree = NULL;
	size_t n = 0, i;
	git_oid id;
	int got = 0;

	if (base && c->git->tree_lookup(&tree, c->repo, base) < 0)
		return libgit_failed("read a tree", err);
	for (i = 0; got == 0 && i < c->changes.count; i++) {
		const struct gitchange *u = &c->changes.items[i];

		/* A directory that becomes another kind of entry must have no
		 * other entries in the tree without the deleted paths. */
		if (!deletions && u->was_dir &&
		    libgit_find(c->git, tree, u->path, &id))
			got = conflict(c, u->path, err);
		if (!u->mode == deletions)
			list[n++] = (git_tree_update){
				.action = deletions ? GIT_TREE_UPDATE_REMOVE
						    : GIT_TREE_UPDATE_UPSERT,
				.id = u->id,
				.filemode = (git_filemode_t)u->mode,
				.path = u->path,
			};
	}
	if (got == 0 &&
	    c->git->tree_create_updated(ret, c->repo, tree, n, list) < 0)
		got = libgit_failed("write a tree", err);
	c->git->tree_free(tree);
	return got;
}

static int write_commit(struct commit *c, const struct gitcommit_job *job,
			struct err *err)
{
	auto_free char *name =
		libgit_setting(c->git, c->repo, "GIT_AUTHOR_NAME", "user.name");
	auto_free char *email = libgit_setting(
		c->git, c->repo, "GIT_AUTHOR_EMAIL", "user.email");
	const git_commit *parents[] = {c->tip};
	git_signature *who = NULL; /* the author and the committer */
	git_tree *tree = NULL;
	git_oid between, id;
	int got;

	if (write_tree(c, true, c->tree ? c->git->tree_id(c->tree) : NULL,
		       &between, err) < 0 ||
	    write_tree(c, false, &between, &id, err) < 0)
		return -err->num;
	if (!name || !email)
		return fail(err, ENODATA,
			    "git has no name and address for you: set them "
			    "with git config --global user.name NAME, and "
			    "user.email ADDRESS");
	if (c->git->signature_now(&who, name, email) < 0)
		return libgit_failed("read your name", err);
	got = c->git->tree_lookup(&tree, c->repo, &id);
	if (got == 0)
		got = c->git->commit_create(&c->id, c->repo, NULL, who, who,
					    NULL, job->message, tree,
					    c->tip != NULL, parents);
	if (got < 0)
		got = libgit_failed("write the commit", err);
	c->git->tree_free(tree);
	c->git->signature_free(who);
	c->git->oid_tostr(c->made.id, sizeof(c->made.id), &c->id);
	c->made.count = c->changes.count;
	return got;
}

/* A branch that moves without its index would be reverted by the next commit of
 * the user. So all that gitcommit_point() changes is checked before any change.
 */
static int check_writable(struct commit *c, bool index, struct err *err)
{
	const char *git_dir = c->git->repository_path(c->repo);

	if (c->head && !index)
		return fail(err, ENOTSUP,
			    "the repository's index cannot be read (libgit2 "
			    "knows no split and no sparse index): use --branch "
			    "instead of --commit, or guard apply and then git "
			    "commit");
	if (c->head && (gitlock_check(git_dir, "index", err) < 0 ||
			gitlock_check(git_dir, "HEAD", err) < 0))
		return -err->num;
	return gitlock_check(c->git->repository_commondir(c->repo), c->ref,
			     err);
}

static int make(struct commit *c, const struct entry *old,
		const struct entry *now, const struct gitcommit_job *job,
		struct err *err)
{
	const struct names *notes = &c->made.notes;
	bool index;

	if (open_repository(c, job->repository, err) < 0 ||
	    (job->dry && keep_in_memory(c, err) < 0) ||
	    find_branch(c, job->branch, err) < 0 || find_tip(c, err) < 0)
		return -err->num;
	index = gitclean_begin(c->git, c->repo);
	if (check_writable(c, index, err) < 0)
		return -err->num;
	c->made.branch = path_below(c->ref, "refs/heads")
				 ? c->ref + strlen(HEADS)
				 : c->ref;
	if (tree_diff(c->store, old, now, add_change, c, err) < 0)
		return -err->num;
	if (c->changes.count)
		return write_commit(c, job, err);
	if (!notes->count)
		return fail(err, EALREADY, "%s already has all of it",
			    c->made.branch);
	return fail(err, EALREADY, "%s%s", notes->items[0],
		    notes->count > 1 ? ", and similarly for the others" : "");
}

int gitcommit_make(struct store *store, const struct entry *old,
		   const struct entry *now, const struct gitcommit_job *job,
		   struct gitcommit **ret, struct err *err)
{
	const struct libgit *git;
	struct commit *c;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	(void)git->libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
	c = mem_zalloc(sizeof(*c));
	*ret = &c->made;
	c->git = git;
	c->store = store;
	c->meant = pathset_make(job->paths);
	libgit_home(git, job->home);
	if (make(c, old, now, job, err) == 0)
		return 0;
	gitcommit_free(ret);
	return -err->num;
}

/* --- the ref and the index --- */

/* Whether the index has a directory in place of the path, or a file in place of
 * one of its parents: adding the path would drop those entries. */
static bool index_collides(const struct commit *c, git_index *index,
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

/* An entry that the user has staged stays. */
static void update_entry(struct commit *c, git_index *index,
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

	/* Flags by which git ignores the file in the work tree stay set. */
	if (e) {
		made.flags = e->flags & GIT_INDEX_ENTRY_VALID;
		made.flags_extended =
			e->flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE;
	}
	if (!same)
		skip_path(c, u->path,
			  "has other staged changes: its staged state is "
			  "unchanged");
	else if (u->mode)
		(void)c->git->index_add(index, &made);
	else
		(void)c->git->index_remove_bypath(index, u->path);
}

static void update_index(struct commit *c)
{
	git_index *index = NULL;
	size_t i;
	int got;

	if (c->git->repository_index(&index, c->repo) == 0) {
		for (i = 0; i < c->changes.count; i++)
			if (!c->changes.items[i].mode)
				update_entry(c, index, &c->changes.items[i]);
		for (i = 0; i < c->changes.count; i++)
			if (c->changes.items[i].mode)
				update_entry(c, index, &c->changes.items[i]);
		got = c->git->index_write(index);
		if (got == GIT_ELOCKED)
			skip_path(c, "index",
				  "in use by another git process (if that was "
				  "killed, remove index.lock): run git reset "
				  "afterwards");
		else if (got < 0)
			skip_path(c, "index",
				  "could not be written: run git reset");
	} else {
		skip_path(c, "index", "could not be read: run git reset");
	}
	c->git->index_free(index);
}

int gitcommit_point(struct gitcommit *made, struct err *err)
{
	struct commit *c = (struct commit *)made;
	/* A branch that stands for a missing one has no commit. */
	bool begins = c->begins || !c->tip;
	int got = libgit_move_ref(c->git, c->repo, c->ref,
				  begins ? NULL : c->git->commit_id(c->tip),
				  &c->id, "guard: commit of a run");

	if (got == GIT_EMODIFIED || got == GIT_EEXISTS || got == GIT_ENOTFOUND)
		return fail(err, EBUSY,
			    "%s moved during the command: commit %s exists, "
			    "but no branch points to it",
			    text_quote(c->ref), made->id);
	if (got == GIT_ELOCKED)
		return fail(
			err, EBUSY,
			"%s is in use by another git process (if that was "
			"killed, remove its lock): run git commit afterwards",
			text_quote(c->ref));
	if (got < 0)
		return libgit_failed("set the branch", err);
	if (c->head)
		update_index(c);
	return 0;
}
