/* cmocka's skip() with the reason, which tests/lib/unit requires. */
#ifndef TESTS_UNIT_SKIP_H
#define TESTS_UNIT_SKIP_H

#define skip_because(reason)                                                   \
	do {                                                                   \
		print_message("# skipped: %s\n", reason);                      \
		skip();                                                        \
	} while (0)

#endif
