/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "guard/parse/parse_worker.h"
#include "restore/git/hunks.h"

static struct buf text_of(const char *text)
{
	struct buf b = {0};

	buf_add_text(&b, text);
	return b;
}

static void take_all(struct hunks *h, bool accepted)
{
	size_t i;

	for (i = 0; i < h->count; i++)
		h->items[i].accepted = accepted;
}

static void composes(const struct hunks *h, const struct buf *old,
		     const struct buf *want)
{
	AUTO(buf) struct buf got = {0};

	hunks_compose(h, old, &got);
	assert_int_equal(got.len, want->len);
	if (want->len)
		assert_memory_equal(got.data, want->data, want->len);
}

#define OLD "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n"
#define NOW "1\nB\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\nN\n15\n"

static void one_of_two_hunks_is_taken(void **state)
{
	AUTO(buf) struct buf old = text_of(OLD), now = text_of(NOW);
	AUTO(buf)
	struct buf first = text_of("1\nB\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n"
				   "13\n14\n15\n");
	AUTO(hunks) struct hunks h = {0};
	struct err err;

	(void)state;
	assert_int_equal(hunks_make(&old, &now, &h, &err), 0);
	assert_int_equal(h.count, 2);
	assert_int_equal(h.added, 2);
	assert_int_equal(h.removed, 2);
	h.items[0].accepted = true;
	composes(&h, &old, &first);
	take_all(&h, true);
	composes(&h, &old, &now);
	take_all(&h, false);
	composes(&h, &old, &old);
}

static void a_hunk_splits_where_lines_are_unchanged(void **state)
{
	AUTO(buf) struct buf old = text_of("a\nb\nc\nd\ne\n");
	AUTO(buf) struct buf now = text_of("a\nB\nc\nD\ne\n");
	AUTO(buf) struct buf second = text_of("a\nb\nc\nD\ne\n");
	AUTO(hunks) struct hunks h = {0};
	struct err err;

	(void)state;
	assert_int_equal(hunks_make(&old, &now, &h, &err), 0);
	assert_int_equal(h.count, 1);
	assert_true(hunks_can_split(&h.items[0]));
	hunks_split(&h, 0);
	assert_int_equal(h.count, 2);
	assert_false(hunks_can_split(&h.items[0]));
	assert_false(hunks_can_split(&h.items[1]));
	h.items[1].accepted = true;
	composes(&h, &old, &second);
}

static void a_binary_file_has_no_hunks(void **state)
{
	AUTO(buf) struct buf old = text_of("a\n"), now = text_of("b\n");
	AUTO(hunks) struct hunks h = {0};
	struct err err;

	(void)state;
	buf_add(&now, "\0\1", 2);
	assert_int_equal(hunks_make(&old, &now, &h, &err), 1);
	assert_int_equal(h.count, 0);
}

static void ends_without_a_line_feed_are_kept(void **state)
{
	static const char *const texts[] = {"",	   "a", "a\n", "a\nb",
					    "b\n", "b", "\n",  "\n\n"};
	const size_t count = sizeof(texts) / sizeof(*texts);
	size_t i, k;

	(void)state;
	for (i = 0; i < count; i++)
		for (k = 0; k < count; k++) {
			AUTO(buf) struct buf old = text_of(texts[i]);
			AUTO(buf) struct buf now = text_of(texts[k]);
			AUTO(hunks) struct hunks h = {0};
			struct err err;

			assert_int_equal(hunks_make(&old, &now, &h, &err), 0);
			composes(&h, &old, &old);
			take_all(&h, true);
			composes(&h, &old, &now);
		}
}

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245u + 12345u;
	return *seed >> 16;
}

static void random_text(unsigned int *seed, const struct buf *like,
			struct buf *to)
{
	size_t lines = next_random(seed) % 40, i;

	if (!like)
		for (i = 0; i < lines; i++)
			buf_printf(to, "%u\n", next_random(seed) % 6);
	for (i = 0; like && i < like->len; i++) {
		if (next_random(seed) % 20 == 0)
			buf_printf(to, "%u\n", next_random(seed) % 6);
		if (next_random(seed) % 20)
			buf_add(to, like->data + i, 1);
	}
}

/* Applying a part, and then the rest of the remaining hunks, gives the complete
 * text. */
static void random_texts_come_out_whole_whatever_is_split(void **state)
{
	unsigned int seed = 7, n;

	(void)state;
	for (n = 0; n < 2000; n++) {
		AUTO(buf) struct buf old = {0}, now = {0};
		AUTO(hunks) struct hunks h = {0};
		struct err err;
		size_t i;

		random_text(&seed, NULL, &old);
		random_text(&seed, &old, &now);
		assert_int_equal(hunks_make(&old, &now, &h, &err), 0);
		for (i = 0; i < h.count; i++)
			if (hunks_can_split(&h.items[i]) &&
			    next_random(&seed) % 2)
				hunks_split(&h, i);
		composes(&h, &old, &old);
		take_all(&h, true);
		composes(&h, &old, &now);
	}
}

static void an_edited_hunk_is_taken_as_edited(void **state)
{
	AUTO(buf) struct buf old = text_of("a\nb\nc"), now = text_of("a\nX\nc");
	AUTO(buf) struct buf want = text_of("a\nY\nZ\nc"), shown = {0};
	AUTO(hunks) struct hunks h = {0};
	struct err err;

	(void)state;
	assert_int_equal(hunks_make(&old, &now, &h, &err), 0);
	hunks_print(&h.items[0], &shown);
	assert_string_equal(buf_text(&shown),
			    "@@ -1,3 +1,3 @@\n a\n-b\n+X\n c\n"
			    "\\ No newline at end of file\n");
	assert_int_equal(hunks_edit(&h, 0, buf_text(&shown), &err), 0);
	assert_int_equal(hunks_edit(&h, 0,
				    "# words\n@@ -1 +1 @@\n a\n-b\n+Y\n+Z\n c\n"
				    "\\ No newline at end of file\n# more\n",
				    &err),
			 0);
	h.items[0].accepted = true;
	composes(&h, &old, &want);
	h.items[0].accepted = false;
	composes(&h, &old, &old);
}

static void an_edit_that_fits_nowhere_is_refused(void **state)
{
	AUTO(buf) struct buf old = text_of("a\nb\nc\n");
	AUTO(buf) struct buf now = text_of("a\nX\nc\n");
	AUTO(hunks) struct hunks h = {0};
	struct err err;

	(void)state;
	assert_int_equal(hunks_make(&old, &now, &h, &err), 0);
	assert_int_equal(hunks_edit(&h, 0, " a\n-B\n+X\n c\n", &err), -EINVAL);
	assert_non_null(strstr(err.text, "line 2"));
	assert_int_equal(hunks_edit(&h, 0, " a\n-b\n", &err), -EINVAL);
	assert_int_equal(hunks_edit(&h, 0, "a\n-b\n+X\n c\n", &err), -EINVAL);
	assert_int_equal(hunks_edit(&h, 0, "", &err), -ECANCELED);
	assert_int_equal(hunks_edit(&h, 0, " a\n b\n c\n", &err), -ECANCELED);
	h.items[0].accepted = true;
	composes(&h, &old, &now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_of_two_hunks_is_taken),
		cmocka_unit_test(a_hunk_splits_where_lines_are_unchanged),
		cmocka_unit_test(a_binary_file_has_no_hunks),
		cmocka_unit_test(ends_without_a_line_feed_are_kept),
		cmocka_unit_test(random_texts_come_out_whole_whatever_is_split),
		cmocka_unit_test(an_edited_hunk_is_taken_as_edited),
		cmocka_unit_test(an_edit_that_fits_nowhere_is_refused),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
