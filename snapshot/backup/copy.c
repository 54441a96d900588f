#include "snapshot/backup/copy.h"

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
#include "base/fd.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/maintain/verify.h"
#include "snapshot/store/store_dir.h"

#define PIECE ((size_t)1 << 20)
/* More missing numbers are not reported. */
#define GAPS_MAX 1000

struct copy_store {
	struct manifest_place place;
	struct manifest_state state;
	struct manifest_names names; /* all manifests there */
	/* Numbers of manifests without which the state is not complete. */
	VEC(uint64_t) missing;
};

/* --- finding --- */

void copy_sources_free(struct copy_sources *s)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		free(s->items[i].host);
		free(s->items[i].home);
		free(s->items[i].fault);
	}
	VEC_FREE(s);
}

static int compare_sources(const void *a, const void *b)
{
	const struct copy_source *x = a, *y = b;

	return (x->time < y->time) - (x->time > y->time);
}

/* Whether a manifest of the next number follows this one. */
static bool has_successor(const struct manifest_place *place,
			  const struct manifest_names *names, size_t i)
{
	size_t k;

	for (k = i + 1; k < names->count; k++) {
		AUTO(manifest) struct manifest m = {0};
		struct err ignored;

		if (names->items[k].number == names->items[i].number)
			continue;
		if (names->items[k].number != names->items[i].number + 1)
			return false;
		if (manifest_read(place, &names->items[k], &m, &ignored) == 0 &&
		    memcmp(m.previous, names->items[i].hash, SEAL_HASH_LEN) ==
			    0)
			return true;
	}
	return false;
}

static void add_source(const struct manifest_place *place,
		       const struct manifest_names *names, size_t newest,
		       struct copy_sources *to)
{
	struct copy_source *s = VEC_ADD(to);
	size_t i = newest + 1;

	memcpy(s->space, place->space, SEAL_SPACE_LEN);
	s->newest = names->items[newest];
	/* Host and time are also those of an older manifest. */
	while (i-- > 0 && !s->host) {
		AUTO(manifest) struct manifest m = {0};
		struct err err;

		if (manifest_read(place, &names->items[i], &m, &err) < 0) {
			if (!s->fault)
				s->fault = mem_strdup(err.text);
			continue;
		}
		s->host = TAKE(m.host);
		s->home = TAKE(m.home);
		s->time = m.time;
		s->snapshots = m.newest;
	}
	if (!s->host) {
		s->host = mem_strdup("");
		s->home = mem_strdup("");
	}
}

/* Every manifest that no other one follows is the end of a chain. Two machines
 * with one state (clones) may each have added one with the same number. */
static int add_sources(const struct manifest_place *place,
		       struct copy_sources *to, struct err *err)
{
	struct manifest_names names = {0};
	int got = manifest_list(place, &names, err);
	size_t i;

	for (i = 0; got == 0 && i < names.count; i++) {
		uint64_t number = names.items[i].number;

		if (number == names.items[names.count - 1].number ||
		    (manifest_has_twin(&names, i) &&
		     !has_successor(place, &names, i)))
			add_source(place, &names, i, to);
	}
	free(names.items);
	return got;
}

int copy_list(const struct destination *d,
	      const unsigned char key[SEAL_KEY_LEN], struct copy_sources *ret,
	      struct err *err)
{
	AUTO(dirlist) struct dirlist top = {0};
	AUTO(copy_sources) struct copy_sources found = {0};
	struct manifest_place place = {.destination = d, .key = key};
	size_t i;

	if (destination_list(d, "", &top, err) < 0)
		return -err->num;
	for (i = 0; i < top.count; i++)
		if (manifest_space_parse(top.items[i].name, place.space) &&
		    add_sources(&place, &found, err) < 0)
			return -err->num;
	if (!found.count)
		return fail(err, ENOENT, "%s has no backup",
			    text_quote(d->path));
	VEC_SORT(&found, compare_sources);
	*ret = TAKE(found);
	return 0;
}

/* --- opening --- */

void copy_free(struct copy_store **c)
{
	if (!*c)
		return;
	manifest_state_free(&(*c)->state);
	VEC_FREE(&(*c)->names);
	VEC_FREE(&(*c)->missing);
	free(*c);
	*c = NULL;
}

/* The manifest of that number in the chain of a source: clones may have written
 * one each. Behind a damaged one: any. */
static struct manifest_name find_number(const struct manifest_place *place,
					const struct copy_source *source,
					const struct manifest_names *names,
					uint64_t number)
{
	struct manifest_name at = source->newest, found = {0};
	size_t i, count = 0;

	for (i = 0; i < names->count; i++)
		if (names->items[i].number == number) {
			found = names->items[i];
			count++;
		}
	while (count > 1 && at.number > number) {
		AUTO(manifest) struct manifest m = {0};
		struct err ignored;

		if (manifest_read(place, &at, &m, &ignored) < 0)
			break;
		at.number--;
		memcpy(at.hash, m.previous, SEAL_HASH_LEN);
	}
	return count > 1 && at.number == number ? at : found;
}

static int load_newest(struct copy_store *c, const struct copy_source *source,
		       uint64_t number, struct err *err)
{
	const struct manifest_names *names = &c->names;
	struct manifest_name from = source->newest;
	bool at_source = false;
	size_t i = names->count;

	if (number)
		from = find_number(&c->place, source, names, number);
	if (number && !from.number)
		return fail(err, ENOENT, "there is no backup %" PRIu64, number);
	while (i-- > 0) {
		const struct manifest_name *n = &names->items[i];
		int got;

		/* The chains of clones end at different ones. */
		at_source = at_source ||
			    (n->number == from.number &&
			     memcmp(n->hash, from.hash, SEAL_HASH_LEN) == 0);
		if (!at_source)
			continue;
		got = manifest_load(&c->place, names, n, &c->state, err);
		if (got == 0 || number)
			return got;
		*VEC_ADD(&c->missing) = n->number;
	}
	return fail(err, EBADMSG, "no manifest of this backup can be read");
}

int copy_open(const struct destination *d,
	      const unsigned char key[SEAL_KEY_LEN],
	      const struct copy_source *source, uint64_t number,
	      struct copy_store **ret, struct err *err)
{
	AUTO(copy) struct copy_store *c = mem_zalloc(sizeof(*c));
	size_t i;

	c->place = (struct manifest_place){.destination = d, .key = key};
	memcpy(c->place.space, source->space, SEAL_SPACE_LEN);
	if (manifest_list(&c->place, &c->names, err) < 0 ||
	    load_newest(c, source, number, err) < 0)
		return -err->num;
	for (i = 0; i < c->state.missing.count; i++)
		*VEC_ADD(&c->missing) = c->state.missing.items[i];
	VEC_SORT(&c->missing, sorted_compare_numbers);
	*ret = TAKE(c);
	return 0;
}

/* --- damage --- */

static void report_manifest(const struct copy_options *o, uint64_t number,
			    const char *why)
{
	if (o->fault)
		o->fault(o->arg, text_printf("backup %" PRIu64, number),
			 "its manifest", why);
}

static uint64_t report_missing(const struct copy_store *c,
			       const struct copy_options *o)
{
	size_t i;

	for (i = 0; i < c->missing.count; i++)
		report_manifest(o, c->missing.items[i],
				"missing or damaged: files that only it lists "
				"are lost");
	return c->missing.count;
}

/* --- unpacking --- */

struct unpack {
	struct copy_store *c;
	const struct copy_options *o;
	int dir_fd, packs_fd, snaps_fd;
	const bool *wanted; /* for each item, or NULL: all */
	struct names cut; /* packs whose records are damaged */
	uint64_t faults, done, total;
	unsigned char *bytes; /* PIECE */
};

static void report_fault(struct unpack *u, const struct manifest_item *item,
			 const char *why)
{
	auto_free char *path = manifest_object_path(&u->c->place, item);

	u->faults++;
	if (u->o->fault)
		u->o->fault(u->o->arg, path, item->name, why);
}

/* Items in the order in which their files have them. */
static int compare_places(const void *a, const void *b)
{
	const struct manifest_item *x = *(const struct manifest_item *const *)a;
	const struct manifest_item *y = *(const struct manifest_item *const *)b;
	int order = memcmp(x->object, y->object, SEAL_HASH_LEN);

	return order ? order
		     : (x->offset > y->offset) - (x->offset < y->offset);
}

/* A name of a manifest becomes a name in the new store. */
static bool is_good_name(const struct manifest_item *item)
{
	size_t len = strlen(item->name);

	if (item->kind == MANIFEST_SNAPSHOT)
		return catalog_file_seq(item->name) != 0;
	if (item->kind == MANIFEST_FILE)
		return strcmp(item->name, "gone") == 0 ||
		       strcmp(item->name, "lost") == 0 ||
		       strcmp(item->name, "pins") == 0;
	return len > 4 && strcmp(item->name + len - 4, ".gpk") == 0;
}

/* Where the n-th byte of an item belongs in its file. */
static uint64_t place_in_file(const struct unpack *u,
			      const struct manifest_item *item, uint64_t n)
{
	const struct manifest_item *records;

	if (item->kind == MANIFEST_RECORDS)
		return HEADER_LEN + n;
	if (item->kind != MANIFEST_INDEX || n < HEADER_LEN)
		return n;
	records = manifest_items_find(&u->c->state.items, MANIFEST_RECORDS,
				      item->name);
	return n + (records ? records->len : 0);
}

static int target_dir(const struct unpack *u, const struct manifest_item *item)
{
	return item->kind == MANIFEST_SNAPSHOT ? u->snaps_fd
	       : item->kind == MANIFEST_FILE   ? u->dir_fd
					       : u->packs_fd;
}

static int open_target(const struct unpack *u, const struct manifest_item *item)
{
	int dir_fd = target_dir(u, item);
	bool pack = dir_fd == u->packs_fd;
	int fd = openat(dir_fd, item->name,
			O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
				(pack ? 0 : O_TRUNC),
			0600);

	/* Files are 0400; this process may have made it before. */
	if (fd < 0 && errno == EACCES &&
	    fchmodat(dir_fd, item->name, 0600, 0) == 0)
		fd = openat(dir_fd, item->name,
			    O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	return fd;
}

static bool is_pack(const struct manifest_item *item)
{
	return item->kind <= MANIFEST_TREES;
}

/* A pack without all of its records must not look complete: it ends behind the
 * intact ones and gets no index, so that its index is made of these. Without
 * records there is no pack: see copy_fetch(). */
static void end_damaged(struct unpack *u, const struct manifest_item *item,
			int fd, uint64_t len)
{
	bool is_index = item->kind == MANIFEST_INDEX;

	if (u->wanted)
		return;
	if (item->kind == MANIFEST_RECORDS)
		names_add(&u->cut, item->name);
	if (fd >= 0 && is_pack(item) && len && !(is_index && u->o->lazy) &&
	    ftruncate(fd, (off_t)place_in_file(u, item, len)) == 0)
		return;
	if (!is_index || u->o->lazy)
		(void)unlinkat(target_dir(u, item), item->name, 0);
}

/* Reads the next n bytes, PIECE at most, of a file of the destination. */
static int read_piece(struct unpack *u, struct seal_reader *r, size_t n,
		      struct err *err)
{
	size_t got;

	if (seal_reader_read(r, u->bytes, n, &got, err) < 0)
		return -err->num;
	return got < n ? fail(err, EBADMSG, "it is too short") : 0;
}

/* Copies one item out of its file, which r reads at its offset, and moves *at
 * behind it. 1: the file is damaged; err says how. */
static int unpack_item(struct unpack *u, struct seal_reader *r,
		       const struct manifest_item *item, uint64_t *at,
		       struct err *err)
{
	auto_close int fd = open_target(u, item);
	uint64_t done = 0, len = item->len;
	unsigned char last[8];

	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(item->name));
	if (item->kind == MANIFEST_INDEX && names_have(&u->cut, item->name))
		len = HEADER_LEN;
	while (done < len) {
		uint64_t left = len - done;
		size_t n = left < PIECE ? (size_t)left : PIECE;

		/* The header of a pack is apart from its index. */
		if (item->kind == MANIFEST_INDEX && done < HEADER_LEN &&
		    n > HEADER_LEN - done)
			n = (size_t)(HEADER_LEN - done);
		if (read_piece(u, r, n, err) < 0) {
			end_damaged(u, item, fd, done);
			return 1;
		}
		if (fd_pwrite(fd, u->bytes, n, place_in_file(u, item, done)) <
		    0)
			return fail_errno(err, "write %s",
					  text_quote(item->name));
		done += n;
		*at += n;
		u->done += n;
		if (u->o->progress)
			u->o->progress(u->o->arg, u->done, u->total);
	}
	/* Records may all end with zeros: check_hash(). */
	if (item->kind != MANIFEST_RECORDS && len == item->len && len >= 8 &&
	    (fd_pread(fd, last, 8, place_in_file(u, item, len - 8)) != 8 ||
	     get_le(last, 8) != item->check)) {
		/* A whole pack has its own index. */
		if (item->kind != MANIFEST_TREES)
			end_damaged(u, item, fd, HEADER_LEN);
		(void)fail(err, EBADMSG, "it has the content of another file");
		return 1;
	}
	if (fchmod(fd, 0400) < 0)
		return fail_errno(err, "protect %s", text_quote(item->name));
	return 0;
}

static int skip_to(struct unpack *u, struct seal_reader *r, uint64_t *at,
		   uint64_t offset, struct err *err)
{
	while (*at < offset) {
		uint64_t left = offset - *at;
		size_t n = left < PIECE ? (size_t)left : PIECE;

		if (read_piece(u, r, n, err) < 0)
			return -err->num;
		*at += n;
	}
	return 0;
}

/* Reads the whole file; the pages that were read before are in memory. */
static int check_hash(int fd, const struct manifest_item *item, struct err *err)
{
	unsigned char hash[SEAL_HASH_LEN];
	uint64_t len;

	if (seal_hash_file(fd, hash, &len, err) < 0)
		return -err->num;
	return memcmp(hash, item->object, SEAL_HASH_LEN) == 0
		       ? 0
		       : fail(err, EBADMSG, "its bytes do not match its name");
}

/* All items of one file. Its damage is reported for each item that lacks bytes,
 * and is no failure. */
static int unpack_file(struct unpack *u, const struct manifest_item **items,
		       size_t count, struct err *err)
{
	const struct manifest_place *place = &u->c->place;
	auto_free char *path = manifest_object_path(place, items[0]);
	AUTO(seal_reader) struct seal_reader *r = NULL;
	auto_close int fd = -1;
	uint64_t at = 0, faults = u->faults;
	bool damaged;
	size_t i;
	int got;

	got = fd = destination_read(place->destination, path, err);
	if (got >= 0)
		got = seal_reader_new(fd, place->key,
				      manifest_seal_kind(items[0]),
				      place->space, &r, err);
	if (got < 0 && !destination_is_damage(got))
		return got;
	damaged = got < 0;
	for (i = 0; i < count; i++) {
		damaged = damaged ||
			  skip_to(u, r, &at, items[i]->offset, err) < 0;
		/* A pack without intact records does not exist. */
		if (items[i]->kind == MANIFEST_INDEX &&
		    names_have(&u->cut, items[i]->name) &&
		    !fd_exists(u->packs_fd, items[i]->name))
			continue;
		if (!damaged) {
			got = unpack_item(u, r, items[i], &at, err);
			if (got < 0)
				return got;
			damaged = got;
		} else if (items[i]->kind == MANIFEST_RECORDS) {
			end_damaged(u, items[i], -1, 0);
		}
		if (damaged)
			report_fault(u, items[i], err->text);
		/* Another content in the file says nothing about the next. */
		if (at == items[i]->offset + items[i]->len)
			damaged = false;
	}
	if (u->faults > faults || u->wanted ||
	    check_hash(fd, items[0], err) == 0)
		return 0;
	/* The seal also accepts another file of this namespace. Its records are
	 * intact, but not those that the index of the pack describes: the index
	 * is made of them again. */
	for (i = 0; i < count; i++) {
		if (items[i]->kind == MANIFEST_RECORDS)
			names_add(&u->cut, items[i]->name);
		report_fault(u, items[i], err->text);
	}
	return 0;
}
/* Unpacks the wanted items, each file of the destination once: records, or all
 * others. */
static int unpack_kinds(struct unpack *u, bool records, struct err *err)
{
	const struct manifest_items *all = &u->c->state.items;
	VEC(const struct manifest_item *) list = {0};
	size_t i, first = 0;
	int got = 0;

	for (i = 0; i < all->count; i++) {
		const struct manifest_item *item = &all->items[i];

		if (item->kind == MANIFEST_ROOT ||
		    (item->kind == MANIFEST_RECORDS) != records ||
		    (u->wanted ? !u->wanted[i] : u->o->lazy && records))
			continue;
		if (!is_good_name(item)) {
			report_fault(u, item, "its name is invalid");
			continue;
		}
		*VEC_ADD(&list) = item;
		u->total += item->len;
	}
	VEC_SORT(&list, compare_places);
	for (i = 1; i <= list.count && got == 0; i++) {
		if (i < list.count &&
		    memcmp(list.items[first]->object, list.items[i]->object,
			   SEAL_HASH_LEN) == 0)
			continue;
		got = unpack_file(u, list.items + first, i - first, err);
		first = i;
	}
	VEC_FREE(&list);
	return got;
}

static int unpack_items(struct unpack *u, struct err *err)
{
	int got;

	u->bytes = mem_alloc(PIECE);
	got = unpack_kinds(u, true, err);
	return got < 0 ? got : unpack_kinds(u, false, err);
}

static int make_dirs(struct unpack *u, const char *dir, struct err *err)
{
	static const char *const names[] = {"packs", "snaps", "tmp", "trash"};
	size_t i;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create %s", text_quote(dir));
	u->dir_fd = store_dir_open_subdir(AT_FDCWD, dir, err);
	if (u->dir_fd < 0)
		return u->dir_fd;
	if (fd_exists(u->dir_fd, "FORMAT"))
		return fail(err, EEXIST, "%s is a store already",
			    text_quote(dir));
	if (atomic_clear(u->dir_fd, err) < 0)
		return -err->num;
	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (mkdirat(u->dir_fd, names[i], 0700) < 0 && errno != EEXIST)
			return fail_errno(err, "create %s in %s", names[i],
					  text_quote(dir));
	u->packs_fd = store_dir_open_subdir(u->dir_fd, "packs", err);
	if (u->packs_fd < 0)
		return u->packs_fd;
	u->snaps_fd = store_dir_open_subdir(u->dir_fd, "snaps", err);
	return u->snaps_fd < 0 ? u->snaps_fd : 0;
}

/* The number behind which the next snapshot is counted, then FORMAT, with
 * which the store exists. All else is durable before. */
static int finish_store(struct unpack *u, const struct buf *root,
			struct err *err)
{
	auto_free char *highest =
		mem_printf("%019" PRIu64 "\n", u->c->state.last.newest);

	if (atomic_write(u->dir_fd, "commit.lock", highest, strlen(highest),
			 0600, ATOMIC_NO_SYNC, err) < 0 ||
	    atomic_write(u->dir_fd, "lock", "", 0, 0600, ATOMIC_NO_SYNC, err) <
		    0)
		return -err->num;
	if (syncfs(u->dir_fd) < 0)
		return fail_errno(err, "sync the store");
	if (atomic_write(u->dir_fd, "FORMAT", root->data + SECRET_LEN,
			 root->len - SECRET_LEN, 0400, ATOMIC_DURABLE, err) < 0)
		return -err->num;
	/* Later than FORMAT: without it the next call writes there again. */
	return fchmod(u->packs_fd, 0500) < 0 || fchmod(u->snaps_fd, 0500) < 0 ||
			       fchmod(u->dir_fd, 0500) < 0
		       ? fail_errno(err, "close the store")
		       : 0;
}

static void unpack_free(struct unpack *u)
{
	fd_close(&u->dir_fd);
	fd_close(&u->packs_fd);
	fd_close(&u->snaps_fd);
	names_free(&u->cut);
	free(u->bytes);
}

static int report_lost(void *arg, const struct verify_fault *f, struct err *err)
{
	struct unpack *u = arg;
	auto_free char *what = mem_printf("snapshot %" PRIu64, f->seq);

	(void)err;
	u->faults++;
	if (u->o->fault)
		u->o->fault(u->o->arg, what, f->name, f->text);
	return 0;
}

/* The backup of a damaged store is not complete, though all of its files are
 * intact. */
static int check_store(struct unpack *u, const char *dir, struct err *err)
{
	const struct verify_options o = {.fault = report_lost, .arg = u};
	AUTO(store) struct store *s = NULL;
	struct verify_result r;

	if (store_open(&s, dir, STORE_READ, err) < 0 ||
	    verify_store(s, &o, &r, err) < 0)
		return -err->num;
	return 0;
}

int copy_unpack(struct copy_store *c, const char *dir,
		const struct copy_options *o, uint64_t *ret_faults,
		struct err *err)
{
	AUTO(unpack)
	struct unpack u = {
		.c = c,
		.o = o,
		.dir_fd = -1,
		.packs_fd = -1,
		.snaps_fd = -1,
		.faults = report_missing(c, o),
	};
	AUTO(buf) struct buf root = {0};
	int got;

	got = make_dirs(&u, dir, err);
	if (got == 0)
		got = manifest_read_root(&c->place, &root, err);
	if (got == 0)
		got = store_dir_write_secrets(u.dir_fd, root.data, err);
	if (got == 0)
		got = unpack_items(&u, err);
	if (got == 0)
		got = finish_store(&u, &root, err);
	if (got == 0 && !o->lazy && u.faults == c->missing.count)
		got = check_store(&u, dir, err);
	if (root.data)
		explicit_bzero(root.data, root.len);
	*ret_faults = u.faults;
	return got;
}

/* The packs with an object that was reached. */
static bool has_reached(const struct inventory_pack *pack)
{
	uint32_t i;

	for (i = 0; pack->pack && i < pack_count(pack->pack); i++)
		if (pack->flags[i] & COPY_REACHED)
			return true;
	return false;
}

static int note_lost(void *arg, const char *path, const struct entry *e,
		     const char *why, struct err *err)
{
	bool *lost = arg;

	(void)path;
	(void)e;
	(void)why;
	(void)err;
	*lost = true;
	return 0;
}

int copy_fetch(struct copy_store *c, const char *dir, struct store *s,
	       const struct entry *e, struct err *err)
{
	static const struct copy_options none;
	AUTO(inventory) struct inventory inv = {0};
	AUTO(unpack)
	struct unpack u = {
		.c = c,
		.o = &none,
		.dir_fd = store_dir_open_subdir(AT_FDCWD, dir, err),
		.packs_fd = -1,
		.snaps_fd = -1,
	};
	auto_free bool *wanted =
		mem_zalloc(c->state.items.count * sizeof(*wanted) + 1);
	bool lost = false;
	size_t i;

	if (u.dir_fd < 0)
		return u.dir_fd;
	u.packs_fd = store_dir_open_subdir(u.dir_fd, "packs", err);
	if (u.packs_fd < 0)
		return u.packs_fd;
	u.wanted = wanted;
	if (inventory_load(s, &inv, err) < 0 ||
	    reach_check(&inv, e, note_lost, &lost, err) < 0)
		return -err->num;
	for (i = 0; i < inv.count; i++) {
		const struct manifest_item *records = manifest_items_find(
			&c->state.items, MANIFEST_RECORDS, inv.packs[i].name);

		if (records && has_reached(&inv.packs[i]))
			wanted[records - c->state.items.items] = true;
	}
	/* A pack whose index is lost does not exist so far, and may have any
	 * object. */
	for (i = 0; lost && i < c->state.items.count; i++)
		wanted[i] |=
			c->state.items.items[i].kind == MANIFEST_RECORDS &&
			!fd_exists(u.packs_fd, c->state.items.items[i].name);
	return lost && fchmod(u.packs_fd, 0700) < 0
		       ? fail_errno(err, "open packs in %s", text_quote(dir))
		       : unpack_items(&u, err);
}

/* --- checking --- */

/* Bytes of a sealed file with that much content. */
static uint64_t sealed_len(uint64_t content)
{
	return SEAL_OVERHEAD + content +
	       (content / SEAL_FRAME_LEN + 1) * SEAL_FRAME_ADDS;
}

static int check_file(const struct copy_store *c,
		      const struct manifest_item *last, bool read_data,
		      uint64_t *ret_len, struct err *err)
{
	const struct manifest_place *place = &c->place;
	auto_free char *path = manifest_object_path(place, last);
	auto_close int fd = destination_read(place->destination, path, err);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return fail_errno(err, "read it");
	*ret_len = (uint64_t)st.st_size;
	/* The last items of a file may have been dropped since. */
	if (*ret_len < sealed_len(last->offset + last->len))
		return fail(err, EBADMSG,
			    "it has %" PRIu64 " bytes instead of %" PRIu64,
			    *ret_len, sealed_len(last->offset + last->len));
	return read_data ? check_hash(fd, last, err) : 0;
}

static bool is_sampled(unsigned int percentage)
{
	unsigned char random;

	mem_random(&random, 1);
	return random * 100u < percentage * 256u;
}

/* A prune deletes the oldest manifests, so that a number between two others is
 * missing because its file was removed or hidden. Those that are there are read
 * with read_data. */
static uint64_t report_others(const struct copy_store *c,
			      const struct copy_options *o)
{
	const struct manifest_name *n = c->names.items;
	uint64_t count = 0, number;
	size_t i;

	for (i = 0; i < c->names.count; i++) {
		AUTO(manifest) struct manifest m = {0};
		struct err err;

		/* Clones may have written two of one number. */
		number = n[i].number;
		if (i && n[i - 1].number < number)
			number = n[i - 1].number + 1;
		for (; number <= n[i].number && count < GAPS_MAX; number++) {
			bool there = number == n[i].number;

			if (sorted_find_number(number, c->missing.items,
					       c->missing.count,
					       sizeof(number)) ||
			    (there &&
			     (!o->read_data ||
			      manifest_read(&c->place, &n[i], &m, &err) == 0)))
				continue;
			count++;
			report_manifest(o, number,
					there ? err.text
					      : "missing; later ones have all "
						"its files");
		}
	}
	return count;
}

int copy_verify(struct copy_store *c, const struct copy_options *o,
		struct copy_verify_result *ret, struct err *err)
{
	struct unpack u = {.c = c, .o = o};
	const struct manifest_items *all = &c->state.items;
	auto_free const struct manifest_item **list =
		mem_alloc((all->count + 1) * sizeof(*list));
	struct copy_verify_result r = {
		.faults = report_missing(c, o) + report_others(c, o),
	};
	uint64_t total = 0, done = 0;
	size_t i, k, first = 0;

	for (i = 0; i < all->count; i++) {
		list[i] = &all->items[i];
		total += all->items[i].len;
		r.snapshots += all->items[i].kind == MANIFEST_SNAPSHOT;
		r.packs += all->items[i].kind == MANIFEST_INDEX ||
			   all->items[i].kind == MANIFEST_TREES;
	}
	vec_sort(list, all->count, sizeof(*list), compare_places);
	for (i = 0; i < all->count; i++) {
		bool read_data =
			o->sample ? is_sampled(o->sample) : o->read_data;
		uint64_t len = 0;
		int got;

		done += list[i]->len;
		if (i + 1 < all->count &&
		    memcmp(list[i]->object, list[i + 1]->object,
			   SEAL_HASH_LEN) == 0)
			continue;
		got = check_file(c, list[i], read_data, &len, err);
		if (got < 0 && !destination_is_damage(got))
			return got;
		for (k = first; got < 0 && k <= i; k++)
			report_fault(&u, list[k], err->text);
		first = i + 1;
		r.files++;
		r.bytes += len;
		if (o->progress)
			o->progress(o->arg, done, total);
	}
	r.faults += u.faults;
	*ret = r;
	return r.faults != 0;
}
