/* The creation of one file: complete, or without effect, at every failure. */
#include "base/meta.h"
#include "restore/create_file.h"
#include "snapshot/store/content.h"
#include "tests/unit/storetest.h"

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
	if (call_fails("link", to))
		return -1;
	return (int)call_done(
		syscall(SYS_linkat, from_fd, from, to_fd, to, flags));
}

#define LEN ((size_t)300000)

struct lab {
	struct store *store;
	unsigned char *data;
	struct entry entry;
	char *dir;
};

static struct lab lab_new(struct box *box)
{
	struct lab lab = {.data = bytes_make(2, LEN)};
	struct err err;

	ok(store_open(&lab.store, box->store, STORE_WRITE, &err));
	lab.entry = (struct entry){
		.mode = S_IFREG | 0640,
		.uid = geteuid(),
		.gid = getegid(),
		.mtime = {.sec = 1000000000, .nsec = 5},
		.size = LEN,
	};
	ok(content_put_bytes(lab.store, lab.data, LEN, &lab.entry.content,
			     &err));
	check_get(lab.store, &lab.entry.content, lab.data, LEN);
	lab.dir = mem_printf("%s/new/folder", box->dir);
	return lab;
}

static void lab_done(struct lab *lab)
{
	store_free(&lab->store);
	free(lab->data);
	free(lab->dir);
}

/* Complete, or missing (false), with no other entry. */
static bool look(const struct lab *lab, const char *name)
{
	auto_free char *path = mem_printf("%s/%s", lab->dir, name);
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf b = {0};
	auto_close int dir = open(lab->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;
	struct meta m;

	if (dir < 0)
		return false;
	ok(dirlist_read(dir, &list, &err));
	if (!list.count)
		return false;
	assert_int_equal(list.count, 1);
	ok(fd_slurp_at(AT_FDCWD, path, LEN, &b, &err));
	assert_int_equal(b.len, LEN);
	assert_memory_equal(b.data, lab->data, LEN);
	assert_int_equal(meta_get(AT_FDCWD, path, &m), 0);
	assert_int_equal(m.mode, lab->entry.mode);
	assert_int_equal(m.mtime.sec, 1000000000);
	assert_int_equal(m.mtime.nsec, 5);
	return true;
}

static int make(const struct lab *lab, struct err *err)
{
	return create_file_make(lab->store, lab->dir, "file", &lab->entry, err);
}

static void its_bytes_are_durable_before_it_has_a_name(void **state)
{
	struct lab lab = lab_new(*state);
	AUTO(buf) struct buf trace = {0};
	const char *sync, *link, *folder;
	struct err err;

	calls_reset();
	calls.trace = &trace;
	ok(make(&lab, &err));
	calls_reset();
	assert_true(look(&lab, "file"));
	sync = strstr(buf_text(&trace), "fsync #");
	if (!sync) /* a file system without O_TMPFILE */
		sync = strstr(buf_text(&trace), "fsync .file");
	link = strstr(buf_text(&trace), "link file");
	if (!link)
		link = strstr(buf_text(&trace), "rename folder");
	folder = strstr(buf_text(&trace), "fsync folder");
	assert_non_null(sync);
	assert_non_null(link);
	assert_non_null(folder);
	assert_true(strstr(buf_text(&trace), "write") < sync);
	assert_true(sync < link && link < folder);
	lab_done(&lab);
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
	struct lab lab = lab_new(*state);
	struct err err;

	ok(make(&lab, &err));
	lab.entry.content = (struct oid){0};
	assert_int_equal(make(&lab, &err), -EEXIST);
	assert_true(look(&lab, "file"));
	lab_done(&lab);
}

static void an_empty_file_is_made_too(void **state)
{
	struct lab lab = lab_new(*state);
	auto_free char *path = mem_printf("%s/file", lab.dir);
	struct err err;
	struct stat st;

	lab.entry.content = (struct oid){0};
	ok(make(&lab, &err));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 0);
	lab_done(&lab);
}

static void it_fails_at_every_call_and_leaves_nothing(void **state)
{
	struct lab lab = lab_new(*state);
	unsigned int at;
	struct err err;
	int got = -1;

	for (at = 1; got < 0; at++) {
		calls_reset();
		calls.at = at;
		calls.error = EIO;
		got = make(&lab, &err);
		calls_reset();
		/* The last sync: the file exists, and success was not reported.
		 */
		if (look(&lab, "file"))
			break;
		assert_int_equal(got, -EIO);
	}
	assert_in_range(at, 3, 40);
	lab_done(&lab);
}

static void killed_at_every_call_it_leaves_nothing_or_all(void **state)
{
	struct lab lab = lab_new(*state);
	unsigned int at;
	bool there = false;

	for (at = 1; at < 40 && !there; at++) {
		pid_t pid = fork();
		struct err err;
		int status;

		if (pid == 0) {
			calls_reset();
			calls.at = at;
			(void)make(&lab, &err);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		there = look(&lab, "file");
	}
	assert_true(there && at > 3);
	lab_done(&lab);
}

static void what_a_plan_asks_about_is_left_to_it(void **state)
{
	struct lab lab = lab_new(*state);
	struct entry e = lab.entry;

	assert_true(create_file_possible(&e, "file"));
	assert_false(create_file_possible(&e, ".git"));
	e.mode = S_IFREG | 04755;
	assert_false(create_file_possible(&e, "file"));
	e.mode = S_IFDIR | 0755;
	assert_false(create_file_possible(&e, "file"));
	e.mode = S_IFLNK | 0777;
	assert_false(create_file_possible(&e, "file"));
	e = lab.entry;
	e.flags = ENTRY_INCOMPLETE;
	assert_false(create_file_possible(&e, "file"));
	e = lab.entry;
	e.attrs.type = OBJECT_ATTRSET;
	assert_false(create_file_possible(&e, "file"));
	lab_done(&lab);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(its_bytes_are_durable_before_it_has_a_name),
		T(a_name_that_is_taken_is_left_alone),
		T(an_empty_file_is_made_too),
		T(it_fails_at_every_call_and_leaves_nothing),
		T(killed_at_every_call_it_leaves_nothing_or_all),
		T(what_a_plan_asks_about_is_left_to_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
