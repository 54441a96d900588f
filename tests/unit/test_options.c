/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/parse.h"
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

static int next(const char *verb, int argc, char **argv)
{
	return options_next(options_verb(verb), argc, argv);
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
	assert_string_equal(options_near_verb("aply")->name, "apply");
	assert_string_equal(options_near_verb("dif")->name, "diff");
	assert_string_equal(options_near_verb("statsu")->name, "status");
	assert_string_equal(options_near_verb("accept")->name, "apply");
	assert_string_equal(options_near_verb("rollback")->name, "undo");
	assert_string_equal(options_near_verb("delete")->name, "discard");
	assert_string_equal(options_near_verb("undelet")->name, "undelete");
	assert_null(options_near_verb("xyzzy"));
	assert_null(options_near_verb("q"));
	assert_null(options_near_verb(""));
}

static void options_and_operands_may_mix(void **state)
{
	char *argv[] = {"diff", "run-id", "--stat", "a", "-z", NULL};

	(void)state;
	optind = 0;
	assert_int_equal(next("diff", 5, argv), OPT_STAT);
	assert_int_equal(next("diff", 5, argv), 'z');
	assert_int_equal(next("diff", 5, argv), OPTIONS_END);
	assert_string_equal(argv[optind], "run-id");
	assert_string_equal(argv[optind + 1], "a");
}

static void the_command_of_a_run_keeps_its_own_options(void **state)
{
	char *argv[] = {"run", "--net", "none", "ls", "--nested", NULL};

	(void)state;
	optind = 0;
	assert_int_equal(next("run", 5, argv), OPT_NET);
	assert_string_equal(optarg, "none");
	assert_int_equal(next("run", 5, argv), OPTIONS_END);
	assert_int_equal(optind, 3);
	assert_string_equal(argv[4], "--nested");
}

static void complain(const char *verb, char *option, const char *expected)
{
	char *argv[] = {(char *)(uintptr_t)verb, option, NULL};
	auto_free char *text = NULL;
	int got;

	optind = 0;
	listen_to(STDERR_FILENO);
	while ((got = next(verb, 2, argv)) == 'z')
		;
	text = heard_text();
	assert_int_equal(got, OPTIONS_BAD);
	assert_non_null(strstr(text, expected));
	assert_non_null(strstr(text, "--help"));
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

	(void)state;
	assert_int_equal(options_after_dashes(6, argv), 3);
	assert_int_equal(options_after_dashes(2, argv), 0);
	assert_int_equal(options_after_dashes(3, argv), 0);
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
		for (o = v->options; o->id; o++) {
			auto_free char *name =
				o->name ? mem_printf("--%s", o->name)
					: mem_printf("-%c", o->id);

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
		for (a = v->options; a->id; a++)
			for (b = a + 1; b->id; b++) {
				assert_int_not_equal(a->id, b->id);
				assert_true(!a->name || !b->name ||
					    strcmp(a->name, b->name) != 0);
			}
}

static void split(const char *arg, const char *when, const char *path)
{
	auto_free char *got_when = NULL;
	auto_free char *got_path = NULL;

	locate_split(arg, &got_when, &got_path);
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

static bool read_short(const struct verb *verb, int id, const char *value,
		       void *to)
{
	(void)id;
	if (strlen(value) > 3) {
		options_usage_error(verb, "too long");
		return false;
	}
	*(const char **)to = value;
	return true;
}

static void options_land_in_their_slots(void **state)
{
	char *argv[] = {"restore", "-n",    "a",  "--at", "12",
			"--to",	   "there", "-q", "b",	  NULL};
	const char *at = NULL, *to = NULL;
	bool dry = false, yes = false;
	unsigned int form = 0;
	const struct option_slot slots[] = {
		{OPT_AT, .read = read_short, .to = &at},
		{OPT_TO, .text = &to},
		{'n', .flag = &dry},
		{'y', .flag = &yes},
		{'q', .choice = &form, .value = 7},
		{0},
	};

	(void)state;
	optind = 1;
	assert_int_equal(options_parse(options_verb("restore"), 9, argv, slots),
			 OPTIONS_END);
	assert_string_equal(at, "12");
	assert_string_equal(to, "there");
	assert_true(dry);
	assert_false(yes);
	assert_int_equal(form, 7);
	assert_string_equal(argv[optind], "a");
	assert_string_equal(argv[optind + 1], "b");
}

static int taken(const char *verb, int argc, char **argv)
{
	const char *at = NULL;
	const struct option_slot slots[] = {
		{OPT_AT, .read = read_short, .to = &at}, {0}};
	int got;

	optind = 1;
	listen_to(STDERR_FILENO);
	got = options_parse(options_verb(verb), argc, argv, slots);
	free(heard_text());
	return got;
}

static void what_no_slot_can_take_ends_with_usage(void **state)
{
	char *bad_value[] = {"restore", "--at", "long", NULL};
	char *unknown[] = {"restore", "--att", NULL};
	char *operand[] = {"du", "x", NULL};

	(void)state;
	assert_int_equal(taken("restore", 3, bad_value), STATUS_USAGE);
	assert_int_equal(taken("restore", 2, unknown), STATUS_USAGE);
	assert_int_equal(taken("du", 2, operand), STATUS_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_land_in_their_slots),
		cmocka_unit_test(what_no_slot_can_take_ends_with_usage),
		cmocka_unit_test(a_verb_is_found_by_both_of_its_names),
		cmocka_unit_test(the_verb_that_was_meant_is_named),
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
