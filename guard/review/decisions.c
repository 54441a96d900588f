/*
 * The file runs/<id>/review:
 *
 *	file = "guard-review 1" LF *line
 *	line = act SP root SP key SP part SP path [ TAB text ] LF
 *	act  = "y" | "n" | "u"		; answers: taken, left, open again
 *	     | "s"			; split
 *	     | "e"			; text: the hunk as the user edited it
 *	     | "v" | "w"		; viewed, no more viewed
 *	     | "c"			; text: the decision on a conflict, as
 *of ; review_conflict_encode() root = decimal number of the root; 0: the
 *project key  = 32 hex digits: store_digest() of the item's entries, or of the
 *	       three sides of a conflict
 *	part = "*"			; all
 *	     | "m"			; the metadata beside the bytes
 *	     | old-at "," old-count	; the hunk behind so many lines
 *
 * In path and text, LF is "\n", TAB "\t", CR "\r", backslash "\\". A later act
 * on the same part counts. A line without its LF is torn; from the first
 * invalid line on the file does not count.
 */
#include "guard/review/decisions.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/parse.h"
#include "base/sorted.h"
#include "base/text.h"

#define FILE_NAME "review"
#define HEADER "guard-review 1\n"
/* More than any review of a person, less than what hurts. */
#define FILE_MAX (256u << 20)
#define ROOTS_MAX 100000
#define KEY_LEN 16

struct decision {
	char act;
	size_t root;
	unsigned char key[KEY_LEN];
	char *part, *path;
	char *text; /* the edited hunk or the decided conflict; else NULL */
};

struct decisions {
	VEC(struct decision) acts; /* as loaded */
	int fd; /* -1: nothing is appended */
	off_t size;
	struct buf lines; /* not written yet */
	bool held; /* until decisions_end() */
	struct err failed; /* .num 0: all was written */
};

/* --- lines --- */

static void decision_free(struct decision *a)
{
	free(a->part);
	free(a->path);
	free(a->text);
}

static const char escapes[][2] = {
	{'\n', 'n'},
	{'\t', 't'},
	{'\r', 'r'},
	{'\\', '\\'},
};
#define ESCAPE_COUNT ARRAY_SIZE(escapes)

static void add_escaped(struct buf *to, const char *text)
{
	size_t i;

	for (; *text; text++) {
		for (i = 0; i < ESCAPE_COUNT && escapes[i][0] != *text; i++)
			;
		if (i < ESCAPE_COUNT)
			buf_add_char(to, '\\');
		buf_add_char(to, i < ESCAPE_COUNT ? escapes[i][1] : *text);
	}
}

/* To free; NULL: not the escaped form of a text. */
static char *unescape(const char *at, size_t len)
{
	const char *end = at + len;
	AUTO(buf) struct buf b = {0};
	size_t i;

	for (; at < end; at++) {
		if (*at == '\n' || *at == '\t' || *at == '\r')
			return NULL;
		if (*at != '\\') {
			buf_add_char(&b, *at);
			continue;
		}
		at++;
		for (i = 0; i < ESCAPE_COUNT && at < end; i++)
			if (escapes[i][1] == *at)
				break;
		if (at == end || i == ESCAPE_COUNT)
			return NULL;
		buf_add_char(&b, escapes[i][0]);
	}
	return buf_take_text(&b);
}

/* Appends the line with its line feed. */
static void decision_encode(const struct decision *a, struct buf *to)
{
	buf_printf(to, "%c %zu %s %s ", a->act, a->root,
		   text_hex(a->key, sizeof(a->key)), a->part);
	add_escaped(to, a->path);
	if (a->text) {
		buf_add_char(to, '\t');
		add_escaped(to, a->text);
	}
	buf_add_char(to, '\n');
}

/* The word up to the next blank, to free; *at moves behind it. NULL: none. */
static char *next_word(const char **at, const char *end)
{
	const char *from = *at;
	const char *blank = memchr(from, ' ', (size_t)(end - from));

	if (!blank || blank == from)
		return NULL;
	*at = blank + 1;
	return mem_strndup(from, (size_t)(blank - from));
}

static bool is_part(const char *part)
{
	size_t digits = strspn(part, "0123456789"), more;

	if (strcmp(part, "*") == 0 || strcmp(part, "m") == 0)
		return true;
	more = digits && part[digits] == ','
		       ? strspn(part + digits + 1, "0123456789")
		       : 0;
	return more && digits < 20 && more < 20 && !part[digits + 1 + more];
}

/* Decodes a line without its line feed; false: not a valid line. *ret is to be
 * freed with decision_free(). */
static bool decision_decode(const char *line, size_t len, struct decision *ret)
{
	const char *at = line, *end = line + len, *tab;
	auto_free char *act = next_word(&at, end);
	auto_free char *root = act ? next_word(&at, end) : NULL;
	auto_free char *key = root ? next_word(&at, end) : NULL;
	auto_free char *part = key ? next_word(&at, end) : NULL;
	struct decision a = {0};
	unsigned long number;

	if (!part || memchr(line, '\0', len) || strlen(act) != 1 ||
	    !strchr("ynusevwc", *act) || (*root == '0' && root[1]) ||
	    parse_number(root, ROOTS_MAX, &number) < 0 ||
	    !text_unhex(a.key, key, sizeof(a.key)) || !is_part(part))
		return false;
	tab = memchr(at, '\t', (size_t)(end - at));
	if (!tab != (*act != 'e' && *act != 'c'))
		return false;
	a.act = *act;
	a.root = number;
	a.path = unescape(at, (size_t)((tab ? tab : end) - at));
	if (tab)
		a.text = unescape(tab + 1, (size_t)(end - tab - 1));
	if (!a.path || (tab && !a.text)) {
		decision_free(&a);
		return false;
	}
	a.part = TAKE(part);
	*ret = a;
	return true;
}

/* --- the file --- */

/* Returns the length of the valid part. */
static size_t decode_file(struct decisions *d, const char *text, size_t len)
{
	size_t at = strlen(HEADER);
	struct decision a;

	if (len < at || memcmp(text, HEADER, at) != 0)
		return 0;
	while (at < len) {
		const char *feed = memchr(text + at, '\n', len - at);

		if (!feed ||
		    !decision_decode(text + at, (size_t)(feed - text) - at, &a))
			break;
		*VEC_ADD(&d->acts) = a;
		at = (size_t)(feed - text) + 1;
	}
	return at;
}

static int load_file(struct decisions *d, int dir_fd, struct err *err)
{
	AUTO(buf) struct buf text = {0};
	unsigned int version;
	int got = fd_slurp_at(dir_fd, FILE_NAME, FILE_MAX, &text, err);

	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	if (sscanf(buf_text(&text), "guard-review %u\n", &version) == 1 &&
	    version > 1)
		return fail(err, EPROTO,
			    "the decisions of this review were written by a "
			    "newer guard: use that version, or --forget");
	d->size = (off_t)decode_file(d, buf_text(&text), text.len);
	return 0;
}

int decisions_open(int dir_fd, bool write, struct decisions **ret,
		   struct err *err)
{
	AUTO(decisions) struct decisions *d = mem_zalloc(sizeof(*d));

	d->fd = -1;
	if (load_file(d, dir_fd, err) < 0)
		return -err->num;
	if (write) {
		d->fd = openat(dir_fd, FILE_NAME,
			       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
			       0600);
		/* What does not count is no part of the next line. */
		if (d->fd < 0 || ftruncate(d->fd, d->size) < 0 ||
		    lseek(d->fd, d->size, SEEK_SET) < 0)
			return fail_errno(err, "keep the decisions");
	}
	*ret = TAKE(d);
	return 0;
}

static void write_lines(struct decisions *d)
{
	AUTO(buf) struct buf b = {0};

	if (d->fd < 0 || !d->lines.len)
		return;
	if (!d->size)
		buf_add_text(&b, HEADER);
	buf_add(&b, d->lines.data, d->lines.len);
	buf_clear(&d->lines);
	if (fd_write(d->fd, b.data, b.len) == 0) {
		d->size += (off_t)b.len;
		return;
	}
	(void)fail_errno(&d->failed, "keep the decisions");
	/* A line that was cut is torn, which the next reader ignores. */
	if (ftruncate(d->fd, d->size) < 0)
		(void)fail_errno(&d->failed, "keep the decisions");
	fd_close(&d->fd);
}

static void add_act(struct decisions *d, const struct decision *a)
{
	if (d->fd < 0)
		return;
	decision_encode(a, &d->lines);
	if (!d->held)
		write_lines(d);
}

void decisions_begin(struct decisions *d)
{
	if (d)
		d->held = true;
}

void decisions_end(struct decisions *d)
{
	if (!d)
		return;
	d->held = false;
	write_lines(d);
}

int decisions_failed(const struct decisions *d, struct err *err)
{
	if (!d || !d->failed.num)
		return 0;
	*err = d->failed;
	return -err->num;
}

void decisions_free(struct decisions **to)
{
	struct decisions *d = *to;
	size_t i;

	if (!d)
		return;
	write_lines(d);
	if (d->fd >= 0)
		(void)fdatasync(d->fd);
	fd_close(&d->fd);
	for (i = 0; i < d->acts.count; i++)
		decision_free(&d->acts.items[i]);
	VEC_FREE(&d->acts);
	buf_free(&d->lines);
	free(d);
	*to = NULL;
}

int decisions_forget(int dir_fd, struct err *err)
{
	if (unlinkat(dir_fd, FILE_NAME, 0) < 0 && errno != ENOENT)
		return fail_errno(err, "remove the decisions");
	return 0;
}

/* --- items --- */

/* All that entry_same_state() compares. */
static void add_state(struct buf *to, const struct entry *e)
{
	enc_var(to, e->mode);
	if (!e->mode)
		return;
	enc_var(to, e->uid);
	enc_var(to, e->gid);
	enc_var(to, e->chattr);
	enc_var(to, e->rdev);
	/* The tree of a directory names its entries, which are other items. */
	if (!S_ISDIR(e->mode))
		entry_encode_oid(to, &e->content);
	entry_encode_oid(to, &e->attrs);
	enc_text(to, e->link ? e->link : "");
}

static void make_key(const struct review *r, const struct review_item *item,
		     unsigned char ret[KEY_LEN])
{
	AUTO(buf) struct buf b = {0};
	size_t i;

	enc_u8(&b, (uint8_t)(item->move | item->incomplete << 1));
	for (i = 0; i < item->count; i++) {
		const struct review_entry *e = review_entry_at(r, item, i);

		enc_text(&b, e->path);
		add_state(&b, &e->old);
		add_state(&b, &e->now);
	}
	store_digest(r->store, b.data, b.len, ret);
}

/* "*", "m" or the place of the hunk, to free. */
static char *part_name(const struct review_item *item, size_t part)
{
	const struct hunk *hunk;

	if (part == DECISIONS_ALL || item->parts == 1)
		return mem_strdup("*");
	hunk = review_hunk(item, part);
	return hunk ? mem_printf("%zu,%zu", hunk->old_at, hunk->old_count)
		    : mem_strdup("m");
}

static void keep(struct decisions *d, char act, size_t root,
		 const struct review *r, const struct review_item *item,
		 char *part, char *text)
{
	struct decision a = {
		.act = act,
		.root = root,
		.part = part,
		.path = item->path,
		.text = text,
	};

	make_key(r, item, a.key);
	add_act(d, &a);
}

static void answer_parts(struct review *r, struct review_item *item,
			 size_t part, enum review_answer answer)
{
	if (part != DECISIONS_ALL) {
		review_answer_part(r, item, part, answer);
		return;
	}
	for (part = 0; part < item->parts; part++)
		review_answer_part(r, item, part, answer);
}

void decisions_answer(struct decisions *d, size_t root, struct review *r,
		      struct review_item *item, size_t part,
		      enum review_answer answer)
{
	static const char acts[] = {
		[REVIEW_OPEN] = 'u',
		[REVIEW_YES] = 'y',
		[REVIEW_NO] = 'n',
	};
	auto_free char *name = NULL;

	answer_parts(r, item, part, answer);
	if (!d)
		return;
	/* A yes may have become a no. */
	answer = item->answers[part == DECISIONS_ALL ? 0 : part];
	name = part_name(item, part);
	keep(d, acts[answer], root, r, item, name, NULL);
}

void decisions_split(struct decisions *d, size_t root, struct review *r,
		     size_t item, size_t part)
{
	auto_free char *name = part_name(&r->items[item], part);

	if (d)
		keep(d, 's', root, r, &r->items[item], name, NULL);
	review_split(r, item, part);
}

void decisions_edited(struct decisions *d, size_t root, struct review *r,
		      struct review_item *item, size_t part)
{
	const struct hunk *hunk = review_hunk(item, part);
	auto_free char *name = part_name(item, part);

	if (d && hunk && hunk->edited)
		keep(d, 'e', root, r, item, name, hunk->edited);
}

void decisions_view(struct decisions *d, size_t root, struct review *r,
		    struct review_item *item, bool viewed)
{
	auto_free char *name = mem_strdup("*");

	item->viewed = viewed;
	if (d)
		keep(d, viewed ? 'v' : 'w', root, r, item, name, NULL);
}

/* --- conflicts --- */

static void make_conflict_key(struct store *store,
			      const struct review_conflict *c,
			      unsigned char ret[KEY_LEN])
{
	AUTO(buf) struct buf b = {0};

	enc_u8(&b, (uint8_t)c->kind);
	enc_text(&b, c->path);
	add_state(&b, &c->base);
	add_state(&b, &c->ours);
	add_state(&b, &c->theirs);
	store_digest(store, b.data, b.len, ret);
}

void decisions_conflict(struct decisions *d, struct store *store,
			const struct review_conflict *c)
{
	struct decision a = {.act = 'c', .root = c->root};

	if (!d)
		return;
	a.part = mem_strdup("*");
	a.path = mem_strdup(c->path);
	a.text = review_conflict_encode(c);
	make_conflict_key(store, c, a.key);
	add_act(d, &a);
	/* For decisions_recall_conflict() in the same review. */
	*VEC_ADD(&d->acts) = a;
}

void decisions_conflicts(struct decisions *d, struct store *store,
			 const struct review_conflicts *list)
{
	size_t i;

	decisions_begin(d);
	for (i = 0; i < list->count; i++)
		decisions_conflict(d, store, &list->items[i]);
	decisions_end(d);
}

void decisions_recall_conflict(const struct decisions *d, struct store *store,
			       struct review_conflict *c)
{
	unsigned char key[KEY_LEN];
	size_t i;

	if (!d || !d->acts.count)
		return;
	make_conflict_key(store, c, key);
	for (i = d->acts.count; i-- > 0;) {
		const struct decision *a = &d->acts.items[i];

		if (a->act == 'c' && a->root == c->root &&
		    memcmp(a->key, key, sizeof(key)) == 0) {
			(void)review_conflict_decode(c, a->text);
			return;
		}
	}
}

/* --- replay --- */

struct known_item {
	char *path; /* the item's */
	size_t item;
	bool keyed; /* the key was made */
	unsigned char key[KEY_LEN];
	bool dropped; /* an act of another state was there */
};

struct replay {
	struct review *r;
	VEC(struct known_item) known; /* by path */
	size_t dropped;
};

static void replay_free(struct replay *p)
{
	VEC_FREE(&p->known);
}

static void count_dropped(struct replay *p)
{
	size_t i;

	for (i = 0; i < p->known.count; i++)
		p->dropped += p->known.items[i].dropped;
}

static void list_items(struct replay *p)
{
	size_t i;

	count_dropped(p);
	VEC_FREE(&p->known);
	for (i = 0; i < p->r->count; i++)
		*VEC_ADD(&p->known) = (struct known_item){
			.path = p->r->items[i].path,
			.item = i,
		};
	SORT_BY_PATH(p->known.items, p->known.count, path);
}

/* The item that an act is about, or NULL: there is none in that state. */
static struct known_item *find_decided_item(struct replay *p,
					    const struct decision *a)
{
	size_t first =
		INDEX_BY_PATH(a->path, p->known.items, p->known.count, path);
	size_t i;

	for (i = first;
	     i < p->known.count && strcmp(p->known.items[i].path, a->path) == 0;
	     i++) {
		struct known_item *k = &p->known.items[i];

		if (!k->keyed)
			make_key(p->r, &p->r->items[k->item], k->key);
		k->keyed = true;
		if (memcmp(k->key, a->key, sizeof(k->key)) == 0)
			return k;
	}
	if (i > first && !strchr("uvw", a->act))
		p->known.items[first].dropped = true;
	return NULL;
}

/* The part of that name; false: there is none. Opens the item. */
static bool find_decided_part(struct review *r, struct review_item *item,
			      const char *name, size_t *ret)
{
	unsigned long old_at, old_count;
	struct err ignored;
	size_t i;

	*ret = DECISIONS_ALL;
	if (strcmp(name, "*") == 0)
		return true;
	if (review_open(r, item, &ignored) < 0)
		return false;
	*ret = 0;
	if (strcmp(name, "m") == 0)
		return item->rights;
	if (sscanf(name, "%lu,%lu", &old_at, &old_count) != 2)
		return false;
	for (i = item->rights; i < item->parts; i++) {
		const struct hunk *hunk = review_hunk(item, i);

		*ret = i;
		if (hunk && hunk->old_at == old_at &&
		    hunk->old_count == old_count)
			return true;
	}
	return false;
}

static bool split_again(struct replay *p, size_t item, size_t part)
{
	struct review *r = p->r;
	size_t items = r->count;
	struct err ignored;

	/* One hunk is all of a small file. */
	if (part == DECISIONS_ALL)
		part = 0;
	if (review_open(r, &r->items[item], &ignored) < 0 ||
	    !review_can_split(r, &r->items[item], part))
		return false;
	review_split(r, item, part);
	if (r->count != items)
		list_items(p);
	return true;
}

static bool edit_again(struct replay *p, struct review_item *item, size_t part,
		       const char *text)
{
	struct err ignored;

	if (part == DECISIONS_ALL)
		part = item->rights;
	return review_open(p->r, item, &ignored) == 0 &&
	       review_hunk(item, part) && review_entry(p->r, item)->now.mode &&
	       hunks_edit(&item->hunks, part - item->rights, text, &ignored) ==
		       0;
}

/* false: the act does not fit the item. */
static bool replay_act(struct replay *p, struct known_item *k,
		       const struct decision *a)
{
	struct review_item *item = &p->r->items[k->item];
	size_t part;

	if (!find_decided_part(p->r, item, a->part, &part))
		return false;
	switch (a->act) {
	case 'y':
	case 'n':
	case 'u':
		answer_parts(p->r, item, part,
			     a->act == 'y'   ? REVIEW_YES
			     : a->act == 'n' ? REVIEW_NO
					     : REVIEW_OPEN);
		return true;
	case 's':
		return split_again(p, k->item, part);
	case 'e':
		return edit_again(p, item, part, a->text);
	default:
		item->viewed = a->act == 'v';
		return true;
	}
}

size_t decisions_replay(struct decisions *d, size_t root, struct review *r)
{
	AUTO(replay) struct replay p = {.r = r};
	size_t i;

	if (!d || !d->acts.count)
		return 0;
	list_items(&p);
	for (i = 0; i < d->acts.count; i++) {
		const struct decision *a = &d->acts.items[i];
		struct known_item *k = a->root == root && a->act != 'c'
					       ? find_decided_item(&p, a)
					       : NULL;

		if (k && !replay_act(&p, k, a))
			p.dropped++;
	}
	count_dropped(&p);
	return p.dropped;
}
