/*
 * The output of guard. Results go to stdout, everything else to stderr after
 * "guard: ". Names in it are quoted by text_quote(), bytes of files pass
 * text_escape(): no byte of a run reaches the terminal as it is.
 *
 * No function here ends the process.
 */
#ifndef GUARD_CLI_OUTPUT_H
#define GUARD_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/state/report.h"

struct session;
struct state;
struct changes;

/* With quiet, output_print() and output_hint() are silent. */
void output_quiet(bool on);
bool output_is_quiet(void);

/* Sets the test for verbs: behind "guard" they make a command of a message. */
void output_verbs(bool (*verb)(const char *));
/* The directory of a `-C DIR` in front of the verb, or another one than the
 * caller's in which commands that messages name have to run. */
void output_commands_in(const char *dir);
/* The same unless the caller is in this project. */
void output_run_commands(const struct state *st, const char *project);
/* "guard", or "guard -C DIR". */
const char *output_command(void);

/* A line on stderr after "guard: ". */
void output_message(enum report_kind kind, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
#define output_print(...) output_message(REPORT_NOTE, __VA_ARGS__)
#define output_hint(...) output_message(REPORT_HINT, __VA_ARGS__)
#define output_warn(...) output_message(REPORT_WARNING, __VA_ARGS__)
/* stderr, after all that was printed on stdout: where both go to one file, the
 * lines are in the order in which they were written. */
FILE *output_stderr(void);
/* Always; the error's own text is already whole. */
void output_error(const struct err *err);

/* In the order of the words of --color. */
enum output_when { OUTPUT_AUTO, OUTPUT_ALWAYS, OUTPUT_NEVER };

/*
 * Colours on stdout, OUTPUT_AUTO unless told: in a terminal, but for NO_COLOR
 * (not empty), TERM=dumb or none. To be told before anything is printed.
 */
void output_color(enum output_when when);
bool output_has_color(void);

/* Whether the user's terminal knows sequences: not TERM=dumb, nor none. */
bool output_term_is_capable(void);

/*
 * When stdout is a terminal: lets everything printed from now on pass through
 * $GUARD_PAGER, $GIT_PAGER, pager.VERB or core.pager of the user's own git
 * settings (user_git.h), $PAGER or less -FRX, the first of these that is set;
 * "" or "cat" means none. output_pager_end() waits for it; it is called by
 * main() in any case.
 */
void output_pager_start(const char *verb);
void output_pager_end(void);
/* Columns of the terminal that stdout is, or was before the pager
 * started; 0: it is none. */
size_t output_width(void);
/* The reader of stdout has gone: stop producing. */
bool output_has_failed(void);
/* Flushes stdout; false (and one message) when it could not all be written.
 * main() calls it behind each verb. */
bool output_finish(void);

/* Whether stdin and stderr are terminals. */
bool output_can_ask(void);
/*
 * Asks on the terminal: 1 yes, 0 no (also at the end of input), -1 when there
 * is none and nothing was asked.
 */
int output_ask(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same before something is done, unless the user said yes by -y: whether
 * to do it. Says so when nothing is done, and that -y is the way out. */
bool output_confirm(bool yes, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* A line that is typed there, without its end, to free; NULL as above, and at
 * the end of input. After Ctrl-Z and fg each question is repeated. */
char *output_ask_line(const char *question);

/* Appends the escaped texts of a NULL-terminated list, with ", " between
 * them. */
void output_list(struct buf *to, char *const *texts);
/* Appends an absolute path as a user in the directory `here` types it: relative
 * when it is below `here`. */
void output_path(struct buf *to, const char *path, const char *here);
/* Appends the first 60 columns of a name and "...": for commands in lists. */
void output_truncated(struct buf *to, const char *text);

/*
 * Appends the text in lines of at most `width` columns, broken at blanks; a
 * longer word stays in one piece. The first line begins in column `at`, each
 * further line with `indent` blanks. A width of 0, or no wider than the indent,
 * gives one line. Returns the column behind the last character.
 */
size_t output_wrap(struct buf *to, const char *text, size_t at, size_t indent,
		   size_t width);

/*
 * After a run, on stderr: counts by kind, every deletion by name (a directory
 * with many files in one line), the first moves, one line each for changes of
 * .git, of the additional roots and of the home, and the three next steps. A
 * run without changes gets one line and no next step. judged() is called before
 * the first line, after the work that may take long.
 */
void output_run_summary(const struct session *s, struct changes *c,
			void (*judged)(void));

#endif
