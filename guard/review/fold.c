#include "guard/review/fold.h"

#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

/* Losses in a directory that has other files, too: so many have lines. */
#define LOST_LINES 10

const struct fold *fold_of(const struct view *v, size_t entry)
{
	uint32_t at = v->folds.of_entry[entry];

	return at ? &v->folds.list.items[at - 1] : NULL;
}

bool fold_hides(const struct view *v, size_t entry)
{
	const struct fold *fold = fold_of(v, entry);

	return fold && fold->kind != FOLD_NONE;
}

bool fold_hides_text(const struct view *v, size_t entry)
{
	const struct fold *fold = fold_of(v, entry);

	return fold && fold->kind == FOLD_GENERATED;
}

/* --- reasons that repeat --- */

struct fold_repeat *fold_repeat_find(const struct fold_repeats *l,
				     const struct risk *risk)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->items[i].risk->text, risk->text) == 0)
			return &l->items[i];
	return NULL;
}

bool fold_repeat_add(struct fold_repeats *l, const struct risk *risk)
{
	struct fold_repeat *r = fold_repeat_find(l, risk);
	bool listed;

	if (!r) {
		r = VEC_ADD(l);
		r->risk = risk;
	}
	listed = risk->level >= RISK_HIGH && r->shown < FOLD_REPEATS;
	++*(listed ? &r->shown : &r->more);
	return listed;
}

/* --- making --- */

static bool is_dir(const struct change *c)
{
	return S_ISDIR(c->now.mode ? c->now.mode : c->old.mode);
}

/* Entries that no fold and no line of its own has. */
static bool is_elsewhere(const struct view *v, size_t i)
{
	const struct view_entry *e = &v->items[i];
	const struct change *c = e->change;

	/* A loss in a worktree is listed by itself. */
	if (c->flags & CHANGES_WORKTREE)
		return view_level(e) < RISK_CRITICAL || c->flags & CHANGE_GIT;
	return changes_is_apart(c, v->home) || changes_is_moved(v->list, c);
}

/* The end of the entries in a directory. */
static size_t find_end(const struct view *v, size_t i, const char *dir)
{
	while (i < v->count && path_below(v->items[i].change->path, dir))
		i++;
	return i;
}

static void add_to_fold(struct view *v, struct fold *fold, size_t i)
{
	const struct view_entry *e = &v->items[i];
	const struct change *c = e->change;
	const char *name = path_name(c->path);
	auto_free char *parent = path_parent(c->path);

	if (!fold->entries++)
		fold->entry = i;
	v->folds.of_entry[i] = (uint32_t)v->folds.list.count;
	fold->edited |= (c->flags & CHANGES_EDITED) != 0;
	if (is_dir(c))
		return;
	fold->added += c->kind == CHANGE_ADDED;
	fold->deleted += c->kind == CHANGE_DELETED;
	fold->modified += c->kind != CHANGE_ADDED && c->kind != CHANGE_DELETED;
	fold->bytes += S_ISREG(c->now.mode ? c->now.mode : c->old.mode)
			       ? c->now.mode ? c->now.size : c->old.size
			       : 0;
	fold->in_git += e->loss == LOSS_IN_GIT || e->loss == LOSS_IN_HISTORY;
	fold->lost += view_is_lost(e);
	if (strcmp(name, "METADATA") == 0) {
		fold->packages += strstr(parent, ".dist-info") != NULL;
	} else if (strcmp(name, "package.json") == 0) {
		auto_free char *above = path_parent(parent);
		auto_free char *scope = path_parent(above);

		fold->packages +=
			strcmp(path_name(above), "node_modules") == 0 ||
			(*path_name(above) == '@' &&
			 strcmp(path_name(scope), "node_modules") == 0);
	}
}

static void add_single(struct view *v, size_t i)
{
	struct fold *fold = VEC_ADD(&v->folds.list);

	add_to_fold(v, fold, i);
}

/* Whether the entry of a fold has a line of its own. */
static bool stands_out(struct view *v, const struct view_entry *e)
{
	return e->change->flags & (CHANGE_SETID | CHANGE_NODE | VIEW_SHOWN) ||
	       e->change->kind == CHANGE_TYPE ||
	       risks_worst(&e->risks) == RISK_CRITICAL ||
	       (risks_worst(&e->risks) == RISK_HIGH &&
		fold_repeat_add(&v->folds.repeats, &e->risks.items[0]));
}

/* Whether all entries of a range are deletions; the files, and the losses among
 * them. */
static bool count_deleted(const struct view *v, size_t i, size_t end,
			  size_t *ret_files, size_t *ret_lost)
{
	*ret_files = *ret_lost = 0;
	for (; i < end; i++) {
		const struct change *c = v->items[i].change;

		if (is_elsewhere(v, i))
			continue;
		if (c->kind != CHANGE_DELETED)
			return false;
		*ret_files += !is_dir(c);
		*ret_lost += view_is_lost(&v->items[i]);
	}
	return true;
}

/* A range as one fold, complete. */
static void add_range(struct view *v, enum fold_kind kind, const char *dir,
		      size_t i, size_t end)
{
	struct fold *fold = VEC_ADD(&v->folds.list);

	fold->kind = kind;
	fold->dir = mem_strdup(dir);
	fold->complete = strcmp(v->items[i].change->path, dir) == 0;
	for (; i < end; i++)
		if (!is_elsewhere(v, i))
			add_to_fold(v, fold, i);
}

/* The end of a directory that begins at i, or around i, and has nothing but
 * losses; 0: none. */
static size_t find_lost_dir(const struct view *v, size_t i, char **ret_dir)
{
	const struct change *c = v->items[i].change;
	size_t end, files, lost;

	*ret_dir = S_ISDIR(c->old.mode) ? mem_strdup(c->path)
					: path_parent(c->path);
	end = find_end(v, i, *ret_dir);
	if (!**ret_dir || c->kind != CHANGE_DELETED ||
	    !count_deleted(v, i, end, &files, &lost) || lost < files ||
	    lost < FOLD_LOST_LEAST)
		return 0;
	return end;
}

/* What stands out of a range gets its lines, the others become a fold. */
static void add_fold(struct view *v, enum fold_kind kind, const char *dir,
		     size_t first, size_t end)
{
	auto_free bool *out = mem_zalloc((end - first) * sizeof(*out));
	size_t files = 0, lost = 0, i, k;
	struct fold *fold;

	for (i = first; i < end; i++) {
		const struct view_entry *e = &v->items[i];
		auto_free char *lost_dir = NULL;
		size_t lost_end = 0;

		if (is_elsewhere(v, i))
			continue;
		if (i > first && S_ISDIR(e->change->old.mode))
			lost_end = find_lost_dir(v, i, &lost_dir);
		if (lost_end) {
			add_range(v, FOLD_DELETED, lost_dir, i, lost_end);
			for (k = i; k < lost_end; k++)
				out[k - first] = true;
			i = lost_end - 1;
			continue;
		}
		if (stands_out(v, e) ||
		    (view_is_lost(e) && lost++ < LOST_LINES)) {
			out[i - first] = true;
			add_single(v, i);
		}
	}
	for (i = first; i < end; i++)
		files += !out[i - first] && !is_elsewhere(v, i) &&
			 !is_dir(v->items[i].change);
	fold = files > 1 ? VEC_ADD(&v->folds.list) : NULL;
	if (fold) {
		fold->kind = kind;
		fold->dir = mem_strdup(dir);
		fold->complete =
			strcmp(v->items[first].change->path, dir) == 0 &&
			v->items[first].change->kind != CHANGE_META;
	}
	for (i = first; i < end; i++) {
		if (out[i - first] || is_elsewhere(v, i))
			continue;
		if (fold)
			add_to_fold(v, fold, i);
		else
			add_single(v, i);
	}
}

/* A new directory: the entries that moved into it have their lines. */
static bool is_new_dir(const struct view *v, size_t i, size_t end)
{
	size_t files = 0;

	for (; i < end; i++) {
		if (is_elsewhere(v, i))
			continue;
		if (v->items[i].change->kind != CHANGE_ADDED)
			return false;
		files += !is_dir(v->items[i].change);
	}
	return files >= FOLD_LEAST;
}

/* Adds what begins at i, and returns its end. */
static size_t add_from(struct view *v, size_t i)
{
	const struct change *c = v->items[i].change;
	auto_free char *made = risk_generated_dir(c->path, "");
	auto_free char *lost_dir = NULL;
	size_t end, files, lost;

	if (made) {
		end = find_end(v, i, made);
		add_fold(v, FOLD_GENERATED, made, i, end);
		return end;
	}
	end = find_lost_dir(v, i, &lost_dir);
	if (end) {
		add_range(v, FOLD_DELETED, lost_dir, i, end);
		return end;
	}
	if (is_dir(c)) {
		end = find_end(v, i, c->path);
		if (c->kind == CHANGE_DELETED &&
		    count_deleted(v, i, end, &files, &lost) &&
		    files >= FOLD_LEAST) {
			add_fold(v, FOLD_DELETED, c->path, i, end);
			return end;
		}
		if (c->kind == CHANGE_ADDED && is_new_dir(v, i, end)) {
			add_fold(v, FOLD_ADDED, c->path, i, end);
			return end;
		}
	}
	add_single(v, i);
	return i + 1;
}

void fold_make(struct view *v, bool full)
{
	struct folds *ret = &v->folds;
	size_t end, i;

	view_clear_folds(v);
	ret->of_entry = mem_zalloc((v->count + 1) * sizeof(uint32_t));
	for (i = 0; i < v->count; i++) {
		const struct change *c = v->items[i].change;

		ret->noise += (c->flags & CHANGES_NOISE) != 0;
		ret->caches += v->home && changes_is_cache(c->path);
	}
	for (i = 0; i < v->count; i = end) {
		end = i + 1;
		if (is_elsewhere(v, i))
			continue;
		if (full)
			add_single(v, i);
		else
			end = add_from(v, i);
	}
}

/* --- texts --- */

void fold_entry_text(const struct view_entry *e, struct buf *to)
{
	if (e->loss == LOSS_NO_COPY)
		buf_printf(to, "  !! %sno other copy",
			   e->partly ? "overwritten in part, " : "");
	else if (e->loss == LOSS_WORK)
		buf_add_text(to, "  !! uncommitted work");
	if (view_is_unread(e))
		buf_add_text(to, "  not examined");
}

char fold_letter(const struct fold *fold)
{
	return !fold->added && !fold->modified ? 'D'
	       : fold->kind == FOLD_GENERATED  ? 'G'
					       : 'A';
}

void fold_text(const struct fold *fold, struct buf *to)
{
	const char *between = "";

	if (fold->kind == FOLD_GENERATED) {
		if (fold->added)
			buf_printf(to, "+%zu", fold->added);
		if (fold->modified)
			buf_printf(to, "%s~%zu", fold->added ? " " : "",
				   fold->modified);
		if (fold->deleted)
			buf_printf(to, "%s-%zu",
				   fold->added || fold->modified ? " " : "",
				   fold->deleted);
		if (fold->packages)
			buf_printf(to, ", %s",
				   text_count(fold->packages, "package"));
		return;
	}
	if (fold->kind == FOLD_DELETED && fold->complete && !fold->edited)
		between = "all ";
	buf_printf(to, "%s%s, %s", between,
		   text_count(fold->added + fold->deleted + fold->modified,
			      fold->kind == FOLD_ADDED ? "new file" : "file"),
		   text_size(fold->bytes));
	if (fold->in_git)
		buf_printf(to, ", %zu in git", fold->in_git);
	if (fold->lost && fold->lost == fold->deleted)
		buf_add_text(to, "  !! no other copy");
	else if (fold->lost)
		buf_printf(to, "  !! %zu with no other copy", fold->lost);
	if (fold->edited)
		buf_add_text(to, CHANGES_EDITED_TEXT);
}
