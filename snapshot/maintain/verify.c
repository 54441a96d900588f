#include "snapshot/maintain/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/random.h>

#include "base/auto.h"
#include "base/vec.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/midx.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/maintain/missing.h"

struct verify_job {
	struct store *store;
	const struct verify_options *options;
	struct inventory inv;
	VEC(struct entry) roots; /* of all snapshots */
	struct verify_result result;
	uint64_t done, total; /* in bytes */
};

static int report_fault(struct verify_job *v, const struct verify_fault *f,
			struct err *err)
{
	v->result.faults++;
	return v->options->fault ? v->options->fault(v->options->arg, f, err)
				 : 0;
}

/* f: has the text of the cause. A lack of descriptors or memory ends verify: it
 * proves no damage. */
static int report_cause(struct verify_job *v, const struct verify_fault *f,
			const struct err *cause, struct err *err)
{
	if (!err_is_exhaustion(cause->num))
		return report_fault(v, f, err);
	*err = *cause;
	return -err->num;
}

static void report_verify_progress(struct verify_job *v)
{
	if (v->options->progress)
		v->options->progress(v->options->arg, v->done, v->total);
}

static int verify_secret(struct verify_job *v, const char *name,
			 struct err *err)
{
	struct err cause;
	struct verify_fault fault = {
		.kind = VERIFY_SECRET, .name = name, .text = cause.text};

	return store_dir_check_secret(store_get_dir(v->store), name, &cause) < 0
		       ? report_cause(v, &fault, &cause, err)
		       : 0;
}

/* --- bytes --- */

/* One fault per record is enough: the fault of its first bad object. */
static int verify_object(struct verify_job *v, const struct inventory_entry *e,
			 uint64_t *last_offset, struct buf *bytes,
			 struct err *err)
{
	struct err cause;
	struct verify_fault fault = {
		.kind = VERIFY_RECORD,
		.name = inventory_pack(&v->inv, &e->copy)->name,
		.text = cause.text,
	};

	buf_clear(bytes);
	if (inventory_read_copy(&v->inv, &e->copy, bytes, &cause) == 0)
		return 0;
	if (e->damaged)
		fault.text = "an entry of its index is damaged";
	else if (*last_offset == e->entry.offset)
		return 0;
	else
		*last_offset = fault.offset = e->entry.offset;
	return report_fault(v, &fault, err);
}

static int verify_pack_bytes(struct verify_job *v, size_t pack, uint64_t chance,
			     struct err *err)
{
	uint64_t last_offset = 0, start = v->done;
	unsigned int sample = v->options->sample;
	size_t i, count;
	AUTO(buf) struct buf bytes = {0};
	auto_free struct inventory_entry *list =
		inventory_by_offset(&v->inv, pack, &count);

	for (i = 0; i < count; i++) {
		uint64_t offset = list[i].entry.offset;
		uint64_t mixed = (offset + chance) ^ pack << 40;

		if (sample && hash_check(&mixed, sizeof(mixed)) % 100 >= sample)
			continue;
		if (verify_object(v, &list[i], &last_offset, &bytes, err) < 0)
			return -err->num;
		v->done = start + offset;
		report_verify_progress(v);
	}
	v->done = start + v->inv.packs[pack].size;
	return 0;
}

/* --- snapshots --- */

struct path_report {
	struct verify_job *v;
	uint64_t seq;
};

static int report_damaged_path(void *arg, const char *path,
			       const struct entry *e, const char *why,
			       struct err *err)
{
	struct path_report *t = arg;
	struct verify_fault fault = {
		.kind = VERIFY_PATH, .name = path, .seq = t->seq, .text = why};

	(void)e;
	return report_fault(t->v, &fault, err);
}

static int report_damaged_snapshot(struct verify_job *v, uint64_t seq,
				   const char *text, struct err *err)
{
	struct verify_fault fault = {
		.kind = VERIFY_SNAPSHOT, .name = "", .seq = seq, .text = text};

	return report_fault(v, &fault, err);
}

/* *ret: its tree; mode 0: it has none, or cannot be read. */
static int load_root(struct verify_job *v, uint64_t seq, struct entry *ret,
		     struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err cause;
	int got = catalog_load(v->store, seq, &s, &cause);

	*ret = TAKE(s.root);

	/* The lock keeps prune out: the file was deleted by other means, and
	 * verify_no_snapshot_missing() reports it. */
	if (got == -ENOENT)
		return 0;
	v->result.snapshots++;
	if (err_is_exhaustion(-got)) {
		*err = cause;
		return got;
	}
	return got < 0 ? report_damaged_snapshot(v, seq, cause.text, err) : 0;
}

static int report_missing_files(void *arg, uint64_t first, uint64_t last,
				struct err *err)
{
	auto_free char *text =
		first == last ? mem_printf("snapshot %" PRIu64
					   ": its file is missing",
					   first)
			      : mem_printf("snapshots %" PRIu64 " to %" PRIu64
					   ": their files are missing",
					   first, last);

	return report_damaged_snapshot(arg, first, text, err);
}

/* Reports snapshot files that were deleted, but not by prune or repair. */
static int verify_no_snapshot_missing(struct verify_job *v, struct err *err)
{
	struct err cause;
	const struct verify_fault fault = {
		.kind = VERIFY_SECRET, .name = "gone", .text = cause.text};
	struct tombstones g = {0};

	if (tombstones_load(v->store, &g, &cause) < 0)
		return report_cause(v, &fault, &cause, err);
	tombstones_free(&g);
	return tombstones_each_missing(v->store, report_missing_files, v, err);
}

static int verify_all(struct verify_job *v, struct err *err)
{
	struct err cause;
	struct verify_fault fault = {
		.kind = VERIFY_SECRET, .name = MIDX_FILE, .text = cause.text};
	auto_free uint64_t *seqs = NULL;
	uint64_t chance = 0;
	size_t count, i;

	if (verify_secret(v, "secret", err) < 0 ||
	    verify_secret(v, "secret.2", err) < 0)
		return -err->num;
	/* Snapshots are loaded before packs are listed: the objects of a
	 * snapshot are durable before the snapshot exists, or replaces an
	 * earlier one. */
	if (catalog_list(v->store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		if (load_root(v, seqs[i], VEC_ADD(&v->roots), err) < 0)
			return -err->num;
	if (inventory_load(v->store, &v->inv, err) < 0)
		return -err->num;
	for (i = 0; i < v->inv.count; i++) {
		const struct inventory_pack *p = &v->inv.packs[i];
		struct verify_fault bad = {
			.kind = VERIFY_PACK, .name = p->name, .text = p->fault};

		v->total += p->size;
		if (p->fault && report_fault(v, &bad, err) < 0)
			return -err->num;
	}
	v->result.packs = v->inv.count;
	v->result.objects = v->inv.objects;
	if (inventory_check_index(&v->inv, v->store, &cause) < 0 &&
	    report_cause(v, &fault, &cause, err) < 0)
		return -err->num;
	if (v->options->read_data || v->options->sample) {
		if (getrandom(&chance, sizeof(chance), 0) != sizeof(chance))
			return fail_errno(err, "read random bytes");
		for (i = 0; i < v->inv.count; i++)
			if (verify_pack_bytes(v, i, chance, err) < 0)
				return -err->num;
		v->result.read_bytes = v->done;
		report_verify_progress(v);
	}
	for (i = 0; i < count; i++) {
		struct path_report t = {v, seqs[i]};

		if (reach_check(&v->inv, &v->roots.items[i],
				report_damaged_path, &t, err) < 0)
			return -err->num;
	}
	if (verify_no_snapshot_missing(v, err) < 0)
		return -err->num;
	/* Packs that failed only during a read. Their paths may have been
	 * reported already. */
	for (i = 0; i < v->inv.count; i++) {
		const struct inventory_pack *p = &v->inv.packs[i];

		if (!p->pack || p->fault || !pack_failed(p->pack))
			continue;
		(void)pack_fail(p->pack, &cause);
		fault.kind = VERIFY_PACK;
		fault.name = p->name;
		if (report_fault(v, &fault, err) < 0)
			return -err->num;
	}
	return 0;
}

int verify_store(struct store *s, const struct verify_options *options,
		 struct verify_result *ret, struct err *err)
{
	struct verify_job v = {.store = s, .options = options};
	auto_close int lock = openat(store_get_dir(s)->fd, "lock",
				     O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	int got;

	/* Prune moves no file while another process has this lock. A store that
	 * cannot be locked (a copy on a read-only medium) cannot be pruned
	 * either. */
	while (lock >= 0 && flock(lock, LOCK_SH) < 0 && errno == EINTR)
		continue;
	got = verify_all(&v, err);
	while (v.roots.count)
		entry_free(&v.roots.items[--v.roots.count]);
	VEC_FREE(&v.roots);
	inventory_free(&v.inv);
	if (got < 0)
		return got;
	*ret = v.result;
	return v.result.faults > 0;
}
