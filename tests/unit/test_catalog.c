/* The catalog: a snapshot exists completely or not at all, and can be found. */
/* users: one */
#include "tests/unit/snap_fixture.h"

#include <sys/wait.h>
#include <time.h>

#include "snapshot/tree/catalog.h"
#include "snapshot/tree/time_spec.h"

static struct snapshot make(struct box *box, const char *root_path)
{
	struct tree t = {0};
	struct entry f = {.name = mem_strdup("f"), .mode = S_IFREG | 0644};
	struct snapshot s = {
		.parent = 7,
		.time = {.sec = 1700000000, .nsec = 5},
		.uid = 1000,
		.reason = mem_strdup("pre-run"),
		.run_id = mem_strdup("r1"),
		.command = mem_strdup("make\n\x1b[31m"),
		.message = mem_strdup(""),
		.root_path = mem_strdup(root_path),
		.root_dev = 42,
		.root = {.name = mem_strdup(""), .mode = S_IFDIR | 0755},
		.files = 3,
		.dirs = 2,
		.bytes = UINT64_MAX,
	};
	struct err err;

	tree_add(&t, &f);
	ok(tree_save(box->store, &t, &s.root.content, &err));
	tree_free(&t);
	return s;
}

/* Adds a snapshot with this time; returns its number. */
static uint64_t add_at(struct box *box, const char *root_path, int64_t sec)
{
	AUTO(snapshot) struct snapshot s = make(box, root_path);
	struct err err;

	s.time.sec = sec;
	ok(catalog_add(box->store, &s, &err));
	return s.seq;
}

static void test_round_trip(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot in = make(box, "/p"), out = {0};
	struct err err;

	snapshot_add_note(&in, NOTE_MOVED, "b/c", "");
	snapshot_add_note(&in, NOTE_INCOMPLETE, "b", "Permission denied");
	snapshot_add_note(&in, NOTE_INCOMPLETE, "b", "again");
	ok(catalog_add(box->store, &in, &err));
	assert_int_equal(in.seq, 1);
	ok(catalog_load(box->store, 1, &out, &err));
	assert_int_equal(out.parent, 7);
	assert_int_equal(out.time.sec, 1700000000);
	assert_int_equal(out.time.nsec, 5);
	assert_int_equal(strlen(out.boot_id), 36);
	assert_string_equal(out.reason, "pre-run");
	assert_string_equal(out.run_id, "r1");
	assert_string_equal(out.command, "make\n\x1b[31m");
	assert_string_equal(out.root_path, "/p");
	assert_int_equal(out.root_dev, 42);
	assert_true(entry_equal(&out.root, &in.root));
	assert_int_equal(out.files, 3);
	assert_true(out.bytes == UINT64_MAX);
	assert_int_equal(out.note_count, 2);
	assert_string_equal(out.notes[0].path, "b");
	assert_string_equal(out.notes[0].text, "Permission denied");
	assert_int_equal(out.notes[1].kind, NOTE_MOVED);
}

static unsigned int version_of(struct box *box, uint64_t seq)
{
	auto_free char *path =
		mem_printf("%s/snaps/%010llu.gsn", box->store_root_fd,
			   (unsigned long long)seq);
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned char head[10] = {0};

	assert_int_equal(read(fd, head, sizeof(head)), sizeof(head));
	return head[8] | (unsigned int)head[9] << 8;
}

static void test_tags_and_what_is_left_out(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot in = make(box, "/p"), out = {0};
	const char *const tags[] = {"keep", "v1", NULL};
	const char *const excludes[] = {"*.o", NULL};
	struct err err;

	in.tags = snapshot_copy_texts(tags);
	in.excludes = snapshot_copy_texts(excludes);
	ok(catalog_add(box->store, &in, &err));
	ok(catalog_load(box->store, in.seq, &out, &err));
	assert_true(mem_list_has((const char *const *)out.tags, "keep"));
	assert_true(mem_list_has((const char *const *)out.tags, "v1"));
	assert_false(mem_list_has((const char *const *)out.tags, "v"));
	assert_string_equal(out.excludes[0], "*.o");
	assert_null(out.excludes[1]);
	assert_int_equal(version_of(box, in.seq), 4);
}

static void test_the_origin_is_that_of_the_store(void **state)
{
	struct box *box = *state;
	uint64_t seq = add_at(box, "/p", 1000);
	AUTO(snapshot) struct snapshot out = {0};
	struct err err;

	static const unsigned char none[ORIGIN_LEN];
	AUTO(snapshot) struct snapshot next = {0};
	char host[256] = "";

	ok(catalog_load(box->store, seq, &out, &err));
	ok(catalog_load(box->store, add_at(box, "/p", 1001), &next, &err));
	assert_null(out.tags);
	assert_null(out.excludes);
	(void)gethostname(host, sizeof(host) - 1);
	assert_string_equal(out.host, host);
	assert_true(memcmp(out.origin, none, ORIGIN_LEN) != 0);
	assert_memory_equal(out.origin, next.origin, ORIGIN_LEN);
}

static void test_a_root_that_was_not_there(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot in = make(box, "/p"), out = {0};
	struct err err;

	entry_free(&in.root);
	ok(catalog_add(box->store, &in, &err));
	ok(catalog_load(box->store, in.seq, &out, &err));
	assert_int_equal(out.root.mode, 0);
}

static void test_numbers_grow_by_one(void **state)
{
	struct box *box = *state;
	auto_free uint64_t *seqs = NULL;
	size_t count, i;
	struct err err;

	for (i = 1; i <= 12; i++)
		assert_int_equal(add_at(box, "/p", 1000), i);
	ok(catalog_list(box->store, &seqs, &count, &err));
	assert_int_equal(count, 12);
	for (i = 0; i < count; i++)
		assert_int_equal(seqs[i], i + 1);
}

static void test_folders_are_closed_at_rest(void **state)
{
	struct box *box = *state;
	struct stat st;
	char path[128];

	(void)add_at(box, "/p", 1000);
	(void)snprintf(path, sizeof(path), "%s/snaps", box->store_root_fd);
	assert_return_code(stat(path, &st), errno);
	assert_int_equal(st.st_mode & 0777, 0500);
	(void)snprintf(path, sizeof(path), "%s/snaps/0000000001.gsn",
		       box->store_root_fd);
	assert_return_code(stat(path, &st), errno);
	assert_int_equal(st.st_mode & 0777, 0400);
}

static int open_snaps(struct box *box)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/snaps", box->store_root_fd);
	assert_return_code(chmod(path, 0700), errno);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(fd, errno);
	return fd;
}

static void replace(int dirfd, const char *name, const void *data, size_t len)
{
	auto_close int fd = -1;

	(void)unlinkat(dirfd, name, 0);
	fd = openat(dirfd, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);
	assert_return_code(fd, errno);
	assert_return_code(fd_write(fd, data, len), errno);
}

/* Writes the highest number as it was before a kill, or (old: with the time of
 * an earlier boot of the machine) before a power cut. */
static void set_highest(struct box *box, const char *digits, bool old)
{
	const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
					 {.tv_sec = 1}};
	int dir = store_root_fd(box->store);
	auto_close int fd = openat(dir, "commit.lock", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, digits, strlen(digits), 0), 20);
	if (old)
		assert_int_equal(futimens(fd, times), 0);
}

static void test_a_lost_highest_number_is_found_again(void **state)
{
	struct box *box = *state;
	auto_close int dir = -1;
	struct err err;
	uint64_t seq;
	size_t i;

	for (i = 0; i < 4; i++)
		(void)add_at(box, "/p", 1000);
	ok(catalog_newest(box->store, &seq, &err));
	assert_int_equal(seq, 4);
	set_highest(box, "0000000000000000003\n", false);
	ok(catalog_newest(box->store, &seq, &err));
	assert_int_equal(seq, 4);
	dir = open_snaps(box);
	assert_int_equal(unlinkat(dir, "0000000003.gsn", 0), 0);
	set_highest(box, "0000000000000000001\n", true);
	ok(catalog_newest(box->store, &seq, &err));
	assert_int_equal(seq, 4);
	assert_int_equal(add_at(box, "/p", 1000), 5);
	set_highest(box, "x000000000000000001\n", false);
	ok(catalog_newest(box->store, &seq, &err));
	assert_int_equal(seq, 5);
}

static void test_every_damaged_byte_is_noticed(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot in = make(box, "/p");
	auto_close int dir = -1;
	AUTO(buf) struct buf bytes = {0};
	struct err err;
	size_t i;

	snapshot_add_note(&in, NOTE_MOVED, "b", "");
	ok(catalog_add(box->store, &in, &err));
	dir = open_snaps(box);
	ok(fd_slurp_at(dir, "0000000001.gsn", 65536, &bytes, &err));
	for (i = 0; i < bytes.len; i++) {
		struct snapshot out;

		bytes.data[i] ^= 1 << (i % 8);
		replace(dir, "0000000001.gsn", bytes.data, bytes.len);
		assert_int_equal(catalog_load(box->store, 1, &out, &err),
				 -EBADMSG);
		assert_non_null(strstr(err.text, "0000000001.gsn"));
		bytes.data[i] ^= 1 << (i % 8);
		replace(dir, "0000000001.gsn", bytes.data, i);
		assert_int_equal(catalog_load(box->store, 1, &out, &err),
				 -EBADMSG);
	}
	/* Intact, but under another number. */
	replace(dir, "0000000002.gsn", bytes.data, bytes.len);
	assert_int_equal(catalog_load(box->store, 2, &in, &err), -EBADMSG);
}

static void test_strange_names_are_no_snapshots(void **state)
{
	struct box *box = *state;
	static const char *const names[] = {"1.gsn", "0000000009.gsn.tmp",
					    "x0000000009.gsn", "0000000000.gsn",
					    "99999999999999999999.gsn"};
	auto_free uint64_t *seqs = NULL;
	auto_close int dir = -1;
	size_t count, i;
	struct err err;

	(void)add_at(box, "/p", 1000);
	dir = open_snaps(box);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		replace(dir, names[i], "x", 1);
	ok(catalog_list(box->store, &seqs, &count, &err));
	assert_int_equal(count, 1);
	assert_int_equal(seqs[0], 1);
}

static void test_a_snapshot_that_is_not_there(void **state)
{
	struct box *box = *state;
	struct snapshot s;
	struct err err;

	assert_int_equal(catalog_load(box->store, 3, &s, &err), -ENOENT);
}

struct beside {
	struct box *box;
	uint64_t seqs[2];
	int calls;
};

/* A file that names the snapshot; at the first try the number is taken. */
static int note_beside(void *arg, const struct snapshot *s,
		       struct atomic_set *set, struct err *err)
{
	struct beside *b = arg;
	int dir = store_root_fd(b->box->store);
	auto_close int snaps = openat(dir, "snaps", O_PATH | O_CLOEXEC);
	auto_close int fd = -1;
	char name[32], text[24];

	assert_true(b->calls < 2);
	b->seqs[b->calls] = s->seq;
	catalog_file_name(name, s->seq);
	if (!b->calls++)
		fd = openat(snaps, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0400);
	(void)snprintf(text, sizeof(text), "%d", (int)s->seq);
	return atomic_set_write(set, dir, "beside", text, strlen(text), 0600,
				err);
}

static void test_a_file_beside_names_the_number_that_was_free(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = make(box, "/p"), out = {0};
	AUTO(buf) struct buf text = {0};
	struct beside b = {.box = box};
	struct err err;

	ok(catalog_add_with(box->store, &s, note_beside, &b, &err));
	assert_int_equal(b.calls, 2);
	assert_int_equal(b.seqs[0], 1);
	assert_int_equal(b.seqs[1], 2);
	assert_int_equal(s.seq, 2);
	ok(catalog_load(box->store, 2, &out, &err));
	ok(fd_slurp_at(store_root_fd(box->store), "beside", 100, &text, &err));
	assert_string_equal(buf_text(&text), "2");
}

struct late {
	struct box *box;
	char name[64]; /* in tmp/, of the snapshot before */
};

/* Another process opened the file before the rename, finds it unlocked now, and
 * deletes it by its temporary name. */
static int clear_late(void *arg, const struct snapshot *s,
		      struct atomic_set *set, struct err *err)
{
	struct late *l = arg;
	auto_close int tmp = openat(store_root_fd(l->box->store), "tmp",
				    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	(void)s;
	(void)set;
	if (*l->name)
		(void)unlinkat(tmp, l->name, 0);
	if (dirlist_read(tmp, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++)
		if (strncmp(list.items[i].name, "snap-", 5) == 0)
			(void)snprintf(l->name, sizeof(l->name), "%s",
				       list.items[i].name);
	return 0;
}

static void test_a_name_in_tmp_is_not_given_twice(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = make(box, "/p");
	struct late l = {.box = box};
	struct err err;

	ok(catalog_add_with(box->store, &s, clear_late, &l, &err));
	assert_true(*l.name);
	ok(catalog_add_with(box->store, &s, clear_late, &l, &err));
	assert_int_equal(s.seq, 2);
}

/* Opens the store again each time, which clears tmp/ during the work of other
 * writers. */
static int add_many(struct box *box, int count)
{
	while (count--) {
		AUTO(snapshot)
		struct snapshot s = {
			.reason = mem_strdup("manual"),
			.root_path = mem_strdup("/p"),
		};
		struct store *store;
		struct err err;

		if (store_open(&store, box->store_root_fd, STORE_WRITE, &err) <
		    0)
			return 1;
		if (catalog_add(store, &s, &err) < 0) {
			(void)fprintf(stderr, "%s\n", err.text);
			return 2;
		}
		store_free(&store);
	}
	return 0;
}

static void test_processes_never_share_a_number(void **state)
{
	struct box *box = *state;
	auto_free uint64_t *seqs = NULL;
	struct err err;
	int i, status, bad = 0;
	size_t count;

	for (i = 0; i < 4; i++)
		if (fork() == 0)
			_exit(add_many(box, 25));
	for (i = 0; i < 4; i++) {
		assert_true(wait(&status) > 0);
		bad |= status;
	}
	assert_int_equal(bad, 0);
	ok(catalog_list(box->store, &seqs, &count, &err));
	assert_int_equal(count, 100);
	assert_int_equal(seqs[99], 100);
}

/* --- finding --- */

static uint64_t found(struct box *box, const char *time_spec, const char *path,
		      bool need)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct err err;
	int got = catalog_find(box->store, time_spec, path, need, &s, &err);

	if (got < 0)
		fail_msg("%s: %s", time_spec ? time_spec : "NULL", err.text);
	return s.seq;
}

static int not_found(struct box *box, const char *time_spec, const char *path,
		     bool need)
{
	struct snapshot s;
	struct err err;
	int got = catalog_find(box->store, time_spec, path, need, &s, &err);

	assert_true(got < 0);
	assert_true(*err.text);
	return got;
}

static int64_t local(const char *text)
{
	struct tm tm = {.tm_isdst = -1};

	assert_non_null(strptime(text, "%Y-%m-%d %H:%M:%S", &tm));
	return mktime(&tm);
}

static void test_latest_and_numbers(void **state)
{
	struct box *box = *state;

	assert_int_equal(not_found(box, NULL, "/p", false), -ENOENT);
	(void)add_at(box, "/p", 1000);
	(void)add_at(box, "/p", 2000);
	(void)add_at(box, "/q", 3000);
	(void)add_at(box, "/p", 4000);
	assert_int_equal(found(box, NULL, "/p", false), 4);
	assert_int_equal(found(box, "latest", "/p", false), 4);
	assert_int_equal(found(box, "latest~0", "/p/f", true), 4);
	assert_int_equal(found(box, "latest~1", "/p/x/y", false), 2);
	assert_int_equal(found(box, "latest~2", "/p", false), 1);
	assert_int_equal(not_found(box, "latest~3", "/p", false), -ENOENT);
	assert_int_equal(found(box, NULL, "/q", false), 3);
	assert_int_equal(found(box, "2", "/p", false), 2);
	assert_int_equal(found(box, "s2", "/p/f", true), 2);
	assert_int_equal(not_found(box, "s3", "/p", false), -ENOENT);
	assert_int_equal(not_found(box, "s9", "/p", false), -ENOENT);
	assert_int_equal(not_found(box, "s2", "/p/no", true), -ENOENT);
	assert_int_equal(not_found(box, NULL, "/p/no", true), -ENOENT);
	assert_int_equal(not_found(box, NULL, "/pp", false), -ENOENT);
}

static void test_times(void **state)
{
	struct box *box = *state;

	(void)add_at(box, "/p", local("2026-11-20 09:00:00"));
	(void)add_at(box, "/p", local("2026-11-21 14:30:05"));
	(void)add_at(box, "/p", local("2026-11-21 14:30:40"));
	(void)add_at(box, "/p", local("2026-11-22 00:00:00"));
	assert_int_equal(found(box, "2026-11-20", "/p", false), 1);
	assert_int_equal(found(box, "2026-11-21", "/p", false), 3);
	assert_int_equal(found(box, "2026-11-21 14:30", "/p", false), 3);
	assert_int_equal(found(box, "2026-11-21T14:30:05", "/p", false), 2);
	assert_int_equal(found(box, "2026-11-21 14:30:04", "/p", false), 1);
	assert_int_equal(found(box, "2030-01-01", "/p", false), 4);
	assert_int_equal(not_found(box, "2026-11-19", "/p", false), -ENOENT);
}

static void test_times_ago(void **state)
{
	struct box *box = *state;
	int64_t now = timestamp_now().sec;

	(void)add_at(box, "/p", now - 15 * 86400);
	(void)add_at(box, "/p", now - 3 * 86400);
	(void)add_at(box, "/p", now - 3 * 3600);
	(void)add_at(box, "/p", now - 100);
	assert_int_equal(found(box, "0s ago", "/p", false), 4);
	assert_int_equal(found(box, "2m ago", "/p", false), 3);
	assert_int_equal(found(box, "2 min ago", "/p", false), 3);
	assert_int_equal(found(box, "2h ago", "/p", false), 3);
	assert_int_equal(found(box, "4 hours ago", "/p", false), 2);
	assert_int_equal(found(box, "2d ago", "/p", false), 2);
	assert_int_equal(found(box, "2w ago", "/p", false), 1);
	assert_int_equal(found(box, "1w", "/p", false), 1);
	assert_int_equal(not_found(box, "3w ago", "/p", false), -ENOENT);
}

static void test_what_is_not_understood(void **state)
{
	static const char *const texts[] = {
		"",
		"yesterweek",
		"latest~",
		"latest~x",
		"latest~1x",
		"latestx",
		"s",
		"sx",
		"s0",
		"0",
		"-1",
		"2x ago",
		"2h before",
		"h ago",
		"2026-13-01",
		"2026-02-30",
		"2026-11-21 25:00",
		"2026-11-21 14:3",
		"2026-11",
		"2026-11-21 14:30 x",
		"99999999999999999999h ago",
		"14:60",
		"2026-11-21Z",
		"2026-11-21T14:30:00Zx",
		"14:30.5",
		"14:30:05.",
		"14:30:05.1234567890",
		"14:30:05,1",
		"a",
	};
	size_t i;
	struct time_spec w;
	struct err err;

	(void)state;
	for (i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (time_spec_parse(texts[i], timestamp_now(), &w, &err) !=
		    -EDOM)
			fail_msg("'%s' was understood", texts[i]);
}

static void test_z_means_utc(void **state)
{
	struct err err;
	struct time_spec w;

	(void)state;
	ok(time_spec_parse("2026-11-21T14:30:07Z", timestamp_now(), &w, &err));
	assert_int_equal(w.kind, TIME_SPEC_TIME);
	assert_int_equal(w.time.sec, 1795271407);
}

static void test_time_alone_is_today(void **state)
{
	struct timestamp now = {.sec = local("2026-11-21 18:00:00")};
	struct time_spec w;
	struct err err;

	(void)state;
	ok(time_spec_parse("14:30", now, &w, &err));
	assert_int_equal(w.kind, TIME_SPEC_TIME);
	assert_int_equal(w.time.sec, local("2026-11-21 14:30:59"));
}

/* A time stands for the end of the unit that its text names. */
static void test_a_time_has_its_unit(void **state)
{
	static const struct {
		const char *text, *begin;
		int64_t seconds; /* 0: less, from begin_ns to end_ns */
		uint32_t begin_ns, end_ns;
	} all[] = {
		{"2026-11-21", "2026-11-21 00:00:00", 86400, 0, 0},
		{"2026-11-21 14:30", "2026-11-21 14:30:00", 60, 0, 0},
		{"14:30", "2026-11-21 14:30:00", 60, 0, 0},
		{"14:30:05", "2026-11-21 14:30:05", 1, 0, 0},
		{"14:30:05.4", "2026-11-21 14:30:05", 0, 400000000, 499999999},
		{"14:30:05.000", "2026-11-21 14:30:05", 0, 0, 999999},
		{"2026-11-21T14:30:05.999999999", "2026-11-21 14:30:05", 0,
		 999999999, 999999999},
	};
	struct timestamp now = {.sec = local("2026-11-21 18:00:00")};
	struct time_spec w;
	struct err err;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(all) / sizeof(*all); i++) {
		int64_t begin = local(all[i].begin), more = all[i].seconds;

		ok(time_spec_parse(all[i].text, now, &w, &err));
		assert_int_equal(w.begin.sec, begin);
		assert_int_equal(w.begin.nsec, all[i].begin_ns);
		assert_int_equal(w.time.sec, more ? begin + more - 1 : begin);
		assert_int_equal(w.time.nsec, more ? 999999999 : all[i].end_ns);
	}
	ok(time_spec_parse("5m", now, &w, &err));
	assert_int_equal(w.begin.sec, now.sec - 300);
	assert_int_equal(w.time.sec, now.sec - 300);
}

static void test_yesterday_is_the_day_before(void **state)
{
	struct timestamp now = {.sec = local("2026-03-01 18:00:00")};
	struct time_spec w;
	struct err err;

	(void)state;
	ok(time_spec_parse("yesterday", now, &w, &err));
	assert_int_equal(w.kind, TIME_SPEC_TIME);
	assert_int_equal(w.time.sec, local("2026-02-28 23:59:59"));
	ok(time_spec_parse("yesterday 14:30", now, &w, &err));
	assert_int_equal(w.time.sec, local("2026-02-28 14:30:59"));
	ok(time_spec_parse("today", now, &w, &err));
	assert_int_equal(w.time.sec, local("2026-03-01 23:59:59"));
	assert_int_equal(time_spec_parse("yesterdayx", now, &w, &err), -EDOM);
}

static void test_a_damaged_snapshot_is_passed_over(void **state)
{
	struct box *box = *state;
	auto_close int dir = -1;

	(void)add_at(box, "/p", 1000);
	(void)add_at(box, "/p", 2000);
	dir = open_snaps(box);
	replace(dir, "0000000002.gsn", "bad", 3);
	assert_int_equal(found(box, "latest", "/p", false), 1);
	assert_int_equal(not_found(box, "s2", "/p", false), -EBADMSG);
	replace(dir, "0000000001.gsn", "bad", 3);
	assert_int_equal(not_found(box, "latest", "/p", false), -EBADMSG);
}

static void test_notes_count_for_what_is_below(void **state)
{
	AUTO(snapshot) struct snapshot s = {0};

	(void)state;
	assert_false(snapshot_has_note(&s, NOTE_INCOMPLETE, ""));
	snapshot_add_note(&s, NOTE_INCOMPLETE, "z", "");
	snapshot_add_note(&s, NOTE_INCOMPLETE, "a/b", "");
	snapshot_add_note(&s, NOTE_MOVED, "a", "");
	assert_true(snapshot_has_note(&s, NOTE_INCOMPLETE, "a/b/c/d"));
	assert_true(snapshot_has_note(&s, NOTE_INCOMPLETE, "a/b"));
	assert_false(snapshot_has_note(&s, NOTE_INCOMPLETE, "a"));
	assert_false(snapshot_has_note(&s, NOTE_INCOMPLETE, "a/bc"));
	assert_true(snapshot_has_note(&s, NOTE_MOVED, "a/x"));
	assert_false(snapshot_has_note(&s, NOTE_MOVED, "z"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(test_round_trip),
		T(test_tags_and_what_is_left_out),
		T(test_the_origin_is_that_of_the_store),
		T(test_a_root_that_was_not_there),
		T(test_numbers_grow_by_one),
		T(test_folders_are_closed_at_rest),
		T(test_a_lost_highest_number_is_found_again),
		T(test_every_damaged_byte_is_noticed),
		T(test_strange_names_are_no_snapshots),
		T(test_a_snapshot_that_is_not_there),
		T(test_processes_never_share_a_number),
		T(test_a_file_beside_names_the_number_that_was_free),
		T(test_a_name_in_tmp_is_not_given_twice),
		T(test_latest_and_numbers),
		T(test_times),
		T(test_times_ago),
		T(test_what_is_not_understood),
		T(test_z_means_utc),
		T(test_time_alone_is_today),
		T(test_a_time_has_its_unit),
		T(test_yesterday_is_the_day_before),
		T(test_a_damaged_snapshot_is_passed_over),
		T(test_notes_count_for_what_is_below),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
