/* The tree of the accepted changes. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/review/review.h"
#include "snapshot/store/content.h"

struct accepted_tree {
	struct review *r;
	struct tree_editor *editor;
	char *ready; /* the last directory with added entries */
	bool git;
};

static void accepted_tree_free(struct accepted_tree *p)
{
	tree_editor_free(&p->editor);
	free(p->ready);
}

/* Directories above an added entry, made as the run made them where base has
 * none: also when only the entry was accepted. */
static int put_new_parents(struct accepted_tree *p, const char *path,
			   struct err *err)
{
	auto_free char *parent = path_parent(path);
	size_t len;

	if (p->ready && strcmp(p->ready, parent) == 0)
		return 0;
	for (len = 1; *parent && len <= strlen(parent); len++) {
		AUTO(entry) struct entry base = {0}, want = {0};
		auto_free char *dir = NULL;

		if (path[len] != '/')
			continue;
		dir = mem_strndup(path, len);
		if (tree_lookup(p->r->store, p->r->base, dir, &base, err) < 0 ||
		    tree_lookup(p->r->store, p->r->want, dir, &want, err) < 0)
			return -err->num;
		if (!S_ISDIR(base.mode) && S_ISDIR(want.mode) &&
		    tree_editor_put_dir(p->editor, dir, &want, err) < 0)
			return -err->num;
	}
	free(p->ready);
	p->ready = TAKE(parent);
	return 0;
}

static int put_accepted(struct accepted_tree *p, struct review_entry *e,
			const struct entry *what, struct err *err)
{
	e->accepted = true;
	p->git |= path_has_part(e->path, ".git");
	if (e->old.mode && (e->old.mode & S_IFMT) != (what->mode & S_IFMT) &&
	    tree_editor_remove(p->editor, e->path, err) < 0)
		return -err->num;
	if (!what->mode)
		return 0;
	if (put_new_parents(p, e->path, err) < 0)
		return -err->num;
	return S_ISDIR(what->mode)
		       ? tree_editor_put_dir(p->editor, e->path, what, err)
		       : tree_editor_put(p->editor, e->path, what, err);
}

/* The result of a text that was edited, or of which some hunks were accepted.
 */
static int put_accepted_text(struct accepted_tree *p, struct review_item *item,
			     struct err *err)
{
	struct review_entry *e = review_entry_at(p->r, item, 0);
	bool rights = !item->rights || item->answers[0] == REVIEW_YES;
	const struct entry *meta = rights ? &e->now : review_old(p->r, item);
	AUTO(buf) struct buf text = {0};
	AUTO(entry) struct entry made = {0};

	hunks_compose(&item->hunks, &item->old, &text);
	if (rights && text.len == item->now.len &&
	    (!text.len || memcmp(text.data, item->now.data, text.len) == 0))
		return put_accepted(p, e, &e->now, err);
	entry_copy(&made, meta);
	made.link_group = 0;
	made.mtime = timestamp_now();
	made.size = text.len;
	made.content = (struct oid){0};
	if (text.len && content_put_bytes(p->r->store, text.data, text.len,
					  &made.content, err) < 0)
		return -err->num;
	return put_accepted(p, e, &made, err);
}

/* A directory whose entries are all deleted one by one is deleted as well. */
static int accept_emptied_dirs(struct accepted_tree *p, struct err *err)
{
	struct review *r = p->r;
	size_t i = r->entry_count, k;

	while (i-- > 0) {
		struct review_entry *e = &r->entries[i];

		if (e->accepted || e->now.mode || !S_ISDIR(e->old.mode))
			continue;
		for (k = i + 1; k < r->entry_count &&
				path_below(r->entries[k].path, e->path);
		     k++)
			if (!r->entries[k].accepted)
				break;
		if (k == i + 1 || (k < r->entry_count &&
				   path_below(r->entries[k].path, e->path)))
			continue;
		if (put_accepted(p, e, &e->now, err) < 0)
			return -err->num;
	}
	return 0;
}

static int compare_first_entries(const void *a, const void *b)
{
	const struct review_item *p = *(struct review_item *const *)a;
	const struct review_item *q = *(struct review_item *const *)b;

	return (p->list[0] > q->list[0]) - (p->list[0] < q->list[0]);
}

int review_make_accepted(struct review *r, struct entry *ret_root,
			 bool *ret_complete, bool *ret_git, struct err *err)
{
	AUTO(accepted_tree)
	struct accepted_tree p = {
		.r = r,
		.editor = tree_editor_new(r->store, r->base),
	};
	auto_free struct review_item **order =
		mem_alloc((r->count + 1) * sizeof(struct review_item *));
	struct review_counts n = {0};
	bool edited = false;
	size_t i, k;

	for (i = 0; i < r->entry_count; i++)
		r->entries[i].accepted = false;
	for (i = 0; i < r->count; i++) {
		order[i] = &r->items[i];
		for (k = 0; k < order[i]->hunks.count; k++)
			edited |= order[i]->hunks.items[k].edited != NULL;
	}
	vec_sort(order, r->count, sizeof(*order), compare_first_entries);
	for (i = 0; i < r->count; i++) {
		if (!review_is_accepted(order[i]))
			continue;
		if (order[i]->hunks.count &&
		    review_entry(r, order[i])->now.mode) {
			if (put_accepted_text(&p, order[i], err) < 0)
				return -err->num;
			/* The old name of a moved file goes. */
			for (k = 1; k < order[i]->count; k++) {
				struct review_entry *e =
					&r->entries[order[i]->list[k]];

				if (put_accepted(&p, e, &e->now, err) < 0)
					return -err->num;
			}
			continue;
		}
		for (k = 0; k < order[i]->count; k++) {
			size_t at = order[i]->list[k];
			struct review_entry *e = &r->entries[at];

			/* A deleted directory of which some entries may
			 * stay. */
			if ((order[i]->move || order[i]->incomplete) &&
			    !e->now.mode && S_ISDIR(e->old.mode) &&
			    at + 1 < r->entry_count &&
			    path_below(r->entries[at + 1].path, e->path))
				continue;
			if (put_accepted(&p, e, &e->now, err) < 0)
				return -err->num;
		}
	}
	if (accept_emptied_dirs(&p, err) < 0)
		return -err->num;
	review_count(r, &n);
	*ret_git = p.git;
	*ret_complete = !r->part && n.yes == n.items && !edited;
	if (*ret_complete && !p.git) {
		entry_copy(ret_root, r->want);
		return 0;
	}
	return tree_editor_save(p.editor, ret_root, err);
}
