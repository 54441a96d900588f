/* Questions of several phases of a transaction about one root and its
 * operations. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/transaction_private.h"

void txn_free(struct txn *t)
{
	if (t->staging_fd >= 0)
		(void)close(t->staging_fd);
	t->staging_fd = -1;
	path_cursor_free(&t->path_cursor);
	buf_free(&t->displaced);
}

bool txn_is_cancelled(const struct txn *t)
{
	return t->what && t->what->is_cancelled && t->what->is_cancelled();
}

int txn_check_cancelled(const struct txn *t, const char *text, struct err *err)
{
	return txn_is_cancelled(t) ? fail(err, EINTR, "%s", text) : 0;
}

int txn_open_staging(struct txn *t, struct err *err)
{
	t->staging_fd = beneath_open(t->project->fd, t->part->staging,
				     O_RDONLY | O_DIRECTORY, 0, err);
	return t->staging_fd < 0 ? t->staging_fd : 0;
}

bool txn_is_gone(int fd)
{
	return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP;
}

int txn_add_owner_write(int dirfd, const char *name, struct err *err)
{
	auto_close int fd =
		openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct meta m;

	if (fd < 0 || meta_get(fd, "", &m) < 0)
		return fail_errno(err, "open %s", text_quote(name));
	if (!S_ISDIR(m.mode) || (m.mode & S_IWUSR))
		return 0;
	if (fd_chmod(fd, m.mode | S_IWUSR) < 0)
		return fail_errno(err, "change the mode of %s",
				  text_quote(name));
	return 0;
}

#define OWNER_WX (S_IWUSR | S_IXUSR)

bool txn_own_mode(const struct op *op, uint32_t mode)
{
	uint32_t from = op->from->mode ? op->from->mode : mode;

	return mode == from || mode == (from | S_IWUSR) ||
	       mode == (from | OWNER_WX) || mode == op->to->mode ||
	       mode == (op->to->mode | S_IWUSR) ||
	       mode == (op->to->mode | OWNER_WX);
}

bool txn_is_shut_dir(const struct meta *m)
{
	return geteuid() != 0 && m->uid == geteuid() && S_ISDIR(m->mode) &&
	       (m->mode & OWNER_WX) != OWNER_WX;
}

int txn_open_dirs(struct txn *t, struct err *err)
{
	struct journal_root *j = t->part;
	size_t i;

	/* Parents first. */
	for (i = j->ops.count; i-- > 0;) {
		const struct op *op = &j->ops.items[i];
		auto_close int fd = -1;
		struct meta m;

		if (op->kind != OP_META || !S_ISDIR(op->to->mode))
			continue;
		fd = beneath_open(t->project->fd, op->path, O_PATH, 0, err);
		if (txn_is_gone(fd))
			continue;
		if (fd < 0)
			return fd;
		if (meta_get(fd, "", &m) < 0)
			return fail_errno(err, "stat %s", text_quote(op->path));
		if (m.ino == op->old_ino && txn_is_shut_dir(&m) &&
		    txn_own_mode(op, m.mode) &&
		    fd_chmod(fd, m.mode | OWNER_WX) < 0)
			return fail_errno(err, "open directory %s",
					  text_quote(op->path));
	}
	return 0;
}

char *txn_colliding_path(const struct txn *t, const char *path)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_free char *parent = path_parent(path);
	const char *name = path_name(path);
	struct err ignored;
	struct meta m;
	auto_close int dir = beneath_open(t->project->fd, parent,
					  O_RDONLY | O_DIRECTORY, 0, &ignored);
	size_t i;

	if (dir < 0 || meta_get(dir, name, &m) < 0 ||
	    dirlist_read(dir, &list, &ignored) < 0 || dirlist_find(&list, name))
		return NULL;
	for (i = 0; i < list.count; i++)
		if (list.items[i].ino == m.ino)
			return path_join(parent, list.items[i].name);
	return NULL;
}

int txn_fail_exists(const struct txn *t, const char *path, struct err *err)
{
	auto_free char *collision = txn_colliding_path(t, path);

	if (!collision)
		return fail(err, EBUSY,
			    "has changed during the command: try again");
	return fail(err, EEXIST,
		    "cannot be created: for this file system it is the same "
		    "name as %s; exclude one of them",
		    text_quote(collision));
}
