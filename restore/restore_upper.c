#include "restore/restore_upper.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "overlay/whiteout.h"
#include "restore/entry_compare.h"
#include "restore/transaction_private.h"

#define SCRATCH "refill"

struct upper_dir_ops {
	const char *path;
	struct journal_root *part;
};

static int add_upper_op(void *arg, const char *path, const struct entry *e,
			struct err *err)
{
	struct upper_dir_ops *r = arg;
	struct journal_root *j = r->part;
	struct op *op;

	(void)err;
	op = VEC_ADD(&j->ops);
	*op = (struct op){
		.kind = *path ? OP_CHILD : OP_CREATE,
		.path = path_join(r->path, path),
	};
	entry_copy(&journal_op_own(op)->to, e);
	return 0;
}

/* Creates the directory next to the upper. */
static int make_upper_copy(struct store *store, const struct entry *e,
			   const char *path, int scratch_fd, struct err *err)
{
	AUTO(journal) struct journal journal = {0};
	struct upper_dir_ops r = {
		.path = path,
		.part = journal_add_root(&journal, ""),
	};
	struct txn t = {
		.store = store,
		.part = r.part,
		.journal = &journal,
		.staging_fd = scratch_fd,
	};
	AUTO(syncs) struct syncs syncs = SYNCS_NONE;
	char name[JOURNAL_OP_NAME_LEN];
	auto_close int fd = -1;

	/* syncfs(2), because xattrs are added later. */
	syncs_add_all(&syncs);
	if (tree_each(store, e, add_upper_op, &r, err) < 0 ||
	    txn_stage_into(&t, &syncs, err) < 0)
		return -err->num;
	journal_op_name(r.part, &r.part->ops.items[0], name);
	fd = openat(scratch_fd, name,
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* The lower had no such entry, or it was deleted completely. */
	if (fd < 0)
		return fail_errno(err, "open %s", name);
	if (opaque_set(fd, true, err) < 0 ||
	    entry_apply_time(fd, e->mtime, err) < 0)
		return -err->num;
	return syncs_run(&syncs, scratch_fd, err);
}

/* Renames the copy into the upper and restores the parent's mtime. */
static int move_into_upper(struct store *store, const struct entry *result,
			   const char *path, int scratch_fd, int upper_fd,
			   struct err *err)
{
	AUTO(entry) struct entry e = {0};
	auto_free char *parent = path_parent(path);
	const char *name;
	auto_close int dir = beneath_parent(upper_fd, path, &name, err);

	if (dir < 0)
		return dir;
	if (renameat2(scratch_fd, "n0", dir, name, RENAME_NOREPLACE) < 0)
		return fail_errno(err, "move it into the layer");
	if (tree_lookup(store, result, parent, &e, err) < 0 ||
	    (e.mode && entry_apply_time(dir, e.mtime, err) < 0))
		return -err->num;
	return syncfs(scratch_fd) < 0 ? fail_errno(err, "sync") : 0;
}

static int upper_dir_ops(struct store *store, const struct entry *result,
			 const struct entry *e, const char *path, int run_fd,
			 int upper_fd, struct err *err)
{
	auto_close int scratch = -1;

	if (dirtree_remove(run_fd, SCRATCH, err) < 0)
		return -err->num;
	if (mkdirat(run_fd, SCRATCH, 0700) < 0)
		return fail_errno(err, "create a directory next to the layer");
	scratch = openat(run_fd, SCRATCH,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (scratch < 0)
		return fail_errno(err, "open the directory");
	if (make_upper_copy(store, e, path, scratch, err) < 0)
		return -err->num;
	return move_into_upper(store, result, path, scratch, upper_fd, err);
}

int restore_upper_dir(struct store *store, const struct entry *result,
		      const char *path, int run_fd, int upper_fd,
		      struct err *err)
{
	AUTO(entry) struct entry e = {0};
	struct err ignored;
	auto_close int had = beneath_open(upper_fd, path, O_PATH, 0, &ignored);
	int got;

	if (had >= 0)
		return 0;
	got = tree_lookup(store, result, path, &e, err);
	if (got > 0)
		got = upper_dir_ops(store, result, &e, path, run_fd, upper_fd,
				    err);
	(void)dirtree_remove(run_fd, SCRATCH, &ignored);
	return got < 0 ? err_context(err, "recreate %s in the run's layer",
				     text_quote(path))
		       : 0;
}
