#include "guard/review/review_conflict.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/sorted.h"
#include "snapshot/store/content.h"

static const char letters[] = {
	[CHOICE_OPEN] = 'u',
	[CHOICE_OURS] = 'o',
	[CHOICE_THEIRS] = 't',
	[CHOICE_BOTH] = 'm',
	'\0',
};

static void review_conflict_free(struct review_conflict *c)
{
	free(c->path);
	free(c->their_label);
	free(c->choices);
	entry_free(&c->base);
	entry_free(&c->ours);
	entry_free(&c->theirs);
	textmerge_parts_free(&c->parts);
	buf_free(&c->edited);
	buf_free(&c->result);
}

void review_conflict_list_free(struct review_conflicts *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		review_conflict_free(&list->items[i]);
	VEC_FREE(list);
}

/* --- the sides --- */

/* 1: text; 0: none. */
static int read_side(struct store *store, const struct entry *e, struct buf *to,
		     struct err *err)
{
	if (!S_ISREG(e->mode) || e->size > TEXTMERGE_MAX ||
	    (e->flags & ENTRY_INCOMPLETE))
		return 0;
	if (content_append(store, &e->content, to, err) < 0)
		return -err->num;
	return textmerge_is_text(to);
}

/* The plan merges bytes under the same conditions. */
static bool may_merge(const struct review_conflict *c)
{
	if (c->kind != CONFLICT_BOTH_CHANGED && c->kind != CONFLICT_BOTH_ADDED)
		return false;
	if (c->ours.link_group || c->theirs.link_group)
		return false;
	return c->base.mode ? S_ISREG(c->base.mode)
			    : entry_same_meta(&c->ours, &c->theirs);
}

static int merge_sides(struct review_conflict *c, struct store *store,
		       struct err *err)
{
	AUTO(buf) struct buf base = {0}, ours = {0}, theirs = {0};
	const struct textmerge_sides sides = {
		.base = c->base.mode ? &base : NULL,
		.ours = &ours,
		.theirs = &theirs,
	};
	struct err ignored;
	int got = 1;

	if (c->base.mode)
		got = read_side(store, &c->base, &base, err);
	if (got == 1)
		got = read_side(store, &c->ours, &ours, err);
	if (got == 1)
		got = read_side(store, &c->theirs, &theirs, err);
	if (got != 1)
		return got;
	if (textmerge_parts_make(&sides, &c->parts, &ignored) < 0)
		textmerge_parts_free(&c->parts);
	return 0;
}

static void set_count(struct review_conflict *c)
{
	size_t i;

	c->count = 0;
	for (i = 0; i < c->parts.count; i++)
		c->count += c->parts.items[i].conflict;
	if (!c->count) {
		/* Only the metadata is in conflict. */
		textmerge_parts_free(&c->parts);
		c->count = 1;
	}
	free(c->choices);
	c->choices = mem_zalloc(c->count * sizeof(*c->choices));
}

int review_conflict_make(struct store *store,
			 const struct conflict_trees *trees, const char *path,
			 enum conflict_kind kind, struct review_conflict *ret,
			 struct err *err)
{
	struct review_conflict c = {.kind = kind, .path = mem_strdup(path)};

	if (tree_lookup(store, trees->base, path, &c.base, err) < 0 ||
	    tree_lookup(store, trees->ours, path, &c.ours, err) < 0 ||
	    tree_lookup(store, trees->theirs, path, &c.theirs, err) < 0 ||
	    (may_merge(&c) && merge_sides(&c, store, err) < 0)) {
		review_conflict_free(&c);
		return -err->num;
	}
	set_count(&c);
	*ret = c;
	return 0;
}

bool review_conflict_same(const struct review_conflict *a,
			  const struct review_conflict *b)
{
	return a->root == b->root && strcmp(a->path, b->path) == 0 &&
	       a->kind == b->kind && entry_same_state(&a->base, &b->base) &&
	       entry_same_state(&a->ours, &b->ours) &&
	       entry_same_state(&a->theirs, &b->theirs);
}

const struct textmerge_part *
review_conflict_part(const struct review_conflict *c, size_t i, size_t *ret_at,
		     size_t *ret_line)
{
	size_t at, k, line = 1;

	for (at = 0; at < c->parts.count; at++) {
		const struct textmerge_part *p = &c->parts.items[at];

		if (p->conflict && !i--) {
			*ret_at = at;
			*ret_line = line;
			return p;
		}
		for (k = 0; k < p->ours.len; k++)
			line += p->ours.data[k] == '\n';
	}
	return NULL;
}

/* --- the decision --- */

bool review_conflict_can(const struct review_conflict *c,
			 enum conflict_choice choice)
{
	switch (choice) {
	case CHOICE_THEIRS:
		return !c->refused && (c->kind == CONFLICT_BOTH_CHANGED ||
				       c->kind == CONFLICT_BOTH_ADDED ||
				       c->kind == CONFLICT_DELETED_NOW ||
				       c->kind == CONFLICT_CHANGED_NOW);
	case CHOICE_BOTH:
		return c->parts.count > 0;
	case CHOICE_OURS:
		return c->kind != CONFLICT_UNMERGED;
	default:
		return true;
	}
}

void review_conflict_choose(struct review_conflict *c, size_t i,
			    enum conflict_choice choice)
{
	if (!review_conflict_can(c, choice))
		return;
	c->is_edited = false;
	c->choices[i] = choice;
}

void review_conflict_list_choose(struct review_conflicts *list,
				 enum conflict_choice choice)
{
	size_t i, k;

	for (i = 0; i < list->count; i++) {
		struct review_conflict *c = &list->items[i];

		for (k = 0; !c->is_edited && k < c->count; k++)
			if (c->choices[k] == CHOICE_OPEN)
				review_conflict_choose(c, k, choice);
	}
}

void review_conflict_edit(struct review_conflict *c, const struct buf *text)
{
	buf_clear(&c->edited);
	buf_add(&c->edited, text->data, text->len);
	c->is_edited = true;
}

void review_conflict_refuse(struct review_conflict *c)
{
	c->refused = !c->parts.count;
	c->is_edited = false;
	textmerge_parts_free(&c->parts);
	set_count(c);
}

size_t review_conflict_open(const struct review_conflict *c)
{
	size_t i, n = 0;

	for (i = 0; !c->is_edited && i < c->count; i++)
		n += c->choices[i] == CHOICE_OPEN;
	return n;
}

static bool has_crlf(const struct buf *text)
{
	const unsigned char *feed =
		text->len ? memchr(text->data, '\n', text->len) : NULL;

	return feed && feed > text->data && feed[-1] == '\r';
}

/* The lines of one side between markers. */
static void add_conflict_side(struct buf *to, const struct buf *side,
			      const char *end)
{
	buf_add(to, side->data, side->len);
	if (side->len && side->data[side->len - 1] != '\n')
		buf_add_text(to, end);
}

static void add_marked(const struct review_conflict *c,
		       const struct textmerge_part *p, struct buf *to)
{
	const char *end =
		has_crlf(&p->ours) || has_crlf(&p->theirs) ? "\r\n" : "\n";

	buf_printf(to, "<<<<<<< %s%s", c->our_label ?: "", end);
	add_conflict_side(to, &p->ours, end);
	buf_printf(to, "=======%s", end);
	add_conflict_side(to, &p->theirs, end);
	buf_printf(to, ">>>>>>> %s%s", c->their_label ?: "", end);
}

void review_conflict_text(const struct review_conflict *c, struct buf *ret,
			  bool *ret_marked)
{
	size_t i, n = 0;

	*ret_marked = false;
	if (c->is_edited) {
		buf_add(ret, c->edited.data, c->edited.len);
		*ret_marked = strncmp(buf_text(ret), "<<<<<<< ", 8) == 0 ||
			      strstr(buf_text(ret), "\n<<<<<<< ");
		return;
	}
	for (i = 0; i < c->parts.count; i++) {
		const struct textmerge_part *p = &c->parts.items[i];
		enum conflict_choice choice =
			p->conflict ? c->choices[n++] : CHOICE_OURS;

		if (choice == CHOICE_OURS) {
			buf_add(ret, p->ours.data, p->ours.len);
		} else if (choice == CHOICE_THEIRS) {
			buf_add(ret, p->theirs.data, p->theirs.len);
		} else {
			add_marked(c, p, ret);
			*ret_marked = true;
		}
	}
}

/* The decision for the plan; RESOLVE_NOT: leave the path out. Borrows from *c.
 */
static void review_conflict_plan(struct review_conflict *c,
				 struct plan_choice *ret)
{
	*ret = (struct plan_choice){.path = c->path, .resolve = RESOLVE_NOT};
	if (review_conflict_open(c))
		return;
	if (c->parts.count || c->is_edited) {
		buf_clear(&c->result);
		review_conflict_text(c, &c->result, &ret->marked);
		ret->resolve = RESOLVE_MERGE;
		ret->text = &c->result;
	} else {
		ret->resolve = c->choices[0] == CHOICE_OURS ? RESOLVE_OURS
							    : RESOLVE_THEIRS;
	}
}

struct plan_choice *review_conflict_list_plan(struct review_conflicts *list,
					      size_t root, size_t *ret_count)
{
	struct plan_choice *choices =
		mem_alloc((list->count + 1) * sizeof(*choices));
	size_t i;

	*ret_count = 0;
	for (i = 0; i < list->count; i++)
		if (list->items[i].root == root)
			review_conflict_plan(&list->items[i],
					     &choices[(*ret_count)++]);
	SORT_BY_PATH(choices, *ret_count, path);
	return choices;
}

char *review_conflict_encode(const struct review_conflict *c)
{
	AUTO(buf) struct buf b = {0};
	size_t i;

	if (c->is_edited) {
		buf_add_char(&b, '=');
		buf_add(&b, c->edited.data, c->edited.len);
	}
	for (i = 0; !c->is_edited && i < c->count; i++)
		buf_add_char(&b, letters[c->choices[i]]);
	return buf_take_text(&b);
}

bool review_conflict_decode(struct review_conflict *c, const char *text)
{
	struct buf edited = {0};
	size_t i;

	if (*text == '=') {
		if (!c->parts.count)
			return false;
		buf_add_text(&edited, text + 1);
		review_conflict_edit(c, &edited);
		buf_free(&edited);
		return true;
	}
	if (strlen(text) != c->count)
		return false;
	for (i = 0; i < c->count; i++) {
		const char *letter = strchr(letters, text[i]);

		if (!letter ||
		    !review_conflict_can(
			    c, (enum conflict_choice)(letter - letters)))
			return false;
	}
	for (i = 0; i < c->count; i++)
		review_conflict_choose(
			c, i,
			(enum conflict_choice)(strchr(letters, text[i]) -
					       letters));
	return true;
}
