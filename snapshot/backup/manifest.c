#include "snapshot/backup/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/vec.h"
#include "snapshot/store/packformat.h"

#define MAGIC "GUARDMF1"
#define VERSION 1
#define UUID_LEN ((size_t)SEAL_SPACE_LEN / 2)

/* --- items --- */

void manifest_items_free(struct manifest_items *items)
{
	size_t i;

	for (i = 0; i < items->count; i++)
		free(items->items[i].name);
	VEC_FREE(items);
}

void manifest_free(struct manifest *m)
{
	free(m->host);
	free(m->home);
	manifest_items_free(&m->adds);
	manifest_items_free(&m->drops);
	*m = (struct manifest){0};
}

void manifest_items_add(struct manifest_items *to,
			const struct manifest_item *item)
{
	struct manifest_item *new = VEC_ADD(to);

	*new = *item;
	new->name = mem_strdup(item->name);
}

static int compare_items(const void *a, const void *b)
{
	const struct manifest_item *x = a, *y = b;

	return x->kind != y->kind ? x->kind - y->kind
				  : strcmp(x->name, y->name);
}

void manifest_items_sort(struct manifest_items *items)
{
	VEC_SORT(items, compare_items);
}

const struct manifest_item *manifest_items_find(const struct manifest_items *i,
						uint8_t kind, const char *name)
{
	const struct manifest_item key = {
		.kind = kind,
		.name = (char *)(uintptr_t)name,
	};

	/* bsearch(3) must not get NULL. */
	return i->count ? bsearch(&key, i->items, i->count, sizeof(key),
				  compare_items)
			: NULL;
}

void manifest_items_advance(struct manifest_items *items,
			    const struct manifest *m)
{
	struct manifest_items after = {0};
	size_t i = 0, n = 0;

	while (i < items->count || n < m->adds.count) {
		struct manifest_item *old =
			i < items->count ? &items->items[i] : NULL;
		int order = !old ? 1
			    : n == m->adds.count
				    ? -1
				    : compare_items(old, &m->adds.items[n]);

		if (order >= 0)
			manifest_items_add(&after, &m->adds.items[n++]);
		if (order > 0)
			continue;
		i++;
		if (order == 0 || m->complete ||
		    manifest_items_find(&m->drops, old->kind, old->name))
			free(old->name);
		else
			*VEC_ADD(&after) = *old;
	}
	free(items->items);
	*items = after;
}

/* --- bytes --- */

void manifest_encode(const struct manifest *m, struct buf *to)
{
	size_t i;

	buf_add_text(to, MAGIC);
	enc_u8(to, VERSION);
	enc_var(to, m->number);
	buf_add(to, m->previous, SEAL_HASH_LEN);
	enc_u8(to, m->complete);
	enc_svar(to, m->time);
	enc_text(to, m->host);
	enc_text(to, m->home);
	enc_var(to, m->newest);
	enc_var(to, m->adds.count);
	for (i = 0; i < m->adds.count; i++) {
		const struct manifest_item *item = &m->adds.items[i];

		enc_u8(to, item->kind);
		enc_text(to, item->name);
		buf_add(to, item->object, SEAL_HASH_LEN);
		enc_var(to, item->offset);
		enc_var(to, item->len);
		enc_u64(to, item->check);
	}
	enc_var(to, m->drops.count);
	for (i = 0; i < m->drops.count; i++) {
		enc_u8(to, m->drops.items[i].kind);
		enc_text(to, m->drops.items[i].name);
	}
}

static void decode_hash(struct dec *d, unsigned char ret[SEAL_HASH_LEN])
{
	const unsigned char *p = dec_raw(d, SEAL_HASH_LEN);

	if (p)
		memcpy(ret, p, SEAL_HASH_LEN);
}

/* The names become names of files in a store. */
static void decode_items(struct dec *d, bool drops, struct manifest_items *ret)
{
	uint64_t count = dec_var(d);

	while (count-- && !d->bad) {
		struct manifest_item *item = VEC_ADD(ret);

		item->kind = dec_u8(d);
		item->name = dec_text(d);
		if (!drops) {
			decode_hash(d, item->object);
			item->offset = dec_var(d);
			item->len = dec_var(d);
			item->check = dec_u64(d);
		}
		d->bad |=
			item->kind < MANIFEST_RECORDS ||
			item->kind > MANIFEST_ROOT ||
			!path_name_ok(item->name, strlen(item->name)) ||
			item->offset + item->len < item->len ||
			(ret->count > 1 && compare_items(item - 1, item) >= 0);
	}
}

static int fail_damaged(struct err *err)
{
	return fail(err, EBADMSG, "the manifest is damaged");
}

int manifest_decode(const void *data, size_t len, struct manifest *ret,
		    struct err *err)
{
	AUTO(manifest) struct manifest m = {0};
	struct dec d = dec_start(data, len);
	const unsigned char *magic = dec_raw(&d, strlen(MAGIC));
	uint8_t version = dec_u8(&d), complete;

	if (d.bad || memcmp(magic, MAGIC, strlen(MAGIC)) || !version)
		return fail_damaged(err);
	if (version > VERSION)
		return fail(err, EPROTO,
			    "the manifest was written by a newer guard: "
			    "install that version");
	m.number = dec_var(&d);
	decode_hash(&d, m.previous);
	complete = dec_u8(&d);
	m.complete = complete;
	m.time = dec_svar(&d);
	m.host = dec_text(&d);
	m.home = dec_text(&d);
	m.newest = dec_var(&d);
	decode_items(&d, false, &m.adds);
	decode_items(&d, true, &m.drops);
	if (!dec_end(&d) || !m.number || complete > 1)
		return fail_damaged(err);
	*ret = TAKE(m);
	return 0;
}

/* --- names --- */

char *manifest_space_path(const unsigned char space[SEAL_SPACE_LEN],
			  enum seal_kind kind)
{
	static const char *const subs[] = {
		[SEAL_ROOT] = "",
		[SEAL_PACKS] = "/p",
		[SEAL_META] = "/s",
		[SEAL_MANIFEST] = "/c",
	};

	return mem_printf("%s-%s%s", text_hex(space, UUID_LEN),
			  text_hex(space + UUID_LEN, UUID_LEN), subs[kind]);
}

char *manifest_path(const unsigned char space[SEAL_SPACE_LEN],
		    enum seal_kind kind, const char *name)
{
	auto_free char *dir = manifest_space_path(space, kind);

	return path_join(dir, name);
}

bool manifest_space_parse(const char *name, unsigned char ret[SEAL_SPACE_LEN])
{
	auto_free char *uuid = mem_strdup(name);

	if (strlen(uuid) != 4 * UUID_LEN + 1 || uuid[2 * UUID_LEN] != '-')
		return false;
	uuid[2 * UUID_LEN] = '\0';
	return text_unhex(ret, uuid, UUID_LEN) &&
	       text_unhex(ret + UUID_LEN, uuid + 2 * UUID_LEN + 1, UUID_LEN);
}

enum seal_kind manifest_seal_kind(const struct manifest_item *item)
{
	return item->kind == MANIFEST_ROOT	? SEAL_ROOT
	       : item->kind == MANIFEST_RECORDS ? SEAL_PACKS
						: SEAL_META;
}

const char *manifest_object_name(const struct manifest_item *item)
{
	return text_printf("%s%s", item->kind == MANIFEST_ROOT ? "root-" : "",
			   text_hex(item->object, SEAL_HASH_LEN));
}

char *manifest_object_path(const struct manifest_place *place,
			   const struct manifest_item *item)
{
	return manifest_path(place->space, manifest_seal_kind(item),
			     manifest_object_name(item));
}

struct manifest_part manifest_next_part(const struct manifest_item *item,
					uint64_t done, uint64_t records)
{
	struct manifest_part part = {done, MANIFEST_PART_LEN};

	if (item->kind == MANIFEST_RECORDS)
		part.at += HEADER_LEN;
	/* The header of a pack is apart from its index. */
	else if (item->kind == MANIFEST_INDEX && done < HEADER_LEN)
		part.len = (size_t)(HEADER_LEN - done);
	else if (item->kind == MANIFEST_INDEX)
		part.at += records;
	if (part.len > item->len - done)
		part.len = (size_t)(item->len - done);
	return part;
}

const char *manifest_file_name(const struct manifest_name *name)
{
	return text_printf("%010" PRIu64 "-%s", name->number,
			   text_hex(name->hash, SEAL_HASH_LEN));
}

static bool parse_file_name(const char *text, struct manifest_name *ret)
{
	const char *hash = strchr(text, '-');

	ret->number = strtoull(text, NULL, 10);
	return hash && text_unhex(ret->hash, hash + 1, SEAL_HASH_LEN) &&
	       strcmp(manifest_file_name(ret), text) == 0;
}

static int compare_names(const void *a, const void *b)
{
	const struct manifest_name *x = a, *y = b;
	int got = sorted_compare_numbers(a, b);

	return got ? got : memcmp(x->hash, y->hash, SEAL_HASH_LEN);
}

void manifest_names_free(struct manifest_names *names)
{
	VEC_FREE(names);
}

int manifest_list(const struct manifest_place *place,
		  struct manifest_names *ret, struct err *err)
{
	auto_free char *dir = manifest_space_path(place->space, SEAL_MANIFEST);
	AUTO(dirlist) struct dirlist list = {0};
	struct manifest_names names = {0};
	struct manifest_name name;
	size_t i;

	if (destination_list(place->destination, dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++)
		if (parse_file_name(list.items[i].name, &name))
			*VEC_ADD(&names) = name;
	VEC_SORT(&names, compare_names);
	*ret = names;
	return 0;
}

bool manifest_has_twin(const struct manifest_names *names, size_t i)
{
	const struct manifest_name *n = names->items + i;

	return (i && n[-1].number == n->number) ||
	       (i + 1 < names->count && n[1].number == n->number);
}

/* --- files --- */

int manifest_read(const struct manifest_place *place,
		  const struct manifest_name *name, struct manifest *ret,
		  struct err *err)
{
	AUTO(manifest) struct manifest m = {0};
	AUTO(buf) struct buf content = {0};
	auto_free char *path = manifest_path(place->space, SEAL_MANIFEST,
					     manifest_file_name(name));
	auto_close int fd = destination_read(place->destination, path, err);

	if (fd < 0)
		return fd;
	/* The hash must be the name's: an older manifest under another name is
	 * no manifest of that number. */
	if (seal_check_file(fd, name->hash, err) == 0 &&
	    seal_slurp(fd, place->destination->key, SEAL_MANIFEST, place->space,
		       &content, err) == 0 &&
	    manifest_decode(content.data, content.len, &m, err) == 0 &&
	    m.number == name->number) {
		*ret = TAKE(m);
		return 0;
	}
	if (m.number)
		(void)fail(err, EBADMSG, "it is manifest %" PRIu64, m.number);
	(void)err_context(err, "manifest %s",
			  text_quote(manifest_file_name(name)));
	return destination_explain(place->destination, err);
}

int manifest_read_root(const struct manifest_place *place, struct buf *to,
		       struct err *err)
{
	const struct destination *d = place->destination;
	auto_free char *dir = manifest_space_path(place->space, SEAL_ROOT);
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (destination_list(d, dir, &list, err) < 0)
		return -err->num;
	(void)fail(err, EBADMSG,
		   "the backup has no copy of the store's secret");
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_free char *path = path_join(dir, name);
		auto_close int fd = -1;

		if (strncmp(name, "root-", 5) != 0)
			continue;
		buf_clear(to);
		fd = destination_read(d, path, err);
		if (fd >= 0 &&
		    seal_slurp(fd, d->key, SEAL_ROOT, place->space, to, err) ==
			    0 &&
		    to->len > SECRET_LEN)
			return 0;
	}
	return -err->num;
}

int manifest_write(const struct manifest_place *place, const struct manifest *m,
		   struct manifest_name *ret, struct err *err)
{
	struct destination *d = place->destination;
	auto_free char *dir = manifest_space_path(place->space, SEAL_MANIFEST);
	AUTO(destination_file)
	struct atomic_file f = ATOMIC_FILE_NONE;
	AUTO(seal_writer) struct seal_writer *w = NULL;
	AUTO(buf) struct buf content = {0};
	struct manifest_name name = {.number = m->number};
	uint64_t len;

	manifest_encode(m, &content);
	if (destination_begin(d, dir, &f, err) < 0)
		return -err->num;
	if (seal_writer_new(f.fd, d->key, SEAL_MANIFEST, place->space, &w,
			    err) < 0 ||
	    seal_writer_add(w, content.data, content.len, err) < 0 ||
	    seal_writer_end(w, name.hash, &len, err) < 0) {
		(void)err_context(err, "write manifest %" PRIu64, m->number);
		return destination_explain(d, err);
	}
	if (destination_publish(d, &f, manifest_file_name(&name), err) < 0)
		return -err->num;
	*ret = name;
	return 0;
}

/* --- chains --- */

void manifest_state_free(struct manifest_state *s)
{
	manifest_free(&s->last);
	manifest_items_free(&s->items);
	VEC_FREE(&s->missing);
	*s = (struct manifest_state){0};
}

struct chain {
	struct manifest *items; /* from the newest one back */
	size_t count, capacity;
};

static void chain_free(struct chain *c)
{
	while (c->count)
		manifest_free(&c->items[--c->count]);
	VEC_FREE(c);
}

static const struct manifest *chain_end(const struct chain *c)
{
	return &c->items[c->count - 1];
}

/*
 * Adds the manifests of a number that can be read: the one of this name, or all
 * when its hash is unknown, because the next one is lost. Only clones write
 * several of one number before they part. Which of them belongs to the chain is
 * unknown then: all add their items, and none drops any. -ENOENT: there is
 * none, or the errno of a damaged one.
 */
static int add_links(const struct manifest_place *place,
		     const struct manifest_names *all,
		     const struct manifest_name *link, bool has_hash,
		     struct chain *to, struct err *err)
{
	size_t first = to->count, i;
	int got =
		fail(err, ENOENT, "there is no backup %" PRIu64, link->number);

	for (i = 0; i < all->count; i++) {
		const struct manifest_name *name = &all->items[i];
		struct manifest m;

		if (name->number != link->number ||
		    (has_hash &&
		     memcmp(name->hash, link->hash, SEAL_HASH_LEN) != 0))
			continue;
		got = manifest_read(place, name, &m, err);
		if (got == 0)
			*VEC_ADD(to) = m;
		else if (!destination_is_damage(got))
			return got;
	}
	if (to->count > first + 1)
		for (i = first; i < to->count; i++) {
			manifest_items_free(&to->items[i].drops);
			to->items[i].complete = false;
		}
	return to->count > first ? 0 : got;
}

/* Reads back from one manifest to the nearest complete one. Those above the
 * number, unless it is 0, only lead there. */
static int read_chain(const struct manifest_place *place,
		      const struct manifest_names *all,
		      struct manifest_name link, uint64_t number,
		      struct chain *chain, struct manifest_state *state,
		      struct err *err)
{
	bool has_hash = true;

	for (; link.number; link.number--) {
		int got = add_links(place, all, &link, has_hash, chain, err);

		if (got < 0 &&
		    (!destination_is_damage(got) || link.number == number))
			return got;
		has_hash = got == 0;
		if (has_hash)
			memcpy(link.hash, chain_end(chain)->previous,
			       sizeof(link.hash));
		if (number && link.number > number)
			chain_free(chain);
		else if (!has_hash)
			*VEC_ADD(&state->missing) = link.number;
		else if (chain_end(chain)->complete)
			break;
	}
	VEC_SORT(&state->missing, sorted_compare_numbers);
	return chain->count ? 0
			    : fail(err, EBADMSG,
				   "no manifest of this backup can be read");
}

int manifest_load(const struct manifest_place *place,
		  const struct manifest_names *all,
		  const struct manifest_name *newest, uint64_t number,
		  struct manifest_state *ret, struct err *err)
{
	AUTO(manifest_state) struct manifest_state state = {0};
	AUTO(chain) struct chain chain = {0};
	struct manifest_name link = *newest, *of_number;
	size_t i;

	of_number = sorted_find_number(number, all->items, all->count,
				       sizeof(link));
	/* Where clones wrote several, the chain leads to its own. */
	if (of_number &&
	    !manifest_has_twin(all, (size_t)(of_number - all->items)))
		link = *of_number;
	else if (number && !of_number)
		link.number = number;
	if (read_chain(place, all, link, number, &chain, &state, err) < 0)
		return -err->num;
	for (i = chain.count; i--;)
		manifest_items_advance(&state.items, &chain.items[i]);
	state.last = TAKE(chain.items[0]);
	manifest_items_free(&state.last.adds);
	manifest_items_free(&state.last.drops);
	*ret = TAKE(state);
	return 0;
}
