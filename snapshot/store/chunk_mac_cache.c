#include "snapshot/store/chunk_mac_cache.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"

#define MAC_CACHE_MAGIC "GUARDMK1"
#define MAGIC_LEN (sizeof(MAC_CACHE_MAGIC) - 1)
#define CHECK_LEN 8
/* Enough for the chunks of a terabyte. */
#define FILE_MAX ((size_t)64 << 20)

struct mac_list {
	struct oid id;
	unsigned char *macs;
	size_t count;
	bool superseded; /* not needed for the next snapshot */
};

struct chunk_mac_cache {
	char *path;
	pthread_mutex_t mutex; /* protects all fields below */
	bool loaded, changed;
	unsigned char key[CHUNK_MAC_KEY_LEN];
	VEC(struct mac_list) lists;
};

struct chunk_mac_cache *chunk_mac_cache_new(const char *path)
{
	struct chunk_mac_cache *m = mem_zalloc(sizeof(*m));

	m->path = mem_strdup(path);
	(void)pthread_mutex_init(&m->mutex, NULL);
	return m;
}

static void clear_mac_lists(struct chunk_mac_cache *m)
{
	size_t i;

	for (i = 0; i < m->lists.count; i++)
		free(m->lists.items[i].macs);
	VEC_FREE(&m->lists);
}

void chunk_mac_cache_free(struct chunk_mac_cache **cache)
{
	struct chunk_mac_cache *m = *cache;

	if (!m)
		return;
	clear_mac_lists(m);
	(void)pthread_mutex_destroy(&m->mutex);
	free(m->path);
	free(m);
	*cache = NULL;
}

static void add_mac_list(struct chunk_mac_cache *m, const struct oid *id,
			 unsigned char *macs, size_t count)
{
	*VEC_ADD(&m->lists) =
		(struct mac_list){.id = *id, .macs = macs, .count = count};
}

static bool decode_mac_list(struct chunk_mac_cache *m, struct dec *d)
{
	struct oid id = {.type = OBJECT_CHUNKLIST};
	const unsigned char *hash = dec_raw(d, HASH_LEN), *macs;
	uint64_t ord, count;

	id.len = dec_var(d);
	ord = dec_var(d);
	count = dec_var(d);
	if (!hash || ord > UINT16_MAX || count > FILE_MAX / CHUNK_MAC_LEN)
		return false;
	macs = dec_raw(d, count * CHUNK_MAC_LEN);
	if (!macs)
		return false;
	memcpy(id.hash, hash, HASH_LEN);
	id.ord = (uint16_t)ord;
	add_mac_list(m, &id,
		     memcpy(mem_alloc(count * CHUNK_MAC_LEN + 1), macs,
			    count * CHUNK_MAC_LEN),
		     count);
	return true;
}

static bool decode_mac_cache(struct chunk_mac_cache *m,
			     const unsigned char *data, size_t len)
{
	struct dec d = dec_start(data, len), check;
	const unsigned char *magic, *key;

	if (len < CHECK_LEN)
		return false;
	d.end -= CHECK_LEN;
	check = dec_start(d.end, CHECK_LEN);
	magic = dec_raw(&d, MAGIC_LEN);
	key = dec_raw(&d, CHUNK_MAC_KEY_LEN);
	if (!key || memcmp(magic, MAC_CACHE_MAGIC, MAGIC_LEN) != 0 ||
	    dec_u64(&check) != hash_check(data, len - CHECK_LEN))
		return false;
	memcpy(m->key, key, CHUNK_MAC_KEY_LEN);
	while (d.at < d.end)
		if (!decode_mac_list(m, &d))
			return false;
	return dec_end(&d);
}

/* Called under the mutex. */
static void load_mac_cache(struct chunk_mac_cache *m)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;

	if (m->loaded)
		return;
	m->loaded = true;
	if (fd_slurp_at(AT_FDCWD, m->path, FILE_MAX, &b, &ignored) == 0 &&
	    decode_mac_cache(m, b.data, b.len))
		return;
	clear_mac_lists(m);
	mem_random(m->key, CHUNK_MAC_KEY_LEN);
}

const unsigned char *chunk_mac_cache_key(struct chunk_mac_cache *m)
{
	(void)pthread_mutex_lock(&m->mutex);
	load_mac_cache(m);
	(void)pthread_mutex_unlock(&m->mutex);
	return m->key;
}

/* Called under the mutex. */
static struct mac_list *find_mac_list(struct chunk_mac_cache *m,
				      const struct oid *id)
{
	size_t i;

	for (i = m->lists.count; i-- > 0;)
		if (oid_equal(&m->lists.items[i].id, id))
			return &m->lists.items[i];
	return NULL;
}

const unsigned char *chunk_mac_cache_find(struct chunk_mac_cache *m,
					  const struct oid *mac_list,
					  size_t count)
{
	const struct mac_list *l;
	const unsigned char *ret;

	(void)pthread_mutex_lock(&m->mutex);
	load_mac_cache(m);
	l = find_mac_list(m, mac_list);
	ret = l && l->count == count ? l->macs : NULL;
	(void)pthread_mutex_unlock(&m->mutex);
	return ret;
}

void chunk_mac_cache_put(struct chunk_mac_cache *m, const struct oid *mac_list,
			 const struct oid *before, unsigned char *macs,
			 size_t count)
{
	struct mac_list *l;

	(void)pthread_mutex_lock(&m->mutex);
	load_mac_cache(m);
	l = before && !oid_equal(before, mac_list) ? find_mac_list(m, before)
						   : NULL;
	if (l)
		l->superseded = m->changed = true;
	l = find_mac_list(m, mac_list);
	if (l) {
		m->changed |= l->superseded;
		l->superseded = false;
		free(macs);
	} else {
		add_mac_list(m, mac_list, macs, count);
		m->changed = true;
	}
	(void)pthread_mutex_unlock(&m->mutex);
}

/* Writes the newest lists, as many as fit into the file. */
static void encode_mac_cache(const struct chunk_mac_cache *m, struct buf *to)
{
	size_t len = 0, first = m->lists.count, i;

	while (first > 0 && len < FILE_MAX / 2)
		len += m->lists.items[--first].count * CHUNK_MAC_LEN;
	buf_add(to, MAC_CACHE_MAGIC, MAGIC_LEN);
	buf_add(to, m->key, CHUNK_MAC_KEY_LEN);
	for (i = first; i < m->lists.count; i++) {
		const struct mac_list *l = &m->lists.items[i];

		if (l->superseded)
			continue;
		buf_add(to, l->id.hash, HASH_LEN);
		enc_var(to, l->id.len);
		enc_var(to, l->id.ord);
		enc_var(to, l->count);
		buf_add(to, l->macs, l->count * CHUNK_MAC_LEN);
	}
	enc_u64(to, hash_check(to->data, to->len));
}

int chunk_mac_cache_save(struct chunk_mac_cache *m, struct err *err)
{
	AUTO(buf) struct buf b = {0};

	if (!m->changed)
		return 0;
	encode_mac_cache(m, &b);
	return atomic_write(AT_FDCWD, m->path, b.data, b.len, 0600,
			    ATOMIC_NO_SYNC, err);
}
