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
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/maintain/missing.h"

#define TRASH_DIRS_MAX 10000

int trash_open(struct store *s, struct err *err)
{
	auto_close int fd = store_open_subdir(s, "trash", err);

	if (fd < 0)
		return fd;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return TAKE_FD(fd);
	if (errno != EWOULDBLOCK)
		return fail_errno(err, "lock the store's trash/");
	return fail(err, EBUSY,
		    "another prune, undelete or repair is running: try again "
		    "when it has ended");
}

/* --- exclusive use --- */

int trash_exclusive(struct store *s, void (*busy)(void *arg, const char *who),
		    void *arg, struct err *err)
{
	int fd = store_get_dir(s)->lock_fd, got;
	auto_free char *who = NULL;

	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return fail_errno(err, "lock the store");
	who = lock_holders(fd);
	if (!busy)
		return fail(err, EBUSY, "the store is in use by %s", who);
	busy(arg, who);
	do {
		got = flock(fd, LOCK_EX);
	} while (got < 0 && errno == EINTR);
	return got < 0 ? fail_errno(err, "lock the store") : 0;
}

/* --- moving --- */

/* Creates a directory in the trash, durably; returns a descriptor or a negative
 * errno. */
static int make_trash_dir(int trash_fd, const char *word, struct timestamp now,
			  struct err *err)
{
	auto_close int fd = -1;
	int n;

	for (n = 1; n < TRASH_DIRS_MAX; n++) {
		auto_free char *name =
			n == 1 ? mem_printf("%" PRId64 "-%s", now.sec, word)
			       : mem_printf("%" PRId64 "-%s-%d", now.sec, word,
					    n);

		if (mkdirat(trash_fd, name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			return fail_errno(err,
					  "create a directory in the trash");
		}
		fd = fd_open_dir(trash_fd, name);
		if (fd < 0)
			return fail_errno(err, "open a directory of the trash");
		return atomic_sync_dir(trash_fd, err) < 0 ? -err->num
							  : TAKE_FD(fd);
	}
	return fail(err, EEXIST, "no free name in the trash");
}

/* Renames files from one directory of the store to another; durable on
 * return. The caller has the commit lock. -EEXIST: the target has a file of
 * that name. */
static int move_trash_files(int from_fd, int to_fd, const struct names *names,
			    struct err *err)
{
	struct stat st;
	size_t i;

	if (!names->count)
		return 0;
	for (i = 0; i < names->count; i++) {
		const char *name = names->items[i];
		int got =
			renameat2(from_fd, name, to_fd, name, RENAME_NOREPLACE);

		/* The file system does not support RENAME_NOREPLACE. */
		if (got < 0 && (errno == EINVAL || errno == ENOSYS)) {
			if (fstatat(to_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
				return fail(err, EEXIST,
					    "move %s: the destination exists",
					    text_quote(name));
			got = renameat(from_fd, name, to_fd, name);
		}
		if (got < 0)
			return fail_errno(err, "move %s", text_quote(name));
	}
	/* The target is synced first: after a power cut between both syncs the
	 * file may be in both directories, but never in none. */
	if (atomic_sync_dir(to_fd, err) < 0 ||
	    atomic_sync_dir(from_fd, err) < 0)
		return -err->num;
	return 0;
}

static void add_snapshot_name(struct names *to, uint64_t seq)
{
	char name[32];

	catalog_file_name(name, seq);
	names_add(to, name);
}

int trash_put(struct store *s, int trash_fd, const char *word,
	      struct timestamp now, const uint64_t *seqs, size_t count,
	      const struct names *packs, struct err *err)
{
	AUTO(names) struct names snaps = {0};
	auto_close int to_fd = -1, snaps_fd = -1;
	size_t i;

	if (!count && !packs->count)
		return 0;
	for (i = 0; i < count; i++)
		add_snapshot_name(&snaps, seqs[i]);
	snaps_fd = store_open_subdir(s, "snaps", err);
	if (snaps_fd < 0)
		return snaps_fd;
	to_fd = make_trash_dir(trash_fd, word, now, err);
	if (to_fd < 0 ||
	    (count && tombstones_set(s, seqs, count, true, err) < 0) ||
	    move_trash_files(snaps_fd, to_fd, &snaps, err) < 0 ||
	    move_trash_files(store_get_dir(s)->packs_fd, to_fd, packs, err) < 0)
		return -err->num;
	return 0;
}

/* The time in a name of the form time "-" word [ "-" number ]; -1: another
 * name. */
static int64_t trash_dir_time(const char *name)
{
	size_t len = strspn(name, "0123456789"), word;
	const char *at = name + len + 1;

	if (len < 1 || len > 11 || name[len] != '-')
		return -1;
	word = strspn(at, "abcdefghijklmnopqrstuvwxyz");
	at += word;
	if (word && *at == '-')
		at += 1 + strspn(at + 1, "0123456789");
	return word && !*at ? strtoll(name, NULL, 10) : -1;
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

int trash_purge(int trash_fd, int64_t max_age, struct timestamp now,
		struct err *err)
{
	AUTO(dirlist) struct dirlist all = {0}, list = {0};
	size_t i;

	if (dirlist_read(trash_fd, &all, err) < 0)
		return -err->num;
	for (i = 0; i < all.count; i++)
		if (dirtree_is_remains(all.items[i].name) &&
		    dirtree_remove(trash_fd, all.items[i].name, err) < 0)
			return err_context(err, "empty the trash");
	if (list_trash_dirs(trash_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;

		if (now.sec - trash_dir_time(name) > max_age &&
		    dirtree_remove_aside(trash_fd, name, err) < 0)
			return err_context(err, "empty the trash");
	}
	return 0;
}

/* --- content --- */

void trash_list_free(struct trash_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		snapshot_free(&list->items[i].snapshot);
	VEC_FREE(list);
}

static int list_trash_dir(int trash_fd, const char *dir, struct trash_list *to,
			  struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = fd_open_dir(trash_fd, dir);
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
		*VEC_ADD(to) = item;
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
	auto_close int trash_fd = store_open_subdir(s, "trash", err);
	size_t i;

	if (trash_fd < 0 || list_trash_dirs(trash_fd, &dirs, err) < 0)
		return -err->num;
	for (i = 0; i < dirs.count; i++) {
		if (list_trash_dir(trash_fd, dirs.items[i].name, &list, err) <
		    0)
			return -err->num;
	}
	VEC_SORT(&list, compare_trash_seqs);
	*ret = TAKE(list);
	return 0;
}

/* --- undelete --- */

struct trash_snapshot {
	struct snapshot snapshot;
	size_t dir; /* index in undelete_job.dirs */
};

struct undelete_job {
	struct store *store;
	VEC(int) dirs; /* directories of the trash, oldest first */
	VEC(struct trash_snapshot) snapshots;
	struct inventory inv; /* directory number dirs.count is packs/ */
	bool *chosen_packs; /* for each pack: whether to bring it back */
};

static void undelete_job_free(struct undelete_job *u)
{
	size_t i;

	for (i = 0; i < u->dirs.count; i++)
		(void)close(u->dirs.items[i]);
	for (i = 0; i < u->snapshots.count; i++)
		snapshot_free(&u->snapshots.items[i].snapshot);
	VEC_FREE(&u->dirs);
	VEC_FREE(&u->snapshots);
	free(u->chosen_packs);
	inventory_free(&u->inv);
}

/* Loads the snapshot from the newest directory that has a readable file of
 * it, once. */
static int find_in_trash(struct undelete_job *u, uint64_t seq, struct err *err)
{
	struct trash_snapshot found = {0};
	size_t i;
	int got = 0;

	for (i = 0; i < u->snapshots.count; i++)
		if (u->snapshots.items[i].snapshot.seq == seq)
			return 0;
	for (found.dir = u->dirs.count; found.dir-- > 0;) {
		int now = catalog_load_from(u->dirs.items[found.dir], seq,
					    &found.snapshot, err);

		if (now == 0) {
			*VEC_ADD(&u->snapshots) = found;
			return 0;
		}
		if (now != -ENOENT)
			got = now;
	}
	return got ? got
		   : fail(err, ENOENT,
			  "no such snapshot in the trash: %" PRIu64, seq);
}

static int fail_lost_path(void *arg, const char *path, const struct entry *e,
			  const char *why, struct err *err)
{
	const struct snapshot *s = arg;

	(void)e;
	return fail(err, EBADMSG,
		    "snapshot %" PRIu64
		    " cannot be restored completely: %s: %s",
		    s->seq, text_quote(*path ? path : "."), why);
}

/* Whether the copy will be in packs/. */
static bool is_copy_chosen(const struct undelete_job *u,
			   const struct copy *copy)
{
	return inventory_pack(&u->inv, copy)->dir == u->dirs.count ||
	       u->chosen_packs[copy->pack - 1];
}

/*
 * Two packs in packs/ must never have different bytes under one name. While the
 * snapshot was in the trash, its object's name may have been given to other
 * bytes (a forged collision): the object in packs/ need not be the snapshot's.
 * all: compares the copies in the trash, too.
 */
static int check_object_clash(struct undelete_job *u, const struct oid *id,
			      bool all, struct err *err)
{
	const struct copy *copy = inventory_find(&u->inv, id);
	AUTO(buf) struct buf a = {0}, b = {0};
	struct err ignored;

	if (!inventory_next(&u->inv, id, copy))
		return 0;
	for (; copy; copy = inventory_next(&u->inv, id, copy)) {
		buf_clear(&b);
		if ((!all && !is_copy_chosen(u, copy)) ||
		    inventory_read_copy(&u->inv, copy, a.len ? &b : &a,
					&ignored) < 0)
			continue;
		if (b.len && memcmp(a.data, b.data, a.len) != 0)
			return fail(err, EEXIST,
				    "different bytes with the same hash were "
				    "stored since: it cannot be restored");
	}
	return 0;
}

/* Chooses the pack of the first readable copy, unless packs/ or a chosen pack
 * has a good copy. */
static int choose_readable_copy(struct undelete_job *u, const struct oid *id,
				struct err *err)
{
	const struct copy *first = inventory_find(&u->inv, id), *copy;

	for (copy = first; copy; copy = inventory_next(&u->inv, id, copy))
		if (is_copy_chosen(u, copy) &&
		    !(*inventory_flags(&u->inv, copy) & COPY_BAD))
			return 0;
	for (copy = first; copy; copy = inventory_next(&u->inv, id, copy)) {
		AUTO(buf) struct buf bytes = {0};

		if (inventory_read_copy(&u->inv, copy, &bytes, err) < 0)
			continue;
		u->chosen_packs[copy->pack - 1] = true;
		return 0;
	}
	return fail(err, EBADMSG, "an object in the trash is damaged");
}

/* Chooses packs of the trash for all reached objects without a copy elsewhere;
 * then compares all objects of the chosen packs. */
static int choose_trash_packs(struct undelete_job *u, bool chosen,
			      struct err *err)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < u->inv.count; i++) {
		const struct inventory_pack *p = &u->inv.packs[i];

		if (!p->pack || (chosen && !u->chosen_packs[i]))
			continue;
		for (k = 0; k < pack_count(p->pack); k++) {
			struct pack_entry e;

			if (!pack_get(p->pack, k, &e) ||
			    (!chosen && !(p->flags[k] & COPY_REACHED)))
				continue;
			if (check_object_clash(u, &e.id, !chosen, err) < 0 ||
			    (!chosen &&
			     choose_readable_copy(u, &e.id, err) < 0))
				return -err->num;
		}
	}
	return 0;
}

/* Called with the commit lock. Packs come first: a snapshot is never in snaps/
 * without its packs. */
static int move_out_of_trash(struct undelete_job *u, struct err *err)
{
	auto_close int snaps_fd = store_open_subdir(u->store, "snaps", err);
	auto_free uint64_t *seqs =
		mem_resize(NULL, u->snapshots.count + 1, sizeof(*seqs));
	size_t i;

	if (snaps_fd < 0)
		return snaps_fd;
	for (i = 0; i < u->inv.count; i++) {
		struct inventory_pack *p = &u->inv.packs[i];
		struct names name = {.items = &p->name, .count = 1};

		if (u->chosen_packs[i] &&
		    move_trash_files(u->dirs.items[p->dir],
				     store_get_dir(u->store)->packs_fd, &name,
				     err) < 0)
			return -err->num;
	}
	catalog_drop_changed_paths(u->store);
	for (i = 0; i < u->snapshots.count; i++) {
		const struct trash_snapshot *w = &u->snapshots.items[i];
		AUTO(names) struct names name = {0};

		seqs[i] = w->snapshot.seq;
		add_snapshot_name(&name, seqs[i]);
		if (move_trash_files(u->dirs.items[w->dir], snaps_fd, &name,
				     err) < 0)
			return -err->num;
	}
	return tombstones_set(u->store, seqs, u->snapshots.count, false, err);
}

int trash_undelete(struct store *s, const uint64_t *seqs, size_t count,
		   struct err *err)
{
	AUTO(undelete_job) struct undelete_job u = {.store = s};
	AUTO(dirlist) struct dirlist dirs = {0};
	auto_close int trash_fd = trash_open(s, err);
	size_t i;
	int lock, got;

	if (trash_fd < 0 || list_trash_dirs(trash_fd, &dirs, err) < 0)
		return -err->num;
	for (i = 0; i < dirs.count; i++) {
		int fd = fd_open_dir(trash_fd, dirs.items[i].name);

		if (fd < 0)
			return fail_errno(err, "open %s in the trash",
					  text_quote(dirs.items[i].name));
		*VEC_ADD(&u.dirs) = fd;
	}
	for (i = 0; i < count; i++)
		if (find_in_trash(&u, seqs[i], err) < 0)
			return -err->num;
	if (inventory_load_dirs(s, u.dirs.items, u.dirs.count, &u.inv, err) < 0)
		return -err->num;
	u.chosen_packs =
		mem_zalloc((u.inv.count + 1) * sizeof(*u.chosen_packs));
	for (i = 0; i < u.snapshots.count; i++) {
		struct snapshot *snap = &u.snapshots.items[i].snapshot;

		if (reach_check(&u.inv, &snap->root, fail_lost_path, snap,
				err) < 0)
			return -err->num;
	}
	if (choose_trash_packs(&u, false, err) < 0 ||
	    choose_trash_packs(&u, true, err) < 0)
		return -err->num;
	lock = store_commit_begin(s, err);
	if (lock < 0)
		return lock;
	got = move_out_of_trash(&u, err);
	store_commit_end(s, lock);
	return got;
}
