#include "guard/cli/listing.h"

#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/output.h"

/* A deleted directory with more files than these may be one line. */
#define FOLD_LEAST 20

/* Only stdout has colors. */
static const char *style_on(FILE *to, enum output_style style)
{
	return to == stdout ? output_style(style) : "";
}

static bool is_in_section(const struct change_list *list,
			  const struct change *c, enum change_kind kind,
			  bool home)
{
	if (c->kind != kind || c->flags & CHANGES_NOISE ||
	    (c->flags & CHANGE_GIT && !home) || changes_is_moved(list, c))
		return false;
	return !home || !changes_is_cache(c->path);
}

static void print_change(const struct changes_root *g, const struct change *c,
			 FILE *to)
{
	AUTO(buf) struct buf b = {0}, detail = {0};
	const struct change_move *m = changes_move(&g->list, c);
	bool deleted = c->kind == CHANGE_DELETED;
	enum output_style style = deleted		    ? STYLE_DELETED
				  : c->kind == CHANGE_ADDED ? STYLE_ADDED
							    : STYLE_CHANGED;

	text_escape_name(&b, g->prefix);
	text_escape_name(&b, c->path);
	if (S_ISDIR(deleted ? c->old.mode : c->now.mode))
		buf_add_char(&b, '/');
	changes_detail(c, &detail);
	/* The other half of the move is not in the displayed list. */
	if (m) {
		buf_add_text(&detail,
			     deleted ? "  moved to " : "  moved from ");
		text_escape_name(&detail, g->prefix);
		text_escape_name(&detail, deleted ? m->to : m->from);
	}
	(void)fprintf(to, "  %s%c  %s%s%s\n", style_on(to, style),
		      changes_letter(c->kind), buf_text(&b),
		      style_on(to, STYLE_NONE), buf_text(&detail));
}

static void print_title(const struct changes_root *g, const char *title,
			const char *behind, size_t count, FILE *to)
{
	AUTO(buf) struct buf where = {0};

	text_escape_name(&where, g->where);
	(void)fprintf(to, "\n%s%s%s%s (%zu)%s\n", style_on(to, STYLE_BOLD),
		      title, buf_text(&where), behind, count,
		      style_on(to, STYLE_NONE));
}

/* Caches of a home are left out, as is a .git. */
static void print_kind_section(const struct changes_root *g,
			       enum change_kind kind, const char *title,
			       FILE *to)
{
	const struct change_list *list = &g->list;
	size_t n = 0, i;

	for (i = 0; i < list->count; i++)
		n += is_in_section(list, &list->items[i], kind, g->home);
	if (n)
		print_title(g, title, "", n, to);
	for (i = 0; n && i < list->count; i++)
		if (is_in_section(list, &list->items[i], kind, g->home))
			print_change(g, &list->items[i], to);
}

/* How many entries are it and in it, if all of them went as many files. */
static size_t count_deleted_dir(const struct change_list *list, size_t at,
				size_t *ret_files, uint64_t *ret_bytes)
{
	const struct change *dir = &list->items[at];
	size_t i;

	*ret_files = *ret_bytes = 0;
	if (!S_ISDIR(dir->old.mode))
		return 0;
	for (i = at; i < list->count; i++) {
		const struct change *c = &list->items[i];

		if (!path_below(c->path, dir->path))
			break;
		if (!is_in_section(list, c, CHANGE_DELETED, false))
			return 0;
		*ret_files += !S_ISDIR(c->old.mode);
		*ret_bytes += S_ISREG(c->old.mode) ? c->old.size : 0;
	}
	return *ret_files > FOLD_LEAST ? i - at : 0;
}

void listing_deleted(const struct changes_root *g, FILE *to)
{
	const struct change_list *list = &g->list;
	size_t i, entry_count, files;
	uint64_t bytes;

	for (i = 0; i < list->count; i += entry_count ? entry_count : 1) {
		const struct change *c = &list->items[i];
		AUTO(buf) struct buf name = {0};

		entry_count = 0;
		if (!is_in_section(list, c, CHANGE_DELETED, false))
			continue;
		entry_count = count_deleted_dir(list, i, &files, &bytes);
		if (!entry_count) {
			print_change(g, c, to);
			continue;
		}
		text_escape_name(&name, g->prefix);
		text_escape_name(&name, c->path);
		(void)fprintf(to, "  D  %s/  with its entries: %s, %s\n",
			      buf_text(&name), text_count(files, "file"),
			      text_size(bytes));
	}
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
	if (list->more_moves)
		(void)fprintf(
			to,
			"  too many or too large entries to find all moves\n");
}

static void print_git_section(const struct changes_root *g, FILE *to)
{
	AUTO(changes_git) struct changes_git git = {0};
	struct change_counts n;
	size_t i;

	changes_count(&g->list, &n);
	if (!n.git || g->home)
		return;
	print_title(g, "Git",
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

void listing_print(struct changes *c, FILE *to)
{
	static const struct {
		enum change_kind kind;
		const char *title;
	} sections[] = {
		{CHANGE_DELETED, "Deleted"},
		{CHANGE_TYPE, "Of another type"},
		{CHANGE_META, "With other permissions"},
		{CHANGE_MODIFIED, "Modified"},
		{CHANGE_ADDED, "Added"},
	};
	const size_t count = sizeof(sections) / sizeof(sections[0]);
	const struct changes_root *home = changes_home(c);
	const struct change_list *list;
	size_t caches = 0, noise = 0, moved, g, i;

	for (g = 0; g < c->root_count; g++)
		for (i = 0; i < count; i++) {
			if (sections[i].kind == CHANGE_MODIFIED)
				print_git_section(&c->roots[g], to);
			print_kind_section(&c->roots[g], sections[i].kind,
					   sections[i].title, to);
			if (sections[i].kind != CHANGE_DELETED)
				continue;
			list = &c->roots[g].list;
			moved = listing_moved(&c->roots[g], 0, NULL);
			if (moved || list->more_moves)
				print_title(&c->roots[g], "Moved", "", moved,
					    to);
			(void)listing_moved(&c->roots[g], 0, to);
			listing_more_moves(list, to);
		}
	for (g = 0; g < c->root_count; g++)
		for (i = 0; i < c->roots[g].list.count; i++)
			noise += (c->roots[g].list.items[i].flags &
				  CHANGES_NOISE) != 0;
	for (i = 0; home && i < home->list.count; i++)
		caches += changes_is_cache(home->list.items[i].path);
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
