#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "snapshot/store/store_private.h"

bool oid_equal(const struct oid *a, const struct oid *b)
{
	if (a->type == OBJECT_NONE || b->type == OBJECT_NONE)
		return a->type == b->type;
	return a->type == b->type && a->len == b->len && a->ord == b->ord &&
	       memcmp(a->hash, b->hash, HASH_LEN) == 0;
}

uint64_t store_hash_text(const char *text)
{
	return hash_check(text, strlen(text));
}

int store_open(struct store **ret, const char *dir, enum store_mode mode,
	       struct err *err)
{
	AUTO(store) struct store *s = mem_zalloc(sizeof(*s));

	(void)pthread_mutex_init(&s->mutex, NULL);
	(void)pthread_cond_init(&s->changed, NULL);
	s->mode = mode;
	s->store_dir = (struct store_dir){-1, -1, -1, -1, .format = {{0}}};
	s->cache = blockcache_new();
	s->set = mem_zalloc(sizeof(*s->set));
	if (store_dir_open(&s->store_dir, dir, mode == STORE_WRITE, err) < 0)
		return -err->num;
	s->indexed_packs =
		store_indexed_packs_load(&s->store_dir, mode == STORE_WRITE);
	s->set->indexed_packs = s->indexed_packs;
	if (store_refresh_packs(s, err) < 0)
		return -err->num;
	gear_make(&s->gear, s->store_dir.key.secret);
	*ret = TAKE(s);
	return 0;
}

static void free_packs(struct store *s)
{
	size_t i;

	for (i = 0; i < s->set->count; i++)
		pack_free(&s->set->packs[i]);
	while (s->set) {
		struct pack_set *older = s->set->older;

		free(s->set->filter);
		free(s->set);
		s->set = older;
	}
	store_indexed_packs_free(&s->indexed_packs);
	names_free(&s->damaged_names);
	free(s->damaged);
}

static void free_own(struct store *s)
{
	while (s->outs) {
		struct out_pack *out = s->outs;

		s->outs = out->next;
		packer_free(&out->writer);
		pack_free(&out->pack);
		free(out->name);
		free(out);
	}
	while (s->blocks) {
		struct block *block = s->blocks;

		s->blocks = block->next;
		buf_free(&block->data);
		buf_free(&block->table);
		free(block);
	}
	while (s->spare_count)
		buf_free(&s->spares[--s->spare_count]);
	objects_free(&s->objects);
}

void store_free(struct store **store)
{
	struct store *s = *store;

	if (!s)
		return;
	free_own(s);
	free_packs(s);
	blockcache_free(&s->cache);
	store_dir_close(&s->store_dir);
	(void)pthread_cond_destroy(&s->changed);
	(void)pthread_mutex_destroy(&s->mutex);
	free(s);
	*store = NULL;
}

int store_create_with_secret(const char *dir, const void *secret_192,
			     struct err *err)
{
	int made = store_dir_create(dir, HASH_XXH3_128, secret_192, err);

	if (made == 0)
		return fail(err, EEXIST, "there is a store in %s",
			    text_quote(dir));
	return made < 0 ? made : 0;
}

const struct store_dir *store_get_dir(const struct store *s)
{
	return &s->store_dir;
}

int store_open_subdir(const struct store *s, const char *name, struct err *err)
{
	int fd = fd_open_dir(s->store_dir.fd, name);

	return fd < 0 ? fail_errno(err, "open the store's %s/", name) : fd;
}

int store_root_fd(const struct store *s)
{
	return s->store_dir.fd;
}

const struct gear *store_gear(const struct store *s)
{
	return &s->gear;
}

int store_commit_begin(struct store *s, struct err *err)
{
	return store_dir_commit_begin(&s->store_dir, err);
}

void store_commit_end(struct store *s, int lock_fd)
{
	store_dir_commit_end(&s->store_dir, lock_fd);
}

void store_get_stats(struct store *s, struct store_stats *ret)
{
	(void)pthread_mutex_lock(&s->mutex);
	*ret = s->stats;
	(void)pthread_mutex_unlock(&s->mutex);
}
