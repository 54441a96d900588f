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

static void add_letter(struct buf *to, uint32_t c)
{
	c = text_lower_case(c);
	if (c < 0x80) {
		buf_add_char(to, (char)c);
	} else if (c < 0x800) {
		buf_add_char(to, (char)(0xc0 | c >> 6));
		buf_add_char(to, (char)(0x80 | (c & 0x3f)));
	} else {
		/* No text for people: any distinct bytes do. */
		buf_add_char(to, (char)(0xe0 | c >> 18));
		buf_add_char(to, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_add_char(to, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_add_char(to, (char)(0x80 | (c & 0x3f)));
	}
}

static void add_folded(struct buf *to, uint32_t c)
{
	size_t at = (c - FIRST) * 2, i;

	if (c < FIRST || c - FIRST >= LETTERS || letters[at] == ' ') {
		add_letter(to, c);
		return;
	}
	add_letter(to, (unsigned char)letters[at]);
	for (i = 0; i < sizeof(marks) / sizeof(*marks); i++)
		if (marks[i].mark == letters[at + 1])
			buf_add_text(to, marks[i].character);
}

void twins_fold(const char *name, struct buf *to)
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

void twins_free(struct twins *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		free(t->items[i].folded);
	VEC_FREE(t);
	names_free(&t->here);
}

static struct twin_name make_twin_name(const char *path)
{
	const char *name = path_name(path);
	struct twin_name made = {.path = path, .dir = (size_t)(name - path)};
	AUTO(buf) struct buf folded = {0};

	twins_fold(name, &folded);
	if (strcmp(buf_text(&folded), name) != 0)
		made.folded = buf_take_text(&folded);
	return made;
}

void twins_add(struct twins *t, const char *path)
{
	*VEC_ADD(t) = make_twin_name(path);
}

static int compare_dirs(const struct twin_name *a, const struct twin_name *b)
{
	size_t len = a->dir < b->dir ? a->dir : b->dir;
	int order = memcmp(a->path, b->path, len);

	return order ? order : (a->dir > b->dir) - (a->dir < b->dir);
}

/* 0: twins. */
static int compare_forms(const void *a, const void *b)
{
	const struct twin_name *x = a, *y = b;
	int order = compare_dirs(x, y);

	return order ? order
		     : strcmp(x->folded ? x->folded : x->path + x->dir,
			      y->folded ? y->folded : y->path + y->dir);
}

static int compare_names(const void *a, const void *b)
{
	const struct twin_name *x = a, *y = b;
	int order = compare_forms(x, y);

	return order ? order : strcmp(x->path, y->path);
}

static struct twin_name *search(const struct twins *t,
				const struct twin_name *wanted,
				int (*compare)(const void *a, const void *b))
{
	return t->count ? bsearch(wanted, t->items, t->count, sizeof(*t->items),
				  compare)
			: NULL;
}

/* A name that was there before. Several new ones of its form are twins of each
 * other already. */
static void meet(struct twins *t, const char *dir, const char *name)
{
	auto_free char *path = path_join(dir, name);
	struct twin_name had = make_twin_name(path);
	struct twin_name *item = search(t, &had, compare_forms);

	free(had.folded);
	if (!item || item->other || strcmp(item->path, path) == 0)
		return;
	names_add(&t->here, path);
	item->other = t->here.items[t->here.count - 1];
}

static void meet_all(struct twins *t, size_t item,
		     void (*list)(void *arg, const char *dir, struct names *to),
		     void *arg)
{
	auto_free char *dir = path_parent(t->items[item].path);
	AUTO(names) struct names had = {0};
	size_t i;

	list(arg, dir, &had);
	for (i = 0; i < had.count; i++)
		meet(t, dir, had.items[i]);
}

void twins_find(struct twins *t,
		void (*list)(void *arg, const char *dir, struct names *to),
		void *arg)
{
	size_t i;

	VEC_SORT(t, compare_names);
	for (i = 1; i < t->count; i++)
		if (compare_forms(&t->items[i - 1], &t->items[i]) == 0) {
			t->items[i].other = t->items[i - 1].path;
			if (!t->items[i - 1].other)
				t->items[i - 1].other = t->items[i].path;
		}
	for (i = 0; i < t->count; i++)
		if (!i || compare_dirs(&t->items[i - 1], &t->items[i]) != 0)
			meet_all(t, i, list, arg);
}

const char *twins_other(const struct twins *t, const char *path)
{
	struct twin_name wanted = make_twin_name(path);
	const struct twin_name *found = search(t, &wanted, compare_names);

	free(wanted.folded);
	return found && found->other ? path_name(found->other) : NULL;
}
