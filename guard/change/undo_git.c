#include "guard/change/undo_git.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gitindex.h"
#include "restore/git/gittips.h"
#include "snapshot/store/content.h"

struct adjustment {
	struct store *store;
	const struct changeset_root *root;
	struct tree_editor *base, *want;
};

static int put(struct tree_editor *editor, const char *path,
	       const struct entry *e, struct err *err)
{
	return e->mode ? tree_editor_put(editor, path, e, err)
		       : tree_editor_remove(editor, path, err);
}

/* Whether a directory has a HEAD as in a repository. */
static int has_head(const struct adjustment *a, const char *dir,
		    struct err *err)
{
	auto_free char *path = path_join(dir, "HEAD");
	AUTO(entry) struct entry e = {0};
	int got = tree_lookup(a->store, &a->root->base.root, path, &e, err);

	return got <= 0 ? got : S_ISREG(e.mode);
}

/* 1: the path is that of a ref, a reflog, an object or an index of a repository
 * in the directory *ret_git, which the caller frees; *ret_name is the rest. */
static int find_repository_of(const struct adjustment *a, const char *path,
			      char **ret_git, const char **ret_name,
			      struct err *err)
{
	static const char *const parts[] = {"refs", "logs", "objects", "index"};
	size_t i, at = 0;

	for (; path[at]; at += strcspn(path + at, "/"), at += path[at] == '/') {
		auto_free char *dir = mem_strndup(path, at ? at - 1 : 0);
		int got = 0;

		for (i = 0; got == 0 && i < ARRAY_SIZE(parts); i++)
			if (path_below(path + at, parts[i]))
				got = has_head(a, dir, err);
		if (got < 0)
			return got;
		if (got) {
			*ret_git = TAKE(dir);
			*ret_name = path + at;
			return 1;
		}
	}
	return 0;
}

/* dir: of a HEAD. */
static int check_head(const struct adjustment *a, const char *dir,
		      struct err *err)
{
	auto_free char *path = path_join(dir, "HEAD");
	AUTO(entry) struct entry then = {0}, now = {0};

	if (tree_lookup(a->store, &a->root->base.root, path, &then, err) < 0 ||
	    tree_lookup(a->store, &a->root->now.root, path, &now, err) < 0)
		return -err->num;
	return entry_same_content(&then, &now)
		       ? 0
		       : fail(err, EBUSY,
			      "nothing undone: HEAD has moved to another "
			      "branch since: git switch to the former one");
}

static int find_ref_id(const struct adjustment *a, const struct snapshot *state,
		       const char *git, const char *name, struct gitid *ret,
		       struct err *err)
{
	AUTO(entry) struct entry e = {0};

	if (tree_lookup(a->store, &state->root, git, &e, err) < 0)
		return -err->num;
	return S_ISDIR(e.mode) ? githead_find(a->store, &e, name, ret, err)
			       : -ENOENT;
}

/* A ref without a loose file. then, before: the loose files after and before
 * the action, or NULL. */
static int adjust_packed(const struct adjustment *a, const char *path,
			 const char *git, const char *name,
			 const struct entry *then, const struct entry *before,
			 struct err *err)
{
	struct gitid after, now, old;
	auto_free char *text = NULL;
	struct entry made;
	int got = find_ref_id(a, &a->root->base, git, name, &after, err);

	if (got == 0)
		got = find_ref_id(a, &a->root->now, git, name, &now, err);
	if (got == 0)
		got = find_ref_id(a, &a->root->want, git, name, &old, err);
	/* guard reads no refs in these repositories: their files are compared
	 * like any other file. */
	if (got == -ENOTSUP || got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	if (memcmp(&now, &after, sizeof(now)) != 0)
		return fail(err, EBUSY, "nothing undone: %s moved since",
			    text_quote(name));
	if (!then)
		return 0;
	if (!*old.hex)
		return fail(err, EBUSY,
			    "nothing undone: %s is new and git has packed it: "
			    "git update-ref -d %s deletes it",
			    text_quote(name), name);
	if (tree_editor_remove(a->base, path, err) < 0)
		return -err->num;
	if (before)
		return 0;
	text = mem_printf("%s\n", old.hex);
	made = *then;
	made.size = strlen(text);
	return content_put_bytes(a->store, text, made.size, &made.content,
				 err) < 0
		       ? -err->num
		       : tree_editor_put(a->want, path, &made, err);
}

/* Objects stay: tags and commits of the user may refer to them since, and git
 * gc removes the others. Not where the action added the repository. */
static int keep_object(const struct adjustment *a, const char *git,
		       const char *path, const struct entry *then,
		       struct err *err)
{
	auto_free char *dir = path_join(git, "objects");
	AUTO(entry) struct entry objects = {0};
	int got =
		tree_lookup(a->store, &a->root->want.root, dir, &objects, err);

	return got > 0 ? tree_editor_put(a->want, path, then, err) : got;
}

static int adjust_path(void *arg, const char *path, const struct entry *then,
		       const struct entry *before, struct err *err)
{
	const struct adjustment *a = arg;
	AUTO(entry) struct entry now = {0};
	auto_free char *git = NULL;
	const char *name = "";
	bool ref, log, index;
	int got = find_repository_of(a, path, &git, &name, err);

	if (got <= 0)
		return got;
	ref = path_below(name, "refs");
	log = path_below(name, "logs") && then && before;
	index = strcmp(name, "index") == 0;
	if (then && !before && path_below(name, "objects"))
		return keep_object(a, git, path, then, err);
	if ((!ref && !log && !index) || (then && !S_ISREG(then->mode)) ||
	    (before && !S_ISREG(before->mode)))
		return 0;
	/* An action that moves a HEAD changes the index and the reflog beside
	 * it. */
	if ((index || strcmp(name, "logs/HEAD") == 0 ||
	     (!before && path_below(name, "refs/heads"))) &&
	    check_head(a, git, err) < 0)
		return -err->num;
	got = tree_lookup(a->store, &a->root->now.root, path, &now, err);
	if (got < 0)
		return got;
	if (index) {
		got = got && then ? gitindex_same(a->store, &now, then, err)
				  : 0;
		return got > 0 ? put(a->base, path, &now, err) : got;
	}
	if (ref)
		return got ? 0
			   : adjust_packed(a, path, git, name, then, before,
					   err);
	if (got && entry_same_content(&now, then))
		return 0;
	return put(a->base, path, &now, err) < 0
		       ? -err->num
		       : put(a->want, path, &now, err);
}

int undo_git_adjust(struct store *store, struct changeset_root *root,
		    struct err *err)
{
	struct adjustment a = {
		.store = store,
		.root = root,
		.base = tree_editor_new(store, &root->base.root),
		.want = tree_editor_new(store, &root->want.root),
	};
	int got = tree_diff(store, &root->base.root, &root->want.root,
			    adjust_path, &a, err);

	got = tree_editor_end(&a.base, got, &root->base.root, err);
	return tree_editor_end(&a.want, got, &root->want.root, err);
}
