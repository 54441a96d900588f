#include "guard/review/view.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/dirtree.h"
#include "base/path.h"
#include "base/sorted.h"
#include "base/vec.h"
#include "guard/change/worktrees.h"
#include "restore/entry_compare.h"
#include "restore/git/moves.h"

void view_clear_folds(struct view *v)
{
	struct folds *f = &v->folds;
	size_t i;

	for (i = 0; i < f->list.count; i++)
		free(f->list.items[i].dir);
	VEC_FREE(&f->list);
	VEC_FREE(&f->repeats);
	free(f->of_entry);
	*f = (struct folds){0};
}

void view_free(struct view *v)
{
	size_t i;

	for (i = 0; i < v->count; i++)
		risks_free(&v->items[i].risks);
	free(v->items);
	change_list_free(&v->own);
	twins_free(&v->twins);
	view_clear_folds(v);
	*v = (struct view){0};
}

bool view_is_lost(const struct view_entry *e)
{
	return e->loss >= LOSS_WORK;
}

bool view_is_unread(const struct view_entry *e)
{
	const struct change *c = e->change;

	return c->kind != CHANGE_DELETED && c->kind != CHANGE_META &&
	       S_ISREG(c->now.mode) && c->now.size > RISK_READ_MAX;
}

static void add_entries(struct view *v, const struct change_list *list)
{
	size_t i;

	v->list = list;
	v->capacity = list->count;
	v->items = mem_zalloc((list->count + 1) * sizeof(*v->items));
	for (i = 0; i < list->count; i++)
		v->items[v->count++].change = &list->items[i];
}

/* --- a live layer --- */

static int compare_entries(const void *a, const void *b)
{
	const struct view_entry *x = a, *y = b;

	return path_compare(x->change->path, y->change->path);
}

void view_of_changes(const struct changes_root *root, struct view *ret)
{
	*ret = (struct view){
		.prefix = root->prefix,
		.where = root->where,
		.home = root->home,
		.root = root,
	};
	worktrees_count(root);
	add_entries(ret, &root->list);
	VEC_SORT(ret, compare_entries);
}

/* --- a plan --- */

struct planned {
	struct view *view;
	const struct plan *plan;
	struct moves *moves; /* gets the deleted and created paths, or NULL */
	const char *path; /* of the step */
};

static int add_planned_deletion(void *arg, const char *path,
				const struct entry *e, struct err *err)
{
	const struct planned *p = arg;
	auto_free char *full_path = path_join(p->path, path);
	bool over = plan_is_over(p->plan, full_path);
	struct meta was = entry_meta(e);

	(void)err;
	change_list_add(&p->view->own, full_path, CHANGE_DELETED,
			over ? VIEW_SHOWN | VIEW_DELETES_EDIT : 0, &was, NULL);
	if (p->moves && !over && !path_has_part(full_path, ".git"))
		moves_add_copy(p->moves, false, full_path, e);
	return 0;
}

static void add_planned_step(const struct planned *p, const struct step *s)
{
	static const unsigned int hows[] = {
		[STEP_PLAIN] = 0,
		[STEP_MERGED] = VIEW_SHOWN | VIEW_MERGED,
		[STEP_MARKED] = VIEW_SHOWN | VIEW_MARKED,
		[STEP_OVER] = VIEW_SHOWN | VIEW_OVER,
	};
	struct meta was = entry_meta(&s->from), now = entry_meta(&s->to);
	unsigned int flags = hows[s->how];
	enum change_kind kind = CHANGE_MODIFIED;

	now.uid = entry_apply_owner(&s->to);
	if (s->kind != STEP_META)
		now.gid = step_group(p->plan, &s->to);
	if (s->kind == STEP_REPLACE && was.uid != now.uid)
		flags |= VIEW_SHOWN;
	if (s->kind == STEP_CREATE)
		kind = CHANGE_ADDED;
	else if (s->kind == STEP_META)
		kind = CHANGE_META;
	else if ((s->from.mode ^ s->to.mode) & S_IFMT)
		kind = CHANGE_TYPE;
	change_list_add(&p->view->own, s->path, kind, flags,
			s->from.mode ? &was : NULL, &now);
}

/* Another kind of entry is a deletion and a creation in the plan. */
static void join_halves(struct change_list *list)
{
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++) {
		struct change *last = kept ? &list->items[kept - 1] : NULL;
		struct change *c = &list->items[i];

		if (!last || strcmp(last->path, c->path) != 0) {
			list->items[kept++] = *c;
			continue;
		}
		if (c->old.mode)
			last->old = c->old;
		if (c->now.mode)
			last->now = c->now;
		last->flags |= c->flags;
		last->kind = CHANGE_TYPE;
	}
	list->count = kept;
}

/* The pairs of a deletion and a creation of the same content. */
static void find_planned_moves(const struct planned *p, struct moves *m,
			       struct store *store)
{
	struct change_list *list = &p->view->own;
	size_t i;

	moves_find_stored(m, store);
	list->moves = mem_zalloc((m->added.count + 1) * sizeof(*list->moves));
	for (i = 0; i < m->added.count; i++) {
		const struct moves_file *to = &m->added.items[i];
		const struct moves_file *from = to->other;
		struct change *old, *now;
		struct change_move *move;

		if (!from)
			continue;
		old = FIND_BY_PATH(from->path, list->items, list->count, path);
		now = FIND_BY_PATH(to->path, list->items, list->count, path);
		/* One of the two names goes on, as another type. */
		if (old->kind == CHANGE_TYPE || now->kind == CHANGE_TYPE)
			continue;
		move = &list->moves[list->move_count++];
		*move = (struct change_move){
			.from = old->path,
			.to = now->path,
			.old = changes_side(from->entry),
			.now = changes_side(to->entry),
			.percent = to->percent,
		};
		move->now.uid = entry_apply_owner(to->entry);
		move->now.gid = step_group(p->plan, to->entry);
		move->with_dir = to->with_parent && to->percent == 100 &&
				 changes_same_meta(&move->old, &move->now);
		old->move = now->move = (unsigned int)list->move_count;
	}
	changes_moves_count(list->moves, list->move_count);
}

int view_of_plan(struct store *store, const struct plan *plan, bool moves,
		 struct view *ret, struct err *err)
{
	AUTO(view)
	struct view v = {
		.prefix = plan->prefix,
		.where = "",
		.store = store,
	};
	AUTO(moves) struct moves m = {0};
	struct planned p = {.view = &v, .plan = plan};
	size_t i;

	for (i = 0; moves && i < plan->steps.count; i++)
		if (plan->steps.items[i].kind == STEP_CREATE)
			p.moves = &m;
	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		p.path = s->path;
		if (s->kind == STEP_DELETE) {
			if (tree_each(store, &s->from, add_planned_deletion, &p,
				      err) < 0)
				return -err->num;
		} else if (!plan_step_is_time(s)) {
			add_planned_step(&p, s);
		}
	}
	for (i = 0; m.deleted.count && i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		if (s->kind == STEP_CREATE && s->how == STEP_PLAIN &&
		    !path_has_part(s->path, ".git"))
			moves_add_copy(&m, true, s->path, &s->to);
	}
	SORT_BY_PATH(v.own.items, v.own.count, path);
	join_halves(&v.own);
	find_planned_moves(&p, &m, store);
	*ret = TAKE(v);
	add_entries(ret, &ret->own);
	return 0;
}

/* --- entries --- */

struct view_entry *view_find(const struct view *v, const char *path)
{
	size_t low = 0, high = v->count;

	while (low < high) {
		size_t at = low + (high - low) / 2;
		int order = path_compare(v->items[at].change->path, path);

		if (order == 0)
			return &v->items[at];
		if (order < 0)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

void view_copy_judgement(struct view *to, const struct view *from)
{
	size_t i;

	for (i = 0; i < to->count; i++) {
		struct view_entry *e = &to->items[i];
		const struct view_entry *f = view_find(from, e->change->path);

		if (!f)
			continue;
		e->loss = f->loss;
		e->partly = f->partly;
		e->judged = f->judged;
		risks_copy(&e->risks, &f->risks);
	}
}

/* --- risks of a live layer --- */

struct judged_file {
	const struct changes_root *root;
	const struct change *change;
	const struct buf *old, *now; /* of regular files; NULL: to be read */
};

static bool read_judged_side(void *arg, bool now, struct buf *to)
{
	const struct judged_file *f = arg;
	uint32_t mode = now ? f->change->now.mode : f->change->old.mode;
	const struct buf *bytes = now ? f->now : f->old;
	struct err ignored;

	if (bytes && S_ISREG(mode)) {
		buf_add(to, bytes->data, bytes->len);
		return true;
	}
	return (S_ISLNK(mode) || S_ISREG(mode)) &&
	       changes_read(f->root, f->change->path, mode, now, to,
			    &ignored) >= 0;
}

static bool judged_side_exists(void *arg, const char *path)
{
	const struct judged_file *f = arg;

	return changes_exists(f->root, path);
}

/* The names in the directory below the layer that the run did not delete. */
static void list_names_here(void *arg, const char *dir, struct names *to)
{
	const struct view *v = arg;
	const struct view_entry *e = view_find(v, dir);
	auto_close int fd = -1;
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;
	size_t i;

	if ((e && !e->change->old.mode) || v->root->lower_fd < 0)
		return;
	fd = beneath_open(v->root->lower_fd, dir, O_RDONLY | O_DIRECTORY, 0,
			  &ignored);
	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		auto_free char *path = path_join(dir, list.items[i].name);

		e = view_find(v, path);
		if (!e || e->change->now.mode)
			names_add(to, list.items[i].name);
	}
}

static const char *find_twin(struct view *v, const struct change *c)
{
	size_t i;

	if (c->old.mode)
		return NULL;
	for (i = 0; i < v->count && !v->twins_known; i++) {
		const struct change *new = v->items[i].change;

		if (!new->old.mode && !risk_in_generated(new->path) &&
		    !(new->flags &CHANGE_GIT) &&
		    !(v->home && changes_is_cache(new->path)))
			twins_add(&v->twins, new->path);
	}
	if (!v->twins_known)
		twins_find(&v->twins, list_names_here, v);
	v->twins_known = true;
	return twins_other(&v->twins, c->path);
}

void view_judge(struct view *v, struct view_entry *e)
{
	view_judge_bytes(v, e, NULL, NULL);
}

void view_judge_bytes(struct view *v, struct view_entry *e,
		      const struct buf *old, const struct buf *now)
{
	const struct change *c = e->change;
	struct judged_file judged = {v->root, c, old, now};
	auto_free char *named = NULL;
	struct risk_file f;

	if (e->judged || !v->root)
		return;
	e->judged = true;
	if (v->root->git_left && c->flags & CHANGE_GIT)
		return;
	if (!(c->flags & CHANGES_TORN) &&
	    (c->flags & CHANGES_CHECKOUT ||
	     (v->home && changes_is_cache(c->path))))
		return;
	named = worktrees_judged_path(v->root, c->path);
	f = (struct risk_file){
		.path = c->path,
		.old_mode = c->old.mode,
		.now_mode = c->now.mode,
		.old_size = c->old.size,
		.now_size = c->now.size,
		.above = v->root->above,
		.named = named,
		.refs = changes_refs(v->root),
		.acl = (c->flags & CHANGE_ACL) != 0,
		.same_time = timestamp_compare(c->old.mtime, c->now.mtime) == 0,
		.special = (c->flags & CHANGE_SETID) != 0,
		.torn = (c->flags & CHANGES_TORN) != 0,
		.read = read_judged_side,
		.exists = judged_side_exists,
		.twin = find_twin(v, c),
		.arg = &judged,
	};
	risk_judge(&f, &e->risks);
}

bool view_is_suspect(struct view *v, const struct view_entry *e)
{
	const struct change *c = e->change;
	auto_free char *in_home = NULL;

	if (e->judged || !c->now.mode || c->flags & CHANGES_TORN)
		return !e->judged;
	if (c->flags & CHANGES_CHECKOUT ||
	    (v->home && changes_is_cache(c->path)))
		return false;
	in_home = v->home ? path_join("~", c->path) : NULL;
	return (v->root->above && !in_home) ||
	       risk_refs_level(changes_refs(v->root), c->path) > RISK_NOTE ||
	       c->flags & (CHANGE_SETID | CHANGE_ACL | CHANGE_NODE) ||
	       c->kind == CHANGE_TYPE || S_ISLNK(c->now.mode) ||
	       (!c->old.mode && risk_by_shape(c->path)) ||
	       (!S_ISDIR(c->now.mode) &&
		risk_by_name(in_home ?: c->path) > RISK_NOTE);
}

enum risk_level view_level(const struct view_entry *e)
{
	enum risk_level level = risks_worst(&e->risks);

	if (e->loss == LOSS_NO_COPY)
		return RISK_CRITICAL;
	return view_is_lost(e) && level < RISK_HIGH ? RISK_HIGH : level;
}
