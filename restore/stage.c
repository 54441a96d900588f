#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/parallel_for.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "restore/entry_compare.h"
#include "restore/fs_features.h"
#include "restore/move_from_upper.h"
#include "restore/transaction_private.h"
#include "restore/unreadable_dirs.h"

/* Bytes handed to the disk at a time. */
#define WINDOW ((uint64_t)32 << 20)

struct writeback {
	int fd;
	const struct content_watch *watch;
	uint64_t begun, under_way; /* the disk writes this range, and has
				      written all bytes before it */
	int failed; /* errno */
};

static int start_writeback(struct writeback *p, uint64_t to)
{
	int got;

	if (to - p->under_way < WINDOW)
		return 0;
	got = sync_file_range(p->fd, (off_t)p->under_way,
			      (off_t)(to - p->under_way),
			      SYNC_FILE_RANGE_WRITE);
	if (got == 0 && p->under_way > p->begun)
		got = sync_file_range(p->fd, (off_t)p->begun,
				      (off_t)(p->under_way - p->begun),
				      SYNC_FILE_RANGE_WAIT_BEFORE |
					      SYNC_FILE_RANGE_WRITE |
					      SYNC_FILE_RANGE_WAIT_AFTER);
	p->begun = p->under_way;
	p->under_way = to;
	return got;
}

/* Other errors mean that the file system does not support the call. */
static bool is_write_error(int number)
{
	return number == EIO || number == ENOSPC || number == EDQUOT;
}

static bool write_back_progress(void *arg, uint64_t done)
{
	struct writeback *p = arg;

	if (!p->failed && start_writeback(p, done) < 0)
		p->failed = errno;
	return !is_write_error(p->failed) &&
	       p->watch->go_on(p->watch->arg, done);
}

/* Writes a stored file into an empty one. The disk already writes the earlier
 * parts of a long file: otherwise all data would wait for the sync, which
 * cannot be interrupted. A write error is reported here, once; the later sync
 * may not report it again. */
static int write_content(struct store *s, const struct oid *id, int fd,
			 const struct content_watch *watch, struct err *err)
{
	struct writeback p = {.fd = fd, .watch = watch};
	const struct content_watch own = {write_back_progress, &p};
	int got = content_write(s, id, fd, &own, err);

	if (got != -EINTR || !is_write_error(p.failed))
		return got;
	errno = p.failed;
	return fail_errno(err, "write");
}

/* Operations for one thread at a time in a large directory. */
#define RUN_MAX 32

/* The first operation of each hard-link group; the others become links to
 * it. */
struct leader {
	uint64_t group; /* first, for sorted_find_number() */
	size_t op;
};

/* Consecutive operations with the same parent directory. */
struct run {
	size_t start, end;
};

enum staged { STAGED_NOTHING, STAGED_DIR, STAGED_FILE, STAGED_LINK };

struct stage {
	struct txn *txn;
	char **paths; /* for each operation, in the staging directory; or NULL
		       */
	size_t count; /* of paths */
	VEC(struct run) runs;
	struct leader *leaders; /* sorted by group, then operation */
	size_t leader_count;
	uint64_t total; /* bytes of files */
	atomic_ullong done;
	atomic_flag is_reporting;
};

static void stage_free(struct stage *s)
{
	size_t i;

	for (i = 0; s->paths && i < s->txn->part->ops.count; i++)
		free(s->paths[i]);
	free(s->paths);
	free(s->runs.items);
	free(s->leaders);
}

static int compare_leaders(const void *a, const void *b)
{
	const struct leader *p = a, *q = b;

	if (p->group != q->group)
		return p->group < q->group ? -1 : 1;
	return (p->op > q->op) - (p->op < q->op);
}

static void plan_staging(struct stage *s)
{
	struct journal_root *j = s->txn->part;
	const struct op *top = NULL;
	char name[JOURNAL_OP_NAME_LEN];
	const char *first;
	struct run *last;
	size_t len, i;

	s->paths = mem_zalloc((j->ops.count + 1) * sizeof(*s->paths));
	s->leaders = mem_alloc((j->ops.count + 1) * sizeof(*s->leaders));
	for (i = 0; i < j->ops.count; i++) {
		const struct op *op = &j->ops.items[i];

		if ((op->kind != OP_REPLACE && op->kind != OP_CREATE &&
		     op->kind != OP_CHILD) ||
		    op->from_upper)
			continue;
		s->count++;
		if (op->kind != OP_CHILD)
			top = op;
		journal_op_name(j, top, name);
		s->paths[i] = path_join(name, path_rest(op->path, top->path));
		len = (size_t)(path_name(s->paths[i]) - s->paths[i]);
		last = s->runs.count ? &s->runs.items[s->runs.count - 1] : NULL;
		first = last ? s->paths[last->start] : "";
		if (last && last->end == i && i - last->start < RUN_MAX &&
		    (size_t)(path_name(first) - first) == len &&
		    memcmp(first, s->paths[i], len) == 0)
			last->end++;
		else
			*VEC_ADD(&s->runs) = (struct run){i, i + 1};
		s->total += op->to->size;
		if (op->to->link_group && !S_ISDIR(op->to->mode))
			s->leaders[s->leader_count++] = (struct leader){
				.group = op->to->link_group, .op = i};
	}
	if (s->leader_count)
		qsort(s->leaders, s->leader_count, sizeof(*s->leaders),
		      compare_leaders);
}

/* The path to link to; NULL: this operation is the first of its group. */
static const char *leader_of(const struct stage *s, size_t i)
{
	uint64_t group = s->txn->part->ops.items[i].to->link_group;
	const struct leader *leader;

	if (!group || S_ISDIR(s->txn->part->ops.items[i].to->mode))
		return NULL;
	leader = sorted_find_number(group, s->leaders, s->leader_count,
				    sizeof(*s->leaders));
	return leader->op == i ? NULL : s->paths[leader->op];
}

static enum staged staged_kind(const struct stage *s, size_t i)
{
	if (!s->paths[i])
		return STAGED_NOTHING;
	if (S_ISDIR(s->txn->part->ops.items[i].to->mode))
		return STAGED_DIR;
	return leader_of(s, i) ? STAGED_LINK : STAGED_FILE;
}

static const char nothing_done[] = "interrupted: nothing was changed";

/* While another thread reports, this one need not. */
static void report_staged_bytes(struct stage *s, uint64_t bytes)
{
	const struct transaction *what = s->txn->what;
	uint64_t done = atomic_fetch_add(&s->done, bytes) + bytes;

	if (!what || !what->progress ||
	    atomic_flag_test_and_set(&s->is_reporting))
		return;
	what->progress(what->progress_arg, done, s->total);
	atomic_flag_clear(&s->is_reporting);
}

/* A file that is being written. */
struct staged_file {
	struct stage *stage;
	uint64_t reported;
};

static bool report_filled(void *arg, uint64_t done)
{
	struct staged_file *f = arg;

	report_staged_bytes(f->stage, done - f->reported);
	f->reported = done;
	return !txn_is_cancelled(f->stage->txn);
}

/* Only the owner can enter the staging directory, so the final mode can be set
 * at creation. */
static int make_staged_file(struct stage *s, int dir, const char *name,
			    const struct op *op, struct err *err)
{
	const struct entry *e = op->to;
	auto_close int fd = openat(
		dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		e->mode & 0777);
	struct staged_file staged_file = {.stage = s};
	const struct content_watch watch = {report_filled, &staged_file};
	int got = 0;

	if (fd < 0)
		return fail_errno(err, "create");
	if (e->content.type != OBJECT_NONE &&
	    !move_from_upper_clone(s->txn, op, fd))
		got = write_content(s->txn->store, &e->content, fd, &watch,
				    err);
	if (got == -EINTR)
		(void)txn_check_cancelled(s->txn, nothing_done, err);
	if (got < 0)
		return -err->num;
	if (entry_apply_meta(s->txn->store, fd, e, err) < 0)
		return -err->num;
	report_staged_bytes(s, e->size - staged_file.reported);
	return 0;
}

static int make_staged_special(struct stage *s, int dir, const char *name,
			       const struct entry *e, struct err *err)
{
	auto_close int fd = -1;
	int got;

	if (S_ISDIR(e->mode)) {
		got = mkdirat(dir, name, 0700);
		return got < 0 ? fail_errno(err, "create directory") : 0;
	}
	if (S_ISLNK(e->mode))
		got = symlinkat(e->link ? e->link : "", dir, name);
	else
		got = mknodat(dir, name, (e->mode & S_IFMT) | 0600, e->rdev);
	if (got < 0)
		return fail_errno(err, "create");
	fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "open");
	return entry_apply_meta(s->txn->store, fd, e, err);
}

/* Whether the link failed for a reason that a separate file solves: no
 * permission, too many links, or a concurrent change. */
static bool is_link_refused(int number)
{
	static const int numbers[] = {EPERM,  EACCES,  EXDEV, EMLINK,
				      ENOENT, ENOTDIR, ELOOP, EOPNOTSUPP};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

/* 1: the staged entry is a hard link of a file in the project with the wanted
 * content; 0: it must be created. */
static int link_existing_file(struct stage *s, const struct op *op, int dir,
			      const char *name, struct err *err)
{
	const struct txn *t = s->txn;
	struct entry_compare o;
	const char *old_name;
	auto_close int old_dir = -1;
	int got;

	if (!op->hardlink_to)
		return 0;
	o = (struct entry_compare){
		.store = t->store,
		.workspace_fd = t->project->workspace_fd,
	};
	old_dir =
		beneath_parent(t->project->fd, op->hardlink_to, &old_name, err);
	if (old_dir < 0)
		return is_link_refused(-old_dir) ? 0 : old_dir;
	if (linkat(old_dir, old_name, dir, name, 0) < 0)
		return is_link_refused(errno)
			       ? 0
			       : fail_errno(err, "link it to %s",
					    text_quote(op->hardlink_to));
	got = entry_compare_equal(&o, dir, name, op->to, err);
	if (got == 1)
		return 1;
	if (got < 0 && !is_link_refused(-got))
		return got;
	return unlinkat(dir, name, 0) < 0 ? fail_errno(err, "unlink") : 0;
}

static int stage_op(struct stage *s, size_t i, int dir, const char *name,
		    struct err *err)
{
	struct op *op = &s->txn->part->ops.items[i];
	const char *leader = leader_of(s, i), *old_name;
	auto_close int old_dir = -1;
	struct meta m;
	int got;

	if (leader) {
		got = old_dir = beneath_parent(s->txn->staging_fd, leader,
					       &old_name, err);
		if (old_dir >= 0)
			got = linkat(old_dir, old_name, dir, name, 0) < 0
				      ? fail_errno(err, "link")
				      : 0;
	} else if (S_ISREG(op->to->mode)) {
		got = link_existing_file(s, op, dir, name, err);
	} else {
		got = make_staged_special(s, dir, name, op->to, err);
	}
	if (got == 0 && !leader && S_ISREG(op->to->mode))
		got = make_staged_file(s, dir, name, op, err);
	/* Only guard writes here, so two names of the plan are one name for the
	 * file system. */
	if (got == -EEXIST)
		return err_context(err,
				   "for this file system its name is the same "
				   "as another new one: exclude one of them");
	if (got < 0)
		return got;
	if (meta_get(dir, name, &m) < 0)
		return fail_errno(err, "stat it");
	op->new_ino = m.ino;
	op->new_ctime = m.ctime;
	return 0;
}

/* Stages the operations of one kind in a run. */
static int stage_run(struct stage *s, const struct run *run, enum staged kind,
		     struct err *err)
{
	auto_close int dir = -1;
	size_t i;

	for (i = run->start; i < run->end; i++) {
		const char *name = path_name(s->paths[i]);
		int got = 0;

		if (staged_kind(s, i) != kind)
			continue;
		if (txn_check_cancelled(s->txn, nothing_done, err) < 0)
			return -err->num;
		if (dir < 0)
			got = dir = beneath_parent(s->txn->staging_fd,
						   s->paths[i], &name, err);
		if (got >= 0)
			got = stage_op(s, i, dir, name, err);
		if (got < 0)
			return err_context(
				err, "stage %s",
				text_quote(s->txn->part->ops.items[i].path));
	}
	return 0;
}

static int stage_files(void *arg, size_t i, struct err *err)
{
	struct stage *s = arg;

	return stage_run(s, &s->runs.items[i], STAGED_FILE, err);
}

static int make_staging_dir(struct txn *t, struct err *err)
{
	AUTO(unreadable_dirs)
	struct unreadable_dirs opened = UNREADABLE_DIRS_NONE;
	int dir = t->project->fd;

	if (mkdirat(dir, t->part->staging, 0700) == 0)
		return 0;
	if (errno != EACCES)
		return fs_features_explain(errno, t->project->path, err);
	if (unreadable_dirs_open_to_write(dir, t->project->workspace_fd,
					  &opened, err) < 0)
		return -err->num;
	return mkdirat(dir, t->part->staging, 0700) < 0
		       ? fs_features_explain(errno, t->project->path, err)
		       : 0;
}

int txn_stage_into(struct txn *t, struct syncs *to, struct err *err)
{
	AUTO(stage) struct stage s = {.txn = t};
	struct journal_root *j = t->part;
	size_t i;

	plan_staging(&s);
	/* Directories before their entries, links after their targets, and the
	 * expensive files in between, with two threads when there are many. */
	for (i = 0; i < s.runs.count; i++)
		if (stage_run(&s, &s.runs.items[i], STAGED_DIR, err) < 0)
			return -err->num;
	if (parallel_for(s.runs.count, s.count < TXN_THREADS_MIN, stage_files,
			 &s, err) < 0)
		return -err->num;
	for (i = 0; i < s.runs.count; i++)
		if (stage_run(&s, &s.runs.items[i], STAGED_LINK, err) < 0)
			return -err->num;
	/* A directory's metadata is set after its last entry. */
	for (i = j->ops.count; i-- > 0;) {
		const struct op *op = &j->ops.items[i];
		struct entry e = *op->to; /* borrowed strings */
		auto_close int fd = -1;

		if (!s.paths[i] || !S_ISDIR(e.mode))
			continue;
		/* The owner cannot rename a directory without write permission:
		 * the mode is set after the rename. */
		if (op->kind == OP_CREATE)
			e.mode |= S_IWUSR;
		fd = beneath_open(t->staging_fd, s.paths[i],
				  O_RDONLY | O_DIRECTORY, 0, err);
		if (fd < 0 || entry_apply_meta(t->store, fd, &e, err) < 0)
			return err_context(err, "stage %s",
					   text_quote(op->path));
	}
	/* Symbolic links and fifos are durable with their directory. */
	if (s.count > SYNC_EACH_MAX)
		syncs_add_all(to);
	for (i = 0; !to->whole_fs && i < j->ops.count; i++) {
		uint32_t mode = j->ops.items[i].to->mode;

		if (s.paths[i] && (S_ISREG(mode) || S_ISDIR(mode)))
			syncs_add(to, t->staging_fd, s.paths[i]);
	}
	return 0;
}

int txn_stage(struct txn *t, struct syncs *to, struct err *err)
{
	size_t from_upper;
	int flags = 0;

	if (make_staging_dir(t, err) < 0 || txn_open_staging(t, err) < 0)
		return -err->num;
	/* After large deletions on ext4 without a journal, new files are 10 to
	 * 30 times slower; this flag places them elsewhere on the disk. */
	if (ioctl(t->staging_fd, FS_IOC_GETFLAGS, &flags) == 0) {
		flags |= FS_TOPDIR_FL;
		(void)ioctl(t->staging_fd, FS_IOC_SETFLAGS, &flags);
	}
	if (move_from_upper_rename(t, &from_upper, err) < 0 ||
	    txn_stage_into(t, to, err) < 0)
		return -err->num;
	if (from_upper)
		syncs_add_all(to);
	syncs_add(to, t->staging_fd, "");
	syncs_add(to, t->project->fd, "");
	return 0;
}
