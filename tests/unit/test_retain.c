/* The rules of retention, as tables. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "snapshot/maintain/retain.h"

#define HOUR 3600
#define DAY (24 * HOUR)
/* Saturday, 2026-11-21 12:00 UTC */
#define NOW 1795262400

struct when {
	int64_t age; /* seconds before NOW; 0 ends it */
	const char *root; /* NULL: "/p" */
	bool result, pinned, tagged;
};

/* The numbers that a policy keeps, oldest first: "1 2 5". */
static void check(const struct when *when, struct retain_policy policy,
		  const char *wanted)
{
	struct retain_item items[64] = {0};
	char text[512] = "";
	size_t count, i;

	for (count = 0; when[count].age; count++)
		items[count] = (struct retain_item){
			.seq = count + 1,
			.time = {.sec = NOW - when[count].age},
			.root = when[count].root ? when[count].root : "/p",
			.result = when[count].result,
			.pinned = when[count].pinned,
			.tagged = when[count].tagged,
		};
	retain_decide(items, count, &policy, (struct timestamp){.sec = NOW});
	for (i = 0; i < count; i++)
		if (items[i].why)
			(void)snprintf(text + strlen(text),
				       sizeof(text) - strlen(text), "%s%d",
				       *text ? " " : "", (int)i + 1);
	assert_string_equal(text, wanted);
}

static const struct when ten_days[] = {
	{10 * DAY}, {9 * DAY}, {8 * DAY}, {7 * DAY}, {6 * DAY},
	{5 * DAY},  {4 * DAY}, {3 * DAY}, {2 * DAY}, {0}};

static void test_the_newest_three_stay_without_any_rule(void **state)
{
	(void)state;
	check(ten_days, (struct retain_policy){0}, "7 8 9");
}

static void test_each_root_has_its_newest_three(void **state)
{
	static const struct when two[] = {{90 * DAY, "/a"},
					  {80 * DAY, "/b"},
					  {70 * DAY, "/a"},
					  {60 * DAY, "/b"},
					  {50 * DAY, "/a"},
					  {40 * DAY, "/a"},
					  {0}};

	(void)state;
	check(two, (struct retain_policy){0}, "2 3 4 5 6");
}

static void test_all_of_the_last_day_stays(void **state)
{
	static const struct when day[] = {{DAY + 1},  {DAY},	  {DAY - 1},
					  {5 * HOUR}, {4 * HOUR}, {3 * HOUR},
					  {HOUR},     {1},	  {0}};

	(void)state;
	check(day, (struct retain_policy){0}, "2 3 4 5 6 7 8");
}

static void test_one_of_the_future_counts_as_young(void **state)
{
	static const struct when odd[] = {
		{-100 * DAY}, {30 * DAY}, {20 * DAY}, {10 * DAY}, {0}};

	(void)state;
	check(odd, (struct retain_policy){0}, "1 2 3 4");
}

static void test_pins_stay(void **state)
{
	static const struct when pinned[] = {{90 * DAY},
					     {80 * DAY, NULL, false, true},
					     {70 * DAY, NULL, true, true},
					     {60 * DAY},
					     {50 * DAY},
					     {40 * DAY},
					     {0}};

	(void)state;
	check(pinned, (struct retain_policy){0}, "2 3 4 5 6");
}

static void test_keep_last_and_within(void **state)
{
	(void)state;
	check(ten_days, (struct retain_policy){.last = 5}, "5 6 7 8 9");
	check(ten_days, (struct retain_policy){.last = 99},
	      "1 2 3 4 5 6 7 8 9");
	check(ten_days, (struct retain_policy){.within = 6 * DAY}, "5 6 7 8 9");
}

static void test_rules_are_ored(void **state)
{
	static const struct when list[] = {{40 * DAY}, {39 * DAY}, {20 * DAY},
					   {6 * DAY},  {5 * DAY},  {4 * DAY},
					   {3 * DAY},  {0}};

	(void)state;
	check(list, (struct retain_policy){.within = 6 * DAY, .monthly = 2},
	      "2 4 5 6 7");
}

/* NOW is noon. */
static void test_the_last_of_each_day_stays(void **state)
{
	static const struct when days[] = {
		{5 * DAY + 2 * HOUR},  {5 * DAY + HOUR},
		{4 * DAY + 13 * HOUR}, {4 * DAY},
		{3 * DAY + 9 * HOUR},  {3 * DAY},
		{2 * DAY + 3},	       {2 * DAY + 2},
		{2 * DAY + 1},	       {0}};

	(void)state;
	/* 3 is at 23:00 of the day of 1 and 2. */
	check(days, (struct retain_policy){.daily = 4}, "3 4 6 7 8 9");
	check(days, (struct retain_policy){.daily = 2}, "6 7 8 9");
}

static void test_hours_count_those_that_have_any(void **state)
{
	static const struct when hours[] = {
		{50 * DAY},	      {49 * DAY + 70 * 60},
		{49 * DAY + 50 * 60}, {49 * DAY + 40 * 60},
		{30 * DAY},	      {29 * DAY},
		{28 * DAY},	      {0}};

	(void)state;
	/* 49 days and 70 minutes before noon is 10:50; 50: 11:10. */
	check(hours, (struct retain_policy){.hourly = 5}, "2 4 5 6 7");
}

static void test_weeks_begin_on_monday(void **state)
{
	/* NOW is a Saturday: Monday was 5 days ago, Sunday 6. */
	static const struct when weeks[] = {{20 * DAY}, {13 * DAY}, {6 * DAY},
					    {5 * DAY},	{4 * DAY},  {3 * DAY},
					    {2 * DAY},	{0}};

	(void)state;
	check(weeks, (struct retain_policy){.weekly = 2}, "3 5 6 7");
	check(weeks, (struct retain_policy){.weekly = 3}, "2 3 5 6 7");
}

static void test_months_are_those_of_the_calendar(void **state)
{
	/* 21 days before is 10-31, 20 days 11-01. */
	static const struct when months[] = {{60 * DAY}, {21 * DAY}, {20 * DAY},
					     {19 * DAY}, {18 * DAY}, {17 * DAY},
					     {0}};

	(void)state;
	check(months, (struct retain_policy){.monthly = 2}, "2 4 5 6");
	check(months, (struct retain_policy){.monthly = 3}, "1 2 4 5 6");
}

static void test_the_last_of_each_year(void **state)
{
	static const struct when years[] = {
		{1200 * DAY}, {800 * DAY}, {700 * DAY},
		{400 * DAY},  {330 * DAY}, {20 * DAY},
		{19 * DAY},   {18 * DAY},  {0}};

	(void)state;
	/* 330 days ago is 2025-12-26, 400 2025-10-17, 700 2024-12-21. */
	check(years, (struct retain_policy){.yearly = 2}, "5 6 7 8");
	check(years, (struct retain_policy){.yearly = 3}, "3 5 6 7 8");
}

static void test_a_tag_that_keeps(void **state)
{
	static const struct when tagged[] = {
		{90 * DAY, NULL, false, false, true},
		{80 * DAY},
		{70 * DAY},
		{60 * DAY},
		{50 * DAY},
		{0}};

	(void)state;
	check(tagged, (struct retain_policy){0}, "1 3 4 5");
}

static void test_results_of_runs_push_nothing_out(void **state)
{
	static const struct when mixed[] = {{90 * DAY},
					    {80 * DAY},
					    {70 * DAY},
					    {60 * DAY, NULL, true, false},
					    {59 * DAY, NULL, true, false},
					    {58 * DAY, NULL, true, false},
					    {3 * HOUR, NULL, true, false},
					    {0}};

	(void)state;
	check(mixed, (struct retain_policy){.last = 3, .daily = 3}, "1 2 3 7");
	check(mixed, (struct retain_policy){.within = 59 * DAY}, "1 2 3 5 6 7");
}

static void test_a_clock_that_was_set_back_loses_nothing(void **state)
{
	/* Taken last, with the oldest time. */
	static const struct when back[] = {{30 * DAY}, {20 * DAY},   {10 * DAY},
					   {5 * DAY},  {4000 * DAY}, {0}};

	(void)state;
	check(back, (struct retain_policy){0}, "3 4 5");
}

static void test_dates_before_1970_have_days_too(void **state)
{
	static const struct when old[] = {
		{NOW + 3 * DAY + 2}, {NOW + 3 * DAY + 1}, {NOW + 2 * DAY},
		{NOW + DAY},	     {NOW + HOUR},	  {0}};

	(void)state;
	check(old, (struct retain_policy){.daily = 4}, "2 3 4 5");
}

static void test_the_default_thins_out_slowly(void **state)
{
	struct retain_item items[3000] = {0};
	size_t i, kept = 0, last_days = 0;

	(void)state;
	/* Eight a day, more than a year. */
	for (i = 0; i < 3000; i++)
		items[i] = (struct retain_item){
			.seq = i + 1,
			.time = {.sec = NOW - (int64_t)(3000 - i) * 3 * HOUR},
			.root = "/p",
		};
	retain_decide(items, 3000, &retain_default,
		      (struct timestamp){.sec = NOW});
	for (i = 0; i < 3000; i++) {
		kept += items[i].why != 0;
		last_days += items[i].time.sec >= NOW - 14 * DAY &&
			     items[i].why != 0;
	}
	assert_int_equal(last_days, 14 * 8);
	assert_in_range(kept, 14 * 8 + 15 + 7 + 9, 14 * 8 + 16 + 13 + 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_newest_three_stay_without_any_rule),
		cmocka_unit_test(test_each_root_has_its_newest_three),
		cmocka_unit_test(test_all_of_the_last_day_stays),
		cmocka_unit_test(test_one_of_the_future_counts_as_young),
		cmocka_unit_test(test_pins_stay),
		cmocka_unit_test(test_keep_last_and_within),
		cmocka_unit_test(test_rules_are_ored),
		cmocka_unit_test(test_the_last_of_each_day_stays),
		cmocka_unit_test(test_hours_count_those_that_have_any),
		cmocka_unit_test(test_weeks_begin_on_monday),
		cmocka_unit_test(test_months_are_those_of_the_calendar),
		cmocka_unit_test(test_results_of_runs_push_nothing_out),
		cmocka_unit_test(test_the_last_of_each_year),
		cmocka_unit_test(test_a_tag_that_keeps),
		cmocka_unit_test(test_a_clock_that_was_set_back_loses_nothing),
		cmocka_unit_test(test_dates_before_1970_have_days_too),
		cmocka_unit_test(test_the_default_thins_out_slowly),
	};

	(void)setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
