#include "guard/rules/twins.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

/* --- the form of a name --- */

#define FIRST 0xc0
#define LETTERS ((sizeof(letters) - 1) / 2)

/* Each letter from U+00C0 on: the letter without its mark, and the mark. Of
 * UnicodeData.txt, field 5. */
static const char letters[] =
	"A`A'A^A~A:Ao  C,E`E'E^E:I`I'I^I:  N~O`O'O^O~O:    U`U'U^U:Y'    "
	"a`a'a^a~a:ao  c,e`e'e^e:i`i'i^i:  n~o`o'o^o~o:    u`u'u^u:y'  y:"
	"A-a-A(a(A;a;C'c'C^c^C.c.CvcvDvdv    E-e-E(e(E.e.E;e;EvevG^g^G(g("
	"G.g.G,g,H^h^    I~i~I-i-I(i(I;i;I.      J^j^K,k,  L'l'L,l,Lvlv  "
	"      N'n'N,n,Nvnv      O-o-O(o(O\"o\"    R'r'R,r,RvrvS's'S^s^S,s,"
	"SvsvT,t,Tvtv    U~u~U-u-U(u(UouoU\"u\"U;u;W^w^Y^y^Y:Z'z'Z.z.Zvzv  ";

/* U+0300 to U+0328. */
static const struct {
	char mark;
	const char *character;
} marks[] = {
	{'`', "\u0300"}, {'\'', "\u0301"}, {'^', "\u0302"}, {'~', "\u0303"},
	{'-', "\u0304"}, {'(', "\u0306"},  {'.', "\u0307"}, {':', "\u0308"},
	{'o', "\u030a"}, {'"', "\u030b"},  {'v', "\u030c"}, {',', "\u0327"},
	{';', "\u0328"},
};

static void add_folded(struct buf *to, uint32_t c)
{
	size_t at = (c - FIRST) * 2, i;

	if (c < FIRST || c - FIRST >= LETTERS || letters[at] == ' ') {
		text_encode(to, text_lower_case(c));
		return;
	}
	text_encode(to, text_lower_case((unsigned char)letters[at]));
	for (i = 0; i < ARRAY_SIZE(marks); i++)
		if (marks[i].mark == letters[at + 1])
			buf_add_text(to, marks[i].character);
}

/* Appends the name in a form that is equal for twins. */
static void twins_fold(const char *name, struct buf *to)
{
	size_t left = strlen(name);

	while (left) {
		uint32_t c;
		size_t n = text_decode(name, left, &c);

		if (n)
			add_folded(to, c);
		else
			buf_add_char(to, *name);
		n += !n;
		name += n;
		left -= n;
	}
}

/* --- paths --- */

static char *form_of(const char *path)
{
	struct buf folded = {0};

	twins_fold(path_name(path), &folded);
	return buf_take_text(&folded);
}

void twins_free(struct twins *t)
{
	size_t i;

	for (i = 0; i < t->pairs.count; i++)
		free(t->pairs.items[i].other);
	VEC_FREE(&t->pairs);
	VEC_FREE(&t->names);
}

/* FNV-1a: names of equal hash are compared. */
static uint32_t hash_form(const char *form)
{
	uint32_t hash = 2166136261u;

	while (*form)
		hash = (hash ^ (unsigned char)*form++) * 16777619u;
	return hash;
}

static struct twin_name make_twin_name(const char *path)
{
	auto_free char *form = form_of(path);

	return (struct twin_name){
		.path = path,
		.dir = (uint32_t)(path_name(path) - path),
		.hash = hash_form(form),
	};
}

void twins_add(struct twins *t, const char *path)
{
	*VEC_ADD(&t->names) = make_twin_name(path);
}

static int compare_dirs(const struct twin_name *a, const struct twin_name *b)
{
	size_t len = a->dir < b->dir ? a->dir : b->dir;
	int order = memcmp(a->path, b->path, len);

	return order ? order : (a->dir > b->dir) - (a->dir < b->dir);
}

/* 0: twins, or the same path. The order by hash saves most comparisons of the
 * forms, which are not kept. */
static int compare_forms(const void *a, const void *b)
{
	const struct twin_name *x = a, *y = b;
	auto_free char *one = NULL, *two = NULL;
	int order = compare_dirs(x, y);

	if (order)
		return order;
	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	if (strcmp(x->path, y->path) == 0)
		return 0;
	one = form_of(x->path);
	two = form_of(y->path);
	return strcmp(one, two);
}

static void add_pair(struct twins *t, const char *path, const char *other)
{
	*VEC_ADD(&t->pairs) = (struct twin_pair){
		.path = path,
		.other = mem_strdup(path_name(other)),
	};
}

/* A name that was there before. Several new ones of its form are twins of each
 * other already. */
static void meet(struct twins *t, const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);
	struct twin_name had = make_twin_name(path);
	const struct twin_name *end = t->names.items + t->names.count;
	const struct twin_name *item =
		bsearch(&had, t->names.items, t->names.count,
			sizeof(*t->names.items), compare_forms);

	if (!item || strcmp(item->path, path) == 0)
		return;
	if ((item > t->names.items && compare_forms(item - 1, item) == 0) ||
	    (item + 1 < end && compare_forms(item, item + 1) == 0))
		return;
	add_pair(t, item->path, path);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct twin_pair *x = a, *y = b;

	return strcmp(x->path, y->path);
}

void twins_find(struct twins *t,
		void (*list)(void *arg, const char *dir, struct names *to),
		void *arg)
{
	const struct twin_name *items;
	size_t count = t->names.count, i, k;

	VEC_SORT(&t->names, compare_forms);
	items = t->names.items;
	for (i = 1; i < count; i++) {
		if (compare_forms(&items[i - 1], &items[i]) != 0)
			continue;
		if (i == 1 || compare_forms(&items[i - 2], &items[i - 1]) != 0)
			add_pair(t, items[i - 1].path, items[i].path);
		add_pair(t, items[i].path, items[i - 1].path);
	}
	for (i = 0; i < count; i++) {
		auto_free char *dir = NULL;
		AUTO(names) struct names had = {0};

		if (i && compare_dirs(&items[i - 1], &items[i]) == 0)
			continue;
		dir = path_parent(items[i].path);
		list(arg, dir, &had);
		for (k = 0; k < had.count; k++)
			meet(t, dir, had.items[k]);
	}
	VEC_FREE(&t->names);
	VEC_SORT(&t->pairs, compare_pairs);
}

const char *twins_other(const struct twins *t, const char *path)
{
	const struct twin_pair wanted = {.path = path};
	const struct twin_pair *found =
		t->pairs.count
			? bsearch(&wanted, t->pairs.items, t->pairs.count,
				  sizeof(*t->pairs.items), compare_pairs)
			: NULL;

	return found ? found->other : NULL;
}
