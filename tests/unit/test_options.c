/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/parse.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/options.h"
#include "guard/history/locate.h"

/* Output during a test goes to a file. */
static int heard = -1, kept = -1, kept_fd = -1;

static void listen_to(int fd)
{
	char name[] = "/tmp/guard-options-XXXXXX";

	(void)fflush(NULL);
	heard = mkstemp(name);
	assert_true(heard >= 0);
	assert_int_equal(unlink(name), 0);
	kept = dup(fd);
	kept_fd = fd;
	assert_int_equal(dup2(heard, fd), fd);
}

static char *heard_text(void)
{
	struct buf b = {0};
	struct err err;

	(void)fflush(NULL);
	assert_int_equal(dup2(kept, kept_fd), kept_fd);
	assert_int_equal(close(kept), 0);
	assert_int_equal(lseek(heard, 0, SEEK_SET), 0);
	assert_int_equal(fd_slurp(heard, 1u << 20, &b, &err), 0);
	assert_int_equal(close(heard), 0);
	return buf_take_text(&b);
}

static enum options_got parse(const char *verb, char **argv,
			      struct options *ret)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	return options_parse(options_verb(verb), argc, argv, ret);
}

static void a_verb_is_found_by_both_of_its_names(void **state)
{
	(void)state;
	assert_string_equal(options_verb("apply")->name, "apply");
	assert_string_equal(options_verb("commit")->name, "apply");
	assert_string_equal(options_verb("list")->name, "status");
	assert_null(options_verb("appl"));
	assert_null(options_verb(""));
}

static void the_verb_that_was_meant_is_named(void **state)
{
	(void)state;
	assert_string_equal(options_near_verb("aply"), "apply");
	assert_string_equal(options_near_verb("dfif"), "diff");
	assert_string_equal(options_near_verb("statsu"), "status");
	assert_string_equal(options_near_verb("undelet"), "undelete");
	assert_string_equal(options_near_verb("disacrd"), "discard");
	assert_null(options_near_verb("info"));
	assert_null(options_near_verb("pull"));
	assert_null(options_near_verb("port"));
	assert_string_equal(options_near_verb("applly"), "apply");
	assert_string_equal(options_near_verb("uundo"), "undo");
	assert_null(options_near_verb("applied"));
	assert_null(options_near_verb("commits"));
	assert_null(options_near_verb("discards"));
	assert_null(options_near_verb("imported"));
	assert_null(options_near_verb("ping"));
	assert_null(options_near_verb("prunes"));
	assert_null(options_near_verb("restart"));
	assert_null(options_near_verb("stops"));
	assert_null(options_near_verb("undone"));
	assert_null(options_near_verb("xyzzy"));
	assert_null(options_near_verb("q"));
	assert_null(options_near_verb(""));
}

static void options_and_operands_may_mix(void **state)
{
	char *argv[] = {"diff", "run-id", "--stat", "a", "-z", NULL};
	struct options o;

	(void)state;
	assert_int_equal(parse("diff", argv, &o), OPTIONS_OK);
	assert_int_equal(o.form, OPTION_FORM_STAT);
	assert_true(o.raw);
	assert_int_equal(o.count, 2);
	assert_string_equal(o.operands[0], "run-id");
	assert_string_equal(o.operands[1], "a");
	options_free(&o);
}

static void the_command_of_a_run_keeps_its_own_options(void **state)
{
	char *argv[] = {"run", "--net", "none", "ls", "--nested", NULL};
	struct options o;

	(void)state;
	assert_int_equal(parse("run", argv, &o), OPTIONS_OK);
	assert_int_equal(o.net, OPTION_NET_NONE);
	assert_false(o.nested);
	assert_int_equal(o.count, 2);
	assert_string_equal(o.operands[1], "--nested");
	options_free(&o);
}

/* The text on stderr. */
static char *complaint(const char *verb, char **argv)
{
	struct options o;
	enum options_got got;
	char *text;

	listen_to(STDERR_FILENO);
	got = parse(verb, argv, &o);
	text = heard_text();
	options_free(&o);
	assert_int_equal(got, OPTIONS_BAD);
	assert_non_null(strstr(text, "--help"));
	return text;
}

static void complain(const char *verb, char *option, const char *expected)
{
	char *argv[] = {(char *)(uintptr_t)verb, option, NULL};
	auto_free char *text = complaint(verb, argv);

	assert_non_null(strstr(text, expected));
}

static void a_name_may_stand_for_a_verb_with_an_option(void **state)
{
	char *ls[] = {"ls", "-z", "12", "src", NULL};
	char *redo[] = {"undelete", "-n", NULL};
	struct options o;
	auto_free char *text = complaint("undelete", redo);

	(void)state;
	assert_int_equal(parse("ls", ls, &o), OPTIONS_OK);
	assert_string_equal(o.verb->name, "show");
	assert_true(o.list);
	assert_int_equal(o.listing, OPTION_LISTING_RAW);
	options_free(&o);
	assert_non_null(strstr(text, "--undo and --dry-run exclude"));
}

static void a_bad_option_is_named_with_what_is_wrong(void **state)
{
	char long_one[] = "--bogus", short_one[] = "-X", cluster[] = "-zX";
	char no_value[] = "--at", letter[] = "-n", unwanted[] = "--yes=1";
	char hostile[] = "--\x1b[31mred";

	(void)state;
	complain("diff", long_one, "'--bogus'");
	complain("diff", short_one, "'-X'");
	complain("diff", cluster, "'-X'");
	complain("restore", no_value, "--at needs a value");
	complain("log", letter, "--number needs a value");
	complain("apply", unwanted, "--yes takes no value");
	complain("diff", hostile, "\\x1b[31mred");
}

static void the_option_that_was_meant_is_named(void **state)
{
	char near[] = "--timout=5", habit[] = "--bind=/x";
	char cut[] = "--keep=3", nothing[] = "--=1", far[] = "--frobnicate";

	(void)state;
	complain("run", near, "did you mean --timeout?");
	complain("run", habit, "did you mean --rw?");
	complain("prune", cut, "could be --keep-last, --keep-within");
	complain("diff", nothing, "no such option: '--=1'\n");
	complain("diff", far, "no such option: '--frobnicate'\n");
}

static void operands_behind_dashes_are_counted(void **state)
{
	char *argv[] = {"diff", "a", "--", "b", "--", "c", NULL};
	char *none[] = {"diff", "a", NULL};
	struct options o;

	(void)state;
	assert_int_equal(parse("diff", argv, &o), OPTIONS_OK);
	assert_int_equal(o.dashed, 3);
	options_free(&o);
	assert_int_equal(parse("diff", none, &o), OPTIONS_OK);
	assert_int_equal(o.dashed, NO_DASHES);
	options_free(&o);
}

static void a_number_is_a_whole_one_within_its_limit(void **state)
{
	unsigned long n = 7;

	(void)state;
	assert_int_equal(parse_number("12", 100, &n), 0);
	assert_int_equal(n, 12);
	assert_int_equal(parse_number("100", 100, &n), 0);
	n = 7;
	assert_int_equal(parse_number("101", 100, &n), -1);
	assert_int_equal(parse_number("-1", 100, &n), -1);
	assert_int_equal(parse_number("+1", 100, &n), -1);
	assert_int_equal(parse_number(" 1", 100, &n), -1);
	assert_int_equal(parse_number("1x", 100, &n), -1);
	assert_int_equal(parse_number("", 100, &n), -1);
	assert_int_equal(parse_number("99999999999999999999999", ~0ul, &n), -1);
	assert_int_equal(n, 7);
}

static void the_help_of_a_verb_names_each_of_its_options(void **state)
{
	const struct verb *v;
	const struct option_spec *o;

	(void)state;
	for (v = options_verbs; v->name; v++) {
		auto_free char *text = NULL;

		listen_to(STDOUT_FILENO);
		options_help_verb(v);
		text = heard_text();
		assert_non_null(strstr(text, "-h, --help"));
		for (o = v->options; o->help; o++) {
			auto_free char *name =
				o->name ? mem_printf("--%s", o->name)
					: mem_printf("-%c", o->letter);

			if (o->kind >= OPTION_SAME)
				continue;
			assert_non_null(strstr(text, name));
			assert_non_null(strstr(text, o->help));
		}
	}
}

static void no_option_of_a_verb_is_there_twice(void **state)
{
	const struct verb *v;
	const struct option_spec *a, *b;

	(void)state;
	for (v = options_verbs; v->name; v++)
		for (a = v->options; a->help; a++)
			for (b = a + 1; b->help; b++) {
				assert_true(!a->letter ||
					    a->letter != b->letter);
				assert_true(!a->name || !b->name ||
					    strcmp(a->name, b->name) != 0);
			}
}

static void split(const char *arg, const char *when, const char *path)
{
	auto_free char *got_when = NULL;
	auto_free char *got_path = NULL;

	/* Without @ it names no run. */
	locate_split(NULL, arg, &got_when, &got_path);
	assert_string_equal(got_when, when);
	if (path)
		assert_string_equal(got_path, path);
	else
		assert_null(got_path);
}

static void a_time_with_colons_is_told_from_the_path_behind_it(void **state)
{
	(void)state;
	split("12", "12", NULL);
	split("12:a", "12", "a");
	split("12:", "12", "");
	split("latest~2:a:b", "latest~2", "a:b");
	split("2h ago:src/a.c", "2h ago", "src/a.c");
	split("2026-11-21:a", "2026-11-21", "a");
	split("2026-11-21 14:30", "2026-11-21 14:30", NULL);
	split("2026-11-21 14:30:a", "2026-11-21 14:30", "a");
	split("2026-11-21 14:30:05", "2026-11-21 14:30:05", NULL);
	split("2026-11-21 14:30:05:a", "2026-11-21 14:30:05", "a");
	split("2026-11-21T14:30:055", "2026-11-21T14:30", "055");
}

static void values_land_in_their_members(void **state)
{
	char *argv[] = {"restore",     "-n",	 "a", "--at",	"12",
			"--overwrite", "always", "b", "--json", NULL};
	char *numbers[] = {"run", "--timeout",	   "1.5m", "--layer-size",
			   "2k",  "--ro",	   "a",	   "--ro",
			   "b",	  "--layer-files", "3",	   "--",
			   NULL};
	struct options o;

	(void)state;
	assert_int_equal(parse("restore", argv, &o), OPTIONS_OK);
	assert_string_equal(o.at, "12");
	assert_int_equal(o.overwrite, OPTION_OVERWRITE_ALWAYS);
	assert_true(o.dry_run);
	assert_true(o.json);
	assert_false(o.yes);
	assert_null(o.to);
	assert_string_equal(o.operands[0], "a");
	assert_string_equal(o.operands[1], "b");
	assert_true(options_given(&o, "overwrite"));
	assert_false(options_given(&o, "exact"));
	options_free(&o);
	assert_int_equal(parse("run", numbers, &o), OPTIONS_OK);
	assert_int_equal(o.timeout, 90000);
	assert_int_equal(o.versions, 150);
	assert_int_equal(o.layer_size, 2000);
	assert_int_equal(o.layer_files, 3);
	assert_string_equal(o.ro[0], "a");
	assert_string_equal(o.ro[1], "b");
	assert_null(o.ro[2]);
	options_free(&o);
}

static void an_optional_value_has_a_default(void **state)
{
	char *bare[] = {"diff", "--risk", "--json", NULL};
	char *given[] = {"diff", "--risk=note", "--json=hunks", NULL};
	struct options o;

	(void)state;
	assert_int_equal(parse("diff", bare, &o), OPTIONS_OK);
	assert_int_equal(o.risk, OPTION_RISK_HIGH);
	assert_int_equal(o.json_form, 0);
	options_free(&o);
	assert_int_equal(parse("diff", given, &o), OPTIONS_OK);
	assert_int_equal(o.risk, OPTION_RISK_NOTE);
	assert_int_equal(o.json_form, OPTION_JSON_FORM_HUNKS);
	options_free(&o);
}

static void a_value_that_does_not_fit_is_named(void **state)
{
	char choice[] = "--net=lan", number[] = "--layer-files=0";
	char time[] = "--timeout=0", size[] = "--layer-size=x";
	char lines[] = "--unified=1000001", list[] = "--allow=all";

	(void)state;
	complain("run", choice,
		 "--net must be host, private or none, not 'lan'");
	complain("run", number, "--layer-files must be a number of at least 1");
	complain("run", time, "--timeout must be a time like 90s, 5m or 2h");
	complain("run", size, "--layer-size must be a size like 500M or 20G");
	complain("diff", lines, "must be a number from 0 to 1000000");
	complain("run", list, "--allow must be perf, io_uring,");
}

static void options_that_exclude_each_other_are_named(void **state)
{
	char *pair[] = {"apply", "--kind=a", "-p", NULL};
	char *group[] = {"apply", "--merge", "--ours", NULL};
	char *operand[] = {"explain", "--hidden", "a", NULL};
	char *lonely[] = {"apply", "-m", "text", NULL};
	auto_free char *a = complaint("apply", pair);
	auto_free char *b = complaint("apply", group);
	auto_free char *c = complaint("explain", operand);
	auto_free char *d = complaint("apply", lonely);

	(void)state;
	assert_non_null(strstr(a, "--kind and --patch exclude each other: "));
	assert_non_null(strstr(b, "--ours and --merge exclude each other\n"));
	assert_non_null(strstr(c, "--hidden takes no PATHS"));
	assert_non_null(strstr(d, "--message needs --commit or --branch"));
}

static void operands_are_counted(void **state)
{
	char *many[] = {"doctor", "x", NULL}, *few[] = {"show", NULL};
	char *third[] = {"show", "1", "a", "b", NULL};
	auto_free char *a = complaint("doctor", many);
	auto_free char *b = complaint("show", few);
	auto_free char *c = complaint("show", third);

	(void)state;
	assert_non_null(strstr(a, "unexpected argument 'x'\n"));
	assert_non_null(strstr(b, "expected SNAP[:PATH]"));
	assert_non_null(strstr(c, "unexpected argument 'b': expected SNAP"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_land_in_their_members),
		cmocka_unit_test(an_optional_value_has_a_default),
		cmocka_unit_test(a_value_that_does_not_fit_is_named),
		cmocka_unit_test(options_that_exclude_each_other_are_named),
		cmocka_unit_test(operands_are_counted),
		cmocka_unit_test(a_verb_is_found_by_both_of_its_names),
		cmocka_unit_test(the_verb_that_was_meant_is_named),
		cmocka_unit_test(a_name_may_stand_for_a_verb_with_an_option),
		cmocka_unit_test(options_and_operands_may_mix),
		cmocka_unit_test(the_command_of_a_run_keeps_its_own_options),
		cmocka_unit_test(a_bad_option_is_named_with_what_is_wrong),
		cmocka_unit_test(the_option_that_was_meant_is_named),
		cmocka_unit_test(operands_behind_dashes_are_counted),
		cmocka_unit_test(a_number_is_a_whole_one_within_its_limit),
		cmocka_unit_test(the_help_of_a_verb_names_each_of_its_options),
		cmocka_unit_test(no_option_of_a_verb_is_there_twice),
		cmocka_unit_test(
			a_time_with_colons_is_told_from_the_path_behind_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
