/*
 * The full screen's modules among themselves, each of which calls only those
 * below it: screen.c (loop, moves), screen_conflict.c (conflicts) and
 * screen_views.c (versions, kinds, tests), screen_pages.c (the terminal, pages,
 * menu, help), screen_draw.c (the picture). Functions with a key are acts of
 * review_keys.c.
 */
#ifndef GUARD_CLI_SCREEN_PRIVATE_H
#define GUARD_CLI_SCREEN_PRIVATE_H

#include "guard/cli/review_ui.h"

/* The least size; below it review asks line by line. */
#define SCREEN_ROWS_LEAST 15
#define SCREEN_COLUMNS_LEAST 60

/* screen_draw.c */

/* Reads the size, makes the text of the selected row, and draws all. */
void screen_draw(struct review_ui *u);
/* The part of the text that the line is in. */
size_t screen_part_at(const struct review_ui *u, size_t line);
/* The rows of the text. */
size_t screen_text_rows(const struct review_ui *u);
/* The columns of a page. */
size_t screen_page_columns(const struct review_ui *u);
/* The row of the list at this place of the screen; false: none is there. */
bool screen_row_at(const struct review_ui *u, int row, int column,
		   size_t *ret_at);
/* The same for a line of the text. */
bool screen_line_at(const struct review_ui *u, int row, int column,
		    size_t *ret_at);
/* A title, lines and a key bar instead of list and text; top is kept inside
 * the lines. */
void screen_draw_page(struct review_ui *u, const char *title,
		      const struct screen_text *page, size_t *top,
		      const char *bar);

/* screen_pages.c */

/* Takes the terminal, and gives it back. */
int screen_open(struct review_ui *u, struct err *err);
void screen_close(struct review_ui *u);
void screen_hush(struct review_ui *u);
/* Shows a page until a key that does not scroll it; returns the key. letters: j
 * and k scroll. */
int screen_page(struct review_ui *u, const char *title,
		const struct screen_text *page, const char *bar, bool letters);
/* The same from the line *top on, also until SCREEN_KEY_RESIZE, so that the
 * page can be made anew. */
int screen_page_key(struct review_ui *u, const char *title,
		    const struct screen_text *page, size_t *top,
		    const char *bar, bool letters);
void screen_help(struct review_ui *u, int key);
/* The menu at the end. SCREEN_NOT: back to the review. */
enum screen_choice screen_menu(struct review_ui *u);

/* screen_views.c */

/* The stored versions of the selected path. */
void screen_show_versions(struct review_ui *u, int key);
/* The hunks like the one under the cursor, or like the first open one of the
 * selected file; asks, and answers them all. */
void screen_answer_kind(struct review_ui *u, int key);
/* Runs a command of the user in a copy of the run. */
void screen_try(struct review_ui *u, int key);

/* screen_conflict.c: the conflicts, beginning with those of the selected row;
 * the choices are those that an apply begins with. */
void screen_conflict_show(struct review_ui *u, int key);

/* screen.c */

/* Rows and lines, by the letter of the key. */
void screen_move(struct review_ui *u, int key);
void screen_step(struct review_ui *u, int key);
void screen_scroll(struct review_ui *u, int key);
void screen_go_to_end(struct review_ui *u, int key);
void screen_move_hunk(struct review_ui *u, int key);
void screen_select_bucket(struct review_ui *u, int key);
void screen_select_row(struct review_ui *u, size_t at);
/* Enter: into the text; else to the list. */
void screen_focus(struct review_ui *u, int key);
/* After a search: to the line that matches. */
void screen_show_match(struct review_ui *u);
void screen_toggle_words(struct review_ui *u, int key);
void screen_toggle_verdict(struct review_ui *u, int key);
/* Brings the menu. */
void screen_finish(struct review_ui *u, int key);

#endif
