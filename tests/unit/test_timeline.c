/* guard/timeline/timeline.c: records are read as written; a torn end is cut. */
/* users: one */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "guard/timeline/timeline.h"
#include "tests/unit/directory_fixture.h"

#define RECORDS 40

static struct folder_box box;

static int set_up(void **state)
{
	(void)state;
	folder_box_make(&box);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	folder_box_remove(&box);
	return 0;
}

static void fill(struct timeline_record *r, unsigned int i, char *path)
{
	/* Lengths of one and of two bytes. */
	memset(path, 'p', i * 10);
	path[i * 10] = '\0';
	*r = (struct timeline_record){
		.kind = i % 11 + 1,
		.root = i % 3,
		.path = path,
		.text = i % 2 ? "text \n" : "",
		.mode = i % 4 ? S_IFREG | 0644 : S_IFLNK | 0777,
		.size = (uint64_t)i << 40,
		.mtime = {.sec = -(int64_t)i, .nsec = i},
		.ino = i,
		.uid = i * 1000,
		.gid = i * 3000,
		.content = i % 5,
	};
}

static void add_all(struct timeline_writer *w, unsigned int first)
{
	struct err err;
	unsigned int i;

	for (i = 0; i < RECORDS; i++) {
		struct timeline_record r;
		char path[RECORDS * 10];

		fill(&r, i, path);
		assert_int_equal(timeline_add(w, &r), first + i);
	}
	assert_int_equal(timeline_flush(w, &err), 0);
}

static void check(const struct timeline *t)
{
	size_t i;

	for (i = 0; i < t->count; i++) {
		const struct timeline_record *got = &t->items[i];
		struct timeline_record r;
		char path[RECORDS * 10];

		fill(&r, i % RECORDS, path);
		assert_int_equal(got->number, i + 1);
		assert_int_equal(got->kind, r.kind);
		assert_int_equal(got->root, r.root);
		assert_string_equal(got->path, r.path);
		assert_string_equal(got->text, r.text);
		assert_int_equal(got->mode, r.mode);
		assert_int_equal(got->size, r.size);
		assert_int_equal(got->mtime.sec, r.mtime.sec);
		assert_int_equal(got->mtime.nsec, r.mtime.nsec);
		assert_int_equal(got->ino, r.ino);
		assert_int_equal(got->uid, r.uid);
		assert_int_equal(got->gid, r.gid);
		if (r.content || r.kind != TIMELINE_ENTRY || !S_ISREG(r.mode))
			assert_int_equal(got->content, r.content);
		else
			assert_int_equal(got->content, got->number);
		assert_true(got->boot_ns > 0 && got->time.sec > 0);
	}
}

static void records_are_read_as_written(void **state)
{
	AUTO(timeline) struct timeline t = {0};
	struct timeline_writer w;
	struct err err;

	(void)state;
	assert_int_equal(timeline_load(&t, box.fd, &err), 0);
	assert_int_equal(t.count, 0);
	assert_int_equal(timeline_open(&w, box.fd, &err), 0);
	add_all(&w, 1);
	timeline_close(&w);
	assert_int_equal(timeline_open(&w, box.fd, &err), 0);
	add_all(&w, RECORDS + 1);
	timeline_close(&w);
	assert_int_equal(timeline_load(&t, box.fd, &err), 0);
	assert_int_equal(t.count, 2 * RECORDS);
	check(&t);
}

/* With any byte changed only the records before it are read, and the next
 * writer goes on after them. */
static void a_torn_end_is_cut_off(void **state)
{
	struct timeline_writer w;
	struct err err;
	struct stat st;
	size_t at;

	(void)state;
	assert_int_equal(timeline_open(&w, box.fd, &err), 0);
	add_all(&w, 1);
	timeline_close(&w);
	assert_int_equal(fstatat(box.fd, TIMELINE_DIR "/records", &st, 0), 0);
	for (at = (size_t)st.st_size; at-- > 0; at = at < 97 ? 0 : at - 97) {
		AUTO(timeline) struct timeline t = {0};
		auto_close int fd = openat(box.fd, TIMELINE_DIR "/records",
					   O_RDWR | O_CLOEXEC);
		unsigned char byte;

		assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x10;
		assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
		assert_int_equal(timeline_load(&t, box.fd, &err), 0);
		assert_true(t.count < RECORDS && t.valid <= at);
		check(&t);
		assert_int_equal(timeline_open(&w, box.fd, &err), 0);
		assert_int_equal(w.next, t.count + 1);
		timeline_close(&w);
		assert_int_equal(fstat(fd, &st), 0);
		assert_int_equal(st.st_size, t.valid);
		at = t.valid;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_read_as_written),
		TEST(a_torn_end_is_cut_off),
	};

	return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}
