/*
 * The full screen's modules among themselves: screen.c (keys and acts),
 * screen_draw.c (the picture), screen_pages.c (help, menu, prompts),
 * screen_views.c (versions, kinds, tests), screen_conflict.c (conflicts).
 */
#ifndef GUARD_CLI_SCREEN_PRIVATE_H
#define GUARD_CLI_SCREEN_PRIVATE_H

#include "guard/cli/screen.h"
#include "guard/cli/screen_term.h"
#include "guard/cli/screen_text.h"
#include "guard/review/review_list.h"

/* The least size; below it review asks line by line. */
#define SCREEN_ROWS_LEAST 15
#define SCREEN_COLUMNS_LEAST 60

struct screen {
	const struct screen_job *job;
	struct screen_term *term;
	int rows, columns;
	struct review_list list;
	size_t list_top;

	struct screen_text text; /* of the selected row */
	const struct review_item *text_of; /* NULL: to be made */
	size_t text_columns;
	bool stale; /* the text is to be made again */
	size_t next_part; /* then the cursor goes to this part, + 1 */
	size_t line, text_top;
	bool in_text; /* keys are for the text */
	bool words;

	char *message; /* escaped; until the next key */
	bool asks; /* the message is a question, and has the cursor */
	regex_t regex;
	bool searched; /* regex is valid */
	bool all_decided; /* the menu comes by itself */
	char *test; /* the last command that was tried */
	bool verdict; /* its lines are shown */
	bool warned; /* that the answers are not kept */
};

/* screen_draw.c */

/* Reads the size, makes the text of the selected row, and draws all. */
void screen_draw(struct screen *s);
/* The rows of the text. */
size_t screen_text_rows(const struct screen *s);
/* The row of the list at this place of the screen; false: none is there. */
bool screen_row_at(const struct screen *s, int row, int column, size_t *ret_at);
/* The same for a line of the text. */
bool screen_line_at(const struct screen *s, int row, int column,
		    size_t *ret_at);
/* A title, lines and a key bar instead of list and text; top is kept inside
 * the lines. */
void screen_draw_page(struct screen *s, const char *title,
		      const struct screen_text *page, size_t *top,
		      const char *bar);

/* screen_pages.c */

/* Shows a page until a key that does not scroll it; returns the key. */
int screen_page(struct screen *s, const char *title,
		const struct screen_text *page, const char *bar);
/* The same from the line *top on, also until SCREEN_KEY_RESIZE, so that the
 * page can be made anew. letters: j and k scroll. */
int screen_page_key(struct screen *s, const char *title,
		    const struct screen_text *page, size_t *top,
		    const char *bar, bool letters);
void screen_help(struct screen *s);
/* The menu at the end. SCREEN_NOT: back to the review. */
enum screen_choice screen_finish(struct screen *s);
/* A line that the user types, beginning with `begin`; NULL: Escape. To free. */
char *screen_prompt(struct screen *s, const char *question, const char *begin);

/* screen_views.c */

/* The stored versions of the selected path. */
void screen_show_versions(struct screen *s);
/* The hunks like the one under the cursor, or like the first open one of the
 * selected file; asks, and answers them all. true:
 * they are decided. */
bool screen_answer_kind(struct screen *s);
/* Runs a command of the user in a copy of the run. */
void screen_try(struct screen *s);

/* screen_conflict.c: the conflicts, beginning with those of the selected row;
 * the choices are those that an apply begins with. */
void screen_conflict_show(struct screen *s);

/* screen.c */

/* Takes the terminal, and gives it back. */
int screen_open(struct screen *s, struct err *err);
void screen_close(struct screen *s);
/* Between these two the terminal is another program's. */
void screen_leave(struct screen *s);
void screen_return(struct screen *s);
/* Waits for Enter, without the screen. */
void screen_wait_enter(struct screen *s);

/* Takes the place of the message. */
void screen_say(struct screen *s, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void screen_hush(struct screen *s);
/* The part under the cursor. */
size_t screen_part(const struct screen *s);

#endif
