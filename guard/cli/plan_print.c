#include "guard/cli/plan_print.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/library.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/cli/jsonout.h"
#include "guard/cli/plan_summary.h"
#include "guard/cli/output.h"
#include "guard/state/report.h"
#include "restore/entry_compare.h"

/* A replaced file is a new file, and so may have another owner. */
static bool changes_owner(const struct step *s)
{
	return s->kind == STEP_REPLACE &&
	       s->from.uid != entry_apply_owner(&s->to);
}

/* e: the new entry, or the old one. */
static void print_step_line(const struct plan *plan, const struct step *s,
			    const char *path, const struct entry *e)
{
	static const char *const hows[] = {
		[STEP_PLAIN] = "",
		[STEP_MERGED] = "  merged",
		[STEP_MARKED] = "  conflict markers",
		[STEP_OVER] = "  replaces your edit",
	};
	static const struct {
		char letter;
		enum output_style style;
	} kinds[] = {
		[STEP_DELETE] = {'D', STYLE_DELETED},
		[STEP_REPLACE] = {'M', STYLE_CHANGED},
		[STEP_CREATE] = {'A', STYLE_ADDED},
		[STEP_META] = {'P', STYLE_CHANGED},
	};
	AUTO(buf) struct buf b = {0};

	buf_add_text(&b, plan->prefix ? plan->prefix : "");
	text_escape_name(&b, path[0] ? path : ".");
	if (S_ISDIR(e->mode))
		buf_add_char(&b, '/');
	else if (S_ISLNK(e->mode))
		buf_add_text(&b, "  link");
	else if (S_ISREG(e->mode))
		buf_printf(&b, "  %s", text_size(e->size));
	else
		buf_printf(&b, "  %s", jsonout_type_text(e->mode));
	if (s->kind == STEP_REPLACE || s->kind == STEP_META) {
		bool same_kind = ((s->from.mode ^ s->to.mode) & S_IFMT) == 0;

		if (same_kind && s->from.mode != s->to.mode)
			buf_printf(&b, "  mode %04o -> %04o",
				   s->from.mode & 07777, s->to.mode & 07777);
		if (changes_owner(s))
			buf_printf(&b, "  owner %u -> %u", s->from.uid,
				   entry_apply_owner(&s->to));
	}
	(void)printf("  %s%c%s  %s%s\n", output_style(kinds[s->kind].style),
		     kinds[s->kind].letter, output_style(STYLE_NONE),
		     buf_text(&b),
		     s->kind == STEP_DELETE && s->how == STEP_OVER
			     ? "  with your edit"
			     : hows[s->how]);
}

struct printed_deletion {
	const struct plan *plan;
	const struct plan_moves *moves;
	const char *path; /* of the step */
};

static int print_deleted(void *arg, const char *path, const struct entry *e,
			 struct err *err)
{
	const struct printed_deletion *d = arg;
	auto_free char *full_path = path_join(d->path, path);
	bool over = plan_is_over(d->plan, full_path);

	(void)err;
	if (plan_moves_has(d->moves, full_path, false))
		return 0;
	print_step_line(d->plan,
			&(struct step){.kind = STEP_DELETE,
				       .how = over ? STEP_OVER : STEP_PLAIN},
			full_path, e);
	return 0;
}

int plan_print(struct store *store, const struct plan *plan, struct err *err)
{
	static const enum step_kind order[] = {STEP_REPLACE, STEP_META,
					       STEP_CREATE};
	AUTO(plan_moves) struct plan_moves moves = {0};
	size_t k, i;

	if (plan_moves_make(store, plan, &moves, err) < 0)
		return -err->num;
	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];
		struct printed_deletion d = {plan, &moves, s->path};

		if (s->kind == STEP_DELETE &&
		    tree_each(store, &s->from, print_deleted, &d, err) < 0)
			return -err->num;
	}
	for (i = 0; i < moves.count; i++) {
		AUTO(buf) struct buf b = {0};

		if (moves.items[i].with_dir)
			continue;
		changes_move_text(&moves.items[i],
				  plan->prefix ? plan->prefix : "",
				  output_width(), &b);
		(void)printf("  %sR%s  %s\n", output_style(STYLE_CHANGED),
			     output_style(STYLE_NONE), buf_text(&b));
	}
	for (k = 0; k < sizeof(order) / sizeof(order[0]); k++)
		for (i = 0; i < plan->steps.count; i++) {
			const struct step *s = &plan->steps.items[i];

			if (s->kind == STEP_CREATE &&
			    plan_moves_has(&moves, s->path, true))
				continue;
			if (s->kind == order[k] &&
			    !plan_summary_is_time_only(s))
				print_step_line(plan, s, s->path, &s->to);
		}
	return 0;
}

void plan_print_owners(const struct plan *plan)
{
	size_t owner_changes = 0, kept = 0, i;

	for (i = 0; i < plan->steps.count; i++) {
		const struct step *s = &plan->steps.items[i];

		owner_changes += changes_owner(s);
		/* Files that should have another owner, and stay this user's.
		 */
		kept += (s->kind == STEP_REPLACE || s->kind == STEP_CREATE) &&
			!changes_owner(s) &&
			s->to.uid != entry_apply_owner(&s->to);
	}
	if (owner_changes && geteuid() != 0)
		report_note("%s of other owners: replaced by new files, which "
			    "you own",
			    text_count(owner_changes, "file"));
	if (kept)
		report_note("%s of other owners: you will own them, since only "
			    "root can set an owner",
			    text_count(kept, "file"));
}

/* The path and the reason, for people. */
static char *conflict_line(const struct plan *plan, const struct conflict *c)
{
	auto_free char *path =
		mem_printf("%s%s", plan->prefix ? plan->prefix : "", c->path);

	/* Home directories were not stored when the run began. */
	if (plan->prefix && strcmp(plan->prefix, "~/") == 0 &&
	    c->kind == CONFLICT_MOVED)
		return mem_printf("%s: changed since the run started",
				  text_quote(path));
	return mem_printf("%s: %s", text_quote(path), conflict_text(c->kind));
}

void plan_print_choices(const struct plan *plan)
{
	size_t i;

	for (i = 0; i < plan->kept.count; i++) {
		auto_free char *text =
			conflict_line(plan, &plan->kept.items[i]);

		report_note("your version is kept: %s", text);
	}
	for (i = 0; i < plan->over.count; i++) {
		auto_free char *text =
			conflict_line(plan, &plan->over.items[i]);

		report_warning("your edit is replaced: %s", text);
	}
}

bool plan_print_blocks(const struct plan *plan, const char *remedy,
		       const char *refused)
{
	bool unmerged = false;
	size_t i;

	for (i = 0; i < plan->conflicts.count; i++) {
		auto_free char *text =
			conflict_line(plan, &plan->conflicts.items[i]);

		unmerged |= plan->conflicts.items[i].kind == CONFLICT_UNMERGED;

		report_warning("conflict: %s", text);
	}
	for (i = 0; i < plan->refusals.count; i++) {
		auto_free char *path =
			mem_printf("%s%s", plan->prefix ? plan->prefix : "",
				   plan->refusals.items[i].path);

		report_warning("refused: %s: %s", text_quote(path),
			       refusal_text(plan->refusals.items[i].kind));
	}
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
