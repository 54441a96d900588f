#include "guard/cli/listing.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "restore/git/textdiff.h"

/* Only stdout has colors. */
static const char *style_on(FILE *to, enum output_style style)
{
	return to == stdout ? output_style(style) : "";
}

static void print_entry(const struct view *v, const struct view_entry *e,
			FILE *to)
{
	const struct change *c = e->change;
	AUTO(buf) struct buf b = {0}, detail = {0};
	const struct change_move *m = changes_move(v->list, c);
	bool deleted = c->kind == CHANGE_DELETED;
	enum output_style style = deleted		    ? STYLE_DELETED
				  : c->kind == CHANGE_ADDED ? STYLE_ADDED
							    : STYLE_CHANGED;

	text_escape_name(&b, v->prefix);
	text_escape_name(&b, c->path);
	if (S_ISDIR(deleted ? c->old.mode : c->now.mode))
		buf_add_char(&b, '/');
	changes_detail(c, &detail);
	fold_entry_text(e, &detail);
	/* The other half of the move is not in the displayed list. */
	if (m) {
		buf_add_text(&detail,
			     deleted ? "  moved to " : "  moved from ");
		text_escape_name(&detail, v->prefix);
		text_escape_name(&detail, deleted ? m->to : m->from);
	}
	(void)fprintf(to, "  %s%c  %s%s%s\n", style_on(to, style),
		      changes_letter(c->kind), buf_text(&b),
		      style_on(to, STYLE_NONE), buf_text(&detail));
}

static void print_fold(const struct view *v, const struct fold *fold, FILE *to)
{
	char letter = fold_letter(fold);
	AUTO(buf) struct buf b = {0}, text = {0};

	if (fold->kind == FOLD_NONE) {
		print_entry(v, &v->items[fold->entry], to);
		return;
	}
	text_escape_name(&b, v->prefix);
	text_escape_name(&b, fold->dir);
	fold_text(fold, &text);
	(void)fprintf(to, "  %s%c  %s/%s  %s\n",
		      style_on(to, letter == 'D'   ? STYLE_DELETED
				   : letter == 'G' ? STYLE_FAINT
						   : STYLE_ADDED),
		      letter, buf_text(&b), style_on(to, STYLE_NONE),
		      buf_text(&text));
}

static void print_title(const char *root, const char *title, const char *behind,
			size_t count, FILE *to)
{
	AUTO(buf) struct buf where = {0};

	text_escape_name(&where, root);
	(void)fprintf(to, "\n%s%s%s%s (%zu)%s\n", style_on(to, STYLE_BOLD),
		      title, buf_text(&where), behind, count,
		      style_on(to, STYLE_NONE));
}

bool listing_in_section(const struct view *v, const struct fold *fold,
			const struct listing_section *section)
{
	if (fold->kind == FOLD_GENERATED && !fold->added && !fold->modified)
		return section->fold == FOLD_DELETED;
	if (fold->kind != FOLD_NONE)
		return fold->kind == section->fold;
	return (int)v->items[fold->entry].change->kind == section->entry;
}

static void print_section(const struct view *v,
			  const struct listing_section *section, FILE *to)
{
	size_t n = 0, i;

	for (i = 0; i < v->folds.list.count; i++)
		if (listing_in_section(v, &v->folds.list.items[i], section))
			n += v->folds.list.items[i].entries;
	if (n)
		print_title(v->where, section->title, "", n, to);
	for (i = 0; n && i < v->folds.list.count; i++)
		if (listing_in_section(v, &v->folds.list.items[i], section))
			print_fold(v, &v->folds.list.items[i], to);
}

static const struct listing_section deletions = {FOLD_DELETED, CHANGE_DELETED,
						 "Deleted"};

size_t listing_deleted(const struct view *v, FILE *to)
{
	size_t n = 0, i;

	for (i = 0; i < v->folds.list.count; i++) {
		if (!listing_in_section(v, &v->folds.list.items[i], &deletions))
			continue;
		n++;
		if (to)
			print_fold(v, &v->folds.list.items[i], to);
	}
	return n;
}

size_t listing_moved(const struct changes_root *g, size_t most, FILE *to)
{
	const struct change_list *list = &g->list;
	size_t i, n = 0, lines = 0;

	for (i = 0; i < list->move_count; i++) {
		const struct change_move *m = &list->moves[i];
		AUTO(buf) struct buf b = {0};

		if (m->half)
			continue;
		n++;
		if (m->with_dir || !to || (lines++ >= most && most))
			continue;
		changes_move_text(m, g->prefix,
				  to == stdout ? output_width() : 0, &b);
		(void)fprintf(to, "  %sR%s  %s\n", style_on(to, STYLE_CHANGED),
			      style_on(to, STYLE_NONE), buf_text(&b));
	}
	if (most && lines > most)
		(void)fprintf(to, "  ... and %zu more\n", lines - most);
	return n;
}

void listing_more_moves(const struct change_list *list, FILE *to)
{
	struct err missing;

	if (list->more_moves)
		(void)fprintf(
			to, "  %s\n",
			textdiff_available(&missing) < 0
				? "moves of files with changes are not found "
				  "without libgit2"
				: "too many or too large entries to find all "
				  "moves");
}

static void print_git_section(const struct changes_root *g, FILE *to)
{
	AUTO(changes_git) struct changes_git git = {0};
	struct change_counts n;
	size_t i;

	changes_count(&g->list, &n);
	if (!n.git || g->home)
		return;
	print_title(g->where, "Git",
		    g->lower_fd < 0 ? ""
				    : ", not applied unless a path names it",
		    n.git, to);
	changes_git_make(g, &git);
	for (i = 0; i < git.count; i++) {
		const struct git_line *line = &git.items[i];
		enum output_style style = line->deleted ? STYLE_DELETED
					  : line->runs	? STYLE_CHANGED
							: STYLE_NONE;

		(void)fprintf(to, "  %s%s%s%s\n",
			      style ? style_on(to, style) : "", line->text,
			      line->runs ? "  (git may execute it)" : "",
			      style ? style_on(to, STYLE_NONE) : "");
	}
}

static void print_numbers(const struct changes *c, const struct view *views,
			  FILE *to)
{
	size_t noise = 0, caches = 0, i;

	for (i = 0; i < c->root_count; i++) {
		noise += views[i].folds.noise;
		caches += views[i].folds.caches;
	}
	if (noise)
		(void)fprintf(to,
			      "\n%s in paths that the profile marks as noise "
			      "%s not shown (--name-status lists all)\n",
			      text_count(noise, "change"),
			      noise > 1 ? "are" : "is");
	if (caches)
		(void)fprintf(to,
			      "\n%s in caches and histories of your home "
			      "directory %s not shown\n",
			      text_count(caches, "change"),
			      caches > 1 ? "are" : "is");
}

void listing_print(struct changes *c, const struct view *views, FILE *to)
{
	static const struct listing_section before_git[] = {
		{FOLD_NONE, CHANGE_TYPE, "Of another type"},
		{FOLD_NONE, CHANGE_META, "With other permissions"},
	};
	static const struct listing_section after_git[] = {
		{FOLD_NONE, CHANGE_MODIFIED, "Modified"},
		{FOLD_ADDED, CHANGE_ADDED, "Added"},
		{FOLD_GENERATED, -1, "Generated"},
	};
	size_t moved, g, i;

	for (g = 0; g < c->root_count; g++) {
		const struct changes_root *root = &c->roots[g];

		print_section(&views[g], &deletions, to);
		moved = listing_moved(root, 0, NULL);
		if (moved || root->list.more_moves)
			print_title(root->where, "Moved", "", moved, to);
		(void)listing_moved(root, 0, to);
		listing_more_moves(&root->list, to);
		for (i = 0; i < sizeof(before_git) / sizeof(*before_git); i++)
			print_section(&views[g], &before_git[i], to);
		print_git_section(root, to);
		for (i = 0; i < sizeof(after_git) / sizeof(*after_git); i++)
			print_section(&views[g], &after_git[i], to);
	}
	print_numbers(c, views, to);
}

void listing_print_plain(struct changes *c, bool full, FILE *to)
{
	struct view *views = mem_zalloc((c->root_count + 1) * sizeof(*views));
	size_t i;

	for (i = 0; i < c->root_count; i++) {
		view_of_changes(&c->roots[i], &views[i]);
		fold_make(&views[i], full);
	}
	listing_print(c, views, to);
	for (i = 0; i < c->root_count; i++)
		view_free(&views[i]);
	free(views);
}
