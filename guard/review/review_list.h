/*
 * The rows of a review in one list: order, selection, filter, answers for many
 * rows at once, and the way back. What a screen shows, without a screen.
 *
 * No function prints, asks or draws. All acts go into the record of decisions.
 */
#ifndef GUARD_REVIEW_REVIEW_LIST_H
#define GUARD_REVIEW_REVIEW_LIST_H

#include <regex.h>

#include "guard/review/review_kinds.h"
#include "guard/review/review.h"

/* In the order in which they are shown. */
enum review_bucket {
	REVIEW_BUCKET_DELETED,
	REVIEW_BUCKET_RISKY,
	REVIEW_BUCKET_GIT,
	REVIEW_BUCKET_MOVED,
	REVIEW_BUCKET_TYPE,
	REVIEW_BUCKET_MODIFIED,
	REVIEW_BUCKET_ADDED,
	REVIEW_BUCKET_GENERATED,
	REVIEW_BUCKETS
};

struct review_row {
	struct review *review;
	size_t root; /* its number */
	size_t item; /* its index */
	enum review_bucket bucket;
};

/* The answers of one item before a change. */
struct review_undo_item {
	size_t root, item;
	enum review_answer *answers;
	size_t parts;
};

/* One act of the user. */
struct review_undo {
	VEC(struct review_undo_item) items;
	size_t row; /* in rows: selected before */
};

struct review_list {
	struct review **reviews; /* of each root; borrowed */
	size_t review_count;
	struct decisions *decisions; /* borrowed, or NULL */
	bool by_item; /* the order of the rows: else by bucket */
	VEC(struct review_row) rows;
	VEC(size_t) shown; /* indexes of rows that pass the filter */
	size_t at; /* in shown: the selected row */
	size_t part; /* part of the selected row: under the cursor */
	char *pattern; /* part of the path, or a glob; NULL: all */
	bool open_only;
	VEC(struct review_undo) undo;
};

/* The rows that an answer is for. */
enum review_scope {
	REVIEW_SCOPE_ITEM,
	REVIEW_SCOPE_DIR, /* the rows of the bucket in the same directory */
	REVIEW_SCOPE_BUCKET,
	REVIEW_SCOPE_REST, /* of all buckets */
};

struct review_targets {
	VEC(size_t) rows;
	bool open_only; /* parts that are decided keep their answer */
	/* Rows that need an answer of their own and are not in it: critical
	 * and refused ones; of REVIEW_SCOPE_REST those with a loss, too. */
	size_t apart;
	/* Files in them that are deleted and are, as far as is known, neither
	 * in git nor elsewhere in the result. */
	size_t lost;
	/* Files in them that stay, without uncommitted work that they had. */
	size_t work;
};

void review_list_make(struct review_list *l, struct review **reviews,
		      size_t count, struct decisions *decisions);
void review_list_free(struct review_list *l);

/* Sorts the rows by bucket, or as the items of the reviews follow each other,
 * and selects the first. */
void review_list_order(struct review_list *l, bool by_item);

/* NULL: nothing is shown. */
struct review_row *review_list_row(const struct review_list *l);
struct review_item *review_list_item(const struct review_row *row);
/* Files of the row as in review_targets.lost and .work. */
size_t review_list_count_lost(const struct review_row *row, size_t *ret_work);
/* The short name of a bucket for people. */
const char *review_list_bucket_name(enum review_bucket bucket);
/* Rows of a bucket, all and undecided. */
size_t review_list_count_bucket(const struct review_list *l,
				enum review_bucket bucket, size_t *ret_open);

/* 'y', 'n', '*' for several answers, ' ' for open. */
char review_list_letter(const struct review_item *item);

/* Selects the row, at its first part; a number beyond the last row selects the
 * last row. */
void review_list_select(struct review_list *l, size_t at);
/* Selects the first row of a bucket; false: nothing of it is shown. */
bool review_list_select_bucket(struct review_list *l,
			       enum review_bucket bucket);
/* Selects the next open part of the row (parts: else a part of the selected
 * row is passed over), else the next row with an open part, the selected one
 * first, and once round; false: none is open. */
bool review_list_select_open(struct review_list *l, bool parts);
/* Goes to the next (or previous) part, also of another row; false: there is
 * none, and the cursor stays. open_only: skips decided parts. */
bool review_list_step(struct review_list *l, bool back, bool open_only);
/* Shows rows whose path has the text in it, or matches the glob; NULL: all.
 * The selected row stays selected where it can. */
void review_list_filter(struct review_list *l, const char *pattern,
			bool open_only);
/* Goes to the next (or previous) part with a changed line that matches, or row
 * with such a path, once round; false: none does. parts: also to another part
 * of the selected row. Texts that were not open are closed again. */
bool review_list_search(struct review_list *l, const regex_t *regex, bool back,
			bool parts);

/* The rows that review_list_answer() would change. With many rows in the scope
 * decided parts keep their answer, and a yes is none for a critical row. */
void review_list_targets(const struct review_list *l, enum review_scope scope,
			 enum review_answer answer, struct review_targets *ret);
void review_list_targets_free(struct review_targets *targets);
/* Answers all parts of one row, or the open parts of several. Returns the
 * number of rows that changed. */
size_t review_list_answer(struct review_list *l,
			  const struct review_targets *targets,
			  enum review_answer answer);
/* Answers the part under the cursor; rest: and those behind it in its row. */
void review_list_answer_part(struct review_list *l, bool rest,
			     enum review_answer answer);
/* Answers all hunks of a kind, made of the list's reviews, as one act. */
void review_list_answer_kind(struct review_list *l, struct review_kinds *k,
			     const struct kind *kind,
			     enum review_answer answer);
/* After the hunk under the cursor was edited: takes it. */
void review_list_edited(struct review_list *l);
/* Marks the selected item as seen, or not. */
void review_list_view(struct review_list *l, bool viewed);
/* Takes the last answer back and selects its row; false: there is none. */
bool review_list_undo(struct review_list *l);

/* Splits the part under the cursor; earlier answers can no longer be taken
 * back. Returns the number of rows or hunks that there are instead; 0: it
 * cannot be split. */
size_t review_list_split(struct review_list *l);

/* Over all reviews. */
void review_list_sum(const struct review_list *l, struct review_counts *ret);

#endif
