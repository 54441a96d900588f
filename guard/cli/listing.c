#include "guard/cli/listing.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/worktrees.h"
#include "restore/git/textdiff.h"

/* The lists of a root, in their order. */
static const struct section {
	const char *title;
	enum fold_kind fold; /* the folds in it; FOLD_NONE: no fold */
	int entry; /* enum change_kind of its other rows; -1: none */
} sections[] = {
	{"Deleted", FOLD_DELETED, CHANGE_DELETED},
	{"Moved", FOLD_NONE, -1},
	{"Of another type", FOLD_NONE, CHANGE_TYPE},
	{"With other permissions", FOLD_NONE, CHANGE_META},
	{"Git", FOLD_NONE, -1},
	{"Modified", FOLD_NONE, CHANGE_MODIFIED},
	{"Added", FOLD_ADDED, CHANGE_ADDED},
	{"Generated", FOLD_GENERATED, -1},
};
#define SECTION_DELETED (&sections[0])
#define SECTION_MOVED (&sections[1])
#define SECTION_GIT (&sections[4])

static void print_entry(const struct view *v, const struct view_entry *e,
			struct styled *to)
{
	const struct change *c = e->change;
	struct change shown = *c;
	AUTO(buf) struct buf b = {0};
	const struct change_move *m = changes_move(v->list, c);
	bool deleted = c->kind == CHANGE_DELETED;

	styled_row(&b, changes_letter(c->kind), v->prefix, c->path,
		   S_ISDIR(deleted ? c->old.mode : c->now.mode));
	if (c->kind == CHANGE_MODIFIED &&
	    changes_group_alone(&c->old, &c->now)) {
		shown.now.gid = c->old.gid;
		if (changes_same_meta(&c->old, &c->now) &&
		    !(c->flags & (CHANGE_ATTRS | CHANGE_ACL)))
			shown.flags &= ~(unsigned int)CHANGE_META_TOO;
	}
	changes_detail(&shown, &b);
	fold_entry_text(e, &b);
	/* The other half of the move is not in the displayed list. */
	if (m) {
		buf_add_text(&b, deleted ? "  moved to " : "  moved from ");
		styled_name(&b, v->prefix, deleted ? m->to : m->from);
	}
	styled_line(to, view_is_lost(e) ? LINE_LOSS : LINE_ROW, "%s",
		    buf_text(&b));
}

void listing_fold(const struct view *v, const struct fold *fold,
		  struct styled *to)
{
	AUTO(buf) struct buf b = {0};

	styled_row(&b, fold_letter(fold), v->prefix, fold->dir, true);
	buf_add_text(&b, "  ");
	fold_text(fold, &b);
	styled_line(to, fold->lost ? LINE_LOSS : LINE_ROW, "%s", buf_text(&b));
}

static void print_fold(const struct view *v, const struct fold *fold,
		       struct styled *to)
{
	if (fold->kind == FOLD_NONE)
		print_entry(v, &v->items[fold->entry], to);
	else
		listing_fold(v, fold, to);
}

static void print_title(const char *root, const char *title, const char *behind,
			size_t count, struct styled *to)
{
	AUTO(buf) struct buf where = {0};

	styled_name(&where, "", root);
	styled_line(to, LINE_TITLE, "%s%s%s (%zu)", title, buf_text(&where),
		    behind, count);
}

static bool is_in_section(const struct view *v, const struct fold *fold,
			  const struct section *section)
{
	if (fold->kind == FOLD_GENERATED && !fold->added && !fold->modified)
		return section->fold == FOLD_DELETED;
	if (fold->kind != FOLD_NONE)
		return fold->kind == section->fold;
	return (int)v->items[fold->entry].change->kind == section->entry;
}

/* Returns the lines; to: NULL prints none. */
static size_t print_rows(const struct view *v, const struct section *section,
			 struct styled *to)
{
	size_t n = 0, i;

	for (i = 0; i < v->folds.list.count; i++) {
		if (!is_in_section(v, &v->folds.list.items[i], section))
			continue;
		n++;
		if (to)
			print_fold(v, &v->folds.list.items[i], to);
	}
	return n;
}

static void print_section(const struct view *v, const struct section *section,
			  struct styled *to)
{
	size_t n = 0, i;

	for (i = 0; i < v->folds.list.count; i++)
		if (is_in_section(v, &v->folds.list.items[i], section))
			n += v->folds.list.items[i].entries;
	if (n)
		print_title(v->where, section->title, "", n, to);
	(void)print_rows(v, section, to);
}

size_t listing_deleted(const struct view *v, struct styled *to)
{
	return print_rows(v, SECTION_DELETED, to);
}

size_t listing_moved(const struct change_list *list, const char *prefix,
		     size_t most, struct styled *to)
{
	size_t i, n = 0, lines = 0;

	for (i = 0; i < list->move_count; i++) {
		const struct change_move *m = &list->moves[i];
		AUTO(buf) struct buf b = {0};

		if (m->half)
			continue;
		n++;
		if (m->with_dir || !to || (lines++ >= most && most))
			continue;
		changes_move_text(m, prefix, to->width, &b);
		styled_line(to, LINE_ROW, "  " CHANGED "R" PLAIN "  %s",
			    buf_text(&b));
	}
	if (most && lines > most)
		styled_line(to, LINE_ROW, "  ... and %zu more", lines - most);
	return n;
}

void listing_more_moves(const struct change_list *list, struct styled *to)
{
	struct err missing;

	if (list->more_moves)
		styled_line(to, LINE_ROW, "  %s",
			    textdiff_available(&missing) < 0
				    ? "moves of files with changes are not "
				      "found without libgit2"
				    : "too many or too large entries to find "
				      "all moves");
}

static void print_moves(const struct changes_root *g, struct styled *to)
{
	size_t moved = listing_moved(&g->list, g->prefix, 0, NULL);

	if (moved || g->list.more_moves)
		print_title(g->where, SECTION_MOVED->title, "", moved, to);
	(void)listing_moved(&g->list, g->prefix, 0, to);
	listing_more_moves(&g->list, to);
}

static void print_git_section(const struct changes_root *g, struct styled *to)
{
	AUTO(changes_git) struct changes_git git = {0};
	struct change_counts n;
	size_t i;

	changes_count(&g->list, &n);
	if (!n.git || g->home)
		return;
	print_title(g->where, SECTION_GIT->title,
		    g->lower_fd < 0 ? ""
				    : ", not applied unless a path names it",
		    n.git, to);
	changes_git_make(g, &git);
	for (i = 0; i < git.count; i++) {
		const struct git_line *line = &git.items[i];

		styled_line(to, LINE_ROW, "  %s%s%s" PLAIN,
			    line->deleted ? DELETED
			    : line->runs  ? CHANGED
					  : "",
			    line->text,
			    line->runs ? "  (git may execute it)" : "");
	}
}

void listing_worktrees(const struct changes_root *g, bool title,
		       struct styled *to)
{
	size_t n = g->worktrees_listed ? g->worktrees.count : 0, i;

	if (n && title)
		print_title(g->where, "Worktrees",
			    ", not applied unless a path names them", n, to);
	for (i = 0; i < n; i++) {
		const struct worktree *w = &g->worktrees.items[i];
		AUTO(buf) struct buf b = {0};

		styled_name(&b, g->prefix, w->path ?: w->from);
		buf_add_text(&b, ": ");
		worktrees_text(w, &b);
		styled_line(to, LINE_ROW, "worktree %s", buf_text(&b));
	}
}

/* ---- other groups ---- */

struct group_row {
	char *dir;
	uint32_t old, now;
};
struct group_rows {
	VEC(struct group_row) list;
};

static void group_rows_free(struct group_rows *r)
{
	size_t i;

	for (i = 0; i < r->list.count; i++)
		free(r->list.items[i].dir);
	VEC_FREE(&r->list);
}

static int compare_group_rows(const void *a, const void *b)
{
	const struct group_row *x = a, *y = b;
	int got = path_compare(x->dir, y->dir);

	if (got == 0)
		got = (x->old > y->old) - (x->old < y->old);
	return got ?: (x->now > y->now) - (x->now < y->now);
}

static void add_group_row(struct group_rows *r, const char *path,
			  const struct change_side *old,
			  const struct change_side *now)
{
	if (old->mode && now->mode && changes_group_alone(old, now) &&
	    !path_has_part(path, ".git"))
		*VEC_ADD(&r->list) = (struct group_row){path_parent(path),
							old->gid, now->gid};
}

size_t listing_groups(const struct change_list *list, const char *prefix,
		      struct styled *to)
{
	AUTO(group_rows) struct group_rows rows = {0};
	size_t i, first = 0;

	for (i = 0; i < list->count; i++)
		if (list->items[i].kind != CHANGE_META)
			add_group_row(&rows, list->items[i].path,
				      &list->items[i].old, &list->items[i].now);
	for (i = 0; i < list->move_count; i++)
		if (!list->moves[i].half && !list->moves[i].with_dir)
			add_group_row(&rows, list->moves[i].to,
				      &list->moves[i].old, &list->moves[i].now);
	if (!rows.list.count)
		return 0;
	qsort(rows.list.items, rows.list.count, sizeof(*rows.list.items),
	      compare_group_rows);
	for (i = 1; to && i <= rows.list.count; i++) {
		const struct group_row *row = &rows.list.items[first];
		AUTO(buf) struct buf b = {0};

		if (i < rows.list.count &&
		    compare_group_rows(row, &rows.list.items[i]) == 0)
			continue;
		styled_row(&b, 'P', prefix, *row->dir ? row->dir : ".", true);
		styled_line(to, LINE_ROW, "%s  group %u -> %u of %s",
			    buf_text(&b), row->old, row->now,
			    text_count(i - first, "entry"));
		first = i;
	}
	return rows.list.count;
}

static void print_groups(const struct changes_root *g, struct styled *to)
{
	size_t count = listing_groups(&g->list, g->prefix, NULL);

	if (count)
		print_title(g->where, "With another group", "", count, to);
	(void)listing_groups(&g->list, g->prefix, to);
}

/* "3 changes in caches are not shown" */
static void print_number(size_t count, const char *where, const char *remedy,
			 struct styled *to)
{
	if (count)
		styled_line(to, LINE_PLAIN, "\n%s in %s %s not shown%s",
			    text_count(count, "change"), where,
			    count > 1 ? "are" : "is", remedy);
}

void listing_print(struct changes *c, const struct view *views,
		   struct styled *to)
{
	size_t noise = 0, caches = 0, g, i;

	for (g = 0; g < c->root_count; g++) {
		listing_worktrees(&c->roots[g], true, to);
		for (i = 0; i < ARRAY_SIZE(sections); i++)
			if (&sections[i] == SECTION_MOVED)
				print_moves(&c->roots[g], to);
			else if (&sections[i] == SECTION_GIT)
				print_git_section(&c->roots[g], to);
			else
				print_section(&views[g], &sections[i], to);
		print_groups(&c->roots[g], to);
		noise += views[g].folds.noise;
		caches += views[g].folds.caches;
	}
	print_number(noise, "paths that the profile marks as noise",
		     " (--name-status lists all)", to);
	print_number(caches, "caches and histories of your home directory", "",
		     to);
}

void listing_print_plain(struct changes *c, struct styled *to)
{
	struct view *views = mem_zalloc((c->root_count + 1) * sizeof(*views));
	size_t i;

	for (i = 0; i < c->root_count; i++) {
		view_of_changes(&c->roots[i], &views[i]);
		fold_make(&views[i], false);
	}
	listing_print(c, views, to);
	for (i = 0; i < c->root_count; i++)
		view_free(&views[i]);
	free(views);
}
