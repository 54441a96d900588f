/* The record of a review: what a later review has of it, after any cut and any
 * change of the files. */
/* users: one */
#include "guard/review/decisions.c"
#include "guard/review/review_conflict.c"

#include "guard/parse/parse_worker.h"
#include "tests/unit/plan_fixture.h"

#include "guard/parse/parse_worker.h"

#define OLD "f text=1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|\n"
#define NOW "f text=1|B|3|D|5|6|7|8|9|10|11|12|13|N|15|\n"

static const char before[] = OLD "d gone\nf gone/a=a\nf gone/b=b\n"
				 "f tab\there\\=x\nf other=x|\n";
static const char after[] = NOW "f tab\there\\=y\nf [755]new=new\nf other=y|\n";

struct reviewed {
	struct entry base, want;
	struct review r;
};

static void reviewed_free(struct reviewed *v)
{
	review_free(&v->r);
	entry_free(&v->base);
	entry_free(&v->want);
}

static void review_trees(struct box *box, const char *base, const char *want,
			 struct reviewed *ret)
{
	const struct review_options options = {0};
	struct err err;

	ret->base = tree_of(box, base);
	ret->want = tree_of(box, want);
	ok(review_make(box->store, &ret->base, &ret->want, &options, &ret->r,
		       &err));
}

static size_t item_at(struct review *r, const char *path)
{
	struct err err;
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(r->items[i].path, path) == 0) {
			ok(review_open(r, &r->items[i], &err));
			return i;
		}
	fail_msg("no item %s", path);
	return 0;
}

static struct review_item *item_of(struct review *r, const char *path)
{
	return &r->items[item_at(r, path)];
}

/* All answers as text: a path, then a letter for each part. */
static char *answers_of(struct review *r)
{
	AUTO(buf) struct buf b = {0};
	struct err err;
	size_t i, k;

	for (i = 0; i < r->count; i++) {
		struct review_item *item = &r->items[i];

		ok(review_open(r, item, &err));
		buf_printf(&b, "%s%s", item->path, item->viewed ? "!" : "=");
		for (k = 0; k < item->parts; k++)
			buf_add_char(&b, "-yn"[item->answers[k]]);
		buf_add_char(&b, ' ');
	}
	return buf_take_text(&b);
}

static struct decisions *opened(struct box *box, bool write)
{
	struct decisions *d = NULL;
	struct err err;

	ok(decisions_open(box->root_fd, write, &d, &err));
	return d;
}

/* The answers of a new review of these trees with the record. */
static char *replayed(struct box *box, const char *base, const char *want,
		      size_t *ret_dropped)
{
	AUTO(reviewed) struct reviewed v = {0};
	AUTO(decisions) struct decisions *d = opened(box, false);

	review_trees(box, base, want, &v);
	*ret_dropped = decisions_replay(d, 0, &v.r);
	return answers_of(&v.r);
}

/* Decides on all that there is to decide on, in several ways. */
static char *decide(struct box *box)
{
	AUTO(decisions) struct decisions *d = opened(box, true);
	AUTO(reviewed) struct reviewed v = {0};
	struct review *r = &v.r;
	struct review_item *text;
	struct err err;

	review_trees(box, before, after, &v);
	decisions_answer(d, 0, r, item_of(r, "gone"), 0, REVIEW_YES);
	decisions_split(d, 0, r, item_at(r, "gone"), 0);
	decisions_answer(d, 0, r, item_of(r, "gone/b"), 0, REVIEW_NO);
	decisions_answer(d, 0, r, item_of(r, "new"), 0, REVIEW_YES);
	decisions_answer(d, 0, r, item_of(r, "new"), 0, REVIEW_OPEN);
	decisions_view(d, 0, r, item_of(r, "new"), true);
	decisions_answer(d, 0, r, item_of(r, "tab\there\\"), DECISIONS_ALL,
			 REVIEW_YES);
	decisions_split(d, 0, r, item_at(r, "text"), 0);
	text = item_of(r, "text");
	assert_int_equal(text->parts, 3);
	decisions_answer(d, 0, r, text, 0, REVIEW_YES);
	decisions_answer(d, 0, r, text, 1, REVIEW_NO);
	ok(hunks_edit(&text->hunks, 2,
		      " 11\n 12\n 13\n-14\n+edited\t\\\n+more\n 15\n", &err));
	decisions_edited(d, 0, r, text, 2);
	decisions_answer(d, 0, r, text, 2, REVIEW_YES);
	ok(decisions_failed(d, &err));
	return answers_of(r);
}

static void a_second_review_has_all_decisions_of_the_first(void **state)
{
	AUTO(reviewed) struct reviewed v = {0};
	AUTO(decisions) struct decisions *d = NULL;
	AUTO(buf) struct buf text = {0};
	auto_free char *first = decide(*state), *second = NULL;
	size_t dropped;

	second = replayed(*state, before, after, &dropped);
	assert_string_equal(second, first);
	assert_int_equal(dropped, 0);
	/* The edited hunk is what would be applied. */
	review_trees(*state, before, after, &v);
	d = opened(*state, false);
	(void)decisions_replay(d, 0, &v.r);
	hunks_compose(&item_of(&v.r, "text")->hunks,
		      &item_of(&v.r, "text")->old, &text);
	assert_string_equal(buf_text(&text),
			    "1\nB\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"
			    "edited\t\\\nmore\n15\n");
}

/* The file of a prefix has the answers of its complete lines. */
static void a_file_cut_anywhere_has_its_complete_lines(void **state)
{
	struct box *box = *state;
	auto_free char *all = decide(box), *last = NULL;
	AUTO(buf) struct buf file = {0};
	size_t at, dropped, different = 0;
	struct err err;

	ok(fd_slurp_at(box->root_fd, "review", 1 << 20, &file, &err));
	last = replayed(box, "", "", &dropped);
	for (at = 0; at <= file.len; at++) {
		bool line = at && file.data[at - 1] == '\n';
		auto_free char *now = NULL;

		put_bytes(box, "review", file.data, at);
		now = replayed(box, before, after, &dropped);
		assert_int_equal(dropped, 0);
		/* Only a complete line changes an answer. */
		if (strcmp(now, last) != 0) {
			assert_true(line || !at);
			different++;
		}
		free(last);
		last = TAKE(now);
	}
	assert_string_equal(last, all);
	assert_in_range(different, 10, 12);
}

static void a_line_after_a_torn_one_is_no_part_of_it(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf file = {0};
	auto_free char *answers = NULL;
	size_t dropped;
	struct err err;

	free(decide(box));
	ok(fd_slurp_at(box->root_fd, "review", 1 << 20, &file, &err));
	put_bytes(box, "review", file.data, file.len - 7);
	{
		AUTO(decisions) struct decisions *d = opened(box, true);
		AUTO(reviewed) struct reviewed v = {0};

		review_trees(box, before, after, &v);
		assert_int_equal(decisions_replay(d, 0, &v.r), 0);
		decisions_answer(d, 0, &v.r, item_of(&v.r, "other"), 0,
				 REVIEW_NO);
	}
	answers = replayed(box, before, after, &dropped);
	assert_non_null(strstr(answers, "other=n"));
	/* The torn line was the answer to the last hunk. */
	assert_non_null(strstr(answers, "text=yn-"));
}

static void an_invalid_line_ends_the_record(void **state)
{
	static const char bad[] = "guard-review 1\n"
				  "y 0 zz * other\n";
	struct box *box = *state;
	auto_free char *answers = NULL;
	size_t dropped;

	put_bytes(box, "review", bad, strlen(bad));
	answers = replayed(box, before, after, &dropped);
	assert_null(strpbrk(answers, "!") ?: strstr(answers, "=y"));
}

static void a_record_of_a_newer_guard_is_refused(void **state)
{
	static const char newer[] = "guard-review 2\nx\n";
	struct box *box = *state;
	struct decisions *d = NULL;
	struct err err;

	put_bytes(box, "review", newer, strlen(newer));
	assert_int_equal(decisions_open(box->root_fd, true, &d, &err), -EPROTO);
	ok(decisions_forget(box->root_fd, &err));
	ok(decisions_open(box->root_fd, true, &d, &err));
	decisions_free(&d);
}

static void a_changed_file_is_open_again(void **state)
{
	static const char changed[] = OLD "f tab\there\\=z\nf [755]new=new\n"
					  "f other=y|\n";
	struct box *box = *state;
	auto_free char *answers = NULL;
	size_t dropped;

	free(decide(box));
	answers = replayed(box, before, changed, &dropped);
	assert_non_null(strstr(answers, "tab\there\\=- "));
	assert_non_null(strstr(answers, "new!- "));
	assert_null(strstr(answers, "text"));
	assert_int_equal(dropped, 1);
}

static void changed_permissions_reopen_an_item(void **state)
{
	static const char changed[] =
		NOW "f [600]tab\there\\=y\nf [755]new=new\nf other=y|\n";
	struct box *box = *state;
	auto_free char *answers = NULL;
	size_t dropped;

	free(decide(box));
	answers = replayed(box, before, changed, &dropped);
	assert_non_null(strstr(answers, "tab\there\\=-"));
	assert_int_equal(dropped, 1);
}

static void the_acts_of_another_root_do_not_count(void **state)
{
	AUTO(reviewed) struct reviewed v = {0};
	AUTO(decisions) struct decisions *d = NULL;
	auto_free char *answers = NULL;

	free(decide(*state));
	review_trees(*state, before, after, &v);
	d = opened(*state, false);
	assert_int_equal(decisions_replay(d, 1, &v.r), 0);
	answers = answers_of(&v.r);
	assert_null(strstr(answers, "=y"));
}

static void many_answers_are_one_write(void **state)
{
	struct box *box = *state;
	AUTO(reviewed) struct reviewed v = {0};
	AUTO(decisions) struct decisions *d = opened(box, true);
	struct stat st;

	review_trees(box, before, after, &v);
	decisions_begin(d);
	decisions_answer(d, 0, &v.r, item_of(&v.r, "other"), 0, REVIEW_YES);
	decisions_answer(d, 0, &v.r, item_of(&v.r, "new"), 0, REVIEW_YES);
	assert_return_code(fstatat(box->root_fd, "review", &st, 0), errno);
	assert_int_equal(st.st_size, 0);
	decisions_end(d);
	assert_return_code(fstatat(box->root_fd, "review", &st, 0), errno);
	assert_in_range(st.st_size, 80, 200);
	assert_int_equal(st.st_mode & 07777, 0600);
}

static void lines_keep_every_name_and_text(void **state)
{
	static const struct decision one = {
		.act = 'e',
		.root = 3,
		.key = {1, 2, 0xff},
		.part = (char *)"12,3",
		.path = (char *)"a b\n\t\\n\r",
		.text = (char *)"-1\n+\t\\t\n",
	};
	AUTO(buf) struct buf line = {0};
	struct decision again;

	(void)state;
	decision_encode(&one, &line);
	assert_int_equal(line.data[line.len - 1], '\n');
	assert_true(decision_decode(buf_text(&line), line.len - 1, &again));
	assert_string_equal(again.path, one.path);
	assert_string_equal(again.text, one.text);
	assert_string_equal(again.part, one.part);
	assert_int_equal(again.root, 3);
	assert_memory_equal(again.key, one.key, sizeof(one.key));
	decision_free(&again);
}

static void make_conflict(struct box *box, const char *base, const char *ours,
			  const char *theirs, struct review_conflict *ret)
{
	AUTO(entry) struct entry a = tree_of(box, base);
	AUTO(entry) struct entry b = tree_of(box, ours);
	AUTO(entry) struct entry c = tree_of(box, theirs);
	const struct conflict_trees trees = {&a, &b, &c};
	struct err err;

	ok(review_conflict_make(box->store, &trees, "x", CONFLICT_BOTH_CHANGED,
				ret, &err));
}

static void expect_conflict_text(const struct review_conflict *c, bool marked,
				 const char *text)
{
	AUTO(buf) struct buf b = {0};
	bool is_marked;

	review_conflict_text(c, &b, &is_marked);
	assert_string_equal(buf_text(&b), text);
	assert_int_equal(is_marked, marked);
}

static const char conflict_base[] = "f x=1|2|3|4|5|6|7|8|9|";
static const char conflict_ours[] = "f x=1|o|3|4|5|6|7|O|9|";
static const char conflict_run[] = "f x=1|t|3|4|5|6|7|T|9|";

static void a_conflict_keeps_its_choices(void **state)
{
	struct box *box = *state;
	struct review_conflict c = {0}, again = {0}, other = {0};
	AUTO(decisions) struct decisions *d = opened(box, true);
	struct buf edited = {0};

	make_conflict(box, conflict_base, conflict_ours, conflict_run, &c);
	c.their_label = mem_strdup("run");
	assert_int_equal(c.count, 2);
	review_conflict_choose(&c, 0, CHOICE_THEIRS);
	assert_int_equal(review_conflict_open(&c), 1);
	expect_conflict_text(&c, true,
			     "1\nt\n3\n4\n5\n6\n7\n<<<<<<< \nO\n"
			     "=======\nT\n>>>>>>> run\n9\n");
	decisions_conflict(d, box->store, &c);
	review_conflict_choose(&c, 1, CHOICE_OURS);
	expect_conflict_text(&c, false, "1\nt\n3\n4\n5\n6\n7\nO\n9\n");
	decisions_conflict(d, box->store, &c);
	decisions_free(&d);
	/* The next review; another version of the user has no decision. */
	d = opened(box, true);
	make_conflict(box, conflict_base, conflict_ours, conflict_run, &again);
	decisions_recall_conflict(d, box->store, &again);
	expect_conflict_text(&again, false, "1\nt\n3\n4\n5\n6\n7\nO\n9\n");
	make_conflict(box, conflict_base, "f x=1|o|3|4|5|6|7|P|9|",
		      conflict_run, &other);
	decisions_recall_conflict(d, box->store, &other);
	assert_int_equal(review_conflict_open(&other), 2);
	/* An edited result. */
	buf_add_text(&edited, "mine\tand\nthe run's");
	review_conflict_edit(&again, &edited);
	decisions_conflict(d, box->store, &again);
	decisions_free(&d);
	d = opened(box, false);
	decisions_recall_conflict(d, box->store, &c);
	expect_conflict_text(&c, false, "mine\tand\nthe run's");
	assert_int_equal(review_conflict_open(&c), 0);
	review_conflict_choose(&c, 0, CHOICE_OURS);
	expect_conflict_text(&c, false, "1\no\n3\n4\n5\n6\n7\nO\n9\n");
	assert_false(review_conflict_decode(&c, "ox"));
	assert_false(review_conflict_decode(&c, "o"));
	buf_free(&edited);
	review_conflict_free(&c);
	review_conflict_free(&again);
	review_conflict_free(&other);
}

static void a_refused_choice_is_asked_about_again(void **state)
{
	struct review_conflict c = {0};
	struct plan_choice choice;

	make_conflict(*state, conflict_base, conflict_ours, conflict_run, &c);
	review_conflict_choose(&c, 0, CHOICE_OURS);
	review_conflict_choose(&c, 1, CHOICE_BOTH);
	review_conflict_plan(&c, &choice);
	assert_true(choice.text && choice.marked);
	/* The file as a whole then, and at last only the user's version. */
	review_conflict_refuse(&c);
	assert_int_equal(c.count, 1);
	assert_false(review_conflict_can(&c, CHOICE_BOTH));
	review_conflict_plan(&c, &choice);
	assert_int_equal(choice.resolve, RESOLVE_NOT);
	review_conflict_choose(&c, 0, CHOICE_THEIRS);
	review_conflict_plan(&c, &choice);
	assert_int_equal(choice.resolve, RESOLVE_THEIRS);
	review_conflict_refuse(&c);
	assert_false(review_conflict_can(&c, CHOICE_THEIRS));
	assert_int_equal(review_conflict_open(&c), 1);
	review_conflict_free(&c);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_second_review_has_all_decisions_of_the_first),
		TEST(a_file_cut_anywhere_has_its_complete_lines),
		TEST(a_conflict_keeps_its_choices),
		TEST(a_refused_choice_is_asked_about_again),
		TEST(a_line_after_a_torn_one_is_no_part_of_it),
		TEST(an_invalid_line_ends_the_record),
		TEST(a_record_of_a_newer_guard_is_refused),
		TEST(a_changed_file_is_open_again),
		TEST(changed_permissions_reopen_an_item),
		TEST(the_acts_of_another_root_do_not_count),
		TEST(many_answers_are_one_write),
		TEST(lines_keep_every_name_and_text),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
