/*
 * Consent to critical changes: each change that runs without a request of the
 * user, or is harmful at once (risk.h), and each loss of an only copy needs an
 * answer of its own before an apply makes it. `-y` is none.
 */
#ifndef GUARD_CHANGE_CONSENT_H
#define GUARD_CHANGE_CONSENT_H

#include "restore/plan/plan.h"

/* The rule of a loss of an only copy. */
#define CONSENT_ONLY_COPY "only-copy"

/* A file without a copy outside of guard's store that the run deletes or
 * overwrites; or a deleted file of which a critical rule judges the lines. */
struct consent_copy {
	char *path; /* absolute */
	char *dir; /* the topmost directory that is deleted with it, or NULL */
	const char *rule; /* its id; NULL: an only copy */
	char *text; /* the rule's, or NULL */
	bool deleted;
	bool in_git; /* the run has a copy in a .git, which is left out */
	bool partly; /* only a part is overwritten */
};

/* A critical file that only a commit has, which would be applied with it. */
struct consent_commit {
	char *path; /* absolute */
	const char *rule;
	char *text;
};

struct changes_root;

/* What the user said; all lists are NULL-terminated and owned, or NULL. */
struct consent {
	char **paths; /* absolute; each allows all that is refused there */
	char **rules; /* ids of rules that are allowed, or "all" */
	/* Absolute paths of operands: allow a critical change, but no set-id
	 * bits and the like. */
	char **named;
	char **except; /* absolute paths to leave out, with all below */
	bool except_critical; /* leave out all that is refused */
	bool except_copies; /* leave out all losses that are not allowed */
	/* The losses that need a consent, by path. After a review, which asks
	 * about each of them, there are none. */
	VEC(struct consent_copy) copies;
	VEC(struct consent_commit) commits;
	bool off; /* no file is changed here: only risks need a consent */
};

/* One root of an apply, for plan_options.consent_arg. */
struct consent_root {
	const struct consent *consent;
	struct store *store;
	const struct entry *now, *want; /* both trees */
	const char *path; /* absolute, of the root */
	const char *above; /* risk_above(path), or NULL */
	/* Before the run: a file that it lacks was made by the run, and applied
	 * since then. NULL: unknown. */
	const struct entry *begun;
	bool home; /* caches of it are no risk */
	const struct changes_root *changes; /* with its worktrees, counted */
};

/* Frees the lists. */
void consent_free(struct consent *c);
/* Frees the user's answers; the list of copies stays. */
void consent_forget_answers(struct consent *c);
/* Frees the texts. */
void consent_free_copy(struct consent_copy *copy);
/* plan_options.consent: arg is a struct consent_root. Reads the contents of
 * files with a critical name from the store. */
enum plan_consent consent_decide(void *arg, const struct entry *from,
				 const struct entry *to,
				 struct refusal *refusal);
/* Adds a refusal for each only copy that the plan loses without a consent. */
void consent_refuse_copies(const struct consent_root *root, struct plan *plan);
/* Adds one for each critical file of a commit without a consent. */
void consent_refuse_commits(const struct consent_root *root, struct plan *plan);
/* The paths below a root that the user leaves out, as
 * consent_paths_below(). */
char **consent_excepted(const struct consent *c, const char *root);
/* Whether this text is "all" or the id of a rule that asks for a consent. */
bool consent_is_rule(const char *text);
/* The paths of a list below a root, relative to it, NULL-terminated; to free
 * with mem_list_free(). */
char **consent_paths_below(char *const *paths, const char *root);

#endif
