#include "snapshot/tree/changed_paths.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/mem.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/store.h"
#include "snapshot/store/store_dir.h"
#include "snapshot/tree/catalog.h"
#include "snapshot/tree/tree.h"

/*
 * The file `changed-paths` of the store:
 *
 *	file     = "GUARDCP1" count:8 hashes:8 *snapshot *hash check:8
 *	snapshot = seq:8 inode:8 before:8 root:8 run:8 flags:8 first:8 count:8
 *	hash     = 4 bytes of store_hash_text() of a path in the root
 *
 * Numbers are little-endian; check: XXH3-64 of all before it.
 */
#define FILE_NAME "changed-paths"
#define MAGIC "GUARDCP1"
#define MAGIC_LEN 8
#define FILE_HEAD_LEN 24
#define ITEM_LEN 64
#define FILE_MAX (256u << 20)

/* So many paths cost as much as the snapshot itself. */
#define PATHS_MAX 4096

/* Reading this many snapshots costs a millisecond. */
static size_t missing_min = 32;

void changed_paths_update_from(size_t missing)
{
	missing_min = missing;
}

void changed_paths_free(struct changed_paths **c)
{
	struct changed_paths *freed = *c;

	if (!freed)
		return;
	*c = NULL;
	free(freed->listed.items);
	free(freed->items);
	free(freed->hashes);
	free(freed);
}

/* --- reading --- */

static int compare_seq(const void *a, const void *b)
{
	const struct listed_snapshot *x = a, *y = b;

	return (x->seq > y->seq) - (x->seq < y->seq);
}

/* The list is long and needs no order of names, unlike dirlist_read(). */
static int list_snapshots(struct store *store, struct changed_paths *c,
			  struct err *err)
{
	int fd = store_open_subdir(store, "snaps", err);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		fd_close(&fd);
		return fd < 0 ? -err->num : fail_errno(err, "list snapshots");
	}
	while (errno = 0, (e = readdir(dir))) {
		uint64_t seq = catalog_file_seq(e->d_name);

		if (seq)
			*VEC_ADD(&c->listed) = (struct listed_snapshot){
				.seq = seq, .inode = e->d_ino};
	}
	if (errno) {
		(void)fail_errno(err, "list snapshots");
		(void)closedir(dir);
		return -err->num;
	}
	(void)closedir(dir);
	VEC_SORT(&c->listed, compare_seq);
	return 0;
}

/* Both lists are in the order of the numbers. */
static void join_lists(struct changed_paths *c)
{
	size_t i, k = 0;

	for (i = 0; i < c->listed.count; i++) {
		struct listed_snapshot *l = &c->listed.items[i];

		while (k < c->count && c->items[k].seq < l->seq)
			k++;
		if (k < c->count && c->items[k].seq == l->seq &&
		    c->items[k].inode == l->inode)
			l->cached = &c->items[k];
	}
}

static void decode(const struct buf *bytes, struct changed_paths *c)
{
	struct dec d = dec_start(bytes->data, bytes->len);
	const unsigned char *magic = dec_raw(&d, MAGIC_LEN);
	uint64_t count = dec_u64(&d), hashes = dec_u64(&d), i;
	struct dec tail = d;

	if (d.bad || memcmp(magic, MAGIC, MAGIC_LEN) != 0 ||
	    count > bytes->len / ITEM_LEN || hashes > bytes->len / 4 ||
	    bytes->len != FILE_HEAD_LEN + count * ITEM_LEN + hashes * 4 + 8)
		return;
	tail.at = tail.end - 8;
	if (dec_u64(&tail) != hash_check(bytes->data, bytes->len - 8))
		return;
	c->items = mem_resize(NULL, count + 1, sizeof(*c->items));
	c->hashes = mem_resize(NULL, hashes + 1, sizeof(*c->hashes));
	for (i = 0; i < count; i++) {
		struct changed_snapshot *s = &c->items[i];

		s->seq = dec_u64(&d);
		s->inode = dec_u64(&d);
		s->before = dec_u64(&d);
		s->root = dec_u64(&d);
		s->run = dec_u64(&d);
		s->flags = dec_u64(&d);
		s->first = dec_u64(&d);
		s->count = dec_u64(&d);
		if (s->first > hashes || s->count > hashes - s->first)
			return;
	}
	for (i = 0; i < hashes; i++)
		c->hashes[i] = dec_u32(&d);
	c->count = count;
	c->hash_count = hashes;
}

struct changed_paths *changed_paths_open(struct store *store, struct err *err)
{
	struct changed_paths *c = mem_zalloc(sizeof(*c));
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;

	if (list_snapshots(store, c, err) < 0) {
		changed_paths_free(&c);
		return NULL;
	}
	if (fd_slurp_at(store_root_fd(store), FILE_NAME, FILE_MAX, &bytes,
			&ignored) == 0)
		decode(&bytes, c);
	join_lists(c);
	return c;
}

bool changed_paths_has(const struct changed_paths *c,
		       const struct changed_snapshot *s, const char *path)
{
	uint32_t hash = (uint32_t)store_hash_text(path);
	uint64_t i;

	for (i = 0; i < s->count; i++)
		if (c->hashes[s->first + i] == hash)
			return true;
	return false;
}

/* --- writing --- */

/* The last snapshot of a root that the next one is compared with. */
struct base {
	uint64_t root, seq;
	struct entry tree; /* mode 0: not loaded */
};

struct update {
	struct store *store;
	const struct changed_paths *old;
	VEC(struct changed_snapshot) items;
	VEC(uint32_t) hashes;
	VEC(struct base) bases;
	uint64_t first; /* hashes of the present snapshot */
};

static void update_free(struct update *u)
{
	size_t i;

	free(u->items.items);
	free(u->hashes.items);
	for (i = 0; i < u->bases.count; i++)
		entry_free(&u->bases.items[i].tree);
	free(u->bases.items);
}

static struct base *base_of(struct update *u, uint64_t root)
{
	struct base *b;
	size_t i;

	for (i = 0; i < u->bases.count; i++)
		if (u->bases.items[i].root == root)
			return &u->bases.items[i];
	b = VEC_ADD(&u->bases);
	*b = (struct base){.root = root};
	return b;
}

static void add_hash(struct update *u, const char *path, size_t len)
{
	auto_free char *text = mem_strndup(path, len);
	uint32_t hash = (uint32_t)store_hash_text(text);
	size_t i;

	for (i = u->hashes.count; i > u->first; i--)
		if (u->hashes.items[i - 1] == hash)
			return;
	*VEC_ADD(&u->hashes) = hash;
}

/* The path and the directories above it. A result of 1 ends the comparison. */
static int add_changed_path(void *arg, const char *path, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	struct update *u = arg;
	size_t len = strlen(path);

	(void)a;
	(void)b;
	if (u->hashes.count - u->first >= PATHS_MAX)
		return fail(err, E2BIG, "too many paths");
	for (;;) {
		add_hash(u, path, len);
		if (!len)
			return 0;
		while (len && path[len - 1] != '/')
			len--;
		len -= len != 0;
	}
}

static bool is_comparable(const struct snapshot *s)
{
	size_t i;

	for (i = 0; i < s->note_count; i++)
		if (s->notes[i].kind != NOTE_MOVED)
			return false;
	return s->root.mode && !(s->root.flags & ENTRY_INCOMPLETE) &&
	       !s->excludes;
}

static bool load_base_tree(struct update *u, struct base *b)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err ignored;

	if (!b->tree.mode && catalog_load(u->store, b->seq, &s, &ignored) == 0)
		entry_copy(&b->tree, &s.root);
	return b->tree.mode != 0;
}

static void add_new(struct update *u, uint64_t seq, uint64_t inode)
{
	struct changed_snapshot item = {.seq = seq, .inode = inode};
	AUTO(snapshot) struct snapshot s = {0};
	struct base *b;
	struct err ignored;

	u->first = u->hashes.count;
	if (catalog_load(u->store, seq, &s, &ignored) == 0 &&
	    is_comparable(&s)) {
		item.root = store_hash_text(s.root_path);
		item.run = *s.run_id ? store_hash_text(s.run_id) : 0;
		item.flags =
			(snapshot_of_run(&s) ? CHANGED_OF_RUN : 0) |
			(*s.command ? CHANGED_COMMAND : 0) |
			(strcmp(s.reason, "during-run") == 0 ? CHANGED_DURING
							     : 0);
		b = base_of(u, item.root);
		if (b->seq && load_base_tree(u, b) &&
		    tree_diff(u->store, &b->tree, &s.root, add_changed_path, u,
			      &ignored) == 0) {
			item.before = b->seq;
			item.first = u->first;
			item.count = u->hashes.count - u->first;
		} else {
			u->hashes.count = u->first;
		}
		if (!(item.flags & CHANGED_OF_RUN)) {
			b->seq = seq;
			entry_free(&b->tree);
			entry_copy(&b->tree, &s.root);
		}
	}
	*VEC_ADD(&u->items) = item;
}

static void add_known(struct update *u, const struct changed_snapshot *s)
{
	struct changed_snapshot item = *s;
	uint64_t i;

	item.first = u->hashes.count;
	for (i = 0; i < s->count; i++)
		*VEC_ADD(&u->hashes) = u->old->hashes[s->first + i];
	if (item.root && !(item.flags & CHANGED_OF_RUN)) {
		struct base *b = base_of(u, item.root);

		b->seq = item.seq;
		entry_free(&b->tree);
	}
	*VEC_ADD(&u->items) = item;
}

static void encode(const struct update *u, struct buf *to)
{
	size_t i;

	buf_add(to, MAGIC, MAGIC_LEN);
	enc_u64(to, u->items.count);
	enc_u64(to, u->hashes.count);
	for (i = 0; i < u->items.count; i++) {
		const struct changed_snapshot *s = &u->items.items[i];

		enc_u64(to, s->seq);
		enc_u64(to, s->inode);
		enc_u64(to, s->before);
		enc_u64(to, s->root);
		enc_u64(to, s->run);
		enc_u64(to, s->flags);
		enc_u64(to, s->first);
		enc_u64(to, s->count);
	}
	for (i = 0; i < u->hashes.count; i++)
		enc_u32(to, u->hashes.items[i]);
	enc_u64(to, hash_check(to->data, to->len));
}

/* Not synced: a torn file is not used, and made again. */
static void put_file(struct store *store, const struct buf *bytes)
{
	auto_free char *temp = mem_printf(FILE_NAME ".%d.tmp", (int)getpid());
	struct err ignored;
	auto_close int tmp_fd = store_open_subdir(store, "tmp", &ignored);
	auto_close int fd = -1;
	int lock = -1;

	if (tmp_fd < 0)
		return;
	(void)unlinkat(tmp_fd, temp, 0);
	fd = openat(tmp_fd, temp,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return;
	if (fd_write(fd, bytes->data, bytes->len) == 0)
		lock = store_commit_begin(store, &ignored);
	if (lock < 0 ||
	    renameat(tmp_fd, temp, store_root_fd(store), FILE_NAME) < 0)
		(void)unlinkat(tmp_fd, temp, 0);
	if (lock >= 0)
		store_commit_end(store, lock);
}

void changed_paths_update(struct store *store)
{
	struct err ignored;
	struct changed_paths *old = changed_paths_open(store, &ignored);
	AUTO(update) struct update u = {.store = store, .old = old};
	AUTO(buf) struct buf bytes = {0};
	size_t missing = 0, i;

	for (i = 0; old && i < old->listed.count; i++)
		missing += !old->listed.items[i].cached;
	if (old && missing >= missing_min) {
		for (i = 0; i < old->listed.count; i++) {
			const struct listed_snapshot *l = &old->listed.items[i];

			if (l->cached)
				add_known(&u, l->cached);
			else
				add_new(&u, l->seq, l->inode);
		}
		encode(&u, &bytes);
		put_file(store, &bytes);
	}
	changed_paths_free(&old);
}
