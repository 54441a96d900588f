/*
 * Styled lines: the form between producers (lists of changes, texts, a review,
 * kinds, a plan) and a medium (a stream, the full screen, an HTML report).
 *
 * A producer gives line by line to a `struct styled`, so that nothing is held:
 * the first line is shown while the others are made, and a text of any length
 * needs no memory.
 *
 * The text of a line is escaped by text_escape(), and has bytes below 0x20
 * between its words that begin and end a style. Escaped text has no such
 * byte, so that no byte of a run can begin a style: a producer escapes all
 *bytes of a run, and a backend drops all other control characters.
 *
 *	styled_row(&b, 'A', prefix, path, false);
 *	styled_line(to, LINE_ROW, "%s  " BOLD "new" PLAIN, buf_text(&b));
 */
#ifndef GUARD_CLI_STYLED_H
#define GUARD_CLI_STYLED_H

#include <stdbool.h>
#include <stdio.h>

#include "base/mem.h"

/* The styles. Each ends the one before; NAME and MARK lie inside of one. */
#define PLAIN "\001"
#define BOLD "\002"
#define DELETED "\003"
#define CHANGED "\004"
#define ADDED "\005"
#define HUNK "\006"
#define FAINT "\007"
#define NAME "\016" /* bytes of a run; HTML isolates them */
#define NAME_END "\017"
#define MARK "\020" /* a changed word in a line of a text */
#define MARK_END "\021"

enum line_kind {
	LINE_PLAIN, /* a head, a summary, a remark */
	LINE_TITLE, /* begins a list: after an empty line, bold */
	LINE_ROW, /* a row of a list */
	LINE_LOSS, /* a row about a loss: never left out */
	LINE_NOTE, /* on the row above it: a risk */
	LINE_FILE, /* begins the text of a file */
	LINE_TEXT, /* a line of a text, with a sign */
	LINE_QUESTION, /* the answer is typed behind it */
};

struct styled_line {
	enum line_kind kind;
	/* LINE_TEXT: '+', '-', ' '; '@': the head of a hunk; '\\': a remark on
	 * the line above it. The text is without it. */
	char sign;
	const char *text;
};

/* A medium: the first member of its own struct. */
struct styled {
	void (*take)(struct styled *to, const struct styled_line *line);
	size_t width; /* columns; 0: a line may have any length */
	size_t indent; /* columns in front of texts */
	bool full; /* more lines are not shown: producers may stop */
	bool words; /* changed words get a MARK */
	size_t part; /* part of an item that the lines stand for, where a
			producer counts parts */
};

void styled_line(struct styled *to, enum line_kind kind, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));
/* A line of a text, of raw bytes: escapes them. The line feed at its end is
 * not shown. words: ranges of it that get a MARK, or NULL. */
struct words_ranges;
void styled_text(struct styled *to, char sign, const char *text, size_t len,
		 const struct words_ranges *words);
/* The same for each line of a text. */
void styled_lines(struct styled *to, char sign, const char *text, size_t len);
/* The target of a symbolic link: one line in any case. */
void styled_target(struct styled *to, char sign, const char *target,
		   size_t len);

/* Appends a name with its prefix, escaped and marked as one. */
void styled_name(struct buf *to, const char *prefix, const char *path);
/* Begins a row of a list: "  D  src/dir/". */
void styled_row(struct buf *to, char letter, const char *prefix,
		const char *path, bool dir);
/* The style of a line with this letter (changes_letter(), R, G) or sign. */
const char *styled_of(char letter);

/* Standard output, with colors as output_color() has set, and the standard
 * error output, which has none, after all that was printed on stdout. */
struct styled *styled_out(void);
struct styled *styled_err(void);
/* Appends the text as a terminal takes it; color: with sequences. */
void styled_terminal(struct buf *to, const char *text, bool color);

#endif
