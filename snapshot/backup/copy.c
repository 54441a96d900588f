#include "snapshot/backup/copy.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/maintain/reach.h"
#include "snapshot/maintain/verify.h"
#include "snapshot/store/store_dir.h"

/* So many faults, and no more missing numbers are reported. */
#define FAULTS_MAX 1000

/* --- finding --- */

void copy_sources_free(struct copy_sources *s)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		free(s->items[i].name);
		free(s->items[i].host);
		free(s->items[i].home);
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
	const struct manifest_name *n = names->items;
	size_t k;

	for (k = i + 1; k < names->count && n[k].number <= n[i].number + 1;
	     k++) {
		AUTO(manifest) struct manifest m = {0};
		struct err ignored;

		if (manifest_read(place, &n[k], &m, &ignored) == 0 &&
		    memcmp(m.previous, n[i].hash, SEAL_HASH_LEN) == 0)
			return true;
	}
	return false;
}

/* The first `count` manifests are a chain. */
static void add_source(const struct manifest_place *place,
		       const struct manifest_name *names, size_t count,
		       struct copy_sources *to)
{
	struct copy_source *s = VEC_ADD(to);
	size_t i = count;

	memcpy(s->space, place->space, SEAL_SPACE_LEN);
	s->damaged = !count;
	if (count)
		s->newest = names[count - 1];
	/* Host and time are also those of an older manifest. */
	while (i-- > 0 && !s->host) {
		AUTO(manifest) struct manifest m = {0};
		struct err ignored;

		if (manifest_read(place, &names[i], &m, &ignored) < 0) {
			s->damaged = true;
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
 * with one state (clones) may each have added one with the same number. A
 * damaged directory hides no other machine's. */
static int add_sources(const struct manifest_place *place,
		       struct copy_sources *to, struct err *err)
{
	AUTO(manifest_names) struct manifest_names names = {0};
	size_t i, first = to->count;
	int got = manifest_list(place, &names, err);

	if (got < 0 && !destination_is_damage(got))
		return got;
	if (got < 0)
		add_source(place, NULL, 0, to);
	for (i = 0; i < names.count; i++) {
		uint64_t number = names.items[i].number;

		if (number == names.items[names.count - 1].number ||
		    (manifest_has_twin(&names, i) &&
		     !has_successor(place, &names, i)))
			add_source(place, names.items, i + 1, to);
	}
	for (i = first; i < to->count; i++) {
		struct copy_source *s = &to->items[i];

		s->forked = to->count > first + 1;
		s->name = manifest_path(s->space, SEAL_ROOT,
					s->forked ? text_hex(s->newest.hash, 4)
						  : "");
	}
	return 0;
}

int copy_list(struct destination *d, struct copy_sources *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist top = {0};
	AUTO(copy_sources) struct copy_sources found = {0};
	struct manifest_place place = {.destination = d};
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

void copy_free(struct copy_store *c)
{
	manifest_state_free(&c->state);
	manifest_names_free(&c->names);
}

int copy_open(struct destination *d, const struct copy_source *source,
	      uint64_t number, struct copy_store *ret, struct err *err)
{
	ret->place.destination = d;
	memcpy(ret->place.space, source->space, SEAL_SPACE_LEN);
	return manifest_list(&ret->place, &ret->names, err) < 0
		       ? -err->num
		       : manifest_load(&ret->place, &ret->names,
				       &source->newest, number, &ret->state,
				       err);
}

/* --- work on the files of a copy --- */

struct work {
	struct copy_store *c;
	const struct copy_options *o;
	VEC(const struct manifest_item *) items; /* wanted ones */
	uint64_t faults;
	uint64_t done, total; /* bytes of items */
	unsigned char *bytes; /* MANIFEST_PART_LEN */
	struct copy_verify_result result; /* of copy_verify() */
	/* For a store that is made. */
	int dir_fd;
	struct buf root;
	struct names cut; /* packs whose records are damaged */
};

static struct work begin_work(struct copy_store *c,
			      const struct copy_options *o)
{
	return (struct work){
		.c = c,
		.o = o,
		.bytes = mem_alloc(MANIFEST_PART_LEN),
		.dir_fd = -1,
	};
}

static void work_free(struct work *w)
{
	VEC_FREE(&w->items);
	free(w->bytes);
	fd_close(&w->dir_fd);
	if (w->root.data)
		explicit_bzero(w->root.data, w->root.len);
	buf_free(&w->root);
	names_free(&w->cut);
}

static void want_item(struct work *w, const struct manifest_item *item)
{
	*VEC_ADD(&w->items) = item;
	w->total += item->len;
}

static void make_progress(struct work *w, uint64_t len)
{
	w->done += len;
	if (w->o->progress)
		w->o->progress(w->o->arg, w->done, w->total);
}

static void report(struct work *w, const char *object, const char *what,
		   const char *why)
{
	w->faults++;
	if (w->o->fault)
		w->o->fault(w->o->arg, object, what, why);
}

static void report_item(struct work *w, const struct manifest_item *item,
			const char *why)
{
	auto_free char *path = manifest_object_path(&w->c->place, item);

	report(w, path, item->name, why);
}

static void report_manifest(struct work *w, uint64_t number, const char *why)
{
	report(w, text_printf("backup %" PRIu64, number), "its manifest", why);
}

static void report_missing(struct work *w)
{
	size_t i;

	for (i = 0; i < w->c->state.missing.count; i++)
		report_manifest(w, w->c->state.missing.items[i],
				"missing or damaged: files that only it lists "
				"are lost");
}

/* The records of packs first, and items in the order in which their files have
 * them. */
static int compare_places(const void *a, const void *b)
{
	const struct manifest_item *x = *(const struct manifest_item *const *)a;
	const struct manifest_item *y = *(const struct manifest_item *const *)b;
	int order =
		(y->kind == MANIFEST_RECORDS) - (x->kind == MANIFEST_RECORDS);

	if (!order)
		order = memcmp(x->object, y->object, SEAL_HASH_LEN);
	return order ? order
		     : (x->offset > y->offset) - (x->offset < y->offset);
}

/* Calls each() for each file that has wanted items, with these. */
static int each_file(struct work *w,
		     int (*each)(struct work *w,
				 const struct manifest_item **items,
				 size_t count, struct err *err),
		     struct err *err)
{
	const struct manifest_item **items;
	size_t i, first = 0;

	VEC_SORT(&w->items, compare_places);
	items = w->items.items;
	for (i = 1; i <= w->items.count; i++) {
		if (i < w->items.count &&
		    memcmp(items[first]->object, items[i]->object,
			   SEAL_HASH_LEN) == 0)
			continue;
		if (each(w, items + first, i - first, err) < 0)
			return -err->num;
		first = i;
	}
	return 0;
}

/* Opens the file of an item. */
static int open_file(const struct work *w, const struct manifest_item *item,
		     struct err *err)
{
	const struct manifest_place *place = &w->c->place;
	auto_free char *path = manifest_object_path(place, item);

	return destination_read(place->destination, path, err);
}

/* Bytes of a sealed file that ends with an item. */
static uint64_t sealed_len(const struct manifest_item *last)
{
	uint64_t content = last->offset + last->len;

	return SEAL_OVERHEAD + content +
	       (content / SEAL_FRAME_LEN + 1) * SEAL_FRAME_ADDS;
}

/* --- unpacking --- */

/* A name of a manifest becomes a name in the new store. */
static bool is_good_name(const struct manifest_item *item)
{
	if (item->kind == MANIFEST_SNAPSHOT)
		return catalog_file_seq(item->name) != 0;
	if (item->kind == MANIFEST_FILE)
		return strcmp(item->name, "gone") == 0 ||
		       strcmp(item->name, "lost") == 0 ||
		       strcmp(item->name, "pins") == 0;
	return path_ends(item->name, ".gpk");
}

/* The path of an item in the new store; to free. */
static char *target_path(const struct manifest_item *item)
{
	return path_join(item->kind == MANIFEST_SNAPSHOT ? "snaps"
			 : item->kind == MANIFEST_FILE	 ? ""
							 : "packs",
			 item->name);
}

static int open_target(const struct work *w, const struct manifest_item *item)
{
	auto_free char *path = target_path(item);
	int fd;

	/* The records of its pack may have made it. */
	(void)!fchmodat(w->dir_fd, path, 0600, 0);
	fd = openat(w->dir_fd, path,
		    O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd >= 0 && fchmod(fd, 0400) < 0)
		fd_close(&fd);
	return fd;
}

/* Copies one item out of its file. 1: the file is damaged, and the bytes before
 * are there; err says how. */
static int unpack_item(struct work *w, struct seal_reader *r,
		       const struct manifest_item *item, struct err *err)
{
	const struct manifest_item *records = manifest_items_find(
		&w->c->state.items, MANIFEST_RECORDS, item->name);
	auto_close int fd = -1;
	uint64_t done = 0;

	do {
		struct manifest_part part = manifest_next_part(
			item, done, records ? records->len : 0);
		size_t got;

		if (seal_reader_read(r, item->offset + done, w->bytes, part.len,
				     &got, err) < 0)
			return 1;
		if (got < part.len) {
			(void)fail(err, EBADMSG, "it is too short");
			return 1;
		}
		if (fd < 0)
			fd = open_target(w, item);
		if (fd < 0 || fd_pwrite(fd, w->bytes, part.len, part.at) < 0)
			return fail_errno(err, "write %s",
					  text_quote(item->name));
		done += part.len;
		make_progress(w, part.len);
	} while (done < item->len);
	return 0;
}

/* Whether a damaged file is intact without the bytes behind its last item; the
 * descriptor then is one of a copy without them. */
static bool cut_file(const struct manifest_item *last, int fd)
{
	auto_close int cut = memfd_create("backup", MFD_CLOEXEC);
	struct err ignored;
	off_t at = 0;

	return sendfile(cut, fd, &at, sealed_len(last)) > 0 &&
	       lseek(cut, 0, SEEK_SET) == 0 &&
	       seal_check_file(cut, last->object, &ignored) == 0 &&
	       dup3(cut, fd, O_CLOEXEC) >= 0;
}

/*
 * The items of one file. Its damage is reported for each of them, and is no
 * failure. Of damaged packs the records in front of the damage are unpacked.
 * Those of another file of this namespace, which the seal accepts, are intact
 * records, too. But their pack must not look complete, and the index describes
 * others: without it, it is made of the records. Other items of a damaged file
 * are lost.
 */
static int unpack_file(struct work *w, const struct manifest_item **items,
		       size_t count, struct err *err)
{
	const struct manifest_place *place = &w->c->place;
	AUTO(seal_reader) struct seal_reader *r = NULL;
	auto_close int fd = open_file(w, items[0], err);
	bool records = items[0]->kind == MANIFEST_RECORDS, whole;
	int got = fd < 0 ? fd : seal_check_file(fd, items[0]->object, err);
	size_t i;

	if (got < 0 && !destination_is_damage(got))
		return got;
	whole = got == 0 || cut_file(items[count - 1], fd);
	if (whole || (records && fd >= 0))
		(void)seal_reader_new(fd, place->destination->key,
				      manifest_seal_kind(items[0]),
				      place->space, &r, err);
	for (i = 0; i < count; i++) {
		const struct manifest_item *item = items[i];

		if (!is_good_name(item)) {
			report_item(w, item, "its name is invalid");
			continue;
		}
		if (item->kind == MANIFEST_INDEX &&
		    names_have(&w->cut, item->name))
			continue;
		got = r ? unpack_item(w, r, item, err) : 1;
		if (got < 0)
			return got;
		if (whole && got == 0)
			continue;
		report_item(w, item, err->text);
		if (records)
			names_add(&w->cut, item->name);
	}
	return 0;
}

static int make_dirs(struct work *w, const char *dir, struct err *err)
{
	if (mkdir(dir, 0700) < 0)
		return fail_errno(err, "create %s", text_quote(dir));
	w->dir_fd = store_dir_open_subdir(AT_FDCWD, dir, err);
	return w->dir_fd < 0 || store_dir_make_subdirs(w->dir_fd, err) < 0
		       ? -err->num
		       : store_dir_set_modes(w->dir_fd, 0700, err);
}

/* The number behind which the next snapshot is counted, then FORMAT, with
 * which the store exists. All else is durable before. */
static int finish_store(struct work *w, struct err *err)
{
	auto_free char *highest =
		mem_printf("%019" PRIu64 "\n", w->c->state.last.newest);

	if (atomic_write(w->dir_fd, "commit.lock", highest, strlen(highest),
			 0600, ATOMIC_NO_SYNC, err) < 0 ||
	    atomic_write(w->dir_fd, "lock", "", 0, 0600, ATOMIC_NO_SYNC, err) <
		    0)
		return -err->num;
	if (syncfs(w->dir_fd) < 0)
		return fail_errno(err, "sync the store");
	if (atomic_write(w->dir_fd, "FORMAT", w->root.data + SECRET_LEN,
			 w->root.len - SECRET_LEN, 0400, ATOMIC_DURABLE,
			 err) < 0)
		return -err->num;
	/* Later than FORMAT, which is written there. */
	return store_dir_set_modes(w->dir_fd, 0500, err);
}

static int report_lost(void *arg, const struct verify_fault *f, struct err *err)
{
	(void)err;
	report(arg, text_printf("snapshot %" PRIu64, f->seq), f->name, f->text);
	return 0;
}

/* The backup of a damaged store is not complete, though all of its files are
 * intact. */
static int check_store(struct work *w, const char *dir, struct err *err)
{
	const struct verify_options o = {.fault = report_lost, .arg = w};
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
	AUTO(work) struct work w = begin_work(c, o);
	const struct manifest_items *all = &c->state.items;
	size_t i;

	report_missing(&w);
	for (i = 0; i < all->count; i++)
		if (all->items[i].kind != MANIFEST_ROOT &&
		    !(o->lazy && all->items[i].kind == MANIFEST_RECORDS))
			want_item(&w, &all->items[i]);
	if (make_dirs(&w, dir, err) < 0 ||
	    manifest_read_root(&c->place, &w.root, err) < 0 ||
	    store_dir_write_secrets(w.dir_fd, w.root.data, err) < 0 ||
	    each_file(&w, unpack_file, err) < 0 || finish_store(&w, err) < 0 ||
	    (!o->lazy && w.faults == c->state.missing.count &&
	     check_store(&w, dir, err) < 0))
		return -err->num;
	*ret_faults = w.faults;
	return 0;
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
	       const struct entry *entries, size_t count, struct err *err)
{
	static const struct copy_options none;
	const struct manifest_items *all = &c->state.items;
	AUTO(inventory) struct inventory inv = {0};
	AUTO(work) struct work w = begin_work(c, &none);
	bool lost = false;
	size_t i;

	w.dir_fd = store_dir_open_subdir(AT_FDCWD, dir, err);
	if (w.dir_fd < 0 || inventory_load(s, &inv, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		if (reach_check(&inv, &entries[i], note_lost, &lost, err) < 0)
			return -err->num;
	for (i = 0; i < inv.count; i++) {
		const struct manifest_item *records = manifest_items_find(
			all, MANIFEST_RECORDS, inv.packs[i].name);

		if (records && has_reached(&inv.packs[i]))
			want_item(&w, records);
	}
	/* A pack whose index is lost does not exist so far, and may have any
	 * object. */
	for (i = 0; lost && i < all->count; i++) {
		auto_free char *path = target_path(&all->items[i]);

		if (all->items[i].kind == MANIFEST_RECORDS &&
		    !fd_exists(w.dir_fd, path))
			want_item(&w, &all->items[i]);
	}
	if (lost && fchmodat(w.dir_fd, "packs", 0700, 0) < 0)
		return fail_errno(err, "open packs in %s", text_quote(dir));
	return each_file(&w, unpack_file, err);
}

/* --- checking --- */

static bool is_sampled(unsigned int percentage)
{
	unsigned char random;

	mem_random(&random, 1);
	return random * 100u < percentage * 256u;
}

/* A longer file is read: its last items may have been dropped since, or bytes
 * were added. */
static int verify_file(struct work *w, const struct manifest_item **items,
		       size_t count, struct err *err)
{
	const struct manifest_item *last = items[count - 1];
	uint64_t least = sealed_len(last), len = 0;
	auto_close int fd = open_file(w, last, err);
	int got = fd;
	struct stat st;
	size_t i;

	if (fd >= 0 && fstat(fd, &st) == 0)
		len = (uint64_t)st.st_size;
	if (fd >= 0 && len < least)
		got = fail(err, EBADMSG,
			   "it has %" PRIu64 " bytes instead of %" PRIu64, len,
			   least);
	else if (len > least || (len && is_sampled(w->o->read_percentage)))
		got = seal_check_file(fd, last->object, err);
	if (got < 0 && !destination_is_damage(got))
		return got;
	for (i = 0; i < count; i++) {
		if (got < 0)
			report_item(w, items[i], err->text);
		make_progress(w, items[i]->len);
	}
	w->result.files++;
	w->result.bytes += len;
	return 0;
}

static bool is_missing(const struct copy_store *c, uint64_t number)
{
	return sorted_find_number(number, c->state.missing.items,
				  c->state.missing.count, sizeof(number));
}

/* The manifests on which the newest backup does not build. A prune deletes the
 * oldest ones, so that a number between two others is missing because its file
 * was removed or hidden. Those that are there are read if all bytes are. */
static void report_others(struct work *w)
{
	const struct manifest_names *names = &w->c->names;
	const struct manifest_name *n = names->items;
	uint64_t next = names->count ? n->number : 0;
	size_t i;

	for (i = 0; i < names->count; i++, n++) {
		AUTO(manifest) struct manifest m = {0};
		struct err err;

		for (; next < n->number && w->faults < FAULTS_MAX; next++)
			if (!is_missing(w->c, next))
				report_manifest(w, next,
						"missing; later ones have all "
						"its files");
		next = n->number + 1;
		if (w->o->read_percentage == 100 &&
		    !is_missing(w->c, n->number) &&
		    manifest_read(&w->c->place, n, &m, &err) < 0)
			report_manifest(w, n->number, err.text);
	}
}

int copy_verify(struct copy_store *c, const struct copy_options *o,
		struct copy_verify_result *sum, struct err *err)
{
	AUTO(work) struct work w = begin_work(c, o);
	size_t i;

	w.result = *sum;
	for (i = 0; i < c->state.items.count; i++) {
		const struct manifest_item *item = &c->state.items.items[i];

		want_item(&w, item);
		w.result.snapshots += item->kind == MANIFEST_SNAPSHOT;
		w.result.packs += item->kind == MANIFEST_INDEX ||
				  item->kind == MANIFEST_TREES;
	}
	report_missing(&w);
	report_others(&w);
	if (each_file(&w, verify_file, err) < 0)
		return -err->num;
	*sum = w.result;
	return w.faults != 0;
}
