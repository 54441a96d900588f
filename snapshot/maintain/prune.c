#include "snapshot/maintain/prune.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "snapshot/maintain/prune_decide.h"
#include "snapshot/store/repack.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/store/store_index.h"
#include "snapshot/tree/tombstones.h"

void prune_plan_free(struct prune_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++)
		snapshot_free(&plan->snapshots[i]);
	free(plan->snapshots);
	free(plan->items);
	*plan = (struct prune_plan){0};
}

int prune_plan(struct store *s, const struct prune_options *options,
	       struct prune_plan *ret, struct err *err)
{
	struct prune_decision d = {0};
	int got = prune_decide(s, options, NULL, &d, err);

	if (got == 0) {
		*ret = d.plan;
		d.plan = (struct prune_plan){0};
	}
	prune_decide_free(&d);
	return got;
}

struct copy_choice {
	const struct prune_decision *d;
	struct inventory *inv;
	uint64_t bytes; /* estimate: bytes of the packs processed so far */
	struct err err; /* num 0: no error */
};

static bool is_copy_chosen(void *arg, const struct oid *id,
			   const struct copy *copy)
{
	struct copy_choice *c = arg;
	const struct prune_options *o = c->d->options;
	struct err err;
	int got = prune_decide_chosen(c->inv, id, copy, &err);

	if (got < 0)
		c->err = err;
	c->bytes += inventory_cost(c->inv, copy);
	if (o->progress)
		o->progress(o->arg, NULL, c->bytes, c->d->plan.repack_bytes);
	return got > 0;
}

static int repack_chosen_packs(struct store *s, struct prune_decision *d,
			       uint64_t *ret_bytes, struct err *err)
{
	struct copy_choice copy_choice = {.d = d, .inv = &d->inv};
	auto_free size_t *packs =
		mem_resize(NULL, d->inv.count + 1, sizeof(*packs));
	size_t i, count = 0;

	for (i = 0; i < d->inv.count; i++) {
		if (d->fates[i] == PRUNE_REPACK)
			packs[count++] = i;
	}
	return repack(s, &d->inv, packs, count, is_copy_chosen, &copy_choice,
		      ret_bytes, err);
}

/* Whether packs/ and snaps/ still have the names that the decision is based
 * on. */
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
		if (seqs[i] != d->plan.items[i].seq)
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

static int add_prune_tombstones(struct store *s, const struct prune_decision *d,
				struct err *err)
{
	auto_free uint64_t *seqs =
		mem_resize(NULL, d->plan.count + 1, sizeof(*seqs));
	size_t i, count = 0;

	for (i = 0; i < d->plan.count; i++)
		if (!d->plan.items[i].why)
			seqs[count++] = d->plan.items[i].seq;
	return count ? tombstones_add(s, seqs, count, err) : 0;
}

/* Called with the commit lock and exclusive use of the store. */
static int move_pruned_to_trash(struct store *s, const struct prune_decision *d,
				const struct prune_options *o, int trash_fd,
				struct prune_result *ret, struct err *err)
{
	AUTO(names) struct names snaps = {0}, packs = {0};
	auto_close int to_fd = -1, snaps_fd = -1;
	char name[32];
	size_t i;

	for (i = 0; i < d->plan.count; i++) {
		if (d->plan.items[i].why)
			continue;
		catalog_file_name(name, d->plan.items[i].seq);
		names_add(&snaps, name);
	}
	for (i = 0; i < d->inv.count; i++) {
		if (d->fates[i] != PRUNE_DROP)
			continue;
		names_add(&packs, d->inv.packs[i].name);
		ret->bytes += d->inv.packs[i].size;
	}
	if (!snaps.count && !packs.count)
		return 0;
	snaps_fd = openat(store_get_dir(s)->fd, "snaps",
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (snaps_fd < 0)
		return fail_errno(err, "open the store's snaps/");
	to_fd = trash_make(trash_fd, "prune", o->now, err);
	if (to_fd < 0 || add_prune_tombstones(s, d, err) < 0 ||
	    trash_move(snaps_fd, to_fd, snaps.items, snaps.count, err) < 0 ||
	    trash_move(store_get_dir(s)->packs_fd, to_fd, packs.items,
		       packs.count, err) < 0)
		return -err->num;
	ret->snapshots = snaps.count;
	ret->packs = packs.count;
	return 0;
}

static int prune_store(struct store *s, const struct prune_options *o,
		       const struct prune_plan *limit, struct prune_decision *d,
		       struct prune_result *ret, struct err *err)
{
	auto_close int trash_fd = trash_open(s, err);
	int current, lock, got;

	if (trash_fd < 0 || prune_decide(s, o, limit, d, err) < 0)
		return -err->num;
	if (d->plan.repack_packs &&
	    (repack_chosen_packs(s, d, &ret->written, err) < 0 ||
	     prune_decide(s, o, limit, d, err) < 0))
		return -err->num;
	if (trash_exclusive(s, o->busy, o->arg, err) < 0)
		return -err->num;
	current = is_decision_current(s, d, err);
	if (current < 0 || (!current && prune_decide(s, o, limit, d, err) < 0))
		return -err->num;
	/* Expired trash is deleted first, to free space: on a full disk the
	 * tombstones could not be written. */
	if (trash_purge(trash_fd, TRASH_SECONDS, o->now, err) < 0)
		return -err->num;
	lock = store_commit_begin(s, err);
	if (lock < 0)
		return lock;
	got = move_pruned_to_trash(s, d, o, trash_fd, ret, err);
	store_commit_end(s, lock);
	if (got < 0)
		return got;
	if (ret->packs || d->plan.repack_packs || o->thorough)
		store_index_tidy(store_get_dir(s));
	return trash_purge(trash_fd, o->thorough ? -1 : TRASH_SECONDS, o->now,
			   err);
}

int prune_run(struct store *s, const struct prune_options *options,
	      const struct prune_plan *plan, struct prune_result *ret,
	      struct err *err)
{
	struct prune_decision d = {0};
	struct prune_result result = {0};
	int got = prune_store(s, options, plan, &d, &result, err);

	prune_decide_free(&d);
	if (got == 0)
		*ret = result;
	return got;
}
