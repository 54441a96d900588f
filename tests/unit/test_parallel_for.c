/*
 * base/parallel_for.h: independent parts in two threads.
 */
/* users: one */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/parallel_for.h"

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#define PARTS 1000

struct work {
	atomic_uint done[PARTS];
	atomic_uint order; /* parts begun so far */
	unsigned int at[PARTS]; /* position in that order */
	size_t bad; /* the part that fails; PARTS: none */
	pthread_t first; /* the thread of part 0 */
};

static int do_part(void *arg, size_t i, struct err *err)
{
	struct work *w = arg;

	atomic_fetch_add(&w->done[i], 1);
	w->at[i] = atomic_fetch_add(&w->order, 1);
	if (i == 0)
		w->first = pthread_self();
	if (i == w->bad)
		return err_set_at(err, EIO, __FILE__, __LINE__, "part %zu", i);
	return 0;
}

static void does_every_part_once(void **state)
{
	struct work w = {.bad = PARTS};
	struct err err;
	size_t i;

	(void)state;
	assert_int_equal(parallel_for(PARTS, false, do_part, &w, &err), 0);
	for (i = 0; i < PARTS; i++)
		assert_int_equal(w.done[i], 1);
	assert_true(pthread_equal(w.first, pthread_self()));
}

static void does_them_in_order_alone(void **state)
{
	struct work w = {.bad = PARTS};
	struct err err;
	size_t i;

	(void)state;
	assert_int_equal(parallel_for(PARTS, true, do_part, &w, &err), 0);
	for (i = 0; i < PARTS; i++)
		assert_int_equal(w.at[i], i);
}

static void does_nothing_of_nothing(void **state)
{
	struct work w = {.bad = PARTS};
	struct err err;

	(void)state;
	assert_int_equal(parallel_for(0, false, do_part, &w, &err), 0);
	assert_int_equal(w.order, 0);
}

static void ends_with_the_failure(void **state)
{
	int alone;

	(void)state;
	for (alone = 0; alone < 2; alone++) {
		struct work w = {.bad = 7};
		struct err err;

		assert_int_equal(parallel_for(PARTS, alone, do_part, &w, &err),
				 -EIO);
		assert_string_equal(err.text, "part 7");
		if (alone)
			assert_int_equal(w.order, 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(does_every_part_once),
		cmocka_unit_test(does_them_in_order_alone),
		cmocka_unit_test(does_nothing_of_nothing),
		cmocka_unit_test(ends_with_the_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
