#include "guard/cli/options.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/parse.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/output.h"
#include "guard/cli/progress.h"
#include "guard/state/exit_status.h"

/* options_verbs[], verb_habits[] and option_habits[] */
#include <guard_verbs.h>

#define MAX_OPTIONS 96
/* The first id of an option for getopt, above all letters. */
#define FIRST_ID 256

static const struct verb_alias *find_alias(const struct verb *v,
					   const char *name)
{
	const struct verb_alias *a;

	for (a = v->others; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a;
	return NULL;
}

const struct verb *options_verb(const char *name)
{
	const struct verb *v;

	for (v = options_verbs; v->name; v++)
		if (strcmp(v->name, name) == 0 || find_alias(v, name))
			return v;
	return NULL;
}

int options_usage_error(const struct options *o, const char *format, ...)
{
	auto_free char *text = NULL;
	va_list ap;

	va_start(ap, format);
	text = mem_vprintf(format, ap);
	va_end(ap);
	(void)fprintf(output_stderr(),
		      "guard: %s: %s\nguard: see `guard %s --help`\n", o->typed,
		      text, o->typed);
	return STATUS_USAGE;
}

void options_free(struct options *o)
{
	const struct option_spec *option;

	for (option = o->verb->options; option->help; option++)
		if (option->kind == OPTION_LIST)
			mem_list_free((char ***)((char *)o + option->field));
	mem_list_free(&o->words);
	free(o->given);
}

static bool is_own(const struct option_spec *o)
{
	return o->kind < OPTION_SAME;
}

static bool is_value_optional(const struct option_spec *o)
{
	return o->value && o->value[0] == '[';
}

/* name: the long name, or the letter. */
static const struct option_spec *find_option(const struct verb *verb,
					     const char *name)
{
	const struct option_spec *o;

	for (o = verb->options; o->help; o++)
		if ((o->name && strcmp(o->name, name) == 0) ||
		    (o->letter == name[0] && !name[1]))
			return o;
	return NULL;
}

/* --- similar names --- */

#define NAME_MAX_LEN 31

/* Edits from a to b: insert, delete, change, swap two neighbors. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t d[NAME_MAX_LEN + 1][NAME_MAX_LEN + 1], i, k;
	size_t a_len = strlen(a), b_len = strlen(b);

	if (a_len > NAME_MAX_LEN || b_len > NAME_MAX_LEN)
		return SIZE_MAX;
	for (i = 0; i <= a_len; i++)
		for (k = 0; k <= b_len; k++) {
			size_t least = i && k ? d[i - 1][k - 1] +
							(a[i - 1] != b[k - 1])
					      : i + k;

			if (i && k && d[i - 1][k] < least)
				least = d[i - 1][k] + 1;
			if (i && k && d[i][k - 1] < least)
				least = d[i][k - 1] + 1;
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] &&
			    a[i - 2] == b[k - 1] && d[i - 2][k - 2] < least)
				least = d[i - 2][k - 2] + 1;
			d[i][k] = least;
		}
	return d[a_len][b_len];
}

/* The search for the most similar name. */
struct nearest {
	const char *given, *best;
	size_t least; /* edits of the best, or the most that count */
};

static void try_nearest(struct nearest *n, const char *name)
{
	size_t d = name ? edit_distance(n->given, name) : SIZE_MAX;

	if (d <= n->least && (!n->best || d < n->least)) {
		n->best = name;
		n->least = d;
	}
}

/* A slip of the same word: `port` is no `import`, and `discarded` asks. */
const char *options_near_verb(const char *name)
{
	struct nearest n = {.given = name, .least = 1};
	const struct verb_alias *a;
	const struct verb *v;
	size_t same = 0;

	for (v = options_verbs; v->name; v++) {
		try_nearest(&n, v->name);
		for (a = v->others; a->name; a++)
			try_nearest(&n, a->name);
	}
	if (!n.best || strlen(name) <= strlen(n.best))
		return n.best;
	/* One more letter is the one before it, or else an ending. */
	while (name[same] == n.best[same])
		same++;
	return same && name[same] == name[same - 1] ? n.best : NULL;
}

/* A verb needs operands: they are PATHS, or its help explains them. */
static const char *least_operands(const struct verb *v)
{
	return strncmp(v->operands, "PATHS", 5) == 0 ? " ."
	       : v->stops || v->fewest ||
			       (v->operands[0] && v->operands[0] != '[')
		       ? " --help"
		       : "";
}

/* The operands that were typed. Those of another tool are ours if there is no
 * option, which may have a value, and if one is enough. */
static void add_operands(struct buf *to, const struct verb *v, char **words,
			 bool options)
{
	bool foreign = false;
	int count;

	for (count = 0; words[count]; count++)
		foreign |=
			*words[count] == '-' && strcmp(words[count], "--") != 0;
	foreign |= count > 1 && v->most <= 2;
	if (foreign && !options && !v->stops)
		words += count;
	count = 0;
	for (; *words && count < v->most; words++)
		if (options || v->stops || **words != '-') {
			buf_printf(to, " %s", text_shell(*words));
			count++;
		}
	if (!count)
		buf_add_text(to, least_operands(v));
}

static void print_suggestion(bool first, struct buf *command)
{
	(void)fprintf(output_stderr(), "guard: %s `%s %s`?\n",
		      first ? "did you mean" : "or", output_command(),
		      buf_text(command));
	buf_clear(command);
}

int options_unknown_verb(char **words)
{
	const char *given = words[0];
	const char *near = options_near_verb(given);
	const struct verb *verb = near ? options_verb(near) : NULL;
	AUTO(buf) struct buf b = {0};
	size_t i, found = 0;

	(void)fprintf(output_stderr(), "guard: no such verb: %s\n",
		      text_quote(given));
	for (i = 0; i < ARRAY_SIZE(verb_habits); i++) {
		const struct verb_habit *h = &verb_habits[i];

		if (strcmp(given, h->typed) != 0)
			continue;
		buf_printf(&b, "%s%s%s", h->verb,
			   h->fixed && *h->fixed ? " " : "", h->fixed ?: "");
		if (!h->fixed)
			add_operands(&b, options_verb(h->verb), words + 1,
				     false);
		print_suggestion(!found++, &b);
	}
	if (found)
		return STATUS_USAGE;
	if (strchr(given, '/') ? access(given, X_OK) == 0
			       : path_has_program(given)) {
		buf_add_text(&b, "run --");
		for (; *words; words++)
			buf_printf(&b, " %s", text_shell(*words));
	} else if (near) {
		const struct verb_alias *alias = find_alias(verb, near);

		buf_printf(&b, "%s%s%s", verb->name,
			   alias && alias->option ? " --" : "",
			   alias && alias->option ? alias->option : "");
		if (strcmp(near, "find") == 0 && !words[1])
			buf_add_text(&b, " --help");
		add_operands(&b, verb, words + 1, true);
	}
	if (b.len)
		print_suggestion(true, &b);
	(void)fprintf(output_stderr(), "guard: see `guard --help`\n");
	return STATUS_USAGE;
}

int options_before_verb(char **words)
{
	size_t dashes = strspn(words[0], "-");
	auto_free char *name =
		mem_strndup(words[0] + dashes, strcspn(words[0] + dashes, "="));
	const struct option_spec *option =
		find_option(options_verb("run"), name);
	AUTO(buf) struct buf b = {0};
	char **at = words;

	while (*at && !options_verb(*at))
		at++;
	if (!*at && option && option->kind == OPTION_REFUSED) {
		(void)fprintf(output_stderr(), "guard: no option %s: %s\n",
			      text_quote(words[0]), option->help);
		return STATUS_USAGE;
	}
	(void)fprintf(output_stderr(),
		      "guard: no such option before the verb: %s\n",
		      text_quote(words[0]));
	if (*at || option) {
		buf_add_text(&b, *at ? *at : "run");
		for (; *words; words++)
			if (words != at)
				buf_printf(&b, " %s", text_shell(*words));
		print_suggestion(true, &b);
	}
	(void)fprintf(output_stderr(), "guard: see `guard --help`\n");
	return STATUS_USAGE;
}

/* --- values --- */

static bool set_choice(const struct option_spec *option, const char *value,
		       unsigned int *ret)
{
	for (*ret = 0; value && option->words[*ret]; ++*ret)
		if (strcmp(option->words[*ret], value) == 0)
			break;
	if (value && !option->words[*ret])
		return false;
	*ret += value != NULL;
	return true;
}

static bool set_number(const struct option_spec *option, const char *value,
		       unsigned long *ret)
{
	return parse_number(value, option->most, ret) == 0 &&
	       *ret >= option->least;
}

static bool set_time(const struct option_spec *option, const char *value,
		     int64_t *ret)
{
	*ret = strcmp(value, "0") == 0 ? 0 : parse_milliseconds(value);
	return *ret >= (int64_t)option->least;
}

static bool set_member(struct options *o, const struct option_spec *option,
		       const char *value)
{
	void *member = (char *)o + option->field;
	unsigned int ignored;

	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return true;
	case OPTION_TEXT:
		*(const char **)member = value;
		return !option->expected || *value;
	case OPTION_LIST:
		mem_list_add(member, value);
		return !option->words || set_choice(option, value, &ignored);
	case OPTION_NUMBER:
		return set_number(option, value, member);
	case OPTION_SIZE:
		*(uint64_t *)member = parse_size(value);
		return *(uint64_t *)member > 0;
	case OPTION_TIME:
		return set_time(option, value, member);
	case OPTION_CHOICE:
		return set_choice(option, value ?: option->bare, member);
	default:
		return true;
	}
}

static bool set_option(struct options *o, const struct option_spec *option,
		       const char *value)
{
	o->given = mem_resize(o->given, o->given_count + 1, sizeof(*o->given));
	o->given[o->given_count++] = (struct option_given){option, value};
	if (option->sets)
		*(unsigned int *)((char *)o + option->sets) = option->set_to;
	if (set_member(o, option, value))
		return true;
	options_usage_error(o, "--%s must be %s, not %s", option->name,
			    option->expected, text_quote(value));
	return false;
}

/* --- exclusions --- */

static bool is_given(const struct options *o, const struct option_spec *option)
{
	size_t i;

	for (i = 0; i < o->given_count; i++)
		if (o->given[i].option == option)
			return true;
	return false;
}

bool options_given(const struct options *o, const char *name)
{
	return is_given(o, find_option(o->verb, name));
}

static bool obeys(const struct options *o, const struct option_rule *rule)
{
	const struct option_spec *all = o->verb->options;
	const struct option_spec *a = &all[rule->a - 1];
	const struct option_spec *b = rule->b ? &all[rule->b - 1] : NULL;
	const struct option_spec *c = rule->c ? &all[rule->c - 1] : NULL;

	if (!is_given(o, a))
		return true;
	if (rule->needs) {
		if (is_given(o, b) || (c && is_given(o, c)))
			return true;
		options_usage_error(o, "--%s needs --%s%s%s", a->name, b->name,
				    c ? " or --" : "", c ? c->name : "");
	} else if (b) {
		if (!is_given(o, b))
			return true;
		options_usage_error(o, "--%s and --%s exclude each other%s%s",
				    a->name, b->name, rule->why ? ": " : "",
				    rule->why ?: "");
	} else {
		if (!o->count)
			return true;
		options_usage_error(o, "--%s takes no %s%s%s", a->name,
				    rule->operand, rule->why ? ": " : "",
				    rule->why ?: "");
	}
	return false;
}

static bool check_usage(const struct options *o)
{
	const struct option_rule *rule;

	for (rule = o->verb->rules; rule->a; rule++)
		if (!obeys(o, rule))
			return false;
	if (o->count > o->verb->most)
		options_usage_error(o, "unexpected argument %s%s%s",
				    text_quote(o->operands[o->verb->most]),
				    o->verb->most ? ": expected " : "",
				    o->verb->operands);
	else if (o->count < o->verb->fewest)
		options_usage_error(o, "expected %s", o->verb->operands);
	else
		return true;
	return false;
}

/* --- parsing --- */

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
	for (o = verb->options; o->help; o++) {
		if (o->letter)
			*letters++ = o->letter;
		if (o->letter && o->value)
			*letters++ = ':';
		if (o->name)
			longs[n++] = (struct option){
				.name = o->name,
				.has_arg = !o->value ? no_argument
					   : is_value_optional(o)
						   ? optional_argument
						   : required_argument,
				.val = FIRST_ID + (int)(o - verb->options),
			};
	}
	longs[n++] = (struct option){.name = "help", .val = 'h'};
	longs[n] = (struct option){0};
	*letters = '\0';
}

/* The option of a value of getopt's, or NULL. */
static const struct option_spec *option_of(const struct verb *verb, int id)
{
	const char letter[] = {(char)id, '\0'};

	return id >= FIRST_ID ? &verb->options[id - FIRST_ID]
	       : id	      ? find_option(verb, letter)
			      : NULL;
}

/* Unknown, or the beginning of several. */
static void report_long_option(const struct options *options, const char *given)
{
	AUTO(buf) struct buf b = {0};
	size_t len = strcspn(given, "=") - 2;
	auto_free char *name = mem_strndup(given + 2, len);
	/* A short name has too many others within two edits. */
	struct nearest similar = {.given = name, .least = 1};
	const struct option_spec *o;
	size_t i;

	for (o = options->verb->options; o->help; o++)
		if (is_own(o) && o->name && len &&
		    strncmp(o->name, name, len) == 0)
			buf_printf(&b, "%s--%s", b.len ? ", " : "", o->name);
	if (b.len) {
		options_usage_error(options,
				    "option %s is ambiguous: it could be %s",
				    text_quote(given), buf_text(&b));
		return;
	}
	for (i = 0; i < ARRAY_SIZE(option_habits); i++)
		if (strcmp(name, option_habits[i][0]) == 0 &&
		    find_option(options->verb, option_habits[i][1]))
			similar = (struct nearest){.given = name,
						   .best = option_habits[i][1]};
	for (o = options->verb->options; o->help; o++)
		if (is_own(o))
			try_nearest(&similar, o->name);
	options_usage_error(options, "no such option: %s%s%s%s",
			    text_quote(given),
			    similar.best ? ": did you mean --" : "",
			    similar.best ?: "", similar.best ? "?" : "");
}

/* getopt's optopt is 0 for an unknown long option, the letter for an unknown
 * short one, else the option's id. */
static void report_bad_option(const struct options *options, char **argv,
			      bool value_missing)
{
	const struct option_spec *o = option_of(options->verb, optopt);
	const char letter[] = {'-', (char)optopt, '\0'};

	if (!optopt)
		report_long_option(options, argv[optind - 1]);
	else if (!o)
		options_usage_error(options, "no such option: %s",
				    text_quote(letter));
	else
		options_usage_error(options, "option -%s%s %s",
				    o->name ? "-" : "", o->name ?: letter + 1,
				    value_missing ? "needs a value"
						  : "takes no value");
}

/* An option of another tool: the option of guard that it stands for, or NULL.
 */
static const struct option_spec *
translate_option(const struct options *o, const struct option_spec *option,
		 enum options_got *ret)
{
	auto_free char *typed = option->name
					? mem_printf("--%s", option->name)
					: mem_printf("-%c", option->letter);
	static const char
		*noted; /* the last value: -it gets one note for both */

	if (option->kind == OPTION_SAME)
		return find_option(o->verb, option->help);
	if (option->kind == OPTION_REFUSED) {
		options_usage_error(o, "no option %s: %s", typed, option->help);
		*ret = OPTIONS_BAD;
	} else if (!noted || strcmp(option->help, noted) != 0) {
		output_print("%s has no effect: %s", typed, option->help);
		noted = option->help;
	}
	return NULL;
}

static enum options_got parse_options(struct options *o, int argc, char **argv)
{
	char letters[2 * MAX_OPTIONS + 4];
	struct option longs[MAX_OPTIONS + 2];
	enum options_got got = OPTIONS_OK;
	int id;

	build_getopt_tables(o->verb, letters, longs);
	opterr = 0;
	optind = 0; /* a new argument list */
	for (;;) {
		const struct option_spec *option;

		optopt = 0;
		id = getopt_long(argc, argv, letters, longs, NULL);
		if (id == -1)
			return got;
		option = option_of(o->verb, id);
		if (id == 'h') {
			options_help_verb(o->verb);
			return OPTIONS_HELP;
		}
		if (id == '?' || id == ':') {
			report_bad_option(o, argv, id == ':');
			return OPTIONS_BAD;
		}
		if (!is_own(option))
			option = translate_option(o, option, &got);
		if (got || (option && !set_option(o, option, optarg)))
			return OPTIONS_BAD;
	}
}

static int words_after_dashes(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return argc - 1 - i;
	return NO_DASHES;
}

enum options_got options_parse(const struct verb *verb, int argc, char **argv,
			       struct options *ret)
{
	const struct verb_alias *alias = find_alias(verb, argv[0]);
	const struct option_spec *option;
	enum options_got got;
	int i;

	/* getopt moves the operands about. */
	*ret = (struct options){
		.verb = verb,
		.typed = argv[0],
		.dashed = words_after_dashes(argc, argv),
	};
	for (i = 1; i < argc; i++)
		mem_list_add(&ret->words, argv[i]);
	for (option = verb->options; option->help; option++) {
		void *member = (char *)ret + option->field;

		if (option->kind == OPTION_NUMBER)
			*(unsigned long *)member = option->initial;
		else if (option->kind == OPTION_TIME)
			*(int64_t *)member = (int64_t)option->initial;
	}
	if (alias && alias->option)
		(void)set_option(ret, find_option(verb, alias->option), NULL);
	got = parse_options(ret, argc, argv);
	ret->operands = argv + optind;
	ret->count = argc - optind;
	if (got)
		return got;
	if (ret->quiet)
		output_quiet(true);
	if (ret->color)
		output_color((enum output_when)(ret->color - 1));
	if (ret->progress == OPTION_PROGRESS_JSON)
		progress_as_json();
	return check_usage(ret) ? OPTIONS_OK : OPTIONS_BAD;
}

void options_help_verb(const struct verb *verb)
{
	const struct verb_alias *a;
	const struct option_spec *o;

	(void)printf("guard %s [options]%s%s\n\n%c%s.\n%s", verb->name,
		     verb->operands[0] ? " " : "", verb->operands,
		     verb->summary[0] - 'a' + 'A', verb->summary + 1,
		     verb->text);
	for (a = verb->others; a->name; a++)
		(void)printf("guard %s means guard %s%s%s.\n", a->name,
			     verb->name, a->option ? " --" : "",
			     a->option ?: "");
	(void)printf("\n");
	for (o = verb->options; o->help; o++) {
		AUTO(buf) struct buf b = {0};

		if (!is_own(o))
			continue;
		if (o->letter)
			buf_printf(&b, "-%c%s", o->letter, o->name ? ", " : "");
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

static void print_verb(FILE *to, const struct verb *v)
{
	const struct verb_alias *a = v->others;

	(void)fprintf(to, "  %-10s %s", v->name, v->summary);
	for (; a->name; a++)
		(void)fprintf(to, "%s%s", a == v->others ? " (or: " : ", ",
			      a->name);
	(void)fprintf(to, "%s\n", a == v->others ? "" : ")");
}

void options_help(FILE *to, bool all)
{
	const struct verb *v;

	(void)fprintf(to, "guard [-C DIR] VERB [options] ...\n"
			  "\n"
			  "Runs untrusted commands over a layer, shows their "
			  "changes and applies those\n"
			  "that you accept; keeps versions of your files.\n");
	if (!all)
		(void)fprintf(to, "\n");
	for (v = options_verbs; v->name; v++) {
		if (all && v->section)
			(void)fprintf(to, "\n%s:\n", v->section);
		if (all || v->daily)
			print_verb(to, v);
	}
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
		all ? ""
		    : "`guard demo` shows guard at work, "
		      "`guard help -a` lists every verb.\n");
}
