/*
 * `guard diff --html FILE`: the changes of a run as one self-contained file,
 * without scripts, images, fonts or anything from a network.
 *
 * Names and texts of a run are escaped twice: control, invisible and
 * direction-changing characters as on a terminal, then the characters that HTML
 * gives a meaning. They stand in elements of their own with unicode-bidi:
 * isolate, never in an attribute. A content security policy forbids whatever
 * would get in nevertheless.
 */
#ifndef GUARD_CLI_HTML_REPORT_H
#define GUARD_CLI_HTML_REPORT_H

#include "guard/change/resolve_run.h"
#include "guard/review/verdict.h"

/* Limits of a report. */
#define HTML_LINE_MAX 2000u /* columns */
#define HTML_SIZE_MAX (8u << 20)
#define HTML_ROWS_MAX 2000 /* of a list */

/* Writes the file, which must be new, with mode 0600; "-": standard output.
 * -EEXIST: there is one of that name. After a failure there is none. */
int html_report_write(const char *file, const struct session *s,
		      struct changes *c, const struct judgement *j,
		      const struct verdict *verdict, struct err *err);
/* The same of a run whose changes are not loaded: loads and judges them. */
int html_report_write_run(const char *file, struct context *c,
			  const struct resolved_run *p, struct err *err);

#endif
