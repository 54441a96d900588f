/*
 * A conflict of an apply: a path that the user and the run changed in different
 * ways. Its three sides, and the decision of the user: for a text in each place
 * where the changes meet, else for the whole path.
 *
 *	review_conflict_make()
 *	review_conflict_choose(), review_conflict_edit()
 *	review_conflict_list_plan()	the decisions, for plan_options.choices
 *	review_conflict_list_free()
 *
 * No function prints or asks.
 */
#ifndef GUARD_REVIEW_REVIEW_CONFLICT_H
#define GUARD_REVIEW_REVIEW_CONFLICT_H

#include "restore/git/textmerge.h"
#include "restore/plan/plan.h"

enum conflict_choice {
	CHOICE_OPEN, /* the path is left out of the apply */
	CHOICE_OURS, /* the user's version */
	CHOICE_THEIRS, /* the run's version */
	CHOICE_BOTH, /* both, with conflict markers: texts only */
};

struct review_conflict {
	size_t root; /* its number; 0: the project */
	char *path;
	enum conflict_kind kind;
	struct entry base, ours, theirs; /* mode 0: none */
	const char *our_label; /* of conflict markers; static */
	char *their_label;

	/* The merge, of which `count` parts are in conflict. Empty: the sides
	 * are no texts, and there is one choice for the path. */
	struct textmerge_parts parts;
	enum conflict_choice *choices;
	size_t count;
	struct buf edited; /* the result as the user edited it */
	bool is_edited;
	bool refused; /* the plan refused the run's version */
	bool left_out; /* the user goes on with open places */
	struct buf result; /* of review_conflict_list_plan() */
};

struct review_conflicts {
	struct review_conflict *items;
	size_t count, capacity;
};

/* The roots of three trees: when the run began, as the user's files are now,
 * and of the accepted changes. */
struct conflict_trees {
	const struct entry *base, *ours, *theirs;
};

/* Makes *ret with open choices. Texts that cannot be merged are no error. */
int review_conflict_make(struct store *store,
			 const struct conflict_trees *trees, const char *path,
			 enum conflict_kind kind, struct review_conflict *ret,
			 struct err *err);
void review_conflict_list_free(struct review_conflicts *list);
/* The decisions on conflicts of one root, by path, borrowed from the list;
 * their number. To free. */
struct plan_choice *review_conflict_list_plan(struct review_conflicts *list,
					      size_t root, size_t *ret_count);
/* Whether the sides of both are the same: a decision for one holds for the
 * other. */
bool review_conflict_same(const struct review_conflict *a,
			  const struct review_conflict *b);

/* Whether the choice is possible. */
bool review_conflict_can(const struct review_conflict *c,
			 enum conflict_choice choice);
/* Decides on the i-th place. An edited result is dropped. */
void review_conflict_choose(struct review_conflict *c, size_t i,
			    enum conflict_choice choice);
/* The same for all places of the list that are open, where it is possible. */
void review_conflict_list_choose(struct review_conflicts *list,
				 enum conflict_choice choice);
/* The text as it would be now; open places have conflict markers. *ret_marked:
 * markers are in it. */
void review_conflict_text(const struct review_conflict *c, struct buf *ret,
			  bool *ret_marked);
/* The user's own result. */
void review_conflict_edit(struct review_conflict *c, const struct buf *text);
/* The plan refused the decision: a text has one choice for the path instead,
 * any other path cannot become the run's. */
void review_conflict_refuse(struct review_conflict *c);
/* The number of places that are not decided. */
size_t review_conflict_open(const struct review_conflict *c);
/* The i-th place: its part; *ret_line: the number of its first line in the
 * user's version, from 1. NULL: not a text. */
const struct textmerge_part *
review_conflict_part(const struct review_conflict *c, size_t i, size_t *ret_at,
		     size_t *ret_line);

/* The decision as a text for the record, to free: a letter a place, or "=" and
 * the edited result. */
char *review_conflict_encode(const struct review_conflict *c);
/* false: it does not fit, and nothing changed. */
bool review_conflict_decode(struct review_conflict *c, const char *text);

#endif
