#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/chattr.h"
#include "base/parallel_for.h"
#include "base/fd.h"
#include "base/text.h"
#include "restore/entry_compare.h"
#include "restore/exchange.h"
#include "restore/transaction_private.h"
#include "restore/open_writers.h"
#include "snapshot/store/content.h"

static int fail_op_changed(struct err *err)
{
	return fail(err, EBUSY, "has changed during the command: try again");
}

/* Checks that path still is the entry that preflight saw: here by its inode,
 * and by its content once it is displaced and out of reach of other
 * processes. */
static int check_expected_inode(const struct txn *t, int dir, const char *name,
				struct op *op, struct err *err)
{
	struct meta m;

	if (meta_get(dir, name, &m) < 0)
		return errno == ENOENT ? fail_op_changed(err)
				       : fail_errno(err, "stat it");
	/* The rename changes the ctime, so it is compared before. */
	op->unmodified =
		entry_compare_unmodified(&m, op->from, t->unmodified_since);
	return m.ino == op->old_ino ? 0 : fail_op_changed(err);
}

static const char rolled_back_text[] =
	"interrupted: all changes were rolled back";

static bool continue_verify(void *arg, uint64_t done)
{
	(void)done;
	return !txn_is_cancelled(arg);
}

static int verify_displaced(struct txn *t, const struct op *op, struct err *err)
{
	const struct content_watch watch = {continue_verify, t};
	const struct entry_compare o = {
		.store = t->store,
		.unmodified_since = t->unmodified_since,
		.unmodified_ino = op->unmodified ? op->old_ino : 0,
		.no_writers = true,
		.workspace_fd = t->project->workspace_fd,
		.watch = &watch,
	};
	char name[JOURNAL_OP_NAME_LEN];
	int got;

	journal_op_name(t->part, op, name);
	/* The displaced file has no name any more, so no process can open it by
	 * name. */
	if (S_ISREG(op->from->mode) &&
	    open_writers_check_at(t->staging_fd, name, err) < 0)
		return -err->num;
	got = entry_compare_equal(&o, t->staging_fd, name, op->from, err);
	/* A cancelled comparison proves nothing about the content. */
	if (got == -EINTR && txn_is_cancelled(t))
		return txn_check_cancelled(t, rolled_back_text, err);
	return got == 0 ? fail_op_changed(err) : got < 0 ? got : 0;
}

static int apply_delete(struct txn *t, struct op *op, int dir, const char *name,
			struct err *err)
{
	char staged[JOURNAL_OP_NAME_LEN];

	journal_op_name(t->part, op, staged);
	if (check_expected_inode(t, dir, name, op, err) < 0)
		return -err->num;
	if (S_ISDIR(op->from->mode) && txn_add_owner_write(dir, name, err) < 0)
		return -err->num;
	/* Only guard writes to the staging directory: the name is free. */
	if (renameat2(dir, name, t->staging_fd, staged, 0) < 0)
		return errno == EXDEV && S_ISDIR(op->from->mode)
			       ? fail(err, EXDEV,
				      "move away: this directory is in a lower "
				      "layer of the project's own overlayfs "
				      "and cannot be moved; delete it "
				      "yourself, then try again")
			       : fail_errno(err, "move away");
	return 0;
}

/* OP_REPLACE or OP_CREATE. */
static int apply_staged(struct txn *t, struct op *op, int dir, const char *name,
			struct err *err)
{
	bool replace = op->kind == OP_REPLACE;
	char staged[JOURNAL_OP_NAME_LEN];
	struct meta m;

	journal_op_name(t->part, op, staged);
	if (replace && check_expected_inode(t, dir, name, op, err) < 0)
		return -err->num;
	if ((replace ? exchange_files(t->staging_fd, staged, dir, name)
		     : fd_rename_new(t->staging_fd, staged, dir, name)) < 0)
		return !replace && errno == EEXIST
			       ? txn_fail_exists(t, op->path, err)
			       : fail_errno(err,
					    replace ? "replace" : "create");
	/* The rename itself set the ctime: a file with this ctime is the staged
	 * one, and the snapshot afterwards need not read it. A write
	 * between the rename and this stat would change its size or mtime. */
	if (S_ISREG(op->to->mode) && meta_get(dir, name, &m) == 0 &&
	    m.ino == op->new_ino && m.size == op->to->size &&
	    timestamp_compare(m.mtime, op->to->mtime) == 0)
		op->forward_ctime = m.ctime;
	return 0;
}

/* The directory is in its place, so its final mode, without the write bit, can
 * be set. */
static int restore_created_mode(struct txn *t, const struct op *op,
				struct err *err)
{
	auto_close int fd = -1;
	struct meta m;

	if (!S_ISDIR(op->to->mode) || (op->to->mode & S_IWUSR))
		return 0;
	fd = beneath_open(t->project->fd, op->path, O_PATH, 0, err);
	if (fd < 0)
		return txn_is_gone(fd) ? 0 : fd;
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "stat it");
	if (m.ino != op->new_ino)
		return 0;
	return entry_apply_meta(t->store, fd, op->to, err);
}

/* Compares the content of a file that is about to become unreadable, while it
 * can be read. */
static int check_unreadable_content(struct txn *t, const struct op *op,
				    const struct meta *m, int path_fd,
				    struct err *err)
{
	auto_close int fd = -1;
	int got;

	if (!S_ISREG(op->to->mode) || (op->to->mode & S_IRUSR) ||
	    !op->from->size)
		return 0;
	fd = fd_reopen(path_fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return timestamp_compare(m->mtime, op->from->mtime) == 0 ||
				       timestamp_compare(m->mtime,
							 op->to->mtime) == 0
			       ? 0
			       : fail_op_changed(err);
	got = content_equal(t->store, &op->from->content, fd, NULL, err);
	return got == 0 ? fail_op_changed(err) : got < 0 ? got : 0;
}

static int apply_meta(struct txn *t, const struct op *op, struct err *err)
{
	auto_close int fd =
		path_cursor_open(&t->path_cursor, op->path, O_PATH, err);
	bool time_alone = entry_same_meta(op->from, op->to);
	struct meta m;

	/* A directory that another process changed keeps its time. */
	if (fd < 0)
		return time_alone && txn_is_gone(fd) ? 0 : fd;
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "stat it");
	if (m.ino != op->old_ino || !txn_own_mode(op, m.mode) ||
	    (S_ISREG(m.mode) && m.size != op->from->size))
		return time_alone ? 0 : fail_op_changed(err);
	if (check_unreadable_content(t, op, &m, fd, err) < 0)
		return -err->num;
	if (op->from->chattr & ~op->to->chattr)
		entry_apply_chattr(fd, op->from->chattr & ~CHATTR_FIXED,
				   op->to->chattr);
	return entry_apply_meta(t->store, fd, op->to, err);
}

/* Whether the displaced file is compared after the last rename. No other
 * process reaches it there, and a second thread can do the work. */
static bool is_verified_at_end(const struct op *op)
{
	return (op->kind == OP_REPLACE || op->kind == OP_DELETE) &&
	       S_ISREG(op->from->mode);
}

static int apply_op(struct txn *t, struct op *op, struct err *err)
{
	auto_close int dir = -1;
	const char *name;
	int got;

	if (op->kind == OP_CHILD)
		return 0;
	if (txn_check_cancelled(t, rolled_back_text, err) < 0)
		return -err->num;
	if (op->kind == OP_META)
		return apply_meta(t, op, err);
	/* Only recovery finds operations that are done already. */
	got = t->what ? 0 : txn_op_is_done(t, op, err);
	if (got < 0)
		return got;
	if (!got) {
		dir = path_cursor_parent(&t->path_cursor, op->path, &name, err);
		if (dir < 0)
			return dir;
		got = op->kind == OP_DELETE
			      ? apply_delete(t, op, dir, name, err)
			      : apply_staged(t, op, dir, name, err);
		if (got < 0)
			return got;
	}
	if (op->kind == OP_CREATE)
		return restore_created_mode(t, op, err);
	return is_verified_at_end(op) ? 0 : verify_displaced(t, op, err);
}

static int restore_parent_mtimes(struct txn *t, struct err *err)
{
	struct journal_root *j = t->part;
	size_t i;

	for (i = 0; i < j->parent_mtimes.count; i++) {
		const struct parent_mtime *p = &j->parent_mtimes.items[i];
		auto_close int fd = -1;

		if (!p->keep)
			continue;
		fd = path_cursor_open(&t->path_cursor, p->path,
				      O_PATH | O_DIRECTORY, err);
		if (txn_is_gone(fd))
			continue;
		if (fd < 0)
			return fd;
		if (entry_apply_time(fd, p->mtime, err) < 0)
			return err_context(
				err, "%s",
				text_quote(*p->path ? p->path : "."));
	}
	return 0;
}

static int sync_changed_paths(struct txn *t, struct err *err)
{
	AUTO(syncs) struct syncs syncs = SYNCS_NONE;
	const struct journal_root *j = t->part;
	size_t i;

	if (j->ops.count + j->parent_mtimes.count > SYNC_EACH_MAX)
		syncs_add_all(&syncs);
	for (i = 0; !syncs.whole_fs && i < j->ops.count; i++) {
		const struct op *op = &j->ops.items[i];
		bool is_dir = S_ISDIR(op->to->mode);

		/* Files changed in place; directories are synced as parents. */
		if (op->kind == OP_CREATE ? is_dir && !(op->to->mode & S_IWUSR)
					  : op->kind == OP_META && !is_dir)
			syncs_add(&syncs, t->project->fd, op->path);
	}
	for (i = 0; !syncs.whole_fs && i < j->parent_mtimes.count; i++)
		syncs_add(&syncs, t->project->fd,
			  j->parent_mtimes.items[i].path);
	syncs_add(&syncs, t->staging_fd, "");
	if (syncs_run(&syncs, t->staging_fd, err) < 0)
		return err_context(err, "the project");
	return 0;
}

static int fail_with_op_path(const struct op *op, struct err *err)
{
	return err_context(err, "%s", text_quote(*op->path ? op->path : "."));
}

/* Number of operations that a thread verifies at a time. */
#define PART_LEN 32

/* Part 0 syncs; the others compare displaced files while the disk is busy. */
static int sync_or_verify_part(void *arg, size_t i, struct err *err)
{
	struct txn *t = arg;
	size_t at = (i - 1) * PART_LEN, end = at + PART_LEN;

	if (i == 0)
		return sync_changed_paths(t, err);
	for (; at < end && at < t->part->ops.count; at++) {
		const struct op *op = &t->part->ops.items[at];

		if (is_verified_at_end(op) && verify_displaced(t, op, err) < 0)
			return fail_with_op_path(op, err);
	}
	return 0;
}

int txn_forward(struct txn *t, struct err *err)
{
	struct journal_root *j = t->part;
	size_t i;

	/* Directories that preflight opened may have been moved since. */
	path_cursor_free(&t->path_cursor);
	t->path_cursor.root_fd = t->project->fd;
	if (txn_open_dirs(t, err) < 0)
		return -err->num;
	for (i = 0; i < j->ops.count; i++)
		if (apply_op(t, &j->ops.items[i], err) < 0)
			return fail_with_op_path(&j->ops.items[i], err);
	if (restore_parent_mtimes(t, err) < 0)
		return -err->num;
	return parallel_for(1 + (j->ops.count + PART_LEN - 1) / PART_LEN,
			    j->ops.count < TXN_THREADS_MIN, sync_or_verify_part,
			    t, err);
}
