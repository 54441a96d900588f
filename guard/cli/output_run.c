#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/apply_commits.h"
#include "guard/change/changes.h"
#include "guard/change/worktrees.h"
#include "guard/cli/listing.h"
#include "guard/cli/output.h"
#include "guard/cli/risk_show.h"
#include "guard/cli/verdict_show.h"
#include "guard/state/state.h"

void output_run_commands(const struct state *st, const char *project)
{
	struct err ignored;
	auto_free char *here = state_project(st, NULL, PROJECT_FIND, &ignored);

	if (!here || strcmp(here, project) != 0)
		output_commands_in(project);
}

/* Moves lose nothing: the rest of them is for guard diff. */
#define MOVES_MOST 20

/* The deletions of one root by name, and the number of its other changes. */
static void print_group_summary(const struct changes_root *g,
				const struct view *v)
{
	AUTO(buf) struct buf sum = {0}, where = {0};
	struct change_counts n;

	changes_count(&g->list, &n);
	if (g->home || !n.total)
		return;
	text_escape_name(&where, g->where);
	if (where.len) {
		changes_summary(&n, &sum);
		output_print("%s: %s", buf_text(&where) + strspn(g->where, " "),
			     buf_text(&sum));
	}
	if (listing_deleted(v, NULL)) {
		output_print("deleted%s:", buf_text(&where));
		(void)listing_deleted(v, styled_err());
	}
	if (n.moved || g->list.more_moves) {
		output_print("moved%s:", buf_text(&where));
		(void)listing_moved(&g->list, g->prefix, MOVES_MOST,
				    styled_err());
		listing_more_moves(&g->list, styled_err());
	}
}

#define COMMITS "apply --commits"
#define IMPORTS "import its commits, to merge them"
#define REPOSITORY "apply . .git"
/* The length of the name of an object's file; its first byte is the
 * directory's name. */
#define SHA256_NAME 62

struct next {
	const char *label; /* the run's */
	int width; /* columns of the longest command, for the column behind it
		    */
};

/* The descriptions line up, whatever the verbs' lengths are. */
static void print_next(const struct next *n, const char *verb,
		       const char *paths, const char *description)
{
	auto_free char *command = mem_printf("%s %s%s%s", verb, n->label,
					     *paths ? " " : "", paths);

	output_hint("guard %-*s  %s", n->width, command, description);
}

/* A branch moved back, or was rewritten. */
static bool went_back(const struct verdict *v)
{
	size_t i;

	for (i = 0; i < v->count; i++)
		if (strcmp(v->items[i].id, "ref-back") == 0)
			return true;
	return false;
}

/* A branch moved back, and no object is new: there are no commits to take. */
static bool lost_only(const struct change_list *list, const struct verdict *v)
{
	bool back = went_back(v);
	size_t i;

	for (i = 0; back && i < list->count; i++)
		back = list->items[i].kind != CHANGE_ADDED ||
		       strncmp(list->items[i].path, ".git/objects/", 13) != 0;
	return back;
}

/* A worktree that is applied by its path alone, or NULL; to free. */
static char *first_worktree(const struct changes *c)
{
	size_t i, k;

	for (i = 0; i < c->root_count; i++)
		for (k = 0; k < c->roots[i].worktrees.count; k++) {
			const struct worktree *w =
				&c->roots[i].worktrees.items[k];

			if (!worktrees_is_old(w) && !w->outside)
				return mem_printf("%s%s", c->roots[i].prefix,
						  w->path ?: w->from);
		}
	return NULL;
}

/* The commands that a run is followed by. Plain apply skips branches, tags and
 * the stash, and files that it wrote first would stand in the way of a merge.
 * --commits follows HEAD to a new branch only. */
static void print_next_commands(const struct session *s,
				const struct changes *c,
				const struct verdict *verdict,
				const struct change_counts *n)
{
	bool refs = false, heads = false, packed = false, moved = false;
	bool created = false, repository = false, gone = false, lost;
	const struct change_list *list = &changes_project(c)->list;
	bool sha256 = false, seen = apply_commits_seen(s, list, ".git");
	struct next next = {.label = session_label(s)};
	auto_free char *made = first_worktree(c);
	size_t i;

	for (i = 0; i < list->count; i++) {
		const char *path = list->items[i].path;

		packed |= strcmp(path, ".git/packed-refs") == 0;
		refs |= packed || strncmp(path, ".git/refs/", 10) == 0;
		heads |= packed || path_below(path, ".git/refs/heads");
		moved |= strcmp(path, ".git/HEAD") == 0;
		created |= list->items[i].kind == CHANGE_ADDED &&
			   path_below(path, ".git/refs/heads");
		sha256 |= path_below(path, ".git/objects") &&
			  strlen(path_name(path)) == SHA256_NAME;
		repository |= list->items[i].kind == CHANGE_ADDED &&
			      strcmp(path, ".git") == 0;
		gone |= list->items[i].kind == CHANGE_DELETED &&
			strcmp(path, ".git") == 0;
	}
	/* There is nothing yet to import commits into, or nothing any more to
	 * import them from, or guard does not read them. */
	refs &= !repository && !gone && !sha256;
	lost = refs && lost_only(list, verdict);
	heads = ((heads && refs && (!moved || created) && !lost) ||
		 (seen && !sha256)) &&
		(!made || n->total > n->git + n->worktrees) &&
		!apply_commits_must_wait(s, list);
	refs |= seen && !sha256;
	next.width = (int)(strlen(heads	       ? COMMITS
				  : repository ? REPOSITORY
					       : "discard") +
			   1 + strlen(next.label));
	print_next(&next, "diff", "", "show the changes");
	if (n->total > n->git + n->worktrees)
		print_next(&next, "review", "", "decide on each change");
	if (refs && !lost && made)
		print_next(&next, "import", "", IMPORTS);
	if (made)
		print_next(&next, "apply", text_shell(made),
			   "apply the worktree");
	if (heads)
		print_next(&next, COMMITS, "", "apply its commits and files");
	if (refs && !lost && !made)
		print_next(&next, "import", "", IMPORTS);
	if (repository)
		print_next(&next, "apply", ". .git",
			   "apply its files and its new repository");
	if (n->total > n->git + n->worktrees)
		print_next(&next, "apply", "",
			   lost	  ? "apply the files, not the moved branches"
			   : refs ? "apply the files without the commits"
			   : repository ? "apply the files without it"
					: "apply them to your files");
	print_next(&next, "discard", "", "discard them");
	if (heads && !went_back(verdict))
		apply_commits_report_push(s, list, ".git");
}

void output_run_summary(const struct session *s, struct changes *c,
			void (*judged)(void))
{
	struct change_counts n;
	AUTO(buf) struct buf sum = {0};
	AUTO(judgement) struct judgement j = {0};
	AUTO(verdict) struct verdict verdict = {0};
	size_t homes = changes_count_home(c), i;

	verdict_show_keep(s, c, &j, &verdict);
	judged();
	if (output_is_quiet())
		return;
	changes_count_all(c, &n);
	if (!n.total && !homes && s->state == RUN_APPLIED) {
		output_print("all changes of run %s are applied",
			     session_label(s));
		output_hint("guard undo %s  reverts them", session_label(s));
		return;
	}
	if (!n.total && !homes) {
		output_print("run %s changed nothing", session_label(s));
		return;
	}
	changes_summary(&n, &sum);
	output_print("run %s: %s", session_label(s), buf_text(&sum));
	risk_show_verdict(&verdict, styled_err());
	for (i = 0; i < c->root_count; i++) {
		listing_worktrees(&c->roots[i], false, styled_err());
		fold_make(&j.views[i], false);
		print_group_summary(&c->roots[i], &j.views[i]);
	}
	if (homes)
		output_print("%s in your home directory",
			     text_count(homes, "change"));
	output_print("these changes have not reached your files; next:");
	print_next_commands(s, c, &verdict, &n);
}
