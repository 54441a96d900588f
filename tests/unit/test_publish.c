#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "guard/run/publish.h"

static void a_port_is_read_as_docker_does(void **state)
{
	static const struct {
		const char *text;
		struct sandbox_port port;
	} cases[] = {
		{"80", {"127.0.0.1", 80, 80, 0, false}},
		{"8080:80", {"127.0.0.1", 8080, 80, 0, false}},
		{"8080:80/tcp", {"127.0.0.1", 8080, 80, 0, false}},
		{"53:53/udp", {"127.0.0.1", 53, 53, 0, true}},
		{"0.0.0.0:1:65535", {"0.0.0.0", 1, 65535, 0, false}},
		{"[::1]:8080:80", {"::1", 8080, 80, 0, false}},
		{"[::]:7-9:17-19/udp", {"::", 7, 17, 2, true}},
		{"8000-8010", {"127.0.0.1", 8000, 8000, 10, false}},
	};
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct sandbox_port got;

		assert_int_equal(publish_parse(cases[i].text, &got, &err), 0);
		assert_string_equal(got.host, cases[i].port.host);
		assert_int_equal(got.outside, cases[i].port.outside);
		assert_int_equal(got.inside, cases[i].port.inside);
		assert_int_equal(got.more, cases[i].port.more);
		assert_int_equal(got.udp, cases[i].port.udp);
	}
}

static void what_is_no_port_is_refused(void **state)
{
	static const char *const bad[] = {"",
					  "0",
					  "65536",
					  "99999999999999999999",
					  "-1",
					  "+80",
					  " 80",
					  "80 ",
					  "0x50",
					  "80:",
					  ":80",
					  "::80",
					  "1:2:3:4",
					  "a:80",
					  "80/",
					  "80/sctp",
					  "80/udp/",
					  "1-2:3",
					  "2-1",
					  "1-",
					  "-",
					  "1-2-3",
					  "::1:8080:80",
					  "[::1:8080:80",
					  "[]:1:1",
					  "[1.2.3.4]:1:1",
					  "1.2.3:1:1",
					  "host:1:1",
					  "[::1%lo]:1:1"};
	struct sandbox_port got;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int rc = publish_parse(bad[i], &got, &err);

		if (rc == 0)
			print_message("taken: '%s'\n", bad[i]);
		assert_int_equal(rc, -EINVAL);
		assert_non_null(strstr(err.text, "--publish"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_port_is_read_as_docker_does),
		cmocka_unit_test(what_is_no_port_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
