#include "snapshot/maintain/repair.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/vec.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/store_index.h"
#include "snapshot/walk/take.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/store/inventory.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/maintain/missing.h"

struct repair_job {
	const struct repair_options *options;
	struct repair_result result;
	struct inventory inv;
	bool *damaged_packs; /* for each pack: whether to replace it */
	/* snapshots with neither a file nor a tombstone */
	VEC(uint64_t) missing;
};

static void warn_repair(struct repair_job *r, const char *text)
{
	if (r->options->warn)
		r->options->warn(r->options->arg, text);
}

/* --- packs --- */

/* Whether this is the first intact copy of an object whose intact copies are
 * all in damaged packs. */
static bool is_copy_worth_saving(void *arg, const struct oid *id,
				 const struct copy *copy)
{
	struct repair_job *r = arg;
	const struct copy *at = inventory_find(&r->inv, id);
	const struct copy *first = NULL;

	for (; at; at = inventory_next(&r->inv, id, at)) {
		if (*inventory_flags(&r->inv, at) & COPY_BAD)
			continue;
		if (!r->damaged_packs[at->pack - 1])
			return false;
		if (!first)
			first = at;
	}
	if (!first || first->pack != copy->pack || first->entry != copy->entry)
		return false;
	r->result.objects++;
	return true;
}

/* Copies the intact objects of damaged packs into new packs. */
static int copy_intact_objects(struct store *s, struct repair_job *r,
			       struct err *err)
{
	AUTO(buf) struct buf buf = {0};
	auto_free size_t *packs = NULL;
	size_t i, count = 0;
	uint64_t bytes;
	uint32_t k;

	if (inventory_load(s, &r->inv, err) < 0)
		return -err->num;
	packs = mem_resize(NULL, r->inv.count + 1, sizeof(*packs));
	r->damaged_packs =
		mem_zalloc((r->inv.count + 1) * sizeof(*r->damaged_packs));
	for (i = 0; i < r->inv.count; i++) {
		const struct inventory_pack *p = &r->inv.packs[i];

		/* A pack of a newer guard is not damaged. */
		if (p->fault_num == EPROTO) {
			warn_repair(r, p->fault);
			continue;
		}
		/* Whole packs are read: any part may be damaged. */
		r->damaged_packs[i] = p->fault != NULL;
		for (k = 0; p->pack && k < pack_count(p->pack); k++) {
			struct copy copy = {(uint32_t)i + 1, k};

			buf_clear(&buf);
			if (inventory_read_copy(&r->inv, &copy, &buf, err) == 0)
				continue;
			if (err_is_exhaustion(err->num))
				return -err->num;
			r->damaged_packs[i] = true;
		}
		if (r->damaged_packs[i] && p->pack)
			packs[count++] = i;
	}
	return inventory_repack(s, &r->inv, packs, count, is_copy_worth_saving,
				r, &bytes, err);
}

/* --- damaged files --- */

/* Moves the damaged snapshots and packs. Called with the commit lock and
 * exclusive use of the store. */
static int move_damaged_to_trash(struct store *s, struct repair_job *r,
				 int trash_fd, struct err *err)
{
	AUTO(names) struct names packs = {0};
	auto_free uint64_t *seqs = NULL;
	size_t count, i, found = 0;

	catalog_drop_changed_paths(s);
	if (catalog_list(s, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot snap = {0};
		struct err cause;
		int got = catalog_load(s, seqs[i], &snap, &cause);

		if (got < 0)
			warn_repair(r, cause.text);
		if (got == -EBADMSG)
			seqs[found++] = seqs[i];
	}
	for (i = 0; i < r->inv.count; i++)
		if (r->damaged_packs[i])
			names_add(&packs, r->inv.packs[i].name);
	if (trash_put(s, trash_fd, "repair", r->options->now, seqs, found,
		      &packs, err) < 0)
		return -err->num;
	r->result.snapshots = found;
	r->result.packs = packs.count;
	return 0;
}

static int replace_damaged(const char *dir, struct repair_job *r,
			   struct err *err)
{
	static const char *const secrets[] = {"secret", "secret.2"};
	AUTO(store) struct store *s = NULL;
	auto_close int trash_fd = -1;
	int got, lock = -1;
	size_t i;

	if (store_open(&s, dir, STORE_WRITE, err) < 0)
		return -err->num;
	trash_fd = trash_open(s, err);
	if (trash_fd < 0 ||
	    trash_exclusive(s, r->options->busy, r->options->arg, err) < 0)
		return -err->num;
	got = copy_intact_objects(s, r, err);
	if (got == 0)
		got = lock = store_commit_begin(s, err);
	for (i = 0; i < 2 && got >= 0; i++) {
		got = store_dir_repair_secret(store_get_dir(s), secrets[i],
					      err);
		r->result.secrets += got > 0;
	}
	if (got >= 0)
		got = move_damaged_to_trash(s, r, trash_fd, err);
	if (lock >= 0)
		store_commit_end(s, lock);
	inventory_free(&r->inv);
	free(TAKE(r->damaged_packs));
	return got;
}

/* --- lost paths --- */

struct lost_path_search {
	struct repair_job *job;
	struct known_missing_list found;
	uint64_t seq;
	bool report; /* the paths stay lost */
};

static int note_lost_path(void *arg, const char *path, const struct entry *e,
			  const char *why, struct err *err)
{
	struct lost_path_search *t = arg;
	const struct repair_options *o = t->job->options;

	(void)e;
	known_missing_add(&t->found, t->seq, path);
	t->job->result.lost += t->report;
	return t->report && o->lost ? o->lost(o->arg, t->seq, path, why, err)
				    : 0;
}

/* Finds the lost paths of all snapshots. roots: gets the directories of these
 * snapshots, or NULL. */
static int find_lost_paths(struct store *s, struct lost_path_search *t,
			   struct names *roots, struct err *err)
{
	AUTO(inventory) struct inventory inv = {0};
	auto_free uint64_t *seqs = NULL;
	size_t count, i, k;

	if (catalog_list(s, &seqs, &count, err) < 0 ||
	    inventory_load(s, &inv, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot snap = {0};
		size_t before = t->found.count;
		struct err cause;

		t->seq = seqs[i];
		if (catalog_load(s, seqs[i], &snap, &cause) < 0) {
			if (!err_is_exhaustion(cause.num))
				continue;
			*err = cause;
			return -err->num;
		}
		if (reach_check(&inv, &snap.root, note_lost_path, t, err) < 0)
			return -err->num;
		/* A partial snapshot is no reason to read its whole root, such
		 * as a home directory. */
		if (roots && t->found.count > before &&
		    !(snap.root.flags & ENTRY_INCOMPLETE)) {
			for (k = 0; k < roots->count; k++)
				if (strcmp(roots->items[k], snap.root_path) ==
				    0)
					break;
			if (k == roots->count)
				names_add(roots, snap.root_path);
		}
	}
	return 0;
}

/* Stores the files that the user still has. */
static int store_roots_again(struct store *s, struct repair_job *r,
			     struct err *err)
{
	AUTO(names) struct names roots = {0};
	struct lost_path_search t = {.job = r};
	size_t i;
	int got = find_lost_paths(s, &t, &roots, err);

	known_missing_list_free(&t.found);
	if (got < 0)
		return got;
	for (i = 0; i < roots.count; i++) {
		struct take_options options = {
			.root_path = roots.items[i],
			.root_fd = -1,
			.reason = "manual",
			.message = "taken by guard repair",
			.skip = r->options->skip,
		};
		struct snapshot snap = {0};
		struct stat st;

		if (stat(roots.items[i], &st) < 0 || !S_ISDIR(st.st_mode))
			continue;
		/* A failure is only a warning: the lost paths must be reported
		 * anyway. */
		if (take_snapshot(s, &options, &snap, err) < 0) {
			warn_repair(r, err->text);
			continue;
		}
		snapshot_free(&snap);
		r->result.roots++;
	}
	return 0;
}

static int report_missing_snapshots(void *arg, uint64_t first, uint64_t last,
				    struct err *err)
{
	struct repair_job *r = arg;
	const struct repair_options *o = r->options;

	for (; first <= last; first++) {
		*VEC_ADD(&r->missing) = first;
		r->result.lost++;
		if (o->lost &&
		    o->lost(o->arg, first, "", "its file is missing", err) < 0)
			return -err->num;
	}
	return 0;
}

static int save_known_missing(struct store *s, struct repair_job *r,
			      struct err *err)
{
	struct lost_path_search t = {.job = r, .report = true};
	AUTO(tombstones) struct tombstones g = {0};
	int got = find_lost_paths(s, &t, NULL, err), lock = -1;
	struct err cause;
	bool damaged = false;

	if (got == 0)
		got = lock = store_commit_begin(s, err);
	if (lock >= 0)
		got = known_missing_save(s, &t.found, err);
	/* Missing snapshots are reported once and then get tombstones, like
	 * pruned ones. */
	if (got == 0) {
		damaged = tombstones_load(s, &g, &cause) < 0;
		if (!damaged)
			got = tombstones_each_missing(
				s, report_missing_snapshots, r, err);
	}
	if (got == 0 && (damaged || r->missing.count))
		got = tombstones_set(s, r->missing.items, r->missing.count,
				     true, err);
	if (lock >= 0)
		store_commit_end(s, lock);
	known_missing_list_free(&t.found);
	return got;
}

int repair_store(const char *dir, const struct repair_options *options,
		 struct repair_result *ret, struct err *err)
{
	struct repair_job r = {.options = options};
	AUTO(store) struct store *s = NULL;
	int got = store_dir_repair_format(dir, err);

	if (got < 0)
		return got;
	r.result.formats = (uint64_t)got;
	if (replace_damaged(dir, &r, err) < 0)
		return -err->num;
	/* The store is opened again: its index must not have the names of
	 * damaged objects. */
	if (store_open(&s, dir, STORE_WRITE, err) < 0 ||
	    inventory_fill_replicas(s, &r.result.again, err) < 0)
		return -err->num;
	store_free(&s);
	if (store_open(&s, dir, STORE_WRITE, err) < 0 ||
	    store_roots_again(s, &r, err) < 0)
		return -err->num;
	store_index_tidy(store_get_dir(s));
	got = save_known_missing(s, &r, err);
	VEC_FREE(&r.missing);
	if (got == 0)
		*ret = r.result;
	return got;
}
