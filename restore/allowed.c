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
#include "restore/able.h"
#include "restore/txn.h"
#include "restore/writers.h"

static int refused(int num, const char *path, const char *what, struct err *err)
{
	return fail(err, num,
		    "%s %s: nothing was done. Name the other paths, or ask its "
		    "owner",
		    text_quote(*path ? path : "."), what);
}

/* 0: these rights are there, or it cannot be told. */
static int lacks(int dirfd, const char *name, int rights)
{
	if (faccessat(dirfd, name, rights, AT_EACCESS) == 0)
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
	return refused(EPERM, op->path,
		       "belongs to somebody else, in a folder where only its "
		       "owner may replace it",
		       err);
}

static int check_folder(struct txn *t, const char *path, int fd,
			const struct meta *m, struct err *err)
{
	int num = lacks(fd, ".", W_OK | X_OK);

	if (!num || (num != EROFS && m->uid == geteuid() && txn_opens(t, path)))
		return 0;
	return *path ? refused(num, path,
			       num == EROFS ? "is on a read-only file system"
					    : "is a folder that you may not "
					      "write in",
			       err)
		     : able_explain(num, t->project->path, err);
}

/* A folder that goes elsewhere is written to itself; its owner may open it. */
static int check_moved(int dir, const char *name, const struct op *op,
		       struct err *err)
{
	int num;

	if (op->kind != OP_DELETE || !S_ISDIR(op->from->mode) ||
	    op->from->uid == geteuid())
		return 0;
	num = lacks(dir, name, W_OK);
	return num ? refused(num, op->path,
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
	return refused(
		EPERM, op->path,
		"belongs to somebody else, who alone may change its mode", err);
}

/* The folder in which the last ones were. */
struct place {
	char *path;
	int fd; /* -1: it is made on the way, or opened */
	struct meta meta;
};

static void place_free(struct place *p)
{
	if (p->fd >= 0)
		(void)close(p->fd);
	free(p->path);
	*p = (struct place){.fd = -1};
}

static int go_to(struct txn *t, struct place *p, const char *path,
		 struct err *err)
{
	if (p->path && strcmp(p->path, path) == 0)
		return 0;
	place_free(p);
	p->path = mem_strdup(path);
	p->fd = path_cursor_open(&t->path_cursor, path, O_PATH | O_DIRECTORY,
				 err);
	if (p->fd < 0)
		return p->fd == -ENOENT || p->fd == -ENOTDIR || p->fd == -EACCES
			       ? 0
			       : p->fd;
	if (meta_get(p->fd, "", &p->meta) < 0)
		return fail_errno(err, "look at %s", text_quote(path));
	return check_folder(t, path, p->fd, &p->meta, err);
}

static int check_op(struct txn *t, struct place *p, const struct op *op,
		    struct err *err)
{
	auto_free char *parent = path_parent(op->path);

	if (op->kind == OP_META)
		return check_meta(op, err);
	if (op->kind == OP_RIDE)
		return 0;
	if (go_to(t, p, parent, err) < 0)
		return -err->num;
	if (p->fd < 0)
		return 0;
	return check_sticky(op, &p->meta, err) < 0
		       ? -err->num
		       : check_moved(p->fd, path_name(op->path), op, err);
}

int txn_allowed(struct txn *t, struct err *err)
{
	AUTO(place) struct place place = {.fd = -1};
	size_t i;

	/* The staging folder comes there, whatever is done. */
	if (t->part->op_count && go_to(t, &place, "", err) < 0)
		return -err->num;
	for (i = 0; i < t->part->op_count; i++)
		if (check_op(t, &place, &t->part->ops[i], err) < 0)
			return -err->num;
	return 0;
}

int txn_check_writers(struct txn *t, struct err *err)
{
	size_t i;

	for (i = 0; i < t->part->op_count; i++) {
		const struct op *op = &t->part->ops[i];
		bool folder = S_ISDIR(op->from->mode);
		auto_close int fd = -1;

		if ((op->kind != OP_REPLACE && op->kind != OP_DELETE) ||
		    (!folder && !S_ISREG(op->from->mode)))
			continue;
		fd = path_cursor_open(&t->path_cursor, op->path,
				      O_RDONLY | O_NONBLOCK | O_NOCTTY, err);
		if ((folder && fd >= 0 ? writers_check_below(fd, err)
				       : writers_check(fd, err)) < 0)
			return err_context(err, "%s", text_quote(op->path));
	}
	return 0;
}
