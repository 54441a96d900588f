/* Makes the list of decisions from two trees. */
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "guard/change/worktrees.h"
#include "guard/review/review.h"
#include "guard/review/view.h"
#include "snapshot/tree/tree.h"

struct review_maker {
	struct review *r;
	const struct review_options *options;
	struct pathset wanted_paths; /* of its paths */
	/* Changes of the user during the run: paths, and their current state.
	 */
	VEC(struct review_entry) here;
};

static void review_maker_free(struct review_maker *m)
{
	size_t i;

	for (i = 0; i < m->here.count; i++)
		review_entry_free(&m->here.items[i]);
	VEC_FREE(&m->here);
	pathset_free(&m->wanted_paths);
}

static void copy_existing(struct entry *to, const struct entry *from)
{
	if (from && from->mode)
		entry_copy(to, from);
}

static int add_project_change(void *arg, const char *path,
			      const struct entry *base,
			      const struct entry *here, struct err *err)
{
	struct review_maker *m = arg;
	struct review_entry *e;

	(void)err;
	if (entry_same_state(base, here))
		return 0;
	e = VEC_ADD(&m->here);
	e->path = mem_strdup(path);
	copy_existing(&e->now, here);
	return 0;
}

static struct change make_change(const struct review_entry *e)
{
	struct change c = {
		.path = e->path,
		.old = changes_side(&e->old),
		.now = changes_side(&e->now),
		.kind = CHANGE_MODIFIED,
	};

	if (!e->now.mode)
		c.kind = CHANGE_DELETED;
	else if (!e->old.mode)
		c.kind = CHANGE_ADDED;
	else if ((e->old.mode & S_IFMT) != (e->now.mode & S_IFMT))
		c.kind = CHANGE_TYPE;
	else if (entry_same_content(&e->old, &e->now))
		c.kind = CHANGE_META;
	else if (!entry_same_meta(&e->old, &e->now))
		c.flags = CHANGE_META_TOO;
	if (e->old.mode && e->now.mode &&
	    !oid_equal(&e->old.attrs, &e->now.attrs))
		c.flags |= CHANGE_ATTRS;
	return c;
}

static int add_review_entry(void *arg, const char *path,
			    const struct entry *old, const struct entry *now,
			    struct err *err)
{
	struct review_maker *m = arg;
	struct review *r = m->r;
	const struct plan *plan = m->options->plan;
	struct review_entry *e;
	size_t at, i;

	(void)err;
	/* A worktree is applied as a whole. */
	if (!*path || entry_same_state(old, now) ||
	    !pathset_contains(&m->wanted_paths, path) ||
	    (m->options->changes && worktrees_leave(m->options->changes, path)))
		return 0;
	at = INDEX_BY_PATH(path, m->here.items, m->here.count, path);
	if (at < m->here.count && strcmp(m->here.items[at].path, path) == 0 &&
	    entry_same_state(&m->here.items[at].now, now)) {
		r->already++;
		return 0;
	}
	GROW(r->entries, r->entry_count, r->entry_capacity);
	e = &r->entries[r->entry_count++];
	*e = (struct review_entry){
		.path = mem_strdup(path),
		.here = at < m->here.count &&
			(strcmp(m->here.items[at].path, path) == 0 ||
			 (!(now && now->mode) &&
			  path_below(m->here.items[at].path, path))),
	};
	/* Files that git obeys are asked about item by item in any case. */
	for (i = 0; plan && i < plan->refusals.count; i++) {
		const struct refusal *refusal = &plan->refusals.items[i];

		if (refusal->kind == REFUSED_GIT ||
		    strcmp(refusal->path, path) != 0)
			continue;
		e->special = true;
	}
	copy_existing(&e->old, old);
	copy_existing(&e->now, now);
	e->change = make_change(e);
	return 0;
}

/* --- a .git that was there --- */

/* Takes out what git does with its own files. */
static int remove_git_entries(struct review *r, struct err *err)
{
	size_t kept = 0, i;

	for (i = 0; i < r->entry_count; i++) {
		struct review_entry *e = &r->entries[i];
		size_t len = path_part_end(e->path, ".git");
		auto_free char *root = mem_strndup(e->path, len);
		AUTO(entry) struct entry old = {0}, now = {0};
		enum risk_level level;

		if (len &&
		    (tree_lookup(r->store, r->base, root, &old, err) < 0 ||
		     tree_lookup(r->store, r->want, root, &now, err) < 0))
			return -err->num;
		/* Only those files of git that name commands to execute. */
		if (len && S_ISDIR(old.mode) && S_ISDIR(now.mode) &&
		    (S_ISDIR(e->now.mode) || S_ISDIR(e->old.mode) ||
		     (level = risk_by_name(e->path)) == RISK_NONE ||
		     strstr(e->path, "/refs/") ||
		     (!e->now.mode && level != RISK_CRITICAL))) {
			review_entry_free(e);
			r->git++;
			continue;
		}
		r->entries[kept++] = *e;
	}
	r->entry_count = kept;
	return 0;
}

/* --- dangers --- */

static void take_risks(struct view *v, struct review_entry *e)
{
	struct view_entry *judged = view_find(v, e->path);

	if (!judged)
		return;
	view_judge(v, judged);
	risks_copy(&e->risks, &judged->risks);
}

static int compare_sections(const void *a, const void *b)
{
	const struct review_item *p = a, *q = b;

	if (p->section != q->section)
		return p->section < q->section ? -1 : 1;
	if (p->section == REVIEW_RISKY && p->worst != q->worst)
		return p->worst > q->worst ? -1 : 1;
	return path_compare(p->path, q->path);
}

int review_make(struct store *store, const struct entry *base,
		const struct entry *want, const struct review_options *options,
		struct review *ret, struct err *err)
{
	AUTO(review)
	struct review r = {
		.store = store,
		.base = base,
		.want = want,
		.part = options->paths != NULL,
		.prefix = "",
	};
	AUTO(review_maker)
	struct review_maker m = {
		.r = &r,
		.options = options,
		.wanted_paths = pathset_make(options->paths),
	};
	AUTO(view) struct view own = {0};
	struct view *view = options->view ?: &own;
	size_t i;

	if (options->changes)
		view_of_changes(options->changes, &own);
	if (options->here && tree_diff(store, base, options->here,
				       add_project_change, &m, err) < 0)
		return -err->num;
	if (tree_diff(store, base, want, add_review_entry, &m, err) < 0 ||
	    remove_git_entries(&r, err) < 0)
		return -err->num;
	for (i = 0; i < r.entry_count; i++)
		take_risks(view, &r.entries[i]);
	if (view->list)
		review_moves_find(&r, view->list);
	review_moves_add_items(&r);
	review_add_items(&r, 0, r.entry_count, "");
	VEC_SORT(&r, compare_sections);
	*ret = TAKE(r);
	return 0;
}
