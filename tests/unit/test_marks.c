/* guard/timeline/marks.c: lines of a FIFO become records, never too many, and
 * no writer and no reader waits. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "guard/timeline/marks.h"
#include "tests/unit/directory_fixture.h"

static struct folder_box box;
static struct timeline_writer writer;
static struct marks marks;
static int fd;

static int set_up(void **state)
{
	struct err err;

	(void)state;
	folder_box_make(&box);
	marks = (struct marks){0};
	fd = marks_open(box.fd);
	assert_true(fd >= 0);
	ok(timeline_open(&writer, box.fd, &err));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	timeline_close(&writer);
	(void)close(fd);
	folder_box_remove(&box);
	return 0;
}

/* As a process of the run does. */
static void put(const void *bytes, size_t len)
{
	auto_close int fifo = openat(box.fd, TIMELINE_FIFO,
				     O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	assert_true(fifo >= 0);
	assert_int_equal(write(fifo, bytes, len), len);
}

/* The marks up to now, each followed by a line feed. */
static const char *taken(void)
{
	static struct buf all;
	AUTO(timeline) struct timeline t = {0};
	struct err err;
	size_t i;

	marks_take(fd, &marks, &writer);
	ok(timeline_flush(&writer, &err));
	ok(timeline_load(&t, box.fd, &err));
	buf_clear(&all);
	for (i = 0; i < t.count; i++) {
		assert_int_equal(t.items[i].kind, TIMELINE_MARK);
		buf_printf(&all, "%s\n", t.items[i].text);
	}
	return buf_text(&all);
}

static void lines_become_marks(void **state)
{
#define CASE(bytes, marks)                                                     \
	{                                                                      \
		bytes, sizeof(bytes) - 1, marks                                \
	}
	static const struct {
		const char *bytes;
		size_t len;
		const char *marks;
	} cases[] = {
		CASE("one\n", "one\n"),
		CASE("no line feed", "no line feed\n"),
		CASE("two\nlines\n", "two\nlines\n"),
		CASE(" \tblanks around \r\n", "blanks around\n"),
		CASE("\n\n \n\t\n", ""),
		CASE("\0\0\n\0", ""),
		CASE("ends\0here\n", "ends\n"),
		CASE("esc \033[31m\b\n", "esc \\x1b[31m\\x08\n"),
		CASE("\xff\xc3\n", "\\xff\\xc3\n"),
		CASE("right \xe2\x80\xae left\n", "right <U+202E> left\n"),
		CASE("\xc3\xa4\xe4\xbd\xa0\n", "\xc3\xa4\xe4\xbd\xa0\n"),
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
		put(cases[i].bytes, cases[i].len);
		assert_string_equal(taken(), cases[i].marks);
	}
}

static void a_long_line_is_cut(void **state)
{
	char line[2 * MARK_MAX];

	(void)state;
	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	put(line, sizeof(line));
	put("next\n", 5);
	assert_memory_equal(taken(), line, MARK_MAX);
	assert_string_equal(taken() + MARK_MAX, "\nnext\n");
}

/* A run fills the FIFO again and again. */
static void a_flood_is_dropped_and_counted(void **state)
{
	auto_close int fifo = openat(box.fd, TIMELINE_FIFO,
				     O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	AUTO(timeline) struct timeline t = {0};
	struct err err;
	unsigned int round, lines = 0;

	(void)state;
	for (round = 0; round < 20; round++) {
		while (write(fifo, "flood\n", 6) == 6)
			lines++;
		assert_int_equal(errno, EAGAIN);
		marks_take(fd, &marks, &writer);
	}
	/* The FIFO is empty behind a flood. */
	marks_take(fd, &marks, &writer);
	marks_end(&marks, &writer);
	marks_end(&marks, &writer);
	ok(timeline_flush(&writer, &err));
	ok(timeline_load(&t, box.fd, &err));
	/* Ten, and one line that counts the others. */
	assert_true(t.count >= 11 && t.count < 60);
	assert_non_null(strstr(t.items[t.count - 1].text, "marks dropped"));
	assert_true(lines > 10000);
	/* A second later there are marks again. */
	marks.next -= 1000;
	marks.dropped = 1;
	put("after\n", 6);
	assert_non_null(strstr(
		taken(), "1 mark dropped: more than ten in a second\nafter\n"));
}

static void a_reader_without_rights_takes_no_marks(void **state)
{
	struct stat st;

	(void)state;
	assert_int_equal(fstatat(box.fd, TIMELINE_FIFO, &st, 0), 0);
	assert_int_equal(st.st_mode, S_IFIFO | 0222);
	if (geteuid())
		assert_int_equal(openat(box.fd, TIMELINE_FIFO,
					O_RDONLY | O_NONBLOCK | O_CLOEXEC),
				 -1);
}

static void the_fifo_is_opened_again(void **state)
{
	(void)state;
	put("before\n", 7);
	/* A new worker before the old one is gone. */
	{
		auto_close int other = marks_open(box.fd);

		assert_true(other >= 0);
		(void)close(fd);
		fd = TAKE_FD(other);
	}
	assert_string_equal(taken(), "before\n");
	assert_string_equal(taken(), "before\n");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_become_marks),
		TEST(a_long_line_is_cut),
		TEST(a_flood_is_dropped_and_counted),
		TEST(a_reader_without_rights_takes_no_marks),
		TEST(the_fifo_is_opened_again),
	};

	return cmocka_run_group_tests_name("marks", tests, NULL, NULL);
}
