#include "guard/reviewing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/commands.h"
#include "guard/output.h"
#include "guard/review_show.h"
#include "guard/review_walk.h"

/* Lines of a section in front of the questions. */
#define FIRST_MOST 12

struct reviewing {
	struct applying *a;
	const struct reviewing_options *o;
	struct review review;
	char *scratch; /* the run's folder */
	enum plan_resolve resolve;
};

static void reviewing_free(struct reviewing *v)
{
	review_free(&v->review);
	free(v->scratch);
}

static bool on_terminal(void)
{
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
}

/* The three sides, and what would be refused; nothing is held on to but the
 * run. */
static int load(struct reviewing *v, struct err *err)
{
	struct applying *a = v->a;
	struct review_options options = {
		.paths = (const char *const *)a->p->paths,
		.plan = &a->plan,
	};

	if (a->p->home_paths)
		return fail(err, ENOTSUP,
			    "a review is of the project: guard diff %s %s "
			    "shows what changed in your home folder, guard "
			    "apply takes it",
			    a->p->session.id, "~");
	if (applying_load(a, err) < 0 ||
	    applying_plan(a, &a->want, RESOLVE_NOT, false, err) < 0)
		return -err->num;
	applying_leave(a);
	options.here = &a->before.root;
	return review_make(a->c->store, &a->base.root, &a->want, &options,
			   &v->review, err);
}

static void print(struct reviewing *v)
{
	const struct session *s = &v->a->p->session;

	if (!v->o->no_pager)
		output_pager_start();
	review_show_head(s, &v->review);
	review_show_first(s, &v->review, &v->a->changes, 0);
	review_show_rest(&v->review);
	(void)fflush(stdout);
	if (!v->review.count)
		return;
	output_say("guard review %s on a terminal asks about each of them; "
		   "guard apply %s PATHS takes what is named, guard diff %s "
		   "has the texts",
		   s->id, s->id, s->id);
}

/* --- the end --- */

static void say_accepted(const struct reviewing *v)
{
	struct review_counts n;

	review_count(&v->review, &n);
	(void)printf("\n%sAccepted: %zu of %s%s", output_style(STYLE_BOLD),
		     n.yes + n.partly, text_count(n.items, "change"),
		     output_style(STYLE_NONE));
	if (n.partly)
		(void)printf(", %zu of them in part", n.partly);
	if (n.no)
		(void)printf("; %zu left out", n.no);
	if (n.open)
		(void)printf("; %zu not decided on", n.open);
	(void)printf("\n");
}

enum wish { WISH_APPLY, WISH_LEAVE, WISH_AGAIN };

/* Lines as "y", and what the others mean. */
static enum wish ask_to_apply(struct reviewing *v)
{
	struct review_counts n;

	for (;;) {
		auto_free char *line = NULL;

		review_count(&v->review, &n);
		say_accepted(v);
		line = review_walk_ask(
			"Apply the %s to %s [y,n,r,l,?]?",
			text_count(n.yes + n.partly, "accepted change"),
			text_quote(v->a->p->session.project));
		if (!line || strcmp(line, "n") == 0 || strcmp(line, "q") == 0)
			return WISH_LEAVE;
		if (strcmp(line, "y") == 0)
			return WISH_APPLY;
		if (strcmp(line, "r") == 0)
			return WISH_AGAIN;
		if (strcmp(line, "l") == 0)
			review_walk_list(&v->review, true);
		else
			(void)printf("y - apply what is accepted; guard undo "
				     "takes it back\n"
				     "n - apply nothing: the run waits on\n"
				     "r - go through them again\n"
				     "l - list all: + accepted, * in part, - "
				     "left out\n");
	}
}

/* Whose version it shall be; RESOLVE_NOT: none. */
static enum plan_resolve ask_to_resolve(void)
{
	for (;;) {
		auto_free char *line = review_walk_ask(
			"Your version, the run's, or both with markers "
			"[o,t,m,r,?]?");

		if (!line || strcmp(line, "r") == 0)
			return RESOLVE_NOT;
		if (strcmp(line, "o") == 0)
			return RESOLVE_OURS;
		if (strcmp(line, "t") == 0)
			return RESOLVE_THEIRS;
		if (strcmp(line, "m") == 0)
			return RESOLVE_MARKERS;
		(void)printf("o - where both changed something, yours stays\n"
			     "t - the run's goes over yours (which is stored "
			     "first)\n"
			     "m - texts get conflict markers\n"
			     "r - back to the review\n");
	}
}

static bool was_merged(const struct plan *plan)
{
	size_t i, n = 0;

	for (i = 0; i < plan->step_count; i++)
		if (plan->steps[i].how == STEP_MERGED) {
			output_say("both changed it, and it is merged: %s",
				   text_quote(plan->steps[i].path));
			n++;
		}
	return n;
}

/* 1: it can be done; 0: back to the review. What is more than was shown, is
 * shown now. */
static int settle(struct reviewing *v, const struct entry *want, bool git,
		  struct err *err)
{
	struct applying *a = v->a;

	for (;;) {
		if (applying_plan(a, want, v->resolve, git, err) < 0)
			return -err->num;
		carry_print_choices(&a->plan);
		if (carry_print_blocks(&a->plan, NULL)) {
			applying_leave(a);
			v->resolve = ask_to_resolve();
			if (v->resolve == RESOLVE_NOT)
				return 0;
			if (applying_look(a, err) < 0)
				return -err->num;
			continue;
		}
		if (was_merged(&a->plan) || a->plan.over_count)
			return carry_ask(&a->counts, applying_where(a), false);
		return 1;
	}
}

/* 1: done, with its status; 0: back to the review. */
static int carry(struct reviewing *v, int *ret_status, struct err *err)
{
	struct applying *a = v->a;
	AUTO(entry) struct entry want = {0};
	AUTO(gitcommit) struct gitcommit *commit = NULL;
	bool whole, git;
	uint64_t after;
	int got;

	v->resolve = v->o->resolve;
	if (review_pick(&v->review, &want, &whole, &git, err) < 0)
		return -err->num;
	if (v->o->commit.on &&
	    committing_make(a, &v->o->commit, &want, &commit, err) < 0)
		return -err->num;
	if (v->o->commit.branch) {
		*ret_status = STATUS_OK;
		return committing_point(a, commit, false, err) < 0 ? -err->num
								   : 1;
	}
	if (applying_look(a, err) < 0)
		return -err->num;
	got = settle(v, &want, git, err);
	if (got <= 0) {
		applying_leave(a);
		return got;
	}
	if (!a->plan.step_count) {
		output_say("nothing is left to do: your project has all of "
			   "that already");
		*ret_status = STATUS_OK;
		return 1;
	}
	if (applying_carry(a, whole, git, &after, err) < 0)
		return -err->num;
	applying_say_done(a);
	if (commit && committing_point(a, commit, true, err) < 0)
		return -err->num;
	applying_say_git_left(a);
	(void)applying_say_home_left(a);
	*ret_status = applying_say_marked(a);
	return 1;
}

static int nothing_accepted(const struct reviewing *v)
{
	const struct session *s = &v->a->p->session;

	output_say("nothing is applied: run %s waits on (guard discard %s "
		   "drops it)",
		   s->id, s->id);
	return STATUS_REFUSED;
}

static int ask_all(struct reviewing *v, struct err *err)
{
	struct session *s = &v->a->p->session;
	struct review_counts n;
	int status, got;

	for (;;) {
		review_walk(&v->review, s->fd, v->scratch);
		review_count(&v->review, &n);
		if (!n.yes && !n.partly)
			return nothing_accepted(v);
		switch (ask_to_apply(v)) {
		case WISH_LEAVE:
			return nothing_accepted(v);
		case WISH_AGAIN:
			continue;
		case WISH_APPLY:
			got = carry(v, &status, err);
			if (got)
				return got < 0 ? got : status;
		}
	}
}

static int run(struct reviewing *v, struct err *err)
{
	const struct session *s = &v->a->p->session;

	if (load(v, err) < 0)
		return -err->num;
	if (v->a->changed_since)
		output_warn("the layer of run %s has changed since its end; "
			    "what is shown is what it holds now, and nothing "
			    "else will be applied",
			    s->id);
	if (!on_terminal()) {
		print(v);
		return output_finish() ? STATUS_OK : STATUS_REFUSED;
	}
	if (!v->o->short_head) {
		review_show_head(s, &v->review);
		review_show_first(s, &v->review, &v->a->changes, FIRST_MOST);
	}
	if (!v->review.count) {
		output_say("there is nothing to decide on in run %s", s->id);
		return STATUS_OK;
	}
	return ask_all(v, err);
}

int reviewing_run(struct applying *a, const struct reviewing_options *o,
		  struct err *err)
{
	struct reviewing v = {
		.a = a,
		.o = o,
		.scratch = mem_printf("%s/runs/%s", a->c->state.path,
				      a->p->session.id),
	};
	int got = run(&v, err);

	reviewing_free(&v);
	return got;
}
