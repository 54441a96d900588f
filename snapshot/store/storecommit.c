#include "snapshot/store/store_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/dirtree.h"
#include "base/text.h"
#include "snapshot/store/compress.h"
#include "snapshot/store/store_index.h"

/* Limits of a full pack. Some hundred bytes for each object stay in memory
 * until the pack is published. */
#define PACK_LEN ((uint64_t)64 << 20)
#define PACK_OBJECTS (1u << 16)

/* Under the mutex: subtracts count from `busy`. */
static void store_busy_done(struct store *s, unsigned int count)
{
	s->busy -= count;
	(void)pthread_cond_broadcast(&s->changed);
}

/* Under the mutex. A failure is permanent. */
int store_failed(const struct store *s, struct err *err)
{
	if (s->failed.num)
		*err = s->failed;
	return -s->failed.num;
}

/* --- records into packs --- */

/* Called under the mutex. */
static int open_out_pack(struct store *s, enum pack_kind kind, struct err *err)
{
	struct out_pack *out;

	if (s->open[kind])
		return 0;
	out = mem_zalloc(sizeof(*out));
	if (packer_new(s->store_dir.tmp_fd, &s->store_dir.format, kind,
		       &out->writer, err) < 0) {
		free(out);
		return -err->num;
	}
	out->name = mem_strdup(packer_name(out->writer));
	out->next = s->outs;
	s->outs = out;
	s->open[kind] = out;
	return 0;
}

/* --- limits --- */

#define MIN_FREE_MAX ((uint64_t)256 << 20)
/* Other processes use the disk, too: the free space is checked again after this
 * many bytes. */
#define SPACE_CHECK_STEP ((uint64_t)8 << 20)

static uint64_t sum_pack_sizes(int packs_fd)
{
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	struct stat st;
	uint64_t sum = 0;
	size_t i;

	if (dirlist_read(packs_fd, &list, &ignored) < 0)
		return 0;
	for (i = 0; i < list.count; i++)
		if (fstatat(packs_fd, list.items[i].name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0)
			sum += (uint64_t)st.st_size;
	return sum;
}

void store_limit(struct store *s, uint64_t min_free, uint64_t max_size)
{
	struct statvfs fs;

	if (min_free == UINT64_MAX) {
		min_free = 0;
		if (fstatvfs(s->store_dir.fd, &fs) == 0)
			min_free = (uint64_t)fs.f_blocks * fs.f_frsize / 100;
		if (min_free > MIN_FREE_MAX)
			min_free = MIN_FREE_MAX;
	}
	store_lock(s);
	s->limited = true;
	s->min_free = min_free;
	s->max_size = max_size;
	s->packed = max_size ? sum_pack_sizes(s->store_dir.packs_fd) : 0;
	s->space_left = 0;
	store_unlock(s);
}

/* Reserves space for bytes that are about to be written. Called under the
 * mutex. */
static int reserve_space(struct store *s, uint64_t len, struct err *err)
{
	uint64_t size = s->packed + s->stats.stored_bytes, free = UINT64_MAX;
	uint64_t pending = 0;
	const struct out_pack *out;
	struct statvfs fs;

	if (!s->limited)
		return 0;
	if (s->max_size && size + len > s->max_size)
		return fail(err, ENOSPC,
			    "the store has %s, its limit is %s (max-size): "
			    "`guard prune` frees space",
			    text_size(size), text_size(s->max_size));
	if (s->space_left < len) {
		for (out = s->outs; out; out = out->next)
			if (out->writer)
				pending += packer_pending(out->writer);
		if (fstatvfs(s->store_dir.fd, &fs) == 0)
			free = (uint64_t)fs.f_bavail * fs.f_frsize;
		free -= pending < free ? pending : free;
		if (free < s->min_free + len)
			return fail(
				err, ENOSPC,
				"%s of the store's disk are free, and %s must "
				"stay free (min-free): `guard du` shows "
				"guard's disk usage, `guard prune` frees space",
				text_size(free), text_size(s->min_free));
		s->space_left = free - s->min_free;
		if (s->space_left > SPACE_CHECK_STEP + len)
			s->space_left = SPACE_CHECK_STEP + len;
	}
	s->space_left -= len;
	return 0;
}

int store_write_record(struct store *s, enum pack_kind kind,
		       const struct record_head *head, const void *payload,
		       struct place *ret, struct out_pack **ret_full,
		       struct err *err)
{
	struct out_pack *out;
	uint64_t offset;

	*ret_full = NULL;
	store_lock(s);
	if (reserve_space(s, head->stored_len, err) < 0 ||
	    open_out_pack(s, kind, err) < 0) {
		store_unlock(s);
		return store_fail(s, err);
	}
	out = s->open[kind];
	offset = packer_reserve(out->writer, head->stored_len);
	out->users++;
	if (packer_size(out->writer) >= PACK_LEN ||
	    packer_count(out->writer) >= PACK_OBJECTS) {
		s->open[kind] = NULL;
		s->busy++;
		*ret_full = out;
	}
	s->stats.stored_bytes += head->stored_len;
	store_unlock(s);
	*ret = (struct place){.out = out};
	ret->entry.offset = offset;
	ret->entry.stored_len = (uint32_t)head->stored_len;
	if (packer_put(out->writer, offset, head, payload, err) == 0)
		return 0;
	(void)store_fail(s, err);
	store_lock(s);
	store_place_unpin(s, ret);
	store_busy_done(s, *ret_full ? 1 : 0);
	store_unlock(s);
	return -err->num;
}

/* Frees the block's memory and records its place. Called under the mutex. */
static int set_block_place(struct store *s, struct block *block,
			   const struct place *place, struct err *err)
{
	int got = packer_add_block(place->out->writer, &block->data,
				   block->count, &place->entry, err);

	store_place_unpin(s, place);
	if (got < 0)
		return got;
	block->out = place->out;
	block->offset = place->entry.offset;
	buf_free(&block->data);
	buf_free(&block->table);
	return 0;
}

const void *store_compress(struct record_head *head, const void *data,
			   size_t len, bool probe)
{
	size_t stored_len = len;
	const void *payload = compress_bytes(data, len, probe, &stored_len);

	head->codec = payload ? CODEC_ZSTD : CODEC_RAW;
	head->plain_len = len;
	head->stored_len = stored_len;
	if (!payload)
		payload = data;
	head->check = hash_check(payload, stored_len);
	return payload;
}

int store_write_block(struct store *s, struct block *block, struct err *err)
{
	struct record_head head = {.type = RECORD_BLOCK, .count = block->count};
	struct out_pack *full;
	struct place place;
	const void *payload;
	int got;

	/* Objects may move in memory, so readers access them under the mutex.
	 */
	store_lock(s);
	buf_add(&block->data, block->table.data, block->table.len);
	store_unlock(s);
	payload =
		store_compress(&head, block->data.data, block->data.len, false);
	got = store_write_record(s, block->kind, &head, payload, &place, &full,
				 err);
	store_lock(s);
	if (got == 0)
		got = set_block_place(s, block, &place, err);
	store_busy_done(s, 1);
	store_unlock(s);
	if (got == 0 && full)
		got = store_end_pack(s, full, err);
	return got;
}

/* --- flush --- */

/* Publishes packs: finished, synced and renamed under the commit lock, then
 * read like packs of other processes. */

static int finish_out_pack(struct store *s, struct out_pack *out,
			   struct err *err)
{
	int got;

	store_lock(s);
	while (out->users)
		store_wait(s);
	got = store_failed(s, err);
	store_unlock(s);
	return got < 0 ? got : packer_finish(out->writer, err);
}

/* Opens the published pack for reading. */
static int reopen_out_pack(struct store *s, struct out_pack *out,
			   struct err *err)
{
	struct packer *writer;
	struct pack *pack;

	if (pack_open(s->store_dir.packs_fd, out->name,
		      s->store_dir.format.uuid, false, &pack, err) < 0)
		return -err->num;
	store_lock(s);
	out->pack = pack;
	while (out->users)
		store_wait(s);
	writer = out->writer;
	out->writer = NULL;
	store_unlock(s);
	packer_free(&writer);
	return 0;
}

/* Called under the commit lock. */
static int publish_packs_locked(struct store *s, struct out_pack **outs,
				size_t count, struct err *err)
{
	size_t i;

	if (store_refresh_packs(s, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++)
		if (packer_publish(outs[i]->writer, s->store_dir.packs_fd,
				   err) < 0)
			return -err->num;
	return atomic_sync_dir(s->store_dir.packs_fd, err);
}

/* Commits packs whose syncs were started. */
static int commit_packs(struct store *s, struct out_pack **outs, size_t count,
			bool locked, struct err *err)
{
	int got = 0, lock = -1;
	size_t i;

	for (i = 0; i < count && got == 0; i++)
		got = packer_sync(outs[i]->writer, err);
	if (got == 0 && !locked) {
		lock = store_dir_commit_begin(&s->store_dir, err);
		got = lock < 0 ? lock : 0;
	}
	if (got == 0)
		got = publish_packs_locked(s, outs, count, err);
	if (lock >= 0)
		store_dir_commit_end(&s->store_dir, lock);
	for (i = 0; i < count && got == 0; i++)
		got = reopen_out_pack(s, outs[i], err);
	return got < 0 ? store_fail(s, err) : 0;
}

int store_end_pack(struct store *s, struct out_pack *out, struct err *err)
{
	struct out_pack *before = NULL;
	int got = finish_out_pack(s, out, err);

	store_lock(s);
	if (got == 0 && (s->hold_packs || s->flushing)) {
		*VEC_ADD(&s->ended) = out;
	} else if (got == 0) {
		before = s->syncing;
		s->syncing = out;
	}
	store_unlock(s);
	if (got < 0)
		(void)store_fail(s, err);
	else if (before)
		got = commit_packs(s, &before, 1, false, err);
	store_lock(s);
	store_busy_done(s, 1);
	store_unlock(s);
	return got;
}

static int commit_last_packs(struct store *s, bool locked, struct err *err)
{
	auto_free struct out_pack **outs = NULL;
	size_t count;

	store_lock(s);
	if (s->syncing)
		*VEC_ADD(&s->ended) = TAKE(s->syncing);
	count = s->ended.count;
	outs = TAKE(s->ended.items);
	VEC_FREE(&s->ended);
	store_unlock(s);
	return count ? commit_packs(s, outs, count, locked, err) : 0;
}

/* Writes all blocks that are being filled and finishes all packs. A failure is
 * in s->failed. */
static void end_open_packs(struct store *s)
{
	struct out_pack *outs[PACK_KINDS];
	struct block *blocks[PACK_KINDS];
	struct err ignored;
	int kind;

	store_lock(s);
	for (kind = 0; kind < PACK_KINDS; kind++) {
		blocks[kind] = TAKE(s->filling[kind]);
		s->busy += blocks[kind] != NULL;
	}
	store_unlock(s);
	for (kind = 0; kind < PACK_KINDS; kind++)
		if (blocks[kind])
			(void)store_write_block(s, blocks[kind], &ignored);
	store_lock(s);
	while (s->busy)
		store_wait(s);
	for (kind = 0; kind < PACK_KINDS; kind++) {
		outs[kind] = TAKE(s->open[kind]);
		s->busy += outs[kind] != NULL;
	}
	store_unlock(s);
	for (kind = 0; kind < PACK_KINDS; kind++)
		if (outs[kind])
			(void)store_end_pack(s, outs[kind], &ignored);
}

static void end_flush_turn(struct store *s)
{
	store_lock(s);
	s->flushing = false;
	(void)pthread_cond_broadcast(&s->changed);
	store_unlock(s);
}

int store_flush_begin(struct store *s, struct err *err)
{
	struct err failed;
	int got;

	if (s->mode != STORE_WRITE)
		return fail(err, EINVAL, "the store is open for reading");
	/* One flush runs at a time, and no object is stored during it. */
	store_lock(s);
	while (s->flushing)
		store_wait(s);
	s->flushing = true;
	store_unlock(s);
	/* Commits the packs of a flush that was begun and not completed. */
	if (!s->ended.count || s->hold_packs ||
	    commit_last_packs(s, false, &failed) == 0)
		end_open_packs(s);
	store_lock(s);
	got = store_failed(s, err);
	store_unlock(s);
	if (got < 0)
		end_flush_turn(s);
	return got;
}

int store_flush_locked(struct store *s, struct err *err)
{
	return commit_last_packs(s, true, err);
}

void store_flush_end(struct store *s)
{
	const struct out_pack *out;
	size_t loose; /* packs that are not in the index */

	end_flush_turn(s);
	store_lock(s);
	loose = s->packs.count;
	for (out = s->outs; out; out = out->next)
		loose += out->pack != NULL;
	store_unlock(s);
	store_index_grown(&s->store_dir, loose);
}

int store_flush(struct store *s, struct err *err)
{
	int got = store_flush_begin(s, err);

	if (got < 0)
		return got;
	got = commit_last_packs(s, false, err);
	store_flush_end(s);
	return got;
}
