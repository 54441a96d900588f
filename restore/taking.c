#include "restore/taking.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/path.h"
#include "base/text.h"
#include "base/walk.h"
#include "overlay/scan.h"
#include "restore/onfile.h"
#include "restore/txn.h"

/* Less is made from the store, and the run's layer stays whole. */
#define WORTH_IT SYNC_EACH_MAX
/* So many paths at most are noted with a run. */
#define FOLDERS_MAX 64
/* Open folders at a time. */
#define DEPTH_MAX 128

static bool is_plain(const struct step *s)
{
	return s->kind == STEP_CREATE && s->how == STEP_PLAIN && !s->partner;
}

char **taking_choose(const struct plan *plan)
{
	char **list = NULL;
	size_t i, end, count = 0;

	for (i = 0; i < plan->step_count && count < FOLDERS_MAX; i = end) {
		const struct step *top = &plan->steps[i];

		end = i + 1;
		if (!is_plain(top) || !S_ISDIR(top->to.mode) || !*top->path)
			continue;
		while (end < plan->step_count && is_plain(&plan->steps[end]) &&
		       path_below(plan->steps[end].path, top->path))
			end++;
		if (end - i <= WORTH_IT)
			continue;
		mem_list_add(&list, top->path);
		count++;
	}
	return list;
}

/* One of a file's names. */
struct name {
	uint64_t ino;
	uint32_t nlink;
};

/* The folder of one operation, gone through in the order of its operations. */
struct match {
	struct txn *txn;
	uint64_t dev;
	size_t at, end; /* of the operations */
	struct name *names; /* of files that have several */
	size_t name_count, name_room;
};

static void match_free(struct match *m)
{
	free(m->names);
}

static bool is_child(const char *path, const char *parent, const char *name)
{
	size_t len = strlen(parent);

	return strncmp(path, parent, len) == 0 && path[len] == '/' &&
	       strcmp(path + len + 1, name) == 0;
}

/*
 * The run has ended and nobody has been at it since: its bytes are those that
 * were stored then, as its size and times say once more.
 */
static bool same_stat(const struct match *m, const struct meta *have,
		      const struct entry *want)
{
	if (have->mode != want->mode || have->uid != want->uid ||
	    have->gid != want->gid || have->dev != m->dev)
		return false;
	if (S_ISREG(have->mode) && have->size != want->size)
		return false;
	if ((S_ISCHR(have->mode) || S_ISBLK(have->mode)) &&
	    have->rdev != want->rdev)
		return false;
	return moment_compare(have->mtime, want->mtime) == 0 &&
	       moment_compare(have->ctime, m->txn->from->before) < 0;
}

static bool same_attrs(struct match *m, int dirfd, struct op *op)
{
	AUTO(xattrs) struct xattrs x = {0}, want = {0};
	struct err ignored;

	if (xattrs_get(dirfd, path_name(op->path), &x, &ignored) < 0)
		return false;
	op->marked = xattrs_drop(&x, LAYER_XATTR_PREFIX) > 0;
	/* They are removed from it later. */
	if (op->marked && !(op->to.mode & S_IWUSR) && geteuid() != 0)
		return false;
	if (!x.count && op->to.attrs.type == OBJECT_NONE)
		return true;
	return onfile_load_attrs(m->txn->store, &op->to, &want, &ignored) ==
		       0 &&
	       xattrs_equal(&want, &x);
}

static bool match_op(struct match *m, int dirfd, unsigned int depth);

static bool match_below(struct match *m, int dirfd, const struct op *op,
			unsigned int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	auto_close int fd =
		openat(dirfd, path_name(op->path),
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t i;

	if (fd < 0 || depth > DEPTH_MAX ||
	    dirlist_read(fd, &list, &ignored) < 0)
		return false;
	for (i = 0; i < list.count; i++)
		if (m->at == m->end ||
		    !is_child(m->txn->part->ops[m->at].path, op->path,
			      list.items[i].name) ||
		    !match_op(m, fd, depth + 1))
			return false;
	return true;
}

/* Whether the next operation's thing is what dirfd has by its name, with all
 * that is in it. */
static bool match_op(struct match *m, int dirfd, unsigned int depth)
{
	struct op *op = &m->txn->part->ops[m->at++];
	struct meta meta;

	if (op->partner || meta_get(dirfd, path_name(op->path), &meta) < 0 ||
	    !same_stat(m, &meta, &op->to) || !same_attrs(m, dirfd, op))
		return false;
	op->new_ino = meta.ino;
	op->new_ctime = meta.ctime;
	if (S_ISDIR(meta.mode))
		return match_below(m, dirfd, op, depth);
	if (meta.nlink > 1) {
		GROW(m->names, m->name_count, m->name_room);
		m->names[m->name_count++] =
			(struct name){.ino = meta.ino, .nlink = meta.nlink};
	}
	return true;
}

static int by_ino(const void *a, const void *b)
{
	const struct name *p = a, *q = b;

	return (p->ino > q->ino) - (p->ino < q->ino);
}

/* No name of a file lies elsewhere in the layer: it would go on holding what
 * is the project's then. */
static bool all_names_here(struct match *m)
{
	size_t i, n;

	if (m->name_count)
		qsort(m->names, m->name_count, sizeof(*m->names), by_ino);
	for (i = 0; i < m->name_count; i += n) {
		for (n = 1; i + n < m->name_count; n++)
			if (m->names[i + n].ino != m->names[i].ino)
				break;
		if (n != m->names[i].nlink)
			return false;
	}
	return true;
}

static size_t end_of(const struct journal_root *j, size_t top)
{
	size_t end = top + 1;

	while (end < j->op_count && j->ops[end].kind == OP_RIDE)
		end++;
	return end;
}

static void forget(struct journal_root *j, size_t top, size_t end)
{
	for (; top < end; top++) {
		struct op *op = &j->ops[top];

		op->taken = op->marked = false;
		op->new_ino = 0;
		op->new_ctime = (struct moment){0};
	}
}

static bool is_chosen(const struct txn *t, const char *path)
{
	char *const *at = t->from->paths;

	while (*at && strcmp(*at, path) != 0)
		at++;
	return *at != NULL;
}

static bool match_folder(struct txn *t, size_t top, size_t end)
{
	AUTO(match) struct match m = {.txn = t, .at = top, .end = end};
	const char *name;
	struct err ignored;
	struct meta meta;
	auto_close int dir = -1;

	if (meta_get(t->project->fd, "", &meta) < 0)
		return false;
	m.dev = meta.dev;
	dir = beneath_parent(t->from->upper_fd, t->part->ops[top].path, &name,
			     &ignored);
	/* A folder that its owner may not write to cannot be moved by him. */
	return dir >= 0 && t->part->ops[top].to.mode & S_IWUSR &&
	       match_op(&m, dir, 0) && m.at == end && all_names_here(&m);
}

void taking_match(struct txn *t)
{
	struct journal_root *j = t->part;
	size_t i, n, end;

	for (i = 0; t->from && i < j->op_count; i = end) {
		end = i + 1;
		if (j->ops[i].kind != OP_CREATE)
			continue;
		end = end_of(j, i);
		if (!is_chosen(t, j->ops[i].path))
			continue;
		if (!match_folder(t, i, end)) {
			forget(j, i, end);
			continue;
		}
		for (n = i; n < end; n++)
			j->ops[n].taken = true;
	}
}

/* 1, or 0: it cannot be renamed from there. */
static int rename_one(struct txn *t, const struct op *op, struct err *err)
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
			    "has changed in the run's layer meanwhile");
	return 1;
}

static int remove_marks(int fd, struct err *err)
{
	AUTO(xattrs) struct xattrs x = {0};
	char link[32];
	size_t i;

	if (xattrs_get(fd, "", &x, err) < 0)
		return -err->num;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	for (i = 0; i < x.count; i++)
		if (strncmp(x.items[i].name, LAYER_XATTR_PREFIX,
			    strlen(LAYER_XATTR_PREFIX)) == 0 &&
		    removexattr(link, x.items[i].name) < 0)
			return fail_errno(err, "remove a mark of the layer");
	return 0;
}

static int clean_one(struct txn *t, struct op *op, const struct op *top,
		     struct err *err)
{
	char staged[JOURNAL_OP_NAME_LEN];
	auto_free char *path = NULL;
	auto_close int fd = -1;
	struct meta m;

	journal_op_name(t->part, top, staged);
	path = path_join(staged, path_rest(op->path, top->path));
	fd = beneath_open(t->staging_fd, path, O_PATH, 0, err);
	if (fd < 0 || remove_marks(fd, err) < 0)
		return -err->num;
	if (meta_get(fd, "", &m) < 0)
		return fail_errno(err, "look at it");
	op->new_ctime = m.ctime;
	return 0;
}

int taking_rename(struct txn *t, size_t *ret_count, struct err *err)
{
	struct journal_root *j = t->part;
	size_t i, n, end;

	*ret_count = 0;
	for (i = 0; i < j->op_count; i = end) {
		int got;

		end = i + 1;
		if (!j->ops[i].taken)
			continue;
		end = end_of(j, i);
		got = rename_one(t, &j->ops[i], err);
		if (got == 0)
			forget(j, i, end);
		for (n = i; got > 0 && n < end; n++)
			if (j->ops[n].marked &&
			    clean_one(t, &j->ops[n], &j->ops[i], err) < 0)
				got = -err->num;
		if (got < 0)
			return err_context(err, "take %s out of the layer",
					   text_quote(j->ops[i].path));
		if (got)
			*ret_count += end - i;
	}
	return 0;
}
