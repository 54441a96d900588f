#include "snapshot/store/known_missing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/vec.h"
#include "snapshot/store/hash.h"

#define FILE_NAME "lost"
#define MAGIC "GUARDLS1"
#define MAGIC_LEN 8
/* Length of KNOWN_MISSING_MAX paths of 4096 bytes. */
#define FILE_LEN_MAX (48u << 20)

void known_missing_list_free(struct known_missing_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		free(list->items[i].path);
	free(list->items);
	*list = (struct known_missing_list){0};
}

void known_missing_add(struct known_missing_list *list, uint64_t seq,
		       const char *path)
{
	*VEC_ADD(list) = (struct known_missing_item){
		.seq = seq,
		.path = mem_strdup(path),
	};
}

bool known_missing_has(const struct known_missing_list *list, uint64_t seq,
		       const char *path)
{
	size_t i;

	for (i = 0; i < list->count; i++) {
		if (list->items[i].seq == seq &&
		    strcmp(list->items[i].path, path) == 0)
			return true;
	}
	return false;
}

/*
 *	file = "GUARDLS1" count:var *( seq:var path:text ) check:8
 */
void known_missing_load(struct store *s, struct known_missing_list *ret)
{
	AUTO(known_missing_list) struct known_missing_list list = {0};
	AUTO(buf) struct buf bytes = {0};
	struct err ignored;
	struct dec d, tail;
	uint64_t count;

	*ret = (struct known_missing_list){0};
	if (fd_slurp_at(store_root_fd(s), FILE_NAME, FILE_LEN_MAX, &bytes,
			&ignored) < 0 ||
	    bytes.len < MAGIC_LEN + 8 ||
	    memcmp(bytes.data, MAGIC, MAGIC_LEN) != 0)
		return;
	tail = dec_start(bytes.data + bytes.len - 8, 8);
	if (dec_u64(&tail) != hash_check(bytes.data, bytes.len - 8))
		return;
	d = dec_start(bytes.data + MAGIC_LEN, bytes.len - MAGIC_LEN - 8);
	count = dec_var(&d);
	while (count-- && !d.bad) {
		uint64_t seq = dec_var(&d);
		auto_free char *path = dec_text(&d);

		known_missing_add(&list, seq, path);
	}
	if (!dec_end(&d))
		return;
	*ret = list;
	list = (struct known_missing_list){0};
}

int known_missing_save(struct store *s, const struct known_missing_list *list,
		       struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	if (!list->count || list->count > KNOWN_MISSING_MAX) {
		if (unlinkat(store_root_fd(s), FILE_NAME, 0) < 0 &&
		    errno != ENOENT)
			return fail_errno(err, "remove the note of what is "
					       "lost");
		return 0;
	}
	buf_add(&bytes, MAGIC, MAGIC_LEN);
	enc_var(&bytes, list->count);
	for (i = 0; i < list->count; i++) {
		enc_var(&bytes, list->items[i].seq);
		enc_text(&bytes, list->items[i].path);
	}
	enc_u64(&bytes, hash_check(bytes.data, bytes.len));
	return atomic_write(store_root_fd(s), FILE_NAME, bytes.data, bytes.len,
			    0400, ATOMIC_DURABLE, err);
}
