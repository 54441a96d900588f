#include "guard/review/review_kinds.h"

#include <stdlib.h>
#include <sys/stat.h>

void review_kinds_free(struct review_kinds *k)
{
	kinds_free(&k->kinds);
	VEC_FREE(&k->items);
	free(k->reviews);
	k->reviews = NULL;
}

static void add_item_hunks(struct review_kinds *k, size_t root, size_t number)
{
	struct review *r = k->reviews[root];
	struct review_item *item = &r->items[number];
	const struct review_entry *e = review_entry(r, item);
	const struct hunk *hunk;
	struct err unread;
	size_t i;

	if (item->count > 1 || item->move || item->worst == RISK_CRITICAL ||
	    !S_ISREG(e->old.mode) || !S_ISREG(e->now.mode) ||
	    review_open(r, item, &unread) < 0 || !item->hunks.count)
		return;
	*VEC_ADD(&k->items) = (struct review_kinds_item){root, number};
	for (i = 0; i < item->parts; i++) {
		hunk = review_hunk(item, i);
		if (hunk)
			kinds_add(&k->kinds, k->items.count - 1, i, hunk,
				  item->worst == RISK_HIGH);
	}
}

void review_kinds_make(struct review **reviews, size_t count,
		       struct review_kinds *ret)
{
	struct review_kinds k = {
		.reviews = mem_dup(reviews, count * sizeof(struct review *)),
	};
	size_t root, i;

	for (root = 0; root < count; root++)
		for (i = 0; i < reviews[root]->count; i++)
			add_item_hunks(&k, root, i);
	kinds_finish(&k.kinds);
	*ret = k;
}

struct review *review_kinds_review(const struct review_kinds *k, size_t item)
{
	return k->reviews[k->items.items[item].root];
}

struct review_item *review_kinds_item(const struct review_kinds *k, size_t item)
{
	return &review_kinds_review(k, item)->items[k->items.items[item].item];
}

enum review_answer review_kinds_answered(const struct review_kinds *k,
					 const struct kind *kind,
					 bool *ret_mixed)
{
	size_t counts[REVIEW_NO + 1] = {0}, i;

	for (i = 0; i < kind->places.count; i++) {
		const struct kind_place *p = &kind->places.items[i];

		counts[review_kinds_item(k, p->item)->answers[p->part]]++;
	}
	*ret_mixed = counts[REVIEW_YES] + counts[REVIEW_NO] > 0;
	for (i = REVIEW_YES; i <= REVIEW_NO; i++)
		if (counts[i] == kind->places.count)
			return (enum review_answer)i;
	return REVIEW_OPEN;
}

void review_kinds_answer(struct review_kinds *k, struct decisions *d,
			 const struct kind *kind, enum review_answer answer)
{
	size_t i;

	decisions_begin(d);
	for (i = 0; i < kind->places.count; i++) {
		const struct kind_place *p = &kind->places.items[i];

		decisions_answer(d, k->items.items[p->item].root,
				 review_kinds_review(k, p->item),
				 review_kinds_item(k, p->item), p->part,
				 answer);
	}
	decisions_end(d);
}
