#include "guard/cli/screen_term.h"

#define NCURSES_NOMACROS
#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/text.h"

/* Time in which the rest of a key's sequence arrives, also over ssh. */
#define ESCAPE_MS 50
/* From this number of colors on the background of words is a dark shade. */
#define SHADES_LEAST 256
#define SHADE_RED 52
#define SHADE_GREEN 22
/* COLOR_PAIR() is a function without the macros of curses.h. */
#define PAIR(n) (NCURSES_BITS((n), 0) & A_COLOR)

#define CURSES_CALLS(call)                                                     \
	call(curs_set) call(delscreen) call(delwin) call(doupdate) call(       \
		endwin) call(has_colors) call(init_pair) call(intrflush)       \
		call(keypad) call(newterm) call(newwin) call(noecho) call(     \
			nonl) call(raw) call(set_escdelay) call(start_color)   \
			call(use_default_colors) call(waddnstr) call(wattrset) \
				call(wclrtoeol) call(wclear) call(werase)      \
					call(wget_wch) call(wmove) call(       \
						wnoutrefresh) call(wresize)    \
						call(mousemask) call(getmouse) \
							call(resizeterm)       \
								call(wtimeout)

struct curses {
#define CALL(name) __typeof__(name) *name;
	CURSES_CALLS(CALL)
#undef CALL
	int *colors; /* a variable of the library */
};

struct screen_term {
	struct curses calls;
	SCREEN *screen;
	WINDOW *window;
	locale_t locale, before;
	int styles[SCREEN_STYLES]; /* attributes */
	int rows, columns;
	int mouse_row, mouse_column;
	bool left; /* the terminal is another program's now */
};

/* --- styles --- */

static void set_plain_styles(struct screen_term *t)
{
	static const int plain[SCREEN_STYLES] = {
		[SCREEN_BOLD] = A_BOLD,
		[SCREEN_HUNK] = A_BOLD,
		[SCREEN_WORD_DELETED] = A_REVERSE,
		[SCREEN_BAR] = A_REVERSE,
		[SCREEN_WORD_ADDED] = A_REVERSE,
	};
	size_t i;

	for (i = 0; i < SCREEN_STYLES; i++)
		t->styles[i] = plain[i];
}

static void set_colors(struct screen_term *t)
{
	static const struct {
		enum screen_style style;
		short color;
	} colors[] = {
		{SCREEN_DELETED, COLOR_RED},
		{SCREEN_ADDED, COLOR_GREEN},
		{SCREEN_CHANGED, COLOR_YELLOW},
		{SCREEN_HUNK, COLOR_CYAN},
	};
	short pair = 1;
	size_t i;

	if (t->calls.start_color() == ERR ||
	    t->calls.use_default_colors() == ERR)
		return;
	for (i = 0; i < ARRAY_SIZE(colors); i++, pair++)
		if (t->calls.init_pair(pair, colors[i].color, -1) != ERR)
			t->styles[colors[i].style] = (int)PAIR(pair);
	t->styles[SCREEN_FAINT] = A_DIM;
	t->styles[SCREEN_WORD_DELETED] = t->styles[SCREEN_DELETED] | A_REVERSE;
	t->styles[SCREEN_WORD_ADDED] = t->styles[SCREEN_ADDED] | A_REVERSE;
	if (*t->calls.colors < SHADES_LEAST)
		return;
	if (t->calls.init_pair(pair, -1, SHADE_RED) != ERR)
		t->styles[SCREEN_WORD_DELETED] = (int)(PAIR(pair) | A_BOLD);
	pair++;
	if (t->calls.init_pair(pair, -1, SHADE_GREEN) != ERR)
		t->styles[SCREEN_WORD_ADDED] = (int)(PAIR(pair) | A_BOLD);
}

/* --- open, close --- */

/* A change of the size interrupts only the wait for a key: the signal is held
 * while the picture is drawn. */
static void hold_resizes(bool hold)
{
	sigset_t resizes;

	(void)sigemptyset(&resizes);
	(void)sigaddset(&resizes, SIGWINCH);
	(void)pthread_sigmask(hold ? SIG_BLOCK : SIG_UNBLOCK, &resizes, NULL);
}

/* The handler of ncurses interrupts reads. A question outside of the screen
 * would take that for its end. */
static void restart_reads(void)
{
	struct sigaction action;

	if (sigaction(SIGWINCH, NULL, &action) < 0)
		return;
	action.sa_flags |= SA_RESTART;
	(void)sigaction(SIGWINCH, &action, NULL);
}

int screen_term_open(bool color, bool mouse, struct screen_term **ret,
		     struct err *err)
{
	AUTO(screen_term)
	struct screen_term *t = mem_zalloc(sizeof(*t));
	const char *name = getenv("TERM");

	if (library_load(LIBRARY_NCURSESW, "",
			 CURSES_CALLS(LIBRARY_NAME) "COLORS", &t->calls,
			 err) < 0)
		return -err->num;
	/* Of this thread only: other output does not turn with it. */
	t->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	t->before = uselocale(t->locale);
	t->screen = t->calls.newterm(NULL, stdout, stdin);
	if (!t->screen)
		return fail(err, ENOTTY, "the terminal %s is unknown",
			    text_quote(name ?: ""));
	set_plain_styles(t);
	if (color && t->calls.has_colors())
		set_colors(t);
	(void)t->calls.set_escdelay(ESCAPE_MS);
	/* Ctrl-C and Ctrl-Z are keys. */
	(void)t->calls.raw();
	(void)t->calls.noecho();
	(void)t->calls.nonl();
	t->window = t->calls.newwin(0, 0, 0, 0);
	if (!t->window)
		return fail(err, ENOMEM, "no memory for the screen");
	(void)t->calls.keypad(t->window, true);
	if (mouse)
		(void)t->calls.mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED |
						 BUTTON5_PRESSED,
					 NULL);
	restart_reads();
	hold_resizes(true);
	*ret = TAKE(t);
	return 0;
}

void screen_term_free(struct screen_term **to)
{
	struct screen_term *t = *to;

	if (!t)
		return;
	if (t->window)
		(void)t->calls.delwin(t->window);
	if (t->screen) {
		screen_term_leave(t);
		t->calls.delscreen(t->screen);
	}
	if (t->before)
		(void)uselocale(t->before);
	if (t->locale)
		freelocale(t->locale);
	free(t);
	*to = NULL;
}

/* --- the picture --- */

void screen_term_size(struct screen_term *t, int *ret_rows, int *ret_columns)
{
	struct winsize size = {0};

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row ||
	    !size.ws_col) {
		size.ws_row = 24;
		size.ws_col = 80;
	}
	if (t->rows != size.ws_row || t->columns != size.ws_col) {
		(void)t->calls.resizeterm(size.ws_row, size.ws_col);
		(void)t->calls.wresize(t->window, size.ws_row, size.ws_col);
		t->rows = size.ws_row;
		t->columns = size.ws_col;
	}
	*ret_rows = t->rows;
	*ret_columns = t->columns;
}

void screen_term_begin(struct screen_term *t)
{
	/* After another program's output nothing on the screen is known. */
	if (t->left) {
		(void)t->calls.wclear(t->window);
		hold_resizes(true);
	} else {
		(void)t->calls.werase(t->window);
	}
	t->left = false;
}

int screen_term_put(struct screen_term *t, int row, int column,
		    enum screen_style style, const char *text, size_t len)
{
	auto_free char *copy = NULL;

	if (row < 0 || row >= t->rows || column < 0 || column >= t->columns)
		return column;
	copy = mem_strndup(text, len);
	len = text_fit(copy, (size_t)(t->columns - column));
	copy[len] = '\0';
	(void)t->calls.wmove(t->window, row, column);
	(void)t->calls.wattrset(t->window, t->styles[style]);
	(void)t->calls.waddnstr(t->window, copy, (int)len);
	(void)t->calls.wattrset(t->window, 0);
	return column + (int)text_width(copy);
}

void screen_term_bar(struct screen_term *t, int row)
{
	int column = 0, next;

	while ((next = screen_term_put(t, row, column, SCREEN_BAR, "        ",
				       8)) > column)
		column = next;
}

void screen_term_end(struct screen_term *t, int row, int column)
{
	(void)t->calls.wmove(t->window, row, column);
	(void)t->calls.wnoutrefresh(t->window);
	(void)t->calls.doupdate();
}

/* --- keys --- */

static int read_mouse(struct screen_term *t)
{
	MEVENT event;

	if (t->calls.getmouse(&event) == ERR)
		return SCREEN_KEY_OTHER;
	if (event.bstate & (BUTTON4_PRESSED | BUTTON5_PRESSED))
		return event.bstate & BUTTON4_PRESSED ? SCREEN_KEY_WHEEL_UP
						      : SCREEN_KEY_WHEEL_DOWN;
	t->mouse_row = event.y;
	t->mouse_column = event.x;
	return SCREEN_KEY_MOUSE;
}

static int translate_key(struct screen_term *t, wint_t key)
{
	static const struct {
		wint_t curses;
		int key;
	} keys[] = {
		{KEY_UP, SCREEN_KEY_UP},
		{KEY_DOWN, SCREEN_KEY_DOWN},
		{KEY_LEFT, SCREEN_KEY_LEFT},
		{KEY_RIGHT, SCREEN_KEY_RIGHT},
		{KEY_PPAGE, SCREEN_KEY_PAGE_UP},
		{KEY_NPAGE, SCREEN_KEY_PAGE_DOWN},
		{KEY_HOME, SCREEN_KEY_HOME},
		{KEY_END, SCREEN_KEY_END},
		{KEY_RESIZE, SCREEN_KEY_RESIZE},
		{KEY_ENTER, '\n'},
		{KEY_BACKSPACE, '\b'},
		{KEY_DC, '\b'},
	};
	size_t i;

	if (key == KEY_MOUSE)
		return read_mouse(t);
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (keys[i].curses == key)
			return keys[i].key;
	return SCREEN_KEY_OTHER;
}

int screen_term_key(struct screen_term *t)
{
	struct pollfd keyboard = {.fd = STDIN_FILENO, .events = POLLIN};
	sigset_t signals;
	wint_t key = 0;
	int got;

	/* ncurses may have read further keys already. */
	t->calls.wtimeout(t->window, 0);
	got = t->calls.wget_wch(t->window, &key);
	if (got == ERR) {
		(void)pthread_sigmask(SIG_BLOCK, NULL, &signals);
		(void)sigdelset(&signals, SIGWINCH);
		if (ppoll(&keyboard, 1, NULL, &signals) < 0)
			return errno == EINTR ? SCREEN_KEY_RESIZE
					      : SCREEN_KEY_CLOSED;
		t->calls.wtimeout(t->window, -1);
		got = t->calls.wget_wch(t->window, &key);
	}
	if (got == KEY_CODE_YES)
		return translate_key(t, key);
	if (got == ERR)
		return SCREEN_KEY_CLOSED;
	switch (key) {
	case '\r':
		return '\n';
	case 0x7f:
		return '\b';
	default:
		return (int)key;
	}
}

void screen_term_mouse(const struct screen_term *t, int *ret_row,
		       int *ret_column)
{
	*ret_row = t->mouse_row;
	*ret_column = t->mouse_column;
}

void screen_term_leave(struct screen_term *t)
{
	if (t->left)
		return;
	/* The picture goes, and the cursor is on a free line. */
	(void)t->calls.endwin();
	hold_resizes(false);
	t->left = true;
}

void screen_term_stop(struct screen_term *t)
{
	/* ncurses leaves the screen in its handler, stops the process, and
	 * draws again when it continues. */
	(void)kill(0, SIGTSTP);
	t->left = true;
}
