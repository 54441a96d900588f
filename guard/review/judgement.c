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
		if (v->home)
			loss_judge_home(v);
		else if (i < s->root_count)
			loss_judge(v, s->roots[i].path, &ret->losses[i]);
		/* A deletion is judged by its name. */
		for (k = 0; k < v->count; k++)
			if (!v->items[k].change->now.mode)
				view_judge(v, &v->items[k]);
	}
}

/* Of a new file that a tool has made, the name is judged alone. */
static uint64_t reading_cost(const struct change *c)
{
	if (!c->old.mode && risk_in_generated(c->path))
		return 64;
	return JUDGEMENT_ENTRY +
	       (c->old.size < RISK_READ_MAX ? c->old.size : 0) +
	       (c->now.size < RISK_READ_MAX ? c->now.size : 0);
}

/* true: all entries, or all suspects, are judged. */
static bool read_entries(struct judgement *j, bool suspects, uint64_t *bytes)
{
	size_t *root = suspects ? &j->next_suspect_root : &j->next_root;
	size_t *next = suspects ? &j->next_suspect : &j->next_entry;

	for (; *root < j->count; ++*root, *next = 0) {
		struct view *v = &j->views[*root];

		for (; *next < v->count; ++*next) {
			struct view_entry *e = &v->items[*next];
			uint64_t cost = reading_cost(e->change);

			if (e->judged || (suspects && !view_is_suspect(v, e)))
				continue;
			if (*bytes != JUDGEMENT_ALL && cost > *bytes)
				return false;
			*bytes -= *bytes == JUDGEMENT_ALL ? 0 : cost;
			view_judge(v, e);
		}
	}
	return true;
}

bool judgement_read(struct judgement *j, uint64_t bytes)
{
	return read_entries(j, true, &bytes) && read_entries(j, false, &bytes);
}
