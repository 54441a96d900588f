/*
 * The command line of a verb, parsed by the table of verbs and options
 * (verbs.txt). The build makes struct options of it, whose members have the
 * names of the options, so that a verb only reads them:
 *
 *	int cmd_ls(const struct options *o, struct context *c, struct err *err)
 *	{
 *		... o->json, o->at, o->operands[0] ...
 *	}
 *
 * The members of options that a verb does not have are 0. The number and the
 * exclusions of operands and options are checked before the verb is called.
 */
#ifndef GUARD_CLI_OPTIONS_H
#define GUARD_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

struct context;

/* struct options, OPTION_MEMBER_WORD, cmd_NAME() */
#include <guard_options.h>

enum option_kind {
	OPTION_FLAG, /* bool */
	OPTION_TEXT, /* const char *, of argv */
	OPTION_LIST, /* char **: copies, ended by NULL; NULL: none */
	OPTION_NUMBER, /* unsigned long */
	OPTION_SIZE, /* uint64_t, bytes */
	OPTION_TIME, /* int64_t, milliseconds */
	OPTION_CHOICE, /* unsigned int: the place in `words` from 1 on */
	/* Options of git and docker; the help does not list them. */
	OPTION_SAME, /* `help` is the name of the option with this meaning */
	OPTION_UNUSED, /* `help` says why it has no effect */
	OPTION_REFUSED, /* `help` says what to type instead */
};

struct option_spec {
	char letter; /* 0: none */
	const char *name; /* NULL: a letter only */
	const char *value; /* NULL: none; "[X]": may stand behind '=' */
	const char *help;
	enum option_kind kind;
	size_t field; /* offset in struct options */
	const char *const *words; /* the permitted values, or NULL */
	const char *bare; /* stands for a missing value, or NULL */
	const char *expected; /* behind "must be" */
	unsigned long initial, least, most; /* limits of numbers and times */
	size_t sets; /* a second member, an unsigned int, or 0 */
	unsigned int set_to;
	bool saved; /* in the record of a run */
};

/* The option with number a (from 1 on) excludes b, or operands if b is 0; or it
 * needs b or, if c is not 0, c. */
struct option_rule {
	unsigned int a, b, c;
	bool needs;
	const char *why; /* or NULL */
	const char *operand; /* as a message names it */
};

/* The context (guard/state/context.h) that a verb is called with. */
enum verb_opens { OPENS_NOTHING, OPENS_STATE, OPENS_PROJECT };

struct verb_alias {
	const char *name;
	const char *option; /* for which this name stands, or NULL */
};

struct verb {
	const char *name;
	const struct verb_alias *others; /* further names; ended by NULL */
	const char *operands; /* operands after the options */
	const char *summary; /* one line */
	const char *text; /* complete lines of explanation; may be "" */
	const char *section; /* title of the help that begins here; or NULL */
	const struct option_spec *options; /* ended by an empty one */
	const struct option_rule *rules;
	int fewest, most; /* operands */
	int fails; /* the exit status of all errors; 0: the usual ones */
	bool stops; /* options end at the first operand (run) */
	bool daily; /* in the short list */
	enum verb_opens opens;
	bool judges; /* changes by risk rules, also those of the user */
};

/* An option of the command line. */
struct option_given {
	const struct option_spec *option;
	const char *value; /* NULL: none */
};

/* All of them in the order of the help; ended by name NULL. */
extern const struct verb options_verbs[];

/* Finds a verb by any of its names; NULL: no such verb. */
const struct verb *options_verb(const char *name);
/* The most similar of all names of verbs; NULL when none is similar. */
const char *options_near_verb(const char *name);
/* Reports words[0], which is no verb, with the command that the words may mean;
 * for a question it changes nothing. Returns STATUS_USAGE. */
int options_unknown_verb(char **words);
/* The same for words[0], an option in front of the verb. */
int options_before_verb(char **words);

enum options_got {
	OPTIONS_OK,
	OPTIONS_HELP, /* printed */
	OPTIONS_BAD, /* already explained on stderr */
};

/*
 * Parses argv (argv[0] is the verb's name) into *ret, and obeys --quiet,
 * --color, --progress and --no-pager. *ret points into argv; options_free() it
 * in each case.
 */
enum options_got options_parse(const struct verb *verb, int argc, char **argv,
			       struct options *ret);
void options_free(struct options *o);

/* Whether the option with this long name is on the command line. */
bool options_given(const struct options *o, const char *name);

/* "guard: diff: TEXT" and where the help is, on stderr. Returns STATUS_USAGE.
 */
int options_usage_error(const struct options *o, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The verbs on `to`, those of a day or all; the help of one on stdout. */
void options_help(FILE *to, bool all);
void options_help_verb(const struct verb *verb);

#endif
