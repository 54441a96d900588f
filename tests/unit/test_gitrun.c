/* restore/git/gitrun.c: the limit of git's processor time.
 * tests/integration/import-hostile.t has the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "restore/git/gitrun.h"

static void a_pack_gets_the_time_of_its_size(void **state)
{
	(void)state;
	assert_int_equal(gitrun_seconds(0), 300);
	assert_int_equal(gitrun_seconds(10000000), 400);
	assert_int_equal(gitrun_seconds((uint64_t)1 << 30), 3600);
	assert_int_equal(gitrun_seconds(UINT64_MAX), 3600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pack_gets_the_time_of_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
