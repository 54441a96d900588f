/*
 * Lines of a text that match a pattern. The text comes in pieces of any
 * length, as the store gives it; of a line only its first LINE_MAX_LEN bytes
 * are held.
 *
 *	matcher_compile(&m, "ab+c", flags, &err)
 *	struct scanner s = {.matcher = &m, .each = print, .arg = arg};
 *	while (more) { scanner_add(&s, data, len) } scanner_end(&s);
 *	scanner_free(&s);
 *
 * Bytes are looked at as they are: upper and lower case are those of ASCII.
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
	/* Each match holds this; len 0: nothing is known. */
	char *text;
	size_t len;
	bool literal; /* and is nothing else */
	regex_t regex;
	bool compiled;
};

/* -EINVAL: no regular expression, and why. */
int matcher_compile(struct matcher *ret, const char *pattern, bool fixed,
		    bool no_case, struct err *err);
void matcher_free(struct matcher *m);

struct match {
	uint64_t number; /* of the line, from 1 */
	const char *line; /* without its line feed, not ended by NUL */
	size_t len;
	size_t start, end; /* the first match in it */
};

struct scanner {
	const struct matcher *matcher;
	/* Each line that matches; negative ends it. NULL: none is needed. */
	int (*each)(void *arg, const struct match *match, struct err *err);
	void *arg;
	bool any; /* something has matched */
	bool binary; /* has a NUL byte: lines mean nothing */
	/* Its own. */
	struct buf rest; /* a line that has not ended */
	uint64_t lines, seen; /* complete lines, bytes */
	bool cut; /* rest is full, the line goes on */
};

/* 1: enough is known, nothing more is needed. */
int scanner_add(struct scanner *s, const void *data, size_t len,
		struct err *err);
int scanner_end(struct scanner *s, struct err *err);
void scanner_free(struct scanner *s);

#endif
