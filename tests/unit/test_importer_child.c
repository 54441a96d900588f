/* guard/change/importer_child.c: what the process that reads a stranger's
 * repository may take. The rest of it is in tests/integration/import.t. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "guard/change/importer_child.h"

static void a_pack_gets_the_time_of_its_size(void **state)
{
	(void)state;
	assert_int_equal(importer_child_seconds(0), 300);
	assert_int_equal(importer_child_seconds(10000000), 400);
	assert_int_equal(importer_child_seconds((uint64_t)1 << 30), 3600);
	assert_int_equal(importer_child_seconds(UINT64_MAX), 3600);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pack_gets_the_time_of_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
