#include "restore/git/hunks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/vec.h"
#include "restore/git/textdiff.h"

#define CONTEXT_LINES 3

static void hunk_done(struct hunk *h)
{
	free(h->lines.items);
	free(h->edited);
}

void hunks_free(struct hunks *h)
{
	size_t i;

	for (i = 0; i < h->count; i++)
		hunk_done(&h->items[i]);
	free(h->items);
	*h = (struct hunks){0};
}

static void skip_lines(struct textdiff_reader *r, size_t line)
{
	const char *text;
	size_t len;

	while (r->line < line && textdiff_next(r, &text, &len))
		;
}

static void add_hunk_line(struct hunk *h, char kind, const char *text,
			  size_t len)
{
	*VEC_ADD(&h->lines) = (struct hunk_line){kind, text, len};
	h->old_count += kind != '+';
	h->new_count += kind != '-';
}

/* --- two texts --- */

static int add_diff_line(void *arg, const struct textdiff_line *line)
{
	struct hunks *all = arg;

	if (line->kind == '@')
		*VEC_ADD(all) = (struct hunk){
			.old_at = line->old_at,
			.new_at = line->new_at,
		};
	else if (line->kind != '\\')
		add_hunk_line(&all->items[all->count - 1], line->kind,
			      line->text, line->len);
	return 0;
}

int hunks_make(const struct buf *old, const struct buf *now, struct hunks *ret,
	       struct err *err)
{
	AUTO(hunks) struct hunks h = {0};
	int got = textdiff(old->data, old->len, now->data, now->len,
			   CONTEXT_LINES, add_diff_line, &h, &h.added,
			   &h.removed, err);

	if (got < 0)
		return got;
	*ret = TAKE(h);
	return got;
}

void hunks_compose(const struct hunks *h, const struct buf *old, struct buf *to)
{
	struct textdiff_reader r = textdiff_read(old->data, old->len);
	size_t i, k;

	for (i = 0; i < h->count; i++) {
		const struct hunk *hunk = &h->items[i];
		const char *from = r.at;

		skip_lines(&r, hunk->old_at);
		buf_add(to, from, (size_t)(r.at - from));
		for (k = 0; k < hunk->lines.count; k++) {
			const struct hunk_line *l = &hunk->lines.items[k];

			if (l->kind == ' ' ||
			    (l->kind == '+') == hunk->accepted)
				buf_add(to, l->text, l->len);
		}
		skip_lines(&r, hunk->old_at + hunk->old_count);
	}
	buf_add(to, r.at, (size_t)(r.end - r.at));
}

/* --- parts of a hunk --- */

/* Start of the next part: in the middle of the unchanged lines that follow the
 * first changed ones. 0: there is no second part. */
static size_t find_part(const struct hunk *h, size_t from)
{
	size_t i = from, gap;

	while (i < h->lines.count && h->lines.items[i].kind == ' ')
		i++;
	while (i < h->lines.count && h->lines.items[i].kind != ' ')
		i++;
	gap = i;
	while (i < h->lines.count && h->lines.items[i].kind == ' ')
		i++;
	return i < h->lines.count ? gap + (i - gap) / 2 + (i - gap) % 2 : 0;
}

bool hunks_can_split(const struct hunk *h)
{
	return !h->edited && find_part(h, 0) > 0;
}

void hunks_split(struct hunks *h, size_t at)
{
	struct hunk whole = h->items[at];
	size_t from = 0, i, place = at, end;

	do {
		struct hunk part = {
			.old_at = whole.old_at,
			.new_at = whole.new_at,
			.accepted = whole.accepted,
		};

		end = find_part(&whole, from);
		for (i = from; i < (end ? end : whole.lines.count); i++)
			add_hunk_line(&part, whole.lines.items[i].kind,
				      whole.lines.items[i].text,
				      whole.lines.items[i].len);
		whole.old_at += part.old_count;
		whole.new_at += part.new_count;
		from = end;
		if (place == at) {
			h->items[place++] = part;
			continue;
		}
		(void)VEC_ADD(h);
		memmove(h->items + place + 1, h->items + place,
			(h->count - place - 1) * sizeof(*h->items));
		h->items[place++] = part;
	} while (end);
	hunk_done(&whole);
}

/* --- edited hunks --- */

void hunks_add_head(struct buf *to, const struct hunk *h)
{
	buf_printf(to, "@@ -%zu,%zu +%zu,%zu @@",
		   h->old_at + (h->old_count > 0), h->old_count,
		   h->new_at + (h->new_count > 0), h->new_count);
}

void hunks_add_line(struct buf *to, const struct hunk_line *l,
		    const char *without_feed)
{
	buf_add_char(to, l->kind);
	buf_add(to, l->text, l->len);
	if (!l->len || l->text[l->len - 1] != '\n')
		buf_add_text(to, without_feed);
}

void hunks_print(const struct hunk *h, struct buf *to)
{
	size_t i;

	hunks_add_head(to, h);
	buf_add_char(to, '\n');
	for (i = 0; i < h->lines.count; i++)
		hunks_add_line(to, &h->lines.items[i],
			       "\n\\ No newline at end of file\n");
}

static int parse_edited(const char *at, struct hunk *to, struct err *err)
{
	while (*at) {
		size_t len = strcspn(at, "\n");
		size_t whole = len + (at[len] == '\n');

		if (strchr(" +-", *at))
			add_hunk_line(to, *at, at + 1, whole - 1);
		else if (*at == '\n')
			/* Editors remove the blank of an empty line. */
			add_hunk_line(to, ' ', at, 1);
		else if (*at == '\\' && to->lines.count &&
			 to->lines.items[to->lines.count - 1].len)
			to->lines.items[to->lines.count - 1].len--;
		else if (*at != '#' && *at != '@')
			return fail(err, EINVAL,
				    "a line does not begin with ' ', '-', '+' "
				    "or '#'");
		at += whole;
	}
	return 0;
}

/* The next line of the old text from this index on, or NULL. */
static const struct hunk_line *next_old_line(const struct hunk *h, size_t *at)
{
	while (*at < h->lines.count && h->lines.items[*at].kind == '+')
		++*at;
	return *at < h->lines.count ? &h->lines.items[(*at)++] : NULL;
}

static int same_old(const struct hunk *a, const struct hunk *b, struct err *err)
{
	const struct hunk_line *p, *q;
	size_t i = 0, k = 0, line = a->old_at;

	do {
		p = next_old_line(a, &i);
		q = next_old_line(b, &k);
		line++;
		if (!p != !q || (p && (p->len != q->len ||
				       memcmp(p->text, q->text, p->len))))
			return fail(err, EINVAL,
				    "line %zu of the file differs from the "
				    "original: only change '+' lines, or '-' "
				    "to ' ' and back",
				    line);
	} while (p);
	return 0;
}

int hunks_edit(struct hunks *h, size_t at, const char *text, struct err *err)
{
	struct hunk *old = &h->items[at];
	struct hunk new = {
		.old_at = old->old_at,
		.new_at = old->new_at,
		.edited = mem_strdup(text),
	};
	size_t i, changes = 0;
	int got = parse_edited(new.edited, &new, err);

	for (i = 0; i < new.lines.count; i++)
		changes += new.lines.items[i].kind != ' ';
	if (got == 0 && !changes)
		got = fail(err, ECANCELED, "no change is left in the hunk");
	if (got == 0)
		got = same_old(old, &new, err);
	if (got < 0) {
		hunk_done(&new);
		return got;
	}
	hunk_done(old);
	*old = new;
	return 0;
}
