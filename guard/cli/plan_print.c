#include "guard/cli/plan_print.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/library.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/listing.h"
#include "guard/cli/output.h"
#include "guard/review/fold.h"
#include "guard/state/report.h"
#include "restore/entry_compare.h"

/* A replaced file is a new file, and so may have another owner. */
static bool changes_owner(const struct step *s)
{
	return s->kind == STEP_REPLACE &&
	       s->from.uid != entry_apply_owner(&s->to);
}

static void print_planned(const struct view *v, const struct view_entry *e)
{
	const struct change *c = e->change;
	const struct change_side *side = c->now.mode ? &c->now : &c->old;
	bool both = c->old.mode && c->now.mode;
	AUTO(buf) struct buf b = {0};

	styled_row(&b, changes_letter(c->kind), v->prefix,
		   c->path[0] ? c->path : ".", S_ISDIR(side->mode));
	if (c->kind == CHANGE_TYPE)
		buf_printf(&b, "  %s -> %s", jsonout_type_text(c->old.mode),
			   jsonout_type_text(c->now.mode));
	else if (S_ISREG(side->mode))
		buf_printf(&b, "  %s", text_size(side->size));
	else if (!S_ISDIR(side->mode))
		buf_printf(&b, "  %s", jsonout_type_text(side->mode));
	if (both && c->kind != CHANGE_TYPE && c->old.mode != c->now.mode)
		buf_printf(&b, "  mode %04o -> %04o", c->old.mode & 07777,
			   c->now.mode & 07777);
	if (both && c->kind != CHANGE_META && c->old.uid != c->now.uid)
		buf_printf(&b, "  owner %u -> %u", c->old.uid, c->now.uid);
	fold_entry_text(e, &b);
	styled_line(styled_out(), LINE_ROW, "%s%s", buf_text(&b),
		    c->flags & VIEW_DELETES_EDIT ? "  with your edit"
		    : c->flags & VIEW_MERGED	 ? "  merged"
		    : c->flags & VIEW_MARKED	 ? "  conflict markers"
		    : c->flags & VIEW_OVER	 ? "  replaces your edit"
						 : "");
}

/* Which folds come together: deletions, replacements, metadata, the others. */
static unsigned int fold_rank(const struct view *v, const struct fold *fold)
{
	if (fold->kind == FOLD_NONE)
		switch (v->items[fold->entry].change->kind) {
		case CHANGE_DELETED:
			return 0;
		case CHANGE_TYPE:
		case CHANGE_MODIFIED:
			return 1;
		case CHANGE_META:
			return 2;
		case CHANGE_ADDED:
			return 3;
		}
	return fold->added || fold->modified ? 3 : 0;
}

int plan_print(struct store *store, const struct plan *plan,
	       const struct view *judged, struct err *err)
{
	AUTO(view) struct view view = {0};
	unsigned int rank;
	size_t i;

	if (view_of_plan(store, plan, true, &view, err) < 0)
		return -err->num;
	if (judged)
		view_copy_judgement(&view, judged);
	fold_make(&view, false);
	for (rank = 0; rank < 4; rank++) {
		for (i = 0; i < view.folds.list.count; i++) {
			const struct fold *fold = &view.folds.list.items[i];

			if (fold_rank(&view, fold) != rank)
				continue;
			if (fold->kind == FOLD_NONE)
				print_planned(&view, &view.items[fold->entry]);
			else
				listing_fold(&view, fold, styled_out());
		}
		if (rank == 0)
			(void)listing_moved(&view.own, view.prefix, 0,
					    styled_out());
	}
	(void)listing_groups(&view.own, view.prefix, styled_out());
	return 0;
}

/* Only a member can give a new file its group. */
static bool loses_group(const struct plan *plan, const struct step *s)
{
	uint32_t group = step_group(plan, &s->to);

	if (geteuid() == 0 || changes_owner(s) || S_ISDIR(s->to.mode))
		return false;
	return s->kind == STEP_REPLACE
		       ? s->from.gid != group && !group_member(s->from.gid)
		       : s->kind == STEP_CREATE && s->to.gid != group;
}

void plan_print_owners(const struct plan *plan)
{
	size_t owner_changes = 0, kept = 0, groups = 0, i;

	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		owner_changes += changes_owner(s);
		/* Files that should have another owner, and stay this user's.
		 */
		kept += (s->kind == STEP_REPLACE || s->kind == STEP_CREATE) &&
			!changes_owner(s) &&
			s->to.uid != entry_apply_owner(&s->to);
		groups += loses_group(plan, s);
	}
	if (owner_changes && geteuid() != 0)
		report_note("%s of other owners: replaced by new files, which "
			    "you own",
			    text_count(owner_changes, "file"));
	if (kept)
		report_note("%s of other owners: you will own them, since only "
			    "root can set an owner",
			    text_count(kept, "file"));
	if (groups)
		report_note("%s of groups that you are not in: new files, "
			    "which get another group",
			    text_count(groups, "file"));
}

/* The path and the reason, for people. */
static const char *conflict_line(const struct plan *plan,
				 const struct conflict *c)
{
	auto_free char *path = mem_printf("%s%s", plan->prefix, c->path);

	/* Home directories were not stored when the run began. */
	if (strcmp(plan->prefix, "~/") == 0 && c->kind == CONFLICT_MOVED)
		return text_printf("%s: changed since the run started",
				   text_quote(path));
	return text_printf("%s: %s", text_quote(path), conflict_text(c->kind));
}

#define KEPT_SHOWN 20

void plan_print_choices(const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->kept.count; i++) {
		/* One more is as short as a line that counts it. */
		if (i == KEPT_SHOWN && plan->kept.count > i + 1) {
			report_note("and %zu more: --json lists them",
				    plan->kept.count - i);
			break;
		}
		report_note("%s: %s",
			    plan->kept.items[i].kind == CONFLICT_SPECIAL
				    ? "left out"
				    : "your version is kept",
			    conflict_line(plan, &plan->kept.items[i]));
	}
	for (i = 0; i < plan->over.count; i++)
		report_warning("your edit is replaced: %s",
			       conflict_line(plan, &plan->over.items[i]));
}

bool plan_print_consent(const char *shown, const struct refusal *refusal)
{
	return output_ask("guard: %s %s: apply it anyway?", text_quote(shown),
			  refusal_reason(refusal)) > 0;
}

#define COPY_LINES 5
#define TORN_LINES 5

size_t plan_print_copies_refused(const struct plan *plan)
{
	size_t n = 0, i;

	for (i = 0; i < plan->refusals.count; i++)
		n += plan->refusals.items[i].kind == REFUSED_COPY;
	return n;
}

/* A file, or a directory that loses files: how many; 0: it loses none. */
static size_t add_lost_text(const struct view *v, const struct fold *fold,
			    struct buf *to)
{
	const struct view_entry *e = &v->items[fold->entry];

	text_escape_name(to, v->prefix);
	if (fold->kind != FOLD_NONE && fold->lost) {
		text_escape_name(to, fold->dir);
		buf_add_text(to, "/  ");
		fold_text(fold, to);
		return fold->lost;
	}
	if (fold->kind != FOLD_NONE || e->loss != LOSS_NO_COPY)
		return 0;
	text_escape_name(to, e->change->path);
	buf_printf(to, "  %s", text_size(e->change->old.size));
	return 1;
}

int plan_print_copies(struct store *store, const struct plan *plan,
		      struct err *err)
{
	size_t n = plan_print_copies_refused(plan), lines = 0, named = 0, i;
	AUTO(view) struct view view = {0};

	if (n < 2)
		return 0;
	if (view_of_plan(store, plan, false, &view, err) < 0)
		return -err->num;
	for (i = 0; i < plan->refusals.count; i++) {
		const struct refusal *r = &plan->refusals.items[i];
		struct view_entry *e = view_find(&view, r->path);

		if (e && r->kind == REFUSED_COPY)
			e->loss = LOSS_NO_COPY;
	}
	fold_make(&view, false);
	report_warning("needs your consent: %zu files have no other copy:", n);
	for (i = 0; i < view.folds.list.count && lines < COPY_LINES; i++) {
		AUTO(buf) struct buf text = {0};
		size_t lost =
			add_lost_text(&view, &view.folds.list.items[i], &text);

		if (!lost)
			continue;
		report_note("  %s", buf_text(&text));
		named += lost;
		lines++;
	}
	if (named < n)
		report_note("  and %zu more", n - named);
	return 0;
}

bool plan_print_blocks(const struct plan *plan, const char *remedy,
		       const char *refused)
{
	bool unmerged = false, listed = plan_print_copies_refused(plan) > 1;
	size_t torn = 0, i;

	for (i = 0; i < plan->conflicts.count; i++) {
		unmerged |= plan->conflicts.items[i].kind == CONFLICT_UNMERGED;

		report_warning("conflict: %s",
			       conflict_line(plan, &plan->conflicts.items[i]));
	}
	for (i = 0; i < plan->refusals.count; i++) {
		const struct refusal *r = &plan->refusals.items[i];
		auto_free char *path =
			mem_printf("%s%s", plan->prefix, r->path);

		if ((r->kind == REFUSED_COPY && listed) ||
		    (r->rule && strcmp(r->rule, "torn") == 0 &&
		     ++torn > TORN_LINES))
			continue;
		report_warning(r->kind >= REFUSED_COPY
				       ? "needs your consent: %s %s"
				       : "refused: %s: %s",
			       text_quote(path), refusal_reason(r));
	}
	if (torn > TORN_LINES)
		report_note("  and %zu more that may be torn",
			    torn - TORN_LINES);
	if (unmerged)
		report_note("nothing is written without that library: apt-get "
			    "install %s, or name the other paths",
			    library_info(LIBRARY_LIBGIT2)->package);
	else if (plan->conflicts.count && remedy)
		report_note("%s", remedy);
	if (plan->refusals.count && refused)
		report_note("%s", refused);
	return plan->conflicts.count || plan->refusals.count;
}
