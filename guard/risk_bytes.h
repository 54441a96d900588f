/*
 * Parts of risk.c: what is told from the bytes of names, texts and Python's
 * compiled files.
 */
#ifndef GUARD_RISK_BYTES_H
#define GUARD_RISK_BYTES_H

#include "guard/risk.h"

/* In order: the worst first, among equals the first said; takes the text. */
void risk_add(struct risks *r, enum risk_level level, bool runs, char *text);

/*
 * How many words have Latin letters and such of Cyrillic, Greek or full width
 * that look like Latin ones. 0 where the bytes have a NUL.
 */
size_t risk_looks_alike(const void *data, size_t len);

/*
 * A .pyc, which Python runs in place of a source. That it is of that source is
 * seen by nothing but Python's own compiler; told is what no Python leaves
 * behind: one that it never compares with a source, one that stands for
 * itself, and other code for a source that is the same.
 */
void risk_judge_bytecode(const struct risk_file *f, struct risks *r);

#endif
