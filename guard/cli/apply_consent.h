/*
 * Consent in `guard apply`: the plans as options, operands and the user's
 * answers permit them.
 *
 *	apply_consent_plan()	the plans as if all questions had a yes
 *	apply_consent_ask()	after they were printed
 *	apply_consent_remedy()	if they are refused
 *	apply_consent_free()
 */
#ifndef GUARD_CLI_APPLY_CONSENT_H
#define GUARD_CLI_APPLY_CONSENT_H

#include "guard/change/apply_plan.h"
#include "guard/cli/verdict_show.h"

struct asked {
	struct refusal refusal;
	char *path; /* absolute */
	char *shown; /* for people */
};

struct apply_consent {
	struct apply_plan *in;
	const struct options *o;
	enum plan_resolve resolve; /* RESOLVE_NOT: nothing was said */
	bool takes_all; /* a commit has all files of the run */
	char **named; /* absolute paths of the operands */
	struct judged_run judged; /* the changes that are applied */
	size_t judged_without; /* changes that were left out then */
	bool is_judged;
	/* Refused without a yes of its own: listed as if that was said already,
	 * and then asked about. */
	VEC(struct asked) askable;
	/* Decisions for the user's products of a build, by root. */
	struct plan_choices {
		struct plan_choice *items;
		size_t count, capacity;
	} * products;
	char **product_paths;
	size_t product_count;
};

/* Makes the plans, and judges their changes. */
int apply_consent_plan(struct apply_consent *a, struct err *err);
/* Asks about refused changes one by one, also with -y, and makes the plans
 * again without those with a no. 1: such a no has ended the apply. */
int apply_consent_ask(struct apply_consent *a, struct err *err);
/* Prints the commands that apply with and without the refused changes. */
void apply_consent_remedy(const struct apply_consent *a);
/* The same for moves of which only one name would be applied. */
void apply_consent_halves_remedy(const struct apply_consent *a);
void apply_consent_free(struct apply_consent *a);

#endif
