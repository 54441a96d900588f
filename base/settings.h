/*
 * Lines of settings, and the places where they stand: the keys above a line,
 * "jobs.test.steps.run". Small scanners stand for parsers of YAML, TOML, INI
 * and make: they err towards a place that is too long, and skip no line. A file
 * of an untrusted run may be read by them: their time and memory are those of
 * its bytes, and nothing is executed. JSON is read as a whole, in the parsing
 * worker (PARSE_JSON_LINES), with the same places.
 */
#ifndef BASE_SETTINGS_H
#define BASE_SETTINGS_H

#include <stddef.h>

enum settings_format {
	SETTINGS_PLAIN,
	SETTINGS_GIT, /* git's configuration */
	SETTINGS_INI,
	SETTINGS_JSON, /* lines without places here */
	SETTINGS_MAKE, /* "recipe" */
	SETTINGS_PROSE, /* Markdown: "code" */
	SETTINGS_TOML,
	SETTINGS_YAML,
};

/* place: valid during the call. line: without blanks around it, part of the
 * text. number: from 1. */
typedef void settings_visit(void *arg, const char *place, const char *line,
			    size_t number);

/* Calls each() for all lines of a text, whose line ends become NULs. */
void settings_each_line(enum settings_format format, char *text,
			settings_visit *each, void *arg);

/* "PLACE.KEY", to free. Long keys and places are cut in the middle. */
char *settings_place(const char *place, const char *key, size_t key_len);

#endif
