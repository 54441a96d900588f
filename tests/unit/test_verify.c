/* verify: damage is found and named with all affected paths; verify writes
 * nothing and does not crash. */
/* users: one */
#include <sys/mman.h>

#include "tests/unit/snap_fixture.h"

#include "snapshot/store/packformat.h"
#include "tests/unit/keep_fixture.h"

/* Two snapshots that share all but one file. */
static void fill(struct box *box)
{
	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	put_file(box, "a", 1, 100);
	put_file(box, "d/b", 2, 70000);
	put_file(box, "d/c", 3, 5);
	put_file(box, "big", 4, 3u << 20);
	assert_int_equal(take(box), 1);
	put_file(box, "a", 5, 100);
	assert_int_equal(take(box), 2);
}

static void test_a_whole_store_is_called_whole(void **state)
{
	struct box *box = *state;
	struct verify_options options = {.read_data = true};
	struct verify_result result;
	struct err err;

	fill(box);
	assert_int_equal(verify_now(box, false, NULL), 0);
	assert_int_equal(verify_store(box->store, &options, &result, &err), 0);
	assert_int_equal(result.snapshots, 2);
	assert_true(result.packs >= 2);
	assert_true(result.objects > 10);
	assert_true(result.read_bytes > 3u << 20);
	assert_int_equal(result.faults, 0);
}

static void test_an_empty_store_is_whole(void **state)
{
	assert_int_equal(verify_now(*state, true, NULL), 0);
}

/* Every region of every pack: bytes at short intervals, and all of header and
 * footer. */
static void test_no_flipped_byte_goes_unnoticed(void **state)
{
	struct box *box = *state;
	AUTO(dirlist) struct dirlist packs = {0};
	struct buf want[2] = {{0}, {0}};
	struct err err;
	size_t i;
	uint64_t at, seq, noticed = 0, unnoticed = 0;

	put_file(box, "a", 1, 900);
	put_file(box, "b", 2, 66000);
	assert_return_code(symlinkat("a", box->root_fd, "l"), errno);
	(void)take(box);
	put_file(box, "a", 3, 800);
	(void)take(box);
	for (seq = 1; seq <= 2; seq++)
		ok(snapshot_bytes(box, seq, &want[seq - 1], &err));
	list_store(box, "packs", &packs);
	for (i = 0; i < packs.count; i++) {
		auto_free char *path =
			store_path(box, "packs", packs.items[i].name);
		struct stat st;

		assert_return_code(stat(path, &st), errno);
		for (at = 0; at < (uint64_t)st.st_size;
		     at +=
		     at < 200 || at + 200 > (uint64_t)st.st_size ? 1 : 97) {
			AUTO(buf) struct buf faults = {0};

			flip(path, at);
			if (verify_now(box, true, &faults) == 1) {
				noticed++;
				assert_non_null(strstr(buf_text(&faults),
						       packs.items[i].name));
			} else {
				unnoticed++; /* bytes that no reader uses */
				for (seq = 1; seq <= 2; seq++) {
					AUTO(buf) struct buf is = {0};

					ok(snapshot_bytes(box, seq, &is, &err));
					assert_int_equal(is.len,
							 want[seq - 1].len);
					assert_memory_equal(is.data,
							    want[seq - 1].data,
							    is.len);
				}
			}
			flip(path, at);
		}
	}
	assert_true(noticed > 1000);
	/* Padding of records. */
	assert_true(unnoticed < noticed / 20);
	buf_free(&want[0]);
	buf_free(&want[1]);
	check_whole(box);
}

static void test_a_cut_off_pack_is_named_wherever_it_is_cut(void **state)
{
	struct box *box = *state;
	AUTO(dirlist) struct dirlist packs = {0};
	size_t i;
	off_t len;

	put_file(box, "a", 1, 300);
	(void)take(box);
	list_store(box, "packs", &packs);
	assert_true(packs.count > 1);
	for (i = 0; i < packs.count; i++) {
		auto_free char *path =
			store_path(box, "packs", packs.items[i].name);
		struct stat st;
		auto_free char *bytes = NULL;
		auto_close int fd = -1;

		assert_return_code(chmod(path, 0600), errno);
		fd = open(path, O_RDWR | O_CLOEXEC);
		assert_return_code(fd, errno);
		assert_return_code(fstat(fd, &st), errno);
		bytes = mem_alloc((size_t)st.st_size);
		assert_int_equal(fd_pread(fd, bytes, (size_t)st.st_size, 0),
				 st.st_size);
		for (len = st.st_size - 1; len >= 0; len -= 13) {
			AUTO(buf) struct buf faults = {0};

			assert_return_code(ftruncate(fd, len), errno);
			assert_int_equal(verify_now(box, false, &faults), 1);
			assert_non_null(
				strstr(buf_text(&faults), packs.items[i].name));
		}
		assert_return_code(fd_pwrite(fd, bytes, (size_t)st.st_size, 0),
				   errno);
	}
	check_whole(box);
}

static void test_all_paths_that_suffer_are_named(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf faults = {0};
	auto_free char *pack = NULL;

	put_file(box, "a", 1, 100);
	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	assert_return_code(symlinkat("a", box->root_fd, "link"), errno);
	put_file(box, "d/big", 2, 2u << 20);
	put_file(box, "d/empty", 0, 0);
	(void)take(box);
	pack = pack_of_kind(box, PACK_DATA);
	put_file(box, "new", 3, 100);
	(void)take(box);
	remove_from(box, "packs", pack);
	assert_int_equal(verify_now(box, false, &faults), 1);
	assert_string_equal(buf_text(&faults), "path 1 a\npath 1 d/big\n"
					       "path 2 a\npath 2 d/big\n");
}

static void test_a_lost_folder_stands_for_what_was_in_it(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf faults = {0};
	auto_free char *pack = NULL;

	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	put_file(box, "d/x", 1, 100);
	(void)take(box);
	pack = pack_of_kind(box, PACK_META);
	put_file(box, "new", 3, 100);
	(void)take(box);
	remove_from(box, "packs", pack);
	assert_int_equal(verify_now(box, false, &faults), 1);
	assert_string_equal(buf_text(&faults), "path 1 \npath 2 d\n");
}

static void test_only_reading_the_data_finds_a_flipped_bit_in_it(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf faults = {0};
	auto_free char *pack = NULL, *path = NULL, *want = NULL;

	put_file(box, "noise", 2, 70000);
	(void)take(box);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	flip(path, 30000);
	assert_int_equal(verify_now(box, false, &faults), 0);
	assert_int_equal(verify_now(box, true, &faults), 1);
	want = mem_printf("record 0 %s\npath 1 noise\n", pack);
	assert_string_equal(buf_text(&faults), want);
}

static void test_a_sample_of_all_finds_all(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf faults = {0};
	auto_free char *pack = NULL, *path = NULL;
	struct verify_options options = {
		.sample = 100, .fault = note_fault, .arg = &faults};
	struct verify_result result;
	struct err err;

	put_file(box, "noise", 2, 70000);
	(void)take(box);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	flip(path, 30000);
	assert_int_equal(verify_store(box->store, &options, &result, &err), 1);
	assert_int_equal(result.faults, 2);
}

static void test_a_second_copy_saves_the_path(void **state)
{
	struct box *box = *state;
	AUTO(store) struct store *other = NULL;
	AUTO(dirlist) struct dirlist packs = {0};
	AUTO(buf) struct buf faults = {0};
	auto_free char *pack = NULL, *path = NULL;
	struct oid a, b;
	struct err err;
	char bytes[70000];

	/* Two writers at the same time store the same bytes twice. */
	memset(bytes, 'x', sizeof(bytes));
	put_file(box, "noise", 2, 70000);
	ok(store_open(&other, box->store_root_fd, STORE_WRITE, &err));
	ok(store_put(other, OBJECT_DATA, bytes, sizeof(bytes), &a, &err));
	(void)take(box);
	{
		auto_close int fd =
			openat(box->root_fd, "noise", O_RDONLY | O_CLOEXEC);

		ok(content_put(other, fd, NULL, &b, &(uint64_t){0}, &err));
	}
	ok(store_flush(other, &err));
	list_store(box, "packs", &packs);
	assert_int_equal(packs.count, 3);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	flip(path, 30000);
	assert_int_equal(verify_now(box, true, &faults), 1);
	assert_null(strstr(buf_text(&faults), "path"));
	assert_non_null(strstr(buf_text(&faults), "record"));
}

static void test_a_damaged_snapshot_and_secret_are_named(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf faults = {0};
	auto_free char *snap = NULL, *secret = NULL;

	fill(box);
	snap = store_path(box, "snaps", "0000000001.gsn");
	secret = path_join(box->store_root_fd, "secret");
	flip(snap, 40);
	flip(secret, 7);
	assert_int_equal(verify_now(box, false, &faults), 1);
	assert_string_equal(buf_text(&faults), "secret 0 secret\n"
					       "snapshot 1 \n");
	flip(snap, 40);
	flip(secret, 7);
	check_whole(box);
}

static void list_all(struct box *box, struct buf *to)
{
	static const char *const dirs[] = {"", "packs", "snaps", "tmp",
					   "trash"};
	size_t i, k;

	for (i = 0; i < 5; i++) {
		AUTO(dirlist) struct dirlist list = {0};

		list_store(box, dirs[i], &list);
		for (k = 0; k < list.count; k++) {
			auto_free char *path =
				store_path(box, dirs[i], list.items[k].name);
			struct stat st;

			assert_return_code(lstat(path, &st), errno);
			buf_printf(to, "%s %llu %lld.%09ld %o\n", path,
				   (unsigned long long)st.st_ino,
				   (long long)st.st_ctim.tv_sec,
				   st.st_ctim.tv_nsec, st.st_mode);
		}
	}
}

static void test_nothing_is_written(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf before = {0}, after = {0};

	fill(box);
	list_all(box, &before);
	assert_int_equal(verify_now(box, true, NULL), 0);
	list_all(box, &after);
	assert_string_equal(buf_text(&before), buf_text(&after));
}

static int stop(void *arg, const struct verify_fault *f, struct err *err)
{
	(void)arg;
	(void)f;
	return err_set_at(err, ECANCELED, "", 0, "enough");
}

static void test_the_one_who_is_told_may_end_it(void **state)
{
	struct box *box = *state;
	struct verify_options options = {.fault = stop};
	struct verify_result result;
	auto_free char *snap = NULL;
	struct err err;

	fill(box);
	snap = store_path(box, "snaps", "0000000001.gsn");
	flip(snap, 40);
	assert_int_equal(verify_store(box->store, &options, &result, &err),
			 -ECANCELED);
	assert_string_equal(err.text, "enough");
}

/* Another process stores objects and replaces a snapshot, after the packs are
 * listed. */
static void replace_snapshot(void *arg, uint64_t done, uint64_t total)
{
	struct box *box = arg;
	const struct take_options o = {
		.root_path = box->root,
		.root_fd = -1,
		.look = true,
	};
	AUTO(snapshot) struct snapshot s = {0};
	struct err err;

	(void)done;
	(void)total;
	if (faccessat(box->root_fd, "later", F_OK, 0) == 0)
		return;
	put_file(box, "later", 9, 5000);
	ok(take_snapshot(box->store, &o, &s, &err));
	s.seq = 1;
	ok(catalog_replace(box->store, &s, &err));
}

static void test_a_snapshot_replaced_meanwhile_is_whole(void **state)
{
	struct box *box = *state;
	struct verify_options options = {
		.read_data = true, .progress = replace_snapshot, .arg = box};
	struct verify_result result;
	struct err err;

	fill(box);
	assert_int_equal(verify_store(box->store, &options, &result, &err), 0);
	assert_int_equal(verify_now(box, true, NULL), 0);
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_a_whole_store_is_called_whole),
		t(test_an_empty_store_is_whole),
		t(test_no_flipped_byte_goes_unnoticed),
		t(test_a_cut_off_pack_is_named_wherever_it_is_cut),
		t(test_all_paths_that_suffer_are_named),
		t(test_a_lost_folder_stands_for_what_was_in_it),
		t(test_only_reading_the_data_finds_a_flipped_bit_in_it),
		t(test_a_sample_of_all_finds_all),
		t(test_a_second_copy_saves_the_path),
		t(test_a_damaged_snapshot_and_secret_are_named),
		t(test_nothing_is_written),
		t(test_the_one_who_is_told_may_end_it),
		t(test_a_snapshot_replaced_meanwhile_is_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
