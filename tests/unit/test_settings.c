/* guard/retention/settings.c, and the user's own pins. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/retention/pins.h"
#include "guard/retention/settings.h"
#include "tests/unit/directory_fixture.h"

#define DAY ((int64_t)24 * 3600)

struct place {
	struct folder_box box;
	struct state state;
};

static int set_up(void **state)
{
	static struct place p;

	p = (struct place){0};
	folder_box_make(&p.box);
	p.state.path = p.box.path;
	p.state.fd = p.box.fd;
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct place *p = *state;

	folder_box_remove(&p->box);
	return 0;
}

static void write_file(struct place *p, const char *name, const char *text)
{
	auto_close int fd =
		openat(p->state.fd, name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_return_code(fd, errno);
	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
}

static void without_a_file_the_default_holds(void **state)
{
	struct place *p = *state;
	AUTO(settings) struct settings s = {0};
	struct err err;

	assert_int_equal(settings_load(&p->state, &s, &err), 0);
	assert_int_equal(s.policy.within, retain_default.within);
	assert_int_equal(s.policy.daily, retain_default.daily);
	assert_true(s.auto_prune);
	assert_true(s.min_free == UINT64_MAX);
	assert_true(s.ask_bytes == (uint64_t)4 << 30);
	assert_true(s.ask_files == 200000);
	assert_false(s.rules);
}

static void lines_set_what_they_name(void **state)
{
	struct place *p = *state;
	AUTO(settings) struct settings s = {0};
	struct err err;

	write_file(p, "config",
		   "# mine\n\nkeep-within = 2d\n  keep-yearly=3 # years\n"
		   "keep-tag = a\nkeep-tag = b\nmax-size = 20G\n"
		   "min-free=0\nauto-prune = no\nask-above = 7 files\n"
		   "ask-above = 1M");
	assert_int_equal(settings_load(&p->state, &s, &err), 0);
	assert_int_equal(s.policy.within, 2 * DAY);
	assert_int_equal(s.policy.yearly, 3);
	assert_int_equal(s.policy.daily, 0);
	assert_string_equal(s.keep_tags[0], "a");
	assert_string_equal(s.keep_tags[1], "b");
	assert_true(s.max_size == 20000000000u);
	assert_true(s.min_free == 0);
	assert_false(s.auto_prune);
	assert_true(s.ask_bytes == 1000000);
	assert_true(s.ask_files == 7);
	settings_free(&s);
	write_file(p, "config", "ask-above = no");
	assert_int_equal(settings_load(&p->state, &s, &err), 0);
	assert_true(s.ask_bytes == 0);
	assert_true(s.ask_files == 0);
}

static void a_destination_has_a_command_of_its_own(void **state)
{
	struct place *p = *state;
	AUTO(settings) struct settings s = {0};
	struct err err;

	write_file(p, "config",
		   "backup-command = any # of them\n"
		   "backup-command /nowhere/a b/ = cat >x=y\n"
		   "backup-command\t/nowhere/usb =");
	assert_int_equal(settings_load(&p->state, &s, &err), 0);
	assert_string_equal(settings_backup_command(&s, "/nowhere/a b"),
			    "cat >x=y");
	assert_string_equal(settings_backup_command(&s, "/nowhere/a"),
			    "any # of them");
	assert_null(settings_backup_command(&s, "/nowhere/usb"));
}

static void a_bad_line_is_named(void **state)
{
	static const char *const lines[] = {
		"keep-lots = 3",
		"keep-daily = many",
		"keep-daily",
		"keep-within = soon",
		"max-size = -1",
		"auto-prune = maybe",
		"= 3",
		"keep-daily = 0",
		"ask-above = 3 things",
		"ask-above = 0 files",
		"backup = copies",
		"backup-command usb = cat",
		"backup-commands = cat",
	};
	struct place *p = *state;
	struct settings none;
	struct err err;
	size_t i;

	for (i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		write_file(p, "config", lines[i]);
		assert_int_equal(settings_load(&p->state, &none, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, "/config: "));
	}
	write_file(p, "config",
		   "backup-command /a = 1\nbackup-command = 2\n"
		   "backup-command /a = 3");
	assert_int_equal(settings_load(&p->state, &none, &err), -EEXIST);
	assert_non_null(strstr(err.text, "/config: line 3: "));
}

static void pins_are_added_and_taken_off(void **state)
{
	static const uint64_t some[] = {3, 5, 3}, five[] = {5, 9};
	struct place *p = *state;
	AUTO(pins) struct pins pins = {0}, left = {0};
	struct err err;

	assert_int_equal(pins_user_load(&p->state, &pins, &err), 0);
	assert_int_equal(pins.count, 0);
	assert_int_equal(pins_user_change(&p->state, some, 3, true, &err), 0);
	assert_int_equal(pins_user_change(&p->state, some, 1, true, &err), 0);
	assert_int_equal(pins_user_load(&p->state, &pins, &err), 0);
	assert_int_equal(pins.count, 2);
	assert_int_equal(pins_user_change(&p->state, five, 2, false, &err), 0);
	assert_int_equal(pins_user_load(&p->state, &left, &err), 0);
	assert_int_equal(left.count, 1);
	assert_true(pins_has(&left, 3));
	assert_false(pins_has(&left, 5));
}

/* The file may have held any number, so no snapshot may be pruned. */
static void damaged_pins_are_an_error(void **state)
{
	struct place *p = *state;
	AUTO(pins) struct pins pins = {0};
	struct err err;

	write_file(p, "pins", "3\nx\n");
	assert_int_equal(pins_user_load(&p->state, &pins, &err), -EBADMSG);
	write_file(p, "pins", "3\n4");
	assert_int_equal(pins_user_load(&p->state, &pins, &err), -EBADMSG);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(without_a_file_the_default_holds),
		T(lines_set_what_they_name),
		T(a_destination_has_a_command_of_its_own),
		T(a_bad_line_is_named),
		T(pins_are_added_and_taken_off),
		T(damaged_pins_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
