/*
 * One text's difference as lines: as git prints it, with the changed words
 * inside the lines, or in two columns. The callbacks take the lines of
 * textdiff() in their order; all text is escaped.
 *
 * The two latter layouts compare the lines of a block (deleted lines, then
 * added ones) in pairs: a line with the next similar one.
 */
#ifndef GUARD_CLI_DIFFTEXT_H
#define GUARD_CLI_DIFFTEXT_H

#include "base/vec.h"
#include "guard/cli/styled.h"
#include "restore/git/textdiff.h"

enum diff_layout {
	LAYOUT_UNIFIED,
	LAYOUT_WORDS, /* [-old-]{+new+} */
	LAYOUT_COLOR_WORDS, /* the same by colors alone, if there are colors */
	LAYOUT_COLUMNS,
	LAYOUT_TOOL, /* opened in the user's difftool, not printed */
};

struct difftext_line {
	const char *text; /* without its line end */
	size_t len;
};

/* Zero but for the layout and the medium at the start of a text. */
struct difftext {
	enum diff_layout layout;
	struct styled *to;
	char last; /* kind of the line before */
	/* The block, up to its end; the texts belong to the caller. */
	VEC(struct difftext_line) old, now;
};

/* Takes a line; passes it on, or keeps it for its block. */
void difftext_line(struct difftext *t, const struct textdiff_line *line);
/* Passes the last block on. The texts must exist until then. */
void difftext_end(struct difftext *t);

#endif
