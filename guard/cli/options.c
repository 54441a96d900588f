#include "guard/cli/options.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/cli/commands.h"
#include "guard/cli/output.h"

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

void options_usage_error(const struct verb *verb, const char *format, ...)
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

bool options_value_is_optional(const struct option_spec *o)
{
	return o->value && o->value[0] == '[';
}

/* getopt's own tables for a verb. */
static void build_getopt_tables(const struct verb *verb, char *letters,
				struct option *longs)
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
					   : options_value_is_optional(o)
						   ? optional_argument
						   : required_argument,
				.val = o->id,
			};
	}
	longs[n++] = (struct option){.name = "help", .val = 'h'};
	longs[n] = (struct option){0};
	*letters = '\0';
}

static const struct option_spec *lookup_option_spec(const struct verb *verb,
						    int id)
{
	const struct option_spec *o;

	for (o = verb->options; o->id; o++)
		if (o->id == id)
			return o;
	return NULL;
}

/* Unknown, or the beginning of several. */
static void report_long_option(const struct verb *verb, const char *given)
{
	AUTO(buf) struct buf b = {0};
	size_t len = strcspn(given, "=") - 2;
	const struct option_spec *o;

	for (o = verb->options; o->id; o++)
		if (o->name && len && strncmp(o->name, given + 2, len) == 0)
			buf_printf(&b, "%s--%s", b.len ? ", " : "", o->name);
	if (b.len) {
		options_usage_error(verb, "option %s could be %s",
				    text_quote(given), buf_text(&b));
		return;
	}
	o = options_near_option(verb, given + 2, len);
	options_usage_error(verb, "there is no option %s%s%s%s",
			    text_quote(given), o ? ": did you mean --" : "",
			    o ? o->name : "", o ? "?" : "");
}

/* The state of getopt after an error: optopt is 0 for an unknown long option,
 * the letter for an unknown short one, else the option's id. */
static void report_bad_option(const struct verb *verb, char **argv, int c)
{
	const struct option_spec *o = lookup_option_spec(verb, optopt);
	char letter[3] = {'-', (char)optopt, '\0'};

	if (!optopt)
		report_long_option(verb, argv[optind - 1]);
	else if (!o)
		options_usage_error(verb, "there is no option %s",
				    text_quote(letter));
	else if (o->name)
		options_usage_error(verb, "option --%s %s", o->name,
				    c == ':' ? "needs a value"
					     : "takes no value");
	else
		options_usage_error(verb, "option -%c needs a value", o->id);
}

int options_next(const struct verb *verb, int argc, char **argv)
{
	char letters[2 * MAX_OPTIONS + 4];
	struct option longs[MAX_OPTIONS + 2];
	int c;

	build_getopt_tables(verb, letters, longs);
	opterr = 0;
	optopt = 0;
	c = getopt_long(argc, argv, letters, longs, NULL);
	if (c == 'h') {
		options_help_verb(verb);
		return OPTIONS_HELP;
	}
	if (c != '?' && c != ':')
		return c;
	report_bad_option(verb, argv, c);
	return OPTIONS_BAD;
}

static const struct option_slot *
find_option_slot(const struct option_slot *slots, int id)
{
	while (slots->id && slots->id != id)
		slots++;
	return slots;
}

static bool set_option_slot(const struct verb *verb,
			    const struct option_slot *slot)
{
	if (slot->flag)
		*slot->flag = true;
	if (slot->text)
		*slot->text = optarg;
	if (slot->choice)
		*slot->choice = slot->value;
	return !slot->read || slot->read(verb, slot->id, optarg, slot->to);
}

int options_parse(const struct verb *verb, int argc, char **argv,
		  const struct option_slot *slots)
{
	int id;

	while ((id = options_next(verb, argc, argv)) != OPTIONS_END) {
		if (id == OPTIONS_HELP)
			return STATUS_OK;
		if (id == OPTIONS_BAD ||
		    !set_option_slot(verb, find_option_slot(slots, id)))
			return STATUS_USAGE;
	}
	if (!verb->operands[0] && optind < argc) {
		options_usage_error(verb, "there is no use for %s",
				    text_quote(argv[optind]));
		return STATUS_USAGE;
	}
	return OPTIONS_END;
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

bool options_color(const struct verb *verb, int id, const char *value, void *to)
{
	(void)id;
	if (output_when_parse(value, to) == 0)
		return true;
	options_usage_error(verb, "--color: auto, always or never");
	return false;
}
