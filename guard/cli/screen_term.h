/*
 * The terminal of the full screen. The only module that calls ncursesw, which
 * is loaded at run time (base/library.h).
 *
 *	screen_term_open()
 *	screen_term_size(), screen_term_begin(), screen_term_put()...,
 *	screen_term_end(), screen_term_key()	again and again
 *	screen_term_leave()	before a program or guard itself uses the
 *				terminal; screen_term_begin() returns
 *	screen_term_free()
 *
 * Texts are escaped before they come here (base/text.h): a byte of a run that
 * moves the cursor never reaches the terminal. Characters are UTF-8 whatever
 * the locale is, as in all output of guard, and a character's width is that of
 * text_width().
 */
#ifndef GUARD_CLI_SCREEN_TERM_H
#define GUARD_CLI_SCREEN_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

struct screen_term;

enum screen_style {
	SCREEN_PLAIN,
	SCREEN_BOLD,
	SCREEN_FAINT,
	SCREEN_DELETED,
	SCREEN_ADDED,
	SCREEN_CHANGED,
	SCREEN_HUNK,
	SCREEN_WORD_DELETED, /* changed words in a deleted line */
	SCREEN_WORD_ADDED,
	SCREEN_BAR, /* header, key bar: reverse video */
	SCREEN_STYLES
};

/* Keys that are no characters; a character is its code point. */
enum screen_key {
	SCREEN_KEY_UP = 0x110000,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_RESIZE,
	SCREEN_KEY_MOUSE, /* a click */
	SCREEN_KEY_WHEEL_UP,
	SCREEN_KEY_WHEEL_DOWN,
	SCREEN_KEY_CLOSED, /* the terminal is gone */
	SCREEN_KEY_OTHER,
};

#define SCREEN_KEY_ESCAPE 0x1b

/* Takes the terminal that stdin and stdout are. -ENOPKG: no ncursesw; -ENOTTY:
 * it does not know the terminal. color: use colors, if there are any. */
int screen_term_open(bool color, bool mouse, struct screen_term **ret,
		     struct err *err);
/* Gives the terminal back as it was. */
void screen_term_free(struct screen_term **t);

/* Of the terminal now. */
void screen_term_size(struct screen_term *t, int *ret_rows, int *ret_columns);
/* A new picture, empty. */
void screen_term_begin(struct screen_term *t);
/* len bytes of escaped text in one row; returns the column behind it. A text
 * that goes beyond the last column is cut. */
int screen_term_put(struct screen_term *t, int row, int column,
		    enum screen_style style, const char *text, size_t len);
/* Fills a row with SCREEN_BAR. */
void screen_term_bar(struct screen_term *t, int row);
/* Shows the picture, with the hardware cursor there: screen readers and
 * magnifiers follow it. */
void screen_term_end(struct screen_term *t, int row, int column);

/* Waits for a key. A change of the size is SCREEN_KEY_RESIZE. */
int screen_term_key(struct screen_term *t);
/* Of the last SCREEN_KEY_MOUSE: where it was. */
void screen_term_mouse(const struct screen_term *t, int *ret_row,
		       int *ret_column);
/* Stops the job, as Ctrl-Z does outside. */
void screen_term_stop(struct screen_term *t);
/* Gives the terminal back for a while. */
void screen_term_leave(struct screen_term *t);

#endif
