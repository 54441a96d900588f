#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/beneath.h"
#include "base/chattr.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "base/sorted.h"
#include "restore/entry_compare.h"
#include "restore/unreadable_dirs.h"
#include "restore/transaction_private.h"
#include "snapshot/store/ingest_hint.h"

int txn_set_root_time(struct txn *t, bool forward, struct err *err)
{
	struct journal_root *j = t->part;

	if (!j->parent_mtimes.count || (forward && !j->root_time_set))
		return 0;
	return entry_apply_time(
		t->project->fd,
		forward ? j->root_time : j->parent_mtimes.items[0].mtime, err);
}

static uint32_t immutable_flags(const struct op *op)
{
	return op->kind == OP_DELETE ? 0 : op->to->chattr & CHATTR_FIXED;
}

/* Sets immutable and append-only flags last: no rollback is needed any more.
 * Flags that the user may not set are skipped. */
static void set_immutable_flags(struct txn *t)
{
	size_t i;

	for (i = 0; i < t->part->ops.count; i++) {
		const struct op *op = &t->part->ops.items[i];
		uint32_t flags = immutable_flags(op);
		struct err ignored;
		auto_close int fd = -1;

		if (!flags)
			continue;
		fd = beneath_open(t->project->fd, op->path, O_PATH, 0,
				  &ignored);
		if (fd >= 0)
			entry_apply_chattr(fd, flags, flags);
	}
}

void txn_drop_ops(struct txn *t)
{
	struct journal_root *j = t->part;
	size_t kept = 0, i;

	for (i = 0; i < j->ops.count; i++)
		if (immutable_flags(&j->ops.items[i]))
			j->ops.items[kept++] = j->ops.items[i];
		else
			journal_op_free(&j->ops.items[i]);
	j->ops.count = kept;
	j->ops.items =
		mem_resize(j->ops.items, kept + 1, sizeof(*j->ops.items));
}

void txn_empty_staging(struct txn *t)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if (t->staging_fd < 0 ||
	    dirlist_read(t->staging_fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++)
		(void)dirtree_remove(t->staging_fd, list.items[i].name,
				     &ignored);
}

int txn_finish(struct txn *t, bool forward, struct err *err)
{
	AUTO(unreadable_dirs)
	struct unreadable_dirs opened = UNREADABLE_DIRS_NONE;

	if (t->staging_fd >= 0)
		(void)close(t->staging_fd);
	t->staging_fd = -1;
	/* The applied mode may deny the owner write access to the project's
	 * root. */
	if (unreadable_dirs_open_to_write(t->project->fd,
					  t->project->workspace_fd, &opened,
					  err) < 0 ||
	    dirtree_remove(t->project->fd, t->part->staging, err) < 0)
		return err_context(err, "remove %s in %s",
				   text_quote(t->part->staging),
				   text_quote(t->project->path));
	unreadable_dirs_free(&opened);
	if (forward)
		set_immutable_flags(t);
	if (txn_set_root_time(t, forward, err) < 0 ||
	    atomic_sync_dir(t->project->fd, err) < 0)
		return err_context(err, "%s", text_quote(t->project->path));
	return 0;
}

void txn_all_free(struct txn_all *all)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		txn_free(&all->roots[i]);
	free(all->roots);
	journal_free(&all->journal);
	*all = (struct txn_all){0};
}

void txn_all_make_roots(struct txn_all *all)
{
	size_t i;

	all->count = all->journal.roots.count;
	all->roots = mem_zalloc((all->count + 1) * sizeof(*all->roots));
	for (i = 0; i < all->count; i++)
		all->roots[i] = (struct txn){
			.store = all->store,
			.part = &all->journal.roots.items[i],
			.journal = &all->journal,
			.staging_fd = -1,
		};
}

int txn_all_rollback(struct txn_all *all, struct err *err)
{
	struct err later;
	int worst = 0;
	size_t i;

	for (i = all->count; i-- > 0;) {
		struct txn *t = &all->roots[i];
		int got =
			t->project ? txn_rollback(t, worst ? &later : err) : 0;

		worst = worst ? worst : got;
	}
	return worst;
}

int txn_all_remove_staging(struct txn_all *all, bool forward, struct err *err)
{
	struct err later;
	int worst = 0;
	size_t i;

	for (i = 0; i < all->count; i++) {
		struct txn *t = &all->roots[i];
		int got = t->project
				  ? txn_finish(t, forward, worst ? &later : err)
				  : 0;

		worst = worst ? worst : got;
	}
	return worst;
}

int txn_all_finish(struct txn_all *all, bool forward, struct err *err)
{
	int got = txn_all_remove_staging(all, forward, err);

	return got < 0 ? got : txn_all_close(all, err);
}

void txn_all_displaced(const struct txn_all *all, struct buf *to)
{
	size_t i;

	for (i = 0; i < all->count; i++)
		buf_add(to, all->roots[i].displaced.data,
			all->roots[i].displaced.len);
}

int txn_all_close(struct txn_all *all, struct err *err)
{
	size_t i;

	if (journal_remove(all->first->workspace_fd, err) < 0)
		return -err->num;
	for (i = 0; i < all->count; i++) {
		const struct project *p = all->roots[i].project;

		if (p && p != all->first)
			journal_join_drop(p->workspace_fd);
	}
	return 0;
}

void txn_add_ingest_hints(struct txn *t)
{
	struct project *p = t->project;
	size_t dir_count = 0, i;

	mem_list_free(&p->unreadable_dirs);
	for (i = 0; i < t->part->ops.count; i++) {
		const struct op *op = &t->part->ops.items[i];
		bool unreadable = !(op->to->mode & S_IRUSR);
		uint64_t ino = op->kind == OP_META ? op->old_ino : op->new_ino;
		struct timestamp ctime = op->kind == OP_CHILD
						 ? op->new_ctime
						 : op->forward_ctime;

		if (unreadable_dirs_match(op->to->mode)) {
			mem_list_add(&p->unreadable_dirs, op->path);
			dir_count++;
		}
		/* The ctime of a file changed in place proves nothing about its
		 * content: the snapshot reads the file if possible. */
		if (!ino || !S_ISREG(op->to->mode) ||
		    (!unreadable && !ctime.sec))
			continue;
		*VEC_ADD(&p->hints) = (struct ingest_hint){
			.ino = ino,
			.size = op->to->size,
			.mtime = op->to->mtime,
			.ctime = unreadable ? (struct timestamp){0} : ctime,
			.content = op->to->content,
			.no_attrs = op->from_upper &&
				    op->to->attrs.type == OBJECT_NONE,
		};
	}
	ingest_hint_sort(p->hints.items, p->hints.count);
	if (dir_count)
		qsort(p->unreadable_dirs, dir_count,
		      sizeof(*p->unreadable_dirs), sorted_compare_paths);
}
