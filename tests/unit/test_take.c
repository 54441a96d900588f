/* Snapshots of directories that are unusual, change, or cannot be read. */
/* link: -Wl,--wrap=xattrs_get */
#include "snapshot/walk/take.c"

#include "tests/unit/skip.h"
#include "tests/unit/snap_fixture.h"

#include <linux/magic.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/path.h"
#include "snapshot/tree/tree.h"
#include "snapshot/walk/stable_read.h"
#include "snapshot/store/content.h"

/* Called after the bytes of a file were read and before its second stat. */
static void (*while_read)(int dirfd, const char *name);

int __real_xattrs_get(int dirfd, const char *name, struct xattrs *ret,
		      struct err *err);
int __wrap_xattrs_get(int dirfd, const char *name, struct xattrs *ret,
		      struct err *err);
int __wrap_xattrs_get(int dirfd, const char *name, struct xattrs *ret,
		      struct err *err)
{
	if (while_read)
		while_read(dirfd, name);
	return __real_xattrs_get(dirfd, name, ret, err);
}

static void write_text(struct box *box, const char *name, const char *text)
{
	put_bytes(box, name, text, strlen(text));
}

static void make_dir(struct box *box, const char *name)
{
	assert_return_code(mkdirat(box->root_fd, name, 0755), errno);
}

static int setup_settled(void **state)
{
	assume_stable = true;
	return setup(state);
}

static int teardown_settled(void **state)
{
	assume_stable = false;
	while_read = NULL;
	return teardown(state);
}

/* Waits until earlier changes are no longer racy: the clock of the file systems
 * is the event. */
static void pass_racy_time(void)
{
	struct timespec from, now;

	(void)clock_gettime(CLOCK_REALTIME_COARSE, &from);
	do {
		(void)sched_yield();
		(void)clock_gettime(CLOCK_REALTIME_COARSE, &now);
	} while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec -
			 from.tv_nsec <
		 30000000L);
}

static struct take_stats stats;
static struct box *hook_box; /* for functions that change the walked tree */

static void take_since(struct box *box, struct timestamp since, bool plain,
		       struct snapshot *ret)
{
	struct take_options o = {
		.root_path = box->root,
		.root_fd = -1,
		.cache_path = box->cache,
		.reason = "manual",
		.moved_since = since,
		.plain = plain,
		.stats = &stats,
	};
	struct err err;

	ok(take_snapshot(box->store, &o, ret, &err));
}

static void take(struct box *box, struct snapshot *ret)
{
	take_since(box, (struct timestamp){0}, false, ret);
}

static struct entry find(struct box *box, const struct snapshot *s,
			 const char *path)
{
	struct entry e;
	struct err err;
	int got = tree_lookup(box->store, &s->root, path, &e, &err);

	if (got != 1)
		fail_msg("%s is not in s%d", path, (int)s->seq);
	return e;
}

static bool is_in(struct box *box, const struct snapshot *s, const char *path)
{
	AUTO(entry) struct entry e = {0};
	struct err err;

	return tree_lookup(box->store, &s->root, path, &e, &err) == 1;
}

static int add_bytes(void *arg, const void *data, size_t len, struct err *err)
{
	(void)err;
	buf_add(arg, data, len);
	return 0;
}

static void check_content(struct box *box, const struct snapshot *s,
			  const char *path, const void *data, size_t len)
{
	AUTO(entry) struct entry e = find(box, s, path);
	AUTO(buf) struct buf bytes = {0};
	struct err err;

	assert_int_equal(e.flags, 0);
	assert_int_equal(e.size, len);
	if (!len) {
		assert_int_equal(e.content.type, OBJECT_NONE);
		return;
	}
	ok(content_each(box->store, &e.content, add_bytes, &bytes, &err));
	assert_int_equal(bytes.len, len);
	assert_memory_equal(bytes.data, data, len);
}

static void check_text(struct box *box, const struct snapshot *s,
		       const char *path, const char *text)
{
	check_content(box, s, path, text, strlen(text));
}

static void fill_nasty(struct box *box)
{
	struct sockaddr_un sun = {.sun_family = AF_UNIX};
	struct timespec old[2] = {{.tv_sec = -1000, .tv_nsec = 5},
				  {.tv_sec = -1000, .tv_nsec = 5}};
	char longest[256], path[256];
	auto_close int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto_close int sparse = -1;

	memset(longest, 'n', 255);
	longest[255] = '\0';
	write_text(box, "a\nb", "newline");
	write_text(box, "\xff\xc3(", "not UTF-8");
	write_text(box, longest, "long");
	write_text(box, "empty", "");
	make_dir(box, "hollow");
	make_dir(box, "d");
	make_dir(box, "d/e");
	write_text(box, "d/e/f", "deep");
	assert_return_code(symlinkat("../no where", box->root_fd, "d/link"),
			   errno);
	assert_return_code(mkfifoat(box->root_fd, "d/fifo", 0640), errno);
	(void)snprintf(path, sizeof(path), "%s/sock", box->root);
	(void)snprintf(sun.sun_path, sizeof(sun.sun_path), "%.100s", path);
	assert_return_code(bind(sock, (void *)&sun, sizeof(sun)), errno);
	write_text(box, "mode", "modes");
	assert_return_code(fchmodat(box->root_fd, "mode", 04711, 0), errno);
	write_text(box, "old", "old");
	assert_return_code(utimensat(box->root_fd, "old", old, 0), errno);
	write_text(box, "one", "linked");
	assert_return_code(
		linkat(box->root_fd, "one", box->root_fd, "d/two", 0), errno);
	(void)snprintf(path, sizeof(path), "%s/d/e/f", box->root);
	assert_return_code(setxattr(path, "user.guard", "v\0w", 3, 0), errno);
	sparse = openat(box->root_fd, "sparse", O_WRONLY | O_CREAT | O_CLOEXEC,
			0600);
	assert_return_code(ftruncate(sparse, 8 << 20), errno);
	assert_return_code(fd_pwrite(sparse, "end", 3, 5 << 20), errno);
}

static void check_nasty(struct box *box, const struct snapshot *s)
{
	AUTO(xattrs) struct xattrs x = {0};
	AUTO(entry) struct entry a = {0}, b = {0}, f = {0}, old = {0};
	AUTO(entry) struct entry link = {0}, mode = {0}, hollow = {0};
	AUTO(entry) struct entry fifo = {0}, sock = {0};
	auto_free unsigned char *zeros = mem_zalloc(8 << 20);
	char longest[256];
	struct err err;

	memset(longest, 'n', 255);
	longest[255] = '\0';
	memcpy(zeros + (5 << 20), "end", 3);
	assert_int_equal(s->note_count, 0);
	check_text(box, s, "a\nb", "newline");
	check_text(box, s, "\xff\xc3(", "not UTF-8");
	check_text(box, s, longest, "long");
	check_text(box, s, "empty", "");
	check_text(box, s, "d/e/f", "deep");
	check_content(box, s, "sparse", zeros, 8 << 20);
	link = find(box, s, "d/link");
	assert_string_equal(link.link, "../no where");
	fifo = find(box, s, "d/fifo");
	assert_int_equal(fifo.mode & S_IFMT, S_IFIFO);
	sock = find(box, s, "sock");
	assert_int_equal(sock.mode & S_IFMT, S_IFSOCK);
	mode = find(box, s, "mode");
	assert_int_equal(mode.mode, S_IFREG | 04711);
	hollow = find(box, s, "hollow");
	assert_int_equal(hollow.content.type, OBJECT_TREE);
	old = find(box, s, "old");
	assert_int_equal(old.mtime.sec, -1000);
	assert_int_equal(old.mtime.nsec, 5);
	a = find(box, s, "one");
	b = find(box, s, "d/two");
	assert_true(a.link_group && a.link_group == b.link_group);
	assert_true(oid_equal(&a.content, &b.content));
	f = find(box, s, "d/e/f");
	ok(attrset_load(box->store, &f.attrs, &x, &err));
	assert_int_equal(xattrs_find(&x, "user.guard")->len, 3);
	assert_int_equal(s->dirs, 3);
	assert_int_equal(s->files, 13);
}

static void test_a_nasty_tree_comes_back(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, plain = {0}, loaded = {0};
	struct err err;

	fill_nasty(box);
	take(box, &s);
	check_nasty(box, &s);
	ok(catalog_load(box->store, s.seq, &loaded, &err));
	check_nasty(box, &loaded);
	assert_return_code(unlink(box->cache), errno);
	take_since(box, (struct timestamp){0}, true, &plain);
	check_nasty(box, &plain);
	assert_true(oid_equal(&s.root.content, &plain.root.content));
	assert_int_equal(plain.parent, s.seq);
}

/* Version 2 of the kernel's format, with CAP_NET_BIND_SERVICE. */
static void test_owners_and_capabilities_are_kept(void **state)
{
	static const unsigned char capability[20] = {1, 0, 0, 2, 0, 4};
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};
	AUTO(xattrs) struct xattrs x = {0}, live = {0};
	struct err err;
	char path[128];

	if (geteuid() != 0)
		skip_because("only root can change an owner");
	write_text(box, "theirs", "bytes");
	assert_return_code(fchownat(box->root_fd, "theirs", 1777, 1000, 0),
			   errno);
	(void)snprintf(path, sizeof(path), "%s/theirs", box->root);
	assert_return_code(setxattr(path, "security.capability", capability,
				    sizeof(capability), 0),
			   errno);
	take(box, &s);
	e = find(box, &s, "theirs");
	assert_int_equal(e.uid, 1777);
	assert_int_equal(e.gid, 1000);
	assert_int_equal(e.attrs.type, OBJECT_ATTRSET);
	ok(attrset_load(box->store, &e.attrs, &x, &err));
	ok(xattrs_get(box->root_fd, "theirs", &live, &err));
	assert_non_null(xattrs_find(&x, "security.capability"));
	assert_true(xattrs_equal(&x, &live));
}

static void test_nothing_is_read_when_nothing_changed(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, again = {0}, third = {0};

	fill_nasty(box);
	pass_racy_time();
	take(box, &s);
	assert_true(stats.read_files > 0 && !stats.cache_used);
	take(box, &again);
	assert_true(stats.cache_used);
	assert_int_equal(stats.read_files, 0);
	assert_int_equal(stats.listed, 0);
	assert_int_equal(stats.encoded, 0);
	assert_true(entry_equal(&s.root, &again.root));
	assert_int_equal(again.files, s.files);
	assert_int_equal(again.dirs, s.dirs);
	assert_int_equal(again.bytes, s.bytes);
	check_nasty(box, &again);
	/* One file changes: its directories are stored again, the others are
	 * copied to the new cache and used again. */
	write_text(box, "d/e/f", "DEEP");
	pass_racy_time();
	take(box, &third);
	assert_int_equal(stats.read_files, 1);
	assert_int_equal(stats.encoded, 3);
	check_text(box, &third, "d/e/f", "DEEP");
	snapshot_free(&again);
	take(box, &again);
	assert_int_equal(stats.read_files, 0);
	assert_int_equal(stats.encoded, 0);
	assert_true(entry_equal(&third.root, &again.root));
	check_text(box, &again, "d/e/f", "DEEP");
}

/* Whether a store through a mapping shows in the times of a file here. Where it
 * never does, young files are read again by each snapshot. */
static bool shows_mapped_stores(struct box *box)
{
	struct statfs fs;

	assert_return_code(fstatfs(box->root_fd, &fs), errno);
	return fs.f_type != TMPFS_MAGIC && fs.f_type != OVERLAYFS_SUPER_MAGIC;
}

static void test_what_is_known_is_not_read(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, again = {0};
	struct ingest_hint hints = {.size = 3};
	struct take_options o = {
		.root_path = box->root,
		.root_fd = -1,
		.cache_path = box->cache,
		.reason = "manual",
		.hints = &hints,
		.hint_count = 1,
		.stats = &stats,
	};
	struct meta m;
	struct err err;

	if (!shows_mapped_stores(box))
		skip_because("no stat cache on this file system");
	write_text(box, "known", "old");
	write_text(box, "other", "old");
	assert_int_equal(meta_get(box->root_fd, "known", &m), 0);
	hints.ino = m.ino;
	hints.mtime = m.mtime;
	ok(content_put_bytes(box->store, "new", 3, &hints.content, &err));
	assert_return_code(fchmodat(box->root_fd, "known", 0, 0), errno);
	pass_racy_time();
	assume_stable = false;
	ok(take_snapshot(box->store, &o, &s, &err));
	assert_int_equal(stats.read_files, 1);
	/* The snapshot has the hinted content, not the file's. */
	check_text(box, &s, "known", "new");
	/* The next snapshot without a hint has it too: the entry was trusted
	 * although it was young. */
	take(box, &again);
	check_text(box, &again, "known", "new");
	assert_int_equal(stats.read_files, 0);
	/* With another ctime it is not the hinted file. */
	assert_return_code(fchmodat(box->root_fd, "known", 0644, 0), errno);
	write_text(box, "known", "OLD");
	snapshot_free(&again);
	ok(take_snapshot(box->store, &o, &again, &err));
	check_text(box, &again, "known", "OLD");
}

static void
test_young_files_are_read_again_while_they_have_writers(void **state)
{
	static const struct {
		const char *name;
		int flags;
		bool map, close, writer;
	} ways[] = {
		{"written", O_WRONLY, .close = true},
		{"open", O_WRONLY, .writer = true},
		{"open for both", O_RDWR, .writer = true},
		{"mapped", O_RDWR, .map = true, .close = true, .writer = true},
		{"mapped to read", O_RDONLY, .map = true},
		{"read", O_RDONLY},
	};
	const size_t count = sizeof(ways) / sizeof(*ways);
	struct box *box = *state;
	void *maps[sizeof(ways) / sizeof(*ways)] = {0};
	uint64_t writers = 0;
	size_t i;

	assume_stable = false;
	for (i = 0; i < count; i++) {
		int fd;

		write_text(box, ways[i].name, "young");
		fd = openat(box->root_fd, ways[i].name,
			    ways[i].flags | O_CLOEXEC);
		assert_return_code(fd, errno);
		if (ways[i].map)
			maps[i] = mmap(
				NULL, 1,
				PROT_READ | (ways[i].writer ? PROT_WRITE : 0),
				MAP_SHARED, fd, 0);
		assert_true(maps[i] != MAP_FAILED);
		if (ways[i].close)
			(void)close(fd);
		writers += ways[i].writer;
	}
	pass_racy_time();
	for (i = 0; i < 3; i++) {
		AUTO(snapshot) struct snapshot s = {0};

		take_since(box, (struct timestamp){0}, false, &s);
		assert_int_equal(stats.read_files, i && shows_mapped_stores(box)
							   ? writers
							   : count);
	}
	for (i = 0; i < count; i++)
		if (maps[i])
			(void)munmap(maps[i], 1);
	(void)syscall(SYS_close_range, box->root_fd + 1u, ~0u, 0u);
}

/* Files that one thread stores into through a mapping. */
struct mapped_files {
	size_t lens[4];
	char *maps[4];
	atomic_bool stop;
	size_t stores;
};

static void *store_until_stopped(void *arg)
{
	struct mapped_files *m = arg;
	size_t i;

	while (!atomic_load(&m->stop))
		for (i = 0; i < 4; i++)
			m->maps[i][m->stores++ % m->lens[i]]++;
	return NULL;
}

static void check_mapped_contents(struct box *box, const struct snapshot *s)
{
	size_t i;

	for (i = 0; i < 4; i++) {
		const char name[] = {(char)('a' + (int)i), '\0'};
		AUTO(buf) struct buf stored = {0}, now = {0};
		struct entry e = find(box, s, name);
		struct err err;

		ok(content_append(box->store, &e.content, &stored, &err));
		ok(fd_slurp_at(box->root_fd, name, 1u << 24, &now, &err));
		assert_int_equal(stored.len, now.len);
		assert_memory_equal(stored.data, now.data, now.len);
		entry_free(&e);
	}
}

/* MAPPED_TRIES: number of tries, for a file system in /var/tmp that is tested
 * by hand. */
static void test_a_store_through_a_mapping_is_seen(void **state)
{
	const char *wanted = getenv("MAPPED_TRIES");
	int tries = wanted ? atoi(wanted) : 4, n;
	struct box *box = *state;

	assume_stable = false;
	for (n = 0; n < tries; n++) {
		AUTO(snapshot) struct snapshot s = {0}, after = {0};
		struct mapped_files m = {.lens = {6, 5000, 300000, 1200000}};
		pthread_t thread;
		size_t i;

		for (i = 0; i < 4; i++) {
			const char name[] = {(char)('a' + (int)i), '\0'};
			auto_free char *bytes = mem_zalloc(m.lens[i]);
			auto_close int fd = -1;

			put_bytes(box, name, bytes, m.lens[i]);
			fd = openat(box->root_fd, name, O_RDWR | O_CLOEXEC);
			m.maps[i] =
				mmap(NULL, m.lens[i], PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_POPULATE, fd, 0);
			assert_true(m.maps[i] != MAP_FAILED);
			memset(m.maps[i], n, m.lens[i]);
		}
		pass_racy_time();
		/* Beside the snapshot, or only after it. */
		if (n % 2)
			assert_int_equal(pthread_create(&thread, NULL,
							store_until_stopped,
							&m),
					 0);
		take_since(box, (struct timestamp){0}, n % 4 > 1, &s);
		atomic_store(&m.stop, true);
		if (n % 2)
			assert_int_equal(pthread_join(thread, NULL), 0);
		for (i = 0; i < 4; i++) {
			m.maps[i][m.lens[i] / 2]++; /* no fault, no new time */
			if (n % 3)
				(void)munmap(m.maps[i], m.lens[i]);
		}
		take_since(box, (struct timestamp){0}, n % 4 > 1, &after);
		check_mapped_contents(box, &after);
		for (i = 0; i < 4; i++)
			if (n % 3 == 0)
				(void)munmap(m.maps[i], m.lens[i]);
	}
}

static void test_an_edit_with_its_mtime_put_back_is_seen(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, after = {0};
	struct timespec times[2];
	struct stat st;

	write_text(box, "f", "before");
	pass_racy_time();
	take(box, &s);
	assert_return_code(fstatat(box->root_fd, "f", &st, 0), errno);
	write_text(box, "f", "after!");
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_return_code(utimensat(box->root_fd, "f", times, 0), errno);
	take(box, &after);
	check_text(box, &after, "f", "after!");
}

static void test_an_edit_in_the_same_tick_is_seen(void **state)
{
	struct box *box = *state;
	char text[16];
	int i;

	for (i = 0; i < 50; i++) {
		AUTO(snapshot) struct snapshot s = {0}, after = {0};

		(void)snprintf(text, sizeof(text), "%05d-a", i);
		write_text(box, "f", text);
		take(box, &s);
		text[6] = 'b';
		write_text(box, "f", text);
		take(box, &after);
		check_text(box, &after, "f", text);
	}
}

static void test_a_replacement_of_the_same_size_is_seen(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, after = {0};
	struct timespec times[2];
	struct stat st;

	write_text(box, "f", "one");
	write_text(box, "g", "two");
	assert_return_code(fstatat(box->root_fd, "f", &st, 0), errno);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	assert_return_code(utimensat(box->root_fd, "g", times, 0), errno);
	pass_racy_time();
	take(box, &s);
	assert_return_code(renameat(box->root_fd, "g", box->root_fd, "f"),
			   errno);
	take(box, &after);
	check_text(box, &after, "f", "two");
	assert_false(is_in(box, &after, "g"));
}

static void test_new_and_removed_names_are_seen(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, after = {0};

	make_dir(box, "d");
	make_dir(box, "d/e");
	write_text(box, "d/e/f", "f");
	write_text(box, "d/g", "g");
	pass_racy_time();
	take(box, &s);
	assert_return_code(unlinkat(box->root_fd, "d/e/f", 0), errno);
	assert_return_code(unlinkat(box->root_fd, "d/e", AT_REMOVEDIR), errno);
	write_text(box, "d/e", "a file now");
	make_dir(box, "d/h");
	write_text(box, "d/h/i", "i");
	take(box, &after);
	check_text(box, &after, "d/e", "a file now");
	check_text(box, &after, "d/h/i", "i");
	check_text(box, &after, "d/g", "g");
	assert_false(is_in(box, &after, "d/e/f"));
}

static void test_mode_and_attributes_alone_are_seen(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, after = {0};
	AUTO(entry) struct entry f = {0}, d = {0};
	char path[128];

	write_text(box, "f", "f");
	make_dir(box, "d");
	pass_racy_time();
	take(box, &s);
	assert_return_code(fchmodat(box->root_fd, "f", 0600, 0), errno);
	(void)snprintf(path, sizeof(path), "%s/d", box->root);
	assert_return_code(setxattr(path, "user.x", "y", 1, 0), errno);
	take(box, &after);
	f = find(box, &after, "f");
	d = find(box, &after, "d");
	assert_int_equal(f.mode, S_IFREG | 0600);
	assert_int_equal(d.attrs.type, OBJECT_ATTRSET);
}

/* --- entries that moved during a run --- */

static bool noted(const struct snapshot *s, enum note_kind kind,
		  const char *path)
{
	size_t i;

	for (i = 0; i < s->note_count; i++)
		if (s->notes[i].kind == kind &&
		    strcmp(s->notes[i].path, path) == 0)
			return true;
	return false;
}

static void check_moved(struct box *box, bool cached)
{
	AUTO(snapshot) struct snapshot first = {0}, s = {0};
	struct timestamp since;

	make_dir(box, "d");
	make_dir(box, "still");
	make_dir(box, "swap");
	make_dir(box, "swap/in");
	write_text(box, "swap/in/x", "x");
	write_text(box, "d/edit", "1");
	write_text(box, "d/gone", "1");
	write_text(box, "d/same", "1");
	write_text(box, "still/f", "1");
	pass_racy_time();
	if (cached)
		take(box, &first);
	since = take_start_time((struct timestamp){0});
	write_text(box, "d/edit", "2");
	write_text(box, "d/new", "2");
	assert_return_code(unlinkat(box->root_fd, "d/gone", 0), errno);
	assert_return_code(
		renameat(box->root_fd, "swap/in", box->root_fd, "swap/out"),
		errno);
	take_since(box, since, false, &s);
	assert_true(noted(&s, NOTE_MOVED, "d"));
	assert_true(noted(&s, NOTE_MOVED, "d/edit"));
	assert_true(noted(&s, NOTE_MOVED, "d/new"));
	assert_false(noted(&s, NOTE_MOVED, "d/same"));
	assert_false(noted(&s, NOTE_MOVED, "still"));
	assert_false(noted(&s, NOTE_MOVED, "still/f"));
	assert_false(noted(&s, NOTE_MOVED, ""));
	assert_true(snapshot_moved(&s, "d/gone", false));
	assert_true(snapshot_moved(&s, "d/edit", true));
	assert_false(snapshot_moved(&s, "d/same", true));
	assert_false(snapshot_moved(&s, "still/no", false));
	assert_true(snapshot_moved(&s, "swap/in", false));
	/* The entry came to this path by a rename of its parent directory. */
	assert_true(snapshot_moved(&s, "swap/out/x", true));
	assert_true(snapshot_has_note(&s, NOTE_MOVED, "d/same"));
	assert_false(snapshot_has_note(&s, NOTE_MOVED, "still/f"));
}

static void test_moved_since_the_start(void **state)
{
	check_moved(*state, false);
}

static void test_moved_since_the_start_with_a_cache(void **state)
{
	check_moved(*state, true);
}

static void test_start_time_parts_before_from_after(void **state)
{
	struct box *box = *state;
	int i;

	for (i = 0; i < 30; i++) {
		struct timestamp since;
		struct meta m;

		write_text(box, "before", "b");
		since = take_start_time((struct timestamp){0});
		write_text(box, "after", "a");
		assert_return_code(meta_get(box->root_fd, "before", &m), errno);
		assert_true(timestamp_compare(m.ctime, since) < 0);
		assert_return_code(meta_get(box->root_fd, "after", &m), errno);
		assert_true(timestamp_compare(m.ctime, since) >= 0);
	}
}

/* --- edits beside the walk --- */

static uint64_t random_state;
static atomic_int random_edits;
static pthread_mutex_t random_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned int random_below(unsigned int n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned int)(random_state >> 33) % n;
}

/* Another process edits the tree during the walk: at any file read, with random
 * kinds of edits at random places. Failed edits do not matter. */
static void edit_somewhere(int dirfd, const char *name)
{
	char a[32], b[32];
	int fd, got = 0;

	(void)dirfd;
	(void)name;
	(void)pthread_mutex_lock(&random_lock);
	(void)snprintf(a, sizeof(a), "d%u/e%u/f%u", random_below(4),
		       random_below(4), random_below(4));
	(void)snprintf(b, sizeof(b), "d%u/e%u", random_below(4),
		       random_below(4));
	if (random_edits > 0) {
		random_edits--;
		switch (random_below(6)) {
		case 0:
			fd = openat(hook_box->root_fd, a,
				    O_WRONLY | O_TRUNC | O_CLOEXEC);
			got = fd < 0 ? -1 : fd_write(fd, "edited", 6);
			(void)close(fd);
			break;
		case 1:
			got = unlinkat(hook_box->root_fd, a, 0);
			break;
		case 2:
			strcat(b, "/new");
			fd = openat(hook_box->root_fd, b,
				    O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			(void)close(fd);
			break;
		case 3:
			a[5] = '\0'; /* dN/eN */
			got = renameat(hook_box->root_fd, a, hook_box->root_fd,
				       "aside");
			break;
		case 4:
			got = renameat(hook_box->root_fd, "aside",
				       hook_box->root_fd, b);
			break;
		case 5:
			a[2] = b[2] = '\0'; /* dN */
			got = renameat2(hook_box->root_fd, a, hook_box->root_fd,
					b, RENAME_EXCHANGE);
			break;
		}
	}
	(void)got;
	(void)pthread_mutex_unlock(&random_lock);
}

struct beside {
	struct box *box;
	const struct snapshot *before, *now;
};

static int check_difference(void *arg, const char *path, const struct entry *a,
			    const struct entry *b, struct err *err)
{
	struct beside *c = arg;
	auto_free char *parent = path_parent(path);
	AUTO(entry) struct entry up = {0};

	/* Only entries below it differ, and these are reported themselves. */
	if (a && b && S_ISDIR(a->mode) && entry_same_meta(a, b) &&
	    timestamp_compare(a->mtime, b->mtime) == 0)
		return 0;
	/* Only the topmost missing path is reported. */
	if (!b && *path &&
	    tree_lookup(c->box->store, &c->now->root, parent, &up, err) != 1)
		return 0;
	if (b && b->flags & ENTRY_INCOMPLETE) {
		assert_true(snapshot_has_note(c->now, NOTE_INCOMPLETE, path));
		return 0;
	}
	if (!snapshot_moved(c->now, path, b != NULL))
		fail_msg("%s differs from what it was and is not marked", path);
	return 0;
}

static void edit_beside(struct box *box, uint64_t seed, bool cached)
{
	AUTO(snapshot) struct snapshot before = {0}, now = {0};
	struct beside c = {.box = box, .before = &before, .now = &now};
	char name[32], top[16];
	struct timestamp since;
	struct err err;
	int i;

	(void)snprintf(top, sizeof(top), "../t%u", (unsigned int)seed);
	assert_return_code(mkdirat(box->root_fd, top, 0755), errno);
	(void)close(box->root_fd);
	(void)snprintf(box->root, sizeof(box->root), "%s/%s", box->dir,
		       top + 3);
	box->root_fd = open(box->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (i = 0; i < 64; i++) {
		(void)snprintf(name, sizeof(name), "d%d", i / 16);
		if (i % 16 == 0)
			make_dir(box, name);
		(void)snprintf(name, sizeof(name), "d%d/e%d", i / 16,
			       i / 4 % 4);
		if (i % 4 == 0)
			make_dir(box, name);
		(void)snprintf(name, sizeof(name), "d%d/e%d/f%d", i / 16,
			       i / 4 % 4, i % 4);
		write_text(box, name, name);
	}
	pass_racy_time();
	take(box, &before);
	since = take_start_time((struct timestamp){0});
	/* With a cache only a file that was touched before is read at all. */
	if (cached)
		write_text(box, "d0/e0/f0", "the first edit");
	else
		assert_return_code(unlink(box->cache), errno);
	hook_box = box;
	random_state = seed * 0x9e3779b97f4a7c15u;
	random_edits = 12;
	while_read = edit_somewhere;
	take_since(box, since, false, &now);
	while_read = NULL;
	ok(tree_diff(box->store, &before.root, &now.root, check_difference, &c,
		     &err));
}

static void test_every_edit_beside_the_walk_is_marked(void **state)
{
	uint64_t seed;

	for (seed = 1; seed <= 60; seed++)
		edit_beside(*state, seed, seed % 4 == 0);
}

/* --- files that change --- */

static int hook_edits;

static void edit_while_read(int dirfd, const char *name)
{
	char text[16];

	(void)dirfd;
	if (strcmp(name, "busy") != 0 || hook_edits-- <= 0)
		return;
	(void)snprintf(text, sizeof(text), "edit %02d", hook_edits);
	write_text(hook_box, "busy", text);
}

static void check_busy(struct box *box, int edits, bool plain)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(entry) struct entry e = {0};

	write_text(box, "busy", "first..");
	write_text(box, "calm", "calm");
	hook_box = box;
	hook_edits = edits;
	while_read = edit_while_read;
	take_since(box, (struct timestamp){0}, plain, &s);
	while_read = NULL;
	e = find(box, &s, "busy");
	if (edits > 2 * STABLE_READ_TRIES) {
		assert_int_equal(e.flags, ENTRY_INCOMPLETE);
		assert_true(noted(&s, NOTE_INCOMPLETE, "busy"));
	} else {
		check_text(box, &s, "busy", "edit 00");
		assert_int_equal(s.note_count, 0);
	}
	check_text(box, &s, "calm", "calm");
}

static void test_a_file_that_changes_once_is_read_again(void **state)
{
	check_busy(*state, 1, false);
	check_busy(*state, 2, true);
}

static void test_a_file_that_never_rests_is_noted(void **state)
{
	check_busy(*state, 1000, false);
	check_busy(*state, 1000, true);
}

static void test_take_entry_refuses_what_never_rests(void **state)
{
	struct box *box = *state;
	struct entry e;
	struct err err;

	write_text(box, "busy", "first..");
	hook_box = box;
	hook_edits = 1000;
	while_read = edit_while_read;
	assert_int_equal(
		take_entry(box->store, box->root_fd, "busy", NULL, &e, &err),
		-EBUSY);
}

static void test_take_entry_keeps_one_thing(void **state)
{
	struct box *box = *state;
	AUTO(entry) struct entry e = {0}, d = {0};
	struct err err;
	char path[128];

	write_text(box, "f", "bytes");
	(void)snprintf(path, sizeof(path), "%s/f", box->root);
	assert_return_code(setxattr(path, "user.overlay.x", "y", 1, 0), errno);
	ok(take_entry(box->store, box->root_fd, "f", "user.overlay.", &e,
		      &err));
	assert_int_equal(e.content.type, OBJECT_DATA);
	assert_int_equal(e.attrs.type, OBJECT_NONE);
	assert_string_equal(e.name, "f");
	ok(take_entry(box->store, box->root_fd, "", NULL, &d, &err));
	assert_true(S_ISDIR(d.mode));
	assert_int_equal(d.content.type, OBJECT_NONE);
	assert_int_equal(
		take_entry(box->store, box->root_fd, "no", NULL, &d, &err),
		-ENOENT);
}

/* --- unreadable files --- */

/* As a plain user, in a process of its own: root can read everything. */
static int as_plain_user(struct box *box, int (*check)(struct box *box))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (geteuid() == 0 && (chown(box->dir, 1777, 1777) < 0 ||
				       chown(box->root, 1777, 1777) < 0 ||
				       setgid(1777) < 0 || setuid(1777) < 0))
			_exit(77);
		_exit(check(box));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int check_unreadable(struct box *box)
{
	struct take_options o = {
		.root_path = box->root, .root_fd = -1, .reason = "manual"};
	struct snapshot s = {0};
	struct store *store;
	struct entry f, d;
	char dir[128];
	struct err err;

	/* A store that belongs to this user. */
	(void)snprintf(dir, sizeof(dir), "%s/mine", box->dir);
	if (mkdirat(box->root_fd, "closed", 0755) < 0 ||
	    mkdirat(box->root_fd, "unsearched", 0755) < 0)
		return 1;
	write_text(box, "secret", "secret");
	write_text(box, "open", "open");
	write_text(box, "unsearched/f", "f");
	if (fchmodat(box->root_fd, "secret", 0, 0) < 0 ||
	    fchmodat(box->root_fd, "closed", 0, 0) < 0 ||
	    fchmodat(box->root_fd, "unsearched", 0400, 0) < 0)
		return 2;
	if (store_open(&store, dir, STORE_WRITE, &err) < 0 ||
	    take_snapshot(store, &o, &s, &err) < 0)
		return 3;
	if (fchmodat(box->root_fd, "closed", 0755, 0) < 0 ||
	    fchmodat(box->root_fd, "unsearched", 0755, 0) < 0)
		return 7;
	if (!noted(&s, NOTE_INCOMPLETE, "secret") ||
	    !noted(&s, NOTE_INCOMPLETE, "closed") ||
	    !noted(&s, NOTE_INCOMPLETE, "unsearched/f") ||
	    noted(&s, NOTE_INCOMPLETE, "open"))
		return 4;
	if (tree_lookup(store, &s.root, "secret", &f, &err) != 1 ||
	    f.flags != ENTRY_INCOMPLETE || f.size != 6 || f.mode != S_IFREG)
		return 5;
	if (tree_lookup(store, &s.root, "unsearched", &d, &err) != 1 ||
	    d.flags != ENTRY_INCOMPLETE)
		return 6;
	store_free(&store);
	return 0;
}

static void test_what_may_not_be_read_is_noted(void **state)
{
	assert_int_equal(as_plain_user(*state, check_unreadable), 0);
}

static void test_a_missing_root_is_an_error(void **state)
{
	struct box *box = *state;
	struct take_options o = {.root_path = "/var/tmp/guard-no-such-root",
				 .root_fd = -1};
	struct snapshot s;
	struct err err;

	assert_int_equal(take_snapshot(box->store, &o, &s, &err), -ENOENT);
	o.root_path = box->cache;
	write_text(box, "../cache", "a file");
	assert_int_equal(take_snapshot(box->store, &o, &s, &err), -ENOTDIR);
}

static void test_skipped_folders_are_left_out(void **state)
{
	struct box *box = *state;
	char deep[128], top[128];
	const char *skip[] = {deep, top, "/elsewhere", NULL};
	struct take_options o = {.root_path = box->root,
				 .root_fd = -1,
				 .cache_path = box->cache,
				 .skip = skip,
				 .stats = &stats};
	AUTO(snapshot) struct snapshot s = {0}, again = {0};
	struct err err;

	(void)snprintf(deep, sizeof(deep), "%s/a/b/state", box->root);
	(void)snprintf(top, sizeof(top), "%s/top", box->root);
	make_dir(box, "a");
	make_dir(box, "a/b");
	make_dir(box, "a/b/state");
	make_dir(box, "a/b/state2");
	make_dir(box, "a/top");
	make_dir(box, "top");
	write_text(box, "a/b/state/x", "x");
	write_text(box, "a/b/state2/x", "x");
	pass_racy_time();
	ok(take_snapshot(box->store, &o, &s, &err));
	assert_false(is_in(box, &s, "a/b/state"));
	assert_false(is_in(box, &s, "top"));
	assert_true(is_in(box, &s, "a/b/state2/x"));
	assert_true(is_in(box, &s, "a/top"));
	ok(take_snapshot(box->store, &o, &again, &err));
	assert_true(entry_equal(&s.root, &again.root));
	assert_int_equal(stats.encoded, 0);
}

static void test_names_in_the_root_are_left_out_by_their_beginning(void **state)
{
	struct box *box = *state;
	struct take_options o = {.root_path = box->root,
				 .root_fd = -1,
				 .cache_path = box->cache,
				 .skip_prefix = ".staged-",
				 .stats = &stats};
	AUTO(snapshot) struct snapshot s = {0};
	struct err err;

	make_dir(box, ".staged-1");
	make_dir(box, "a");
	make_dir(box, "a/.staged-2");
	write_text(box, ".staged-1/x", "x");
	write_text(box, ".staged", "x");
	ok(take_snapshot(box->store, &o, &s, &err));
	assert_false(is_in(box, &s, ".staged-1"));
	assert_true(is_in(box, &s, ".staged"));
	assert_true(is_in(box, &s, "a/.staged-2"));
}

static void test_some_paths_are_kept_and_nothing_is_said_of_others(void **state)
{
	struct box *box = *state;
	/* In path_compare()'s order: a directory comes before its entries. */
	const char *only[] = {"a/b/file", "a/folder", "gone", "top", NULL};
	struct take_options o = {.root_path = box->root,
				 .root_fd = -1,
				 .cache_path = box->cache,
				 .only = only,
				 .stats = &stats};
	const struct {
		const char *path;
		bool in, hints;
	} rows[] = {
		{"a/b/file", true, true},      {"a/b/other", false, false},
		{"a/folder/x", true, true},    {"a/folder/y", false, true},
		{"a/folder2", false, false},   {"top", true, true},
		{"topper", false, false},      {"gone", false, false},
		{"elsewhere/x", false, false},
	};
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(snapshot) struct snapshot found = {0};
	struct err err;
	size_t i;

	make_dir(box, "a");
	make_dir(box, "a/b");
	make_dir(box, "a/folder");
	make_dir(box, "a/folder2");
	make_dir(box, "elsewhere");
	write_text(box, "a/b/file", "x");
	write_text(box, "a/b/other", "x");
	write_text(box, "a/folder/x", "x");
	write_text(box, "elsewhere/x", "x");
	write_text(box, "top", "x");
	write_text(box, "topper", "x");
	ok(take_snapshot(box->store, &o, &s, &err));
	assert_int_equal(access(box->cache, F_OK), -1);
	assert_int_equal(stats.read_files, 3);
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		auto_free char *path = path_join(box->root, rows[i].path);

		assert_int_equal(is_in(box, &s, rows[i].path), rows[i].in);
		assert_int_equal(
			snapshot_covers_path(box->store, &s, path, &err),
			rows[i].hints);
		assert_int_equal(catalog_find(box->store, NULL, path, false,
					      &found, &err) == 0,
				 rows[i].hints);
		snapshot_free(&found);
		found = (struct snapshot){0};
	}
}

static void test_the_way_to_some_paths_does_not_count_as_moved(void **state)
{
	struct box *box = *state;
	const char *only[] = {"a/file", "a/folder", NULL};
	struct take_options o = {
		.root_path = box->root, .root_fd = -1, .only = only};
	AUTO(snapshot) struct snapshot s = {0};
	struct err err;

	make_dir(box, "a");
	make_dir(box, "a/folder");
	write_text(box, "a/file", "x");
	o.moved_since = take_start_time((struct timestamp){0});
	write_text(box, "a/other", "x");
	write_text(box, "a/folder/x", "x");
	ok(take_snapshot(box->store, &o, &s, &err));
	assert_false(snapshot_moved(&s, "a/file", true));
	assert_true(snapshot_moved(&s, "a/folder/x", true));
	assert_false(snapshot_has_note(&s, NOTE_MOVED, "a"));
}

/* The objects of a removed snapshot may be removed too. */
static void test_a_cache_without_its_snapshot_is_not_used(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, other = {0}, again = {0};
	char snaps[128], path[160];

	write_text(box, "f", "1");
	pass_racy_time();
	take(box, &s);
	(void)snprintf(snaps, sizeof(snaps), "%s/snaps", box->store_root_fd);
	(void)snprintf(path, sizeof(path), "%s/%010d.gsn", snaps, (int)s.seq);
	assert_return_code(chmod(snaps, 0700), errno);
	assert_return_code(unlink(path), errno);
	take(box, &other);
	assert_false(stats.cache_used);
	assert_int_equal(stats.read_files, 1);
	/* The cache is valid again if another snapshot has the same tree. */
	take(box, &again);
	assert_true(stats.cache_used);
	assert_int_equal(stats.read_files, 0);
}

static void test_a_cache_of_another_store_is_not_used(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, again = {0};
	struct err err;
	char dir[96];

	write_text(box, "f", "1");
	pass_racy_time();
	take(box, &s);
	store_free(&box->store);
	(void)snprintf(dir, sizeof(dir), "%s/other", box->dir);
	ok(store_open(&box->store, dir, STORE_WRITE, &err));
	take(box, &again);
	assert_false(stats.cache_used);
	check_text(box, &again, "f", "1");
}

static int mount_something(struct box *box)
{
	char path[128];

	if (unshare(CLONE_NEWNS) < 0)
		return 77;
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	(void)snprintf(path, sizeof(path), "%s/other", box->root);
	if (mount("none", path, "tmpfs", 0, NULL) < 0)
		return 2;
	write_text(box, "other/hidden", "x");
	(void)snprintf(path, sizeof(path), "%s/bind", box->root);
	if (mount(box->root, path, NULL, MS_BIND, NULL) < 0)
		return 3;
	return 0;
}

static int check_mounts(struct box *box)
{
	struct take_options o = {.root_path = box->root, .root_fd = -1};
	struct snapshot s = {0};
	struct store *store;
	struct entry e;
	struct err err;
	int got = mount_something(box);

	if (got)
		return got;
	if (store_open(&store, box->store_root_fd, STORE_WRITE, &err) < 0 ||
	    take_snapshot(store, &o, &s, &err) < 0)
		return 4;
	if (!noted(&s, NOTE_INCOMPLETE, "other") ||
	    !noted(&s, NOTE_INCOMPLETE, "bind"))
		return 5;
	if (tree_lookup(store, &s.root, "other", &e, &err) != 1 ||
	    e.flags != ENTRY_INCOMPLETE || e.content.type != OBJECT_NONE)
		return 6;
	if (tree_lookup(store, &s.root, "other/hidden", &e, &err) != 0 ||
	    tree_lookup(store, &s.root, "bind/other", &e, &err) != 0)
		return 7;
	return 0;
}

static void test_mounts_are_noted_and_not_entered(void **state)
{
	struct box *box = *state;
	int status;
	pid_t pid;

	make_dir(box, "other");
	make_dir(box, "bind");
	pid = fork();
	if (pid == 0)
		_exit(check_mounts(box));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77)
		skip_because("only root can mount");
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* --- depth, width, many at once --- */

/* 100 levels of 3 directories each and 60 descriptors: parent directories must
 * close their descriptors and be opened by path again. */
static int check_few_descriptors(struct box *box)
{
	struct rlimit limit = {.rlim_cur = 60, .rlim_max = 60};
	struct take_options o = {.root_path = box->root, .root_fd = -1};
	struct timestamp since = take_start_time((struct timestamp){0});
	struct snapshot s = {0};
	struct store *store;
	struct err err;

	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 1;
	write_text(box, "a/a/a/leaf", "new");
	o.moved_since = since;
	if (store_open(&store, box->store_root_fd, STORE_WRITE, &err) < 0 ||
	    take_snapshot(store, &o, &s, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	if (s.dirs != 300 || s.files != 1 || !noted(&s, NOTE_MOVED, "a/a/a"))
		return 3;
	/* The text of the note does not matter here. */
	return s.note_count != 2 ? 4 : 0;
}

static void test_few_descriptors_are_enough(void **state)
{
	struct box *box = *state;
	AUTO(buf) struct buf path = {0};
	int i, status;
	pid_t pid;

	for (i = 0; i < 100; i++) {
		static const char *const names[] = {"b", "c", "a"};
		size_t len = path.len, k;

		for (k = 0; k < 3; k++) {
			path.len = len;
			buf_add_text(&path, names[k]);
			make_dir(box, buf_text(&path));
		}
		buf_add_char(&path, '/');
	}
	pass_racy_time();
	pid = fork();
	if (pid == 0)
		_exit(check_few_descriptors(box));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define DEEP 2200

static void test_thousands_of_levels(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, again = {0};
	auto_close int at = fcntl(box->root_fd, F_DUPFD_CLOEXEC, 0);
	AUTO(buf) struct buf path = {0};
	int i;

	for (i = 0; i < DEEP; i++) {
		int next;

		assert_return_code(mkdirat(at, "dir", 0755), errno);
		/* A second subdirectory keeps every parent directory waiting.
		 */
		assert_return_code(mkdirat(at, "aside", 0755), errno);
		next = openat(at, "dir", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_return_code(next, errno);
		(void)close(at);
		at = next;
		buf_add_text(&path, "dir/");
	}
	assert_return_code(mkdirat(at, "end", 0755), errno);
	buf_add_text(&path, "end");
	pass_racy_time();
	take(box, &s);
	assert_int_equal(s.note_count, 0);
	assert_true(is_in(box, &s, buf_text(&path)));
	assert_int_equal(s.dirs, 2 * DEEP + 1);
	take(box, &again);
	assert_int_equal(stats.encoded, 0);
	assert_true(entry_equal(&s.root, &again.root));
}

static void test_many_files_of_all_sizes(void **state)
{
	static const size_t sizes[] = {1,	4095,	4096,	4097,
				       131072,	262144, 262145, 1048576,
				       1048577, 3000000};
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0};
	unsigned char *data[200];
	char name[32];
	size_t i, k;

	for (i = 0; i < 200; i++) {
		size_t len = i < 10 ? sizes[i] : 100 + i * 37;

		data[i] = mem_alloc(len);
		for (k = 0; k < len; k++)
			data[i][k] = (unsigned char)(i * 31 + k * k / 7);
		if (i % 20 == 0) {
			(void)snprintf(name, sizeof(name), "d%zu", i / 20);
			make_dir(box, name);
		}
		(void)snprintf(name, sizeof(name), "d%zu/f%zu", i / 20, i);
		put_bytes(box, name, data[i], len);
	}
	take(box, &s);
	for (i = 0; i < 200; i++) {
		(void)snprintf(name, sizeof(name), "d%zu/f%zu", i / 20, i);
		check_content(box, &s, name, data[i],
			      i < 10 ? sizes[i] : 100 + i * 37);
		free(data[i]);
	}
}

static void take_in_child(struct box *box, int ready, int count)
{
	struct take_options o = {.root_path = box->root,
				 .root_fd = -1,
				 .cache_path = box->cache};
	struct store *store = NULL;
	struct err err;
	char byte;

	(void)!read(ready, &byte, 1); /* until the parent closes its end */
	if (store_open(&store, box->store_root_fd, STORE_WRITE, &err) < 0)
		_exit(1);
	while (count--) {
		struct snapshot s = {0};

		if (take_snapshot(store, &o, &s, &err) < 0)
			_exit(2);
		snapshot_free(&s);
	}
	store_free(&store);
	_exit(0);
}

static void test_two_processes_get_different_numbers(void **state)
{
	struct box *box = *state;
	auto_free uint64_t *seqs = NULL;
	pid_t pid[2];
	int gate[2], status, i;
	size_t count;
	struct err err;

	fill_nasty(box);
	assert_return_code(pipe2(gate, O_CLOEXEC), errno);
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (pid[i] == 0) {
			(void)close(gate[1]);
			take_in_child(box, gate[0], 20);
		}
	}
	(void)close(gate[0]);
	(void)close(gate[1]);
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	ok(store_refresh(box->store, &err));
	ok(catalog_list(box->store, &seqs, &count, &err));
	assert_int_equal(count, 40);
	for (i = 0; i < 40; i++) {
		AUTO(snapshot) struct snapshot s = {0};

		assert_int_equal(seqs[i], i + 1);
		ok(catalog_load(box->store, seqs[i], &s, &err));
		check_nasty(box, &s);
	}
}

/* SIGKILL after a growing number of microseconds, until one process survives.
 */
static void test_a_kill_leaves_older_snapshots_whole(void **state)
{
	struct box *box = *state;
	AUTO(snapshot) struct snapshot s = {0}, after = {0};
	struct err err;
	long delay;
	bool survived = false;

	fill_nasty(box);
	take(box, &s);
	for (delay = 200; !survived && delay < 2000000; delay += delay / 4) {
		AUTO(snapshot) struct snapshot old = {0};
		int status;
		pid_t pid = fork();

		if (pid == 0) {
			struct itimerval t = {
				.it_value = {
					.tv_sec = delay / 1000000,
					.tv_usec = delay % 1000000,
				}};

			(void)signal(SIGALRM, SIG_DFL);
			(void)unlink(box->cache);
			write_text(box, "mode", "other");
			(void)setitimer(ITIMER_REAL, &t, NULL);
			take_in_child(box, -1, 1);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		survived = WIFEXITED(status) && WEXITSTATUS(status) == 0;
		ok(store_refresh(box->store, &err));
		ok(catalog_load(box->store, s.seq, &old, &err));
		check_nasty(box, &old);
	}
	assert_true(survived);
	take(box, &after);
	check_text(box, &after, "mode", "other");
	check_text(box, &after, "d/e/f", "deep");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup_settled, teardown_settled)
		T(test_a_nasty_tree_comes_back),
		T(test_owners_and_capabilities_are_kept),
		T(test_nothing_is_read_when_nothing_changed),
		T(test_what_is_known_is_not_read),
		T(test_young_files_are_read_again_while_they_have_writers),
		T(test_a_store_through_a_mapping_is_seen),
		T(test_an_edit_with_its_mtime_put_back_is_seen),
		T(test_an_edit_in_the_same_tick_is_seen),
		T(test_a_replacement_of_the_same_size_is_seen),
		T(test_new_and_removed_names_are_seen),
		T(test_mode_and_attributes_alone_are_seen),
		T(test_moved_since_the_start),
		T(test_moved_since_the_start_with_a_cache),
		T(test_every_edit_beside_the_walk_is_marked),
		T(test_start_time_parts_before_from_after),
		T(test_a_file_that_changes_once_is_read_again),
		T(test_a_file_that_never_rests_is_noted),
		T(test_take_entry_refuses_what_never_rests),
		T(test_take_entry_keeps_one_thing),
		T(test_what_may_not_be_read_is_noted),
		T(test_a_missing_root_is_an_error),
		T(test_skipped_folders_are_left_out),
		T(test_some_paths_are_kept_and_nothing_is_said_of_others),
		T(test_the_way_to_some_paths_does_not_count_as_moved),
		T(test_names_in_the_root_are_left_out_by_their_beginning),
		T(test_a_cache_without_its_snapshot_is_not_used),
		T(test_a_cache_of_another_store_is_not_used),
		T(test_mounts_are_noted_and_not_entered),
		T(test_few_descriptors_are_enough),
		T(test_thousands_of_levels),
		T(test_many_files_of_all_sizes),
		T(test_two_processes_get_different_numbers),
		T(test_a_kill_leaves_older_snapshots_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
