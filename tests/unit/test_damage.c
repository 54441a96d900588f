/*
 * A store that is damaged, also while it is open: no wrong bytes are returned,
 * the error names the damaged file, and the process does not crash.
 */
/* users: one */
/* link: -Wl,--wrap=statx */
#include "snapshot/walk/take.c"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "tests/unit/snap_fixture.h"

#include "snapshot/walk/statcache.h"
#include "snapshot/maintain/repair.h"
#include "snapshot/store/mapping.h"
#include "snapshot/store/packformat.h"
#include "tests/unit/calls.h"
#include "tests/unit/keep_fixture.h"

/* Truncates this file before the n-th statx of the walk. */
static struct {
	unsigned int count, at;
	const char *path;
	off_t len; /* that stay */
} cutting;

int __real_statx(int dirfd, const char *name, int flags, unsigned int mask,
		 struct statx *ret);
int __wrap_statx(int dirfd, const char *name, int flags, unsigned int mask,
		 struct statx *ret);

int __wrap_statx(int dirfd, const char *name, int flags, unsigned int mask,
		 struct statx *ret)
{
	if (cutting.at && ++cutting.count == cutting.at)
		assert_return_code(truncate(cutting.path, cutting.len), errno);
	return __real_statx(dirfd, name, flags, mask, ret);
}

static void fill(struct box *box)
{
	put_file(box, "a", 1, 900);
	put_file(box, "b", 2, 70000);
	assert_return_code(mkdirat(box->root_fd, "d", 0755), errno);
	put_file(box, "d/e", 3, 66000);
	put_file(box, "d/f", 4, 40);
	assert_return_code(symlinkat("a", box->root_fd, "l"), errno);
}

/* Truncates a pack of the store, although it is open. */
static void cut_pack(struct box *box, int kind, off_t len)
{
	auto_free char *name = pack_of_kind(box, kind);
	auto_free char *path = store_path(box, "packs", name);

	assert_return_code(chmod(path, 0600), errno);
	assert_return_code(truncate(path, len), errno);
}

/* All bytes of a snapshot through a store that is already open. */
static int bytes_of(struct store *s, uint64_t seq, struct buf *to,
		    struct err *err)
{
	AUTO(snapshot) struct snapshot snap = {0};
	void *args[2] = {to, s};

	if (catalog_load(s, seq, &snap, err) < 0)
		return -err->num;
	return tree_each(s, &snap.root, describe, args, err);
}

/* ---- cut off while it is open ---- */

static void test_a_mapped_page_that_fails_reads_as_zeros(void **state)
{
	struct box *box = *state;
	auto_close int fd =
		openat(box->root_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	struct mapping *m, *other;

	assert_int_equal(ftruncate(fd, 5 * 4096), 0);
	assert_int_equal(pwrite(fd, "abc", 3, 0), 3);
	assert_int_equal(pwrite(fd, "xyz", 3, 3 * 4096), 3);
	m = mapping_new(fd, 0, 5 * 4096);
	other = mapping_new(fd, 0, 4096);
	assert_non_null(m);
	assert_non_null(other);
	assert_memory_equal(mapping_data(m) + 3 * 4096, "xyz", 3);
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_false(mapping_failed(m));
	assert_int_equal(mapping_data(m)[3 * 4096 + 1], 0);
	assert_true(mapping_failed(m));
	assert_memory_equal(mapping_data(m), "abc", 3);
	assert_false(mapping_failed(other));
	mapping_free(&m);
	mapping_free(&other);
	/* A new mapping in the same slot has not failed. */
	m = mapping_new(fd, 0, 4096);
	assert_false(mapping_failed(m));
	mapping_free(&m);
}

static void test_a_part_of_a_file_is_mapped_and_fails_alike(void **state)
{
	struct box *box = *state;
	auto_close int fd =
		openat(box->root_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct mapping *m;

	assert_int_equal(ftruncate(fd, (off_t)(5 * page)), 0);
	assert_int_equal(pwrite(fd, "abc", 3, (off_t)(2 * page)), 3);
	assert_int_equal(pwrite(fd, "xyz", 3, (off_t)(3 * page)), 3);
	assert_null(mapping_new(fd, 5, page));
	m = mapping_new(fd, 2 * page, page + 3);
	assert_non_null(m);
	assert_memory_equal(mapping_data(m) + page, "xyz", 3);
	assert_int_equal(ftruncate(fd, (off_t)(3 * page)), 0);
	assert_memory_equal(mapping_data(m), "abc", 3);
	assert_false(mapping_failed(m));
	assert_int_equal(mapping_data(m)[page], 0);
	assert_true(mapping_failed(m));
	mapping_free(&m);
}

static void test_a_fault_elsewhere_ends_the_process(void **state)
{
	struct box *box = *state;
	auto_close int fd =
		openat(box->root_fd, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int status;
	pid_t pid = fork();

	assert_return_code(pid, errno);
	if (pid == 0) {
		volatile char *foreign;
		struct mapping *m;

		(void)signal(SIGBUS, SIG_DFL);
		(void)!ftruncate(fd, 8192);
		m = mapping_new(fd, 0, 8192);
		foreign = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
		(void)!ftruncate(fd, 0);
		(void)foreign[4096];
		_exit(m ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

static void test_a_pack_cut_off_under_a_reader_is_an_error(void **state)
{
	static const off_t cuts[] = {0, 1, 4096, 8192, 65536};
	struct box *box = *state;
	AUTO(buf) struct buf want = {0};
	struct err err;
	size_t i;
	int kind;

	fill(box);
	(void)take(box);
	ok(snapshot_bytes(box, 1, &want, &err));
	for (kind = 0; kind < PACK_KINDS; kind++) {
		for (i = 0; i < 5; i++) {
			void *sub;
			struct box *b;
			AUTO(buf) struct buf is = {0};
			AUTO(store) struct store *s = NULL;
			int got;

			(void)setup(&sub);
			b = sub;
			fill(b);
			(void)take(b);
			store_free(&b->store);
			ok(store_open(&s, b->store_root_fd, STORE_READ, &err));
			cut_pack(b, kind, cuts[i]);
			got = bytes_of(s, 1, &is, &err);
			if (got == 0) {
				assert_int_equal(is.len, want.len);
				assert_memory_equal(is.data, want.data, is.len);
			} else {
				assert_int_equal(got, -EBADMSG);
				assert_non_null(strstr(err.text, ".gpk"));
			}
			/* All objects but one lie behind the first page. */
			assert_true(got < 0 || cuts[i] >= 4096);
			store_free(&s);
			assert_int_equal(verify_now(b, false, NULL), 1);
			(void)teardown(&sub);
		}
	}
}

static void test_what_lay_in_a_cut_off_pack_is_stored_again(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf want = {0}, is = {0};
	struct err err;

	fill(box);
	(void)take(box);
	ok(snapshot_bytes(box, 1, &want, &err));
	store_free(&box->store);
	ok(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err));
	cut_pack(box, PACK_DATA, 0);
	assert_int_equal(take(box), 2);
	ok(snapshot_bytes(box, 2, &is, &err));
	assert_int_equal(is.len, want.len);
	assert_memory_equal(is.data, want.data, is.len);
}

static void cut_now(void *arg, uint64_t done, uint64_t total)
{
	(void)total;
	if (done)
		assert_return_code(truncate(arg, 0), errno);
}

static void test_a_pack_cut_off_under_verify_is_named(void **state)
{
	struct box *box = *state;
	auto_free char *name = NULL, *path = NULL;
	struct verify_options options = {
		.read_data = true,
		.progress = cut_now,
	};
	struct verify_result result;
	struct err err;

	fill(box);
	(void)take(box);
	name = pack_of_kind(box, PACK_DATA);
	options.arg = path = store_path(box, "packs", name);
	assert_return_code(chmod(path, 0600), errno);
	store_free(&box->store);
	ok(store_open(&box->store, box->store_root_fd, STORE_READ, &err));
	assert_int_equal(verify_store(box->store, &options, &result, &err), 1);
	assert_true(result.faults > 0);
}

/* One snapshot with a cache that is truncated before the at-th stat of a file:
 * the result is as without a cache. False: the walk had fewer calls. */
static bool walk_with_cut(unsigned int at, off_t len, unsigned int *unused)
{
	AUTO(snapshot) struct snapshot s = {0}, again = {0};
	AUTO(buf) struct buf want = {0}, is = {0};
	struct take_stats stats;
	struct take_options options = {
		.root_fd = -1, .plain = true, .stats = &stats};
	struct box *box;
	struct err err;
	char name[32];
	void *sub;
	int i;

	(void)setup(&sub);
	box = sub;
	options.root_path = box->root;
	options.cache_path = box->cache;
	fill(box);
	for (i = 0; i < 80; i++) {
		(void)snprintf(name, sizeof(name), "d/many%d", i);
		put_file(box, name, 1, 10);
	}
	ok(take_snapshot(box->store, &options, &s, &err));
	ok(snapshot_bytes(box, 1, &want, &err));
	cutting.path = box->cache;
	cutting.len = len;
	cutting.count = 0;
	cutting.at = at;
	ok(take_snapshot(box->store, &options, &again, &err));
	cutting.at = 0;
	*unused += !stats.cache_used;
	ok(snapshot_bytes(box, again.seq, &is, &err));
	assert_int_equal(is.len, want.len);
	assert_memory_equal(is.data, want.data, is.len);
	(void)teardown(&sub);
	return cutting.count >= at;
}

/* Before every stat of the first and the last files, and some in between. */
static void test_a_stat_cache_cut_off_under_the_walk_is_not_used(void **state)
{
	static const off_t lens[] = {0, 4096, 8192};
	unsigned int at, unused = 0;
	size_t i;

	(void)state;
	assume_stable = true;
	for (i = 0; i < 3; i++)
		for (at = 1; walk_with_cut(at, lens[i], &unused);
		     at += at < 8 ? 1 : 29)
			;
	assume_stable = false;
	assert_true(unused > 10);
}

/* ---- the small files ---- */

static void put_back(const char *path, const struct buf *bytes)
{
	auto_close int fd = -1;

	assert_return_code(chmod(path, 0600), errno);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_return_code(fd, errno);
	assert_return_code(fd_write(fd, bytes->data, bytes->len), errno);
	assert_return_code(chmod(path, 0400), errno);
}

/* Snapshot 1 of a damaged store: correct or an error. 1: an error. */
static int right_or_told(struct box *box, const struct buf *want,
			 struct err *err)
{
	AUTO(buf) struct buf is = {0};

	if (snapshot_bytes(box, 1, &is, err) < 0) {
		assert_true(*err->text);
		return 1;
	}
	assert_int_equal(is.len, want->len);
	assert_memory_equal(is.data, want->data, is.len);
	return 0;
}

static int mend(struct box *box, struct repair_result *ret, struct err *err)
{
	struct repair_options o = {.now = timestamp_now()};

	*ret = (struct repair_result){0};
	return repair_store(box->store_root_fd, &o, ret, err);
}

/* A file of the store with each byte flipped, and truncated at each: every read
 * is correct or fails, with the file's name in the error. all_told: every time.
 */
static void hurt_everywhere(struct box *box, const char *folder,
			    const char *name, bool all_told,
			    const struct buf *want)
{
	auto_free char *path = *folder ? store_path(box, folder, name)
				       : path_join(box->store_root_fd, name);
	AUTO(buf) struct buf bytes = {0};
	struct err err;
	size_t at;
	int told;

	ok(fd_slurp_at(AT_FDCWD, path, 1u << 20, &bytes, &err));
	for (at = 0; at < bytes.len; at++) {
		flip(path, at);
		told = right_or_told(box, want, &err);
		assert_true(told || !all_told);
		if (told)
			assert_non_null(strstr(err.text, name));
		assert_return_code(chmod(path, 0600), errno);
		assert_return_code(truncate(path, (off_t)at), errno);
		told = right_or_told(box, want, &err);
		assert_true(told || !all_told);
		if (told)
			assert_non_null(strstr(err.text, name));
		put_back(path, &bytes);
	}
	assert_int_equal(right_or_told(box, want, &err), 0);
}

static void test_no_byte_of_the_small_files_can_mislead(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf want = {0};
	struct err err;

	put_file(box, "a", 1, 900);
	(void)take(box);
	ok(snapshot_bytes(box, 1, &want, &err));
	hurt_everywhere(box, "", "FORMAT", true, &want);
	hurt_everywhere(box, "", "secret", false, &want);
	hurt_everywhere(box, "", "secret.2", false, &want);
	hurt_everywhere(box, "snaps", "0000000001.gsn", true, &want);
}

static void test_a_damaged_or_missing_format_is_written_anew(void **state)
{
	struct box *box = *state;
	auto_free char *path = path_join(box->store_root_fd, "FORMAT");
	AUTO(buf) struct buf want = {0}, before = {0}, after = {0};
	struct repair_result result;
	struct err err;
	int how;

	put_file(box, "a", 1, 900);
	(void)take(box);
	ok(snapshot_bytes(box, 1, &want, &err));
	store_free(&box->store);
	ok(fd_slurp_at(AT_FDCWD, path, 4096, &before, &err));
	for (how = 0; how < 3; how++) {
		if (how == 0) {
			flip(path, 20);
		} else if (how == 1) {
			assert_return_code(chmod(path, 0600), errno);
			assert_return_code(truncate(path, 5), errno);
		} else {
			remove_from(box, "", "FORMAT");
			assert_int_equal(store_open(&box->store,
						    box->store_root_fd,
						    STORE_WRITE, &err),
					 -EBADMSG);
		}
		assert_int_equal(store_open(&box->store, box->store_root_fd,
					    STORE_READ, &err),
				 -EBADMSG);
		assert_non_null(strstr(err.text, "FORMAT"));
		assert_non_null(strstr(err.text, "`guard repair`"));
		ok(mend(box, &result, &err));
		assert_int_equal(result.formats, 1);
		buf_clear(&after);
		ok(fd_slurp_at(AT_FDCWD, path, 4096, &after, &err));
		assert_int_equal(after.len, before.len);
		assert_memory_equal(after.data, before.data, after.len);
		assert_int_equal(right_or_told(box, &want, &err), 0);
	}
	ok(mend(box, &result, &err));
	assert_int_equal(result.formats, 0);
}

/* The key is unknown: no store is better than a wrong one. */
static void test_no_format_is_made_up_for_a_newer_guard_or_no_pack(void **state)
{
	struct box *box = *state;
	auto_free char *path = path_join(box->store_root_fd, "FORMAT");
	AUTO(buf) struct buf text = {0};
	struct repair_result result;
	struct err err;

	put_file(box, "a", 1, 900);
	(void)take(box);
	store_free(&box->store);
	buf_add_text(&text, "guard-store 2\nuuid=1\n");
	put_back(path, &text);
	assert_int_equal(mend(box, &result, &err), -EPROTO);
	assert_non_null(strstr(err.text, "newer guard"));
	remove_from(box, "", "FORMAT");
	while (true) {
		AUTO(dirlist) struct dirlist packs = {0};

		list_store(box, "packs", &packs);
		if (!packs.count)
			break;
		remove_from(box, "packs", packs.items[0].name);
	}
	assert_int_equal(mend(box, &result, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "FORMAT"));
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_a_mapped_page_that_fails_reads_as_zeros),
		t(test_a_part_of_a_file_is_mapped_and_fails_alike),
		t(test_a_fault_elsewhere_ends_the_process),
		t(test_a_pack_cut_off_under_a_reader_is_an_error),
		t(test_what_lay_in_a_cut_off_pack_is_stored_again),
		t(test_a_pack_cut_off_under_verify_is_named),
		t(test_a_stat_cache_cut_off_under_the_walk_is_not_used),
		t(test_no_byte_of_the_small_files_can_mislead),
		t(test_a_damaged_or_missing_format_is_written_anew),
		t(test_no_format_is_made_up_for_a_newer_guard_or_no_pack),
	};

	calls_unsynced = true;
	ring_forbid(true);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
