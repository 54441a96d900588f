/*
 * Places where a store cannot work normally: no locks, no free space,
 * read-only, owned by another user, with files of a newer guard. Each time the
 * error is clear, and nothing is damaged.
 */
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/unit/skip.h"
#include "tests/unit/snap_fixture.h"

#include "snapshot/maintain/prune.h"
#include "snapshot/maintain/repair.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/store/hash.h"
#include "snapshot/store/packformat.h"
#include "tests/unit/ring_hooks.h"
#include "tests/unit/keep_fixture.h"

/* ---- no locks ---- */

static struct {
	unsigned int count, from; /* this call and all later ones fail */
	int error;
} locking;

int flock(int fd, int operation)
{
	if (locking.error && ++locking.count >= locking.from) {
		errno = locking.error;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

static struct prune_options month_later(void)
{
	return (struct prune_options){
		.policy = {.last = 1},
		.now = {.sec = timestamp_now().sec + 40 * 24 * 3600},
	};
}

static int do_take(struct box *box, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	AUTO(snapshot) struct snapshot snap = {0};
	struct take_options o = {
		.root_path = box->root, .root_fd = -1, .reason = "manual"};

	return store_open(&s, box->store_root_fd, STORE_WRITE, err) < 0
		       ? -err->num
		       : take_snapshot(s, &o, &snap, err);
}

static int do_prune(struct box *box, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	struct prune_options o = month_later();
	struct prune_result result;

	return store_open(&s, box->store_root_fd, STORE_WRITE, err) < 0
		       ? -err->num
		       : prune_run(s, &o, NULL, &result, err);
}

static int do_undelete(struct box *box, struct err *err)
{
	AUTO(store) struct store *s = NULL;
	uint64_t seq = 1;
	int got;

	if (store_open(&s, box->store_root_fd, STORE_WRITE, err) < 0)
		return -err->num;
	got = trash_undelete(s, &seq, 1, err);
	return got == -ENOENT ? 0 : got;
}

static int do_repair(struct box *box, struct err *err)
{
	struct repair_options o = {.now = timestamp_now()};
	struct repair_result result;

	return repair_store(box->store_root_fd, &o, &result, err);
}

static void fill(struct box *box)
{
	uint64_t i;

	for (i = 0; i < 5; i++) {
		put_file(box, "a", i, 900);
		put_file(box, "b", i % 2, 70000);
		(void)take(box);
	}
	store_free(&box->store);
}

/* From the first lock on, from the second... up to the last. */
static void test_no_locks_are_told_and_nothing_is_hurt(void **state)
{
	static int (*const verbs[])(struct box *, struct err *) = {
		do_take, do_prune, do_undelete, do_repair};
	static const int errors[] = {ENOLCK, EOPNOTSUPP, EIO};
	struct box *box = *state;
	struct err err;
	size_t verb, at;
	int got, failed = 0;

	fill(box);
	for (verb = 0; verb < 4; verb++) {
		for (at = 1;; at++) {
			locking.count = 0;
			locking.from = (unsigned int)at;
			locking.error = errors[at % 3];
			(void)alarm(120); /* against endless retries */
			got = verbs[verb](box, &err);
			(void)alarm(0);
			locking.error = 0;
			failed += got < 0;
			if (got < 0)
				assert_non_null(strstr(err.text, "lock"));
			check_whole(box);
			if (locking.count < at)
				break;
		}
		ok(verbs[verb](box, &err));
	}
	assert_true(failed > 10);
}

static void test_a_place_without_locks_is_named_with_a_way_out(void **state)
{
	struct box *box = *state;
	struct err err;

	fill(box);
	locking.count = 0;
	locking.from = 1;
	locking.error = ENOLCK;
	assert_int_equal(do_take(box, &err), -ENOLCK);
	assert_non_null(strstr(err.text, "does not support locks"));
	assert_non_null(strstr(err.text, "GUARD_HOME"));
	/* A reader needs no lock. */
	ok(store_open(&box->store, box->store_root_fd, STORE_READ, &err));
	assert_int_equal(verify_now(box, true, NULL), 0);
	locking.error = 0;
}

/* ---- no free space, read-only ---- */

/* In namespaces of its own, where mounts are allowed. */
static void in_namespace(struct box *box, void (*run)(struct box *box))
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int status;
	pid_t pid = fork();

	assert_return_code(pid, errno);
	if (pid == 0) {
		auto_free char *uids = mem_printf("0 %u 1", uid);
		auto_free char *gids = mem_printf("0 %u 1", gid);
		static const char *const names[] = {"/proc/self/setgroups",
						    "/proc/self/uid_map",
						    "/proc/self/gid_map"};
		const char *texts[] = {"deny", uids, gids};
		size_t i;

		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
			_exit(77);
		for (i = 0; i < 3; i++) {
			auto_close int fd =
				open(names[i], O_WRONLY | O_CLOEXEC);

			if (fd < 0 || write(fd, texts[i], strlen(texts[i])) < 0)
				_exit(77);
		}
		if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(77);
		run(box);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip_because("user namespaces are not permitted");
	assert_int_equal(status, 0);
}

/* For child processes, in which a failed assert of cmocka is not reported. */
#define must(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			print_message("# line %d: %s: %s\n", __LINE__,         \
				      #condition, err.text);                   \
			_exit(1);                                              \
		}                                                              \
	} while (0)

static uint64_t free_bytes(const char *path)
{
	struct statvfs st;

	return statvfs(path, &st) < 0 ? 0 : st.f_bavail * st.f_frsize;
}

static void on_a_small_disk(struct box *box)
{
	auto_free char *disk = path_join(box->dir, "disk");
	AUTO(buf) struct buf want = {0}, is = {0};
	struct err err = {0};
	uint64_t left;
	int round;

	must(mkdir(disk, 0755) == 0);
	must(mount("none", disk, "tmpfs", 0, "size=20m") == 0);
	(void)snprintf(box->store_root_fd, sizeof(box->store_root_fd),
		       "%s/disk/store", box->dir);
	put_file(box, "a", 1, 900);
	must(do_take(box, &err) == 0);
	must(snapshot_bytes(box, 1, &want, &err) == 0);
	left = free_bytes(disk);
	put_file(box, "big", 2, 30u << 20);
	for (round = 0; round < 2; round++) {
		must(do_take(box, &err) == -ENOSPC);
		must(strstr(err.text, "No space left"));
	}
	/* Frees the space that it has used. */
	must(store_open(&box->store, box->store_root_fd, STORE_WRITE, &err) ==
	     0);
	store_free(&box->store);
	must(free_bytes(disk) + 65536 >= left);
	must(verify_now(box, true, NULL) == 0);
	must(snapshot_bytes(box, 1, &is, &err) == 0);
	must(is.len == want.len && memcmp(is.data, want.data, is.len) == 0);
	/* A snapshot that fits in the free space succeeds. */
	put_file(box, "big", 3, 300000);
	must(do_take(box, &err) == 0);
	must(do_prune(box, &err) == 0);
	must(verify_now(box, true, NULL) == 0);
}

static void test_a_full_disk_is_told_and_nothing_is_hurt(void **state)
{
	in_namespace(*state, on_a_small_disk);
}

static void on_a_read_only_disk(struct box *box)
{
	struct mount_attr read_only = {.attr_set = MOUNT_ATTR_RDONLY};
	AUTO(buf) struct buf is = {0};
	struct err err = {0};

	must(mount(box->store_root_fd, box->store_root_fd, NULL, MS_BIND,
		   NULL) == 0);
	must(mount_setattr(AT_FDCWD, box->store_root_fd, 0, &read_only,
			   sizeof(read_only)) == 0);
	must(snapshot_bytes(box, 1, &is, &err) == 0);
	must(verify_now(box, true, NULL) == 0);
	must(do_take(box, &err) == -EROFS);
	must(strstr(err.text, "read-only"));
	must(do_prune(box, &err) == -EROFS);
	must(do_undelete(box, &err) == -EROFS);
	must(do_repair(box, &err) == -EROFS);
}

static void test_a_read_only_store_can_be_read_and_verified(void **state)
{
	fill(*state);
	in_namespace(*state, on_a_read_only_disk);
	check_whole(*state);
}

/* ---- another user's ---- */

static void test_a_store_of_somebody_else_is_refused(void **state)
{
	struct box *box = *state;
	struct err err = {0};
	int status;
	pid_t pid;

	fill(box);
	if (geteuid() != 0) {
		/* The same view as of another user's store. */
		assert_return_code(chmod(box->store_root_fd, 0), errno);
		assert_int_equal(do_take(box, &err), -EACCES);
		assert_non_null(strstr(err.text, "Permission denied"));
		assert_int_equal(do_repair(box, &err), -EACCES);
		assert_return_code(chmod(box->store_root_fd, 0500), errno);
		check_whole(box);
		return;
	}
	assert_return_code(chmod(box->dir, 0755), errno);
	pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0) {
		if (setresgid(1000, 1000, 1000) < 0 ||
		    setresuid(1000, 1000, 1000) < 0)
			_exit(77);
		must(do_take(box, &err) == -EACCES);
		must(strstr(err.text, "Permission denied"));
		must(do_repair(box, &err) == -EACCES);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	check_whole(box);
}

/* ---- a newer guard's ---- */

/* A file of the store with another version and a correct checksum. */
static void make_newer(const char *path, size_t version_at, size_t check_at)
{
	AUTO(buf) struct buf bytes = {0};
	auto_close int fd = -1;
	struct err err;
	size_t at;

	ok(fd_slurp_at(AT_FDCWD, path, 1u << 24, &bytes, &err));
	at = check_at ? check_at : bytes.len - 8;
	put_le(bytes.data + version_at, 99, 2);
	put_le(bytes.data + at, hash_check(bytes.data, at), 8);
	assert_return_code(chmod(path, 0600), errno);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_return_code(fd_pwrite(fd, bytes.data, bytes.len, 0), errno);
	assert_return_code(chmod(path, 0400), errno);
}

static void test_a_newer_guards_pack_and_snapshot_are_left_alone(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf faults = {0};
	AUTO(dirlist) struct dirlist before = {0}, after = {0};
	auto_free char *pack = NULL, *path = NULL, *snap = NULL;
	struct err err;

	fill(box);
	snap = store_path(box, "snaps", "0000000005.gsn");
	make_newer(snap, 8, 0);
	pack = pack_of_kind(box, PACK_DATA);
	path = store_path(box, "packs", pack);
	make_newer(path, 8, 56);
	assert_int_equal(verify_now(box, true, &faults), 1);
	assert_non_null(strstr(buf_text(&faults), "snapshot 5"));
	assert_non_null(strstr(buf_text(&faults), pack));
	/* Such packs are neither reported as damaged nor removed as unused. */
	assert_true(do_prune(box, &err) < 0);
	assert_non_null(strstr(err.text, "newer guard"));
	ok(do_repair(box, &err));
	assert_return_code(access(path, F_OK), errno);
	assert_return_code(access(snap, F_OK), errno);
	/* New snapshots are taken beside them, with new numbers. */
	list_store(box, "snaps", &before);
	ok(do_take(box, &err));
	list_store(box, "snaps", &after);
	assert_int_equal(after.count, before.count + 1);
	assert_return_code(access(snap, F_OK), errno);
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(test_no_locks_are_told_and_nothing_is_hurt),
		t(test_a_place_without_locks_is_named_with_a_way_out),
		t(test_a_full_disk_is_told_and_nothing_is_hurt),
		t(test_a_read_only_store_can_be_read_and_verified),
		t(test_a_store_of_somebody_else_is_refused),
		t(test_a_newer_guards_pack_and_snapshot_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
