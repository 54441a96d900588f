/*
 * The verdict on a run: at most five lines, the same text at the end of the
 * run, in `status`, `diff`, `review`, `apply` and JSON. First the losses, then
 * changes that act unasked, refs that lost commits, changes to look at, and
 * what was not examined.
 *
 * `status` reads the first line from the cache runs/<id>/verdict (formats.md),
 * which is valid for one result of the run; it never judges by itself.
 */
#ifndef GUARD_REVIEW_VERDICT_H
#define GUARD_REVIEW_VERDICT_H

#include "guard/review/judgement.h"

#define VERDICT_LINES_MAX 5
/* Columns of a line without its sign; "critical" may have three. */
#define VERDICT_COLUMNS 75

struct verdict_line {
	const char *id; /* "no-copy", "work-lost", "critical", "ref-back",
			   "high", "no-git", "not-examined",
			   "home-deleted", "repository-deleted" */
	enum risk_level level;
	size_t count; /* of files or refs */
	char *text; /* escaped */
	char *brief; /* "20 only copies", for a column */
};

struct verdict {
	struct verdict_line items[VERDICT_LINES_MAX];
	size_t count;
	bool complete; /* all files were read; else there may be more */
};

/* Frees the texts and empties the verdict. */
void verdict_free(struct verdict *v);
/* complete: the result of judgement_read(). */
void verdict_make(const struct judgement *j, bool complete,
		  struct verdict *ret);
bool verdict_equal(const struct verdict *a, const struct verdict *b);

/* " !!", "  !" or "  i". */
const char *verdict_sign(enum risk_level level);

/* What a cached verdict is on: the snapshot of the run's result (0: none is
 * stored, so that nothing is cached), and the number of its changes, which a
 * partial apply lowers. */
struct verdict_key {
	uint64_t result;
	size_t changes;
};

/* Writes the cache in the run's directory. */
int verdict_save(int run_fd, struct verdict_key key, const struct verdict *v,
		 struct err *err);
/* 1; 0: there is no verdict for the key. */
int verdict_load(int run_fd, struct verdict_key key, struct verdict *ret);

#endif
