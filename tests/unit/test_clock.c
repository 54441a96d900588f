/* guard/state/clock.c: when the age of a file may lead to a deletion. */
#include "guard/state/clock.c"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#define HOUR ((int64_t)3600)
#define DAY (24 * HOUR)
#define START ((int64_t)1800000000)

/* A state that guard has used for a while: ages are believed at START, an hour
 * after boot "one". */
static struct clock_note steady(void)
{
	struct clock_note note = {.last = START};

	(void)snprintf(note.boot, sizeof(note.boot), "one");
	note.ahead = START - HOUR;
	return note;
}

static bool step(struct clock_note *note, const char *boot, int64_t now,
		 int64_t up)
{
	const struct clock_reading r = {boot, START + now, up};

	return clock_step(note, &r);
}

static void ages_are_believed_while_both_clocks_move(void **state)
{
	struct clock_note note = steady();

	(void)state;
	assert_true(step(&note, "one", 0, HOUR));
	assert_true(step(&note, "one", 8 * DAY, HOUR + 8 * DAY));
	assert_true(step(&note, "one", 400 * DAY, HOUR + 400 * DAY));
}

static void a_jump_is_doubted_for_a_day(void **state)
{
	static const int64_t jumps[] = {8 * DAY, 400 * DAY, -3650 * DAY,
					-8 * DAY, DAY + 1};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(jumps) / sizeof(*jumps); i++) {
		struct clock_note note = steady();
		int64_t to = jumps[i];

		assert_false(step(&note, "one", to, HOUR));
		assert_false(step(&note, "one", to + HOUR, 2 * HOUR));
		assert_false(step(&note, "one", to + DAY - 1, HOUR + DAY - 1));
		assert_true(step(&note, "one", to + DAY, HOUR + DAY));
	}
}

static void the_way_back_is_a_jump_as_well(void **state)
{
	struct clock_note note = steady();

	(void)state;
	assert_false(step(&note, "one", 400 * DAY, HOUR));
	assert_false(step(&note, "one", 10, HOUR + 10));
	assert_false(step(&note, "one", DAY, HOUR + DAY));
	assert_true(step(&note, "one", DAY + 10, HOUR + DAY + 10));
}

static void small_steps_add_up_to_a_jump(void **state)
{
	struct clock_note note = steady();
	int days;

	(void)state;
	assert_true(step(&note, "one", DAY, HOUR));
	for (days = 2; days < 12; days++)
		assert_false(step(&note, "one", days * DAY, HOUR));
	note = steady();
	assert_true(step(&note, "one", HOUR, HOUR));
	assert_true(step(&note, "one", -HOUR, HOUR));
}

static void a_long_gap_across_boots_is_doubted_for_a_day(void **state)
{
	struct clock_note note = steady();

	(void)state;
	assert_true(step(&note, "two", 2 * DAY, 60));
	assert_false(step(&note, "three", 4 * DAY + 1, 60));
	assert_false(step(&note, "three", 5 * DAY, DAY));
	assert_true(step(&note, "three", 5 * DAY + 1, DAY + 60));
	assert_false(step(&note, "four", 0, 60));
}

static void the_doubt_outlives_a_boot(void **state)
{
	struct clock_note note = steady();

	(void)state;
	assert_false(step(&note, "one", 8 * DAY, HOUR));
	assert_false(step(&note, "two", 8 * DAY + HOUR, 60));
	assert_true(step(&note, "two", 9 * DAY, DAY - HOUR + 60));
}

static void without_a_record_ages_are_doubted(void **state)
{
	struct clock_note note = {0};

	(void)state;
	assert_false(step(&note, "one", 0, 5 * DAY));
	assert_true(step(&note, "one", DAY, 6 * DAY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ages_are_believed_while_both_clocks_move),
		cmocka_unit_test(a_jump_is_doubted_for_a_day),
		cmocka_unit_test(the_way_back_is_a_jump_as_well),
		cmocka_unit_test(small_steps_add_up_to_a_jump),
		cmocka_unit_test(a_long_gap_across_boots_is_doubted_for_a_day),
		cmocka_unit_test(the_doubt_outlives_a_boot),
		cmocka_unit_test(without_a_record_ages_are_doubted),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
