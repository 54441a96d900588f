/*
 * Parts of risk.c: risks in the bytes of names, texts, packages and Python's
 * compiled files.
 */
#ifndef GUARD_RISK_BYTES_H
#define GUARD_RISK_BYTES_H

#include "guard/risk.h"

/* Adds a risk in order: the worst first, equal levels in the order of the
 * calls. Takes the text. */
void risk_add(struct risks *r, enum risk_level level, bool runs, char *text);

/* Adds "label: value", with the value escaped and truncated. */
void risk_add_value(struct risks *r, enum risk_level level, const char *label,
		    const char *value);

/* Adds scripts of a package.json, and packages from other sources than a
 * registry, that the old file did not have. Texts are NUL-terminated. */
void risk_judge_package(const char *old, const char *now, struct risks *r);

/*
 * The number of words that mix Latin letters with Cyrillic, Greek or full-width
 * letters that look like Latin ones. 0 for bytes with a NUL.
 */
size_t risk_has_lookalikes(const void *data, size_t len);

/* A text that a NUL makes binary for every comparison, while its interpreter
 * still reads it: it was no binary before, or has the name of a script. */
bool risk_hides_text(const char *path, const struct buf *old,
		     const struct buf *now);

/*
 * A .pyc, which Python runs in place of a source. Only Python's own compiler
 * can prove that it was made from that source; reported are files that Python
 * never writes: one that Python never compares with a source, one without a
 * source, and other code for an unchanged source.
 */
void risk_judge_bytecode(const struct risk_file *f, struct risks *r);

#endif
