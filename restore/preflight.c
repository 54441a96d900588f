#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/chattr.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "restore/fs_features.h"
#include "restore/open_writers.h"
#include "restore/transaction_private.h"
#include "restore/unreadable_dirs.h"

static int fail_changed_path(struct err *err, const char *path)
{
	return fail(err, EBUSY,
		    "%s has changed during the command: nothing was changed; "
		    "try again",
		    text_quote(path));
}

/* 1: *ret is the present entry; 0: none; or a negative errno. */
static int stat_project_path(struct txn *t, const char *path, struct meta *ret,
			     struct err *err)
{
	auto_close int dir = -1;
	const char *name = "";

	t->path_cursor.root_fd = t->project->fd;
	dir = *path ? path_cursor_parent(&t->path_cursor, path, &name, err)
		    : beneath_open(t->project->fd, "", O_PATH | O_DIRECTORY, 0,
				   err);
	if (dir < 0)
		return dir;
	if (meta_get(dir, name, ret) == 0)
		return 1;
	return errno == ENOENT ? 0 : fail_errno(err, "%s", text_quote(path));
}

/* An immutable entry cannot be renamed or replaced, and an immutable directory
 * cannot be changed: fails before the first step instead of in the middle. */
static int check_immutable(const char *path, const struct meta *m,
			   struct err *err)
{
	bool immutable = m->chattr & FS_IMMUTABLE_FL;
	const char *name = text_quote(*path ? path : ".");

	if (!(m->chattr & CHATTR_FIXED))
		return 0;
	return fail(err, EPERM,
		    "%s is %s: nothing was changed. `chattr -%c %s` (as root) "
		    "permits changes",
		    name, immutable ? "immutable" : "append-only",
		    immutable ? 'i' : 'a', name);
}

static int check_immutable_entry(void *arg, const char *path,
				 const struct entry *e, struct err *err)
{
	auto_free char *full_path = path_join(arg, path);
	struct meta m = {.chattr = e->chattr};

	return check_immutable(full_path, &m, err);
}

/* Deletions come first, in path order. */
static bool is_op_deleted(const struct journal_root *j, const char *path)
{
	size_t low = 0, high = j->ops.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (j->ops.items[middle].kind == OP_DELETE)
			low = middle + 1;
		else
			high = middle;
	}
	return FIND_BY_PATH(path, j->ops.items, low, path) != NULL;
}

/* The operation points into the plan. */
static struct op *add_step_op(struct journal_root *j, enum op_kind kind,
			      const struct step *step)
{
	struct op *op = VEC_ADD(&j->ops);

	*op = (struct op){
		.kind = kind,
		.path = step->path,
		.from = &step->from,
		.to = &step->to,
		.hardlink_to = step->hardlink_to,
	};
	return op;
}

static int preflight_create(struct txn *t, const struct step *step,
			    const char **top, struct err *err)
{
	struct journal_root *j = t->part;
	auto_free char *collision = NULL;
	struct meta m;
	int got;

	if (*top && path_below(step->path, *top)) {
		(void)add_step_op(j, OP_CHILD, step);
		return 0;
	}
	got = stat_project_path(t, step->path, &m, err);
	if (got < 0)
		return got;
	if (!*step->path) {
		/* The root exists: project_open() created it. */
		add_step_op(j, OP_META, step)->old_ino = m.ino;
		return 0;
	}
	/* The name, or its other spelling, may be deleted before. */
	if (got && !is_op_deleted(j, step->path)) {
		collision = txn_colliding_path(t, step->path);
		if (!collision || !is_op_deleted(j, collision)) {
			(void)txn_fail_exists(t, step->path, err);
			return err_context(err, "%s", text_quote(step->path));
		}
	}
	(void)add_step_op(j, OP_CREATE, step);
	if (S_ISDIR(step->to.mode))
		*top = step->path;
	return 0;
}

static int preflight_existing(struct txn *t, const struct step *step,
			      const struct unreadable_dirs *opened,
			      struct err *err)
{
	enum op_kind kind = step->kind == STEP_DELETE ? OP_DELETE
			    : step->kind == STEP_META ? OP_META
						      : OP_REPLACE;
	struct meta m;
	int got = stat_project_path(t, step->path, &m, err);

	if (got < 0)
		return got;
	m.mode = got ? unreadable_dirs_mode(opened, step->path, m.mode) : 0;
	if (!got || m.mode != step->from.mode || m.uid != step->from.uid ||
	    m.gid != step->from.gid ||
	    (S_ISREG(m.mode) && m.size != step->from.size))
		return fail_changed_path(err, step->path);
	/* A directory can be renamed whatever it holds, but an immutable entry
	 * in it could not be deleted. */
	if (check_immutable(step->path, &m, err) < 0 ||
	    (kind == OP_DELETE && S_ISDIR(step->from.mode) &&
	     tree_each(t->store, &step->from, check_immutable_entry, step->path,
		       err) < 0))
		return -err->num;
	/* A change in place would affect the other hard links; links created by
	 * the same plan are wanted. */
	if (kind == OP_META && !S_ISDIR(m.mode) &&
	    (m.nlink > 1 || step->shared || step->hardlink_to))
		kind = OP_REPLACE;
	add_step_op(t->part, kind, step)->old_ino = m.ino;
	return 0;
}

static void add_parent_mtime(struct journal_root *j, char *path, bool keep,
			     bool has_op)
{
	*VEC_ADD(&j->parent_mtimes) = (struct parent_mtime){
		.path = path,
		.keep = keep,
		.has_op = has_op,
	};
}

/* Merges the records of each path: the mtime is kept only if all of them say
 * so. */
static void merge_parent_mtimes(struct journal_root *j)
{
	struct parent_mtime *items = j->parent_mtimes.items;
	size_t kept = 0, i;

	SORT_BY_PATH(items, j->parent_mtimes.count, path);
	for (i = 0; i < j->parent_mtimes.count; i++) {
		struct parent_mtime *last = kept ? &items[kept - 1] : NULL;

		if (last && strcmp(last->path, items[i].path) == 0) {
			last->keep = last->keep && items[i].keep;
			last->has_op = last->has_op || items[i].has_op;
			free(items[i].path);
		} else {
			items[kept++] = items[i];
		}
	}
	j->parent_mtimes.count = kept;
}

/* A directory of the user without w, in which entries change, is opened like
 * one whose mode changes (txn_open_dirs()): an operation that sets its present
 * metadata closes it. */
static int add_closing_op(struct txn *t, const struct parent_mtime *p,
			  uint64_t ino, struct err *err)
{
	struct op op = {.kind = OP_META, .old_ino = ino};
	struct step *own = journal_op_own(&op);
	int got = t->before ? tree_lookup(t->store, &t->before->root, p->path,
					  &own->from, err)
			    : 0;

	/* An unknown directory stays closed: an error of the permissions. */
	if (got <= 0) {
		journal_op_free(&op);
		return got;
	}
	op.path = own->path = mem_strdup(p->path);
	entry_copy(&own->to, &own->from);
	own->to.mtime = p->keep ? p->mtime : timestamp_now();
	*VEC_ADD(&t->part->ops) = op;
	return 0;
}

static bool is_dir_meta(const struct op *op)
{
	return op->kind == OP_META && S_ISDIR(op->to->mode);
}

static int compare_deepest_first(const void *a, const void *b)
{
	const struct op *p = a, *q = b;

	return path_compare(q->path, p->path);
}

/* A directory in which entries are created or removed gets a new mtime, unless
 * the plan sets it. A directory in which files are only replaced keeps its
 * mtime, as after a write in place. */
static int preflight_parent_mtimes(struct txn *t,
				   const struct unreadable_dirs *opened,
				   struct err *err)
{
	struct journal_root *j = t->part;
	size_t i;

	add_parent_mtime(j, mem_strdup(""), true, false);
	for (i = 0; i < j->ops.count; i++) {
		const struct op *op = &j->ops.items[i];

		if (op->kind == OP_DELETE || op->kind == OP_CREATE ||
		    op->kind == OP_REPLACE)
			add_parent_mtime(j, path_parent(op->path),
					 op->kind == OP_REPLACE, false);
		else if (op->kind == OP_META && S_ISDIR(op->to->mode))
			add_parent_mtime(j, mem_strdup(op->path), false, true);
	}
	merge_parent_mtimes(j);
	for (i = 0; i < j->parent_mtimes.count; i++) {
		struct parent_mtime *p = &j->parent_mtimes.items[i];
		struct meta m;
		int got = stat_project_path(t, p->path, &m, err);

		if (got <= 0)
			return got < 0 ? got : fail_changed_path(err, p->path);
		if (check_immutable(p->path, &m, err) < 0)
			return -err->num;
		p->mtime = m.mtime;
		m.mode = unreadable_dirs_mode(opened, p->path, m.mode);
		if (!p->has_op && txn_is_shut_dir(&m) &&
		    add_closing_op(t, p, m.ino, err) < 0)
			return -err->num;
	}
	/* Deepest first, as in a plan: only then a directory without x is
	 * closed after those in it. */
	for (i = j->ops.count; i && is_dir_meta(&j->ops.items[i - 1]); i--)
		;
	if (i < j->ops.count)
		qsort(j->ops.items + i, j->ops.count - i, sizeof(*j->ops.items),
		      compare_deepest_first);
	return 0;
}

int txn_preflight(struct txn *t, const struct plan *plan, struct err *err)
{
	AUTO(unreadable_dirs)
	struct unreadable_dirs opened = UNREADABLE_DIRS_NONE;
	struct journal_root *j = t->part;
	const char *top = NULL;
	uint64_t number;
	size_t i;

	if (unreadable_dirs_open(t->project->fd, t->project->unreadable_dirs,
				 t->project->workspace_fd, &opened, err) < 0)
		return -err->num;
	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return fail_errno(err, "read random bytes");
	free(j->staging);
	j->staging = mem_printf(STAGING_PREFIX "%016" PRIx64, number);
	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		if ((s->kind == STEP_CREATE
			     ? preflight_create(t, s, &top, err)
			     : preflight_existing(t, s, &opened, err)) < 0)
			return -err->num;
	}
	if (preflight_parent_mtimes(t, &opened, err) < 0)
		return -err->num;
	/* The staging directory also changes the root's mtime. Without this the
	 * snapshot of the end would hold that mtime, and undo would take it for
	 * a change of the user. */
	j->root_time_set = true;
	j->root_time = j->parent_mtimes.items[0].keep
			       ? j->parent_mtimes.items[0].mtime
			       : timestamp_now();
	for (i = 0; i < j->ops.count; i++)
		if (j->ops.items[i].kind == OP_META && !*j->ops.items[i].path)
			j->root_time = j->ops.items[i].to->mtime;
	return 0;
}

static int fail_not_permitted(int num, const char *path, const char *what,
			      struct err *err)
{
	return fail(err, num,
		    "%s %s: nothing was changed. Name the other paths, or ask "
		    "its owner",
		    text_quote(*path ? path : "."), what);
}

/* 0: permitted or unknown; else the errno. */
static int missing_access(int dirfd, const char *name, int access_mode)
{
	if (faccessat(dirfd, name, access_mode, AT_EACCESS) == 0)
		return 0;
	return errno == EACCES || errno == EPERM || errno == EROFS ? errno : 0;
}

/* In a directory with the sticky bit only the owner of the entry or of the
 * directory can rename the entry. */
static int check_sticky(const struct op *op, const struct meta *dir,
			struct err *err)
{
	if (op->kind == OP_CREATE || !(dir->mode & S_ISVTX) ||
	    dir->uid == geteuid() || op->from->uid == geteuid())
		return 0;
	return fail_not_permitted(EPERM, op->path,
				  "belongs to another user, in a directory "
				  "where only its owner may replace it",
				  err);
}

static int check_parent_writable(struct txn *t, const char *path, int fd,
				 const struct meta *m, struct err *err)
{
	int num = missing_access(fd, ".", W_OK | X_OK);

	if (!num || (num == EACCES && txn_is_shut_dir(m)))
		return 0;
	return *path ? fail_not_permitted(
			       num, path,
			       num == EROFS ? "is on a read-only file system"
					    : "is a directory that you have no "
					      "permission to write in",
			       err)
		     : fs_features_explain(num, t->project->path, err);
}

/* Renaming a directory into another parent writes to the directory itself; its
 * owner can add the permission. */
static int check_moved(int dir, const char *name, const struct op *op,
		       struct err *err)
{
	int num;

	if (op->kind != OP_DELETE || !S_ISDIR(op->from->mode) ||
	    op->from->uid == geteuid())
		return 0;
	num = missing_access(dir, name, W_OK);
	return num ? fail_not_permitted(num, op->path,
					"is a directory of another user that "
					"you have no permission to write in",
					err)
		   : 0;
}

/* The parent of the last checked path. */
struct open_parent {
	char *path;
	int fd; /* -1: created by the plan, or made accessible by it */
	struct meta meta;
};

static void open_parent_free(struct open_parent *p)
{
	if (p->fd >= 0)
		(void)close(p->fd);
	free(p->path);
	*p = (struct open_parent){.fd = -1};
}

static int enter_parent(struct txn *t, struct open_parent *p, const char *path,
			struct err *err)
{
	if (p->path && strcmp(p->path, path) == 0)
		return 0;
	open_parent_free(p);
	p->path = mem_strdup(path);
	p->fd = path_cursor_open(&t->path_cursor, path, O_PATH | O_DIRECTORY,
				 err);
	if (p->fd < 0)
		return p->fd == -ENOENT || p->fd == -ENOTDIR || p->fd == -EACCES
			       ? 0
			       : p->fd;
	if (meta_get(p->fd, "", &p->meta) < 0)
		return fail_errno(err, "stat %s", text_quote(path));
	return check_parent_writable(t, path, p->fd, &p->meta, err);
}

static int check_op_permitted(struct txn *t, struct open_parent *p,
			      const struct op *op, struct err *err)
{
	auto_free char *parent = path_parent(op->path);

	if (op->kind == OP_META && geteuid() != 0 && op->from->mode &&
	    op->from->uid != geteuid() && op->from->mode != op->to->mode)
		return fail_not_permitted(EPERM, op->path,
					  "belongs to another user, and only "
					  "its owner may change its mode",
					  err);
	if (op->kind == OP_META || op->kind == OP_CHILD)
		return 0;
	if (enter_parent(t, p, parent, err) < 0)
		return -err->num;
	if (p->fd < 0)
		return 0;
	return check_sticky(op, &p->meta, err) < 0
		       ? -err->num
		       : check_moved(p->fd, path_name(op->path), op, err);
}

int txn_check_permissions(struct txn *t, struct err *err)
{
	AUTO(open_parent) struct open_parent open_parent = {.fd = -1};
	size_t i;

	/* The staging directory is created in the root in any case. */
	if (t->part->ops.count && enter_parent(t, &open_parent, "", err) < 0)
		return -err->num;
	for (i = 0; i < t->part->ops.count; i++)
		if (check_op_permitted(t, &open_parent, &t->part->ops.items[i],
				       err) < 0)
			return -err->num;
	return 0;
}

int txn_check_writers(struct txn *t, struct err *err)
{
	size_t i;

	for (i = 0; i < t->part->ops.count; i++) {
		const struct op *op = &t->part->ops.items[i];
		bool is_dir = S_ISDIR(op->from->mode);
		auto_close int fd = -1;

		if ((op->kind != OP_REPLACE && op->kind != OP_DELETE) ||
		    (!is_dir && !S_ISREG(op->from->mode)))
			continue;
		fd = path_cursor_open(&t->path_cursor, op->path,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
		if ((is_dir && fd >= 0 ? open_writers_check_below(fd, err)
				       : open_writers_check(fd, err)) < 0)
			return err_context(err, "%s", text_quote(op->path));
	}
	return 0;
}
