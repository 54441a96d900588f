/*
 * The verbs and their options: one table, from which come the parsing, the
 * help texts and the list that man page and completions are checked against
 * (`guard --options`).
 *
 *	const struct verb *verb = options_verb("diff");
 *	int id;
 *
 *	while ((id = options_next(verb, argc, argv)) != OPTIONS_END)
 *		switch (id) {
 *		case OPT_STAT: ...
 *		case OPTIONS_HELP: return STATUS_OK;
 *		case OPTIONS_BAD: return STATUS_USAGE;
 *		}
 *	operands are argv[optind] to argv[argc - 1], optarg as with getopt
 */
#ifndef GUARD_OPTIONS_H
#define GUARD_OPTIONS_H

#include <stdbool.h>
#include <getopt.h>
#include <stddef.h>

/* Options without a letter; the others are known by their letter. */
enum option_id {
	OPTIONS_END = -1,
	OPTIONS_BAD = '?', /* already explained on stderr */
	OPTIONS_HELP = 255, /* already printed */
	OPT_ACTIONS = 256,
	OPT_ALL,
	OPT_AT,
	OPT_COLOR,
	OPT_CONTINUE,
	OPT_ENV,
	OPT_EXACT,
	OPT_EXIT_CODE,
	OPT_HIDE,
	OPT_JSON,
	OPT_KEEP_DAILY,
	OPT_KEEP_HOURLY,
	OPT_KEEP_LAST,
	OPT_KEEP_MONTHLY,
	OPT_KEEP_WEEKLY,
	OPT_KEEP_WITHIN,
	OPT_MAX_SIZE,
	OPT_MERGE,
	OPT_NAME_ONLY,
	OPT_NAME_STATUS,
	OPT_NESTED,
	OPT_NET,
	OPT_NO_PAGER,
	OPT_OURS,
	OPT_OVERWRITE,
	OPT_PIDS_LIMIT,
	OPT_PORCELAIN,
	OPT_READ_DATA,
	OPT_RO,
	OPT_RW,
	OPT_SAMPLE,
	OPT_STAT,
	OPT_THEIRS,
	OPT_TIMEOUT,
	OPT_TO,
};

struct option_spec {
	int id; /* letter or OPT_; 0 ends the table */
	const char *name; /* long name, NULL: letter only */
	const char *value; /* NULL: takes none; "[X]": may stand behind '=' */
	const char *help;
};

struct verb {
	const char *name;
	const char *other; /* a second name, or NULL */
	const char *operands; /* what stands behind the options */
	const char *summary; /* one line */
	const char *text; /* what one must know, whole lines; may be "" */
	const struct option_spec *options;
	bool stops; /* options end at the first operand (run) */
};

/* All of them in the order of the help; ended by name NULL. */
extern const struct verb options_verbs[];

/* By either name, NULL when there is none. */
const struct verb *options_verb(const char *name);
/* The one that was probably meant, NULL when nothing is near. */
const struct verb *options_nearest(const char *name);

/* See above. The first call for a verb starts at argv[1]. */
int options_next(const struct verb *verb, int argc, char **argv);

/*
 * How many of the operands stood behind a "--": asked for before
 * options_next() moves them about.
 */
int options_after_dashes(int argc, char **argv);

/* "guard: diff: TEXT" and where the help is, on stderr. */
void options_complain(const struct verb *verb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Help on stdout. */
void options_help(void);
void options_help_verb(const struct verb *verb);
/* One line an option: verb, TAB, --name or -x. */
void options_dump(void);

/* A count given by the user: 0 and *ret, or -1. */
int options_number(const char *text, unsigned long max, unsigned long *ret);

#endif
