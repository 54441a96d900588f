#include "snapshot/maintain/undelete.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/tombstones.h"

struct trash_snapshot {
	uint64_t seq;
	size_t dir; /* index in undelete_job.dirs */
	struct snapshot snapshot;
};

struct undelete_job {
	struct store *store;
	int trash_fd;
	int *dirs; /* directories of the trash, oldest first */
	size_t dir_count;
	struct trash_snapshot *trash_snapshot;
	size_t count;
	struct inventory inv; /* directory number dir_count is packs/ */
	bool *chosen_packs; /* for each pack: whether to bring it back */
};

static void undelete_job_free(struct undelete_job *u)
{
	size_t i;

	for (i = 0; i < u->dir_count; i++)
		(void)close(u->dirs[i]);
	for (i = 0; i < u->count; i++)
		snapshot_free(&u->trash_snapshot[i].snapshot);
	free(u->dirs);
	free(u->trash_snapshot);
	free(u->chosen_packs);
	inventory_free(&u->inv);
	if (u->trash_fd >= 0)
		(void)close(u->trash_fd);
}

/* Loads the snapshot from the newest directory that has a readable file of
 * it. */
static int find_in_trash(struct undelete_job *u, struct trash_snapshot *w,
			 struct err *err)
{
	size_t i;
	int got = 0;

	for (i = u->dir_count; i-- > 0;) {
		int now = catalog_load_from(u->dirs[i], w->seq, &w->snapshot,
					    err);

		w->dir = i;
		if (now == 0)
			return 0;
		if (now != -ENOENT)
			got = now;
	}
	return got ? got
		   : fail(err, ENOENT,
			  "snapshot %" PRIu64 " is not in the trash", w->seq);
}

static int fail_lost_path(void *arg, const char *path, const struct entry *e,
			  const char *why, struct err *err)
{
	const struct trash_snapshot *w = arg;

	(void)e;
	return fail(err, EBADMSG,
		    "snapshot %" PRIu64 " cannot be brought back whole: %s: "
		    "%s",
		    w->seq, text_quote(*path ? path : "."), why);
}

/* Whether packs/ and the packs chosen so far have a good copy. */
static bool is_copy_available(const struct undelete_job *u,
			      const struct oid *id)
{
	const struct copy *copy = inventory_find(&u->inv, id);

	for (; copy; copy = inventory_next(&u->inv, id, copy)) {
		const struct inventory_pack *p = inventory_pack(&u->inv, copy);

		if ((p->dir == u->dir_count ||
		     u->chosen_packs[copy->pack - 1]) &&
		    !(*inventory_flags(&u->inv, copy) & COPY_BAD))
			return true;
	}
	return false;
}

static int fail_object_clash(struct err *err)
{
	return fail(err, EEXIST,
		    "other bytes of the same hash have been stored since: it "
		    "cannot be brought back");
}

/*
 * While the snapshot was in the trash, its object's name may have been given to
 * other bytes (a forged collision): the object in packs/ need not be the
 * snapshot's.
 */
static int check_same_bytes(struct undelete_job *u, const struct oid *id,
			    struct err *err)
{
	const struct copy *copy = inventory_find(&u->inv, id);
	AUTO(buf) struct buf a = {0}, b = {0};
	bool first = true;
	struct err ignored;

	if (!inventory_next(&u->inv, id, copy))
		return 0;
	for (; copy; copy = inventory_next(&u->inv, id, copy)) {
		buf_clear(&b);
		if (inventory_read_copy(&u->inv, copy, first ? &a : &b,
					&ignored) < 0)
			continue;
		if (!first && a.len && memcmp(a.data, b.data, a.len) != 0)
			return fail_object_clash(err);
		first = false;
	}
	return 0;
}

static int choose_readable_copy(struct undelete_job *u, const struct oid *id,
				struct err *err)
{
	const struct copy *copy = inventory_find(&u->inv, id);

	for (; copy; copy = inventory_next(&u->inv, id, copy)) {
		AUTO(buf) struct buf bytes = {0};

		if (inventory_read_copy(&u->inv, copy, &bytes, err) < 0)
			continue;
		u->chosen_packs[copy->pack - 1] = true;
		return 0;
	}
	return fail(err, EBADMSG, "an object in the trash is damaged");
}

/* Chooses packs of the trash for all reached objects without a copy
 * elsewhere. */
static int choose_trash_packs(struct undelete_job *u, struct err *err)
{
	size_t i;
	uint32_t k;

	u->chosen_packs =
		mem_zalloc((u->inv.count + 1) * sizeof(*u->chosen_packs));
	for (i = 0; i < u->inv.count; i++) {
		const struct inventory_pack *p = &u->inv.packs[i];

		for (k = 0; p->pack && k < pack_count(p->pack); k++) {
			struct pack_entry e;

			if (!(p->flags[k] & COPY_REACHED) ||
			    !pack_get(p->pack, k, &e))
				continue;
			if (check_same_bytes(u, &e.id, err) < 0 ||
			    (!is_copy_available(u, &e.id) &&
			     choose_readable_copy(u, &e.id, err) < 0))
				return -err->num;
		}
	}
	return 0;
}

/* Two packs in packs/ must never have different bytes under one name. */
static int check_object_clash(struct undelete_job *u, const struct oid *id,
			      const struct copy *mine, struct err *err)
{
	const struct copy *copy = inventory_find(&u->inv, id);
	AUTO(buf) struct buf a = {0}, b = {0};
	struct err ignored;

	for (; copy; copy = inventory_next(&u->inv, id, copy)) {
		if (inventory_pack(&u->inv, copy)->dir != u->dir_count &&
		    !u->chosen_packs[copy->pack - 1])
			continue;
		if (copy->pack == mine->pack && copy->entry == mine->entry)
			continue;
		buf_clear(&b);
		if ((!a.len &&
		     inventory_read_copy(&u->inv, mine, &a, &ignored) < 0) ||
		    inventory_read_copy(&u->inv, copy, &b, &ignored) < 0)
			continue;
		if (a.len != b.len || (a.len && memcmp(a.data, b.data, a.len)))
			return fail_object_clash(err);
	}
	return 0;
}

static int check_object_clashes(struct undelete_job *u, struct err *err)
{
	size_t i;
	uint32_t k;

	for (i = 0; i < u->inv.count; i++) {
		const struct inventory_pack *p = &u->inv.packs[i];

		for (k = 0; u->chosen_packs[i] && k < pack_count(p->pack);
		     k++) {
			struct copy copy = {(uint32_t)i + 1, k};
			struct pack_entry e;

			if (!pack_get(p->pack, k, &e))
				continue;
			if (check_object_clash(u, &e.id, &copy, err) < 0)
				return -err->num;
		}
	}
	return 0;
}

/* Called with the commit lock. Packs come first: a snapshot is never in snaps/
 * without its packs. */
static int move_out_of_trash(struct undelete_job *u, struct err *err)
{
	auto_close int snaps_fd =
		openat(store_get_dir(u->store)->fd, "snaps",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	size_t i;

	if (snaps_fd < 0)
		return fail_errno(err, "open the store's snaps/");
	for (i = 0; i < u->inv.count; i++) {
		const struct inventory_pack *p = &u->inv.packs[i];

		if (u->chosen_packs[i] &&
		    trash_move(u->dirs[p->dir],
			       store_get_dir(u->store)->packs_fd, &p->name, 1,
			       err) < 0)
			return -err->num;
	}
	for (i = 0; i < u->count; i++) {
		char name[32], *names[1] = {name};

		catalog_file_name(name, u->trash_snapshot[i].seq);
		if (trash_move(u->dirs[u->trash_snapshot[i].dir], snaps_fd,
			       names, 1, err) < 0)
			return -err->num;
	}
	return 0;
}

static int remove_undelete_tombstones(struct undelete_job *u, struct err *err)
{
	auto_free uint64_t *seqs =
		mem_resize(NULL, u->count + 1, sizeof(*seqs));
	size_t i;

	for (i = 0; i < u->count; i++)
		seqs[i] = u->trash_snapshot[i].seq;
	return tombstones_remove(u->store, seqs, u->count, err);
}

static int undelete_job(struct undelete_job *u, struct err *err)
{
	size_t i;
	int lock, got;

	u->trash_fd = trash_open(u->store, err);
	if (u->trash_fd < 0 ||
	    trash_open_dirs(u->trash_fd, &u->dirs, &u->dir_count, err) < 0)
		return -err->num;
	for (i = 0; i < u->count; i++) {
		if (find_in_trash(u, &u->trash_snapshot[i], err) < 0)
			return -err->num;
	}
	if (inventory_load_dirs(u->store, u->dirs, u->dir_count, &u->inv, err) <
	    0)
		return -err->num;
	for (i = 0; i < u->count; i++) {
		const struct entry *root = &u->trash_snapshot[i].snapshot.root;

		if (reach_mark(&u->inv, root) &&
		    reach_each_lost(&u->inv, root, fail_lost_path,
				    &u->trash_snapshot[i], err) < 0)
			return -err->num;
	}
	if (choose_trash_packs(u, err) < 0 || check_object_clashes(u, err) < 0)
		return -err->num;
	lock = store_commit_begin(u->store, err);
	if (lock < 0)
		return lock;
	got = move_out_of_trash(u, err);
	if (got == 0)
		got = remove_undelete_tombstones(u, err);
	store_commit_end(u->store, lock);
	return got;
}

int undelete_snapshots(struct store *s, const uint64_t *seqs, size_t count,
		       struct err *err)
{
	struct undelete_job u = {.store = s, .trash_fd = -1};
	size_t i, k;
	int got;

	u.trash_snapshot = mem_zalloc((count + 1) * sizeof(*u.trash_snapshot));
	for (i = 0; i < count; i++) {
		for (k = 0; k < u.count && u.trash_snapshot[k].seq != seqs[i];
		     k++)
			;
		u.trash_snapshot[k].seq = seqs[i];
		u.count += k == u.count;
	}
	got = undelete_job(&u, err);
	undelete_job_free(&u);
	return got;
}
