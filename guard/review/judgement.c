#include "guard/review/judgement.h"

#include <stdlib.h>

#include "base/mem.h"

void judgement_free(struct judgement *j)
{
	size_t i;

	for (i = 0; i < j->count; i++) {
		view_free(&j->views[i]);
		losses_free(&j->losses[i]);
	}
	free(j->views);
	free(j->losses);
	*j = (struct judgement){0};
}

void judgement_make(const struct session *s, const struct changes *c,
		    struct judgement *ret)
{
	size_t i, k;

	*ret = (struct judgement){
		.views = mem_zalloc((c->root_count + 1) * sizeof(*ret->views)),
		.losses =
			mem_zalloc((c->root_count + 1) * sizeof(*ret->losses)),
		.count = c->root_count,
	};
	for (i = 0; i < ret->count; i++) {
		struct view *v = &ret->views[i];

		view_of_changes(&c->roots[i], v);
		if (i < s->root_count)
			loss_judge(v, s->roots[i].path, &ret->losses[i]);
		for (k = 0; k < v->count; k++)
			if (view_is_suspect(v, &v->items[k]))
				view_judge(v, &v->items[k]);
	}
}

bool judgement_read(struct judgement *j, int64_t milliseconds)
{
	int64_t end = timestamp_monotonic_ms() + milliseconds;

	for (; j->next_root < j->count; j->next_root++, j->next_entry = 0) {
		struct view *v = &j->views[j->next_root];

		while (j->next_entry < v->count) {
			view_judge(v, &v->items[j->next_entry++]);
			if (milliseconds != JUDGEMENT_ALL &&
			    timestamp_monotonic_ms() >= end)
				return false;
		}
	}
	return true;
}
