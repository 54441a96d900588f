#include "guard/cli/options.h"

#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

static void print_option(const struct option_spec *o)
{
	AUTO(buf) struct buf b = {0};

	if (o->id < OPTIONS_HELP)
		buf_printf(&b, "-%c%s", o->id, o->name ? ", " : "");
	else
		buf_add_text(&b, "    ");
	if (o->name)
		buf_printf(&b, "--%s", o->name);
	if (options_value_is_optional(o))
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

/* Above which verbs of the list a line stands. */
static const char *const groups[][2] = {
	{"run", "Run"},
	{"status", "See what a run did, take it over or drop it"},
	{"snapshot", "Versions of your files"},
	{"verify", "Look after what is stored"},
	{"agents", "Know what a run may do"},
};

static const char *group_of(const struct verb *v)
{
	size_t i;

	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		if (strcmp(groups[i][0], v->name) == 0)
			return groups[i][1];
	return NULL;
}

void options_help(FILE *to)
{
	const struct verb *v;

	(void)fprintf(
		to, "guard [-C DIR] VERB [options] ...\n\n"
		    "Runs untrusted commands over a layer, shows what they did "
		    "and takes over\nwhat you accept; keeps versions of your "
		    "files.\n");
	for (v = options_verbs; v->name; v++) {
		if (group_of(v))
			(void)fprintf(to, "\n%s:\n", group_of(v));
		(void)fprintf(to, "  %-10s %s%s%s%s\n", v->name, v->summary,
			      v->other ? " (or: " : "",
			      v->other ? v->other : "", v->other ? ")" : "");
	}
	(void)fprintf(
		to, "\n  -C DIR     as if started in DIR\n"
		    "  --help, --version\n\n"
		    "`guard VERB --help` has the options, `man guard` all of "
		    "it. Exit status: 0 done,\n1 conflicts or refused (nothing "
		    "done), 2 usage, 4 pending work in the way;\n`guard run` "
		    "ends with the command's own.\n");
}
