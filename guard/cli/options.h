/*
 * The verbs and their options: one table (verbs.c), from which come the
 * parsing, the help texts, the completions and the option lists of the man page
 * (docs/table.awk).
 *
 *	const struct verb *verb = options_verb("ls");
 *	const struct option_slot slots[] = {
 *		{'l', .choice = &form, .value = FORM_LONG},
 *		{OPT_JSON, .flag = &json},
 *		{OPT_AT, .text = &at},
 *		{0},
 *	};
 *	int got = options_parse(verb, argc, argv, slots);
 *
 *	if (got != OPTIONS_END)
 *		return got;
 *	operands are argv[optind] to argv[argc - 1]
 */
#ifndef GUARD_CLI_OPTIONS_H
#define GUARD_CLI_OPTIONS_H

#include <stdbool.h>
#include <getopt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Options without a letter; the others are known by their letter. */
enum option_id {
	OPTIONS_END = -1,
	OPTIONS_BAD = '?', /* already explained on stderr */
	OPTIONS_HELP = 255, /* already printed */
	OPT_ABORT = 256,
	OPT_ACTIONS,
	OPT_AGENT,
	OPT_ALL_VERSIONS,
	OPT_ALLOW,
	OPT_AT,
	OPT_BRANCH,
	OPT_CACHES,
	OPT_COLOR,
	OPT_COMMIT,
	OPT_COMMITS,
	OPT_CONFIRM,
	OPT_CONTINUE,
	OPT_CPUS,
	OPT_ENV,
	OPT_EVERYTHING,
	OPT_FORGET,
	OPT_FROZEN,
	OPT_NAME,
	OPT_FULL,
	OPT_NO_RENAMES,
	OPT_ONLY,
	OPT_SNAPSHOT,
	OPT_EXACT,
	OPT_EXCLUDE,
	OPT_EXIT_CODE,
	OPT_FF,
	OPT_HIDE,
	OPT_HIDDEN,
	OPT_COW,
	OPT_HOME,
	OPT_HTML,
	OPT_JSON,
	OPT_KEEP_DAILY,
	OPT_KEEP_HOURLY,
	OPT_KEEP_LAST,
	OPT_KEEP_MONTHLY,
	OPT_KEEP_TAG,
	OPT_KEEP_WEEKLY,
	OPT_KEEP_WITHIN,
	OPT_KIND,
	OPT_KINDS,
	OPT_KEEP_YEARLY,
	OPT_LAYER_FILES,
	OPT_LAYER_SIZE,
	OPT_MAX_SIZE,
	OPT_MEMORY,
	OPT_MERGE,
	OPT_MOUSE,
	OPT_NAME_ONLY,
	OPT_NAME_STATUS,
	OPT_NESTED,
	OPT_NET,
	OPT_NO_PAGER,
	OPT_PLAIN,
	OPT_TEST,
	OPT_OURS,
	OPT_OVERWRITE,
	OPT_PIDS_LIMIT,
	OPT_PORCELAIN,
	OPT_PROGRESS,
	OPT_PUBLISH,
	OPT_READ_DATA,
	OPT_RO,
	OPT_RW,
	OPT_RESET,
	OPT_RISK,
	OPT_AGENT_UNDO,
	OPT_KEEP_AGENT,
	OPT_FOLLOW,
	OPT_REST,
	OPT_SAMPLE,
	OPT_SHARED_CACHE,
	OPT_SHARE_LOGIN,
	OPT_SIDE_BY_SIDE,
	OPT_STAT,
	OPT_TAG,
	OPT_STRICT,
	OPT_TAR,
	OPT_THEIRS,
	OPT_TIMEOUT,
	OPT_TMP_SIZE,
	OPT_TO,
	OPT_TOOL,
	OPT_TRASH,
	OPT_USER,
	OPT_VERSIONS,
	OPT_WHY,
	OPT_WORD_DIFF,
	OPT_YES_TO,
	OPT_EXCEPT,
};

struct option_spec {
	int id; /* letter or OPT_; 0 ends the table */
	const char *name; /* long name, NULL: letter only */
	const char *value; /* NULL: takes none; "[X]": may stand behind '=' */
	const char *help;
	/* Values that completions offer, where `value` does not tell them:
	 * words, and kinds of words in capitals (docs/completion.awk). */
	const char *words;
	unsigned int group; /* equal numbers of a verb exclude each other */
};

struct verb {
	const char *name;
	const char *other; /* a second name, or NULL */
	const char *operands; /* operands after the options */
	const char *summary; /* one line */
	const char *text; /* complete lines of explanation; may be "" */
	const struct option_spec *options;
	bool stops; /* options end at the first operand (run) */
	const char *words; /* as of an option, for `operands` */
};

/* All of them in the order of the help; ended by name NULL. */
extern const struct verb options_verbs[];

/* Finds a verb by either name; NULL: no such verb. */
const struct verb *options_verb(const char *name);
/* The verb with the most similar name; NULL when none is similar. */
const struct verb *options_near_verb(const char *name);

/* Where an option of a verb goes; several of these may be set. */
struct option_slot {
	int id; /* 0 ends the list */
	bool *flag; /* becomes true */
	const char **text; /* becomes the value, which is argv's */
	unsigned int *choice, value; /* *choice becomes value */
	/* Gets the value and `to`; false after it has reported an error. */
	bool (*read)(const struct verb *verb, int id, const char *value,
		     void *to);
	void *to;
};

/*
 * Parses all options of a verb into slots: OPTIONS_END, or the exit status
 * (help was printed, or an error reported). Operands of a verb that takes none
 * are refused.
 */
int options_parse(const struct verb *verb, int argc, char **argv,
		  const struct option_slot *slots);

/* Sets the slot of one option, whose value is in optarg; false after an error
 * that was reported. */
bool options_set(const struct verb *verb, const struct option_slot *slots,
		 int id);

/* The option of a verb by its id, or NULL. */
const struct option_spec *options_spec(const struct verb *verb, int id);

/* One option after the other: its id, optarg as with getopt. The first call
 * for a verb starts at argv[1]. */
int options_next(const struct verb *verb, int argc, char **argv);

/* Reader of a slot for --color; to: an enum output_when. */
bool options_color(const struct verb *verb, int id, const char *value,
		   void *to);

/*
 * How many of the operands stood behind a "--": asked for before
 * options_next() moves them about.
 */
int options_after_dashes(int argc, char **argv);

/* "guard: diff: TEXT" and where the help is, on stderr. Returns STATUS_USAGE.
 */
int options_usage_error(const struct verb *verb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The verbs on `to`, those of a day or all; the help of one on stdout. */
void options_help(FILE *to, bool all);
void options_help_verb(const struct verb *verb);

#endif
