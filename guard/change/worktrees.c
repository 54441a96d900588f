#include "guard/change/worktrees.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/rules/risk.h"
#include "overlay/layers.h"
#include "overlay/scan.h"
#include "restore/git/gitcopies.h"

#define WORKTREES ".git/worktrees"
/* With more, which a run may add to keep guard busy, none is recognized. */
#define WORKTREES_MAX 1000

bool worktrees_is_old(const struct worktree *w)
{
	return w->path && w->from && strcmp(w->path, w->from) == 0;
}

/* --- recognition --- */

static struct change *change_at(const struct changes_root *root,
				const char *path)
{
	return FIND_BY_PATH(path, root->list.items, root->list.count, path);
}

static bool has_kind(const struct changes_root *root, const char *path,
		     enum change_kind kind)
{
	const struct change *c = change_at(root, path);

	return c && c->kind == kind;
}

/* A file before or after the run; "": it cannot be read. */
static void read_side(const struct changes_root *root, const char *dir,
		      const char *name, bool now, struct buf *to)
{
	auto_free char *path = path_join(dir, name);
	const struct change *c = change_at(root, path);
	uint32_t mode = !c ? S_IFREG : now ? c->now.mode : c->old.mode;
	struct changes_root real = *root; /* borrowed */
	struct err ignored;

	/* Not in the list is a change that is noise of the profile, nor in the
	 * tree of a home directory a file without a change. */
	real.delta = NULL;
	if (S_ISREG(mode) &&
	    changes_read(root, path, mode, now, to, &ignored) < 0 && !c)
		(void)changes_read(&real, path, mode, false, to, &ignored);
	(void)buf_text(to);
}

/* A file of one line, without its end; NULL: it is none. */
static char *read_line(const struct changes_root *root, const char *dir,
		       const char *name, bool now)
{
	AUTO(buf) struct buf text = {0};
	size_t len;

	read_side(root, dir, name, now, &text);
	len = strcspn(buf_text(&text), "\n");
	return len && len + 1 == text.len ? mem_strndup(buf_text(&text), len)
					  : NULL;
}

struct finder {
	const struct session *s;
	struct changes *c;
	size_t owner;
	struct changes_root *root; /* has the repository, */
	const char *path; /* and its directory */
	const char *admin;
};

/* The path in *ret_root of the files, if both sides are what git writes. */
static char *find_tree(const struct finder *f, bool now, size_t *ret_root)
{
	const struct session *s = f->s;
	const struct changes_root *owner = f->root;
	auto_free char *admin = path_join(f->path, f->admin);
	auto_free char *back = mem_printf("gitdir: %s", admin);
	auto_free char *tree = read_line(owner, f->admin, "gitdir", now);
	auto_free char *common = read_line(owner, f->admin, "commondir", now);
	auto_free char *link = NULL;
	const char *rest;

	if (!tree || !common || strcmp(common, "../..") != 0 ||
	    !path_ends(tree, "/.git"))
		return NULL;
	tree[strlen(tree) - strlen("/.git")] = '\0';
	*ret_root = session_root_of(s, tree);
	if (*ret_root == s->root_count &&
	    (f->c->roots[*ret_root].upper_fd < 0 || !path_below(tree, s->home)))
		return NULL;
	rest = path_rest(tree, s->roots[*ret_root].path);
	if (!path_ok(rest) || !*rest || path_has_part(rest, ".git"))
		return NULL;
	link = read_line(&f->c->roots[*ret_root], rest, ".git", now);
	return link && strcmp(link, back) == 0 ? mem_strdup(rest) : NULL;
}

/* ".claude/worktrees/x" is "x", since an agent takes no file in it for its
 * own. Any other path stays. */
static char *find_judged(const char *path)
{
	const char *at = strstr(path, "/worktrees/");
	const char *part = at;
	auto_free char *rest = NULL;

	while (part && part > path && part[-1] != '/')
		part--;
	if (!part || *part != '.')
		return mem_strdup(path);
	rest = mem_printf("%.*s%s", (int)(part - path), path,
			  at + strlen("/worktrees/"));
	return find_judged(rest);
}

static size_t index_of(const struct change_list *list, const char *path)
{
	return INDEX_BY_PATH(path, list->items, list->count, path);
}

/* A worktree in a directory of the user, or in place of one, is shown as the
 * changes that it is made of. */
static bool is_whole(const struct worktree *w, const struct changes_root *root,
		     const struct changes_root *owner, const char *admin)
{
	if (worktrees_is_old(w))
		return w->commits || changes_has(&root->list, w->path);
	if (w->path && (!has_kind(root, w->path, CHANGE_ADDED) ||
			(!w->from && !has_kind(owner, admin, CHANGE_ADDED))))
		return false;
	return !w->from ||
	       (has_kind(root, w->from, CHANGE_DELETED) &&
		(w->path || has_kind(owner, admin, CHANGE_DELETED)));
}

/* Returns the first change at or below the path, or NULL. own: the file that
 * git writes there. */
static struct change *mark(struct change_list *list, const char *path,
			   const char *own)
{
	size_t first = path ? index_of(list, path) : list->count, i = first;

	/* New directories with nothing else in front of it. */
	while (i-- && first < list->count &&
	       list->items[i].kind == CHANGE_ADDED &&
	       path_below(path, list->items[i].path))
		list->items[i].flags |= CHANGES_WORKTREE;
	for (i = first;
	     i < list->count && path_below(list->items[i].path, path); i++) {
		struct change *c = &list->items[i];
		const char *name = path_rest(c->path, path);

		/* A repository inside, and settings, have their own lines. */
		if (strcmp(name, own) == 0 ||
		    (*own == 'g' && strcmp(name, "commondir") == 0))
			c->flags |= CHANGES_WORKTREE |
				    (c->now.mode ? CHANGES_CHECKOUT : 0);
		else if (*own == '.' ? !(c->flags & CHANGE_GIT)
				     : risk_by_name(c->path) <= RISK_NOTE)
			c->flags |= CHANGES_WORKTREE;
	}
	return i > first ? &list->items[first] : NULL;
}

/* New commits of a log have such a message. */
static size_t count_commits(const struct changes_root *owner, const char *admin,
			    bool now)
{
	AUTO(buf) struct buf log = {0};
	const char *at;
	size_t n = 0;

	read_side(owner, admin, "logs/HEAD", now, &log);
	for (at = buf_text(&log); (at = strstr(at, "\tcommit: ")); at++)
		n++;
	return n;
}

/* A new one with its files elsewhere, as in the run's own /tmp: no more than
 * its name is in the repository. */
static void mark_elsewhere(const struct finder *f)
{
	static const char *const names[] = {"commondir", "gitdir"};
	const struct changes_root *owner = f->root;
	auto_free char *common = read_line(owner, f->admin, *names, true);
	size_t i;

	for (i = 0; i < 2 && common && strcmp(common, "../..") == 0 &&
		    has_kind(owner, f->admin, CHANGE_ADDED);
	     i++) {
		auto_free char *path = path_join(f->admin, names[i]);
		struct change *c = change_at(owner, path);

		if (c)
			c->flags |= CHANGES_CHECKOUT;
	}
}

static void add_worktree(const struct finder *f)
{
	struct changes_root *owner = f->root, *root;
	auto_free char *head = read_line(owner, f->admin, "HEAD", true);
	struct worktree w = {.owner = f->owner,
			     .outside = f->owner > f->s->root_count};
	struct change *first, *old, *git;
	size_t at = 0, before = 0, was, is;
	struct gitid id;

	w.path = find_tree(f, true, &at);
	w.from = find_tree(f, false, &before);
	if (!w.path)
		at = before;
	root = &f->c->roots[at];
	if (w.path && head && strncmp(head, "ref: refs/heads/", 16) == 0 &&
	    gittips_ref_ok(head + 5))
		w.branch = mem_strdup(head + 16);
	is = count_commits(owner, f->admin, true);
	was = count_commits(owner, f->admin, false);
	w.commits = is > was ? is - was : 0;
	if ((!w.path && !w.from) || (w.path && w.from && at != before) ||
	    (w.path && !w.branch && !(head && gittips_read_id(head, &id))) ||
	    !is_whole(&w, root, owner, f->admin)) {
		mark_elsewhere(f);
		changes_free_worktree(&w);
		return;
	}
	w.admin = mem_strdup(f->admin);
	w.repository = mem_strdup(w.outside ? f->s->project : f->path);
	w.judged = find_judged(w.path ?: w.from);
	first = mark(&root->list, w.path, ".git");
	old = mark(&root->list, w.from, ".git");
	git = mark(&owner->list, w.admin, "gitdir");
	first = first ?: old ?: git;
	if (first)
		first->flags |= CHANGES_WORKTREE_FIRST;
	root->worktrees_listed = true;
	*VEC_ADD(&root->worktrees) = w;
}

static void list_admins(int root_fd, const char *dir, char ***to)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	auto_close int fd =
		root_fd < 0 ? -1
			    : beneath_open(root_fd, dir, O_RDONLY | O_DIRECTORY,
					   0, &ignored);
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0 ||
	    list.count > WORKTREES_MAX)
		return;
	for (i = 0; i < list.count; i++) {
		auto_free char *admin = path_join(dir, list.items[i].name);

		mem_list_add_once(to, admin);
	}
}

/* Worktrees of the user, and new ones; dir: where they are in the root. */
static void find_in(struct finder *f, const char *dir)
{
	AUTO(mem_list) char **admins = NULL;
	size_t i;

	list_admins(f->root->lower_fd, dir, &admins);
	list_admins(f->root->upper_fd, dir, &admins);
	for (i = 0; admins && admins[i]; i++) {
		f->admin = admins[i];
		add_worktree(f);
	}
}

/* The repository has a layer of its own. */
static void find_outside(const struct session *s, struct changes *c)
{
	const char *path = record_get(&s->more, LAYERS_GIT);
	auto_close int upper = path ? fd_open_dir(s->fd, "git-upper") : -1;
	auto_close int lower = path ? fd_open_dir(AT_FDCWD, path) : -1;
	struct changes_root root = {.upper_fd = upper, .lower_fd = lower};
	struct finder f = {s, c, s->root_count + 1, &root, path, NULL};
	struct err ignored;

	if (upper >= 0 && lower >= 0 &&
	    scan_layer(upper, lower, NULL, &root.list, &ignored) == 0)
		find_in(&f, "worktrees");
	change_list_free(&root.list);
}

void worktrees_find(const struct session *s, struct changes *c)
{
	size_t i;

	for (i = 0; i < s->root_count; i++) {
		struct finder f = {s,	c, i, &c->roots[i], s->roots[i].path,
				   NULL};

		find_in(&f, WORKTREES);
	}
	find_outside(s, c);
}

/* --- files --- */

/* The user has committed the bytes. A file that is executed where it is, though
 * not in the project (a worktree that is .vscode), is judged all the same. */
static bool is_committed(const struct changes_root *root,
			 const struct worktree *w, const struct gitcopies *git,
			 struct change *c)
{
	const char *rest = path_rest(c->path, w->path);
	auto_free char *path = path_join(w->judged, rest);
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;
	enum gitcopy found = GITCOPY_NONE;

	if (c->kind != CHANGE_ADDED ||
	    c->flags & (CHANGE_SETID | CHANGE_NODE | CHANGE_ATTRS | CHANGE_ACL))
		return false;
	if (changes_read(root, c->path, c->now.mode, true, &bytes, &ignored) >=
	    0) {
		found = gitcopies_find(git, rest, &bytes);
	} else {
		/* Too large for a comparison in memory. */
		auto_close int fd = changes_open(root, c->path, true, &ignored);

		if (fd >= 0)
			found = gitcopies_find_file(git, rest, fd);
	}
	if (found == GITCOPY_CURRENT &&
	    risk_by_name(path) <= risk_by_name(rest))
		c->flags |= CHANGES_CHECKOUT;
	return found != GITCOPY_NONE;
}

static void count_files(const struct changes_root *root, struct worktree *w)
{
	const struct change_list *list = &root->list;
	const char *path = w->path ?: w->from;
	AUTO(gitcopies) struct gitcopies *git = NULL;
	struct err ignored;
	size_t i;

	(void)gitcopies_open(w->repository, true, &git, &ignored);
	for (i = index_of(list, path);
	     i < list->count && path_below(list->items[i].path, path); i++) {
		struct change *c = &list->items[i];

		w->files +=
			!(c->flags & CHANGE_GIT) &&
			!S_ISDIR(c->now.mode | c->old.mode) &&
			!(git && ((w->path && is_committed(root, w, git, c)) ||
				  gitcopies_is_ignored(
					  git, path_rest(c->path, path))));
	}
}

void worktrees_count(const struct changes_root *root)
{
	size_t i;

	for (i = 0; i < root->worktrees.count; i++) {
		struct worktree *w = &root->worktrees.items[i];

		if (!w->counted)
			count_files(root, w);
		w->counted = true;
	}
}

/* --- users --- */

static bool has_path(const struct worktree *w, const char *path)
{
	return (w->path && path_below(path, w->path)) ||
	       (w->from && path_below(path, w->from));
}

/* The inner one of two. */
static const struct worktree *find(const struct changes_root *root,
				   const char *path)
{
	const struct worktree *found = NULL;
	size_t i;

	for (i = 0; i < root->worktrees.count; i++) {
		const struct worktree *w = &root->worktrees.items[i];

		if (has_path(w, path) &&
		    (!found || has_path(found, w->path ?: w->from)))
			found = w;
	}
	return found;
}

bool worktrees_leave(const struct changes_root *root, const char *path)
{
	const struct worktree *w = find(root, path);
	const struct change *c = change_at(root, path);

	return w ? !w->named : c && c->flags & CHANGES_WORKTREE;
}

char *worktrees_judged_path(const struct changes_root *root, const char *path)
{
	const struct worktree *w = find(root, path);
	const char *rest;

	if (!w || !w->path || !path_below(path, w->path))
		return NULL;
	rest = path_rest(path, w->path);
	/* git looks for its hooks below the worktree. */
	return risk_refs_level(changes_refs(root), rest)
		       ? mem_strdup(rest)
		       : path_join(w->judged, rest);
}

bool worktrees_named(const struct worktree *w, char *const *paths)
{
	for (; paths && *paths; paths++)
		if (has_path(w, *paths))
			return true;
	return false;
}

void worktrees_show(struct changes *c)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++) {
		struct changes_root *root = &c->roots[i];

		worktrees_count(root);
		root->worktrees_listed = false;
		for (k = 0; k < root->list.count; k++)
			root->list.items[k].flags &=
				~(CHANGES_WORKTREE | CHANGES_WORKTREE_FIRST);
	}
}

void worktrees_text(const struct worktree *w, struct buf *to)
{
	buf_add_text(to, !w->path    ? "removed"
			 : w->branch ? "branch "
				     : "detached");
	text_escape_name(to, w->branch ?: "");
	if (w->path && w->from && !worktrees_is_old(w)) {
		buf_add_text(to, ", moved from ");
		text_escape_name(to, w->from);
	}
	if (w->path)
		buf_printf(to, ", %s", text_count(w->commits, "commit"));
	buf_printf(to, ", %s", text_count(w->files, "file"));
}
