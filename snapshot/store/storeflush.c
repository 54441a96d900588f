/* Publishes packs: finished, synced and renamed under the commit lock, then
 * read like packs of other processes. */
#include "base/atomic.h"
#include "base/auto.h"
#include "snapshot/store/store_index.h"
#include "snapshot/store/store_private.h"

static int finish_out_pack(struct store *s, struct out_pack *out,
			   struct err *err)
{
	struct err failed;

	(void)pthread_mutex_lock(&s->mutex);
	while (out->users)
		(void)pthread_cond_wait(&s->changed, &s->mutex);
	failed = s->failed;
	(void)pthread_mutex_unlock(&s->mutex);
	if (failed.num) {
		*err = failed;
		return -err->num;
	}
	return packer_finish(out->writer, err);
}

/* Opens the published pack for reading. */
static int reopen_out_pack(struct store *s, struct out_pack *out,
			   struct err *err)
{
	struct packer *writer;
	struct pack *pack;

	if (pack_open(s->store_dir.packs_fd, out->name,
		      s->store_dir.format.uuid, &pack, err) < 0)
		return -err->num;
	(void)pthread_mutex_lock(&s->mutex);
	out->pack = pack;
	while (out->users)
		(void)pthread_cond_wait(&s->changed, &s->mutex);
	writer = out->writer;
	out->writer = NULL;
	(void)pthread_mutex_unlock(&s->mutex);
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

static int publish_packs(struct store *s, struct out_pack **outs, size_t count,
			 struct err *err)
{
	int lock = store_dir_commit_begin(&s->store_dir, err);
	int got;

	if (lock < 0)
		return lock;
	got = publish_packs_locked(s, outs, count, err);
	store_dir_commit_end(&s->store_dir, lock);
	return got;
}

/* Commits packs whose syncs were started. */
static int commit_packs(struct store *s, struct out_pack **outs, size_t count,
			bool locked, struct err *err)
{
	int got = 0;
	size_t i;

	for (i = 0; i < count && got == 0; i++)
		got = packer_sync(outs[i]->writer, err);
	if (got == 0)
		got = locked ? publish_packs_locked(s, outs, count, err)
			     : publish_packs(s, outs, count, err);
	for (i = 0; i < count && got == 0; i++)
		got = reopen_out_pack(s, outs[i], err);
	return got < 0 ? store_fail(s, err) : 0;
}

int store_end_pack(struct store *s, struct out_pack *out, struct err *err)
{
	struct out_pack *before;
	int got = finish_out_pack(s, out, err);

	(void)pthread_mutex_lock(&s->mutex);
	before = got == 0 ? s->syncing : NULL;
	if (got == 0)
		s->syncing = out;
	(void)pthread_mutex_unlock(&s->mutex);
	if (got < 0)
		(void)store_fail(s, err);
	else if (before)
		got = commit_packs(s, &before, 1, false, err);
	(void)pthread_mutex_lock(&s->mutex);
	store_busy_done(s, 1);
	(void)pthread_mutex_unlock(&s->mutex);
	return got;
}

/* Called under the mutex. */
static size_t take_open_packs(struct store *s, struct out_pack **outs)
{
	size_t count = 0;
	int kind;

	for (kind = 0; kind < PACK_KINDS; kind++) {
		if (!s->open[kind])
			continue;
		outs[count++] = s->open[kind];
		s->open[kind] = NULL;
	}
	return count;
}

/* Finishes the remaining packs; their writes are in flight. */
static int end_last_packs(struct store *s, struct err *err)
{
	struct out_pack *outs[PACK_KINDS];
	size_t count, i;
	int got = 0;

	(void)pthread_mutex_lock(&s->mutex);
	count = take_open_packs(s, outs);
	(void)pthread_mutex_unlock(&s->mutex);
	for (i = 0; i < count && got == 0; i++)
		got = finish_out_pack(s, outs[i], err);
	if (got < 0)
		return store_fail(s, err);
	(void)pthread_mutex_lock(&s->mutex);
	for (i = 0; i < count; i++)
		s->ended[s->ended_count++] = outs[i];
	(void)pthread_mutex_unlock(&s->mutex);
	return 0;
}

static int commit_last_packs(struct store *s, bool locked, struct err *err)
{
	struct out_pack *outs[2 * PACK_KINDS + 1];
	size_t count;

	(void)pthread_mutex_lock(&s->mutex);
	for (count = 0; count < s->ended_count; count++)
		outs[count] = s->ended[count];
	s->ended_count = 0;
	if (s->syncing)
		outs[count++] = TAKE(s->syncing);
	(void)pthread_mutex_unlock(&s->mutex);
	return count ? commit_packs(s, outs, count, locked, err) : 0;
}

/* Writes all blocks that are being filled and finishes their packs. */
static int write_open_blocks(struct store *s, struct err *err)
{
	struct block *blocks[PACK_KINDS];
	int kind, got = 0;

	(void)pthread_mutex_lock(&s->mutex);
	for (kind = 0; kind < PACK_KINDS; kind++) {
		blocks[kind] = s->filling[kind];
		s->filling[kind] = NULL;
		s->busy += blocks[kind] != NULL;
	}
	(void)pthread_mutex_unlock(&s->mutex);
	for (kind = 0; kind < PACK_KINDS; kind++) {
		if (blocks[kind])
			(void)store_write_block(s, blocks[kind], err);
	}
	(void)pthread_mutex_lock(&s->mutex);
	while (s->busy)
		(void)pthread_cond_wait(&s->changed, &s->mutex);
	if (s->failed.num) {
		*err = s->failed;
		got = -err->num;
	}
	(void)pthread_mutex_unlock(&s->mutex);
	return got < 0 ? got : end_last_packs(s, err);
}

/* Number of packs that are not in the index. Called under the mutex. */
static size_t count_loose_packs(const struct store *s)
{
	const struct out_pack *out;
	size_t count = s->set->count;

	for (out = s->outs; out; out = out->next)
		count += out->pack != NULL;
	return count;
}

/* One flush runs at a time, and no object is stored during it. */
static int take_flush_turn(struct store *s, struct err *err)
{
	if (s->mode != STORE_WRITE)
		return fail(err, EINVAL, "the store is open for reading");
	(void)pthread_mutex_lock(&s->mutex);
	while (s->flushing)
		(void)pthread_cond_wait(&s->changed, &s->mutex);
	s->flushing = true;
	(void)pthread_mutex_unlock(&s->mutex);
	return 0;
}

/* A failure is permanent. */
static int check_store_failed(struct store *s, struct err *err)
{
	int got = 0;

	(void)pthread_mutex_lock(&s->mutex);
	if (s->failed.num) {
		*err = s->failed;
		got = -err->num;
	}
	(void)pthread_mutex_unlock(&s->mutex);
	return got;
}

static void end_flush_turn(struct store *s)
{
	(void)pthread_mutex_lock(&s->mutex);
	s->flushing = false;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->mutex);
}

int store_flush_begin(struct store *s, struct err *err)
{
	struct err failed;
	int got = take_flush_turn(s, err);

	if (got < 0)
		return got;
	/* Commits the packs of a flush that was begun and not completed. */
	if (!s->ended_count || commit_last_packs(s, false, &failed) == 0)
		(void)write_open_blocks(s, &failed);
	got = check_store_failed(s, err);
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
	size_t loose;

	end_flush_turn(s);
	(void)pthread_mutex_lock(&s->mutex);
	loose = count_loose_packs(s);
	(void)pthread_mutex_unlock(&s->mutex);
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
