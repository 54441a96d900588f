/* Hard links: a step may restore a name of a file whose other names stay
 * unchanged. The name is then linked to one of them instead of a separate
 * file. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "restore/plan/plan_private.h"

/* A step whose file has, or had, other hard links. */
struct member {
	uint64_t group; /* first, for sorted_compare_numbers() */
	struct step *step;
};

struct links {
	struct planner *pl;
	struct member *members; /* sorted by group */
	size_t count;
	struct step **steps; /* all steps of the plan, sorted by path */
};

static void links_free(struct links *l)
{
	free(l->members);
	free(l->steps);
}

static int compare_step_paths(const void *a, const void *b)
{
	return path_compare((*(struct step *const *)a)->path,
			    (*(struct step *const *)b)->path);
}

static int compare_path_to_step(const void *key, const void *item)
{
	return path_compare(key, (*(struct step *const *)item)->path);
}

static void collect_link_members(struct links *l)
{
	struct plan *p = l->pl->plan;
	size_t i;

	l->members = mem_alloc((p->steps.count + 1) * sizeof(*l->members));
	l->steps = mem_alloc((p->steps.count + 1) * sizeof(struct step *));
	for (i = 0; i < p->steps.count; i++) {
		struct step *s = &p->steps.items[i];

		l->steps[i] = s;
		if (s->kind != STEP_DELETE && s->to.link_group &&
		    S_ISREG(s->to.mode) && s->how == STEP_PLAIN)
			l->members[l->count++] = (struct member){
				.group = s->to.link_group, .step = s};
	}
	if (l->count)
		qsort(l->members, l->count, sizeof(*l->members),
		      sorted_compare_numbers);
	if (p->steps.count)
		qsort(l->steps, p->steps.count, sizeof(struct step *),
		      compare_step_paths);
}

/* Finds a path that stays unchanged and belongs to the same file. */
static int link_members_to(void *arg, const char *path, const struct entry *e,
			   struct err *err)
{
	struct links *l = arg;
	AUTO(entry) struct entry now = {0};
	struct member *m;
	int got;

	if (!e->link_group || !S_ISREG(e->mode))
		return 0;
	m = sorted_find_number(e->link_group, l->members, l->count,
			       sizeof(*l->members));
	if (!m || m->step->hardlink_to ||
	    bsearch(path, l->steps, l->pl->plan->steps.count,
		    sizeof(struct step *), compare_path_to_step))
		return 0;
	got = lookup_find(&l->pl->find_now, path, &now, err);
	if (got <= 0)
		return got;
	if (!entry_same_state(&now, e) ||
	    ((now.flags | e->flags) & ENTRY_INCOMPLETE))
		return 0;
	for (; m < l->members + l->count && m->group == e->link_group; m++)
		if (entry_same_state(&m->step->to, e))
			m->step->hardlink_to = mem_strdup(path);
	return 0;
}

int plan_links(struct planner *pl, struct err *err)
{
	AUTO(links) struct links l = {.pl = pl};
	size_t i;

	collect_link_members(&l);
	if (!l.count)
		return 0;
	for (i = 0; i + 1 < l.count; i++)
		if (l.members[i].group == l.members[i + 1].group)
			l.members[i].step->shared =
				l.members[i + 1].step->shared = true;
	return tree_each(pl->store, pl->want, link_members_to, &l, err);
}
