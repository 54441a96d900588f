#include "snapshot/maintain/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "snapshot/store/store_dir.h"

#define TRASH_DIRS_MAX 10000

int trash_open(struct store *s, struct err *err)
{
	auto_close int fd =
		openat(store_get_dir(s)->fd, "trash",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "open the store's trash/");
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return TAKE_FD(fd);
	if (errno != EWOULDBLOCK)
		return fail_errno(err, "lock the store's trash/");
	return fail(err, EBUSY, "another prune, undelete or repair is at work");
}

/* --- exclusive use --- */

/* Names the other processes with a lock on the file, from /proc/locks; "" when
 * unknown. */
static void find_store_holders(int lock_fd, struct buf *to)
{
	AUTO(buf) struct buf locks = {0};
	struct err ignored;
	struct stat st;
	char *line, *rest;

	if (fstat(lock_fd, &st) < 0 ||
	    fd_slurp_at(AT_FDCWD, "/proc/locks", 1u << 20, &locks, &ignored) <
		    0)
		return;
	(void)buf_text(&locks);
	for (line = strtok_r((char *)locks.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		AUTO(buf) struct buf comm = {0};
		unsigned long long inode;
		char path[48];
		int pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %d %*x:%*x:%llu", &pid,
			   &inode) != 2 ||
		    inode != st.st_ino || pid <= 0 || pid == getpid())
			continue;
		(void)snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		(void)fd_slurp_at(AT_FDCWD, path, 64, &comm, &ignored);
		if (comm.len && comm.data[comm.len - 1] == '\n')
			comm.len--;
		buf_printf(to, "%sprocess %d", to->len ? ", " : "", pid);
		if (comm.len)
			buf_printf(to, " (%s)", buf_text(&comm));
	}
}

int trash_exclusive(struct store *s, void (*busy)(void *arg, const char *who),
		    void *arg, struct err *err)
{
	AUTO(buf) struct buf who = {0};
	int fd = store_get_dir(s)->lock_fd, got;

	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return fail_errno(err, "lock the store");
	find_store_holders(fd, &who);
	if (!who.len)
		buf_add_text(&who, "another guard");
	if (!busy)
		return fail(err, EBUSY, "the store is in use by %s",
			    buf_text(&who));
	busy(arg, buf_text(&who));
	do {
		got = flock(fd, LOCK_EX);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? fail_errno(err, "lock the store") : 0;
}

/* --- moving --- */

int trash_make(int trash_fd, const char *word, struct timestamp now,
	       struct err *err)
{
	int n, fd;

	for (n = 1; n < TRASH_DIRS_MAX; n++) {
		auto_free char *name =
			n == 1 ? mem_printf("%" PRId64 "-%s", now.sec, word)
			       : mem_printf("%" PRId64 "-%s-%d", now.sec, word,
					    n);

		if (mkdirat(trash_fd, name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return fail_errno(err, "make a folder in the trash");
		}
		fd = openat(trash_fd, name,
			    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			return fail_errno(err, "open a folder of the trash");
		if (atomic_sync_dir(trash_fd, err) == 0)
			return fd;
		(void)close(fd);
		return -err->num;
	}
	return fail(err, EEXIST, "no free name in the trash");
}

static int move_trash_name(int from_fd, int to_fd, const char *name,
			   struct err *err)
{
	int got = renameat2(from_fd, name, to_fd, name, RENAME_NOREPLACE);
	struct stat st;

	/* The file system does not support RENAME_NOREPLACE. */
	if (got < 0 && (errno == EINVAL || errno == ENOSYS)) {
		if (fstatat(to_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			return fail(err, EEXIST, "move %s: it is there already",
				    text_quote(name));
		got = renameat(from_fd, name, to_fd, name);
	}
	return got < 0 ? fail_errno(err, "move %s", text_quote(name)) : 0;
}

int trash_move(int from_fd, int to_fd, char *const *names, size_t count,
	       struct err *err)
{
	size_t i;

	if (!count)
		return 0;
	for (i = 0; i < count; i++) {
		if (move_trash_name(from_fd, to_fd, names[i], err) < 0)
			return -err->num;
	}
	/* The target is synced first: after a power cut between both syncs the
	 * file may be in both directories, but never in none. */
	if (atomic_sync_dir(to_fd, err) < 0 ||
	    atomic_sync_dir(from_fd, err) < 0)
		return -err->num;
	return 0;
}

/* The time in a name of the form time "-" word [ "-" number ]; -1: another
 * name. */
static int64_t trash_dir_time(const char *name)
{
	size_t len = strspn(name, "0123456789"), word;

	if (len < 1 || len > 11 || name[len] != '-')
		return -1;
	word = strspn(name + len + 1, "abcdefghijklmnopqrstuvwxyz");
	if (!word)
		return -1;
	name += len + 1 + word;
	if (*name == '-')
		name += 1 + strspn(name + 1, "0123456789");
	return *name ? -1 : strtoll(name - len - 1 - word, NULL, 10);
}

/* Lists the directories of the trash, oldest first. */
static int list_trash_dirs(int trash_fd, struct dirlist *ret, struct err *err)
{
	size_t i, kept = 0;

	if (dirlist_read(trash_fd, ret, err) < 0)
		return -err->num;
	for (i = 0; i < ret->count; i++) {
		if (trash_dir_time(ret->items[i].name) >= 0)
			ret->items[kept++] = ret->items[i];
	}
	ret->count = kept;
	return 0;
}

static int remove_trash_remains(int trash_fd, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(trash_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++)
		if (dirtree_is_remains(list.items[i].name) &&
		    dirtree_remove(trash_fd, list.items[i].name, err) < 0)
			return err_context(err, "empty the trash");
	return 0;
}

int trash_purge(int trash_fd, int64_t max_age, struct timestamp now,
		struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (remove_trash_remains(trash_fd, err) < 0 ||
	    list_trash_dirs(trash_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		int64_t when;

		for (when = 0; *name >= '0' && *name <= '9'; name++)
			when = when * 10 + (*name - '0');
		if (now.sec - when <= max_age)
			continue;
		if (dirtree_remove_aside(trash_fd, list.items[i].name, err) < 0)
			return err_context(err, "empty the trash");
	}
	return 0;
}

int trash_open_dirs(int trash_fd, int **ret, size_t *ret_count, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	int *fds;
	size_t i;

	if (list_trash_dirs(trash_fd, &list, err) < 0)
		return -err->num;
	fds = mem_resize(NULL, list.count + 1, sizeof(*fds));
	for (i = 0; i < list.count; i++) {
		fds[i] =
			openat(trash_fd, list.items[i].name,
			       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fds[i] >= 0)
			continue;
		(void)fail_errno(err, "open %s in the trash",
				 text_quote(list.items[i].name));
		while (i-- > 0)
			(void)close(fds[i]);
		free(fds);
		return -err->num;
	}
	*ret = fds;
	*ret_count = list.count;
	return 0;
}

/* --- content --- */

void trash_list_free(struct trash_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		snapshot_free(&list->items[i].snapshot);
		free(list->items[i].dir);
	}
	free(list->items);
	*list = (struct trash_list){0};
}

static int list_trash_dir(int trash_fd, const char *dir, struct trash_list *to,
			  struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = openat(
		trash_fd, dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t i;

	if (fd < 0)
		return errno == ENOENT ? 0
				       : fail_errno(err, "open %s in the trash",
						    text_quote(dir));
	if (dirlist_read(fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		uint64_t seq = catalog_file_seq(list.items[i].name);
		struct trash_item item = {.since.sec = trash_dir_time(dir)};
		struct err cause;

		if (!seq ||
		    catalog_load_from(fd, seq, &item.snapshot, &cause) < 0)
			continue;
		item.dir = mem_strdup(dir);
		GROW(to->items, to->count, to->capacity);
		to->items[to->count++] = item;
	}
	return 0;
}

static int compare_trash_seqs(const void *pa, const void *pb)
{
	const struct trash_item *a = pa, *b = pb;

	if (a->snapshot.seq != b->snapshot.seq)
		return a->snapshot.seq < b->snapshot.seq ? -1 : 1;
	return a->since.sec < b->since.sec ? -1 : a->since.sec > b->since.sec;
}

int trash_snapshots(struct store *s, struct trash_list *ret, struct err *err)
{
	AUTO(trash_list) struct trash_list list = {0};
	AUTO(dirlist) struct dirlist dirs = {0};
	auto_close int trash_fd =
		openat(store_get_dir(s)->fd, "trash",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t i;

	if (trash_fd < 0)
		return fail_errno(err, "open the store's trash/");
	if (list_trash_dirs(trash_fd, &dirs, err) < 0)
		return -err->num;
	for (i = 0; i < dirs.count; i++) {
		if (list_trash_dir(trash_fd, dirs.items[i].name, &list, err) <
		    0)
			return -err->num;
	}
	if (list.count)
		qsort(list.items, list.count, sizeof(*list.items),
		      compare_trash_seqs);
	*ret = list;
	list = (struct trash_list){0};
	return 0;
}
