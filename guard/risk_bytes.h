/*
 * Parts of risk.c: what is told from the bytes of names, texts, packages and
 * Python's compiled files.
 */
#ifndef GUARD_RISK_BYTES_H
#define GUARD_RISK_BYTES_H

#include "guard/risk.h"

/* In order: the worst first, among equals the first said; takes the text. */
void risk_add(struct risks *r, enum risk_level level, bool runs, char *text);

/* "label: value", the value escaped and cut. */
void risk_add_value(struct risks *r, enum risk_level level, const char *label,
		    const char *value);

/* Scripts of a package.json, and packages from elsewhere than a registry,
 * which the old one did not have. Texts end with NUL. */
void risk_judge_package(const char *old, const char *now, struct risks *r);

/*
 * How many words have Latin letters and such of Cyrillic, Greek or full width
 * that look like Latin ones. 0 where the bytes have a NUL.
 */
size_t risk_has_lookalikes(const void *data, size_t len);

/* A text that a NUL makes binary for whoever compares it, and that what runs
 * it reads all the same: it was none before, or is called a script. */
bool risk_hides_text(const char *path, const struct buf *old,
		     const struct buf *now);

/*
 * A .pyc, which Python runs in place of a source. That it is of that source is
 * seen by nothing but Python's own compiler; told is what no Python leaves
 * behind: one that it never compares with a source, one that stands for
 * itself, and other code for a source that is the same.
 */
void risk_judge_bytecode(const struct risk_file *f, struct risks *r);

#endif
