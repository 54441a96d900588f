/*
 * Parts of files as operands and options of `guard apply`: "FILE:10-20" takes
 * the hunks that change these lines of the new file, --kind ID the hunks of a
 * kind.
 *
 *	apply_selection_parse()		takes the lines off the operands
 *	apply_selection_restore()	puts them back into argv
 *	apply_selection_pick()		after apply_plan_load()
 *	apply_selection_free()		after the apply
 */
#ifndef GUARD_CLI_APPLY_SELECTION_H
#define GUARD_CLI_APPLY_SELECTION_H

#include "guard/change/apply_plan.h"
#include "guard/review/review.h"

/* Lines of the new file. */
struct selected_lines {
	char **slot; /* of argv */
	char *operand; /* as it was given, borrowed from argv */
	char *name; /* the same without the lines */
	char *path; /* absolute */
	size_t first, last;
	bool found;
};

/* A root of the run, and the tree that is applied instead of its result. */
struct selected_root {
	struct review review; /* store NULL: no path of it was named */
	struct entry picked;
	bool complete; /* all changes were picked */
	bool git; /* some of a .git */
};

struct apply_selection {
	char **kinds; /* ids, NULL-terminated, or NULL; borrowed */
	VEC(struct selected_lines) lines;
	struct selected_root *roots;
	size_t root_count;
};

void apply_selection_free_root(struct selected_root *root);
/* Makes the review of a root, unless only paths of others were named. with:
 * `view` and `plan`, the rest is filled in. */
int apply_selection_review_root(struct apply_plan *a, size_t index,
				struct review_options with, struct review *ret,
				struct err *err);
/* Makes the tree of the accepted changes, and sets it in the root of the plan.
 */
int apply_selection_pick_root(struct selected_root *root,
			      struct changeset_root *to, struct err *err);

/* Frees all but the ids of kinds. */
void apply_selection_free(struct apply_selection *s);

/* Replaces each operand "FILE:N" or "FILE:N-M" by FILE, unless a file has the
 * complete name. argv is changed, and then points into *s. */
void apply_selection_parse(struct apply_selection *s, int count, char **argv);
/* argv is again as it was given. apply_selection_free() does this, too. */
void apply_selection_restore(struct apply_selection *s);
/* Whether only parts of files are applied. */
bool apply_selection_any(const struct apply_selection *s);
/* Makes the trees, and sets them in the roots of the plan. -ENOENT: nothing is
 * changed there, or there is no such kind. */
int apply_selection_pick(struct apply_selection *s, struct apply_plan *a,
			 struct err *err);

#endif
