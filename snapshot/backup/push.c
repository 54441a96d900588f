#include "snapshot/backup/push.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/maintain/verify.h"
#include "snapshot/store/inventory.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/catalog.h"

/* A file of p/ or s/ takes small items up to this size. */
#define BUNDLE_LEN ((uint64_t)4 << 20)
/* Every so many manifests two are complete, and all short ones. */
#define COMPLETE_EVERY 64
#define COMPLETE_ITEMS 500
#define LIST_LEN_MAX ((size_t)1 << 30)
#define SNAPSHOT_LEN_MAX ((size_t)1 << 30)

/* An item to be sent: a pack or a part of it, or bytes in memory. */
struct outgoing {
	struct manifest_item item;
	uint64_t records; /* bytes in front of the index of a pack */
	struct buf bytes;
};

struct outgoings {
	struct outgoing *items;
	size_t count, capacity;
};

struct push {
	struct store *store;
	const struct push_options *o;
	struct push_result *ret;
	struct manifest_place place;
	int local_fd;
	/* The local list of all that the destination has. */
	struct manifest_name last; /* number 0: no backup so far */
	struct manifest_items items;
	struct manifest_items covered; /* kind 3: packs whose objects are in
					  other packs there */
	uint64_t times; /* hash_times() when nothing was missing */
	bool complete; /* the next manifest must be a complete one */
	/* The present backup. */
	struct dirlist snaps, packs;
	struct outgoings outgoing[SEAL_MANIFEST]; /* index: enum seal_kind */
	struct manifest manifest;
	uint64_t total, done;
};

static void outgoings_free(struct outgoings *o)
{
	size_t i;

	for (i = 0; i < o->count; i++) {
		struct buf *bytes = &o->items[i].bytes;

		/* A root has secret ones. */
		if (bytes->data)
			explicit_bzero(bytes->data, bytes->len);
		buf_free(bytes);
		free(o->items[i].item.name);
	}
	VEC_FREE(o);
}

static void push_free(struct push *p)
{
	size_t i;

	manifest_items_free(&p->items);
	manifest_items_free(&p->covered);
	dirlist_free(&p->snaps);
	dirlist_free(&p->packs);
	for (i = 0; i < ARRAY_SIZE(p->outgoing); i++)
		outgoings_free(&p->outgoing[i]);
	manifest_free(&p->manifest);
}

/* --- the local list ---
 *
 *	list   = *record
 *	record = length:4 manifest check:8
 *
 * The first record is the next manifest, as far as it is known: number,
 * `previous`, and whether it must be complete. Its home is the directory of the
 * namespace, its time hash_times(), its drops are the covered packs, and it
 * adds all that the destination has. Each file that is sent appends a record
 * that adds the items in it, which no manifest names yet.
 */

static void add_record(struct buf *to, const struct manifest *m)
{
	AUTO(buf) struct buf bytes = {0};

	manifest_encode(m, &bytes);
	enc_u32(to, (uint32_t)bytes.len);
	buf_add(to, bytes.data, bytes.len);
	enc_u64(to, hash_check(bytes.data, bytes.len));
}

/* False: the list ends here; the last record of a killed backup may be cut off.
 */
static bool read_record(struct dec *d, struct manifest *ret)
{
	size_t len = dec_u32(d);
	const unsigned char *bytes = dec_raw(d, len);
	uint64_t check = dec_u64(d);
	struct err ignored;

	return !d->bad && check == hash_check(bytes, len) &&
	       manifest_decode(bytes, len, ret, &ignored) == 0;
}

static int save_list(struct push *p, struct err *err)
{
	auto_free char *space = manifest_space_path(p->place.space, SEAL_ROOT);
	struct manifest next = {
		.number = p->last.number + 1,
		.complete = p->complete,
		.time = (int64_t)p->times,
		.home = space,
		.adds = p->items,
		.drops = p->covered,
	};
	AUTO(buf) struct buf b = {0};

	memcpy(next.previous, p->last.hash, SEAL_HASH_LEN);
	add_record(&b, &next);
	return atomic_write(p->local_fd, "list", b.data, b.len, 0600,
			    ATOMIC_DATA_SYNC, err);
}

static bool decode_list(struct push *p, const struct buf *b)
{
	struct dec d = dec_start(b->data, b->len);
	AUTO(manifest) struct manifest m = {0};

	if (!read_record(&d, &m) ||
	    !manifest_space_parse(m.home, p->place.space))
		return false;
	p->last.number = m.number - 1;
	memcpy(p->last.hash, m.previous, SEAL_HASH_LEN);
	p->times = (uint64_t)m.time;
	p->covered = TAKE(m.drops);
	/* The next manifest must name the items that were sent since, too. */
	p->complete = m.complete || d.at < d.end;
	do {
		manifest_items_advance(&p->items, &m);
		manifest_free(&m);
	} while (read_record(&d, &m));
	return true;
}

/* 1: loaded; 0: there is no usable list. */
static int load_list(struct push *p, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	int got = fd_slurp_at(p->local_fd, "list", LIST_LEN_MAX, &b, err);

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	return decode_list(p, &b);
}

void push_read_last(int local_fd, struct manifest_name *ret)
{
	AUTO(push) struct push p = {.local_fd = local_fd};
	struct err ignored;

	(void)load_list(&p, &ignored);
	*ret = p.last;
}

static int note_sent(struct push *p, const struct manifest *sent,
		     struct err *err)
{
	auto_close int fd =
		openat(p->local_fd, "list",
		       O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
	AUTO(buf) struct buf b = {0};

	add_record(&b, sent);
	return fd < 0 || fd_write(fd, b.data, b.len) < 0
		       ? fail_errno(err, "write the list of a backup")
		       : 0;
}

/* --- the namespace --- */

static const char *host_name(void)
{
	static char name[256];

	(void)gethostname(name, sizeof(name) - 1);
	return name;
}

static const unsigned char *store_uuid(const struct push *p)
{
	return store_get_dir(p->store)->format.uuid;
}

static void begin_space(struct push *p)
{
	manifest_items_free(&p->items);
	manifest_items_free(&p->covered);
	p->last = (struct manifest_name){0};
	p->complete = true;
	memcpy(p->place.space, store_uuid(p), PACK_UUID_LEN);
	mem_random(p->place.space + PACK_UUID_LEN,
		   SEAL_SPACE_LEN - PACK_UUID_LEN);
}

int push_note_damaged(int local_fd, const struct names *files, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	size_t i;

	for (i = 0; i < files->count; i++)
		buf_printf(&b, "%s\n", files->items[i]);
	return atomic_write(local_fd, "damaged", b.data, b.len, 0600,
			    ATOMIC_DURABLE, err);
}

/* Forgets the items whose files the destination does not have, or has with
 * damage. A pack that such a file covered may be covered no more. */
static int drop_absent(struct push *p, struct err *err)
{
	AUTO(manifest) struct manifest absent = {0};
	AUTO(buf) struct buf damaged = {0};
	enum seal_kind kind;
	size_t i;
	int got = fd_slurp_at(p->local_fd, "damaged", LIST_LEN_MAX, &damaged,
			      err);

	if (got < 0 && got != -ENOENT)
		return got;
	for (kind = SEAL_ROOT; kind < SEAL_MANIFEST; kind++) {
		auto_free char *dir = manifest_space_path(p->place.space, kind);
		AUTO(dirlist) struct dirlist list = {0};

		if (destination_list(p->place.destination, dir, &list, err) < 0)
			return -err->num;
		for (i = 0; i < p->items.count; i++) {
			const struct manifest_item *item = &p->items.items[i];
			const char *name = manifest_object_name(item);

			if (manifest_seal_kind(item) == kind &&
			    (!dirlist_find(&list, name) ||
			     buf_has(&damaged, name)))
				manifest_items_add(&absent.drops, item);
		}
	}
	if (absent.drops.count)
		manifest_items_free(&p->covered);
	manifest_items_sort(&absent.drops);
	manifest_items_advance(&p->items, &absent);
	p->complete = true;
	return 0;
}

/* Without a list: the namespace that is known, or the only one there of this
 * store and this host. Several are those of clones, none of which may write in
 * that of another one. */
static int find_space(struct push *p, struct err *err)
{
	AUTO(dirlist) struct dirlist top = {0};
	struct manifest_place place = p->place;
	size_t i, found = 0;

	begin_space(p);
	if (destination_list(place.destination, "", &top, err) < 0)
		return -err->num;
	for (i = 0; i < top.count; i++) {
		AUTO(manifest_names) struct manifest_names names = {0};
		AUTO(manifest_state) struct manifest_state state = {0};
		const struct manifest_name *newest;
		struct err ignored;

		if (!manifest_space_parse(top.items[i].name, place.space) ||
		    memcmp(place.space, store_uuid(p), PACK_UUID_LEN) != 0 ||
		    (p->o->space &&
		     memcmp(place.space, p->o->space, SEAL_SPACE_LEN) != 0) ||
		    manifest_list(&place, &names, &ignored) < 0 ||
		    !names.count || manifest_has_twin(&names, names.count - 1))
			continue;
		newest = &names.items[names.count - 1];
		if (manifest_load(&place, &names, newest, newest->number,
				  &state, &ignored) < 0 ||
		    strcmp(state.last.host, host_name()) != 0 ||
		    state.last.newest > p->manifest.newest)
			continue;
		found++;
		manifest_items_free(&p->items);
		p->items = TAKE(state.items);
		p->last = *newest;
		memcpy(p->place.space, place.space, SEAL_SPACE_LEN);
	}
	if (found > 1)
		begin_space(p);
	return 0;
}

/* Whether a manifest was written by this machine and only the list was not: the
 * names of its files are random, and the list has them. */
static bool is_own_manifest(struct push *p, const struct manifest *m)
{
	size_t i;

	if (m->number != p->last.number + 1 || !m->adds.count ||
	    memcmp(m->previous, p->last.hash, SEAL_HASH_LEN) != 0)
		return false;
	for (i = 0; i < m->adds.count; i++) {
		const struct manifest_item *a = &m->adds.items[i];
		const struct manifest_item *b =
			manifest_items_find(&p->items, a->kind, a->name);

		if (!b || memcmp(a->object, b->object, SEAL_HASH_LEN) != 0)
			return false;
	}
	return true;
}

/* Compares the manifests there with the list. */
static int check_newest(struct push *p, struct err *err)
{
	AUTO(manifest_names) struct manifest_names names = {0};
	AUTO(manifest) struct manifest m = {0};
	bool seen = !p->last.number;
	size_t i, others = 0;
	const struct manifest_name *other = NULL;
	struct err ignored;

	if (manifest_list(&p->place, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const struct manifest_name *n = &names.items[i];

		if (memcmp(n, &p->last, sizeof(*n)) == 0) {
			seen = true;
		} else if (n->number >= p->last.number) {
			others++;
			other = n;
		}
	}
	if (others == 1 && manifest_read(&p->place, other, &m, &ignored) == 0 &&
	    is_own_manifest(p, &m)) {
		manifest_items_advance(&p->items, &m);
		p->last = *other;
		p->times = 0;
		p->complete = false;
		return 0;
	}
	/* The list of the first backup after a recovery. */
	if (others && !p->last.number)
		return find_space(p, err);
	if (others)
		begin_space(p);
	p->complete |= !seen;
	return 0;
}

static int find_place(struct push *p, struct err *err)
{
	int got = load_list(p, err);

	if (got == 0)
		got = find_space(p, err);
	/* The store may be another one than that of the list. */
	else if (memcmp(p->place.space, store_uuid(p), PACK_UUID_LEN) != 0)
		begin_space(p);
	else if (got > 0)
		got = check_newest(p, err);
	if (got < 0)
		return got;
	p->complete |= p->o->complete;
	return p->complete || fd_exists(p->local_fd, "damaged")
		       ? drop_absent(p, err)
		       : 0;
}

/* --- the items that the destination lacks --- */

/* A hash of the times of packs/, snaps/ and the pins: while it is the same,
 * nothing has come. 0: one of them is of the last second, and a file that comes
 * within the same tick would not change it. */
static int hash_times(struct push *p, uint64_t *ret, struct err *err)
{
	static const char *const names[] = {"packs", "snaps", "pins"};
	struct timespec times[ARRAY_SIZE(names)] = {0}, now;
	bool old = true;
	struct stat st;
	size_t i;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		int dir_fd = i < 2 ? store_root_fd(p->store) : p->o->state_fd;

		if (fstatat(dir_fd, names[i], &st, AT_SYMLINK_NOFOLLOW) == 0)
			times[i] = st.st_mtim;
		else if (i < 2 || errno != ENOENT)
			return fail_errno(err, "read %s", names[i]);
		old &= times[i].tv_sec + 1 < now.tv_sec;
	}
	*ret = old ? hash_check(times, sizeof(times)) : 0;
	return 0;
}

static struct outgoing *add_outgoing(struct push *p, enum manifest_kind kind,
				     const char *name, uint64_t len,
				     uint64_t check)
{
	const struct manifest_item item = {
		.kind = (uint8_t)kind,
		.name = mem_strdup(name),
		.len = len,
		.check = check,
	};
	struct outgoing *o = VEC_ADD(&p->outgoing[manifest_seal_kind(&item)]);

	o->item = item;
	p->total += len;
	return o;
}

/* A snapshot, or another small file of the store, that is new or was replaced.
 * A damaged snapshot replaces none that the destination has. */
static int add_small_file(struct push *p, int dir_fd, enum manifest_kind kind,
			  const char *name, struct err *err)
{
	const struct manifest_item *known =
		manifest_items_find(&p->items, kind, name);
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(buf) struct buf b = {0};
	struct outgoing *o;
	uint64_t check;
	int got = fd_slurp_at(dir_fd, name, SNAPSHOT_LEN_MAX, &b, err);

	if (got == -ENOENT)
		return 0;
	check = b.len < 8 ? 0 : get_le(b.data + b.len - 8, 8);
	if (got == 0 && known && known->check == check && known->len == b.len)
		return 0;
	if (known && kind == MANIFEST_SNAPSHOT &&
	    catalog_load_from(dir_fd, catalog_file_seq(name), &s, err) < 0) {
		p->ret->damaged = true;
		return 0;
	}
	if (got < 0)
		return got;
	o = add_outgoing(p, kind, name, b.len, check);
	o->bytes = TAKE(b);
	p->ret->snapshots += kind == MANIFEST_SNAPSHOT;
	return 0;
}

/* Snapshots first: the packs that they need exist when packs/ is listed. */
static int collect_snapshots(struct push *p, struct err *err)
{
	auto_close int fd = store_open_subdir(p->store, "snaps", err);
	int root_fd = store_root_fd(p->store);
	size_t i;

	if (fd < 0 || dirlist_read(fd, &p->snaps, err) < 0)
		return -err->num;
	for (i = 0; i < p->snaps.count; i++) {
		const char *name = p->snaps.items[i].name;

		if (catalog_file_seq(name) &&
		    add_small_file(p, fd, MANIFEST_SNAPSHOT, name, err) < 0)
			return -err->num;
	}
	if (add_small_file(p, root_fd, MANIFEST_FILE, "gone", err) < 0 ||
	    add_small_file(p, root_fd, MANIFEST_FILE, "lost", err) < 0 ||
	    add_small_file(p, p->o->state_fd, MANIFEST_FILE, "pins", err) < 0)
		return -err->num;
	return 0;
}

/* A pack of data is sent in two items, another one, also a damaged one, as a
 * whole. */
static int add_pack(struct push *p, const char *name, struct err *err)
{
	int dir_fd = store_get_dir(p->store)->packs_fd;
	auto_close int fd =
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	unsigned char header[HEADER_LEN], footer[FOOTER_LEN];
	struct outgoing *o;
	struct format format;
	struct stat st;
	uint64_t size, index, check;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "open pack %s", text_quote(name));
	size = (uint64_t)st.st_size;
	if (size < HEADER_LEN + FOOTER_LEN ||
	    fd_pread(fd, header, sizeof(header), 0) != HEADER_LEN ||
	    fd_pread(fd, footer, sizeof(footer), size - FOOTER_LEN) !=
		    FOOTER_LEN)
		return 0;
	index = get_le(footer + 8, 8);
	check = get_le(footer + FOOTER_LEN - 8, 8);
	if (!pack_header_get(header, &format) || header[10] != PACK_DATA ||
	    memcmp(footer, "GUARDPKE", 8) != 0 || index < HEADER_LEN ||
	    index > size - FOOTER_LEN) {
		(void)add_outgoing(p, MANIFEST_TREES, name, size, check);
		return 0;
	}
	/* A backup that was interrupted has sent records without an index. */
	if (!manifest_items_find(&p->items, MANIFEST_RECORDS, name))
		(void)add_outgoing(p, MANIFEST_RECORDS, name,
				   index - HEADER_LEN, 0);
	o = add_outgoing(p, MANIFEST_INDEX, name, HEADER_LEN + size - index,
			 check);
	o->records = index - HEADER_LEN;
	return 0;
}

/* Whether the destination has a pack. */
static bool has_pack(const struct push *p, const char *name)
{
	return manifest_items_find(&p->items, MANIFEST_TREES, name) ||
	       (manifest_items_find(&p->items, MANIFEST_RECORDS, name) &&
		manifest_items_find(&p->items, MANIFEST_INDEX, name));
}

/* Whether the destination has an object in another pack. That pack may have
 * been damaged before it was sent. */
static bool has_intact_copy(const struct push *p, struct inventory *inv,
			    const struct oid *id)
{
	const struct copy *copy = inventory_find(inv, id);
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;

	while (copy && !(has_pack(p, inventory_pack(inv, copy)->name) &&
			 inventory_read_copy(inv, copy, &bytes, &ignored) == 0))
		copy = inventory_next(inv, id, copy);
	return copy;
}

/* Whether the destination has all objects of a pack in other ones. */
static bool is_covered(const struct push *p, struct inventory *inv,
		       const char *name)
{
	const struct inventory_pack *pack =
		FIND_BY_TEXT(name, inv->packs, inv->count, name);
	auto_free struct inventory_entry *list = NULL;
	size_t i, count = 0;

	if (pack)
		list = inventory_by_offset(inv, (size_t)(pack - inv->packs),
					   &count);
	for (i = 0; i < count; i++)
		if (list[i].damaged ||
		    !has_intact_copy(p, inv, &list[i].entry.id))
			return false;
	return count;
}

/* Packs that a prune removed are in the trash for a while. */
static int load_with_trash(struct push *p, struct inventory *ret,
			   struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int trash_fd = store_open_subdir(p->store, "trash", err);
	VEC(int) fds = {0};
	size_t i;
	int got;

	if (trash_fd < 0 || dirlist_read(trash_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		int fd = fd_open_dir(trash_fd, list.items[i].name);

		if (fd >= 0)
			*VEC_ADD(&fds) = fd;
	}
	got = inventory_load_dirs(p->store, fds.items, fds.count, ret, err);
	for (i = 0; i < fds.count; i++)
		fd_close(&fds.items[i]);
	VEC_FREE(&fds);
	return got;
}

/* Whether the store has the snapshot or the pack of an item no more. */
static bool is_gone(const struct push *p, const struct manifest_item *item)
{
	return item->kind == MANIFEST_SNAPSHOT
		       ? !dirlist_find(&p->snaps, item->name)
		       : item->kind <= MANIFEST_TREES &&
				 !dirlist_find(&p->packs, item->name);
}

/* A pack that a prune wrote of packs that the destination has is covered by
 * them. */
static int collect_packs(struct push *p, struct err *err)
{
	AUTO(manifest_items) struct manifest_items covered = {0};
	AUTO(inventory) struct inventory inv = {0};
	auto_close int fd = store_open_subdir(p->store, "packs", err);
	bool pruned = false;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &p->packs, err) < 0)
		return -err->num;
	for (i = 0; i < p->items.count; i++)
		pruned |= p->items.items[i].kind <= MANIFEST_TREES &&
			  is_gone(p, &p->items.items[i]);
	for (i = 0; i < p->packs.count; i++) {
		const struct manifest_item pack = {
			.kind = MANIFEST_TREES,
			.name = (char *)(uintptr_t)p->packs.items[i].name,
		};

		if (has_pack(p, pack.name))
			continue;
		if (pruned && !p->o->complete && !inv.count &&
		    load_with_trash(p, &inv, err) < 0)
			return -err->num;
		if (!p->o->complete &&
		    (manifest_items_find(&p->covered, pack.kind, pack.name) ||
		     is_covered(p, &inv, pack.name)))
			manifest_items_add(&covered, &pack);
		else if (add_pack(p, pack.name, err) < 0)
			return -err->num;
	}
	manifest_items_free(&p->covered);
	p->covered = TAKE(covered);
	return 0;
}

/* Drops the items whose files the store has no more; none when it lost some by
 * damage, because the destination may still have them. */
static void collect_drops(struct push *p)
{
	static const struct verify_options all;
	struct manifest_items *drops = &p->manifest.drops;
	struct verify_result r;
	struct err ignored;
	size_t i;

	/* The packs that a prune removed have the objects of covered ones. */
	for (i = 0; i < p->items.count; i++) {
		const struct manifest_item *item = &p->items.items[i];

		if (is_gone(p, item) &&
		    (item->kind == MANIFEST_SNAPSHOT || !p->covered.count))
			manifest_items_add(drops, item);
	}
	p->ret->damaged |=
		drops->count && verify_store(p->store, &all, &r, &ignored) != 0;
	if (p->ret->damaged)
		manifest_items_free(drops);
}

/* Two copies of the store's identity, without which no byte can be read.
 *
 *	root = secret:192 FORMAT
 */
static int collect_roots(struct push *p, struct err *err)
{
	static const char *const names[] = {"1", "2"};
	AUTO(buf) struct buf format = {0};
	size_t i;

	if (fd_slurp_at(store_root_fd(p->store), "FORMAT", SNAPSHOT_LEN_MAX,
			&format, err) < 0)
		return -err->num;
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct outgoing *o;

		if (manifest_items_find(&p->items, MANIFEST_ROOT, names[i]))
			continue;
		o = add_outgoing(p, MANIFEST_ROOT, names[i],
				 SECRET_LEN + format.len, 0);
		buf_add(&o->bytes, store_get_dir(p->store)->key.secret,
			SECRET_LEN);
		buf_add(&o->bytes, format.data, format.len);
	}
	return 0;
}

/* --- sending --- */

static int send_bytes(struct push *p, struct seal_writer *w, const void *data,
		      size_t len, struct err *err)
{
	if (seal_writer_add(w, data, len, err) < 0)
		return destination_explain(p->place.destination, err);
	p->done += len;
	if (p->o->progress)
		p->o->progress(p->o->arg, p->done, p->total);
	return 0;
}

static int send_pack(struct push *p, const struct outgoing *o,
		     struct seal_writer *w, struct err *err)
{
	int dir_fd = store_get_dir(p->store)->packs_fd;
	auto_close int fd =
		openat(dir_fd, o->item.name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	auto_free unsigned char *bytes = mem_alloc(MANIFEST_PART_LEN);
	struct manifest_part part;
	uint64_t done;

	if (fd < 0)
		return fail_errno(err, "open pack %s",
				  text_quote(o->item.name));
	for (done = 0; done < o->item.len; done += part.len) {
		part = manifest_next_part(&o->item, done, o->records);
		if (fd_pread(fd, bytes, part.len, part.at) != (ssize_t)part.len)
			return fail(err, EIO, "pack %s is shorter than before",
				    text_quote(o->item.name));
		if (send_bytes(p, w, bytes, part.len, err) < 0)
			return -err->num;
	}
	return 0;
}

/* Writes one sealed file that has the items. */
static int send_file(struct push *p, struct outgoing *items, size_t count,
		     struct err *err)
{
	enum seal_kind kind = manifest_seal_kind(&items[0].item);
	struct destination *d = p->place.destination;
	auto_free char *dir = manifest_space_path(p->place.space, kind);
	AUTO(destination_file)
	struct atomic_file f = ATOMIC_FILE_NONE;
	AUTO(seal_writer) struct seal_writer *w = NULL;
	AUTO(manifest) struct manifest sent = {.number = 1};
	unsigned char hash[SEAL_HASH_LEN];
	uint64_t offset = 0, len;
	size_t i;

	if (destination_begin(d, dir, &f, err) < 0 ||
	    seal_writer_new(f.fd, d->key, kind, p->place.space, &w, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		struct outgoing *o = &items[i];

		if (o->item.kind <= MANIFEST_TREES
			    ? send_pack(p, o, w, err) < 0
			    : send_bytes(p, w, o->bytes.data, o->bytes.len,
					 err) < 0)
			return -err->num;
		o->item.offset = offset;
		offset += o->item.len;
	}
	if (seal_writer_end(w, hash, &len, err) < 0)
		return destination_explain(d, err);
	for (i = 0; i < count; i++) {
		memcpy(items[i].item.object, hash, sizeof(hash));
		manifest_items_add(&sent.adds, &items[i].item);
		manifest_items_add(&p->manifest.adds, &items[i].item);
	}
	manifest_items_sort(&sent.adds);
	if (destination_publish(d, &f, manifest_object_name(&items[0].item),
				err) < 0)
		return -err->num;
	p->ret->bytes += len;
	p->ret->files++;
	return note_sent(p, &sent, err);
}

/* Each root is a file of its own. */
static int send_bundles(struct push *p, enum seal_kind kind, struct err *err)
{
	struct outgoings *list = &p->outgoing[kind];
	size_t i, first = 0;
	uint64_t len = 0;

	for (i = 0; i <= list->count; i++) {
		uint64_t more = i < list->count ? list->items[i].item.len : 0;

		if (i > first && (i == list->count || kind == SEAL_ROOT ||
				  len + more > BUNDLE_LEN)) {
			if (send_file(p, list->items + first, i - first, err) <
			    0)
				return -err->num;
			first = i;
			len = 0;
		}
		len += more;
	}
	return 0;
}

static int send_manifest(struct push *p, struct err *err)
{
	struct manifest *m = &p->manifest;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	m->number = p->last.number + 1;
	memcpy(m->previous, p->last.hash, SEAL_HASH_LEN);
	m->time = now.tv_sec;
	m->host = mem_strdup(host_name());
	m->home = mem_strdup(p->o->home);
	manifest_items_sort(&m->adds);
	manifest_items_sort(&m->drops);
	manifest_items_advance(&p->items, m);
	/* Two in a row: one of them may be damaged. */
	m->complete = p->complete || p->items.count <= COMPLETE_ITEMS ||
		      (m->number + 1) % COMPLETE_EVERY <= 1;
	if (m->complete) {
		manifest_items_free(&m->adds);
		manifest_items_free(&m->drops);
		m->adds = TAKE(p->items);
	}
	if (manifest_write(&p->place, m, &p->last, err) < 0)
		return -err->num;
	if (m->complete)
		p->items = TAKE(m->adds);
	p->complete = false;
	p->ret->files++;
	return 0;
}

/* times: hash_times() before the store is read. */
static int push_missing(struct push *p, uint64_t times, struct err *err)
{
	/* Nothing has come since the last backup. */
	p->ret->nothing = !p->complete && times && p->times == times;
	if (p->ret->nothing)
		return 0;
	if (collect_snapshots(p, err) < 0 || collect_packs(p, err) < 0)
		return -err->num;
	collect_drops(p);
	p->ret->nothing = !p->complete && !p->outgoing[SEAL_PACKS].count &&
			  !p->outgoing[SEAL_META].count;
	if (p->o->dry_run) {
		p->ret->bytes = p->total;
		return 0;
	}
	/* While a backup is not complete its list has no times. */
	p->times = 0;
	if (!p->ret->nothing &&
	    (collect_roots(p, err) < 0 || save_list(p, err) < 0 ||
	     send_bundles(p, SEAL_PACKS, err) < 0 ||
	     send_bundles(p, SEAL_META, err) < 0 ||
	     send_bundles(p, SEAL_ROOT, err) < 0 || send_manifest(p, err) < 0))
		return -err->num;
	p->times = times;
	if (save_list(p, err) < 0)
		return -err->num;
	(void)unlinkat(p->local_fd, "damaged", 0);
	return 0;
}

int push_lock(int local_fd, const struct destination *d, struct err *err)
{
	int lock = lock_take(local_fd, PUSH_LOCK, true, false, err);

	return lock == -EWOULDBLOCK
		       ? fail(err, EBUSY,
			      "another backup to %s is running: try again when "
			      "it has ended",
			      text_quote(d->path))
		       : lock;
}

int push_store(struct store *s, struct destination *d, int local_fd,
	       const struct push_options *o, struct push_result *ret,
	       struct err *err)
{
	AUTO(push)
	struct push p = {
		.store = s,
		.o = o,
		.ret = ret,
		.place = {.destination = d},
		.local_fd = local_fd,
	};
	auto_close int store_lock =
		lock_take(store_root_fd(s), "lock", false, true, err);
	uint64_t times = 0;

	*ret = (struct push_result){0};
	if (store_lock < 0 || catalog_newest(s, &p.manifest.newest, err) < 0 ||
	    find_place(&p, err) < 0 || hash_times(&p, &times, err) < 0)
		return -err->num;
	memcpy(ret->space, p.place.space, SEAL_SPACE_LEN);
	d->has_backups = p.last.number > 0;
	if (push_missing(&p, times, err) < 0)
		return -err->num;
	if (ret->nothing || !o->dry_run)
		ret->number = p.last.number;
	return 0;
}
