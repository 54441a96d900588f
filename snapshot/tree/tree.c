#include "snapshot/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"

/* The lowest that says all that there is to say. */
#define VERSION_PLAIN 1
#define VERSION_CHATTR 2
#define VERSION_SPLIT 3
/* The shortest entry: bounds a count before memory is taken for it. */
#define ENTRY_LEN_MIN 8

/*
 * A tree object:
 *
 *	tree    = version count *entry      ; ascending by name's bytes
 *	        | version count *part
 *	version = var                       ; 1; 2 where an entry has chattr;
 *	                                    ; 3 of parts
 *	part    = name content              ; the first name in it
 *
 * Entry, name and content: see entry.c. A part is a tree of version 1 or 2.
 */
void tree_encode_head(bool chattr, size_t count, struct buf *to)
{
	enc_var(to, chattr ? VERSION_CHATTR : VERSION_PLAIN);
	enc_var(to, count);
}

void tree_encode(const struct entry *entries, size_t count, struct buf *to)
{
	uint32_t chattr = 0;
	size_t i;

	for (i = 0; i < count; i++)
		chattr |= entries[i].chattr;
	tree_encode_head(chattr != 0, count, to);
	for (i = 0; i < count; i++)
		entry_encode(to, &entries[i]);
}

void tree_encode_split(const struct entry *parts, size_t count, struct buf *to)
{
	size_t i;

	enc_var(to, VERSION_SPLIT);
	enc_var(to, count);
	for (i = 0; i < count; i++)
		entry_encode_part(to, &parts[i]);
}

int tree_decode(const void *data, size_t len, struct tree *ret, struct err *err)
{
	AUTO(tree) struct tree t = {0};
	struct dec d = dec_start(data, len);
	uint64_t version = dec_var(&d), count = dec_var(&d), i;
	uint32_t chattr = 0;

	if (!d.bad && version > VERSION_SPLIT)
		return fail(err, EPROTO,
			    "a tree of version %llu: written by a newer guard",
			    (unsigned long long)version);
	if (d.bad || !version || count > len / ENTRY_LEN_MIN)
		return fail(err, EBADMSG, "a damaged tree");
	t.split = version == VERSION_SPLIT;
	t.room = count;
	t.entries = mem_resize(NULL, count, sizeof(*t.entries));
	for (i = 0; i < count; i++) {
		struct entry *e = &t.entries[i];

		if (t.split ? !entry_decode_part(&d, e)
			    : !entry_decode(&d, false, e))
			break;
		t.count++;
		chattr |= e->chattr;
		if (i && strcmp(t.entries[i - 1].name, e->name) >= 0)
			d.bad = true;
	}
	if (!dec_end(&d) || (version == VERSION_PLAIN && chattr) ||
	    (version == VERSION_CHATTR && !chattr) || (t.split && !t.count))
		return fail(err, EBADMSG, "a damaged tree");
	*ret = t;
	t = (struct tree){0};
	return 0;
}

void tree_free(struct tree *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		entry_free(&t->entries[i]);
	free(t->entries);
	*t = (struct tree){0};
}

void tree_add(struct tree *t, struct entry *e)
{
	GROW(t->entries, t->count, t->room);
	t->entries[t->count++] = *e;
	*e = (struct entry){0};
}

struct entry *tree_find(const struct tree *t, const char *name)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strcmp(t->entries[mid].name, name);

		if (order == 0)
			return &t->entries[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}
