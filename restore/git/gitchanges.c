#include "restore/git/gitchanges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "restore/git/gitclean.h"
#include "restore/git/textmerge.h"
#include "snapshot/store/content.h"

#define BLOB_MAX (256u << 20)

void gitchanges_done(struct gitchanges *c)
{
	size_t i;

	for (i = 0; i < c->count; i++)
		free(c->items[i].path);
	for (i = 0; i < c->note_count; i++)
		free(c->notes[i]);
	free(c->items);
	free(c->notes);
	*c = (struct gitchanges){0};
}

void gitchanges_skip(struct gitchanges *c, const char *path, const char *why)
{
	GROW(c->notes, c->note_count, c->note_capacity);
	c->notes[c->note_count++] = mem_printf("%s: %s", text_quote(path), why);
}

static int read_entry(struct gitchanges *c, const struct entry *e,
		      struct buf *to, struct err *err)
{
	if (e && S_ISLNK(e->mode))
		buf_add_text(to, e->link);
	else if (e && S_ISREG(e->mode))
		return content_append(c->store, &e->content, to, err);
	return 0;
}

static uint32_t blob_mode(const struct entry *e)
{
	if (!e || (!S_ISREG(e->mode) && !S_ISLNK(e->mode)))
		return 0;
	if (S_ISLNK(e->mode))
		return GIT_FILEMODE_LINK;
	return e->mode & 0100 ? GIT_FILEMODE_BLOB_EXECUTABLE
			      : GIT_FILEMODE_BLOB;
}

/* The branch's entry: its mode (0: none; other than a blob: skipped). */
static uint32_t find_in_tree(const struct gitchanges *c, const git_tree *tree,
			     const char *path, git_oid *ret)
{
	git_tree_entry *e = NULL;
	uint32_t mode;

	if (!tree || c->git->tree_entry_bypath(&e, tree, path) < 0)
		return 0;
	mode = (uint32_t)c->git->tree_entry_filemode(e);
	*ret = *c->git->tree_entry_id(e);
	c->git->tree_entry_free(e);
	return mode;
}

static uint32_t find_in_branch(const struct gitchanges *c, const char *path,
			       git_oid *ret)
{
	return find_in_tree(c, c->tree, path, ret);
}

static int read_branch_blob(struct gitchanges *c, const git_oid *id,
			    struct buf *to, struct err *err)
{
	git_blob *blob = NULL;

	if (c->git->blob_lookup(&blob, c->repo, id) < 0)
		return libgit_failed("read a file of the branch", err);
	buf_add(to, c->git->blob_rawcontent(blob),
		(size_t)c->git->blob_rawsize(blob));
	c->git->blob_free(blob);
	return 0;
}

static bool same_blob_bytes(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	       (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

static bool has_returns(const struct buf *b)
{
	return b->len && memmem(b->data, b->len, "\r\n", 2) != NULL;
}

static void drop_returns(struct buf *b)
{
	size_t kept = 0, i;

	for (i = 0; i < b->len; i++)
		if (b->data[i] != '\r' || i + 1 == b->len ||
		    b->data[i + 1] != '\n')
			b->data[kept++] = b->data[i];
	b->len = kept;
}

static int conflict(const struct gitchanges *c, const char *path,
		    struct err *err)
{
	return fail(err, EEXIST,
		    "%s has another %s than the run began with, and the change "
		    "does not fit: commit what you have there first, or leave "
		    "the path out",
		    c->branch, text_quote(path));
}

static int push_gitchange(struct gitchanges *c, const char *path, uint32_t mode,
			  const struct buf *bytes, uint32_t had,
			  const git_oid *had_id, struct err *err)
{
	struct gitchange u = {.mode = mode, .had = had, .had_id = *had_id};

	if (mode && c->git->blob_create_from_buffer(
			    &u.id, c->repo,
			    bytes->data ? (const void *)bytes->data : "",
			    bytes->len) < 0)
		return libgit_failed("write an object", err);
	if (mode && mode == had && memcmp(&u.id, had_id, sizeof(u.id)) == 0)
		return 0;
	u.path = mem_strdup(path);
	*VEC_ADD(c) = u;
	return 0;
}

/* The branch has a file, and it differs from the one at the start of the
 * run. */
static int merge_with_branch(struct gitchanges *c, const char *path,
			     const struct buf *old, struct buf *branch_bytes,
			     const struct buf *now, uint32_t mode, uint32_t had,
			     const git_oid *had_id, struct err *err)
{
	AUTO(buf) struct buf merged = {0};
	struct textmerge_sides sides = {
		.base = old,
		.ours = branch_bytes,
		.theirs = now,
		.our_label = "branch",
		.their_label = "run",
	};
	int got;

	if (!textmerge_is_text(old) || !textmerge_is_text(branch_bytes) ||
	    !textmerge_is_text(now))
		return conflict(c, path, err);
	got = textmerge(&sides, &merged, err);
	if (got < 0)
		return got;
	return got ? push_gitchange(c, path, mode, &merged, had, had_id, err)
		   : conflict(c, path, err);
}

static int read_sides(struct gitchanges *c, const struct entry *a,
		      const struct entry *b, struct buf *old, struct buf *now,
		      struct err *err)
{
	return read_entry(c, a, old, err) < 0 || read_entry(c, b, now, err) < 0
		       ? -err->num
		       : 0;
}

/* Converts both sides to the bytes that git stores. */
static int clean_sides(struct gitchanges *c, const char *path, uint32_t was,
		       uint32_t mode, struct buf *old, struct buf *now,
		       struct err *err)
{
	if (was != GIT_FILEMODE_LINK &&
	    gitclean_bytes(c->git, c->repo, path, old, err) < 0)
		return -err->num;
	return mode == GIT_FILEMODE_LINK
		       ? 0
		       : gitclean_bytes(c->git, c->repo, path, now, err);
}

static int add_tree_change(struct gitchanges *c, const char *path,
			   const struct entry *a, const struct entry *b,
			   struct err *err)
{
	AUTO(buf) struct buf old = {0}, now = {0}, branch_bytes = {0};
	uint32_t was = blob_mode(a), mode = blob_mode(b), had;
	git_oid had_id = {{0}};

	had = find_in_branch(c, path, &had_id);
	/* Complete deletion is checked when all changes are known. */
	if (had == GIT_FILEMODE_TREE && a && S_ISDIR(a->mode)) {
		had = 0;
		had_id = (git_oid){{0}};
	}
	if (had && had != GIT_FILEMODE_BLOB && had != GIT_FILEMODE_LINK &&
	    had != GIT_FILEMODE_BLOB_EXECUTABLE)
		return conflict(c, path, err);
	if (!had && !mode)
		return 0;
	if (read_sides(c, a, b, &old, &now, err) < 0 ||
	    (had && read_branch_blob(c, &had_id, &branch_bytes, err) < 0))
		return -err->num;
	/* The branch has the version from the start of the run. */
	if (had && was && same_blob_bytes(&old, &branch_bytes))
		return push_gitchange(c, path, mode, &now, had, &had_id, err);
	if (gitclean_by_program(c->git, c->repo, path)) {
		gitchanges_skip(c, path,
				"git keeps it through a filter, which "
				"guard does not run: git add takes it");
		return 0;
	}
	if (had && mode && same_blob_bytes(&now, &branch_bytes))
		return push_gitchange(c, path, mode, &now, had, &had_id, err);
	if (clean_sides(c, path, was, mode, &old, &now, err) < 0)
		return -err->num;
	/* The branch has no file, or a file that is equal for git. */
	if (!had || (was && same_blob_bytes(&old, &branch_bytes)) ||
	    (mode && same_blob_bytes(&now, &branch_bytes)))
		return push_gitchange(c, path, mode, &now, had, &had_id, err);
	/* Lines end with CR LF in the directory and with LF in the branch, due
	 * to an earlier setting: the branch keeps LF. */
	if (has_returns(&old) && !has_returns(&branch_bytes)) {
		drop_returns(&old);
		drop_returns(&now);
		if (same_blob_bytes(&old, &branch_bytes))
			return push_gitchange(c, path, mode, &now, had, &had_id,
					      err);
	}
	if (!was || !mode || mode == GIT_FILEMODE_LINK ||
	    had == GIT_FILEMODE_LINK)
		return conflict(c, path, err);
	return merge_with_branch(c, path, &old, &branch_bytes, &now,
				 was == mode ? had : mode, had, &had_id, err);
}

/* Whether a parent directory is a submodule of the branch. */
static bool in_submodule(struct gitchanges *c, const char *path)
{
	size_t len;
	git_oid id;

	for (len = 0; path[len]; len++) {
		auto_free char *dir = NULL;

		if (path[len] != '/')
			continue;
		dir = mem_strndup(path, len);
		if (find_in_branch(c, dir, &id) == GIT_FILEMODE_COMMIT)
			return true;
	}
	return false;
}

static bool is_committed_path(const struct gitchanges *c, const char *path)
{
	const char *const *p = c->paths;

	while (p && *p && !path_below(path, *p))
		p++;
	return !p || *p;
}

int gitchanges_add(void *arg, const char *path, const struct entry *a,
		   const struct entry *b, struct err *err)
{
	struct gitchanges *c = arg;
	bool folder = (!a || !a->mode || S_ISDIR(a->mode)) &&
		      (!b || !b->mode || S_ISDIR(b->mode));
	size_t count = c->count;
	int ignored = 0;
	git_oid id;

	if (folder || path_has_part(path, ".git") ||
	    !is_committed_path(c, path))
		return 0;
	if (a && b && blob_mode(a) == blob_mode(b) && entry_same_content(a, b))
		return 0;
	if (b && b->mode && !S_ISDIR(b->mode) && !blob_mode(b)) {
		gitchanges_skip(c, path, "git keeps no such thing");
		return 0;
	}
	if ((a && a->size > BLOB_MAX) || (b && b->size > BLOB_MAX)) {
		gitchanges_skip(c, path, "too large");
		return 0;
	}
	if (in_submodule(c, path)) {
		gitchanges_skip(c, path, "in a submodule");
		return 0;
	}
	if (!find_in_branch(c, path, &id) &&
	    c->git->ignore_path_is_ignored(&ignored, c->repo, path) == 0 &&
	    ignored) {
		gitchanges_skip(c, path, "ignored by git");
		return 0;
	}
	if (add_tree_change(c, path, a, b, err) < 0)
		return -err->num;
	if (c->count > count)
		c->items[count].was_dir = a && S_ISDIR(a->mode);
	return 0;
}

int gitchanges_check_dirs(const struct gitchanges *c, const git_tree *without,
			  struct err *err)
{
	size_t i;
	git_oid id;

	for (i = 0; i < c->count; i++)
		if (c->items[i].was_dir &&
		    find_in_tree(c, without, c->items[i].path, &id))
			return conflict(c, c->items[i].path, err);
	return 0;
}
