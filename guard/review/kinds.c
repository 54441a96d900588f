#include "guard/review/kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/sorted.h"
#include "snapshot/store/hash.h"

/* A hunk of more tokens is compared byte by byte: no person reads two of them
 * as one, and the work for a hunk stays bounded. */
#define TOKENS_MAX 4096
/* Of the values that tell the kinds of a family apart. */
#define VALUES_LEN_MAX 400

enum token_type {
	TOKEN_LINE, /* begins a line, text is its sign */
	TOKEN_END, /* the line has no line feed */
	TOKEN_OTHER,
	TOKEN_IDENTIFIER,
	TOKEN_NUMBER,
	TOKEN_STRING,
};

struct token {
	const char *text;
	size_t len;
	enum token_type type;
	char side; /* '-' or '+' */
	size_t value; /* of a value its place in the table of values */
};

/* A value of a hunk, in a table of open addresses. */
struct value {
	const struct token *token; /* its first; NULL: a free place */
	uint64_t hash;
	bool removed, added;
	unsigned int number; /* given at its first use in a key, from 1 */
};

/* A place in the table of kinds: hash and number + 1, 0: free. */
struct known_kind {
	uint64_t hash;
	size_t kind;
};

struct kinds_work {
	VEC(struct token) tokens;
	struct value *values;
	size_t value_capacity;
	struct known_kind *known;
	size_t known_capacity; /* a power of two */
	struct buf key, family_key;
};

static void kind_free(struct kind *k)
{
	VEC_FREE(&k->places);
	buf_free(&k->sample);
	free(k->removed);
	free(k->added);
	buf_free(&k->key);
	buf_free(&k->family_key);
}

static void work_free(struct kinds *k)
{
	struct kinds_work *w = k->work;

	if (!w)
		return;
	VEC_FREE(&w->tokens);
	free(w->values);
	free(w->known);
	buf_free(&w->key);
	buf_free(&w->family_key);
	free(w);
	k->work = NULL;
}

void kinds_free(struct kinds *k)
{
	size_t i;

	for (i = 0; i < k->items.count; i++)
		kind_free(&k->items.items[i]);
	VEC_FREE(&k->items);
	VEC_FREE(&k->families);
	work_free(k);
	*k = (struct kinds){0};
}

/* --- tokens --- */

enum byte_class { BYTE_OTHER, BYTE_BLANK, BYTE_LETTER, BYTE_DIGIT, BYTE_QUOTE };

static enum byte_class class_of(unsigned char c)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
	    c == '$' || c >= 0x80)
		return BYTE_LETTER;
	if (c >= '0' && c <= '9')
		return BYTE_DIGIT;
	if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v')
		return BYTE_BLANK;
	return c == '"' || c == '\'' || c == '`' ? BYTE_QUOTE : BYTE_OTHER;
}

/* The length of the string that begins here; 0: it does not end on the line. */
static size_t string_len(const char *at, const char *end)
{
	const char *p;

	for (p = at + 1; p < end; p++) {
		if (*p == *at)
			return (size_t)(p - at) + 1;
		p += *p == '\\';
	}
	return 0;
}

static size_t word_len(const char *at, const char *end, bool number)
{
	const char *p = at;

	while (p < end) {
		enum byte_class class = class_of((unsigned char)*p);

		if (class != BYTE_LETTER && class != BYTE_DIGIT &&
		    !(number && *p == '.'))
			break;
		p++;
	}
	return (size_t)(p - at);
}

static struct token next_token(const char *at, const char *end)
{
	struct token t = {.text = at, .len = 1, .type = TOKEN_OTHER};
	size_t len;

	switch (class_of((unsigned char)*at)) {
	case BYTE_LETTER:
		t.type = TOKEN_IDENTIFIER;
		t.len = word_len(at, end, false);
		break;
	case BYTE_DIGIT:
		t.type = TOKEN_NUMBER;
		t.len = word_len(at, end, true);
		break;
	case BYTE_QUOTE:
		len = string_len(at, end);
		if (len) {
			t.type = TOKEN_STRING;
			t.len = len;
		}
		break;
	default:
		break;
	}
	return t;
}

/* false: there are too many. */
static bool read_tokens(struct kinds_work *w, const struct hunk *h)
{
	size_t i;

	w->tokens.count = 0;
	for (i = 0; i < h->lines.count; i++) {
		const struct hunk_line *l = &h->lines.items[i];
		bool feed = l->len && l->text[l->len - 1] == '\n';
		const char *at = l->text, *end = at + l->len - feed;
		struct token t = {&l->kind, 1, TOKEN_LINE, l->kind, 0};

		if (l->kind == ' ')
			continue;
		*VEC_ADD(&w->tokens) = t;
		while (at < end) {
			if (class_of((unsigned char)*at) == BYTE_BLANK) {
				at++;
				continue;
			}
			if (w->tokens.count > TOKENS_MAX)
				return false;
			t = next_token(at, end);
			t.side = l->kind;
			*VEC_ADD(&w->tokens) = t;
			at += t.len;
		}
		t.type = TOKEN_END;
		if (!feed)
			*VEC_ADD(&w->tokens) = t;
	}
	return true;
}

static bool same_token(const struct token *a, const struct token *b)
{
	return a->type == b->type && a->len == b->len &&
	       memcmp(a->text, b->text, a->len) == 0;
}

/* Fills the table of values; each token gets the place of its value. */
static void find_values(struct kinds_work *w)
{
	size_t capacity = 64, i, at;

	while (capacity < 2 * w->tokens.count)
		capacity *= 2;
	if (capacity > w->value_capacity) {
		free(w->values);
		w->values = mem_alloc(capacity * sizeof(*w->values));
		w->value_capacity = capacity;
	}
	memset(w->values, 0, capacity * sizeof(*w->values));
	for (i = 0; i < w->tokens.count; i++) {
		struct token *t = &w->tokens.items[i];
		struct value *v;
		uint64_t hash;

		if (t->type < TOKEN_IDENTIFIER)
			continue;
		hash = hash_check(t->text, t->len);
		at = hash & (capacity - 1);
		while (w->values[at].token &&
		       !(w->values[at].hash == hash &&
			 same_token(w->values[at].token, t)))
			at = (at + 1) & (capacity - 1);
		v = &w->values[at];
		if (!v->token)
			*v = (struct value){.token = t, .hash = hash};
		v->removed |= t->side == '-';
		v->added |= t->side == '+';
		t->value = at;
	}
}

/* --- keys --- */

/*
 * Appends the tokens. In a key of a family the values of one side are slots,
 * too. No text can look like a slot or a string: these begin with a byte 1 or
 * 2, which is a token of its own in a text, and has a blank behind it there.
 */
static void add_tokens(struct kinds_work *w, bool family, struct buf *to)
{
	unsigned int numbers = 0;
	size_t i;

	for (i = 0; i < w->tokens.count; i++)
		w->values[w->tokens.items[i].value].number = 0;
	for (i = 0; i < w->tokens.count; i++) {
		const struct token *t = &w->tokens.items[i];
		struct value *v = &w->values[t->value];

		switch (t->type) {
		case TOKEN_LINE:
			buf_add_char(to, '\n');
			buf_add_char(to, t->side);
			continue;
		case TOKEN_END:
			buf_add_text(to, "\\\n");
			continue;
		case TOKEN_OTHER:
			break;
		default:
			if (!family && !(v->removed && v->added))
				break;
			if (!v->number)
				v->number = ++numbers;
			buf_printf(to, "\1%c%u ", " \0\0INS"[t->type],
				   v -> number);
			continue;
		}
		if (t->type == TOKEN_STRING)
			buf_add_char(to, '\2');
		buf_add(to, t->text, t->len);
		buf_add_char(to, ' ');
	}
}

/* The lines as they are. */
static void add_side_lines(const struct hunk *h, struct buf *to)
{
	size_t i;

	for (i = 0; i < h->lines.count; i++) {
		const struct hunk_line *l = &h->lines.items[i];

		if (l->kind != ' ')
			hunks_add_line(to, l, "\n\\\n");
	}
}

/* Whether both sides have the same tokens. */
static bool changes_whitespace_only(const struct kinds_work *w)
{
	const struct token *t = w->tokens.items, *end = t + w->tokens.count;
	const struct token *a = t, *b = t;

	for (;;) {
		while (a < end && (a->side != '-' || a->type == TOKEN_LINE))
			a++;
		while (b < end && (b->side != '+' || b->type == TOKEN_LINE))
			b++;
		if (a == end || b == end)
			return a == end && b == end;
		if (!same_token(a++, b++))
			return false;
	}
}

static void make_keys(struct kinds_work *w, const struct hunk *h)
{
	buf_clear(&w->key);
	buf_clear(&w->family_key);
	if (!read_tokens(w, h) || changes_whitespace_only(w)) {
		w->tokens.count = 0;
		buf_add_text(&w->key, "lines\n");
		add_side_lines(h, &w->key);
		buf_add(&w->family_key, w->key.data, w->key.len);
		return;
	}
	find_values(w);
	add_tokens(w, false, &w->key);
	add_tokens(w, true, &w->family_key);
}

/* The values that only one side has, in their order, to free. */
static char *one_sided(const struct kinds_work *w, char side)
{
	AUTO(buf) struct buf b = {0};
	size_t i;

	for (i = 0; i < w->tokens.count && b.len < VALUES_LEN_MAX; i++) {
		const struct token *t = &w->tokens.items[i];
		const struct value *v = &w->values[t->value];

		if (t->type < TOKEN_IDENTIFIER || v->token != t ||
		    (v->removed && v->added) || t->side != side)
			continue;
		if (b.len)
			buf_add_char(&b, ' ');
		buf_add(&b, t->text,
			t->len < VALUES_LEN_MAX ? t->len : VALUES_LEN_MAX);
	}
	return buf_take_text(&b);
}

/* --- kinds --- */

static void grow_known(struct kinds_work *w, size_t count)
{
	size_t capacity = w->known_capacity, i;
	struct known_kind *old = w->known;

	if (capacity && 2 * count < capacity)
		return;
	w->known_capacity = capacity ? 2 * capacity : 256;
	w->known = mem_zalloc(w->known_capacity * sizeof(*w->known));
	for (i = 0; i < capacity; i++) {
		size_t at = old[i].hash & (w->known_capacity - 1);

		if (!old[i].kind)
			continue;
		while (w->known[at].kind)
			at = (at + 1) & (w->known_capacity - 1);
		w->known[at] = old[i];
	}
	free(old);
}

static struct kind *add_kind(struct kinds *k, const struct hunk *h,
			     uint64_t hash)
{
	struct kinds_work *w = k->work;
	struct kind *kind = VEC_ADD(&k->items);

	(void)snprintf(kind->id, sizeof(kind->id), "%016" PRIx64, hash);
	buf_add(&kind->key, w->key.data, w->key.len);
	buf_add(&kind->family_key, w->family_key.data, w->family_key.len);
	kind->removed = one_sided(w, '-');
	kind->added = one_sided(w, '+');
	add_side_lines(h, &kind->sample);
	return kind;
}

void kinds_id(struct kinds *k, const struct hunk *h,
	      char ret[static KINDS_ID_MAX + 1])
{
	if (!k->work)
		k->work = mem_zalloc(sizeof(*k->work));
	make_keys(k->work, h);
	(void)snprintf(ret, KINDS_ID_MAX + 1, "%016" PRIx64,
		       hash_check(k->work->key.data, k->work->key.len));
}

void kinds_add(struct kinds *k, size_t item, size_t part, const struct hunk *h,
	       bool marked)
{
	struct kinds_work *w;
	struct kind *kind;
	uint64_t hash;
	size_t at;

	if (!k->work)
		k->work = mem_zalloc(sizeof(*k->work));
	w = k->work;
	make_keys(w, h);
	grow_known(w, k->items.count + 1);
	hash = hash_check(w->key.data, w->key.len);
	at = hash & (w->known_capacity - 1);
	while (w->known[at].kind &&
	       !(w->known[at].hash == hash &&
		 buf_same(&k->items.items[w->known[at].kind - 1].key, &w->key)))
		at = (at + 1) & (w->known_capacity - 1);
	if (w->known[at].kind) {
		kind = &k->items.items[w->known[at].kind - 1];
	} else {
		kind = add_kind(k, h, hash);
		w->known[at] = (struct known_kind){hash, k->items.count};
	}
	if (!kind->places.count ||
	    kind->places.items[kind->places.count - 1].item != item)
		kind->files++;
	*VEC_ADD(&kind->places) = (struct kind_place){item, part};
	kind->marked |= marked;
	k->hunks++;
}

/* --- order --- */

static int compare_places(const struct kind_place *a,
			  const struct kind_place *b)
{
	if (a->item != b->item)
		return a->item < b->item ? -1 : 1;
	return (a->part > b->part) - (a->part < b->part);
}

/* By family; in it marked kinds first, then rare ones. */
static int compare_kinds(const void *a, const void *b)
{
	const struct kind *p = a, *q = b;
	int got = mem_compare(p->family_key.data, p->family_key.len,
			      q->family_key.data, q->family_key.len);

	if (got)
		return got;
	if (p->marked != q->marked)
		return p->marked ? -1 : 1;
	if (p->places.count != q->places.count)
		return p->places.count < q->places.count ? -1 : 1;
	return compare_places(p->places.items, q->places.items);
}

/* A family with its first hunk, to be sorted. */
struct ordered_family {
	struct kind_family family;
	struct kind_place first;
};

static int compare_families(const void *a, const void *b)
{
	const struct ordered_family *p = a, *q = b;

	if (p->family.marked != q->family.marked)
		return p->family.marked ? -1 : 1;
	if (p->family.hunks != q->family.hunks)
		return p->family.hunks < q->family.hunks ? -1 : 1;
	return compare_places(&p->first, &q->first);
}

static int compare_samples(const void *a, const void *b)
{
	size_t p = *(const size_t *)a, q = *(const size_t *)b;

	return (p > q) - (p < q);
}

/* Different items of the kinds. */
static size_t count_kind_files(const struct kind *kinds, size_t count)
{
	VEC(size_t) items = {0};
	size_t files, i, k;

	if (count == 1)
		return kinds->files;
	for (i = 0; i < count; i++)
		for (k = 0; k < kinds[i].places.count; k++)
			*VEC_ADD(&items) = kinds[i].places.items[k].item;
	VEC_SORT(&items, compare_samples);
	files = items.count > 0;
	for (i = 1; i < items.count; i++)
		files += items.items[i] != items.items[i - 1];
	VEC_FREE(&items);
	return files;
}

static void sort_families(struct kinds *k)
{
	VEC(struct ordered_family) list = {0};
	struct kind *kinds = k->items.items, *sorted;
	size_t i, at = 0;

	VEC_SORT(&k->items, compare_kinds);
	for (i = 0; i < k->items.count; i++) {
		struct ordered_family *f =
			list.count ? &list.items[list.count - 1] : NULL;

		if (!f || !buf_same(&kinds[i].family_key,
				    &kinds[f->family.first].family_key)) {
			f = VEC_ADD(&list);
			f->family.first = i;
			f->first = kinds[i].places.items[0];
		}
		f->family.count++;
		f->family.hunks += kinds[i].places.count;
		f->family.marked |= kinds[i].marked;
		if (compare_places(&kinds[i].places.items[0], &f->first) < 0)
			f->first = kinds[i].places.items[0];
	}
	VEC_SORT(&list, compare_families);
	sorted = mem_alloc((k->items.count + 1) * sizeof(*sorted));
	for (i = 0; i < list.count; i++) {
		struct kind_family f = list.items[i].family;

		f.files = count_kind_files(&kinds[f.first], f.count);
		memcpy(&sorted[at], &kinds[f.first], f.count * sizeof(*sorted));
		f.first = at;
		at += f.count;
		*VEC_ADD(&k->families) = f;
	}
	free(k->items.items);
	k->items.items = sorted;
	k->items.capacity = k->items.count;
	VEC_FREE(&list);
}

/* The length at which all ids differ. */
static void measure_ids(struct kinds *k)
{
	const char **ids = mem_alloc((k->items.count + 1) * sizeof(*ids));
	size_t len = KINDS_ID_LEAST, i, same;

	for (i = 0; i < k->items.count; i++)
		ids[i] = k->items.items[i].id;
	vec_sort(ids, k->items.count, sizeof(*ids), sorted_compare_texts);
	for (i = 1; i < k->items.count; i++) {
		for (same = 0; ids[i][same] && ids[i][same] == ids[i - 1][same];
		     same++)
			;
		if (same >= len)
			len = same < KINDS_ID_MAX ? same + 1 : same;
	}
	k->id_len = (int)len;
	free(ids);
}

void kinds_finish(struct kinds *k)
{
	size_t i;

	work_free(k);
	sort_families(k);
	for (i = 0; i < k->items.count; i++)
		if (k->items.items[i].places.count >
		    k->items.items[k->usual].places.count)
			k->usual = i;
	measure_ids(k);
}

const struct kind *kinds_find(const struct kinds *k, const char *id,
			      bool *ret_ambiguous)
{
	const struct kind *found = NULL;
	size_t len = strlen(id), i;

	*ret_ambiguous = false;
	if (len < KINDS_ID_LEAST)
		return NULL;
	for (i = 0; i < k->items.count; i++) {
		const struct kind *each = &k->items.items[i];

		if (strncmp(each->id, id, len) != 0)
			continue;
		*ret_ambiguous = found != NULL;
		if (found)
			return NULL;
		found = each;
	}
	return found;
}
