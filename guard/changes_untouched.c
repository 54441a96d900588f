#include "guard/changes.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/context.h"

/* Which of a list the run has left otherwise than they were. */
struct mark {
	const struct change_list *list;
	bool *changed;
};

static bool same(const struct entry *was, const struct entry *left)
{
	return was && left && was->mode && left->mode &&
	       !((was->flags | left->flags) & ENTRY_INCOMPLETE) &&
	       entry_same_meta(was, left) &&
	       (S_ISDIR(was->mode) || entry_same_content(was, left));
}

static int by_path(const void *path, const void *change)
{
	return path_compare(path, ((const struct change *)change)->path);
}

static int mark_path(void *arg, const char *path, const struct entry *was,
		     const struct entry *left, struct err *err)
{
	struct mark *m = arg;
	const struct change *c;

	(void)err;
	if (same(was, left))
		return 0;
	c = bsearch(path, m->list->items, m->list->count, sizeof(*c), by_path);
	if (c)
		m->changed[c - m->list->items] = true;
	return 0;
}

/* 1: both have it, the same. */
static int is_as_begun(struct store *store, const struct snapshot *base,
		       const struct snapshot *result, const char *path,
		       struct err *err)
{
	AUTO(entry) struct entry was = {0};
	AUTO(entry) struct entry left = {0};

	if (tree_lookup(store, &base->root, path, &was, err) < 0 ||
	    tree_lookup(store, &result->root, path, &left, err) < 0)
		return -err->num;
	return same(&was, &left);
}

static bool may_be_untouched(const struct change *c)
{
	return c->kind == CHANGE_MODIFIED || c->kind == CHANGE_META;
}

static bool any_may(const struct change_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (may_be_untouched(&list->items[i]))
			return true;
	return false;
}

static int drop(struct store *store, const struct snapshot *base,
		const struct snapshot *result, struct change_list *list,
		struct err *err)
{
	auto_free bool *changed = mem_zalloc(list->count * sizeof(*changed));
	struct mark m = {list, changed};
	int got = tree_diff(store, &base->root, &result->root, mark_path, &m,
			    err);
	size_t kept = 0, i;

	for (i = 0; i < list->count; i++) {
		const struct change *at = &list->items[i];
		bool may = got >= 0 && !changed[i] && may_be_untouched(at);

		if (may)
			got = is_as_begun(store, base, result, at->path, err);
		if (!may || got <= 0)
			list->items[kept++] = *at;
	}
	list->count = kept;
	return got < 0 ? got : 0;
}

/* What was stored when the run had ended is what the layer holds. */
static int drop_untouched(struct context *c, const struct session *s,
			  uint64_t base_seq, uint64_t result_seq,
			  struct change_list *list, struct err *err)
{
	AUTO(snapshot) struct snapshot base = {0};
	AUTO(snapshot) struct snapshot result = {0};

	if (!base_seq || !result_seq ||
	    moment_compare(list->newest, s->ended) >= 0 || !any_may(list))
		return 0;
	if (context_store(c, STORE_READ, err) < 0 ||
	    catalog_load(c->store, base_seq, &base, err) < 0 ||
	    catalog_load(c->store, result_seq, &result, err) < 0)
		return -err->num;
	return drop(c->store, &base, &result, list, err);
}

int changes_load_own(struct context *c, const struct session *s,
		     struct changes *ret, struct err *err)
{
	struct session own = *s; /* borrows */
	struct err ignored;
	size_t i;

	if (changes_load(s, &c->state, ret, err) < 0)
		return -err->num;
	if (s->state != RUN_ENDED || s->live ||
	    session_base(&own, false, &ignored) <= 0)
		return 0;
	(void)drop_untouched(c, s, own.base, s->result, &ret->project,
			     &ignored);
	for (i = 0; i < ret->extra_count; i++)
		(void)drop_untouched(c, s, own.extras[i].base,
				     own.extras[i].result, &ret->extras[i].list,
				     &ignored);
	return 0;
}
