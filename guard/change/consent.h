/*
 * Consent to critical changes: each change that runs without a request of the
 * user, or is harmful at once (risk.h), needs an answer of its own before an
 * apply makes it. `-y` is none.
 */
#ifndef GUARD_CHANGE_CONSENT_H
#define GUARD_CHANGE_CONSENT_H

#include "guard/rules/risk.h"
#include "restore/plan/plan.h"

/* What the user said; all lists are NULL-terminated and owned, or NULL. */
struct consent {
	char **paths; /* absolute; each allows all that is refused there */
	char **rules; /* ids of rules that are allowed, or "all" */
	/* Absolute paths of operands: allow a critical change, but no set-id
	 * bits and the like. */
	char **named;
	char **except; /* absolute paths to leave out, with all below */
	bool except_critical; /* leave out all that is refused */
	bool off; /* no change needs a consent: nothing is applied */
};

/* One root of an apply, for plan_options.consent_arg. */
struct consent_root {
	const struct consent *consent;
	struct store *store;
	const struct entry *now, *want; /* both trees */
	const char *path; /* absolute, of the root */
	const char *above; /* risk_above(path), or NULL */
	const char *hooks; /* consent_hooks_dir(now), or NULL */
	const struct risk_links *links; /* consent_find_links(now) */
	bool home; /* caches of it are no risk */
};

/* Frees the lists. */
void consent_free(struct consent *c);
/* plan_options.consent: arg is a struct consent_root. Reads the contents of
 * files with a critical name from the store. */
enum plan_consent consent_decide(void *arg, const struct entry *from,
				 const struct entry *to,
				 struct refusal *refusal);
/* risk_hooks_dir() of the repository in a tree. */
char *consent_hooks_dir(struct store *store, const struct entry *tree);
/* risk_links_find() in a tree. */
void consent_find_links(struct store *store, const struct entry *tree,
			struct risk_links *ret);
/* Whether this text is "all" or the id of a rule that asks for a consent. */
bool consent_is_rule(const char *text);
/* The paths of a list below a root, relative to it, NULL-terminated; to free
 * with mem_list_free(). */
char **consent_paths_below(char *const *paths, const char *root);

#endif
