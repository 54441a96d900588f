#include "guard/cli/follow.h"

#include <poll.h>

#include "base/pathset.h"
#include "base/timestamp.h"
#include "guard/change/live.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/plan_print.h"

#define LOOK_MS 1000
/* A scan of a large layer takes at most this part of the time. */
#define SCAN_SHARE 10

/* The layers of the run at one moment. */
struct pause {
	bool running, any; /* any: it has changes that are not applied */
	struct timestamp newest; /* change in its layers */
};

static int64_t since_ms(struct timestamp then)
{
	struct timestamp now = timestamp_now();

	return (now.sec - then.sec) * 1000 +
	       ((int64_t)now.nsec - (int64_t)then.nsec) / 1000000;
}

/* A file that goes during the scan makes it fail: the run is not at rest. */
static int look(const char *run_id, struct pause *ret, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	struct err ignored;
	size_t i;

	*ret = (struct pause){.newest = timestamp_now()};
	if (context_open(&c, false, err) < 0 ||
	    session_open(c.state.runs_fd, run_id, false, &s, err) < 0)
		return -err->num;
	ret->running = resolve_run_is_running(&s);
	if (changes_load_own(&c, &s, &changes, &ignored) < 0)
		return 0;
	ret->any = changes_total(&changes) > 0;
	ret->newest = (struct timestamp){0};
	for (i = 0; i < s.root_count; i++)
		if (timestamp_compare(changes.roots[i].list.newest,
				      ret->newest) > 0)
			ret->newest = changes.roots[i].list.newest;
	return 0;
}

/* For each root the paths of all conflicts and refusals, and the other halves
 * of their moves. */
static char ***list_blocked(const struct apply_plan *a)
{
	const struct changes *c = &a->changes;
	char ***lists = mem_zalloc(c->root_count * sizeof(*lists));
	size_t i, k;

	for (i = 0; i < c->root_count; i++) {
		const struct plan *plan = &a->change.roots[i].plan;

		for (k = 0; k < plan->conflicts.count; k++)
			mem_list_add(&lists[i], plan->conflicts.items[k].path);
		for (k = 0; k < plan->refusals.count; k++)
			mem_list_add(&lists[i], plan->refusals.items[k].path);
	}
	for (i = 0; i < c->across.count; i++) {
		const struct changes_across *m = &c->across.items[i];

		if (apply_plan_is_half(a, m, true))
			mem_list_add(&lists[m->from_root], m->from);
		if (apply_plan_is_half(a, m, false))
			mem_list_add(&lists[m->to_root], m->to);
	}
	resolve_run_add_halves(c, lists, false, "left out");
	return lists;
}

/* The changes of a root that may be applied, of those that were named. */
static char **list_free_paths(const struct apply_plan *a, size_t index,
			      char *const *blocked_paths)
{
	static const char *const none[] = {NULL};
	const struct change_list *list = &a->changes.roots[index].list;
	const char *const *named =
		(const char *const *)resolve_run_paths(a->p, index);
	AUTO(pathset)
	struct pathset wanted = pathset_make(named ?: none);
	AUTO(pathset)
	struct pathset blocked = pathset_make(
		blocked_paths ? (const char *const *)blocked_paths : none);
	VEC(char *) paths = {0};
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct change *c = &list->items[i];

		if ((!resolve_run_has_paths(a->p) ||
		     pathset_contains(&wanted, c->path)) &&
		    !(c->flags & CHANGE_GIT) &&
		    !pathset_contains(&blocked, c->path) &&
		    !pathset_has_below(&blocked, c->path))
			*VEC_ADD(&paths) = mem_strdup(c->path);
	}
	if (paths.count)
		*VEC_ADD(&paths) = NULL;
	return paths.items;
}

int follow_leave_blocked(struct apply_plan *a, struct err *err)
{
	struct resolved_run *p = a->p;
	size_t roots = a->change.root_count, i;
	char ***paths, ***left;
	bool blocked = false;
	struct err half;

	for (i = 0; i < roots; i++) {
		if (plan_print_copies(a->c->store, &a->change.roots[i].plan,
				      err) < 0)
			return -err->num;
		blocked |=
			plan_print_blocks(&a->change.roots[i].plan, NULL, NULL);
	}
	if (blocked)
		output_print("they stay pending: guard apply %s PATH, with "
			     "--ours, --theirs, --merge or --yes-to",
			     session_label(&p->session));
	if (apply_plan_check_halves(a, &half) < 0) {
		output_warn("%s", half.text);
		blocked = true;
	}
	if (!blocked)
		return 0;
	changes_find_moves(&a->changes);
	left = list_blocked(a);
	paths = mem_zalloc(roots * sizeof(*paths));
	for (i = 0; i < roots; i++) {
		/* In the home directory, only named paths are applied. */
		if (i < p->session.root_count || resolve_run_home_paths(p))
			paths[i] = list_free_paths(a, i, left[i]);
		mem_list_free(&left[i]);
	}
	free(left);
	for (i = 0; i < p->path_lists; i++)
		mem_list_free(&p->paths[i]);
	free(p->paths);
	p->paths = paths;
	p->path_lists = roots;
	return 1;
}

static void show_edits(const char *run_id)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(session) struct session s = SESSION_NONE;
	struct err ignored;

	if (context_open(&c, false, &ignored) == 0 &&
	    session_open(c.state.runs_fd, run_id, false, &s, &ignored) == 0)
		live_show_edits(&s);
}

int follow_run(const char *run_id, int64_t rest_ms,
	       int (*offer)(void *arg, struct err *err), void *arg,
	       struct err *err)
{
	struct timestamp offered = {0};
	int got = STATUS_OK;

	for (;;) {
		int64_t begun = timestamp_monotonic_ms(), wait;
		bool at_rest;
		struct pause p;

		/* A run that changed nothing is gone at its end. */
		if (look(run_id, &p, err) < 0)
			return err->num == ENOENT ? got : -err->num;
		at_rest = since_ms(p.newest) >= rest_ms;
		if (p.running && at_rest)
			show_edits(run_id);
		/* The time until an answer is no time of a scan. */
		wait = (timestamp_monotonic_ms() - begun) * SCAN_SHARE;
		if (p.any &&
		    (!p.running ||
		     (at_rest && timestamp_compare(p.newest, offered) != 0))) {
			got = offer(arg, err);
			offered = p.newest;
		}
		if (got < 0 || !p.running || context_interrupted())
			return got;
		(void)poll(NULL, 0, (int)(wait > LOOK_MS ? wait : LOOK_MS));
	}
}
