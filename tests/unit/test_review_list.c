/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "guard/review/review_list.h"
#include "guard/review/view.h"
#include "guard/review/words.h"

#define FILE_MODE (S_IFREG | 0644)
/* Larger than any text that is read: an item has one part, and no store. */
#define SIZE (8u << 20)

/* In the order of the paths. */
static const struct {
	const char *path;
	bool old, now;
	enum risk_level level;
} changes[] = {
	{".env", true, false, RISK_NONE},
	{".git/hooks/x", false, true, RISK_CRITICAL},
	{".vscode/tasks.json", false, true, RISK_CRITICAL},
	{"docs/a", true, true, RISK_NONE},
	{"docs/b", true, true, RISK_NONE},
	{"docs/sub/c", true, true, RISK_NONE},
	{"new", false, true, RISK_NONE},
	{"src/d", true, true, RISK_NONE},
	{"src/Makefile", true, true, RISK_HIGH},
	{"src/old", true, false, RISK_NONE},
};

#define COUNT (sizeof(changes) / sizeof(*changes))

struct list_fixture {
	struct review review, *reviews[1];
	struct review_list list;
};

static void add_item(struct review *r, size_t i)
{
	struct review_entry *e;
	size_t *list = mem_alloc(sizeof(*list));

	GROW(r->entries, r->entry_count, r->entry_capacity);
	e = &r->entries[r->entry_count++];
	*e = (struct review_entry){.path = mem_strdup(changes[i].path)};
	if (changes[i].old)
		e->old = (struct entry){.mode = FILE_MODE, .size = SIZE};
	if (changes[i].now)
		e->now = (struct entry){.mode = FILE_MODE, .size = SIZE + 1};
	e->now.content.hash[0] = 1;
	if (changes[i].level) {
		e->risks.items = mem_zalloc(sizeof(*e->risks.items));
		e->risks.items->level = changes[i].level;
		e->risks.items->text = mem_strdup("text");
		e->risks.count = 1;
	}
	*list = r->entry_count - 1;
	review_add_item(r, e->path, list, 1, false);
}

static int setup(void **state)
{
	struct list_fixture *f = mem_zalloc(sizeof(*f));
	size_t i;

	for (i = 0; i < COUNT; i++)
		add_item(&f->review, i);
	f->reviews[0] = &f->review;
	review_list_make(&f->list, f->reviews, 1, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct list_fixture *f = *state;

	review_list_free(&f->list);
	review_free(&f->review);
	free(f);
	return 0;
}

static const char *selected(const struct list_fixture *f)
{
	const struct review_row *row = review_list_row(&f->list);

	return row ? review_list_item(row)->path : NULL;
}

/* Selects a path. */
static void go(struct list_fixture *f, const char *path)
{
	size_t i;

	for (i = 0; i < f->list.shown.count; i++) {
		review_list_select(&f->list, i);
		if (strcmp(selected(f), path) == 0)
			return;
	}
	assert_string_equal(path, "a path that is shown");
}

static size_t answer(struct list_fixture *f, enum review_scope scope,
		     enum review_answer how)
{
	struct review_targets targets;
	size_t n;

	review_list_targets(&f->list, scope, how, &targets);
	n = review_list_answer(&f->list, &targets, how);
	review_list_targets_free(&targets);
	return n;
}

/* The letters of all items, in the order of their paths. */
static void answers_are(const struct list_fixture *f, const char *wanted)
{
	char got[COUNT + 1] = {0};
	size_t i;

	for (i = 0; i < COUNT; i++)
		got[i] = review_list_letter(&f->review.items[i]) == ' '
				 ? '.'
				 : review_list_letter(&f->review.items[i]);
	assert_string_equal(got, wanted);
}

static void rows_are_in_the_order_of_the_buckets(void **state)
{
	static const char *const wanted[] = {
		".env",		"src/old",	".vscode/tasks.json",
		"src/Makefile", ".git/hooks/x", "docs/a",
		"docs/b",	"docs/sub/c",	"src/d",
		"new",
	};
	struct list_fixture *f = *state;
	size_t i, open;

	assert_int_equal(f->list.shown.count, COUNT);
	for (i = 0; i < COUNT; i++) {
		review_list_select(&f->list, i);
		assert_string_equal(selected(f), wanted[i]);
	}
	assert_int_equal(review_list_count_bucket(
				 &f->list, REVIEW_BUCKET_MODIFIED, &open),
			 4);
	assert_int_equal(open, 4);
	review_list_select(&f->list, 1000);
	assert_string_equal(selected(f), "new");
	assert_true(
		review_list_select_bucket(&f->list, REVIEW_BUCKET_MODIFIED));
	assert_string_equal(selected(f), "docs/a");
	assert_false(review_list_select_bucket(&f->list, REVIEW_BUCKET_MOVED));
}

static void answers_for_a_directory_stay_in_its_bucket(void **state)
{
	struct list_fixture *f = *state;

	go(f, "docs/a");
	assert_int_equal(answer(f, REVIEW_SCOPE_DIR, REVIEW_YES), 3);
	answers_are(f, "...yyy....");
	go(f, "src/d");
	assert_int_equal(answer(f, REVIEW_SCOPE_DIR, REVIEW_NO), 1);
	answers_are(f, "...yyy.n..");
}

static void answers_for_many_rows_keep_earlier_answers(void **state)
{
	struct list_fixture *f = *state;

	go(f, "docs/b");
	assert_int_equal(answer(f, REVIEW_SCOPE_ITEM, REVIEW_NO), 1);
	assert_int_equal(answer(f, REVIEW_SCOPE_BUCKET, REVIEW_YES), 3);
	answers_are(f, "...yny.y..");
	/* One row is changed. */
	assert_int_equal(answer(f, REVIEW_SCOPE_ITEM, REVIEW_YES), 1);
	answers_are(f, "...yyy.y..");
}

static void critical_changes_need_an_answer_of_their_own(void **state)
{
	struct list_fixture *f = *state;
	struct review_targets targets;

	go(f, "new");
	review_list_targets(&f->list, REVIEW_SCOPE_REST, REVIEW_NO, &targets);
	assert_int_equal(targets.apart, 0);
	assert_int_equal(targets.rows.count, COUNT);
	review_list_targets_free(&targets);
	review_list_targets(&f->list, REVIEW_SCOPE_REST, REVIEW_YES, &targets);
	assert_int_equal(targets.apart, 2);
	assert_int_equal(targets.rows.count, COUNT - 2);
	assert_int_equal(targets.lost, 2);
	review_list_targets_free(&targets);
	f->review.entries[0].loss = LOSS_IN_GIT;
	review_list_targets(&f->list, REVIEW_SCOPE_REST, REVIEW_YES, &targets);
	assert_int_equal(targets.lost, 1);
	review_list_targets_free(&targets);
	(void)answer(f, REVIEW_SCOPE_REST, REVIEW_YES);
	answers_are(f, "y..yyyyyyy");
	go(f, ".vscode/tasks.json");
	(void)answer(f, REVIEW_SCOPE_ITEM, REVIEW_YES);
	answers_are(f, "y.yyyyyyyy");
}

static void the_rest_takes_no_file_that_loses_work(void **state)
{
	struct list_fixture *f = *state;
	struct review_targets targets;

	f->review.entries[4].loss = LOSS_WORK;
	f->review.entries[5].loss = LOSS_NO_COPY;
	f->review.entries[7].loss = LOSS_IN_HISTORY;
	go(f, "docs/a");
	review_list_targets(&f->list, REVIEW_SCOPE_REST, REVIEW_YES, &targets);
	assert_int_equal(targets.apart, 4);
	assert_int_equal(targets.work, 0);
	review_list_targets_free(&targets);
	review_list_targets(&f->list, REVIEW_SCOPE_DIR, REVIEW_YES, &targets);
	assert_int_equal(targets.apart, 0);
	assert_int_equal(targets.work, 2);
	review_list_targets_free(&targets);
	(void)answer(f, REVIEW_SCOPE_REST, REVIEW_YES);
	answers_are(f, "y..y..yyyy");
}

static void undo_takes_the_last_act_back(void **state)
{
	struct list_fixture *f = *state;

	assert_false(review_list_undo(&f->list));
	go(f, "docs/a");
	(void)answer(f, REVIEW_SCOPE_ITEM, REVIEW_NO);
	go(f, "docs/b");
	(void)answer(f, REVIEW_SCOPE_BUCKET, REVIEW_YES);
	answers_are(f, "...nyy.y..");
	go(f, "new");
	assert_true(review_list_undo(&f->list));
	answers_are(f, "...n......");
	assert_string_equal(selected(f), "docs/b");
	assert_true(review_list_undo(&f->list));
	answers_are(f, "..........");
	assert_false(review_list_undo(&f->list));
}

static void next_open_row_is_found_once_round(void **state)
{
	struct list_fixture *f = *state;

	go(f, ".env");
	(void)answer(f, REVIEW_SCOPE_ITEM, REVIEW_YES);
	assert_true(review_list_select_open(&f->list, false));
	assert_string_equal(selected(f), "src/old");
	go(f, "new");
	(void)answer(f, REVIEW_SCOPE_ITEM, REVIEW_YES);
	assert_true(review_list_select_open(&f->list, false));
	assert_string_equal(selected(f), "src/old");
	(void)answer(f, REVIEW_SCOPE_REST, REVIEW_NO);
	go(f, ".git/hooks/x");
	(void)answer(f, REVIEW_SCOPE_ITEM, REVIEW_NO);
	go(f, ".vscode/tasks.json");
	(void)answer(f, REVIEW_SCOPE_ITEM, REVIEW_NO);
	assert_false(review_list_select_open(&f->list, false));
}

static void filter_shows_matching_and_open_rows(void **state)
{
	struct list_fixture *f = *state;

	go(f, "docs/b");
	review_list_filter(&f->list, "docs", false);
	assert_int_equal(f->list.shown.count, 3);
	assert_string_equal(selected(f), "docs/b");
	/* Answers reach only what is shown. */
	(void)answer(f, REVIEW_SCOPE_REST, REVIEW_YES);
	answers_are(f, "...yyy....");
	review_list_filter(&f->list, "*/c", false);
	assert_int_equal(f->list.shown.count, 1);
	review_list_filter(&f->list, NULL, true);
	assert_int_equal(f->list.shown.count, COUNT - 3);
	review_list_filter(&f->list, "no such path", false);
	assert_null(selected(f));
	assert_int_equal(answer(f, REVIEW_SCOPE_REST, REVIEW_NO), 0);
	review_list_filter(&f->list, NULL, false);
	assert_int_equal(f->list.shown.count, COUNT);
}

static void search_goes_round_in_both_directions(void **state)
{
	struct list_fixture *f = *state;
	regex_t regex;

	assert_int_equal(regcomp(&regex, "^docs/.$", REG_NOSUB), 0);
	go(f, ".env");
	assert_true(review_list_search(&f->list, &regex, false, false));
	assert_string_equal(selected(f), "docs/a");
	assert_true(review_list_search(&f->list, &regex, false, false));
	assert_string_equal(selected(f), "docs/b");
	assert_true(review_list_search(&f->list, &regex, false, false));
	assert_string_equal(selected(f), "docs/a");
	assert_true(review_list_search(&f->list, &regex, true, false));
	assert_string_equal(selected(f), "docs/b");
	regfree(&regex);
	assert_int_equal(regcomp(&regex, "nowhere", REG_NOSUB), 0);
	assert_false(review_list_search(&f->list, &regex, false, false));
	assert_string_equal(selected(f), "docs/b");
	regfree(&regex);
}

static void text_ranges_are(const char *text, const struct words_ranges *r,
			    const char *wanted)
{
	AUTO(buf) struct buf got = {0};
	size_t i;

	for (i = 0; i < r->count; i++) {
		buf_add_char(&got, '[');
		buf_add(&got, text + r->items[i].at, r->items[i].len);
		buf_add_char(&got, ']');
	}
	assert_string_equal(buf_text(&got), wanted);
}

static void changed_words_are_found(void **state)
{
	static const struct {
		const char *old, *now, *old_words, *now_words;
	} cases[] = {
		{"return a + 1;", "return a * 1;", "[+]", "[*]"},
		{"int f(int a)", "int f(long value)", "[int][a]",
		 "[long][value]"},
		{"the old name", "the new old name", "", "[new ]"},
		{"user_id = value", "user_key = value", "[user_id]",
		 "[user_key]"},
		{"  deep", "    deep", "", "[  ]"},
		/* Nothing in common: marks would show nothing. */
		{"alpha beta", "gamma delta", "", ""},
		{"", "new", "", ""},
		{"same", "same", "", ""},
		{"Stra\303\237e is long", "Strasse is long", "[Stra\303\237e]",
		 "[Strasse]"},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct words_ranges old = {0}, now = {0};

		words_compare(cases[i].old, strlen(cases[i].old), cases[i].now,
			      strlen(cases[i].now), &old, &now);
		text_ranges_are(cases[i].old, &old, cases[i].old_words);
		text_ranges_are(cases[i].now, &now, cases[i].now_words);
		VEC_FREE(&old);
		VEC_FREE(&now);
	}
}

#define WITH_LIST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_LIST(rows_are_in_the_order_of_the_buckets),
		WITH_LIST(answers_for_a_directory_stay_in_its_bucket),
		WITH_LIST(answers_for_many_rows_keep_earlier_answers),
		WITH_LIST(critical_changes_need_an_answer_of_their_own),
		WITH_LIST(the_rest_takes_no_file_that_loses_work),
		WITH_LIST(undo_takes_the_last_act_back),
		WITH_LIST(next_open_row_is_found_once_round),
		WITH_LIST(filter_shows_matching_and_open_rows),
		WITH_LIST(search_goes_round_in_both_directions),
		cmocka_unit_test(changed_words_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
