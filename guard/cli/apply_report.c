#include "guard/cli/apply_report.h"

#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/committing.h"
#include "guard/change/importer.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/verdict_show.h"
#include "guard/state/exit_status.h"
#include "guard/state/report.h"
#include "overlay/layers.h"
#include "restore/git/gitdir.h"

#define ID_SHOWN 10
#define GITS_SHOWN 3u

char *apply_report_path(const char *root, const char *path)
{
	auto_free char *cwd = getcwd(NULL, 0);

	return cwd && strcmp(cwd, root) == 0 ? mem_strdup(path)
					     : path_join(root, path);
}

/* The changed directory, for messages. */
const char *apply_report_where(const struct apply_plan *a)
{
	const struct session *s = &a->p->session;
	size_t i;

	if (!resolve_run_paths(a->p, 0))
		for (i = 1; i < s->root_count; i++)
			if (resolve_run_paths(a->p, i))
				return s->roots[i].path;
	return resolve_run_home_paths(a->p) && !resolve_run_paths(a->p, 0)
		       ? s->home
		       : s->project;
}

/* As git does: it is done, but there is work left. */
int apply_report_markers(const struct apply_plan *a,
			 const struct plan_counts *counts, bool done)
{
	size_t i, k;

	if (!counts->marked)
		return STATUS_OK;
	for (i = 0; i < a->change.root_count; i++) {
		const struct plan *plan = &a->change.roots[i].plan;

		for (k = 0; k < plan->steps.count; k++) {
			auto_free char *path =
				mem_printf("%s%s", plan->prefix,
					   plan->steps.items[k].path);

			if (plan->steps.items[k].how == STEP_MARKED)
				report_warning("conflict markers %s in %s",
					       done ? "are" : "would be",
					       text_quote(path));
		}
	}
	if (done)
		report_warning(
			"%s to resolve by hand: applied with conflict markers",
			text_count(counts->marked, "file"));
	return STATUS_REFUSED;
}

/* Each .git has to be named. */
void apply_report_gits_left(const struct plan *plan, const char *dir,
			    const char *run)
{
	const struct names *gits = &plan->gits_skipped;
	AUTO(buf) struct buf paths = {0};
	size_t i;

	for (i = 0; i < gits->count && i < GITS_SHOWN; i++) {
		auto_free char *path = apply_report_path(dir, gits->items[i]);

		buf_printf(&paths, " %s", text_shell(path));
	}
	if (gits->count > GITS_SHOWN)
		report_note("changes in %s were not applied; guard apply %s%s "
			    "... applies them",
			    text_count(gits->count, ".git directory"), run,
			    buf_text(&paths));
	else if (gits->count)
		report_note("changes in%s were not applied; guard apply %s%s "
			    "applies them",
			    buf_text(&paths), run, buf_text(&paths));
}

/* Where HEAD was when the run began, and is. false: unknown. */
static bool find_heads(const struct session *s, struct githead *ret_began,
		       struct githead *ret_now)
{
	AUTO(gitdir) struct gitdir d = {0};

	return importer_began(s, ret_began) && gitdir_find(s->project, &d) &&
	       gitdir_head(&d, ret_now);
}

void apply_report_head(const struct session *s)
{
	AUTO(githead) struct githead began = {0}, now = {0};
	auto_free char *then = NULL, *is = NULL;

	if (!find_heads(s, &began, &now) ||
	    strcmp(began.branch ?: "", now.branch ?: "") == 0)
		return;
	then = apply_commits_head(&began);
	is = apply_commits_head(&now);
	report_warning("the run began on %s, you are on %s", then, is);
}

/* Whether --commits refuses, as far as the project's HEAD tells. */
static bool is_head_elsewhere(const struct session *s)
{
	AUTO(githead) struct githead began = {0}, now = {0};

	return find_heads(s, &began, &now) &&
	       (strcmp(began.branch ?: "", now.branch ?: "") != 0 ||
		gittips_compare_ids(&began.id, &now.id) != 0);
}

void apply_report_git_left(const struct apply_plan *a)
{
	struct session *s = &a->p->session;
	auto_free char *left = NULL;
	bool one, any = record_get(&s->more, LAYERS_GIT) != NULL;
	struct err err;
	size_t i;

	for (i = 0; i < s->root_count; i++)
		any |= a->change.roots[i].plan.git_skipped > 0;
	for (i = 1; i < s->root_count; i++)
		apply_report_gits_left(&a->change.roots[i].plan,
				       s->roots[i].path, session_label(s));
	if (!any)
		return;
	left = a->commits ? mem_strdup("") : importer_left(a->c, s, &err);
	one = left && strncmp(left, "1 ", 2) == 0;
	if (!left)
		report_note("run %s may have commits that are not in your "
			    "repository: %s",
			    session_label(s), err.text);
	else if (*left && (is_head_elsewhere(s) ||
			   apply_commits_must_wait(
				   s, &changes_project(&a->changes)->list)))
		report_note("%s of the run %s not in your repository; guard "
			    "import %s imports %s",
			    left, one ? "is" : "are", session_label(s),
			    one ? "it" : "them");
	else if (*left)
		report_note("%s of the run %s not in your repository; guard "
			    "import %s imports %s, guard apply --commits %s "
			    "moves your branch, too",
			    left, one ? "is" : "are", session_label(s),
			    one ? "it" : "them", session_label(s));
	apply_report_gits_left(&a->change.roots[0].plan, s->project,
			       session_label(s));
}

/* These changes do not conflict with the apply, but the user must know that
 * they were not applied. */
void apply_report_home_left(const struct apply_plan *a)
{
	size_t count = apply_plan_home_left(a);
	const char *id = session_label(&a->p->session);

	if (count)
		report_note("%s in your home directory not applied: guard diff "
			    "%s shows them, guard apply %s ~/PATH applies one",
			    text_count(count, "change"), id, id);
}

static void report_move(const struct commits_move *m, const char *verb,
			const char *creates)
{
	const struct githead *from = &m->from;
	auto_free char *name =
		mem_strdup(text_quote(apply_commits_branch(&m->to)));
	auto_free char *begun = apply_commits_head(from);
	auto_free char *where =
		*m->repo->name ? mem_printf("%s: ", text_quote(m->repo->name))
			       : mem_strdup("");

	if (m->apart) {
		report_note("%sbranch %s %s at %.*s (%s)", where, name, creates,
			    ID_SHOWN, m->to.id.hex,
			    text_count(m->distance.added, "commit"));
		return;
	}
	if (m->is_new && m->to.branch) {
		report_note("%sHEAD %s from %s to %s, a new branch at %.*s "
			    "(%s)",
			    where, verb, begun, name, ID_SHOWN, m->to.id.hex,
			    text_count(m->distance.added, "commit"));
		return;
	}
	report_note("%s%s %s from %.*s to %.*s (%s)", where, name, verb,
		    ID_SHOWN, *from->id.hex ? from->id.hex : "no commit",
		    ID_SHOWN, m->to.id.hex,
		    text_count(m->distance.added, "commit"));
	if (m->distance.dropped)
		report_warning("%s%s of %s %s not in the run's branch", where,
			       text_count(m->distance.dropped, "commit"), name,
			       m->distance.dropped == 1 ? "is" : "are");
}

void apply_report_branches(const struct apply_commits *ac, const char *verb,
			   const char *creates)
{
	size_t i;

	for (i = 0; i < ac->moves.count; i++)
		report_move(&ac->moves.items[i], verb, creates);
	for (i = 0; i < ac->importer.items.count; i++) {
		const struct gitimport_list *list =
			gitimport_listed(ac->importer.items.items[i].im);

		if (list->objects && ac->moves.count)
			report_note("with %s of git, %s",
				    text_count(list->objects, "object"),
				    text_size(list->bytes));
	}
}

static bool is_moved(const struct apply_commits *ac,
		     const struct importer_repository *r,
		     const struct gitimport_ref *ref)
{
	size_t i;

	for (i = 0; i < ac->moves.count; i++) {
		const struct commits_move *m = &ac->moves.items[i];

		if (m->repo == r && m->to.branch &&
		    strcmp(ref->name, m->to.branch + 5) == 0)
			return true;
	}
	return ref->known || strcmp(path_name(ref->name), "HEAD") == 0;
}

void apply_report_refs(const struct apply_commits *ac)
{
	size_t i, k;

	for (k = 0; k < ac->importer.items.count; k++) {
		const struct importer_repository *r =
			&ac->importer.items.items[k];
		const struct gitimport_list *list = gitimport_listed(r->im);
		size_t count = 0;

		for (i = 0; i < list->count; i++)
			count += !is_moved(ac, r, &list->items[i]);
		if (count)
			report_note("%s of the run: git for-each-ref %s",
				    text_count(count, "other ref"),
				    list->prefix);
		if (list->lfs_files)
			report_note("%s of git-lfs (%s) imported",
				    text_count(list->lfs_files, "file"),
				    text_size(list->lfs_bytes));
	}
}

int apply_report_done(struct apply_plan *a, const struct plan_counts *counts,
		      bool left, struct gitcommit *commit, struct err *err)
{
	const struct session *s = &a->p->session;
	AUTO(buf) struct buf sum = {0};

	plan_summary_text(counts, &sum);
	report_note("run %s applied to %s: %s", session_label(s),
		    text_quote(apply_report_where(a)), buf_text(&sum));
	if (!left)
		return apply_report_markers(a, counts, true);
	if (s->state != RUN_APPLIED) {
		report_note("the rest of it is still pending (guard diff %s)",
			    session_label(s));
		verdict_show_renew(a->c, s->id);
	}
	if (run_state_pending(s->state) && !resolve_run_is_running(s))
		report_hint("guard undo reverts it, guard discard %s drops the "
			    "rest",
			    session_label(s));
	else
		report_hint("guard undo reverts it");
	if (commit && committing_point(a, commit, true, err) < 0)
		return -err->num;
	apply_report_git_left(a);
	apply_report_home_left(a);
	return apply_report_markers(a, counts, true);
}
