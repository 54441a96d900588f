/*
 * Another process changes a path at every point of its read: between stat and
 * open, between open and read, before the second stat. The stored entry is one
 * of the versions that existed, or is flagged as incomplete; and the next
 * snapshot has the last version, whatever the stat cache contains.
 *
 * A version is one letter, repeated, so that a mix of two is visible.
 */
/* users: one */
/* link: -Wl,--wrap=statx -Wl,--wrap=openat -Wl,--wrap=readlinkat */
#include "snapshot/walk/take.c"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/unit/snap_fixture.h"

#include "tests/unit/calls.h"

#define VICTIM "d/victim"
#define FIRST_LEN 9000

/* ---- the points ---- */

static struct {
	unsigned int count,
		at; /* happen() is called before this call; 0: never */
	void (*happen)(void);
	bool within; /* happen() makes calls too */
} moments;

static struct box *box;
static char *mapping; /* a mapping of the victim, already dirty */
static time_t clock_back;
/* The victim's mtime before and after the change. */
static struct timespec old_time, new_time;

static struct timespec victim_time(void)
{
	struct stat st = {0};

	(void)fstatat(box->root_fd, VICTIM, &st, AT_SYMLINK_NOFOLLOW);
	return st.st_mtim;
}

static void timestamp(void)
{
	if (moments.within || !moments.at ||
	    __atomic_add_fetch(&moments.count, 1, __ATOMIC_SEQ_CST) !=
		    moments.at)
		return;
	moments.within = true;
	moments.happen();
	new_time = victim_time();
	moments.within = false;
}

int __real_statx(int dirfd, const char *name, int flags, unsigned int mask,
		 struct statx *ret);
int __wrap_statx(int dirfd, const char *name, int flags, unsigned int mask,
		 struct statx *ret);
int __real_openat(int dirfd, const char *name, int flags, mode_t mode);
int __wrap_openat(int dirfd, const char *name, int flags, mode_t mode);
ssize_t __real_readlinkat(int dirfd, const char *name, char *to, size_t len);
ssize_t __wrap_readlinkat(int dirfd, const char *name, char *to, size_t len);

int __wrap_statx(int dirfd, const char *name, int flags, unsigned int mask,
		 struct statx *ret)
{
	timestamp();
	return __real_statx(dirfd, name, flags, mask, ret);
}

int __wrap_openat(int dirfd, const char *name, int flags, mode_t mode)
{
	timestamp();
	return __real_openat(dirfd, name, flags, mode);
}

ssize_t __wrap_readlinkat(int dirfd, const char *name, char *to, size_t len)
{
	timestamp();
	return __real_readlinkat(dirfd, name, to, len);
}

static int before_ring(enum ring_call call, int fd)
{
	(void)fd;
	if (call == RING_READ)
		timestamp();
	return 0;
}

static void after_ring(enum ring_call call, int fd)
{
	(void)call;
	(void)fd;
}

int clock_gettime(clockid_t id, struct timespec *ret)
{
	int got = (int)syscall(SYS_clock_gettime, id, ret);

	if (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE)
		ret->tv_sec -= clock_back;
	return got;
}

/* ---- the changes ---- */

static void put_letters(const char *name, char letter, size_t len, int flags)
{
	auto_close int fd = openat(
		box->root_fd, name,
		O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | flags, 0644);
	auto_free char *data = mem_alloc(len + 1);

	memset(data, letter, len);
	assert_return_code(fd, errno);
	assert_return_code(fd_write(fd, data, len), errno);
}

/* Changes the victim and keeps its mtime. */
static void keep_mtime(void (*change)(void))
{
	struct stat st;
	struct timespec times[2];

	assert_return_code(
		fstatat(box->root_fd, VICTIM, &st, AT_SYMLINK_NOFOLLOW), errno);
	change();
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_return_code(
		utimensat(box->root_fd, VICTIM, times, AT_SYMLINK_NOFOLLOW),
		errno);
}

static void gone(void)
{
	assert_return_code(unlinkat(box->root_fd, VICTIM, 0), errno);
}

static void rewritten(void)
{
	put_letters(VICTIM, 'B', FIRST_LEN, 0);
}

static void rewritten_secretly(void)
{
	keep_mtime(rewritten);
}

/* A new file often has the same inode number. */
static void made_anew(void)
{
	gone();
	rewritten();
}

static void made_anew_secretly(void)
{
	keep_mtime(made_anew);
}

static void replaced(void)
{
	put_letters("new", 'B', FIRST_LEN, O_TRUNC);
	assert_return_code(renameat(box->root_fd, "new", box->root_fd, VICTIM),
			   errno);
}

static void grown(void)
{
	put_letters(VICTIM, 'A', 5000, O_APPEND);
}

static void shrunk(void)
{
	auto_close int fd = openat(box->root_fd, VICTIM, O_WRONLY | O_CLOEXEC);

	assert_return_code(ftruncate(fd, 100), errno);
}

static void emptied(void)
{
	put_letters(VICTIM, 'A', 0, O_TRUNC);
}

static void written_through_a_mapping(void)
{
	memset(mapping, 'B', FIRST_LEN);
}

static void a_link(void)
{
	gone();
	assert_return_code(symlinkat("../../secret", box->root_fd, VICTIM),
			   errno);
}

static void a_fifo(void)
{
	gone();
	assert_return_code(mkfifoat(box->root_fd, VICTIM, 0600), errno);
}

static void a_folder(void)
{
	gone();
	assert_return_code(mkdirat(box->root_fd, VICTIM, 0755), errno);
	put_letters(VICTIM "/below", 'B', FIRST_LEN, 0);
}

/* The parent directory is deleted, and a link to the outside takes its name. */
static void the_folder_a_link(void)
{
	assert_return_code(renameat(box->root_fd, "d", box->root_fd, "aside"),
			   errno);
	assert_return_code(symlinkat("../outside", box->root_fd, "d"), errno);
}

static void nothing(void)
{
}

/* ---- the checks ---- */

static void start(void)
{
	static const char *const names[] = {"d/victim/below", "aside/victim",
					    "aside/other",    "d/victim",
					    "d/other",	      "new"};
	size_t i;

	if (mapping)
		(void)munmap(mapping, FIRST_LEN);
	mapping = NULL;
	/* Not through d, which may be the link. */
	(void)unlinkat(box->root_fd, "d", 0);
	for (i = 0; i < 6; i++)
		(void)unlinkat(box->root_fd, names[i], 0);
	(void)unlinkat(box->root_fd, VICTIM, AT_REMOVEDIR);
	(void)unlinkat(box->root_fd, "aside", AT_REMOVEDIR);
	(void)mkdirat(box->root_fd, "d", 0755);
	put_letters(VICTIM, 'A', FIRST_LEN, 0);
	put_letters("d/other", 'O', 300, 0);
	old_time = victim_time();
	if (moments.happen == written_through_a_mapping) {
		auto_close int fd =
			openat(box->root_fd, VICTIM, O_RDWR | O_CLOEXEC);

		mapping = mmap(NULL, FIRST_LEN, PROT_READ | PROT_WRITE,
			       MAP_SHARED, fd, 0);
		assert_true(mapping != MAP_FAILED);
		memset(mapping, 'A', FIRST_LEN);
	}
}

/* The bytes of each file are one letter, with the length of one of its
 * versions; no file has content from outside. */
static int check_entry(void *arg, const char *path, const struct entry *e,
		       struct err *ignored)
{
	AUTO(buf) struct buf bytes = {0};
	struct err err;
	size_t i;

	(void)arg;
	(void)ignored;
	assert_null(strstr(path, "outside"));
	if (!S_ISREG(e->mode) || e->content.type == OBJECT_NONE ||
	    (e->flags & ENTRY_INCOMPLETE))
		return 0;
	ok(store_get(box->store, &e->content, &bytes, &err));
	assert_int_equal(e->size, bytes.len);
	if (strcmp(path, VICTIM) == 0 &&
	    moments.happen != written_through_a_mapping) {
		bool first = bytes.data[0] == 'A' && bytes.len == FIRST_LEN;
		const struct timespec *t = first ? &old_time : &new_time;

		/* The time must belong to these bytes. */
		if (e->mtime.sec != t->tv_sec || e->mtime.nsec != t->tv_nsec)
			fail_msg("%s has the time of another version", path);
	}
	for (i = 1; i < bytes.len; i++)
		if (bytes.data[i] != bytes.data[0])
			fail_msg("%s is torn at byte %zu", path, i);
	assert_true(strchr("ABO", bytes.data[0]));
	if (bytes.data[0] == 'A')
		assert_true(bytes.len == FIRST_LEN || bytes.len == 100 ||
			    bytes.len == FIRST_LEN + 5000);
	else
		assert_int_equal(bytes.len,
				 bytes.data[0] == 'B' ? FIRST_LEN : 300);
	return 0;
}

/* Compares the directory, read by plain calls, with a snapshot. */
static void check_is_now(const struct snapshot *s)
{
	static const char *const names[] = {VICTIM, VICTIM "/below", "d/other",
					    "aside/victim"};
	struct err err;
	size_t i;

	assert_int_equal(s->note_count, 0);
	for (i = 0; i < 4; i++) {
		AUTO(entry) struct entry e = {0};
		AUTO(buf) struct buf is = {0}, want = {0};
		struct stat st, above;
		bool is_there;

		/* Not through a link. */
		is_there = fstatat(box->root_fd, "d", &above,
				   AT_SYMLINK_NOFOLLOW) == 0 &&
			   (names[i][0] == 'a' || S_ISDIR(above.st_mode)) &&
			   fstatat(box->root_fd, names[i], &st,
				   AT_SYMLINK_NOFOLLOW) == 0;
		assert_int_equal(
			tree_lookup(box->store, &s->root, names[i], &e, &err),
			is_there);
		if (!is_there)
			continue;
		assert_int_equal(e.mode, st.st_mode);
		if (!S_ISREG(st.st_mode))
			continue;
		ok(fd_slurp_at(box->root_fd, names[i], 1u << 20, &want, &err));
		if (e.content.type != OBJECT_NONE)
			ok(store_get(box->store, &e.content, &is, &err));
		assert_int_equal(is.len, want.len);
		if (is.len)
			assert_memory_equal(is.data, want.data, is.len);
	}
}

static void take_now(bool plain, struct take_stats *stats, struct snapshot *ret)
{
	struct take_options o = {
		.root_path = box->root,
		.root_fd = -1,
		.cache_path = box->cache,
		.reason = "manual",
		.plain = plain,
		.stats = stats,
	};
	struct err err;

	(void)alarm(120); /* a fifo without a writer would hold it up */
	ok(take_snapshot(box->store, &o, ret, &err));
	(void)alarm(0);
}

/* At the at-th call of the second snapshot; false: it makes fewer calls. */
static bool race(unsigned int at, bool plain)
{
	AUTO(snapshot) struct snapshot first = {0}, torn = {0}, last = {0};
	struct take_stats stats;
	struct err err;

	start();
	take_now(plain, &stats, &first);
	check_is_now(&first);
	moments.count = 0;
	moments.at = at;
	take_now(plain, &stats, &torn);
	moments.at = 0;
	ok(tree_each(box->store, &torn.root, check_entry, NULL, &err));
	take_now(plain, &stats, &last);
	check_is_now(&last);
	return moments.count >= at;
}

static void race_everywhere(void **state, void (*happen)(void))
{
	unsigned int at, fired = 0;
	int plain;

	box = *state;
	moments.happen = happen;
	put_letters("../secret", 'S', FIRST_LEN, 0);
	assert_return_code(mkdirat(box->root_fd, "../outside", 0755), errno);
	put_letters("../outside/victim", 'S', FIRST_LEN, 0);
	for (plain = 0; plain < 2; plain++) {
		ring_hook(before_ring, after_ring);
		for (at = 1; race(at, plain); at++)
			fired++;
		ring_hook(NULL, NULL);
	}
	start();
	assert_true(fired > 20);
}

#define RACE(name)                                                             \
	static void test_##name(void **state)                                  \
	{                                                                      \
		race_everywhere(state, name);                                  \
	}
RACE(gone)
RACE(rewritten)
RACE(rewritten_secretly)
RACE(made_anew)
RACE(made_anew_secretly)
RACE(replaced)
RACE(grown)
RACE(shrunk)
RACE(emptied)
RACE(written_through_a_mapping)
RACE(a_link)
RACE(a_fifo)
RACE(a_folder)
RACE(the_folder_a_link)

/* A file with times in the future may change without younger times: it is read
 * again until the clock has passed them. */
static void test_nothing_is_trusted_while_the_clock_is_behind(void **state)
{
	AUTO(snapshot) struct snapshot a = {0}, b = {0}, c = {0}, d = {0};
	struct take_stats stats;

	box = *state;
	moments.happen = nothing;
	start();
	assume_stable = true;
	clock_back = 3600;
	take_now(true, &stats, &a);
	take_now(true, &stats, &b);
	assert_true(stats.cache_used);
	assert_int_equal(stats.read_files, 2);
	clock_back = -3600;
	take_now(true, &stats, &c);
	take_now(true, &stats, &d);
	assert_int_equal(stats.read_files, 0);
	clock_back = 0;
	assume_stable = false;
}

int main(void)
{
#define t(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)
	const struct CMUnitTest tests[] = {
		t(gone),
		t(rewritten),
		t(rewritten_secretly),
		t(made_anew),
		t(made_anew_secretly),
		t(replaced),
		t(grown),
		t(shrunk),
		t(emptied),
		t(written_through_a_mapping),
		t(a_link),
		t(a_fifo),
		t(a_folder),
		t(the_folder_a_link),
		t(nothing_is_trusted_while_the_clock_is_behind),
	};

	calls_unsynced = true;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
