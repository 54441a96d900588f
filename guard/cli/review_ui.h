/*
 * A review in front of the user, on the full screen or line by line: one list,
 * one cursor, one table of keys (review_keys.c). An act changes the list and
 * talks through the calls of the terminal, so that a key does the same on both.
 *
 *	struct review_ui u = {.keys = review_keys, ...}
 *	review_list_make(&u.list, ...)
 *	screen_run(), review_prompt()		until the user leaves
 *	review_ui_free()
 */
#ifndef GUARD_CLI_REVIEW_UI_H
#define GUARD_CLI_REVIEW_UI_H

#include "guard/cli/screen_term.h"
#include "guard/cli/screen_text.h"
#include "guard/review/review_conflict.h"
#include "guard/review/review_list.h"
#include "guard/review/verdict.h"

/* Where a key works; a row of the table may have several. */
#define UI_LIST 1u /* the list of the full screen */
#define UI_TEXT 2u /* the text beside it */
#define UI_LINE 4u /* a question about a part, line by line */
#define UI_CONFLICT 8u /* a conflict on the full screen */
#define UI_CONFLICT_LINE 16u /* a question about a conflict */
#define UI_KIND 32u /* a kind of hunks on the full screen */
#define UI_KIND_LINE 64u /* a question about a kind */
#define UI_APPLY_LINE 128u /* the last question of the line prompts */

struct review_ui;

struct review_key {
	unsigned int places; /* 0: a heading on the page of help */
	unsigned int bar; /* the places with a key bar that has its word */
	/* Characters, or names such as "Enter", with blanks between. */
	const char *names;
	const char *word;
	const char *help;
	void (*act)(struct review_ui *u, int key);
	bool (*can)(struct review_ui *u, int key); /* NULL: always */
};

/* The terminal. `leave` gives it to another program, `enter` takes it back. */
struct review_terminal {
	/* Shows a message, which is escaped. */
	void (*say)(struct review_ui *u, const char *text);
	/* A line that the user types, beginning with `begin`; NULL: none. To
	 * free. */
	char *(*ask)(struct review_ui *u, const char *question,
		     const char *begin);
	void (*leave)(struct review_ui *u);
	void (*enter)(struct review_ui *u);
};

enum screen_choice {
	SCREEN_NOT, /* no full screen here: ask line by line */
	SCREEN_KEEP, /* quit: the run stays pending */
	SCREEN_APPLY,
	SCREEN_APPLY_DISCARD, /* apply, then discard the rest of the run */
	SCREEN_COMMITS, /* apply with the run's commits */
	SCREEN_BRANCH, /* commit to the branch */
	SCREEN_PATCH, /* to the file */
	SCREEN_DISCARD,
};

/* The run, for the full screen. */
struct screen_job {
	const struct verdict *verdict; /* on the first screen */
	const char *run; /* label */
	const char *project; /* path */
	const char *branch, *patch, *html; /* names for the menu */
	const char *commits_to; /* the branch that the run's commits move;
				   NULL: none */
	bool running; /* the run still is: it cannot be discarded */
	bool part; /* only some changes of the run: paths were named */
	const char *const *root_paths; /* absolute, of each root */
	const char *test; /* command of --test, or NULL */
	bool mouse; /* a click selects, the wheel scrolls */
	/* Runs a command in a throw-away copy of the run, whose output it
	 * prints; *ret_summary: its end in words, to free. The terminal is
	 * free. */
	int (*try)(void *arg, const char *command, char **ret_summary,
		   struct err *err);
	/* Writes the HTML report to a new file. */
	int (*write_html)(void *arg, const char *file, struct err *err);
	/* The conflicts of changes that are not left, with the choices so far;
	 * borrowed until the next call. */
	int (*list_conflicts)(void *arg, struct review_conflicts **ret,
			      struct err *err);
	void *arg; /* of all */
	const char *message; /* shown at the start, escaped; or NULL */
};

/* Conflicts that are shown. */
struct conflict_cursor {
	struct review_conflicts *list;
	size_t at, place; /* the conflict, and the place in it */
	bool warned; /* about open changes, at Enter */
	bool early; /* from the list, before an apply */
	bool done, confirmed; /* the user leaves; goes on with the apply */
};

/* Kinds of hunks that are asked about. */
struct kind_cursor {
	struct review_kinds *kinds;
	/* Families, and kinds of families that were split. */
	VEC(struct asked_kind {
		struct kind_family family;
		bool listed; /* all its values were on the screen */
	})
	list;
	size_t at;
	bool show; /* the user asked for it */
};

struct review_ui {
	/* Set by the session. */
	const struct review_key *keys; /* up to one without a help */
	struct review_list list;
	struct store *store;
	/* A directory for a text that is edited, and its path. */
	int scratch_fd;
	const char *scratch;
	const struct screen_job *job; /* NULL: line by line */

	const struct review_terminal *terminal;
	unsigned int place; /* UI_LIST ... */
	bool in_text; /* acts are for the part under the cursor, not the row */
	bool stale; /* the text of the selected row is to be made again */
	bool done; /* the user leaves */
	int chosen; /* the key of the last question */
	bool all_decided; /* or nothing is open behind the last answer */
	regex_t regex;
	bool searched; /* regex is valid */
	const char *typed; /* behind the key of a line, as "twenty" of
			      "/twenty"; else empty */
	bool warned; /* the user knows that answers are not kept */
	struct conflict_cursor conflict;
	struct kind_cursor kind;

	/* The full screen. */
	struct screen_term *term;
	int rows, columns;
	size_t list_top;
	struct screen_text text; /* text of the selected row */
	const struct review_item *text_of; /* NULL: to be made */
	size_t text_columns;
	size_t line, text_top;
	bool words;
	char *message; /* escaped; until the next key */
	bool asks; /* the message is a question, and has the cursor */
	char *test; /* the last command that was tried */
	bool verdict; /* the lines of the verdict are shown */
};

/* Frees all but the borrowed data; the list, too. */
void review_ui_free(struct review_ui *u);

/* The row of a key that works here, or NULL. */
const struct review_key *review_ui_find_key(struct review_ui *u, int key);
/* Appends " y take  n leave": the keys of this place with a word, below the
 * heading with this text, or (NULL) all. */
void review_ui_key_bar(struct review_ui *u, const char *heading,
		       struct buf *to);
/* Appends the letters of the keys that have a place in the bar, "y,n,q". */
void review_ui_key_letters(struct review_ui *u, struct buf *to);
/* Appends a line a key of these places, with headings; can: only those that
 * work now. */
void review_ui_key_help(struct review_ui *u, unsigned int places, bool can,
			size_t columns, struct buf *to);

void review_ui_say(struct review_ui *u, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The selected row; NULL: nothing is shown. */
struct review_row *review_ui_row(const struct review_ui *u);
struct review_item *review_ui_item(const struct review_ui *u);
/* After the selection has changed from this row: frees the texts that are not
 * shown any more. */
void review_ui_moved(struct review_ui *u, const struct review_row *before);
/* After an answer: goes to the next open part or row. */
void review_ui_go_on(struct review_ui *u);
/* Says once that the review goes on without its record. */
void review_ui_check_record(struct review_ui *u);

/* review_keys.c: the table of all keys. */
extern const struct review_key review_keys[];

#endif
