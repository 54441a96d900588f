#include "guard/change/undo_git.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gittips.h"
#include "snapshot/store/content.h"

#define GIT ".git/"

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

static int check_head(const struct adjustment *a, struct err *err)
{
	AUTO(entry) struct entry then = {0}, now = {0};

	if (tree_lookup(a->store, &a->root->base.root, GIT "HEAD", &then, err) <
		    0 ||
	    tree_lookup(a->store, &a->root->now.root, GIT "HEAD", &now, err) <
		    0)
		return -err->num;
	return entry_same_content(&then, &now)
		       ? 0
		       : fail(err, EBUSY,
			      "nothing undone: HEAD has moved to another "
			      "branch since: git switch to the former one");
}

/* A ref without a loose file. then, before: the loose files after and before
 * the action, or NULL. */
static int adjust_packed(const struct adjustment *a, const char *path,
			 const struct entry *then, const struct entry *before,
			 struct err *err)
{
	const struct changeset_root *root = a->root;
	const char *name = path + strlen(GIT);
	struct gitid after, now, old;
	auto_free char *text = NULL;
	struct entry made;

	int got = githead_find(a->store, &root->base.root, name, &after, err);

	if (got == 0)
		got = githead_find(a->store, &root->now.root, name, &now, err);
	if (got == 0)
		got = githead_find(a->store, &root->want.root, name, &old, err);
	/* guard reads no refs in these repositories: their files are compared
	 * like any other file. */
	if (got == -ENOTSUP || got == -ENOENT || got == -ENOTDIR)
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
static int keep_object(const struct adjustment *a, const char *path,
		       const struct entry *then, struct err *err)
{
	AUTO(entry) struct entry objects = {0};
	int got = tree_lookup(a->store, &a->root->want.root, GIT "objects",
			      &objects, err);

	return got > 0 ? tree_editor_put(a->want, path, then, err) : got;
}

static int adjust_path(void *arg, const char *path, const struct entry *then,
		       const struct entry *before, struct err *err)
{
	const struct adjustment *a = arg;
	bool ref = path_below(path, GIT "refs");
	bool log = path_below(path, GIT "logs") && then && before;
	AUTO(entry) struct entry now = {0};
	int got;

	if (then && !before && path_below(path, GIT "objects"))
		return keep_object(a, path, then, err);
	if ((!ref && !log) || (then && !S_ISREG(then->mode)) ||
	    (before && !S_ISREG(before->mode)))
		return 0;
	if (path_below(path, GIT "refs/heads") && check_head(a, err) < 0)
		return -err->num;
	got = tree_lookup(a->store, &a->root->now.root, path, &now, err);
	if (got < 0)
		return got;
	if (ref)
		return got ? 0 : adjust_packed(a, path, then, before, err);
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
