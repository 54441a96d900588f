/*
 * Several processes at once on one store: two edit their directories and take
 * snapshots, one prunes, one undeletes, one restores and verifies; some of them
 * are killed in between. Each snapshot that was reported done is compared with
 * the content that plain calls found in the directory.
 *
 * STORM_SECONDS (20) and STORM_SEED are taken from the environment. The
 * kernel's scheduling differs from run to run: a seed repeats the actions, not
 * their interleaving.
 */
/* users: one */
#include "snapshot/walk/take.c"
#include "snapshot/store/store_index.c"

#include <signal.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>

#include "snapshot/maintain/prune.h"
#include "snapshot/maintain/trash.h"
#include "snapshot/maintain/verify.h"
#include "tests/unit/storemodel.h"

/* cmocka has a fail() too. */
#undef fail
#include <cmocka.h>

#define MONTH ((int64_t)40 * 24 * 3600)

enum { EDITORS = 2, ACTORS = EDITORS + 3, NAMES = 24 };

static char dir[64], the_store[80], models[80];
static int64_t month_later;

/* For child processes, in which a failed assert of cmocka is not reported. */
#define must(condition, ...)                                                   \
	do {                                                                   \
		if (!(condition)) {                                            \
			(void)fprintf(stderr, "# %s:%d: %s: ", __FILE__,       \
				      __LINE__, #condition);                   \
			(void)fprintf(stderr, __VA_ARGS__);                    \
			(void)fputc('\n', stderr);                             \
			_exit(3);                                              \
		}                                                              \
	} while (0)

static uint64_t chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static uint64_t below(uint64_t *state, uint64_t limit)
{
	return chance(state) % limit;
}

/* ---- the editors ---- */

static void name_of(uint64_t *seed, char name[32])
{
	static const char *const dirs[] = {"", "d/", "d/e/", "f/"};
	uint64_t n = below(seed, NAMES);

	(void)snprintf(name, 32, "%s%llu", dirs[n % 4], (unsigned long long)n);
}

/* Bytes of a small number of kinds, so that many files are equal. */
static void fill_bytes(uint64_t *seed, struct buf *to)
{
	static const size_t lens[] = {0,     1,	     90,      3000,   60000,
				      70000, 300000, 1100000, 2500000};
	uint64_t kind = below(seed, 30), state = kind;
	size_t len = lens[below(seed, below(seed, 9) ? 5 : 9)];
	size_t i;

	(void)buf_reserve(to, len + 8);
	for (i = 0; i < len; i += 8) {
		uint64_t v = kind % 2 ? chance(&state) : kind;

		memcpy(to->data + i, &v, 8);
	}
	to->len = len;
}

static void write_file(int root, const char *name, uint64_t *seed)
{
	static const int flags[] = {O_TRUNC, O_APPEND, 0};
	AUTO(buf) struct buf bytes = {0};
	auto_close int fd = openat(root, name,
				   O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC |
					   flags[below(seed, 3)],
				   0644);

	fill_bytes(seed, &bytes);
	if (fd < 0)
		return; /* a directory, a link, or its directory does not exist
			 */
	must(fd_write(fd, bytes.data, bytes.len) == 0, "%s", strerror(errno));
	if (below(seed, 6) == 0)
		(void)!ftruncate(fd, (off_t)below(seed, 200000));
}

/* Other bytes of the same length, with the old mtime. */
static void write_secretly(int root, const char *name, uint64_t *seed)
{
	auto_close int fd = openat(root, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	uint64_t v = chance(seed);

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 8)
		return;
	(void)!pwrite(fd, &v, 8, (off_t)below(seed, (uint64_t)st.st_size - 7));
	(void)futimens(fd, (struct timespec[]){st.st_atim, st.st_mtim});
}

static void write_mapped(int root, const char *name, uint64_t *seed)
{
	auto_close int fd = openat(root, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char *map;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size < 1)
		return;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   fd, 0);
	must(map != MAP_FAILED, "%s", strerror(errno));
	map[below(seed, (uint64_t)st.st_size)] ^= 1;
	map[below(seed, (uint64_t)st.st_size)] ^= 2;
	(void)munmap(map, (size_t)st.st_size);
}

static void edit(int root, bool mapped, uint64_t *seed)
{
	struct timespec times[2] = {{0, UTIME_OMIT}, {0, 0}};
	char name[32], other[32];

	name_of(seed, name);
	name_of(seed, other);
	switch (below(seed, 14)) {
	case 0:
		(void)mkdirat(root, "d", 0755);
		(void)mkdirat(root, "d/e", 0700);
		(void)mkdirat(root, "f", 0755);
		break;
	case 1:
		(void)unlinkat(root, name, 0);
		break;
	case 2:
		(void)renameat(root, name, root, other);
		break;
	case 3:
		(void)!symlinkat(other, root, name);
		break;
	case 4:
		(void)!linkat(root, name, root, other, 0);
		break;
	case 5:
		(void)!fchmodat(root, name, below(seed, 2) ? 0600 : 0755, 0);
		break;
	case 6:
		times[1].tv_sec = (time_t)below(seed, 4000) - 2000;
		(void)utimensat(root, name, times, AT_SYMLINK_NOFOLLOW);
		break;
	case 7:
		write_secretly(root, name, seed);
		break;
	case 8:
		if (mapped)
			write_mapped(root, name, seed);
		break;
	case 9:
		(void)renameat(root, "d", root, "g");
		(void)renameat(root, "f", root, "d");
		(void)renameat(root, "g", root, "f");
		break;
	default:
		write_file(root, name, seed);
	}
}

/* The text appears completely or not at all: the process may be killed. */
static void save_model(uint64_t seq, const struct buf *text)
{
	auto_free char *temp = mem_printf("%s/tmp-%d", dir, (int)getpid());
	auto_free char *name =
		mem_printf("%s/%llu", models, (unsigned long long)seq);
	auto_close int fd =
		open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && fd_write(fd, text->data, text->len) == 0 &&
		     rename(temp, name) == 0,
	     "%s", strerror(errno));
}

static void run_editor(int number, uint64_t seed)
{
	auto_free char *root_path = mem_printf("%s/root%d", dir, number);
	auto_free char *cache = mem_printf("%s/cache%d", dir, number);
	auto_close int root =
		open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct take_options o = {
		.root_path = root_path,
		.root_fd = -1,
		.reason = "manual",
		.cache_path = cache,
	};
	struct err err;

	must(root >= 0, "%s", root_path);
	/* One of the editors trusts its cache at once, and never writes through
	 * a mapping, which that rule cannot detect. */
	assume_stable = number == 0;
	for (;;) {
		AUTO(store) struct store *s = NULL;
		AUTO(snapshot) struct snapshot snap = {0};
		AUTO(buf) struct buf text = {0};
		uint64_t edits = below(&seed, 12);

		while (edits--)
			edit(root, number != 0, &seed);
		o.plain = below(&seed, 2);
		must(store_open(&s, the_store, STORE_WRITE, &err) == 0, "%s",
		     err.text);
		must(take_snapshot(s, &o, &snap, &err) == 0, "%s", err.text);
		must(!snap.note_count, "%s: %s", snap.notes[0].path,
		     snap.notes[0].text);
		must(model_folder(root, "", &text) == 0, "%s", strerror(errno));
		save_model(snap.seq, &text);
	}
}

/* ---- the others ---- */

static void be_quiet(void *arg, const char *who)
{
	(void)arg;
	(void)who;
}

static void run_pruner(uint64_t seed)
{
	for (;;) {
		AUTO(store) struct store *s = NULL;
		struct prune_options o = {
			.policy = {.last = (uint32_t)below(&seed, 6)},
			.now = {.sec = month_later},
			.busy = below(&seed, 4) ? be_quiet : NULL,
		};
		struct prune_result result;
		struct err err;
		int got;

		must(store_open(&s, the_store, STORE_WRITE, &err) == 0, "%s",
		     err.text);
		got = prune_run(s, &o, NULL, &result, &err);
		must(got == 0 || got == -EBUSY, "%s", err.text);
	}
}

static void run_undeleter(uint64_t seed)
{
	for (;;) {
		AUTO(store) struct store *s = NULL;
		AUTO(trash_list) struct trash_list list = {0};
		struct timespec pause = {0, 1000000 * (long)below(&seed, 100)};
		struct err err;
		uint64_t seq;
		int got;

		(void)nanosleep(
			&pause,
			NULL); /* otherwise no snapshot stays for long */
		must(store_open(&s, the_store, STORE_WRITE, &err) == 0, "%s",
		     err.text);
		must(trash_snapshots(s, &list, &err) == 0, "%s", err.text);
		if (!list.count)
			continue;
		seq = list.items[below(&seed, list.count)].snapshot.seq;
		got = trash_undelete(s, &seq, 1, &err);
		must(got == 0 || got == -EBUSY || got == -ENOENT, "s%llu: %s",
		     (unsigned long long)seq, err.text);
	}
}

/* A snapshot in the store equals its model; it may be removed during the
 * comparison. */
static bool check_model(struct store *s, const char *name)
{
	uint64_t seq = strtoull(name, NULL, 10);
	auto_close int fd = open(models, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(buf) struct buf want = {0}, is = {0};
	AUTO(snapshot) struct snapshot again = {0};
	struct err err, gone;
	int got;

	must(fd_slurp_at(fd, name, MODEL_FILE_MAX, &want, &err) == 0, "%s",
	     err.text);
	got = model_snapshot(s, seq, &is, &err);
	if (got < 0 && catalog_load(s, seq, &again, &gone) == -ENOENT)
		return false;
	must(got == 0, "s%s: %s", name, err.text);
	must(is.len == want.len && memcmp(is.data, want.data, is.len) == 0,
	     "s%s is\n%s\nand was\n%s", name, buf_text(&is), buf_text(&want));
	return true;
}

static int tell_fault(void *arg, const struct verify_fault *f, struct err *err)
{
	(void)arg;
	(void)err;
	(void)fprintf(stderr, "# verify: %s s%llu: %s\n", f->name,
		      (unsigned long long)f->seq, f->text);
	return 0;
}

static void run_reader(uint64_t seed)
{
	auto_close int fd = open(models, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (;;) {
		AUTO(store) struct store *s = NULL;
		AUTO(dirlist) struct dirlist list = {0};
		struct verify_options o = {.read_data = true,
					   .fault = tell_fault};
		struct verify_result result;
		uint64_t times = below(&seed, 8);
		struct err err;
		int got;

		must(store_open(&s, the_store, STORE_READ, &err) == 0, "%s",
		     err.text);
		must(dirlist_read(fd, &list, &err) == 0, "%s", err.text);
		while (list.count && times--)
			(void)check_model(
				s, list.items[below(&seed, list.count)].name);
		if (below(&seed, 4))
			continue;
		got = verify_store(s, &o, &result, &err);
		must(got == 0, "%s", got < 0 ? err.text : "faults");
	}
}

/* ---- all of them ---- */

static pid_t start(int actor, uint64_t seed)
{
	pid_t pid = fork();

	assert_return_code(pid, errno);
	if (pid != 0)
		return pid;
	if (actor < EDITORS)
		run_editor(actor, seed);
	else if (actor == EDITORS)
		run_pruner(seed);
	else if (actor == EDITORS + 1)
		run_undeleter(seed);
	else
		run_reader(seed);
	_exit(0);
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t pids[ACTORS];

/* Ends an actor, which must not have ended by itself. */
static void end(int actor)
{
	pid_t pid = pids[actor];
	int status, i;

	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	pids[actor] = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return;
	for (i = 0; i < ACTORS; i++) {
		if (!pids[i])
			continue;
		(void)kill(pids[i], SIGKILL);
		(void)waitpid(pids[i], NULL, 0);
	}
	fail_msg("actor %d ended with status %x", actor, status);
}

/* Kills an actor from time to time, and starts it again. */
static unsigned int storm(uint64_t *seed, double seconds)
{
	double stop = now() + seconds;
	unsigned int kills = 0;
	int i;

	for (i = 0; i < ACTORS; i++)
		pids[i] = start(i, chance(seed));
	while (now() < stop) {
		struct timespec pause = {0, 1000000 * (long)below(seed, 300)};

		(void)nanosleep(&pause, NULL);
		i = (int)below(seed, ACTORS);
		end(i);
		pids[i] = start(i, chance(seed));
		kills++;
	}
	for (i = 0; i < ACTORS; i++)
		end(i);
	return kills;
}

/* Every snapshot that was ever reported done is complete. */
static size_t check_all(void)
{
	AUTO(store) struct store *s = NULL;
	AUTO(trash_list) struct trash_list trash = {0};
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = open(models, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free uint64_t *seqs = NULL;
	struct verify_options o = {.read_data = true, .fault = tell_fault};
	struct verify_result result;
	struct err err;
	size_t i;

	if (store_open(&s, the_store, STORE_WRITE, &err) < 0 ||
	    trash_snapshots(s, &trash, &err) < 0 ||
	    dirlist_read(fd, &list, &err) < 0)
		fail_msg("%s", err.text);
	seqs = mem_alloc((trash.count + 1) * sizeof(*seqs));
	for (i = 0; i < trash.count; i++)
		seqs[i] = trash.items[i].snapshot.seq;
	if (trash_undelete(s, seqs, trash.count, &err) < 0)
		fail_msg("%s", err.text);
	store_free(&s);
	if (store_open(&s, the_store, STORE_READ, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(verify_store(s, &o, &result, &err), 0);
	for (i = 0; i < list.count; i++)
		if (!check_model(s, list.items[i].name))
			fail_msg("s%s is gone", list.items[i].name);
	return list.count;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void test_many_at_once_with_some_killed_lose_nothing(void **state)
{
	uint64_t seed = 0, seconds = from_env("STORM_SECONDS", 20);
	unsigned int kills;
	size_t snapshots;

	(void)state;
	assert_int_equal(getrandom(&seed, 4, 0), 4);
	seed = from_env("STORM_SEED", seed);
	print_message("# seed %llu\n", (unsigned long long)seed);
	kills = storm(&seed, (double)seconds);
	snapshots = check_all();
	print_message("# %zu snapshots, %u kills\n", snapshots, kills);
	assert_true(snapshots > 0);
}

static int setup(void **state)
{
	struct store *s = NULL;
	struct err err;
	int i;

	(void)state;
	(void)snprintf(dir, sizeof(dir), "/var/tmp/guard-storm-XXXXXX");
	assert_non_null(mkdtemp(dir));
	(void)snprintf(the_store, sizeof(the_store), "%s/store", dir);
	(void)snprintf(models, sizeof(models), "%s/models", dir);
	assert_return_code(mkdir(models, 0700), errno);
	for (i = 0; i < EDITORS; i++) {
		auto_free char *root = mem_printf("%s/root%d", dir, i);

		assert_return_code(mkdir(root, 0755), errno);
	}
	month_later = timestamp_now().sec + MONTH;
	if (store_open(&s, the_store, STORE_WRITE, &err) < 0)
		fail_msg("%s", err.text);
	store_free(&s);
	return 0;
}

static int teardown(void **state)
{
	struct err err;

	(void)state;
	return dirtree_remove(AT_FDCWD, dir, &err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_many_at_once_with_some_killed_lose_nothing, setup,
			teardown),
	};

	loose_max = 6;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
