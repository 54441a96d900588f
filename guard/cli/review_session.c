#include "guard/cli/review_session.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "guard/cli/apply_report.h"
#include "guard/cli/apply_selection.h"
#include "guard/cli/commands.h"
#include "guard/cli/commit_files_show.h"
#include "guard/cli/conflict_session.h"
#include "guard/cli/kinds_prompt.h"
#include "guard/cli/review_session_private.h"
#include "guard/cli/review_show.h"
#include "guard/cli/risk_show.h"
#include "guard/cli/discard.h"
#include "guard/cli/exec_all.h"
#include "guard/cli/html_report.h"
#include "guard/cli/patch_print.h"
#include "guard/cli/review_prompt.h"
#include "guard/cli/verdict_show.h"
#include "guard/cli/screen.h"
#include "guard/cli/styled.h"
#include "restore/git/textdiff.h"

/* Lines of a section in front of the questions. */
#define FIRST_LINES_MAX 12

static int make_root_review(struct review_session *v, size_t index,
			    struct err *err)
{
	struct apply_plan *a = v->a;
	struct changeset_root *root = &a->change.roots[index];
	struct review *r = &v->parts[index].review;
	const struct review_options with = {
		.view = a->changes.stored && v->judged.judgement.count
				? &v->judged.judgement.views[index]
				: NULL,
		.plan = &root->plan,
	};

	if (apply_selection_review_root(a, index, with, r, err) < 0)
		return -err->num;
	if (!v->o->resolve)
		review_add_clashes(r, &root->plan.conflicts);
	if (index)
		r->prefix = root->prefix;
	else
		r->may_agree = true;
	return 0;
}

/* Fills in the losses of all items, and the verdict. */
static void judge_review(struct review_session *v)
{
	const struct judgement *j = &v->judged.judgement;
	size_t i, k;

	judged_run_end(v->a->p, &v->judged);
	for (i = 0; i < v->count && i < j->count; i++)
		for (k = 0; k < v->parts[i].review.entry_count; k++) {
			struct review_entry *e = &v->parts[i].review.entries[k];
			const struct view_entry *judged =
				view_find(&j->views[i], e->path);

			if (judged)
				e->loss = judged->loss;
		}
}

/* The sections in front of the questions, or (most 0) all. */
static void show_parts(struct review_session *v, size_t most)
{
	const struct session *s = &v->a->p->session;
	AUTO(commit_files) struct commit_files files = {0};
	struct styled *to = styled_out();
	size_t i;

	review_show_head(s, &v->parts[0].review, to);
	risk_show_verdict(&v->judged.verdict, to);
	commit_files_show_load(v->a->c, &v->a->p->session, &v->a->changes,
			       &files);
	commit_files_show_count(&files, session_label(s), to);
	review_show_first(s, &v->parts[0].review, &v->a->changes, most, to);
	if (!most)
		review_show_rest(&v->parts[0].review, to);
	for (i = 1; i < v->count; i++) {
		struct review *r = &v->parts[i].review;
		AUTO(buf) struct buf name = {0};

		if (!r->count)
			continue;
		styled_name(&name, "", r->prefix);
		styled_line(to, LINE_TITLE, "In %s" PLAIN ": %s",
			    buf_text(&name), text_count(r->count, "change"));
		review_show_risky(r, most, to);
		if (!most)
			review_show_rest(r, to);
	}
}

/* The key of the answer to the last question. */
static int ask_to_apply(struct review_session *v)
{
	struct review_counts n;

	review_prompt_begin(&v->ui, UI_APPLY_LINE);
	while (!v->ui.done) {
		AUTO(buf) struct buf sum = {0};

		review_list_sum(&v->ui.list, &n);
		if (n.partly)
			buf_printf(&sum, ", %zu of them in part", n.partly);
		if (n.no)
			buf_printf(&sum, "; %zu skipped", n.no);
		if (n.open)
			buf_printf(&sum, "; %zu undecided", n.open);
		styled_line(styled_out(), LINE_TITLE,
			    "Accepted: %zu of %s" PLAIN "%s", n.yes + n.partly,
			    text_count(n.items, "change"), buf_text(&sum));
		if (!review_prompt_key(
			    &v->ui, "Apply the %s to %s",
			    text_count(n.yes + n.partly, "accepted change"),
			    text_quote(v->a->p->session.project)))
			return 'n';
	}
	return v->ui.chosen;
}

/* What was decided on is in the project, or there already. */
static void forget_decisions(struct review_session *v)
{
	struct err err;

	decisions_free(&v->ui.list.decisions);
	if (decisions_forget(v->a->p->session.fd, &err) < 0)
		output_warn("%s", err.text);
}

static int report_nothing_applied(const struct review_session *v)
{
	const struct session *s = &v->a->p->session;

	output_print("nothing applied: run %s stays pending, your answers are "
		     "kept (guard discard %s discards the run)",
		     session_label(s), session_label(s));
	return STATUS_REFUSED;
}

static int ask_until_decided(struct review_session *v, struct err *err)
{
	struct review_counts n;
	bool open_only = true;
	int status, got;

	for (;; open_only = v->o->kinds) {
		if (!v->o->kinds || kinds_prompt(&v->ui))
			review_prompt(&v->ui, open_only);
		review_list_sum(&v->ui.list, &n);
		if (!n.yes && !n.partly)
			return report_nothing_applied(v);
		switch (ask_to_apply(v)) {
		case 'r':
			continue;
		case 'y':
			got = review_apply_accepted(v, true, &status, err);
			if (got > 0 && !v->o->commit.branch)
				forget_decisions(v);
			if (got)
				return got < 0 ? got : status;
			break;
		default:
			return report_nothing_applied(v);
		}
	}
}

/* --- the full screen --- */

/* The branch that `apply --commits` moves, to free; NULL: the run has no
 * commits for it, or they cannot be read. */
static char *find_commits_branch(const struct review_session *v)
{
	const struct changeset_root *root = &v->a->change.roots[0];
	struct store *store = v->a->c->store;
	AUTO(entry) struct entry old = {0}, now = {0};
	AUTO(githead) struct githead base = {0}, want = {0};
	struct err ignored;

	if (tree_lookup(store, &root->base.root, ".git", &old, &ignored) <= 0 ||
	    tree_lookup(store, &root->want.root, ".git", &now, &ignored) <= 0 ||
	    !S_ISDIR(old.mode) || !S_ISDIR(now.mode) ||
	    githead_read(store, &old, "", &base, &ignored) < 0 ||
	    githead_read(store, &now, "", &want, &ignored) < 0 ||
	    !want.branch || !base.branch ||
	    apply_commits_must_wait(&v->a->p->session,
				    &changes_project(&v->a->changes)->list) ||
	    gittips_compare_ids(&base.id, &want.id) == 0)
		return NULL;
	return mem_strdup(path_rest(want.branch, "refs/heads"));
}

/* Whether the run's result is still the one that was shown. */
static int check_shown(const struct apply_plan *shown,
		       const struct apply_plan *now, struct err *err)
{
	size_t i;

	for (i = 0; i < shown->change.root_count; i++)
		if (!entry_same_state(&shown->change.roots[i].want.root,
				      &now->change.roots[i].want.root))
			return fail(err, EBUSY,
				    "the layer of run %s has changed during "
				    "the review: nothing applied",
				    session_label(&shown->p->session));
	return 0;
}

/* All changes of the run, with its commits. As review_apply_accepted(). */
static int apply_with_commits(struct review_session *v, int *ret_status,
			      struct err *err)
{
	AUTO(apply_plan) struct apply_plan a = APPLY_PLAN_NONE;
	AUTO(apply_commits) struct apply_commits commits = {0};
	uint64_t after;
	size_t i;
	int got;

	a.c = v->a->c;
	a.p = v->a->p;
	a.commits = true;
	for (i = 0; i < v->count; i++)
		if (v->parts[i].review.store)
			review_apply_agreed(v, i, &a);
	if (apply_plan_load(&a, err) < 0 || check_shown(v->a, &a, err) < 0 ||
	    apply_commits_make(&a, &commits, err) < 0)
		return -err->num;
	commit_files_show(&commits.files, styled_out());
	got = review_apply_conflicts(v, &a, err);
	if (got <= 0)
		return got;
	if (apply_commits_write(&a, &commits, err) < 0 ||
	    apply_plan_execute(&a, !apply_plan_has_exceptions(&a), true, &after,
			       err) < 0)
		return -err->num;
	apply_report_branches(&commits, "moved", "created");
	apply_report_refs(&commits);
	*ret_status = apply_report_done(&a, &v->counts, true, NULL, err);
	return *ret_status < 0 ? -err->num : 1;
}

static int commit_accepted(struct review_session *v, const char *branch,
			   struct err *err)
{
	const struct committing_options o = {.on = true, .branch = branch};
	AUTO(gitcommit) struct gitcommit *commit = NULL;
	bool complete, git;

	if (review_apply_trees(v, &complete, &git, err) < 0 ||
	    committing_make(v->a, &o, false, &v->parts[0].picked, &commit,
			    err) < 0 ||
	    committing_point(v->a, commit, false, err) < 0)
		return -err->num;
	return STATUS_OK;
}

static int write_accepted_patch(struct review_session *v, const char *name,
				struct err *err)
{
	struct apply_plan *a = v->a;
	bool complete, git;
	FILE *file;
	int fd, got;

	if (review_apply_trees(v, &complete, &git, err) < 0)
		return -err->num;
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		  0666);
	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(name));
	file = fdopen(fd, "w");
	got = patch_print(a->c, a->p, &a->change.roots[0].base.root,
			  &v->parts[0].picked, file, true, err);
	if (fclose(file) != 0 && got >= 0)
		got = fail_errno(err, "write %s", text_quote(name));
	if (got < 0) {
		(void)unlink(name);
		return got;
	}
	output_print("the accepted changes are in %s; the run stays pending",
		     text_quote(name));
	return got ? STATUS_OK : STATUS_REFUSED;
}

/* As finish_screen(). Two actions: one undo for each. */
static int apply_and_discard(struct review_session *v, struct err *err)
{
	const struct discard_choice discard = {.yes = true};
	struct session *s = &v->a->p->session;
	int got, status, discarded;

	got = review_apply_accepted(v, false, &status, err);
	if (got <= 0)
		return got ?: -EAGAIN;
	forget_decisions(v);
	changeset_unlock(&v->a->change);
	if (!run_state_pending(s->state))
		return status;
	discarded = discard_run(v->a->c, v->a->p, &discard, err);
	if (discarded == STATUS_OK && changeset_has_steps(&v->a->change))
		output_hint("guard undo 2 reverts the apply, too");
	return discarded ?: status;
}

/* The chosen end; -EAGAIN: back to the screen, with the text of err if that is
 * not empty. */
static int finish_screen(struct review_session *v, const struct screen_job *job,
			 enum screen_choice choice, struct err *err)
{
	const struct discard_choice discard = {.yes = true};
	int got, status;

	*err->text = '\0';
	if (v->lost)
		return fail(err, EBUSY,
			    "another guard process has changed run %s during "
			    "the test: nothing applied",
			    session_label(&v->a->p->session));
	switch (choice) {
	case SCREEN_APPLY:
	case SCREEN_COMMITS:
		got = choice == SCREEN_APPLY
			      ? review_apply_accepted(v, true, &status, err)
			      : apply_with_commits(v, &status, err);
		if (got > 0)
			forget_decisions(v);
		return got > 0 ? status : got ?: -EAGAIN;
	case SCREEN_APPLY_DISCARD:
		return apply_and_discard(v, err);
	case SCREEN_BRANCH:
		got = commit_accepted(v, job->branch, err);
		break;
	case SCREEN_PATCH:
		got = write_accepted_patch(v, job->patch, err);
		break;
	case SCREEN_DISCARD:
		return discard_run(v->a->c, v->a->p, &discard, err);
	default:
		return report_nothing_applied(v);
	}
	/* Neither changes the project: the user may choose again. */
	return got < 0 ? -EAGAIN : got;
}

/* Continues with the answers of an earlier review of the run. *ret_note: a
 * sentence on that for the user, to free; NULL: nothing. */
static int load_decisions(struct review_session *v, char **ret_note,
			  struct err *err)
{
	const struct session *s = &v->a->p->session;
	AUTO(buf) struct buf note = {0};
	struct decisions *d = NULL;
	struct review_counts n;
	size_t dropped = 0, i;

	if ((v->o->forget && decisions_forget(s->fd, err) < 0) ||
	    decisions_open(s->fd, true, &d, err) < 0)
		return -err->num;
	for (i = 0; i < v->count; i++)
		dropped += decisions_replay(d, i, v->reviews[i]);
	review_list_free(&v->ui.list);
	review_list_make(&v->ui.list, v->reviews, v->count, d);
	review_list_sum(&v->ui.list, &n);
	if (n.open < n.items)
		buf_printf(&note,
			   "continuing an earlier review: %zu of %s %s decided "
			   "(--forget restarts)",
			   n.items - n.open, text_count(n.items, "change"),
			   n.items - n.open > 1 ? "are" : "is");
	if (dropped)
		buf_printf(&note, "%s%s dropped: the files changed",
			   note.len ? "; " : "",
			   text_count(dropped, "decision"));
	*ret_note = note.len ? buf_take_text(&note) : NULL;
	return 0;
}

/* A command in a copy of the run, which needs the run's lock. */
static int try_command(void *arg, const char *command, char **ret_summary,
		       struct err *err)
{
	static const char *const none[] = {NULL};
	struct review_session *v = arg;
	auto_free char *text = mem_strdup(command);
	char shell[] = "sh", option[] = "-c";
	char *const argv[] = {shell, option, text, NULL};
	const struct run_exec exec = {.argv = argv, .env = none};
	struct err lost;
	int got;

	resolve_run_unlock(v->a->p);
	got = exec_all_try(v->a->c, &v->a->p->session, &exec, ret_summary, err);
	if (resolve_run_relock(v->a->c, v->a->p, &lost) < 0) {
		v->lost = true;
		*err = lost;
		return -err->num;
	}
	return got;
}

static int write_html(void *arg, const char *file, struct err *err)
{
	struct review_session *v = arg;

	/* The screen has the standard output. */
	return html_report_write_run(strcmp(file, "-") == 0 ? "./-" : file,
				     v->a->c, v->a->p, err);
}

static int list_screen_conflicts(void *arg, struct review_conflicts **ret,
				 struct err *err)
{
	struct review_session *v = arg;

	*ret = &v->conflicts.list;
	return conflict_session_list(&v->conflicts, v->a, err);
}

/* -ENOTTY: no full screen is possible here. */
static int review_on_screen(struct review_session *v, const char *note,
			    struct err *err)
{
	const struct session *s = &v->a->p->session;
	auto_free char *branch = mem_printf("guard/%s", session_label(s));
	auto_free char *patch = mem_printf("%s.patch", session_label(s));
	auto_free char *html = mem_printf("%s.html", session_label(s));
	auto_free char *commits_to = find_commits_branch(v);
	auto_free char *message = NULL;
	auto_free const char **root_paths =
		mem_alloc(v->count * sizeof(*root_paths));
	struct screen_job job = {
		.verdict = &v->judged.verdict,
		.root_paths = root_paths,
		.test = v->o->test,
		.mouse = v->o->mouse,
		.try = try_command,
		.write_html = write_html,
		.list_conflicts = list_screen_conflicts,
		.arg = v,
		.message = note,
		.run = session_label(s),
		.project = s->project,
		.branch = branch,
		.patch = patch,
		.html = html,
		.commits_to = commits_to,
		.running = s->live,
		.part = resolve_run_has_paths(v->a->p),
	};
	enum screen_choice choice;
	size_t i;
	int got;

	for (i = 0; i < v->count; i++)
		root_paths[i] = s->roots[i].path;
	v->ui.job = &job;
	for (;;) {
		choice = screen_run(&v->ui);
		if (choice == SCREEN_NOT) {
			v->ui.job = NULL;
			return -ENOTTY;
		}
		got = finish_screen(v, &job, choice, err);
		if (got != -EAGAIN)
			return got;
		free(message);
		message = mem_strdup(*err->text ? err->text : NULL);
		job.message = message;
	}
}

/* Makes the review of each root. */
static int load_review(struct review_session *v, struct err *err)
{
	struct apply_plan *a = v->a;
	struct apply_commits none = {0};
	struct err missing;
	size_t i;

	if (resolve_run_home_paths(a->p))
		return fail(err, ENOTSUP,
			    "a review covers the project only: guard diff %s "
			    "%s shows changes in your home directory, guard "
			    "apply applies them",
			    session_label(&a->p->session), "~");
	a->p->within_roots = true;
	if (apply_plan_load(a, err) < 0 ||
	    apply_commits_make(a, &none, err) < 0 ||
	    apply_plan_make(a, RESOLVE_NOT, err) < 0)
		return -err->num;
	changeset_unlock(&a->change);
	changes_find_moves(&a->changes);
	v->count = a->p->session.root_count;
	v->parts = mem_zalloc(v->count * sizeof(*v->parts));
	if (!v->o->short_head && judged_run_load(a->c, a->p, NULL, &a->changes,
						 &v->judged, &missing) < 0)
		output_error(&missing);
	v->reviews = mem_alloc((v->count + 1) * sizeof(*v->reviews));
	for (i = 0; i < v->count; i++) {
		if (make_root_review(v, i, err) < 0)
			return -err->num;
		v->reviews[i] = &v->parts[i].review;
	}
	/* An apply plans again; of many changes a plan is large. */
	for (i = 0; i < v->count; i++)
		plan_free(&a->change.roots[i].plan);
	v->ui.keys = review_keys;
	v->ui.store = a->c->store;
	v->ui.scratch_fd = a->p->session.fd;
	v->ui.scratch = v->scratch;
	v->conflicts.ui = &v->ui;
	review_list_make(&v->ui.list, v->reviews, v->count, NULL);
	return 0;
}

/* Without a terminal. */
static void print_review(struct review_session *v, bool any)
{
	const char *run = session_label(&v->a->p->session);

	if (!v->o->no_pager)
		output_pager_start("review");
	if (v->o->kinds)
		kinds_prompt_print(&v->ui);
	else
		show_parts(v, 0);
	(void)fflush(stdout);
	if (any)
		output_print("guard review %s on a terminal asks about each "
			     "change; guard apply %s PATHS applies the named "
			     "paths, guard diff %s shows the texts",
			     run, run, run);
}

static int run_review(struct review_session *v, struct err *err)
{
	struct review_counts n;
	auto_free char *note = NULL;
	bool compared = true;
	struct err missing;

	if (load_review(v, err) < 0)
		return -err->num;
	review_list_sum(&v->ui.list, &n);
	if (n.items && textdiff_available(&missing) < 0) {
		compared = false;
		output_print("texts are not compared: %s", missing.text);
	}
	if (n.items && v->judged.judgement.count)
		judge_review(v);
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		print_review(v, n.items > 0);
		return compared ? STATUS_OK : STATUS_REFUSED;
	}
	if (n.items && load_decisions(v, &note, err) < 0)
		return -err->num;
	if (n.items && !v->o->plain && !v->o->kinds && screen_is_possible()) {
		int got = review_on_screen(v, note, err);

		if (got != -ENOTTY)
			return got;
	}
	if (!v->o->short_head)
		show_parts(v, FIRST_LINES_MAX);
	if (!n.items) {
		output_print("run %s has no changes to decide on",
			     session_label(&v->a->p->session));
		return STATUS_OK;
	}
	if (note)
		output_print("%s", note);
	return ask_until_decided(v, err);
}

int review_session_run(struct apply_plan *a,
		       const struct review_session_options *o, struct err *err)
{
	struct review_session v = {
		.a = a,
		.o = o,
		.scratch = mem_printf("%s/runs/%s", a->c->state.path,
				      a->p->session.id),
	};
	int got = run_review(&v, err);
	size_t i;

	for (i = 0; i < v.count; i++)
		apply_selection_free_root(&v.parts[i]);
	conflict_session_free(&v.conflicts);
	decisions_free(&v.ui.list.decisions);
	review_ui_free(&v.ui);
	free(v.reviews);
	judged_run_free(&v.judged);
	free(v.parts);
	free(v.scratch);
	return got;
}
