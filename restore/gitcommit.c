#include "restore/gitcommit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/libgit.h"
#include "restore/textmerge.h"
#include "snapshot/content.h"
#include "snapshot/tree.h"

#define HEADS "refs/heads/"
#define BLOB_MAX (256u << 20)

/* One path of the commit. */
struct update {
	char *path;
	git_oid id, had_id; /* had: in the branch's own tree */
	uint32_t mode; /* 0: it goes */
	uint32_t had;
};

struct gitcommit {
	const struct libgit *git;
	struct store *store;
	const char *const *paths;
	git_repository *repo;
	git_commit *tip; /* NULL: the branch is to begin */
	git_tree *tree; /* of it, or NULL */
	char *ref;
	bool head; /* HEAD's branch */
	struct update *items;
	size_t count, room;
	char **notes;
	size_t note_count, note_room;
	git_oid id;
	char hex[GIT_OID_HEXSZ + 1];
};

void gitcommit_free(struct gitcommit **pc)
{
	struct gitcommit *c = *pc;
	size_t i;

	if (!c)
		return;
	c->git->tree_free(c->tree);
	c->git->commit_free(c->tip);
	c->git->repository_free(c->repo);
	for (i = 0; i < c->count; i++)
		free(c->items[i].path);
	for (i = 0; i < c->note_count; i++)
		free(c->notes[i]);
	free(c->items);
	free(c->notes);
	free(c->ref);
	free(c);
	*pc = NULL;
}

static int git_failed(const struct gitcommit *c, const char *what,
		      struct err *err)
{
	const git_error *e = c->git->error_last();
	AUTO(buf) struct buf text = {0};

	if (e && e->message)
		text_escape(&text, e->message, strlen(e->message), false);
	return fail(err, EIO, "%s: %s", what,
		    text.len ? buf_text(&text) : "libgit2 gives no reason");
}

static void leave_out(struct gitcommit *c, const char *path, const char *why)
{
	GROW(c->notes, c->note_count, c->note_room);
	c->notes[c->note_count++] = mem_printf("%s: %s", text_quote(path), why);
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
		return git_failed(c, "the repository cannot be opened", err);
	return 0;
}

/* HEAD's branch, also when it is yet to begin. */
static int find_head(struct gitcommit *c, struct err *err)
{
	git_reference *head = NULL;
	const char *target = NULL;

	if (c->git->reference_lookup(&head, c->repo, "HEAD") < 0)
		return git_failed(c, "HEAD", err);
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
	if (c->git->reference_name_is_valid(&valid, c->ref) < 0 || !valid ||
	    *branch == '-')
		return fail(err, EINVAL, "%s is no name for a branch",
			    text_quote(branch));
	return 0;
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
		return git_failed(c, c->ref, err);
	/* A new branch begins where HEAD is. */
	got = c->git->reference_name_to_id(&id, c->repo,
					   got == 0 ? c->ref : "HEAD");
	if (got == GIT_ENOTFOUND || got == GIT_EUNBORNBRANCH)
		return 0;
	if (got < 0 || c->git->commit_lookup(&c->tip, c->repo, &id) < 0 ||
	    c->git->commit_tree(&c->tree, c->tip) < 0)
		return git_failed(c, "the commit to go on from", err);
	return 0;
}

/* --- one path --- */

static int add_piece(void *arg, const void *data, size_t len, struct err *err)
{
	(void)err;
	buf_add(arg, data, len);
	return 0;
}

static int read_entry(struct gitcommit *c, const struct entry *e,
		      struct buf *to, struct err *err)
{
	if (e && S_ISLNK(e->mode))
		buf_add_text(to, e->link);
	else if (e && S_ISREG(e->mode))
		return content_each(c->store, &e->content, add_piece, to, err);
	return 0;
}

static uint32_t git_mode(const struct entry *e)
{
	if (!e || (!S_ISREG(e->mode) && !S_ISLNK(e->mode)))
		return 0;
	if (S_ISLNK(e->mode))
		return GIT_FILEMODE_LINK;
	return e->mode & 0100 ? GIT_FILEMODE_BLOB_EXECUTABLE
			      : GIT_FILEMODE_BLOB;
}

/* What the branch has there: its mode (0: nothing; not a blob's: left out). */
static uint32_t find_there(struct gitcommit *c, const char *path, git_oid *ret)
{
	git_tree_entry *e = NULL;
	uint32_t mode;

	if (!c->tree || c->git->tree_entry_bypath(&e, c->tree, path) < 0)
		return 0;
	mode = (uint32_t)c->git->tree_entry_filemode(e);
	*ret = *c->git->tree_entry_id(e);
	c->git->tree_entry_free(e);
	return mode;
}

static int read_there(struct gitcommit *c, const git_oid *id, struct buf *to,
		      struct err *err)
{
	git_blob *blob = NULL;

	if (c->git->blob_lookup(&blob, c->repo, id) < 0)
		return git_failed(c, "read a file of the branch", err);
	buf_add(to, c->git->blob_rawcontent(blob),
		(size_t)c->git->blob_rawsize(blob));
	c->git->blob_free(blob);
	return 0;
}

static bool same_bytes(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	       (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

static int conflict(const struct gitcommit *c, const char *path,
		    struct err *err)
{
	return fail(err, EEXIST,
		    "%s has another %s than the run began with, and the "
		    "change does not fit: commit what you have there first, "
		    "or leave the path out",
		    c->ref + strlen(HEADS), text_quote(path));
}

static int push(struct gitcommit *c, const char *path, uint32_t mode,
		const struct buf *bytes, uint32_t had, const git_oid *had_id,
		struct err *err)
{
	struct update u = {.mode = mode, .had = had, .had_id = *had_id};

	if (mode && c->git->blob_create_from_buffer(
			    &u.id, c->repo,
			    bytes->data ? (const void *)bytes->data : "",
			    bytes->len) < 0)
		return git_failed(c, "write an object", err);
	if (mode && mode == had && memcmp(&u.id, had_id, sizeof(u.id)) == 0)
		return 0;
	u.path = mem_strdup(path);
	GROW(c->items, c->count, c->room);
	c->items[c->count++] = u;
	return 0;
}

/* The branch has a file there, and it is not the one the run began with. */
static int merge(struct gitcommit *c, const char *path, const struct buf *old,
		 struct buf *there, const struct buf *now, uint32_t mode,
		 uint32_t had, const git_oid *had_id, struct err *err)
{
	AUTO(buf) struct buf merged = {0};
	struct textmerge_sides sides = {
		.base = old,
		.ours = there,
		.theirs = now,
		.our_label = "branch",
		.their_label = "run",
	};
	int got;

	if (!textmerge_is_text(old) || !textmerge_is_text(there) ||
	    !textmerge_is_text(now))
		return conflict(c, path, err);
	got = textmerge(&sides, &merged, err);
	if (got < 0)
		return got;
	return got ? push(c, path, mode, &merged, had, had_id, err)
		   : conflict(c, path, err);
}

static int change(struct gitcommit *c, const char *path, const struct entry *a,
		  const struct entry *b, struct err *err)
{
	AUTO(buf) struct buf old = {0}, now = {0}, there = {0};
	uint32_t was = git_mode(a), mode = git_mode(b), had;
	git_oid had_id = {{0}};

	had = find_there(c, path, &had_id);
	if (had && had != GIT_FILEMODE_BLOB && had != GIT_FILEMODE_LINK &&
	    had != GIT_FILEMODE_BLOB_EXECUTABLE)
		return conflict(c, path, err);
	if (!had && !mode)
		return 0;
	if (read_entry(c, a, &old, err) < 0 ||
	    read_entry(c, b, &now, err) < 0 ||
	    (had && read_there(c, &had_id, &there, err) < 0))
		return -err->num;
	/* Nothing there, or just what the run began with. */
	if (!had || (was && same_bytes(&old, &there)))
		return push(c, path, mode, &now, had, &had_id, err);
	if (mode && same_bytes(&now, &there))
		return push(c, path, mode, &now, had, &had_id, err);
	if (!was || !mode || mode == GIT_FILEMODE_LINK ||
	    had == GIT_FILEMODE_LINK)
		return conflict(c, path, err);
	return merge(c, path, &old, &there, &now, was == mode ? had : mode, had,
		     &had_id, err);
}

/* A folder above it is a submodule of the branch. */
static bool in_submodule(struct gitcommit *c, const char *path)
{
	size_t len;
	git_oid id;

	for (len = 0; path[len]; len++) {
		auto_free char *dir = NULL;

		if (path[len] != '/')
			continue;
		dir = mem_strndup(path, len);
		if (find_there(c, dir, &id) == GIT_FILEMODE_COMMIT)
			return true;
	}
	return false;
}

static bool wanted(const struct gitcommit *c, const char *path)
{
	const char *const *p = c->paths;

	while (p && *p && !path_below(path, *p))
		p++;
	return !p || *p;
}

static int each_path(void *arg, const char *path, const struct entry *a,
		     const struct entry *b, struct err *err)
{
	struct gitcommit *c = arg;
	bool folder = (!a || !a->mode || S_ISDIR(a->mode)) &&
		      (!b || !b->mode || S_ISDIR(b->mode));
	int ignored = 0;
	git_oid id;

	if (folder || path_has_part(path, ".git") || !wanted(c, path))
		return 0;
	if (a && b && git_mode(a) == git_mode(b) && entry_same_content(a, b))
		return 0;
	if (b && b->mode && !S_ISDIR(b->mode) && !git_mode(b)) {
		leave_out(c, path, "git keeps no such thing");
		return 0;
	}
	if ((a && a->size > BLOB_MAX) || (b && b->size > BLOB_MAX)) {
		leave_out(c, path, "too large");
		return 0;
	}
	if (in_submodule(c, path)) {
		leave_out(c, path, "in a submodule");
		return 0;
	}
	if (!find_there(c, path, &id) &&
	    c->git->ignore_path_is_ignored(&ignored, c->repo, path) == 0 &&
	    ignored) {
		leave_out(c, path, "ignored by git");
		return 0;
	}
	return change(c, path, a, b, err);
}

/* --- the commit --- */

/* Deletions, then the rest: what was a file may be a folder now. */
static int write_tree(struct gitcommit *c, bool deletions, const git_oid *base,
		      git_oid *ret, struct err *err)
{
	auto_free git_tree_update *list =
		mem_alloc((c->count + 1) * sizeof(*list));
	git_tree *tree = NULL;
	size_t n = 0, i;
	int got = 0;

	for (i = 0; i < c->count; i++)
		if (!c->items[i].mode == deletions)
			list[n++] = (git_tree_update){
				.action = deletions ? GIT_TREE_UPDATE_REMOVE
						    : GIT_TREE_UPDATE_UPSERT,
				.id = c->items[i].id,
				.filemode = (git_filemode_t)c->items[i].mode,
				.path = c->items[i].path,
			};
	if (base && c->git->tree_lookup(&tree, c->repo, base) < 0)
		return git_failed(c, "read a tree", err);
	if (c->git->tree_create_updated(ret, c->repo, tree, n, list) < 0)
		got = git_failed(c, "write a tree", err);
	c->git->tree_free(tree);
	return got;
}

static char *setting(struct gitcommit *c, git_config *config, const char *name)
{
	git_buf value = GIT_BUF_INIT;
	char *text = NULL;

	if (c->git->config_get_string_buf(&value, config, name) == 0)
		text = mem_strdup(value.ptr);
	c->git->buf_dispose(&value);
	return text;
}

/* As git does: the environment, the repository, the user's own file. */
static char *find_name(struct gitcommit *c, const char *home,
		       const char *variable, const char *name)
{
	const char *given = getenv(variable);
	static const char *const files[] = {"/.gitconfig",
					    "/.config/git/config"};
	git_config *config = NULL;
	char *text = given && *given ? mem_strdup(given) : NULL;
	size_t i;

	if (!text && c->git->repository_config_snapshot(&config, c->repo) == 0)
		text = setting(c, config, name);
	c->git->config_free(config);
	for (i = 0; !text && home && i < 2; i++) {
		auto_free char *path = mem_printf("%s%s", home, files[i]);

		config = NULL;
		if (c->git->config_open_ondisk(&config, path) == 0) {
			git_config *snapshot = NULL;

			if (c->git->config_snapshot(&snapshot, config) == 0)
				text = setting(c, snapshot, name);
			c->git->config_free(snapshot);
		}
		c->git->config_free(config);
	}
	return text;
}

static int sign(struct gitcommit *c, const struct gitcommit_job *job,
		git_signature **ret, struct err *err)
{
	auto_free char *name =
		find_name(c, job->home, "GIT_AUTHOR_NAME", "user.name");
	auto_free char *email =
		find_name(c, job->home, "GIT_AUTHOR_EMAIL", "user.email");

	if (!name || !email)
		return fail(err, ENODATA,
			    "git does not know your name: git config --global "
			    "user.name NAME, and user.email ADDRESS");
	if (c->git->signature_now(ret, name, email) < 0)
		return git_failed(c, "your name", err);
	return 0;
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
	    sign(c, job, &who, err) < 0)
		return -err->num;
	got = c->git->tree_lookup(&tree, c->repo, &id);
	if (got == 0)
		got = c->git->commit_create(&c->id, c->repo, NULL, who, who,
					    NULL, job->message, tree,
					    c->tip != NULL, parents);
	if (got < 0)
		got = git_failed(c, "write the commit", err);
	c->git->tree_free(tree);
	c->git->signature_free(who);
	c->git->oid_tostr(c->hex, sizeof(c->hex), &c->id);
	return got;
}

static int make(struct gitcommit *c, const struct entry *old,
		const struct entry *now, const struct gitcommit_job *job,
		struct err *err)
{
	if (open_repository(c, job->repository, err) < 0 ||
	    (job->branch ? name_branch(c, job->branch, err)
			 : find_head(c, err)) < 0 ||
	    find_tip(c, err) < 0 ||
	    tree_diff(c->store, old, now, each_path, c, err) < 0)
		return -err->num;
	if (!c->count)
		return fail(err, EALREADY,
			    "nothing of it is to be committed: %s has it all, "
			    "or git does not keep it",
			    c->ref + strlen(HEADS));
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
	c->store = store;
	c->paths = job->paths;
	if (make(c, old, now, job, err) < 0) {
		gitcommit_free(&c);
		return -err->num;
	}
	*ret = c;
	return 0;
}

/* --- the ref and the index --- */

/* What the user has staged himself stays as it is. */
static void update_entry(struct gitcommit *c, git_index *index,
			 const struct update *u)
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
		  : !u->had;

	if (!same)
		leave_out(c, u->path, "staged otherwise, and left so");
	else if (u->mode)
		(void)c->git->index_add(index, &made);
	else
		(void)c->git->index_remove_bypath(index, u->path);
}

static void update_index(struct gitcommit *c)
{
	git_index *index = NULL;
	size_t i;

	if (c->git->repository_index(&index, c->repo) == 0) {
		for (i = 0; i < c->count; i++)
			update_entry(c, index, &c->items[i]);
		if (c->git->index_write(index) < 0)
			leave_out(c, "index",
				  "could not be written: git reset "
				  "puts it right");
	} else {
		leave_out(c, "index",
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
	if (got < 0)
		return git_failed(c, "set the branch", err);
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
	return c->count;
}

const char *gitcommit_note(const struct gitcommit *c, size_t n)
{
	return n < c->note_count ? c->notes[n] : NULL;
}
