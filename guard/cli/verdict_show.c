#include "guard/cli/verdict_show.h"

#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/change/worktrees.h"
#include "guard/cli/jsonout.h"

/* Bytes that are read for the verdict: they hold the end of a run up. */
#define VERDICT_BYTES (16u << 20)

struct verdict_key verdict_show_key(const struct session *s,
				    const struct changes *c)
{
	return (struct verdict_key){
		.result = s->state == RUN_ENDED ? s->roots[0].result : 0,
		.changes = changes_total(c) + changes_count_home(c),
	};
}

void judged_run_free(struct judged_run *r)
{
	verdict_free(&r->verdict);
	judgement_free(&r->judgement);
	changes_free(&r->changes);
}

/* Drops the changes that the plan leaves out, or keeps as the user has them.
 * false: there are none. */
static bool exclude_left_out(const struct plan *plan, struct change_list *list)
{
	const char **paths = mem_alloc(
		(plan->excepted.count + plan->kept.count + 1) * sizeof(*paths));
	size_t count = 0, i;

	for (i = 0; i < plan->excepted.count; i++)
		paths[count++] = plan->excepted.items[i];
	for (i = 0; i < plan->kept.count; i++)
		paths[count++] = plan->kept.items[i].path;
	paths[count] = NULL;
	changes_exclude(list, paths);
	free(paths);
	return count;
}

static int add_picked(void *arg, const char *path, const struct entry *base,
		      const struct entry *picked, struct err *err)
{
	struct names *paths = arg;

	(void)err;
	if (!base || !picked || !S_ISDIR(base->mode) ||
	    !entry_same_state(base, picked))
		names_add(paths, path);
	return 0;
}

/* Keeps the changes of which the user picked a part. */
static int keep_picked(struct store *store, const struct changeset_root *root,
		       struct change_list *list, struct err *err)
{
	AUTO(names) struct names paths = {0};
	int got = tree_diff(store, &root->base.root, root->picked, add_picked,
			    &paths, err);

	*VEC_ADD(&paths) = NULL;
	if (got == 0)
		changes_filter(list, (const char *const *)paths.items);
	return got;
}

/* The risks of a .git that an apply leaves are in no verdict of it. */
static bool leaves_risks(const struct changes_root *root)
{
	size_t i;

	for (i = 0; root->git_left && i < root->list.count; i++) {
		const struct change *c = &root->list.items[i];

		if (c->flags & CHANGE_GIT &&
		    (S_ISLNK(c->now.mode) || risk_by_shape(c->path) ||
		     risk_by_name(c->path) > RISK_NOTE))
			return true;
	}
	return false;
}

/* Keeps what an apply of the named paths takes: a path in a .git takes the
 * complete .git along. */
static void keep_taken(const struct resolved_run *p, struct changes *c)
{
	struct resolved_run taken = *p;
	size_t i;

	taken.paths = mem_zalloc((c->root_count + 1) * sizeof(*taken.paths));
	for (i = 0; i < c->root_count; i++) {
		char *const *path = resolve_run_paths(p, i);

		for (; path && *path; path++) {
			size_t end = path_part_end(*path, ".git");
			auto_free char *top =
				mem_strndup(*path, end ?: strlen(*path));

			mem_list_add(&taken.paths[i], top);
		}
	}
	resolve_run_filter(&taken, c);
	for (i = 0; i < c->root_count; i++)
		mem_list_free(&taken.paths[i]);
	free(taken.paths);
}

int judged_run_load(struct context *c, const struct resolved_run *p,
		    const struct changeset *plans, const struct changes *loaded,
		    struct judged_run *ret, struct err *err)
{
	const struct session *s = &p->session;
	size_t i;

	*ret = (struct judged_run){.complete = !resolve_run_has_paths(p)};
	for (i = 0; loaded && i < loaded->root_count; i++)
		worktrees_count(&loaded->roots[i]);
	if (loaded && loaded->stored)
		ret->changes = changes_borrow(loaded);
	else if (changes_load_own(c, s, &ret->changes, err) < 0)
		return -err->num;
	ret->key = verdict_show_key(s, &ret->changes);
	changes_find_moves(&ret->changes);
	if (p->only)
		ret->changes.across.count = 0;
	for (i = 0; i < ret->changes.root_count; i++) {
		struct changes_root *root = &ret->changes.roots[i];

		root->git_taken =
			resolve_run_names_git(resolve_run_paths(p, i));
		root->git_left = plans && !root->git_taken;
		root->lfs_taken = p->commits && i == 0;
		ret->complete &= !leaves_risks(root);
		if (loaded && loaded->stored)
			root->all = &loaded->roots[i].list;
	}
	if (plans && resolve_run_has_paths(p))
		keep_taken(p, &ret->changes);
	else
		resolve_run_filter(p, &ret->changes);
	for (i = 0;
	     plans && i < plans->root_count && i < ret->changes.root_count;
	     i++) {
		const struct changeset_root *root = &plans->roots[i];
		struct change_list *list = &ret->changes.roots[i].list;

		if (exclude_left_out(&root->plan, list))
			ret->complete = false;
		if (!root->picked)
			continue;
		if (keep_picked(c->store, root, list, err) < 0)
			return -err->num;
		ret->complete = false;
	}
	(void)judgement_make(s, &ret->changes, 0, &ret->judgement);
	return 0;
}

void judged_run_end(const struct resolved_run *p, struct judged_run *r)
{
	struct err ignored;
	bool complete;

	if (r->complete &&
	    verdict_load(p->session.fd, r->key, &r->verdict) > 0 &&
	    r->verdict.complete) {
		(void)judgement_read(&r->judgement, JUDGEMENT_FIRST);
		return;
	}
	verdict_free(&r->verdict);
	complete = judgement_read(&r->judgement, JUDGEMENT_ALL);
	verdict_make(&r->judgement, complete, &r->verdict);
	if (r->complete)
		(void)verdict_save(p->session.fd, r->key, &r->verdict,
				   &ignored);
}

void verdict_show_keep(const struct session *s, const struct changes *c,
		       struct judgement *ret_judgement, struct verdict *ret)
{
	struct err ignored;
	bool complete = judgement_make(s, c, VERDICT_BYTES, ret_judgement);

	verdict_make(ret_judgement, complete, ret);
	(void)verdict_save(s->fd, verdict_show_key(s, c), ret, &ignored);
}

void verdict_show_renew(struct context *context, const char *run_id)
{
	AUTO(session) struct session s = SESSION_NONE;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	AUTO(judgement) struct judgement j = {0};
	AUTO(verdict) struct verdict verdict = {0};
	struct err ignored;

	if (session_open(context->state.runs_fd, run_id, false, &s, &ignored) ==
		    0 &&
	    s.state == RUN_ENDED && !resolve_run_is_running(&s) &&
	    changes_load_own(context, &s, &changes, &ignored) == 0) {
		changes_find_moves(&changes);
		verdict_show_keep(&s, &changes, &j, &verdict);
	}
}

json_t *verdict_show_json(const struct verdict *v)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < v->count; i++) {
		json_t *line = json_object();

		jsonout_text(line, "id", v->items[i].id);
		jsonout_text(line, "level", risk_level_name(v->items[i].level));
		jsonout_number(line, "count", v->items[i].count);
		jsonout_text(line, "text", v->items[i].text);
		jsonout_add(list, line);
	}
	return list;
}
