/*
 * Whether the system will let the operations happen, asked before anything is
 * staged: what would fail half way and be taken back, fails here, and a dry run
 * says the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/fs_features.h"
#include "restore/txn.h"
#include "restore/open_writers.h"

static int fail_not_permitted(int num, const char *path, const char *what,
			      struct err *err)
{
	return fail(err, num,
		    "%s %s: nothing was done. Name the other paths, or ask its "
		    "owner",
		    text_quote(*path ? path : "."), what);
}

/* 0: these rights are there, or it cannot be told. */
static int missing_access(int dirfd, const char *name, int access_mode)
{
	if (faccessat(dirfd, name, access_mode, AT_EACCESS) == 0)
		return 0;
	return errno == EACCES || errno == EPERM || errno == EROFS ? errno : 0;
}

/* Where the sticky bit is set, only the owner of a thing or of the folder moves
 * it away. */
static int check_sticky(const struct op *op, const struct meta *dir,
			struct err *err)
{
	if (op->kind == OP_CREATE || !(dir->mode & S_ISVTX) ||
	    dir->uid == geteuid() || op->from->uid == geteuid())
		return 0;
	return fail_not_permitted(
		EPERM, op->path,
		"belongs to somebody else, in a folder where only its "
		"owner may replace it",
		err);
}

static int check_parent_writable(struct txn *t, const char *path, int fd,
				 const struct meta *m, struct err *err)
{
	int num = missing_access(fd, ".", W_OK | X_OK);

	if (!num ||
	    (num != EROFS && m->uid == geteuid() && txn_opens_dir(t, path)))
		return 0;
	return *path ? fail_not_permitted(
			       num, path,
			       num == EROFS ? "is on a read-only file system"
					    : "is a folder that you may not "
					      "write in",
			       err)
		     : fs_features_explain(num, t->project->path, err);
}

/* A folder that goes elsewhere is written to itself; its owner may open it. */
static int check_moved(int dir, const char *name, const struct op *op,
		       struct err *err)
{
	int num;

	if (op->kind != OP_DELETE || !S_ISDIR(op->from->mode) ||
	    op->from->uid == geteuid())
		return 0;
	num = missing_access(dir, name, W_OK);
	return num ? fail_not_permitted(
			     num, op->path,
			     "is a folder of somebody else that you may not "
			     "write in",
			     err)
		   : 0;
}

static int check_meta(const struct op *op, struct err *err)
{
	if (op->kind != OP_META || geteuid() == 0 || !op->from->mode ||
	    op->from->uid == geteuid() || op->from->mode == op->to->mode)
		return 0;
	return fail_not_permitted(
		EPERM, op->path,
		"belongs to somebody else, who alone may change its mode", err);
}

/* The folder in which the last ones were. */
struct open_parent {
	char *path;
	int fd; /* -1: it is made on the way, or opened */
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
		return fail_errno(err, "look at %s", text_quote(path));
	return check_parent_writable(t, path, p->fd, &p->meta, err);
}

static int check_op_permitted(struct txn *t, struct open_parent *p,
			      const struct op *op, struct err *err)
{
	auto_free char *parent = path_parent(op->path);

	if (op->kind == OP_META)
		return check_meta(op, err);
	if (op->kind == OP_CHILD)
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

	/* The staging folder comes there, whatever is done. */
	if (t->part->op_count && enter_parent(t, &open_parent, "", err) < 0)
		return -err->num;
	for (i = 0; i < t->part->op_count; i++)
		if (check_op_permitted(t, &open_parent, &t->part->ops[i], err) <
		    0)
			return -err->num;
	return 0;
}

int txn_check_writers(struct txn *t, struct err *err)
{
	size_t i;

	for (i = 0; i < t->part->op_count; i++) {
		const struct op *op = &t->part->ops[i];
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
