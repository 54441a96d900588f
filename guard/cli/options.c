#include "guard/cli/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/state/exit_status.h"
#include "guard/cli/options_private.h"
#include "guard/cli/output.h"

#define MAX_OPTIONS 48
#define MAX_FOREIGN 16

const struct verb *options_verb(const char *name)
{
	const struct verb *v;

	for (v = options_verbs; v->name; v++)
		if (strcmp(v->name, name) == 0 ||
		    (v->other && strcmp(v->other, name) == 0))
			return v;
	return NULL;
}

int options_usage_error(const struct verb *verb, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, format);
	if (vasprintf(&text, format, ap) < 0)
		text = NULL;
	va_end(ap);
	(void)fprintf(output_stderr(),
		      "guard: %s: %s\nguard: see `guard %s --help`\n",
		      verb->name, text ? text : "", verb->name);
	return STATUS_USAGE;
}

int options_after_dashes(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return argc - 1 - i;
	return 0;
}

static bool is_value_optional(const struct option_spec *o)
{
	return o->value && o->value[0] == '[';
}

/* getopt's own tables for a verb. */
static void build_getopt_tables(const struct verb *verb, char *letters,
				struct option *longs)
{
	const struct foreign_option *f;
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
					   : is_value_optional(o)
						   ? optional_argument
						   : required_argument,
				.val = o->id,
			};
	}
	for (f = options_foreign; f->verb; f++) {
		if (strcmp(f->verb, verb->name) != 0)
			continue;
		if (f->letter) {
			*letters++ = f->letter;
			if (f->value)
				*letters++ = ':';
		}
		if (f->name)
			longs[n++] = (struct option){
				.name = f->name,
				.has_arg = f->value ? required_argument
						    : no_argument,
				.val = FOREIGN_OPTION +
				       (int)(f - options_foreign),
			};
	}
	longs[n++] = (struct option){.name = "help", .val = 'h'};
	longs[n] = (struct option){0};
	*letters = '\0';
}

const struct option_spec *options_spec(const struct verb *verb, int id)
{
	const struct option_spec *o;

	for (o = verb->options; o->id; o++)
		if (o->id == id)
			return o;
	return NULL;
}

/* --- similar names --- */

/* Edits (insert, delete, change) from a to b; b is short. */
static size_t edit_distance(const char *a, const char *b)
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

/* Verbs of other tools. */
static const char *const verb_habits[][2] = {
	{"accept", "apply"},	 {"merge", "apply"},	 {"reject", "discard"},
	{"drop", "discard"},	 {"destroy", "discard"}, {"abort", "discard"},
	{"start", "run"},	 {"attach", "shell"},	 {"enter", "shell"},
	{"ps", "status"},	 {"history", "log"},	 {"snapshots", "log"},
	{"save", "snapshot"},	 {"backup", "snapshot"}, {"cat", "show"},
	{"checkout", "restore"}, {"revert", "undo"},	 {"rollback", "undo"},
	{"changes", "diff"},	 {"delete", "discard"},	 {"remove", "discard"},
	{"rm", "discard"},	 {"pick", "review"},	 {"unapply", "undo"},
	{"sh", "shell"},	 {"search", "find"},	 {"versions", "log"},
	{"check", "verify"},	 {"fsck", "verify"},	 {"clean", "prune"},
	{"gc", "prune"},	 {"size", "du"},
};

/* The search for the most similar name. */
struct nearest {
	const char *given, *best;
	size_t least; /* edits of the best, or the most that count */
};

/* A habit stands for its name, which then is the only one. */
static struct nearest nearest_to(const char *given,
				 const char *const (*habits)[2], size_t count)
{
	struct nearest n = {
		.given = given,
		.least = strlen(given) <= 3 ? 1 : 2,
	};
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(given, habits[i][0]) == 0)
			n = (struct nearest){.given = habits[i][1]};
	return n;
}

static void try_nearest(struct nearest *n, const char *name)
{
	size_t d = name ? edit_distance(n->given, name) : SIZE_MAX;

	if (d <= n->least && (!n->best || d < n->least)) {
		n->best = name;
		n->least = d;
	}
}

const struct verb *options_near_verb(const char *name)
{
	struct nearest n =
		nearest_to(name, verb_habits,
			   sizeof(verb_habits) / sizeof(verb_habits[0]));
	const struct verb *v;

	for (v = options_verbs; v->name; v++) {
		try_nearest(&n, v->name);
		try_nearest(&n, v->other);
	}
	return n.best ? options_verb(n.best) : NULL;
}

/* The same of options. */
static const char *const option_habits[][2] = {
	{"bind", "rw"},	       {"ro-bind", "ro"}, {"force", "yes"},
	{"tmpfs", "tmp-size"}, {"mem", "memory"},
};

/* --- parsing --- */

/* Unknown, or the beginning of several. */
static void report_long_option(const struct verb *verb, const char *given)
{
	AUTO(buf) struct buf b = {0};
	size_t len = strcspn(given, "=") - 2;
	auto_free char *name = mem_strndup(given + 2, len);
	struct nearest similar =
		nearest_to(name, option_habits,
			   sizeof(option_habits) / sizeof(option_habits[0]));
	const struct option_spec *o;

	for (o = verb->options; o->id; o++)
		if (o->name && len && strncmp(o->name, name, len) == 0)
			buf_printf(&b, "%s--%s", b.len ? ", " : "", o->name);
	if (b.len) {
		options_usage_error(verb,
				    "option %s is ambiguous: it could be %s",
				    text_quote(given), buf_text(&b));
		return;
	}
	/* A short name has too many others within two edits. */
	similar.least = 1;
	for (o = verb->options; o->id; o++)
		try_nearest(&similar, o->name);
	options_usage_error(verb, "no such option: %s%s%s%s", text_quote(given),
			    similar.best ? ": did you mean --" : "",
			    similar.best ? similar.best : "",
			    similar.best ? "?" : "");
}

static int take_foreign_option(const struct verb *verb,
			       const struct foreign_option *f, int argc,
			       char **argv)
{
	auto_free char *given = f->name ? mem_printf("--%s", f->name)
					: mem_printf("-%c", f->letter);
	static const char *noted; /* -it: one note for both */

	if (f->same)
		return f->same;
	if (f->refused) {
		options_usage_error(verb, "no option %s: %s", given,
				    f->refused);
		return OPTIONS_BAD;
	}
	if (f->unused != noted)
		output_print("%s has no effect: %s", given, f->unused);
	noted = f->unused;
	return options_next(verb, argc, argv);
}

int options_next(const struct verb *verb, int argc, char **argv)
{
	char letters[2 * (MAX_OPTIONS + MAX_FOREIGN) + 4];
	struct option longs[MAX_OPTIONS + MAX_FOREIGN + 2];
	const struct foreign_option *f;
	int c;
	const struct option_spec *o;
	char letter[3] = "-";

	build_getopt_tables(verb, letters, longs);
	opterr = 0;
	optopt = 0;
	c = getopt_long(argc, argv, letters, longs, NULL);
	if (c == 'h') {
		options_help_verb(verb);
		return OPTIONS_HELP;
	}
	if (c != '?' && c != ':') {
		f = c >= FOREIGN_OPTION ? &options_foreign[c - FOREIGN_OPTION]
					: options_foreign_letter(verb, c);
		return f ? take_foreign_option(verb, f, argc, argv) : c;
	}
	/* optopt after an error: 0 for an unknown long option, the letter for
	 * an unknown short one, else the option's id. */
	letter[1] = (char)optopt;
	o = options_spec(verb, optopt);
	if (!optopt)
		report_long_option(verb, argv[optind - 1]);
	else if (!o)
		options_usage_error(verb, "no such option: %s",
				    text_quote(letter));
	else if (o->name)
		options_usage_error(verb, "option --%s %s", o->name,
				    c == ':' ? "needs a value"
					     : "takes no value");
	else
		options_usage_error(verb, "option -%c needs a value", o->id);
	return OPTIONS_BAD;
}

bool options_set(const struct verb *verb, const struct option_slot *slots,
		 int id)
{
	while (slots->id && slots->id != id)
		slots++;
	if (slots->flag)
		*slots->flag = true;
	if (slots->text)
		*slots->text = optarg;
	if (slots->choice)
		*slots->choice = slots->value;
	return !slots->read || slots->read(verb, slots->id, optarg, slots->to);
}

int options_parse(const struct verb *verb, int argc, char **argv,
		  const struct option_slot *slots)
{
	int id;

	while ((id = options_next(verb, argc, argv)) != OPTIONS_END) {
		if (id == OPTIONS_HELP)
			return STATUS_OK;
		if (id == OPTIONS_BAD || !options_set(verb, slots, id))
			return STATUS_USAGE;
	}
	if (!verb->operands[0] && optind < argc)
		return options_usage_error(verb, "unexpected argument %s",
					   text_quote(argv[optind]));
	return OPTIONS_END;
}

bool options_color(const struct verb *verb, int id, const char *value, void *to)
{
	(void)id;
	if (output_when_parse(value, to) == 0)
		return true;
	options_usage_error(verb, "--color must be auto, always or never");
	return false;
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
	for (o = verb->options; o->id; o++) {
		AUTO(buf) struct buf b = {0};

		if (o->id < OPTIONS_HELP)
			buf_printf(&b, "-%c%s", o->id, o->name ? ", " : "");
		else
			buf_add_text(&b, "    ");
		if (o->name)
			buf_printf(&b, "--%s", o->name);
		if (is_value_optional(o))
			buf_printf(&b, "[=%.*s]", (int)strlen(o->value) - 2,
				   o->value + 1);
		else if (o->value)
			buf_printf(&b, " %s", o->value);
		(void)printf("  %-26s %s\n", buf_text(&b), o->help);
	}
	(void)printf("  %-26s %s\n", "-h, --help", "this text");
}

/* Above which verbs of the list a line stands. */
static const char *const groups[][2] = {
	{"run", "Run"},
	{"status", "Inspect, apply or discard a run's changes"},
	{"snapshot", "Versions of your files"},
	{"verify", "Maintain the store"},
	{"agents", "Show what a run may do"},
};

/* The verbs of a day, in the order in which a user meets them. */
static const char *const daily[] = {
	"run",	   "status", "diff", "review", "apply",
	"discard", "undo",   "log",  "show",   "restore",
};

static void print_verb(FILE *to, const struct verb *v)
{
	(void)fprintf(to, "  %-10s %s%s%s%s\n", v->name, v->summary,
		      v->other ? " (or: " : "", v->other ? v->other : "",
		      v->other ? ")" : "");
}

static void print_every_verb(FILE *to)
{
	const struct verb *v;
	size_t i;

	for (v = options_verbs; v->name; v++) {
		for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
			if (strcmp(groups[i][0], v->name) == 0)
				(void)fprintf(to, "\n%s:\n", groups[i][1]);
		print_verb(to, v);
	}
}

void options_help(FILE *to, bool all)
{
	size_t i;

	(void)fprintf(to, "guard [-C DIR] VERB [options] ...\n"
			  "\n"
			  "Runs untrusted commands over a layer, shows their "
			  "changes and applies those\n"
			  "that you accept; keeps versions of your files.\n");
	if (all)
		print_every_verb(to);
	else
		(void)fprintf(to, "\n");
	for (i = 0; !all && i < sizeof(daily) / sizeof(daily[0]); i++)
		print_verb(to, options_verb(daily[i]));
	(void)fprintf(
		to,
		"\n  -C DIR     as if started in DIR\n"
		"  --help, --version\n"
		"\n"
		"%s`guard VERB --help` lists the options, `man guard` explains "
		"all. Exit status:\n"
		"0 done, 1 conflicts or refused (nothing changed), 2 usage "
		"error, 4 several runs\n"
		"are pending and none was named; `guard run` ends with the "
		"command's status.\n",
		all ? "" : "`guard help -a` lists every verb.\n");
}
