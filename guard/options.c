#include "guard/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/output.h"

#define MAX_OPTIONS 48

/* Options that more than one verb has. */
#define OPTION_JSON                                                            \
	{                                                                      \
		OPT_JSON, "json", NULL, "print JSON"                           \
	}
#define OPTION_YES                                                             \
	{                                                                      \
		'y', "yes", NULL, "do not ask"                                 \
	}
#define OPTION_DRY                                                             \
	{                                                                      \
		'n', "dry-run", NULL,                                          \
			"show what would be done, change nothing"              \
	}
#define OPTION_QUIET                                                           \
	{                                                                      \
		'q', "quiet", NULL, "say less"                                 \
	}
#define OPTION_PAGER                                                           \
	{                                                                      \
		OPT_NO_PAGER, "no-pager", NULL, "do not start a pager"         \
	}
#define OPTION_COLOR                                                           \
	{                                                                      \
		OPT_COLOR, "color", "[WHEN]", "colours: auto, always or never" \
	}
#define OPTION_END                                                             \
	{                                                                      \
		0, NULL, NULL, NULL                                            \
	}

static const struct option_spec run_options[] = {
	{OPT_RO, "ro", "PATH", "let a hidden path be read"},
	{OPT_RW, "rw", "PATH", "let a real path be written (stored first)"},
	{'C', NULL, "DIR", "the project around DIR, and start there"},
	{OPT_HIDE, "hide", "PATH", "hide one path more"},
	{OPT_ENV, "env", "NAME[=VALUE]", "pass a variable of the environment"},
	{OPT_NET, "net", "MODE", "host (default) or none"},
	{OPT_NESTED, "nested", NULL, "let sandboxes work inside"},
	{OPT_TIMEOUT, "timeout", "TIME", "end it after 30s, 5m, 2h"},
	{OPT_PIDS_LIMIT, "pids-limit", "N", "at most N processes"},
	{OPT_CONTINUE, "continue", "[RUN]", "work on in a pending run's layer"},
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec status_options[] = {
	{'a', "all", NULL, "runs of every project, also decided ones"},
	OPTION_JSON,
	{OPT_PORCELAIN, "porcelain", NULL, "one line a run, fields by TAB"},
	{'q', "quiet", NULL, "ids only"},
	OPTION_END,
};

static const struct option_spec diff_options[] = {
	{OPT_STAT, "stat", NULL, "changed lines a file, no text"},
	{OPT_NAME_STATUS, "name-status", NULL, "letter and name only"},
	{OPT_NAME_ONLY, "name-only", NULL, "names only"},
	{'z', NULL, NULL, "letter and raw name, each ended by NUL"},
	OPTION_JSON,
	{OPT_EXIT_CODE, "exit-code", NULL, "end with 1 when there are changes"},
	OPTION_PAGER,
	OPTION_COLOR,
	OPTION_END,
};

static const struct option_spec apply_options[] = {
	{OPT_OURS, "ours", NULL, "conflicts: your version stays"},
	{OPT_THEIRS, "theirs", NULL, "conflicts: the run's version wins"},
	{OPT_MERGE, "merge", NULL, "conflicts: markers in texts, exit 1"},
	OPTION_DRY,
	OPTION_YES,
	OPTION_QUIET,
	OPTION_JSON,
	OPTION_END,
};

static const struct option_spec patch_options[] = {
	OPTION_END,
};

static const struct option_spec discard_options[] = {
	OPTION_YES,
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec import_options[] = {
	OPTION_DRY, OPTION_YES, OPTION_QUIET, OPTION_JSON, OPTION_END,
};

static const struct option_spec snapshot_options[] = {
	{'m', "message", "TEXT", "a note to find it by"},
	OPTION_QUIET,
	OPTION_JSON,
	OPTION_END,
};

static const struct option_spec log_options[] = {
	{'n', "number", "N", "at most N lines"},
	{OPT_ACTIONS, "actions", NULL, "what guard did: runs, applies, ..."},
	{'a', "all", NULL, "of every project"},
	OPTION_JSON,
	OPTION_PAGER,
	OPTION_END,
};

static const struct option_spec ls_options[] = {
	{'l', "long", NULL, "mode, owner, size and time too"},
	{'z', NULL, NULL, "raw names, each ended by NUL"},
	OPTION_JSON,
	OPTION_END,
};

static const struct option_spec show_options[] = {
	OPTION_JSON,
	OPTION_PAGER,
	OPTION_END,
};

static const struct option_spec restore_options[] = {
	{OPT_AT, "at", "WHEN", "12, latest~2, '2h ago', '2026-11-21 14:30'"},
	{OPT_TO, "to", "DIR", "put it into DIR instead"},
	{OPT_OVERWRITE, "overwrite", "WHEN", "always, if-changed or never"},
	{OPT_EXACT, "exact", NULL, "delete what the snapshot has not"},
	OPTION_DRY,
	OPTION_YES,
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec undo_options[] = {
	OPTION_DRY,
	OPTION_YES,
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec verify_options[] = {
	{OPT_READ_DATA, "read-data", NULL, "read and check every byte"},
	{OPT_SAMPLE, "sample", "N%", "read and check a share of the bytes"},
	OPTION_JSON,
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec prune_options[] = {
	OPTION_DRY,
	{OPT_KEEP_LAST, "keep-last", "N", "the newest N"},
	{OPT_KEEP_WITHIN, "keep-within", "TIME", "all of 12h, 14d, 8w"},
	{OPT_KEEP_HOURLY, "keep-hourly", "N", "the last of N hours"},
	{OPT_KEEP_DAILY, "keep-daily", "N", "the last of N days"},
	{OPT_KEEP_WEEKLY, "keep-weekly", "N", "the last of N weeks"},
	{OPT_KEEP_MONTHLY, "keep-monthly", "N", "the last of N months"},
	{OPT_MAX_SIZE, "max-size", "SIZE", "the newest that fit in 500M, 20G"},
	OPTION_YES,
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec undelete_options[] = {
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec repair_options[] = {
	OPTION_YES,
	OPTION_QUIET,
	OPTION_END,
};

static const struct option_spec du_options[] = {
	OPTION_JSON,
	OPTION_END,
};

#define RUN_TEXT                                                               \
	"RUN is a run's id or its beginning; without it the newest pending\n"  \
	"run of this project. PATHS behind -- are never taken for a run.\n"

const struct verb options_verbs[] = {
	{"run", NULL, "[--] CMD [ARGS...]", "run a command in a layer",
	 "Nothing it does reaches the real files until it is applied. Ends\n"
	 "with the command's own status; 125: guard itself failed, 126: not\n"
	 "executable, 127: not found, 124: ended by guard.\n",
	 run_options, true},
	{"status", "list", "", "show the runs that wait for a decision", "",
	 status_options, false},
	{"diff", NULL, "[RUN] [--] [PATHS...]", "show what a run changed",
	 RUN_TEXT "Deletions come first and are never cut off.\n", diff_options,
	 false},
	{"apply", "commit", "[RUN] [--] [PATHS...]",
	 "take a run's changes over into the real files",
	 RUN_TEXT
	 "All or nothing; `guard undo` takes it back. Texts that both\n"
	 "sides changed are merged when that is clear; else nothing is\n"
	 "applied. A .git is left alone unless a path names it.\n",
	 apply_options, false},
	{"discard", NULL, "[RUN] [--] [PATHS...]", "drop a run's changes",
	 RUN_TEXT "They go to guard's trash first; `guard undo` brings a\n"
		  "whole run back.\n",
	 discard_options, false},
	{"import", NULL, "[RUN]", "bring a run's commits into your repository",
	 "As objects and refs below refs/guard/RUN/: branches, tags, stash,\n"
	 "detached HEADs, and what only a reflog names. Your own branches,\n"
	 "HEAD, index, configuration and hooks stay as they are.\n",
	 import_options, false},
	{"patch", NULL, "[RUN] [--] [PATHS...]",
	 "print what a run changed as a patch for git",
	 RUN_TEXT
	 "For `git apply`, which takes it whole with its options for\n"
	 "index and binary. What no patch can hold is named on stderr.\n",
	 patch_options, false},
	{"undo", NULL, "[N]",
	 "take the last apply, restore, discard or undo back",
	 "With N: the last N applies, restores and discards that are in\n"
	 "effect, one by one, the newest first. `guard log --actions` lists\n"
	 "what was done. Files that have changed since are conflicts.\n",
	 undo_options, false},
	{"snapshot", NULL, "", "store the project as it is now", "",
	 snapshot_options, false},
	{"log", NULL, "[PATH]", "list snapshots, or the versions of a path", "",
	 log_options, false},
	{"ls", NULL, "SNAP [PATH]", "list a folder of a snapshot", "",
	 ls_options, false},
	{"show", NULL, "SNAP[:PATH]", "print a file of a snapshot",
	 "Without PATH: what is known of the snapshot. RUN:/tmp/FILE prints a\n"
	 "file that a run left in its own /tmp.\n",
	 show_options, false},
	{"restore", NULL, "PATHS...", "bring stored files back",
	 "Deletes nothing without --exact; what stands there now is stored\n"
	 "first. Without --at: from the newest snapshot that has the path.\n"
	 "Wildcards in quotes are matched against what is stored; ** stands\n"
	 "for any folders.\n",
	 restore_options, false},
	{"verify", NULL, "", "check that the store is whole",
	 "Reads and never writes. Ends with 1 when something is damaged: each\n"
	 "damaged pack, record and snapshot is named, and each path that\n"
	 "suffers from it.\n",
	 verify_options, false},
	{"prune", NULL, "", "take old snapshots away",
	 "A snapshot stays when any rule keeps it. Without one: all of 14 "
	 "days,\n"
	 "then 30 daily, 12 weekly and 24 monthly ones. Whatever the rules "
	 "say,\n"
	 "the newest three of each folder, all of the last 24 hours and what "
	 "runs\n"
	 "and undo need stay. `guard undelete` brings back for 7 days.\n",
	 prune_options, false},
	{"undelete", NULL, "[SNAP...]", "bring back what prune took away",
	 "Without SNAP: lists what is in the trash.\n", undelete_options,
	 false},
	{"du", NULL, "", "show what guard takes up", "", du_options, false},
	{"repair", NULL, "", "mend a damaged store",
	 "Saves what is whole in damaged packs, and stores folders anew of "
	 "which\n"
	 "something is lost: what still has the same bytes is there again. "
	 "Ends\n"
	 "with 1 when something stays lost, and names it.\n",
	 repair_options, false},
	{0},
};

const struct verb *options_verb(const char *name)
{
	const struct verb *v;

	for (v = options_verbs; v->name; v++)
		if (strcmp(v->name, name) == 0 ||
		    (v->other && strcmp(v->other, name) == 0))
			return v;
	return NULL;
}

/* Edits (insert, delete, change) from a to b; b is short. */
static size_t distance(const char *a, const char *b)
{
	size_t row[32], len = strlen(b), i;

	if (len >= 32)
		return len;
	for (i = 0; i <= len; i++)
		row[i] = i;
	for (; *a; a++) {
		size_t corner = row[0]++;

		for (i = 1; i <= len; i++) {
			size_t best = corner + (*a != b[i - 1]);

			corner = row[i];
			if (row[i] + 1 < best)
				best = row[i] + 1;
			if (row[i - 1] + 1 < best)
				best = row[i - 1] + 1;
			row[i] = best;
		}
	}
	return row[len];
}

/* What people bring along from other tools. */
static const char *const habits[][2] = {
	{"accept", "apply"},	{"merge", "apply"},	{"reject", "discard"},
	{"drop", "discard"},	{"destroy", "discard"}, {"abort", "discard"},
	{"exec", "run"},	{"start", "run"},	{"ps", "status"},
	{"history", "log"},	{"snapshots", "log"},	{"save", "snapshot"},
	{"backup", "snapshot"}, {"cat", "show"},	{"checkout", "restore"},
	{"revert", "undo"},	{"rollback", "undo"},	{"changes", "diff"},
};

const struct verb *options_nearest(const char *name)
{
	const struct verb *v, *best = NULL;
	size_t least = strlen(name) <= 3 ? 1 : 2, i;

	for (i = 0; i < sizeof(habits) / sizeof(habits[0]); i++)
		if (strcmp(name, habits[i][0]) == 0)
			return options_verb(habits[i][1]);
	for (v = options_verbs; v->name; v++) {
		size_t d = distance(name, v->name);

		if (v->other && distance(name, v->other) < d)
			d = distance(name, v->other);
		if (d <= least && (!best || d < least)) {
			best = v;
			least = d;
		}
	}
	return best;
}

void options_complain(const struct verb *verb, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	(void)fprintf(stderr, "guard: %s: %s\nguard: see `guard %s --help`\n",
		      verb->name, text ? text : "", verb->name);
}

int options_after_dashes(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return argc - 1 - i;
	return 0;
}

static bool value_may_miss(const struct option_spec *o)
{
	return o->value && o->value[0] == '[';
}

/* getopt's own tables for a verb. */
static void build(const struct verb *verb, char *letters, struct option *longs)
{
	const struct option_spec *o;
	size_t n = 0;

	if (verb->stops)
		*letters++ = '+';
	*letters++ = ':';
	*letters++ = 'h';
	for (o = verb->options; o->id; o++) {
		if (o->id < OPTIONS_HELP) {
			*letters++ = (char)o->id;
			if (o->value)
				*letters++ = ':';
		}
		if (o->name)
			longs[n++] = (struct option){
				.name = o->name,
				.has_arg = !o->value ? no_argument
					   : value_may_miss(o)
						   ? optional_argument
						   : required_argument,
				.val = o->id,
			};
	}
	longs[n++] = (struct option){.name = "help", .val = 'h'};
	longs[n] = (struct option){0};
	*letters = '\0';
}

static const struct option_spec *spec_of(const struct verb *verb, int id)
{
	const struct option_spec *o;

	for (o = verb->options; o->id; o++)
		if (o->id == id)
			return o;
	return NULL;
}

/* What getopt leaves behind: optopt is 0 for an unknown long option, the
 * letter for an unknown short one, else the option's id. */
static void complain_bad(const struct verb *verb, char **argv, int c)
{
	const struct option_spec *o = spec_of(verb, optopt);
	char letter[2] = {(char)optopt, '\0'};

	if (!optopt)
		options_complain(verb,
				 "there is no option %s, or it is cut too "
				 "short to be clear",
				 text_quote(argv[optind - 1]));
	else if (!o)
		options_complain(verb, "there is no option -%s",
				 text_quote(letter));
	else if (o->name)
		options_complain(verb, "option --%s %s", o->name,
				 c == ':' ? "needs a value" : "takes no value");
	else
		options_complain(verb, "option -%c needs a value", o->id);
}

int options_next(const struct verb *verb, int argc, char **argv)
{
	char letters[2 * MAX_OPTIONS + 4];
	struct option longs[MAX_OPTIONS + 2];
	int c;

	build(verb, letters, longs);
	opterr = 0;
	optopt = 0;
	c = getopt_long(argc, argv, letters, longs, NULL);
	if (c == 'h') {
		options_help_verb(verb);
		return OPTIONS_HELP;
	}
	if (c != '?' && c != ':')
		return c;
	complain_bad(verb, argv, c);
	return OPTIONS_BAD;
}

static void print_option(const struct option_spec *o)
{
	AUTO(buf) struct buf b = {0};

	if (o->id < OPTIONS_HELP)
		buf_printf(&b, "-%c%s", o->id, o->name ? ", " : "");
	else
		buf_add_text(&b, "    ");
	if (o->name)
		buf_printf(&b, "--%s", o->name);
	if (value_may_miss(o))
		buf_printf(&b, "[=%.*s]", (int)strlen(o->value) - 2,
			   o->value + 1);
	else if (o->value)
		buf_printf(&b, " %s", o->value);
	(void)printf("  %-26s %s\n", buf_text(&b), o->help);
}

void options_help_verb(const struct verb *verb)
{
	const struct option_spec *o;

	(void)printf("guard %s [options]%s%s\n\n%c%s.\n%s", verb->name,
		     verb->operands[0] ? " " : "", verb->operands,
		     verb->summary[0] - 'a' + 'A', verb->summary + 1,
		     verb->text);
	if (verb->other)
		(void)printf("Also called: guard %s.\n", verb->other);
	(void)printf("\n");
	for (o = verb->options; o->id; o++)
		print_option(o);
	(void)printf("  %-26s %s\n", "-h, --help", "this text");
}

void options_help(void)
{
	const struct verb *v;

	(void)printf(
		"guard [-C DIR] VERB [options] ...\n\n"
		"Runs untrusted commands over a layer, shows what they did and "
		"takes over\nwhat you accept; keeps versions of your files.\n"
		"\n");
	for (v = options_verbs; v->name; v++) {
		auto_free char *left =
			mem_printf("%s %s", v->name, v->operands);

		(void)printf("  %-30s %s\n", left, v->summary);
	}
	(void)printf(
		"\n"
		"  -C DIR                         "
		"as if started in DIR\n"
		"  --help, --version\n\n"
		"`guard VERB --help` has the options. Exit status: 0 done, "
		"1 conflicts or\nrefused (nothing done), 2 usage, 4 "
		"pending work in the way.\n");
}

void options_dump(void)
{
	const struct verb *v;
	const struct option_spec *o;

	for (v = options_verbs; v->name; v++) {
		for (o = v->options; o->id; o++) {
			if (o->id < OPTIONS_HELP)
				(void)printf("%s\t-%c\n", v->name, o->id);
			if (o->name)
				(void)printf("%s\t--%s\n", v->name, o->name);
		}
		(void)printf("%s\t-h\n%s\t--help\n", v->name, v->name);
	}
}

int options_number(const char *text, unsigned long max, unsigned long *ret)
{
	unsigned long value;
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return -1;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > max)
		return -1;
	*ret = value;
	return 0;
}
