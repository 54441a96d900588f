#include "snapshot/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"

/* The lowest version that can encode the entries is written. */
#define VERSION_PLAIN 1
#define VERSION_CHATTR 2
#define VERSION_SPLIT 3
/* Length of the shortest entry: bounds a count before memory is allocated for
 * it. */
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
	t.capacity = count;
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

/* One of two trees that are decoded side by side. */
struct pair_side {
	struct dec d;
	uint64_t version, left; /* entries still to read */
	struct entry_span last; /* the entry that was skipped last */
	bool waits; /* `last` is not processed yet */
	bool chattr;
	struct tree different;
};

static bool side_start(struct pair_side *s, const struct buf *bytes)
{
	s->d = dec_start(bytes->data, bytes->len);
	s->version = dec_var(&s->d);
	s->left = dec_var(&s->d);
	return !s->d.bad && s->left <= bytes->len / ENTRY_LEN_MIN &&
	       (s->version == VERSION_PLAIN || s->version == VERSION_CHATTR);
}

static int compare_names(const struct entry_span *a, const struct entry_span *b)
{
	size_t len = a->name_len < b->name_len ? a->name_len : b->name_len;
	int order = len ? memcmp(a->name, b->name, len) : 0;

	return order ? order
		     : (a->name_len > b->name_len) -
			       (a->name_len < b->name_len);
}

static void note_skipped_entry(struct pair_side *s, const struct entry_span *e)
{
	if (s->last.at && compare_names(&s->last, e) >= 0)
		s->d.bad = true;
	s->chattr |= e->chattr;
	s->last = *e;
	s->left--;
}

static size_t same_prefix_len(const struct dec *a, const struct dec *b)
{
	size_t a_len = (size_t)(a->end - a->at),
	       b_len = (size_t)(b->end - b->at);
	size_t len = a_len < b_len ? a_len : b_len, at = 0, step;

	for (step = 256; step; step = step == 256 ? 1 : 0)
		while (len - at >= step &&
		       memcmp(a->at + at, b->at + at, step) == 0)
			at += step;
	return at;
}

/* Both sides must be at the beginning of an entry. */
static void skip_same_entries(struct pair_side *a, struct pair_side *b)
{
	size_t same = same_prefix_len(&a->d, &b->d);
	struct dec d = a->d;
	struct entry_span e;

	while (a->left && b->left && entry_skip(&d, &e) && e.len <= same) {
		same -= e.len;
		a->d.at += e.len;
		b->d.at += e.len;
		note_skipped_entry(a, &e);
		note_skipped_entry(b, &e);
	}
}

static bool side_next(struct pair_side *s)
{
	struct entry_span e;

	if (!s->waits && s->left && entry_skip(&s->d, &e)) {
		note_skipped_entry(s, &e);
		s->waits = true;
	}
	return s->waits && !s->d.bad;
}

static void keep_last_entry(struct pair_side *s)
{
	struct dec d = dec_start(s->last.at, s->last.len);
	struct entry e;

	s->waits = false;
	if (entry_decode(&d, false, &e))
		tree_add(&s->different, &e);
	else
		s->d.bad = true;
}

static bool side_end(const struct pair_side *s)
{
	return !s->left && dec_end(&s->d) &&
	       s->chattr == (s->version == VERSION_CHATTR);
}

static bool decode_pair(struct pair_side *a, struct pair_side *b)
{
	for (;;) {
		bool in_a, in_b;
		int order;

		if (!a->waits && !b->waits)
			skip_same_entries(a, b);
		in_a = side_next(a);
		in_b = side_next(b);
		if ((!in_a && !in_b) || a->d.bad || b->d.bad)
			return side_end(a) && side_end(b);
		order = !in_a	? 1
			: !in_b ? -1
				: compare_names(&a->last, &b->last);
		if (order <= 0)
			keep_last_entry(a);
		if (order >= 0)
			keep_last_entry(b);
	}
}

int tree_decode_pair(const struct buf *a, const struct buf *b,
		     struct tree *ret_a, struct tree *ret_b, struct err *err)
{
	struct pair_side x = {0}, y = {0};

	if (!side_start(&x, a) || !side_start(&y, b)) {
		if (tree_decode(a->data, a->len, ret_a, err) < 0)
			return -err->num;
		if (tree_decode(b->data, b->len, ret_b, err) < 0) {
			tree_free(ret_a);
			return -err->num;
		}
		return 0;
	}
	if (!decode_pair(&x, &y)) {
		tree_free(&x.different);
		tree_free(&y.different);
		return fail(err, EBADMSG, "a damaged tree");
	}
	*ret_a = x.different;
	*ret_b = y.different;
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
	GROW(t->entries, t->count, t->capacity);
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
