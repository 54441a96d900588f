#include "snapshot/maintain/prune.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/text.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/maintain/missing.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/store_index.h"

/* Bytes of a pack without any object. */
#define PACK_FIXED (HEADER_LEN + FANOUT_LEN + FOOTER_LEN)
/* Up to SMALL_PACKS_MAX packs smaller than this are left alone. */
#define SMALL_PACK ((uint64_t)4 << 20)
#define SMALL_PACKS_MAX 64

enum prune_fate { PRUNE_KEEP, PRUNE_DROP, PRUNE_REPACK };

/* The decision of a prune: the snapshots to remove, the objects that the
 * remaining snapshots need, and the fate of each pack. */
struct prune_decision {
	const struct prune_options *options; /* borrowed */
	struct prune_plan plan;
	struct inventory inv;
	struct known_missing_list lost; /* paths that are known to be lost */
	enum prune_fate *fates; /* for each pack of inv */
	uint64_t *needed; /* needed bytes of each pack */
	uint64_t repacked; /* estimate: bytes of the packs processed so far */
};

void prune_plan_free(struct prune_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		snapshot_free(&plan->snapshots[i]);
	free(plan->snapshots);
	free(plan->items);
	*plan = (struct prune_plan){0};
}

static void prune_decision_free(struct prune_decision *d)
{
	prune_plan_free(&d->plan);
	inventory_free(&d->inv);
	known_missing_list_free(&d->lost);
	free(d->fates);
	free(d->needed);
	*d = (struct prune_decision){0};
}

/* --- snapshots --- */

static bool is_snapshot_pinned(const struct prune_options *o,
			       const struct prune_plan *limit, uint64_t seq)
{
	size_t i;

	for (i = 0; i < o->pin_count; i++)
		if (o->pins[i] == seq)
			return true;
	for (i = 0; limit && i < limit->count; i++)
		if (limit->items[i].seq == seq && !limit->items[i].why)
			return false;
	return limit != NULL;
}

static int load_plan_snapshots(struct store *s, const struct prune_options *o,
			       const struct prune_plan *limit,
			       struct prune_plan *plan, struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count, i, k;

	if (catalog_list(s, &seqs, &count, err) < 0)
		return -err->num;
	plan->snapshots = mem_zalloc((count + 1) * sizeof(*plan->snapshots));
	plan->items = mem_zalloc((count + 1) * sizeof(*plan->items));
	for (i = 0; i < count; i++) {
		struct snapshot *snap = &plan->snapshots[i], notes = {0};

		/* The objects of a damaged snapshot are unknown, so nothing may
		 * be removed. */
		if (catalog_load(s, seqs[i], snap, err) < 0)
			return -err->num;
		plan->count++;
		notes.notes = TAKE(snap->notes);
		notes.note_count = snap->note_count;
		snap->note_count = snap->note_capacity = 0;
		snapshot_free(&notes);
		/* The result of a run, or a partial snapshot that was taken for
		 * undo, is no version of the real directory: retention does not
		 * count it among the newest. */
		plan->items[i] = (struct retain_item){
			.seq = snap->seq,
			.time = snap->time,
			.root = snap->root_path,
			.result = (snap->root.flags & ENTRY_INCOMPLETE &&
				   !snap->excludes &&
				   (strstr(snap->reason, "-restore") ||
				    strstr(snap->reason, "-undo") ||
				    strstr(snap->reason, "-apply"))) ||
				  snapshot_of_run(snap),
			.pinned = is_snapshot_pinned(o, limit, snap->seq),
		};
		for (k = 0; o->keep_tags && o->keep_tags[k]; k++)
			if (mem_list_has(snap->tags, o->keep_tags[k]))
				plan->items[i].tagged = true;
	}
	retain_decide(plan->items, plan->count, &o->policy, o->now);
	return 0;
}

/* --- needed objects --- */

struct missing_check {
	const struct snapshot *snapshot;
	const struct known_missing_list *lost;
};

static int fail_unless_known_missing(void *arg, const char *path,
				     const struct entry *e, const char *why,
				     struct err *err)
{
	const struct missing_check *m = arg;
	const struct snapshot *s = m->snapshot;

	(void)e;
	if (known_missing_has(m->lost, s->seq, path))
		return 0;
	return fail(err, EBADMSG,
		    "nothing removed, because the store is damaged: snapshot "
		    "%" PRIu64 ", %s: %s",
		    s->seq, text_quote(*path ? path : "."), why);
}

static void report_prune_progress(const struct prune_options *o,
				  const char *noun, uint64_t done,
				  uint64_t total)
{
	if (o->progress)
		o->progress(o->arg, noun, done, total);
}

static int mark_snapshot(struct prune_decision *d, size_t i, struct err *err)
{
	struct missing_check missing_check = {&d->plan.snapshots[i], &d->lost};
	const struct entry *root = &missing_check.snapshot->root;

	return reach_check(&d->inv, root, fail_unless_known_missing,
			   &missing_check, err);
}

static int mark_kept_snapshots(struct prune_decision *d, unsigned int why,
			       struct err *err)
{
	size_t i;

	for (i = 0; i < d->plan.count; i++) {
		if ((d->plan.items[i].why & why) &&
		    mark_snapshot(d, i, err) < 0)
			return -err->num;
		report_prune_progress(d->options, "snapshot", i + 1,
				      d->plan.count);
	}
	return 0;
}

/* Marks the snapshots that floors keep, then others from the newest on as long
 * as the objects fit. */
static int mark_within_budget(struct prune_decision *d, uint64_t max_size,
			      struct err *err)
{
	struct retain_item *items = d->plan.items;
	bool full = false;
	size_t i;

	if (mark_kept_snapshots(d, RETAIN_FLOORS, err) < 0)
		return -err->num;
	for (i = d->plan.count; i-- > 0;) {
		if (!items[i].why || items[i].why & RETAIN_FLOORS)
			continue;
		if (!full && mark_snapshot(d, i, err) < 0)
			return -err->num;
		full = full || d->inv.reached > max_size;
		if (full)
			items[i].why = 0;
	}
	if (!full)
		return 0;
	/* The marks of the snapshot that did not fit must go. */
	inventory_clear(&d->inv);
	return mark_kept_snapshots(d, ~0u, err);
}

/* --- packs --- */

/*
 * Whether this copy of an object is the one to keep: 1 or 0. Of several copies
 * one is kept: the first (newest) readable one. -EBADMSG: no copy can be read.
 */
static int is_copy_kept(struct inventory *inv, const struct oid *id,
			const struct copy *copy, struct err *err)
{
	const struct copy *first = inventory_find(inv, id), *at;
	AUTO(buf) struct buf bytes = {0};

	if (!(*inventory_flags(inv, first) & COPY_REACHED))
		return 0;
	if (!inventory_next(inv, id, first))
		return 1;
	for (at = first; at; at = inventory_next(inv, id, at)) {
		if (*inventory_flags(inv, at) & COPY_KEPT)
			break;
	}
	for (; !at; first = inventory_next(inv, id, first)) {
		if (!first)
			return fail(err, EBADMSG,
				    "nothing removed, because the store is "
				    "damaged: an object in use has no readable "
				    "copy");
		if (inventory_read_copy(inv, first, &bytes, err) < 0)
			continue;
		*inventory_flags(inv, first) |= COPY_KEPT;
		at = first;
	}
	return at->pack == copy->pack && at->entry == copy->entry;
}

/* *ret: bytes of the pack that are needed; *ret_all becomes false when an
 * object of it is not needed. */
static int sum_needed_bytes(struct inventory *inv, size_t number, uint64_t *ret,
			    bool *ret_all, struct err *err)
{
	const struct pack *pack = inv->packs[number].pack;
	uint64_t sum = 0;
	uint32_t k;

	for (k = 0; k < pack_count(pack); k++) {
		struct copy copy = {(uint32_t)number + 1, k};
		struct pack_entry e;
		int chosen;

		if (!pack_get(pack, k, &e))
			continue;
		chosen = is_copy_kept(inv, &e.id, &copy, err);
		if (chosen < 0)
			return chosen;
		if (chosen)
			sum += inventory_cost(inv, &copy);
		else
			*ret_all = false;
	}
	*ret = sum;
	return 0;
}

static void choose_repack(struct prune_decision *d, size_t i)
{
	const struct inventory_pack *p = &d->inv.packs[i];

	d->fates[i] = PRUNE_REPACK;
	d->plan.repack_packs++;
	d->plan.repack_bytes += p->size;
	d->plan.frees += p->size - d->needed[i];
}

static int decide_pack_fate(struct prune_decision *d, size_t i, struct err *err)
{
	const struct inventory_pack *p = &d->inv.packs[i];
	struct prune_plan *plan = &d->plan;
	bool all = true;

	plan->packs++;
	plan->bytes += p->size;
	/* Damaged packs are left to repair. */
	if ((!p->pack || p->fault) && d->options->thorough)
		return fail(err, EBADMSG,
			    "pack %s is damaged and cannot be rewritten: run "
			    "`guard repair` first",
			    p->name);
	if (!p->pack || p->fault)
		return 0;
	if (sum_needed_bytes(&d->inv, i, &d->needed[i], &all, err) < 0)
		return -err->num;
	plan->needed += d->needed[i];
	if (!d->needed[i]) {
		d->fates[i] = PRUNE_DROP;
		plan->drop_packs++;
		plan->drop_bytes += p->size;
		plan->frees += p->size;
	} else if (2 * d->needed[i] < p->size - PACK_FIXED ||
		   (d->options->thorough && !all)) {
		choose_repack(d, i);
	}
	return 0;
}

static void choose_more_packs(struct prune_decision *d, uint64_t max_size)
{
	size_t i, small = 0;

	for (i = 0; i < d->inv.count; i++) {
		const struct inventory_pack *p = &d->inv.packs[i];
		uint64_t full = p->size - PACK_FIXED;

		small += p->size < SMALL_PACK;
		/* For a budget, packs are repacked already when a twentieth of
		 * them is not needed. */
		if (max_size && d->plan.bytes - d->plan.frees > max_size &&
		    d->fates[i] == PRUNE_KEEP && p->pack && !p->fault &&
		    d->needed[i] < full - full / 20)
			choose_repack(d, i);
	}
	/* Opening a store costs a few system calls per pack: many small packs
	 * are merged into few. */
	for (i = 0; small > SMALL_PACKS_MAX && i < d->inv.count; i++) {
		const struct inventory_pack *p = &d->inv.packs[i];

		if (d->fates[i] == PRUNE_KEEP && p->pack && !p->fault &&
		    p->size < SMALL_PACK)
			choose_repack(d, i);
	}
}

/* Fills *d; frees its previous content first. limit: only snapshots that this
 * plan removes may be removed; NULL: any. -EBADMSG: an object or snapshot that
 * has to stay is damaged or missing. */
static int prune_decide(struct store *s, const struct prune_options *o,
			const struct prune_plan *limit,
			struct prune_decision *d, struct err *err)
{
	size_t i;
	int got;

	prune_decision_free(d);
	d->options = o;
	known_missing_load(s, &d->lost);
	/* Snapshots are listed before packs: the objects of a snapshot are
	 * durable before the snapshot exists. */
	if (load_plan_snapshots(s, o, limit, &d->plan, err) < 0 ||
	    inventory_load(s, &d->inv, err) < 0)
		return -err->num;
	got = o->max_size ? mark_within_budget(d, o->max_size, err)
			  : mark_kept_snapshots(d, ~0u, err);
	if (got < 0)
		return got;
	for (i = 0; i < d->plan.count; i++)
		d->plan.drop_snapshots += !d->plan.items[i].why;
	d->fates = mem_zalloc((d->inv.count + 1) * sizeof(*d->fates));
	d->needed = mem_zalloc((d->inv.count + 1) * sizeof(*d->needed));
	for (i = 0; i < d->inv.count; i++) {
		if (decide_pack_fate(d, i, err) < 0)
			return -err->num;
		report_prune_progress(o, "pack", i + 1, d->inv.count);
	}
	choose_more_packs(d, o->max_size);
	return 0;
}

/* --- the prune --- */

int prune_plan(struct store *s, const struct prune_options *options,
	       struct prune_plan *ret, struct err *err)
{
	AUTO(prune_decision) struct prune_decision d = {0};

	if (prune_decide(s, options, NULL, &d, err) < 0)
		return -err->num;
	*ret = d.plan;
	d.plan = (struct prune_plan){0};
	return 0;
}

/* Another prune decision later finds an object without a readable copy. */
static bool is_copy_wanted(void *arg, const struct oid *id,
			   const struct copy *copy)
{
	struct prune_decision *d = arg;
	struct err ignored;

	d->repacked += inventory_cost(&d->inv, copy);
	report_prune_progress(d->options, NULL, d->repacked,
			      d->plan.repack_bytes);
	return is_copy_kept(&d->inv, id, copy, &ignored) > 0;
}

/* Whether packs/ and snaps/ still have the names, and the snapshots the roots,
 * that the decision is based on: a snapshot may be replaced under its number.
 */
static int is_decision_current(struct store *s, const struct prune_decision *d,
			       struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	AUTO(dirlist) struct dirlist list = {0};
	size_t count, i, k = 0;

	if (catalog_list(s, &seqs, &count, err) < 0 ||
	    dirlist_read(store_get_dir(s)->packs_fd, &list, err) < 0)
		return -err->num;
	if (count != d->plan.count)
		return 0;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot now = {0};

		if (seqs[i] != d->plan.items[i].seq)
			return 0;
		if (catalog_load(s, seqs[i], &now, err) < 0)
			return -err->num;
		if (!entry_equal(&now.root, &d->plan.snapshots[i].root))
			return 0;
	}
	for (i = 0; i < list.count; i++) {
		size_t len = strlen(list.items[i].name);

		if (len <= 4 || strcmp(list.items[i].name + len - 4, ".gpk"))
			continue;
		if (k == d->inv.count ||
		    strcmp(d->inv.packs[k].name, list.items[i].name) != 0)
			return 0;
		k++;
	}
	return k == d->inv.count;
}

/* Called with the commit lock and exclusive use of the store. */
static int move_pruned_to_trash(struct store *s, const struct prune_decision *d,
				int trash_fd, struct prune_result *ret,
				struct err *err)
{
	AUTO(names) struct names packs = {0};
	auto_free uint64_t *seqs =
		mem_resize(NULL, d->plan.count + 1, sizeof(*seqs));
	size_t i, count = 0;

	for (i = 0; i < d->plan.count; i++)
		if (!d->plan.items[i].why)
			seqs[count++] = d->plan.items[i].seq;
	for (i = 0; i < d->inv.count; i++) {
		if (d->fates[i] != PRUNE_DROP)
			continue;
		names_add(&packs, d->inv.packs[i].name);
		ret->bytes += d->inv.packs[i].size;
	}
	if (trash_put(s, trash_fd, "prune", d->options->now, seqs, count,
		      &packs, err) < 0)
		return -err->num;
	ret->snapshots = count;
	ret->packs = packs.count;
	return 0;
}

int prune_run(struct store *s, const struct prune_options *options,
	      const struct prune_plan *plan, struct prune_result *ret,
	      struct err *err)
{
	AUTO(prune_decision) struct prune_decision d = {0};
	struct prune_result result = {0};
	auto_close int trash_fd = trash_open(s, err);
	int current, lock, got;

	if (trash_fd < 0 || prune_decide(s, options, plan, &d, err) < 0)
		return -err->num;
	if (d.plan.repack_packs) {
		auto_free size_t *packs =
			mem_resize(NULL, d.inv.count + 1, sizeof(*packs));
		size_t i, count = 0;

		for (i = 0; i < d.inv.count; i++)
			if (d.fates[i] == PRUNE_REPACK)
				packs[count++] = i;
		if (inventory_repack(s, &d.inv, packs, count, is_copy_wanted,
				     &d, &result.written, err) < 0 ||
		    prune_decide(s, options, plan, &d, err) < 0)
			return -err->num;
	}
	if (trash_exclusive(s, options->busy, options->arg, err) < 0)
		return -err->num;
	current = is_decision_current(s, &d, err);
	if (current < 0 ||
	    (!current && prune_decide(s, options, plan, &d, err) < 0))
		return -err->num;
	/* Expired trash is deleted first, to free space: on a full disk the
	 * tombstones could not be written. */
	if (!options->keep_trash &&
	    trash_purge(trash_fd, TRASH_SECONDS, options->now, err) < 0)
		return -err->num;
	lock = store_commit_begin(s, err);
	if (lock < 0)
		return lock;
	got = move_pruned_to_trash(s, &d, trash_fd, &result, err);
	store_commit_end(s, lock);
	if (got < 0)
		return got;
	if (result.packs || d.plan.repack_packs || options->thorough)
		store_index_tidy(store_get_dir(s));
	if ((options->thorough || !options->keep_trash) &&
	    trash_purge(trash_fd, options->thorough ? -1 : TRASH_SECONDS,
			options->now, err) < 0)
		return -err->num;
	*ret = result;
	return 0;
}
