/* References to the files of a root (guard/rules/risk_refs.c), before and after
 * a run. Before it means the real files: they are what executes. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "guard/change/changes.h"
#include "guard/rules/risk.h"

void changes_refs_forget(const struct changes_root *root)
{
	if (root->refs) {
		risk_refs_free(&root->refs->list);
		root->refs->found = false;
	}
}

static const struct change_list *all_changes(const struct changes_root *root)
{
	return root->all ? root->all : &root->list;
}

/* The change of an absolute path, or NULL. */
static const struct change *change_of(const struct changes_root *root,
				      const char *path)
{
	const struct change_list *l = all_changes(root);

	return path_below(path, root->refs->path)
		       ? FIND_BY_PATH(path_rest(path, root->refs->path),
				      l->items, l->count, path)
		       : NULL;
}

static uint32_t look_at(void *arg, const char *path, bool now,
			struct buf *target)
{
	const struct changes_root *root = *(const struct changes_root **)arg;
	const struct change *c = now ? change_of(root, path) : NULL;
	char text[PATH_MAX];
	struct err ignored;
	struct stat st;
	ssize_t len;

	if (c) {
		if (S_ISLNK(c->now.mode))
			(void)changes_read(root, c->path, c->now.mode, true,
					   target, &ignored);
		return c->now.mode;
	}
	if (lstat(path, &st) < 0)
		return 0;
	len = S_ISLNK(st.st_mode) ? readlink(path, text, sizeof(text)) : 0;
	if (len > 0)
		buf_add(target, text, (size_t)len);
	return st.st_mode;
}

static bool read_at(void *arg, const char *path, bool now, struct buf *to)
{
	const struct changes_root *root = *(const struct changes_root **)arg;
	const struct change *c = now ? change_of(root, path) : NULL;
	auto_close int fd = -1;
	struct err ignored;
	struct stat st;

	if (now)
		return c && S_ISREG(c->now.mode) &&
		       c->now.size <= RISK_READ_MAX &&
		       changes_read(root, c->path, c->now.mode, true, to,
				    &ignored) >= 0;
	/* A FIFO would block the open. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_size <= RISK_READ_MAX &&
	       fd_slurp(fd, RISK_READ_MAX, to, &ignored) >= 0;
}

const struct risk_refs *changes_refs(const struct changes_root *root)
{
	struct changes_refs *r = root->refs;
	const struct change_list *l = all_changes(root);
	AUTO(names) struct names added = {0};
	struct risk_tree tree = {.look = look_at, .read = read_at};
	size_t i;

	if (!r)
		return NULL;
	for (i = 0; i < l->count && !r->found; i++) {
		const struct change *c = &l->items[i];

		if (!S_ISDIR(c->now.mode) && c->now.mode &&
		    (!S_ISREG(c->old.mode) || S_ISLNK(c->now.mode)))
			names_add(&added, c->path);
	}
	*VEC_ADD(&added) = NULL;
	added.count--;
	tree.root = r->path;
	tree.home = r->home;
	tree.arg = &root;
	if (!r->found && l->count)
		risk_refs_find(&tree, added.items, root->home, &r->list);
	r->found = true;
	return &r->list;
}
