/*
 * Changes in the forms of `guard diff`, of a run or between two snapshots.
 */
#ifndef GUARD_CLI_DIFFSHOW_H
#define GUARD_CLI_DIFFSHOW_H

#include <jansson.h>
#include <stdbool.h>

#include "guard/change/changes.h"
#include "guard/review/fold.h"
#include "guard/cli/difftext.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/output.h"
#include "overlay/session.h"

#define DIFF_CONTEXT 3

enum diff_form {
	FORM_TEXT,
	FORM_KINDS, /* of a run only */
	FORM_STAT,
	FORM_NAME_STATUS,
	FORM_NAME_ONLY,
	FORM_RAW,
	FORM_JSON,
	FORM_HTML, /* a file, of a run only */
	FORM_HUNKS, /* JSON, an object a line, of a run only */
};

struct diff_options {
	enum diff_form form;
	bool only_names; /* FORM_RAW: without letters */
	bool no_pager, exit_code, no_renames, full;
	enum risk_level risk; /* the least one of the changes; of a run only */
	const char *html; /* the file of FORM_HTML */
	unsigned int context; /* lines around a change */
	enum diff_layout layout; /* of the texts */
	const char *tool; /* of LAYOUT_TOOL; NULL: of the user's settings */
};

/* The pager, before the first output. */
void diffshow_start(const struct diff_options *o);

/* The run, its command and "in PROJECT: "; the caller appends the changes. */
void diffshow_head(const struct session *s, struct buf *to);

/* The one order everywhere: deletions first, then by path. */
void diffshow_sort(struct change_list *list);

/* Folded generated files are left out. judge: the files that were not judged
 * yet are, with the bytes that are printed. */
void diffshow_texts(struct view *v, const struct diff_options *o, bool judge,
		    struct styled *to);
/* Whether all texts could be compared; false, with a message, without libgit2
 * and where the worker failed, and when the tool failed. Called when the output
 * is complete. */
bool diffshow_has_compared(void);
/* A line each: not FORM_TEXT, not FORM_JSON. view: of the same changes, for the
 * marks "!" (a loss of work, a high risk) and "!!" (the loss of an only copy, a
 * critical risk) behind the letter; NULL: none. --stat is folded. */
void diffshow_lines(const struct changes_root *g, struct view *view,
		    const struct diff_options *o);
/* Adds objects {"path", "home", "folder", "level", "text"} to an array; the
 * value of "folder" is the absolute path of the root. */
void diffshow_risks_json(const struct view *v, const char *dir,
			 struct jsonstream *to);
/* How many of each kind. */
json_t *diffshow_counts(const struct change_list *list);
/* All of them, as an array. */
void diffshow_json(const struct change_list *list, const char *key,
		   struct jsonstream *to);
/* Adds objects {"from", "to", "home", "folder", "similarity", ...} to an array,
 * one for each displayed line; the value of "folder" is the absolute path of
 * the root. */
void diffshow_moves(const struct changes_root *g, const char *dir,
		    struct jsonstream *to);

#endif
