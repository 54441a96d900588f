#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/sorted.h"
#include "restore/entry_compare.h"
#include "restore/exchange.h"
#include "restore/transaction_private.h"
#include "restore/open_writers.h"
#include "snapshot/tree/catalog.h"

/* Number of displaced files kept next to one path at most. */
#define DISPLACED_MAX 1000

static const char changed[] = "was changed during the command: kept as";

/* An operation and the operations for its children, sorted by path like all new
 * entries. */
struct child_ops {
	const struct op *items;
	size_t count;
};

/* Whether another process has the file open and may write to it later. */
static bool file_has_writer(int dirfd, const char *name)
{
	struct err ignored;

	return open_writers_check_at(dirfd, name, &ignored) < 0;
}

/* Whether a file that guard created and now takes back is unchanged. Another
 * process may have written to it. When in doubt: no. */
static int is_content_unchanged(struct txn *t,
				const struct child_ops *child_ops,
				const char *path, int dirfd, const char *name,
				struct err *err)
{
	const struct op *op =
		FIND_BY_PATH(path, child_ops->items, child_ops->count, path);
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = -1;
	struct err ignored;
	struct meta m;
	size_t i;
	int got = 1;

	/* In a second attempt a changed file has been kept already. */
	if (meta_get(dirfd, name, &m) < 0 && errno == ENOENT)
		return 1;
	if (!op || meta_get(dirfd, name, &m) < 0 || m.ino != op->new_ino)
		return 0;
	/* The owner bits of a directory are ignored: guard may have added rwx
	 * during the transaction. */
	if (!S_ISLNK(op->to->mode) &&
	    (m.mode ^ op->to->mode) & (S_ISDIR(op->to->mode) ? 0077 : 0777))
		return 0;
	if (!S_ISDIR(op->to->mode))
		return !(S_ISREG(op->to->mode) &&
			 file_has_writer(dirfd, name)) &&
		       entry_compare_content(t->store, dirfd, name, op->to,
					     &ignored) == 1;
	fd = openat(dirfd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (dirlist_read(fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count && got > 0; i++) {
		auto_free char *child = path_join(path, list.items[i].name);

		got = is_content_unchanged(t, child_ops, child, fd,
					   list.items[i].name, err);
	}
	return got;
}

/* The name for a displaced file next to its old name, with the id of the
 * transaction; a long name loses its end. */
static char *displaced_name(const struct txn *t, const char *name,
			    unsigned number)
{
	auto_free char *more =
		number ? mem_printf("-%u", number + 1) : mem_strdup("");
	auto_free char *end =
		mem_printf(".guard-kept-%.8s%s",
			   t->part->staging + strlen(STAGING_PREFIX), more);
	size_t len = strlen(name);

	if (len + strlen(end) > NAME_MAX) {
		len = NAME_MAX - strlen(end);
		while (len && ((unsigned char)name[len] & 0xc0) == 0x80)
			len--;
	}
	return mem_printf("%.*s%s", (int)len, name, end);
}

/* Adds each line once, for people. */
static void add_displaced_line(struct txn *t, char *line)
{
	if (!strstr(buf_text(&t->displaced), line))
		buf_add_text(&t->displaced, line);
	free(line);
}

/* Creates a directory that another process removed, with its former metadata. A
 * directory under a new name (for displaced files) is accessible to the owner
 * only. */
static int recreate_dir(struct txn *t, int dir, const char *name,
			const char *path, struct err *err)
{
	AUTO(snapshot) struct snapshot before = {0};
	AUTO(entry) struct entry e = {0};
	auto_close int fd = -1;
	struct err ignored;

	if (mkdirat(dir, name, 0700) < 0)
		return errno == EEXIST ? 0
				       : fail_errno(err, "create directory %s",
						    text_quote(path));
	if (!t->part->before ||
	    catalog_load(t->store, t->part->before, &before, &ignored) < 0 ||
	    tree_lookup(t->store, &before.root, path, &e, &ignored) <= 0 ||
	    !S_ISDIR(e.mode))
		return 0;
	e.mode |= S_IWUSR | S_IXUSR;
	fd = fd_open_dir_path(dir, name);
	return fd < 0 ? fail_errno(err, "open %s", text_quote(path))
		      : entry_apply_meta(t->store, fd, &e, err);
}

/* Enters one directory of the path. It may be missing, or another kind of entry
 * by now: *path becomes a different path then. */
static int enter_or_recreate_dir(struct txn *t, int dir, const char *name,
				 char **path, struct err *err)
{
	auto_free char *up = *path;
	auto_free char *kept = NULL;
	int fd;

	*path = path_join(up, name);
	fd = fd_open_dir_path(dir, name);
	if (fd < 0 && errno == ENOENT) {
		if (recreate_dir(t, dir, name, *path, err) < 0)
			return -err->num;
		add_displaced_line(
			t,
			mem_printf(
				"%s was missing: recreated for its entries\n",
				text_quote(*path)));
		fd = fd_open_dir_path(dir, name);
	} else if (fd < 0 && (errno == ENOTDIR || errno == ELOOP)) {
		auto_free char *was = *path;

		kept = displaced_name(t, name, 0);
		*path = path_join(up, kept);
		if (recreate_dir(t, dir, kept, *path, err) < 0)
			return -err->num;
		add_displaced_line(t, mem_printf("%s is no longer a directory: "
						 "its entries are kept in %s\n",
						 text_quote(was),
						 text_quote(*path)));
		fd = fd_open_dir_path(dir, kept);
	}
	return fd < 0 ? fail_errno(err, "open %s", text_quote(*path)) : fd;
}

/* Opens the parent of a path at its present place: *ret_path. */
static int open_current_parent(struct txn *t, const char *path, char **ret_path,
			       struct err *err)
{
	const char *name;
	int dir = beneath_parent(t->project->fd, path, &name, err);
	auto_free char *where = NULL;

	if (dir >= 0)
		*ret_path = mem_strdup(path);
	if (!txn_is_gone(dir))
		return dir;
	where = mem_strdup("");
	dir = beneath_open(t->project->fd, "", O_PATH | O_DIRECTORY, 0, err);
	while (dir >= 0 && strchr(path, '/')) {
		size_t len = strcspn(path, "/");
		auto_free char *part = mem_strndup(path, len);
		int next = enter_or_recreate_dir(t, dir, part, &where, err);

		(void)close(dir);
		dir = next;
		path += len + 1;
	}
	if (dir >= 0)
		*ret_path = path_join(where, path);
	return dir;
}

int txn_keep_displaced(struct txn *t, const char *staged, const struct op *op,
		       const char *what, struct err *err)
{
	auto_free char *path = NULL;
	auto_free char *up = NULL;
	auto_close int dir = open_current_parent(t, op->path, &path, err);
	unsigned number;

	if (dir < 0)
		return dir;
	up = path_parent(path);
	for (number = 0;; number++) {
		auto_free char *name =
			displaced_name(t, path_name(path), number);
		auto_free char *kept = path_join(up, name);

		if (fd_rename_new(t->staging_fd, staged, dir, name) == 0) {
			add_displaced_line(t,
					   mem_printf("%s %s %s\n",
						      text_quote(op->path),
						      what, text_quote(kept)));
			return 0;
		}
		if (errno != EEXIST || number == DISPLACED_MAX)
			return fail_errno(err, "rename to %s",
					  text_quote(kept));
	}
}

/*
 * Whether the ctime is still the value that guard's rename set (known in this
 * process only), checked directly before the rename back. A write in between
 * changes size or mtime, which are checked afterwards, so a long file is not
 * read.
 */
static bool has_forward_ctime(const struct op *op, const struct meta *m)
{
	return S_ISREG(op->to->mode) && op->forward_ctime.sec &&
	       m->ino == op->new_ino &&
	       timestamp_compare(m->ctime, op->forward_ctime) == 0;
}

/* A replaced file with its second name, or a new one with both names. */
static int finish_half(struct txn *t, const struct op *op, const char *staged,
		       struct err *err)
{
	char aside[EXCHANGE_NAME_LEN];
	auto_close int dir = -1;
	struct meta m, is;
	const char *name;
	bool half = op->kind == OP_REPLACE &&
		    fd_exists(t->staging_fd, exchange_aside(staged, aside));

	if (!half && (op->kind != OP_CREATE || S_ISDIR(op->to->mode) ||
		      meta_get(t->staging_fd, staged, &m) < 0 || m.nlink < 2))
		return 0;
	dir = beneath_parent(t->project->fd, op->path, &name, err);
	if (dir < 0)
		return txn_is_gone(dir) ? 0 : dir;
	if (!half)
		return meta_get(dir, name, &is) == 0 && is.ino == m.ino &&
				       unlinkat(t->staging_fd, staged, 0) < 0
			       ? fail_errno(err, "unlink the staged file")
			       : 0;
	if (exchange_finish(t->staging_fd, staged, dir, name) == 0)
		return 0;
	return errno == EEXIST
		       ? txn_keep_displaced(t, aside, op,
					    "was recreated during the command: "
					    "its earlier version is kept as",
					    err)
		       : fail_errno(err, "finish the exchange");
}

int txn_op_is_done(struct txn *t, const struct op *op, struct err *err)
{
	char name[JOURNAL_OP_NAME_LEN];
	struct meta m;

	if (op->kind == OP_META || op->kind == OP_CHILD)
		return 0;
	journal_op_name(t->part, op, name);
	if (op->kind != OP_DELETE && finish_half(t, op, name, err) < 0)
		return -err->num;
	if (meta_get(t->staging_fd, name, &m) < 0) {
		if (errno != ENOENT)
			return fail_errno(err, "stat the staged %s",
					  text_quote(op->path));
		return op->kind != OP_DELETE;
	}
	return op->kind == OP_DELETE || m.ino != op->new_ino;
}

static bool is_staged_unchanged(struct txn *t, const char *staged,
				const struct op *op)
{
	struct meta m;

	return meta_get(t->staging_fd, staged, &m) == 0 &&
	       m.ino == op->new_ino && m.size == op->to->size &&
	       timestamp_compare(m.mtime, op->to->mtime) == 0 &&
	       !file_has_writer(t->staging_fd, staged);
}

static int keep_if_changed_since(struct txn *t, const char *staged,
				 const struct op *op, struct err *err)
{
	const struct journal_root *j = t->part;
	struct child_ops child_ops = {op, 1};
	int got;

	while (op + child_ops.count < j->ops.items + j->ops.count &&
	       op[child_ops.count].kind == OP_CHILD)
		child_ops.count++;
	got = is_content_unchanged(t, &child_ops, op->path, t->staging_fd,
				   staged, err);
	/* Tried again: a single failed call is no proof. */
	if (!got)
		got = is_content_unchanged(t, &child_ops, op->path,
					   t->staging_fd, staged, err);
	return got ? (got < 0 ? got : 0)
		   : txn_keep_displaced(t, staged, op, changed, err);
}

static int rollback_create(struct txn *t, const struct op *op,
			   const char *staged, struct err *err)
{
	const char *name;
	auto_close int dir =
		beneath_parent(t->project->fd, op->path, &name, err);
	struct meta m = {0};
	bool had_forward_ctime;

	/* The parent may have been moved or removed meanwhile, with the new
	 * entry in it. */
	if (txn_is_gone(dir))
		return keep_if_changed_since(t, staged, op, err);
	if (dir < 0)
		return dir;
	/* A file that an earlier attempt took out and had to keep. */
	if (keep_if_changed_since(t, staged, op, err) < 0)
		return -err->num;
	/* The file was removed by another process: nothing to revert. */
	if (meta_get(dir, name, &m) < 0 && errno == ENOENT)
		return 0;
	if (S_ISDIR(op->to->mode) && txn_add_owner_write(dir, name, err) < 0)
		return -err->num;
	had_forward_ctime = has_forward_ctime(op, &m);
	if (fd_rename_new(dir, name, t->staging_fd, staged) < 0)
		return fail_errno(err, "roll back");
	if (had_forward_ctime && is_staged_unchanged(t, staged, op))
		return 0;
	return keep_if_changed_since(t, staged, op, err);
}

/* Restores metadata that was changed in place, and the mode of a directory that
 * had to be made writable. */
static int rollback_meta(struct txn *t, const struct op *op, struct err *err)
{
	auto_close int fd = -1;
	struct meta m;

	if (!op->from->mode)
		return 0;
	if (op->kind == OP_DELETE &&
	    (!S_ISDIR(op->from->mode) || (op->from->mode & S_IWUSR)))
		return 0;
	fd = beneath_open(t->project->fd, op->path, O_PATH, 0, err);
	if (err_is_exhaustion(-fd))
		return fd;
	if (fd < 0 || meta_get(fd, "", &m) < 0 || m.ino != op->old_ino)
		return 0;
	/* A mode set by another process stays. */
	if (op->kind == OP_META && !txn_own_mode(op, m.mode))
		return 0;
	return entry_apply_meta(t->store, fd, op->from, err);
}

static int rollback_displaced(struct txn *t, const struct op *op,
			      const char *staged, struct err *err)
{
	auto_free char *path = NULL;
	auto_close int dir = -1;
	bool had_forward_ctime;
	const char *name;
	struct meta m;

	/* An earlier attempt restored it. */
	if (meta_get(t->staging_fd, staged, &m) < 0 && errno == ENOENT)
		return 0;
	dir = open_current_parent(t, op->path, &path, err);
	if (dir < 0)
		return dir;
	name = path_name(path);
	if (op->kind != OP_DELETE) {
		m = (struct meta){0};
		/* An earlier attempt ended here. */
		if (meta_get(dir, name, &m) == 0 && m.ino == op->old_ino)
			return keep_if_changed_since(t, staged, op, err);
		had_forward_ctime = has_forward_ctime(op, &m);
		if (exchange_files(t->staging_fd, staged, dir, name) == 0)
			return had_forward_ctime && is_staged_unchanged(
							    t, staged, op)
				       ? 0
				       : keep_if_changed_since(t, staged, op,
							       err);
		if (errno != ENOENT)
			return fail_errno(err, "restore");
	}
	if (fd_rename_new(t->staging_fd, staged, dir, name) == 0)
		return 0;
	if (op->kind != OP_DELETE || errno != EEXIST)
		return fail_errno(err, "restore");
	return txn_keep_displaced(
		t, staged, op,
		"was recreated during the command: its earlier "
		"version is kept as",
		err);
}

static int rollback_op(struct txn *t, const struct op *op, struct err *err)
{
	char staged[JOURNAL_OP_NAME_LEN];
	int happened = txn_op_is_done(t, op, err);

	if (happened < 0)
		return happened;
	journal_op_name(t->part, op, staged);
	if (happened && (op->kind == OP_CREATE
				 ? rollback_create(t, op, staged, err)
				 : rollback_displaced(t, op, staged, err)) < 0)
		return -err->num;
	if (op->kind == OP_META || op->kind == OP_DELETE)
		return rollback_meta(t, op, err);
	if (!happened && t->journal->state == JOURNAL_ROLLBACK &&
	    (op->kind == OP_CREATE || op->kind == OP_REPLACE))
		return keep_if_changed_since(t, staged, op, err);
	return 0;
}

static int rollback_times(struct txn *t, struct err *err)
{
	struct journal_root *j = t->part;
	size_t i;

	for (i = 0; i < j->parent_mtimes.count; i++) {
		const struct parent_mtime *p = &j->parent_mtimes.items[i];
		auto_close int fd = beneath_open(t->project->fd, p->path,
						 O_PATH | O_DIRECTORY, 0, err);

		if (txn_is_gone(fd))
			continue;
		if (fd < 0 || entry_apply_time(fd, p->mtime, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Reverts the operations of one kind, the last one first, and keeps the first
 * error. */
static bool rollback_ops(struct txn *t, bool dir_meta, bool failed,
			 struct err *err)
{
	struct journal_root *j = t->part;
	struct err later;
	size_t i;

	for (i = j->ops.count; i-- > 0;) {
		const struct op *op = &j->ops.items[i];
		struct err *to = failed ? &later : err;

		if ((op->kind == OP_META && S_ISDIR(op->to->mode)) !=
			    dir_meta ||
		    rollback_op(t, op, to) == 0)
			continue;
		(void)err_context(to, "revert %s", text_quote(op->path));
		failed = true;
	}
	return failed;
}

int txn_rollback(struct txn *t, struct err *err)
{
	bool failed = txn_open_dirs(t, err) < 0;

	failed = rollback_ops(t, false, failed, err);
	failed = rollback_ops(t, true, failed, err);
	if (failed)
		return -err->num;
	if (rollback_times(t, err) < 0)
		return -err->num;
	if (syncfs(t->staging_fd) < 0)
		return fail_errno(err, "sync the project");
	return 0;
}
