/*
 * Finds the lines of a text that match a pattern. The text comes in pieces of
 * any length, as the store returns it; only the first MATCHER_LINE_MAX bytes of
 *a line are held.
 *
 * 	matcher_compile(&m, "ab+c", fixed, no_case, &err)
 *
 * Bytes are compared as they are; upper and lower case are those of ASCII.
 */
#ifndef GUARD_HISTORY_MATCHER_H
#define GUARD_HISTORY_MATCHER_H

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define MATCHER_LINE_MAX (1u << 20)

struct matcher {
	/* A text that is part of each match; len 0: none is known. */
	char *text;
	size_t len;
	bool literal; /* the pattern is just that text */
	regex_t regex;
	bool compiled;
};

/* -EINVAL: the pattern is no regular expression; the text says why. */
int matcher_compile(struct matcher *ret, const char *pattern, bool fixed,
		    bool no_case, struct err *err);
void matcher_free(struct matcher *m);

struct match {
	uint64_t number; /* number of the line, from 1 */
	const char *line; /* without its line feed and not NUL-terminated */
	size_t len;
	size_t start, end; /* the first match in the line */
};

struct scanner {
	const struct matcher *matcher;
	/* Called for each line that matches; a negative result ends the search.
	 * NULL: only `any` is of interest. */
	int (*each)(void *arg, const struct match *match, struct err *err);
	void *arg;
	bool any; /* a line has matched */
	bool binary; /* the text has a NUL byte: there are no lines */
	/* Private. */
	struct buf rest; /* the begin of an incomplete line */
	uint64_t lines, seen; /* complete lines, bytes */
	bool cut; /* rest is full, the line goes on */
};

/* 1: the result is known, no more text is needed. */
int scanner_add(struct scanner *s, const void *data, size_t len,
		struct err *err);
/* Scans the last line when it has no line feed; results as scanner_add(). */
int scanner_end(struct scanner *s, struct err *err);
void scanner_free(struct scanner *s);

#endif
