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
#include "guard/commands.h"
#include "guard/output.h"

#define MAX_OPTIONS 48

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
	{"accept", "apply"},	 {"merge", "apply"},	 {"reject", "discard"},
	{"drop", "discard"},	 {"destroy", "discard"}, {"abort", "discard"},
	{"start", "run"},	 {"attach", "shell"},	 {"enter", "shell"},
	{"ps", "status"},	 {"history", "log"},	 {"snapshots", "log"},
	{"save", "snapshot"},	 {"backup", "snapshot"}, {"cat", "show"},
	{"checkout", "restore"}, {"revert", "undo"},	 {"rollback", "undo"},
	{"changes", "diff"},
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

static const struct option_slot *slot_of(const struct option_slot *slots,
					 int id)
{
	while (slots->id && slots->id != id)
		slots++;
	return slots;
}

static bool fill(const struct verb *verb, const struct option_slot *slot)
{
	if (slot->flag)
		*slot->flag = true;
	if (slot->text)
		*slot->text = optarg;
	if (slot->choice)
		*slot->choice = slot->value;
	return !slot->read || slot->read(verb, slot->id, optarg, slot->to);
}

int options_take(const struct verb *verb, int argc, char **argv,
		 const struct option_slot *slots)
{
	int id;

	while ((id = options_next(verb, argc, argv)) != OPTIONS_END) {
		if (id == OPTIONS_HELP)
			return STATUS_OK;
		if (id == OPTIONS_BAD || !fill(verb, slot_of(slots, id)))
			return STATUS_USAGE;
	}
	if (!verb->operands[0] && optind < argc) {
		options_complain(verb, "there is no use for %s",
				 text_quote(argv[optind]));
		return STATUS_USAGE;
	}
	return OPTIONS_END;
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

bool options_color(const struct verb *verb, int id, const char *value, void *to)
{
	(void)id;
	if (output_when_parse(value, to) == 0)
		return true;
	options_complain(verb, "--color: auto, always or never");
	return false;
}

bool options_tag(const char *text)
{
	return *text && !text[strcspn(text, ", \t\n")] &&
	       text_is_utf8(text, strlen(text));
}

uint64_t options_size(const char *text)
{
	static const char units[] = "KMGT";
	uint64_t factor = 1;
	const char *unit;
	char *end;
	double value;

	if (text[0] < '0' || text[0] > '9')
		return 0;
	value = strtod(text, &end);
	if (*end && (unit = strchr(units, *end & ~0x20))) {
		do {
			factor *= 1000;
		} while (unit-- != units);
		end++;
	}
	if (*end == 'B')
		end++;
	if (*end || value < 0 || value * (double)factor > 1e18)
		return 0;
	return (uint64_t)(value * (double)factor);
}
