#include "restore/move_from_upper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/parallel_for.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "overlay/scan.h"
#include "restore/transaction_private.h"
#include "snapshot/tree/tree.h"

/* Smaller directories are copied from the store, and the upper stays
 * complete. */
#define ENTRIES_MIN SYNC_EACH_MAX
/* Number of paths that are recorded with a run at most. */
#define DIRS_MAX 64
/* Smaller files are copied from the store. */
#define CLONE_MIN (16u << 20)
/* Below this number a second thread costs more than it saves. */
#define THREADS_MIN 256

static bool is_plain_create(const struct step *s)
{
	return s->kind == STEP_CREATE && s->how == STEP_PLAIN &&
	       !s->hardlink_to;
}

char **move_from_upper_choose(const struct plan *plan)
{
	char **list = NULL;
	size_t i, end, count = 0;

	for (i = 0; i < plan->steps.count && count < DIRS_MAX; i = end) {
		const struct step *top = &plan->steps.items[i];

		end = i + 1;
		if (!is_plain_create(top) || !S_ISDIR(top->to.mode) ||
		    !*top->path)
			continue;
		while (end < plan->steps.count &&
		       is_plain_create(&plan->steps.items[end]) &&
		       path_below(plan->steps.items[end].path, top->path))
			end++;
		if (end - i <= ENTRIES_MIN)
			continue;
		mem_list_add(&list, top->path);
		count++;
	}
	return list;
}

bool move_from_upper_wants_clone(const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->steps.count; i++)
		if (plan->steps.items[i].to.size >= CLONE_MIN)
			return true;
	return false;
}

bool move_from_upper_clone(const struct txn *t, const struct op *op, int fd)
{
	const struct entry *e = op->to;
	struct err ignored;
	struct meta m;
	auto_close int upper =
		t->from && e->size >= CLONE_MIN
			? beneath_open(t->from->upper_fd, op->path,
				       O_RDONLY | O_NONBLOCK, 0, &ignored)
			: -1;

	/* The run has ended, and the file is unchanged since. Equal times show
	 * that its last write, and no program, has set the mtime, so that no
	 * other version of the run has it. */
	return upper >= 0 && meta_get(upper, "", &m) == 0 && S_ISREG(m.mode) &&
	       m.size == e->size && timestamp_compare(m.mtime, e->mtime) == 0 &&
	       timestamp_compare(m.ctime, m.mtime) == 0 &&
	       timestamp_compare(m.ctime, t->from->before) < 0 &&
	       ioctl(fd, FICLONE, upper) == 0;
}

/* A hard link of a file. */
struct name {
	uint64_t ino;
	uint32_t nlink;
};

/* The operations of one new directory, in path order. */
struct upper_match {
	struct txn *txn;
	uint64_t dev;
	size_t top, end;
	size_t *next; /* for each operation from top on: the first one behind
			 its subtree */
	size_t *dirs; /* operations on directories, each matched separately */
	size_t dir_count;
	const struct change
		*changes; /* changes of top and its subtree, or NULL */
	size_t change_count;
};

static void upper_match_free(struct upper_match *m)
{
	free(m->next);
	free(m->dirs);
}

/* Whether the upper's entry is the stored one. The run has ended and the
 * entry is unchanged since: size and times prove that the bytes are the
 * stored ones. */
static bool match_entry_stat(const struct upper_match *m,
			     const struct meta *have, const struct entry *want)
{
	if (have->mode != want->mode || have->uid != want->uid ||
	    have->gid != want->gid || have->dev != m->dev)
		return false;
	if (S_ISREG(have->mode) && have->size != want->size)
		return false;
	if ((S_ISCHR(have->mode) || S_ISBLK(have->mode)) &&
	    have->rdev != want->rdev)
		return false;
	return timestamp_compare(have->mtime, want->mtime) == 0 &&
	       timestamp_compare(have->ctime, m->txn->from->before) < 0;
}

/* Whether the xattrs need no read. An unchanged ctime proves that all stored
 * xattrs are unchanged; only those of overlayfs, which are not stored, could
 * require a read, and the scan recorded the files without any. */
static bool is_known_unmarked(const struct upper_match *m, size_t i)
{
	const struct op *op = &m->txn->part->ops.items[i];
	size_t at = i - m->top;

	return S_ISREG(op->to->mode) && at < m->change_count &&
	       (m->changes[at].flags & CHANGE_UNMARKED) &&
	       m->changes[at].kind == CHANGE_ADDED &&
	       strcmp(m->changes[at].path, op->path) == 0;
}

static bool match_entry_attrs(const struct upper_match *m, int dirfd,
			      struct op *op)
{
	AUTO(xattrs) struct xattrs x = {0}, want = {0};
	struct err ignored;

	if (xattrs_get(dirfd, path_name(op->path), &x, &ignored) < 0)
		return false;
	op->has_layer_xattrs = xattrs_remove_prefix(&x, LAYER_XATTR_PREFIX) > 0;
	/* Removing xattrs requires write permission. */
	if (op->has_layer_xattrs && !(op->to->mode & S_IWUSR) && geteuid() != 0)
		return false;
	if (!x.count && op->to->attrs.type == OBJECT_NONE)
		return true;
	return attrset_load(m->txn->store, &op->to->attrs, &want, &ignored) ==
		       0 &&
	       xattrs_equal(&want, &x);
}

/* Whether the operation creates the very entry in dirfd. */
static bool match_op(const struct upper_match *m, int dirfd, size_t i)
{
	struct op *op = &m->txn->part->ops.items[i];
	struct meta meta;

	if (op->hardlink_to ||
	    meta_get(dirfd, path_name(op->path), &meta) < 0 ||
	    !match_entry_stat(m, &meta, op->to) ||
	    (!is_known_unmarked(m, i) && !match_entry_attrs(m, dirfd, op)))
		return false;
	op->new_ino = meta.ino;
	op->new_ctime = meta.ctime;
	op->nlink = S_ISDIR(meta.mode) ? 1 : meta.nlink;
	return true;
}

/* Whether a directory of the upper has exactly the entries that the plan
 * wants. */
static bool match_dir_entries(const struct upper_match *m, size_t dir_index)
{
	const struct op *ops = m->txn->part->ops.items, *op = &ops[dir_index];
	AUTO(dirlist) struct dirlist list = {0};
	size_t at = dir_index + 1, end = m->next[dir_index - m->top], i;
	struct err ignored;
	auto_close int fd = beneath_open(m->txn->from->upper_fd, op->path,
					 O_RDONLY | O_DIRECTORY, 0, &ignored);

	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return false;
	for (i = 0; i < list.count; i++) {
		auto_free char *child = path_join(op->path, list.items[i].name);

		if (at == end || strcmp(ops[at].path, child) != 0 ||
		    !match_op(m, fd, at))
			return false;
		at = m->next[at - m->top];
	}
	return at == end;
}

static int match_one_dir(void *arg, size_t i, struct err *err)
{
	const struct upper_match *m = arg;

	return match_dir_entries(m, m->dirs[i])
		       ? 0
		       : fail(err, EBUSY, "the layer has a different entry");
}

/* Fills next[] and dirs[]. False: an entry lies below an operation that is no
 * directory. */
static bool index_new_dir(struct upper_match *m)
{
	const struct op *ops = m->txn->part->ops.items;
	size_t count = m->end - m->top, open_count = 0, i;
	auto_free size_t *open = mem_alloc(count * sizeof(*open));

	m->next = mem_alloc(count * sizeof(*m->next));
	m->dirs = mem_alloc(count * sizeof(*m->dirs));
	for (i = 0; i < count; i++) {
		while (open_count &&
		       !path_below(ops[m->top + i].path,
				   ops[m->top + open[open_count - 1]].path))
			m->next[open[--open_count]] = m->top + i;
		if (open_count &&
		    !S_ISDIR(ops[m->top + open[open_count - 1]].to->mode))
			return false;
		open[open_count++] = i;
		if (S_ISDIR(ops[m->top + i].to->mode))
			m->dirs[m->dir_count++] = m->top + i;
	}
	while (open_count)
		m->next[open[--open_count]] = m->end;
	return m->next[0] == m->end;
}

static int compare_inode_numbers(const void *a, const void *b)
{
	const struct name *p = a, *q = b;

	return (p->ino > q->ino) - (p->ino < q->ino);
}

/* Whether all hard links of its files lie inside the directory: another link in
 * the upper would still refer to a file of the project. */
static bool all_hardlinks_inside(const struct upper_match *m)
{
	const struct op *ops = m->txn->part->ops.items;
	VEC(struct name) names = {0};
	size_t i, n = 0;
	bool inside = true;

	for (i = m->top; i < m->end; i++)
		if (ops[i].nlink > 1)
			*VEC_ADD(&names) = (struct name){.ino = ops[i].new_ino,
							 .nlink = ops[i].nlink};
	VEC_SORT(&names, compare_inode_numbers);
	for (i = 0; inside && i < names.count; i += n) {
		for (n = 1; i + n < names.count; n++)
			if (names.items[i + n].ino != names.items[i].ino)
				break;
		inside = n == names.items[i].nlink;
	}
	VEC_FREE(&names);
	return inside;
}

static size_t child_ops_end(const struct journal_root *j, size_t top)
{
	size_t end = top + 1;

	while (end < j->ops.count && j->ops.items[end].kind == OP_CHILD)
		end++;
	return end;
}

static void clear_from_upper(struct journal_root *j, size_t top, size_t end)
{
	for (; top < end; top++) {
		struct op *op = &j->ops.items[top];

		op->from_upper = op->has_layer_xattrs = false;
		op->new_ino = 0;
		op->new_ctime = (struct timestamp){0};
	}
}

static bool match_new_dir(struct txn *t, size_t top, size_t end)
{
	AUTO(upper_match)
	struct upper_match m = {.txn = t, .top = top, .end = end};
	const struct change_list *list = t->from->changes;
	struct op *op = &t->part->ops.items[top];
	const char *name;
	struct err ignored;
	struct meta meta;
	auto_close int dir = -1;

	if (meta_get(t->project->fd, "", &meta) < 0)
		return false;
	m.dev = meta.dev;
	dir = beneath_parent(t->from->upper_fd, op->path, &name, &ignored);
	/* The scan's records about the directory. */
	if (list)
		m.changes =
			FIND_BY_PATH(op->path, list->items, list->count, path);
	if (m.changes)
		m.change_count =
			list->count - (size_t)(m.changes - list->items);
	/* The rename needs the owner's write permission for the directory. */
	return dir >= 0 && op->to->mode & S_IWUSR && S_ISDIR(op->to->mode) &&
	       index_new_dir(&m) && match_op(&m, dir, top) &&
	       parallel_for(m.dir_count, end - top < THREADS_MIN, match_one_dir,
			    &m, &ignored) == 0 &&
	       all_hardlinks_inside(&m);
}

void move_from_upper_match(struct txn *t)
{
	struct journal_root *j = t->part;
	size_t i, n, end;

	for (i = 0; t->from && i < j->ops.count; i = end) {
		end = i + 1;
		if (j->ops.items[i].kind != OP_CREATE)
			continue;
		end = child_ops_end(j, i);
		if (!mem_list_has(t->from->paths, j->ops.items[i].path))
			continue;
		if (!match_new_dir(t, i, end)) {
			clear_from_upper(j, i, end);
			continue;
		}
		for (n = i; n < end; n++)
			j->ops.items[n].from_upper = true;
	}
}

/* 1; 0: it cannot be renamed; or a negative errno. */
static int rename_from_upper(struct txn *t, const struct op *op,
			     struct err *err)
{
	char staged[JOURNAL_OP_NAME_LEN];
	const char *name;
	struct meta m;
	auto_close int dir =
		beneath_parent(t->from->upper_fd, op->path, &name, err);

	if (dir < 0)
		return dir;
	journal_op_name(t->part, op, staged);
	if (renameat2(dir, name, t->staging_fd, staged, RENAME_NOREPLACE) < 0)
		return 0;
	if (meta_get(t->staging_fd, staged, &m) < 0 || m.ino != op->new_ino)
		return fail(err, EBUSY,
			    "has changed in the run's layer during the "
			    "command: try again");
	return 1;
}

static int strip_op_xattrs(struct txn *t, struct op *op, const struct op *top,
			   struct err *err)
{
	char staged[JOURNAL_OP_NAME_LEN];
	AUTO(xattrs) struct xattrs x = {0};
	auto_free char *path = NULL;
	auto_close int fd = -1;
	struct meta m;
	size_t i;

	journal_op_name(t->part, top, staged);
	path = path_join(staged, path_rest(op->path, top->path));
	fd = beneath_open(t->staging_fd, path, O_PATH, 0, err);
	if (fd < 0 || xattrs_get(fd, "", &x, err) < 0)
		return -err->num;
	for (i = 0; i < x.count; i++)
		if (strncmp(x.items[i].name, LAYER_XATTR_PREFIX,
			    strlen(LAYER_XATTR_PREFIX)) == 0 &&
		    removexattr(fd_proc_path(fd).text, x.items[i].name) < 0)
			return fail_errno(err, "remove an xattr of the layer");
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "stat it");
	op->new_ctime = m.ctime;
	return 0;
}

int move_from_upper_rename(struct txn *t, size_t *ret_count, struct err *err)
{
	struct journal_root *j = t->part;
	size_t i, n, end;

	*ret_count = 0;
	for (i = 0; i < j->ops.count; i = end) {
		int got;

		end = i + 1;
		if (!j->ops.items[i].from_upper)
			continue;
		end = child_ops_end(j, i);
		got = rename_from_upper(t, &j->ops.items[i], err);
		if (got == 0)
			clear_from_upper(j, i, end);
		for (n = i; got > 0 && n < end; n++)
			if (j->ops.items[n].has_layer_xattrs &&
			    strip_op_xattrs(t, &j->ops.items[n],
					    &j->ops.items[i], err) < 0)
				got = -err->num;
		if (got < 0)
			return err_context(err, "move %s out of the layer",
					   text_quote(j->ops.items[i].path));
		if (got)
			*ret_count += end - i;
	}
	return 0;
}
