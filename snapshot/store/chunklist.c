#include "snapshot/store/chunklist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "snapshot/store/chunk.h"
#include "snapshot/store/hash.h"

#define LIST_VERSION 1

void chunklist_free(struct chunklist *list)
{
	free(list->runs);
	*list = (struct chunklist){0};
}

void chunklist_add(struct chunklist *list, const struct chunk_run *run)
{
	GROW(list->runs, list->count, list->capacity);
	list->runs[list->count++] = *run;
	list->size += run->len;
}

void chunklist_encode(const struct chunklist *list, struct buf *to)
{
	size_t i;

	enc_var(to, LIST_VERSION);
	enc_var(to, list->size);
	enc_var(to, list->count);
	for (i = 0; i < list->count; i++) {
		const struct chunk_run *run = &list->runs[i];

		enc_var(to, run->len * 2 + run->hole);
		if (run->hole)
			continue;
		buf_add(to, run->id.hash, HASH_LEN);
		enc_var(to, run->id.ord);
	}
}

static bool decode_chunk_run(struct dec *d, struct chunk_run *ret)
{
	struct chunk_run run = {.id = {.type = OBJECT_DATA}};
	uint64_t len = dec_var(d), ord;
	const unsigned char *hash;

	run.hole = len & 1;
	run.len = len / 2;
	if (!run.len)
		return false;
	if (!run.hole) {
		hash = dec_raw(d, HASH_LEN);
		ord = dec_var(d);
		if (!hash || ord > UINT16_MAX || run.len > CHUNK_MAX)
			return false;
		memcpy(run.id.hash, hash, HASH_LEN);
		run.id.ord = (uint16_t)ord;
		run.id.len = run.len;
	}
	*ret = run;
	return !d->bad;
}

int chunklist_decode(const void *data, size_t len, struct chunklist *ret,
		     struct err *err)
{
	struct dec d = dec_start(data, len);
	struct chunklist list = {0};
	struct chunk_run run;
	uint64_t version = dec_var(&d), size = dec_var(&d), count = dec_var(&d);
	bool good = !d.bad && version == LIST_VERSION && count <= len &&
		    size <= INT64_MAX;
	uint64_t i;

	for (i = 0; good && i < count; i++) {
		good = decode_chunk_run(&d, &run) &&
		       run.len <= size - list.size;
		if (good)
			chunklist_add(&list, &run);
	}
	if (!good || !dec_end(&d) || list.size != size) {
		chunklist_free(&list);
		return fail(err, EBADMSG, "a list of chunks is damaged");
	}
	*ret = list;
	return 0;
}

int chunklist_load(struct store *s, const struct oid *id, struct chunklist *ret,
		   struct err *err)
{
	AUTO(buf) struct buf b = {0};

	if (store_get(s, id, &b, err) < 0)
		return -err->num;
	return chunklist_decode(b.data, b.len, ret, err);
}

/* --- holes --- */

bool hole_next_data(int fd, uint64_t pos, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	off_t start = lseek(fd, (off_t)pos, SEEK_DATA);
	off_t end;

	if (start < 0 && errno == ENXIO) {
		end = lseek(fd, 0, SEEK_END);
		*ret_start =
			end > 0 && (uint64_t)end > pos ? (uint64_t)end : pos;
		return false;
	}
	if (start < 0) { /* the file system does not support SEEK_DATA */
		*ret_start = pos;
		*ret_end = UINT64_MAX;
		return true;
	}
	end = lseek(fd, start, SEEK_HOLE);
	*ret_start = (uint64_t)start & ~(HOLE_ALIGN - 1);
	*ret_end =
		end < 0 ? UINT64_MAX
			: ((uint64_t)end + HOLE_ALIGN - 1) & ~(HOLE_ALIGN - 1);
	return true;
}

static size_t block_at(size_t at, size_t len)
{
	return len - at < HOLE_ALIGN ? len - at : HOLE_ALIGN;
}

static bool all_zero(const unsigned char *p, size_t len)
{
	return !p[0] && memcmp(p, p + 1, len - 1) == 0;
}

size_t hole_zeros_len(const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (at < len && all_zero(data + at, block_at(at, len)))
		at += block_at(at, len);
	return at;
}

size_t hole_data_len(const unsigned char *data, size_t len)
{
	size_t at = 0;

	while (at < len && !all_zero(data + at, block_at(at, len)))
		at += block_at(at, len);
	return at;
}
