/* guard/run/alarms.c: counts of records, against the files from before. */
/* users: one */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "guard/run/alarms.h"
#include "guard/timeline/timeline.h"
#include "tests/unit/directory_fixture.h"

static struct folder_box run, project;
static struct session session;
static struct session_root root;
static struct timeline_writer writer;
static struct alarms alarms;
static int64_t now;

static void make_file(const char *path, const char *text)
{
	auto_close int fd =
		openat(project.fd, path,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

/* A project of 100 files in src and lib, with a repository, for all tests: a
 * run changes only its layer. */
static int make_project(void **state)
{
	static const char *const dirs[] = {"src",	   "lib",
					   "node_modules", ".git",
					   ".git/refs",	   ".git/refs/heads",
					   ".git/objects", ".git/objects/pack"};
	size_t i;

	(void)state;
	folder_box_make(&project);
	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		assert_int_equal(mkdirat(project.fd, dirs[i], 0755), 0);
	for (i = 0; i < 50; i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "src/%zu", i);
		make_file(path, "x");
		(void)snprintf(path, sizeof(path), "lib/%zu", i);
		make_file(path, "x");
		(void)snprintf(path, sizeof(path), "node_modules/%zu", i);
		make_file(path, "x");
	}
	make_file(".git/HEAD", "x");
	make_file(".git/index", "x");
	make_file(".git/refs/heads/main", "x");
	make_file(".git/objects/pack/a.pack", "x");
	root.path = project.path;
	return 0;
}

static int remove_project(void **state)
{
	(void)state;
	folder_box_remove(&project);
	return 0;
}

static int set_up(void **state)
{
	struct err err;

	(void)state;
	folder_box_make(&run);
	session = SESSION_NONE;
	session.fd = run.fd;
	session.roots = &root;
	session.root_count = 1;
	ok(timeline_open(&writer, run.fd, &err));
	alarms_begin(&alarms, &session);
	now = 1000000;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	alarms_free(&alarms);
	timeline_close(&writer);
	folder_box_remove(&run);
	return 0;
}

static void add(enum timeline_kind kind, const char *path, mode_t mode,
		uint64_t size, int64_t age)
{
	struct timeline_record r = {.kind = kind,
				    .path = path,
				    .text = "",
				    .mode = mode,
				    .size = size,
				    .mtime = timestamp_now()};
	struct err err;

	r.mtime.sec -= age;
	(void)timeline_add(&writer, &r);
	ok(timeline_flush(&writer, &err));
}

/* The letters of a story: a path follows each, up to the next blank.
 *	-PATH	is deleted		=PATH	a directory in its place
 *	0PATH	is emptied		+PATH	is written
 *	>PATH	is an older file, or a directory of 50
 *	.N	N ms pass		*XPATH	X for PATH/0 to PATH/49 */
static char *tell(const char *story, struct timestamp *ret_began)
{
	char *alarm = NULL;

	while (*story && !alarm) {
		size_t len = strcspn(story, " ");
		auto_free char *word = mem_strndup(story, len);
		bool each = *word == '*';
		const char *path = word + 1 + each;
		char path_of[64];
		int i;

		for (i = 0; i < (each ? 50 : 1); i++) {
			(void)snprintf(path_of, sizeof(path_of),
				       each ? "%s/%d" : "%s", path, i);
			switch (word[each]) {
			case '-':
				add(TIMELINE_GONE, path_of, 0, 0, 0);
				break;
			case '=':
				add(TIMELINE_OPAQUE, path_of, S_IFDIR | 0755, 0,
				    0);
				break;
			case '0':
				add(TIMELINE_ENTRY, path_of, S_IFREG | 0644, 0,
				    0);
				break;
			case '+':
				add(TIMELINE_ENTRY, path_of, S_IFREG | 0644, 5,
				    0);
				break;
			case '>':
				add(TIMELINE_ENTRY, path_of, S_IFREG | 0644, 5,
				    10000);
				break;
			case '.':
				now += strtol(path, NULL, 10);
				break;
			default:
				assert_true(false);
			}
		}
		story += len + (story[len] == ' ');
		alarm = alarms_tick(&alarms, now, ret_began);
	}
	return alarm;
}

static void stories_end_with_an_alarm_or_without(void **state)
{
	static const struct {
		const char *story, *alarm;
	} cases[] = {
		{"-src .600", "50 files deleted"},
		{"*-src .600", "50 files deleted"},
		{"=src .600", "50 files deleted"},
		{"-src", NULL}, /* it may be back in a moment */
		{"-src .200 *+src .600", NULL},
		{"-src .200 =src *+src .600", NULL},
		{"-src .200 *>moved .600", NULL},
		{"*>moved -src .600", NULL},
		{"*+new .200 *-new .600", NULL}, /* the run's own */
		{"-new .600", NULL},
		{"-node_modules .600", NULL},
		{"*-node_modules .600", NULL},
		{"-src/1 -src/2 -src/3 -src/4 -src/5 .600", NULL}, /* of 100 */
		{"-src .11000", NULL}, /* the window is over */
		{"0src/1 0src/2 0src/3 0src/4 0src/5 .600", "5 files emptied"},
		{"0src/1 0src/2 0src/3 0src/4 .600", NULL},
		{"*0src .100 *+src .600", NULL},
		{"*0new .600", NULL},
		{"*+src .600", NULL},
		{"-.git .600", ".git' deleted"},
		{"-.git/HEAD .600", ".git/HEAD'"},
		{"-.git/HEAD .100 +.git/HEAD .600", NULL},
		{"0.git/HEAD .600", ".git/HEAD'"},
		{"0.git/index .600", ".git/index'"},
		{"-.git/refs .600", ".git/refs'"},
		{"-.git/refs/heads/main .600", NULL}, /* git branch -d */
		{"0.git/refs/heads/main .600", ".git/refs/heads/main'"},
		{"-.git/objects/pack/a.pack .600", "a.pack'"},
		{"+.git/objects/pack/b.pack -.git/objects/pack/a.pack .600",
		 NULL},
		{"*-.git/objects/00 .600", NULL}, /* git gc */
		{"-.gitignore .600", NULL},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		auto_free char *alarm = NULL;
		struct timestamp began;

		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
		alarm = tell(cases[i].story, &began);
		if (!alarm != !cases[i].alarm ||
		    (alarm && !strstr(alarm, cases[i].alarm)))
			fail_msg("%s: %s", cases[i].story, alarm);
		if (alarm)
			assert_true(timestamp_compare(began, timestamp_now()) <
				    0);
	}
}

static void an_alarm_comes_once_in_half_a_minute(void **state)
{
	auto_free char *first = NULL, *second = NULL, *other = NULL;
	auto_free char *late = NULL;
	struct timestamp began;

	(void)state;
	first = tell("-src .600", &began);
	assert_non_null(first);
	second = tell("-lib .600 .1000", &began);
	assert_null(second);
	other = tell("-.git .600", &began);
	assert_non_null(other);
	late = tell(".40000 =src .600", &began);
	assert_non_null(late);
}

/* A tree with old times is unpacked, and another one deleted by single files:
 * each record must not be compared with all others. */
static void many_records_take_no_time(void **state)
{
	auto_free char *alarm = NULL;
	struct timeline_record r = {.kind = TIMELINE_ENTRY,
				    .path = "new/file",
				    .text = "",
				    .mode = S_IFREG | 0644,
				    .size = 5};
	int64_t start = timestamp_monotonic_ms();
	struct timestamp began;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < 30000; i++)
		(void)timeline_add(&writer, &r);
	ok(timeline_flush(&writer, &err));
	for (i = 0; i < 20; i++)
		assert_null(tell(".1", &began));
	assert_true(alarms.events.count < 20);
	assert_true(timestamp_monotonic_ms() - start < 5000);
	now += 20000;
	alarm = tell("*-src .600", &began);
	assert_non_null(alarm);
}

static void there_are_none_without_a_session(void **state)
{
	struct timestamp began;

	(void)state;
	alarms_free(&alarms);
	alarms_begin(&alarms, NULL);
	assert_null(tell("-src .600", &began));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(stories_end_with_an_alarm_or_without),
		TEST(an_alarm_comes_once_in_half_a_minute),
		TEST(many_records_take_no_time),
		TEST(there_are_none_without_a_session),
	};

	return cmocka_run_group_tests_name("alarms", tests, make_project,
					   remove_project);
}
