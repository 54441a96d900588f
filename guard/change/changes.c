#include "guard/change/changes.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/change/delta.h"
#include "guard/change/moved_dirs.h"
#include "guard/rules/risk.h"
#include "overlay/lower_copy.h"
#include "overlay/layers.h"
#include "overlay/persistent_mount.h"
#include "overlay/whiteout.h"
#include "restore/transaction.h"
#include "restore/git/gitdir.h"

#define TARGET_MAX 4096
#define HOME_LAYER "home-upper"

static int open_layer_dir(int dirfd, const char *path, struct err *err)
{
	int fd = openat(dirfd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? fail_errno(err, "open %s", text_quote(path)) : fd;
}

char *changes_prefix(const char *path, const char *home)
{
	const char *rest;

	if (!home || !*home || !path_below(path, home))
		return mem_printf("%s/", path);
	rest = path_rest(path, home);
	return mem_printf("~/%s%s", rest, *rest ? "/" : "");
}

/* Directories below the root that have another layer, or none, and the state;
 * borrowed. */
static const char **list_uncovered_paths(const struct session *s,
					 const struct state *state,
					 const char *dir)
{
	size_t uncovered = 0, n = 0, i;
	const char **skip;

	while (record_get_nth(&s->more, LAYERS_UNCOVERED, uncovered))
		uncovered++;
	/* One more for the state, and one for the NULL. */
	skip = mem_zalloc((s->root_count + uncovered + 2) * sizeof(*skip));
	for (i = 0; i < s->root_count + uncovered; i++) {
		const char *path =
			i < s->root_count
				? s->roots[i].path
				: record_get_nth(&s->more, LAYERS_UNCOVERED,
						 i - s->root_count);

		if (path_below(path, dir) && strcmp(path, dir) != 0)
			skip[n++] = path_rest(path, dir);
	}
	if (state && path_below(state->path, dir))
		skip[n++] = path_rest(state->path, dir);
	return skip;
}

int changes_explain(int got, const char *path, struct err *err)
{
	if (got != -ENOENT && got != -ENOTDIR && got != -ELOOP)
		return got;
	return fail(err, -got,
		    "%s %s: the run's changes belong to the directory that was "
		    "there; put it back, then try again",
		    text_quote(path),
		    got == -ENOENT ? "no longer exists"
				   : "is no longer a directory, or is reached "
				     "through a link");
}

struct changes_root *changes_project(const struct changes *c)
{
	return c->root_count ? &c->roots[0] : NULL;
}

struct changes_root *changes_home(const struct changes *c)
{
	struct changes_root *last =
		c->root_count ? &c->roots[c->root_count - 1] : NULL;

	return last && last->home ? last : NULL;
}

static struct changes make_roots(size_t count)
{
	struct changes c = {
		.roots = mem_zalloc(count * sizeof(*c.roots)),
		.root_count = count,
	};
	size_t i;

	for (i = 0; i < count; i++)
		c.roots[i].upper_fd = c.roots[i].lower_fd = -1;
	return c;
}

struct changes changes_of_project(void)
{
	struct changes c = make_roots(1);

	c.roots[0].prefix = mem_strdup("");
	c.roots[0].where = mem_strdup("");
	return c;
}

/* Whether the home directory has a layer of its own, not that of a project
 * that includes it (--home). */
static bool has_home_layer(const struct session *s)
{
	return s->home && *s->home && !path_below(s->home, s->project) &&
	       faccessat(s->fd, HOME_LAYER, F_OK, 0) == 0;
}

char *changes_layer_name(const struct changes *c, size_t index)
{
	return c->roots[index].home ? mem_strdup(HOME_LAYER)
				    : session_root_dir(index, "upper");
}

static int open_root(const struct session *s, struct changes *c, size_t index,
		     struct err *err)
{
	struct changes_root *root = &c->roots[index];
	const char *path = s->roots[index].path;
	auto_free char *upper = changes_layer_name(c, index);

	root->upper_fd = open_layer_dir(s->fd, upper, err);
	if (root->upper_fd < 0)
		return root->upper_fd;
	root->lower_fd = root->home ? open_layer_dir(AT_FDCWD, path, err)
			 : index    ? project_open_dir(path, false, err)
				    : lower_copy_open(s, err);
	/* The run's directory is gone where another one is at its path. */
	if (root->lower_fd >= 0 && index && !root->home &&
	    session_root_replaced(&s->roots[index])) {
		fd_close(&root->lower_fd);
		root->lower_fd = -ENOENT;
	}
	return root->lower_fd < 0 ? changes_explain(root->lower_fd, path, err)
				  : 0;
}

bool changes_is_gone(const struct changes_root *root)
{
	return root->lower_fd == -ENOENT && !root->home && *root->prefix;
}

int changes_scan(const struct session *s, const struct state *state,
		 size_t index, struct changes_root *root, struct err *err)
{
	auto_free const char **skip =
		list_uncovered_paths(s, state, s->roots[index].path);

	if (changes_is_gone(root))
		return changes_explain(-ENOENT, s->roots[index].path, err);
	return !index && moved_dirs_check(s, err) < 0
		       ? -err->num
		       : scan_layer(root->upper_fd, root->lower_fd, skip,
				    &root->list, err);
}

/* --- the stored trees of an ended run --- */

bool changes_complete(const struct changes *c)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].list.count; k++)
			if (!c->roots[i].home &&
			    c->roots[i].list.items[k].flags & CHANGE_UNREADABLE)
				return false;
	return true;
}

int changes_edit_layer(struct session *s, struct err *err)
{
	if (!record_get(&s->more, SESSION_STORED))
		return 0;
	record_set(&s->more, SESSION_STORED, NULL);
	return session_save(s, err);
}

/* ---- noise ---- */

/* Whether the glob matches the path or a directory above it. */
static bool is_below_glob(const char *glob, const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (*at) {
		char *up;

		if (fnmatch(glob, at, FNM_PATHNAME) == 0)
			return true;
		up = path_parent(at);
		free(at);
		at = up;
	}
	return false;
}

/* Never noise: deletions, executable changes, and deceptive changes. In a .git
 * the glob is for the path itself. */
static bool is_noise(const struct change *c, const char *glob)
{
	return (c->kind == CHANGE_ADDED || c->kind == CHANGE_MODIFIED) &&
	       !(c->flags & (CHANGE_SETID | CHANGE_NODE)) &&
	       (S_ISDIR(c->now.mode) ||
		(S_ISREG(c->now.mode) && !(c->now.mode & 0111))) &&
	       (S_ISDIR(c->now.mode) || risk_by_name(c->path) < RISK_HIGH ||
		(c->kind == CHANGE_ADDED && !c->now.size)) &&
	       (c->flags & CHANGE_GIT ? fnmatch(glob, c->path, 0) == 0
				      : is_below_glob(glob, c->path));
}

bool changes_make_noise(struct change *c, const char *glob)
{
	bool noise = is_noise(c, glob);

	c->flags |= noise ? CHANGES_NOISE : 0;
	return noise;
}

/* In a .git such a file or a directory without entries is no change at all, if
 * the glob says .git: git does not know it, and no apply takes it. */
static void fold_noise(struct change_list *list, const char *glob)
{
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++) {
		struct change *c = &list->items[i];
		bool git = c->flags & CHANGE_GIT;
		bool has_entries =
			i + 1 < list->count && path_below(c[1].path, c->path);
		bool noise = !(git && has_entries) &&
			     (!git || strncmp(glob, ".git/", 5) == 0) &&
			     changes_make_noise(c, glob);

		if (!noise || !git)
			list->items[kept++] = *c;
	}
	list->count = kept;
}

/* ---- mount points ---- */

/* Whether the change is the new directory of a persistent mount, or one above
 * it, without other entries. */
static bool is_mount_point_change(const struct change_list *list, size_t i,
				  const char *place)
{
	const char *path = list->items[i].path;

	if (list->items[i].kind != CHANGE_ADDED ||
	    !S_ISDIR(list->items[i].now.mode) || !path_below(place, path))
		return false;
	for (i++; i < list->count; i++) {
		if (!path_below(list->items[i].path, path))
			break;
		if (!path_below(place, list->items[i].path))
			return false;
	}
	return true;
}

/* The layer of a live run has the mount points. */
static void drop_mount_points(struct change_list *list, const char *place)
{
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++)
		if (!is_mount_point_change(list, i, place))
			list->items[kept++] = list->items[i];
	list->count = kept;
}

/* Sets CHANGES_NOISE, and removes the directories of a live run that are only
 * mount points of guard. */
static void fold_changes(const struct session *s, struct changes *c)
{
	const char *text;
	size_t i;

	for (i = 0; (text = record_get_nth(&s->more, CHANGES_NOISE_GLOB, i));
	     i++)
		if (strncmp(text, "~/", 2) == 0)
			fold_noise(&changes_home(c)->list, text + 2);
		else
			fold_noise(&changes_project(c)->list, text);
	for (i = 0;
	     (text = record_get_nth(&s->more, PERSISTENT_MOUNT_PLACE, i));
	     i++) {
		if (path_below(text, s->project))
			drop_mount_points(&changes_project(c)->list,
					  path_rest(text, s->project));
		else if (s->home && *s->home && path_below(text, s->home))
			drop_mount_points(&changes_home(c)->list,
					  path_rest(text, s->home));
	}
}

/* ---- all roots ---- */

/* A repository of the project may have another name than .git. */
static void mark_git_dir(const char *project, struct change_list *list)
{
	auto_free char *git = list->count ? gitdir_below(project) : NULL;
	size_t i;

	for (i = 0; git && i < list->count; i++)
		if (path_below(list->items[i].path, git))
			list->items[i].flags |= CHANGE_GIT;
}

static struct changes_refs *new_refs(const char *path, const char *home)
{
	struct changes_refs *r = mem_zalloc(sizeof(*r));

	r->path = mem_strdup(path);
	r->home = mem_strdup(home && *home ? home : getenv("HOME"));
	return r;
}

static void free_refs(struct changes_refs *r)
{
	if (!r)
		return;
	risk_refs_free(&r->list);
	free(r->path);
	free(r->home);
	free(r);
}

int changes_load_by(const struct session *s, const struct state *state,
		    changes_list *list, void *arg, struct changes *ret,
		    struct err *err)
{
	AUTO(changes) struct changes c = CHANGES_NONE;
	struct changes_root *home;
	size_t i;

	if (s->state == RUN_INTERRUPTED && layers_finalize(s, err) < 0)
		return -err->num;
	c = make_roots(s->root_count + 1);
	home = &c.roots[s->root_count];
	home->prefix = mem_strdup("~/");
	home->where = mem_strdup(" in your home directory");
	home->home = true;
	for (i = 0; i <= s->root_count; i++) {
		struct changes_root *root = &c.roots[i];
		const char *path = s->roots[i].path;

		if (root->home && !(state && has_home_layer(s)))
			continue;
		if (!root->home) {
			root->prefix = i ? changes_prefix(path, s->home)
					 : mem_strdup("");
			root->where = i ? mem_printf(" in %s", root->prefix)
					: mem_strdup("");
		}
		if ((open_root(s, &c, i, err) == 0 || changes_is_gone(root)) &&
		    list(arg, s, state, i, root, err) == 0) {
			/* An empty layer needs no rules. */
			if (root->list.count)
				root->above = root->home ? mem_strdup("~")
							 : risk_above(path);
			root->refs = new_refs(path, s->home);
			if (!i && !root->home)
				mark_git_dir(path, &root->list);
			continue;
		}
		if (changes_is_gone(root))
			continue;
		if (root->home)
			return err_context(err, "the home layer of run %s",
					   session_label(s));
		if (i)
			return err_context(err, "the layer of run %s over %s",
					   session_label(s), text_quote(path));
		return err_context(err,
				   root->upper_fd >= 0 && root->lower_fd < 0
					   ? "the project of run %s"
					   : "open the layer of run %s",
				   session_label(s));
	}
	fold_changes(s, &c);
	*ret = c;
	c = (struct changes)CHANGES_NONE;
	return 0;
}

void changes_free_worktree(struct worktree *w)
{
	free(w->path);
	free(w->from);
	free(w->repository);
	free(w->admin);
	free(w->branch);
	free(w->judged);
}

void changes_free(struct changes *c)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++) {
		struct changes_root *root = &c->roots[i];

		if (root->borrowed) {
			change_list_free(&root->list);
			continue;
		}
		fd_close(&root->upper_fd);
		fd_close(&root->lower_fd);
		if (root->delta)
			delta_free(root->delta);
		free(root->delta);
		snapshot_free(&root->base);
		for (k = 0; k < root->worktrees.count; k++)
			changes_free_worktree(&root->worktrees.items[k]);
		VEC_FREE(&root->worktrees);
		change_list_free(&root->list);
		free(root->prefix);
		free(root->where);
		free(root->above);
		free_refs(root->refs);
	}
	free(c->roots);
	VEC_FREE(&c->across);
	*c = (struct changes)CHANGES_NONE;
}

struct changes changes_borrow(const struct changes *from)
{
	struct changes c = *from;
	size_t i;

	c.roots = mem_dup(from->roots, from->root_count * sizeof(*c.roots));
	c.across.items = NULL;
	c.across.count = c.across.capacity = 0;
	c.searched_across = false;
	for (i = 0; i < c.root_count; i++) {
		struct change_list *list = &c.roots[i].list;

		c.roots[i].borrowed = true;
		*list = (struct change_list){
			.items = mem_dup(list->items,
					 list->count * sizeof(*list->items)),
			.count = list->count,
			.capacity = list->count,
			/* NULL: not searched yet. */
			.moves =
				!list->moves
					? NULL
					: mem_dup(list->moves,
						  list->move_count *
							  sizeof(*list->moves)),
			.move_count = list->move_count,
			.more_moves = list->more_moves,
			.newest = list->newest,
			.newest_below = list->newest_below,
			.flags_known = list->flags_known,
		};
	}
	return c;
}

int changes_open(const struct changes_root *root, const char *path, bool now,
		 struct err *err)
{
	return now ? scan_open(root->upper_fd, path, err)
		   : beneath_open(root->lower_fd, path, O_RDONLY | O_NONBLOCK,
				  0, err);
}

/* Whether the open file has the bytes of its entry in the stored tree: reading
 * it costs less than unpacking them. */
static bool has_stored_bytes(const struct changes_root *root, const char *path,
			     bool now, const struct meta *m)
{
	const struct delta_row *row;

	/* A process cannot set the ctime back. */
	if (now)
		return timestamp_compare(m->ctime, root->stored) < 0;
	row = delta_find(root->delta, path);
	return row && m->mode == row->old.mode && m->size == row->old.size &&
	       timestamp_compare(m->mtime, row->old.mtime) == 0;
}

int changes_read(const struct changes_root *root, const char *path,
		 uint32_t mode, bool now, struct buf *to, struct err *err)
{
	const bool stored = changes_in_trees(root, path);
	auto_close int fd = -1;
	char target[TARGET_MAX];
	struct err unopened;
	const char *name;
	struct meta m;
	bool is_file;
	ssize_t len;

	if (S_ISLNK(mode) && !stored) {
		fd = beneath_parent(now ? root->upper_fd : root->lower_fd, path,
				    &name, err);
		if (fd < 0)
			return fd;
		len = readlinkat(fd, name, target, sizeof(target));
		if (len < 0)
			return fail_errno(err, "%s", text_quote(path));
		buf_add(to, target, (size_t)len);
		return 0;
	}
	fd = changes_open(root, path, now, stored ? &unopened : err);
	is_file = fd >= 0 && meta_get(fd, "", &m) == 0 && S_ISREG(m.mode);
	if (stored && !(is_file && has_stored_bytes(root, path, now, &m)))
		return delta_read(root->delta, path, now, CHANGES_READ_MAX, to,
				  err);
	if (fd < 0)
		return fd;
	if (!is_file)
		return fail(err, EINVAL, "%s is no longer a file",
			    text_quote(path));
	return fd_slurp(fd, CHANGES_READ_MAX, to, err);
}

bool changes_is_dir(const struct changes_root *root, const char *path)
{
	struct stat st;

	return root->lower_fd >= 0 &&
	       fstatat(root->lower_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode);
}

bool changes_exists(const struct changes_root *root, const char *path)
{
	const int dirs[] = {root->upper_fd, root->lower_fd};
	struct err ignored;
	size_t i;

	for (i = 0; i < 2; i++) {
		auto_close int fd = dirs[i] < 0
					    ? -1
					    : beneath_open(dirs[i], path,
							   O_PATH, 0, &ignored);

		if (fd >= 0)
			return true;
	}
	return false;
}

/* --- results --- */

const struct change_move *changes_move(const struct change_list *list,
				       const struct change *c)
{
	return c->move ? &list->moves[c->move - 1] : NULL;
}

bool changes_is_moved(const struct change_list *list, const struct change *c)
{
	return c->move && !list->moves[c->move - 1].half;
}

bool changes_in_trees(const struct changes_root *root, const char *path)
{
	return root->delta && !(root->home && changes_is_cache(path));
}

static void add_list_counts(const struct change_list *list,
			    struct change_counts *ret)
{
	size_t *const kinds[] = {
		[CHANGE_DELETED] = &ret->deleted,   [CHANGE_TYPE] = &ret->type,
		[CHANGE_MODIFIED] = &ret->modified, [CHANGE_META] = &ret->meta,
		[CHANGE_ADDED] = &ret->added,
	};
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];

		if (c->flags & CHANGES_WORKTREE) {
			bool first = c->flags & CHANGES_WORKTREE_FIRST;

			ret->worktrees += first;
			ret->total += first;
			continue;
		}
		ret->total++;
		++*(c->flags & CHANGE_GIT ? &ret->git : kinds[c->kind]);
		if (!changes_is_moved(list, c))
			continue;
		/* A move is counted once, at its new path. */
		ret->moved += c->kind != CHANGE_DELETED;
		ret->moved_from += c->kind == CHANGE_DELETED;
		ret->moved_over += c->kind == CHANGE_MODIFIED;
		ret->moved_to += c->kind == CHANGE_ADDED;
	}
}

void changes_count(const struct change_list *list, struct change_counts *ret)
{
	*ret = (struct change_counts){0};
	add_list_counts(list, ret);
}

void changes_count_all(const struct changes *c, struct change_counts *ret)
{
	size_t i;

	*ret = (struct change_counts){0};
	for (i = 0; i < c->root_count; i++)
		if (!c->roots[i].home)
			add_list_counts(&c->roots[i].list, ret);
}

size_t changes_total(const struct changes *c)
{
	struct change_counts n;

	changes_count_all(c, &n);
	return n.total;
}

void changes_summary(const struct change_counts *counts, struct buf *to)
{
	const struct text_part parts[] = {
		{counts->deleted - counts->moved_from, "deleted"},
		{counts->moved, "moved"},
		{counts->type, "of another type"},
		{counts->modified - counts->moved_over, "modified"},
		{counts->meta, "with other permissions"},
		{counts->added - counts->moved_to, "added"},
		{counts->worktrees,
		 counts->worktrees == 1 ? "worktree" : "worktrees"},
		{counts->git, "in .git"},
	};

	text_sum(to, parts, ARRAY_SIZE(parts), "no changes");
}

/* Keeps the changes that the paths contain (wanted), or the others. */
static void keep_changes(struct change_list *list, const char *const *paths,
			 bool wanted)
{
	AUTO(pathset) struct pathset set = pathset_make(paths);
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++)
		if (pathset_contains(&set, list->items[i].path) == wanted)
			list->items[kept++] = list->items[i];
	list->count = kept;
	for (i = 0; i < list->move_count; i++) {
		struct change_move *m = &list->moves[i];

		m->half |= pathset_contains(&set, m->from) != wanted ||
			   pathset_contains(&set, m->to) != wanted;
	}
}

void changes_filter(struct change_list *list, const char *const *paths)
{
	keep_changes(list, paths, true);
}

void changes_exclude(struct change_list *list, const char *const *paths)
{
	keep_changes(list, paths, false);
}

/* Paths below a path follow it directly. */
bool changes_has(const struct change_list *list, const char *path)
{
	size_t at = INDEX_BY_PATH(path, list->items, list->count, path);

	return at < list->count && path_below(list->items[at].path, path);
}

/* Whether the layer has the path, or a whiteout of a directory above it. */
static bool layer_has_path(int upper_fd, const char *path)
{
	auto_free char *at = mem_strdup(path);

	while (upper_fd >= 0 && *at) {
		struct err ignored;
		auto_close int fd =
			beneath_open(upper_fd, at, O_PATH, 0, &ignored);
		struct meta m;
		char *up;

		if (fd >= 0)
			return meta_get(fd, "", &m) == 0 &&
			       (whiteout_is(&m) || strcmp(at, path) == 0);
		up = path_parent(at);
		free(at);
		at = up;
	}
	return false;
}

int changes_check(const struct changes_root *root, char *const *paths,
		  const char *run, struct err *err)
{
	struct err ignored;

	for (; paths && *paths; paths++) {
		auto_close int fd = -1;

		if (changes_has(&root->list, *paths))
			continue;
		fd = beneath_open(root->lower_fd, *paths, O_PATH, 0, &ignored);
		if (fd >= 0 || layer_has_path(root->upper_fd, *paths))
			continue;
		return run ? fail(err, ENOENT,
				  "no such file or change of run %s: %s "
				  "(`guard diff %s` lists its changes)",
				  run, text_quote(*paths), run)
			   : fail(err, ENOENT,
				  "no such run, file or change: %s (`guard "
				  "status --all` lists the runs)",
				  text_quote(*paths));
	}
	return 0;
}

char changes_letter(enum change_kind kind)
{
	static const char letters[] = {
		[CHANGE_DELETED] = 'D',	 [CHANGE_TYPE] = 'T',
		[CHANGE_MODIFIED] = 'M', [CHANGE_META] = 'P',
		[CHANGE_ADDED] = 'A',
	};

	return letters[kind];
}

size_t changes_count_home(const struct changes *c)
{
	const struct changes_root *home = changes_home(c);
	size_t i, n = 0;

	for (i = 0; home && i < home->list.count; i++)
		n += !changes_is_apart(&home->list.items[i], true) ||
		     (home->list.items[i].flags & CHANGES_WORKTREE_FIRST);
	return n;
}
