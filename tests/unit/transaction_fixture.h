/*
 * Fixture of the tests of transactions: a project in two states, made by plain
 * calls; a picture of a directory as text, taken by plain calls; and the calls
 * that change files, interposed: each can fail, be the last call of the
 * process, or be reported.
 *
 * Include it once.
 */
#ifndef GUARD_TESTS_UNIT_TRANSACTION_FIXTURE_H
#define GUARD_TESTS_UNIT_TRANSACTION_FIXTURE_H

#include "tests/unit/snap_fixture.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include "base/atomic.h"
#include "base/fd.h"
#include "restore/journal.h"
#include "restore/transaction.h"
#include "restore/workspace.h"
#include "snapshot/walk/take.h"
#include "snapshot/store/content.h"
#include "tests/unit/ring_hooks.h"

#define KILLED 77

/* --- calls --- */

static struct {
	bool on;
	unsigned int count; /* calls so far */
	unsigned int at; /* the call that is hit; 0: none */
	int error; /* the errno of the failure; 0: the process ends before it */
	bool for_ever; /* and all later calls */
	bool reads; /* opens for reading count as well */
	bool sync; /* syncs are done, not only counted */
	bool folds; /* names of one letter match in either case */
	struct buf *trace;
	void (*before_rename)(void); /* once */
	const char *rename_of; /* the renamed name; NULL: any */
} calls;

/* Features that the file system of the project lacks. */
static enum { LACKS_NOTHING, LACKS_RENAME_FLAGS, LACKS_LINKS_TOO } lacks;

static void calls_start(unsigned int at, int error)
{
	memset(&calls, 0, sizeof(calls));
	calls.on = true;
	calls.at = at;
	calls.error = error;
}

static const char *behind(int fd)
{
	static char text[4096];
	ssize_t n = readlink(fd_proc_path(fd).text, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

static bool call_fails(const char *what, const char *path)
{
	if (!calls.on)
		return false;
	if (calls.trace)
		buf_printf(calls.trace, "%s %s\n", what, path);
	calls.count++;
	if (!calls.at ||
	    (calls.for_ever ? calls.count < calls.at : calls.count != calls.at))
		return false;
	if (!calls.error)
		_exit(KILLED);
	errno = calls.error;
	return true;
}

/* Behaves like a file system that treats "x" and "X" as one name. */
static const char *spelled(int fd, const char *name)
{
	static char other[2];

	if (!calls.folds || !isalpha((unsigned char)name[0]) || name[1] ||
	    faccessat(fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return name;
	other[0] = (char)(name[0] ^ 0x20);
	return faccessat(fd, other, F_OK, AT_SYMLINK_NOFOLLOW) == 0 ? other
								    : name;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

#define WRAP(type, name, parameters, arguments, path)                          \
	type name parameters                                                   \
	{                                                                      \
		return call_fails(#name, path) ? -1 : REAL(name) arguments;    \
	}
#define WRAP_SYNC(name)                                                        \
	int name(int fd)                                                       \
	{                                                                      \
		if (call_fails(#name, behind(fd)))                             \
			return -1;                                             \
		return calls.on && !calls.sync ? 0 : REAL(name)(fd);           \
	}

WRAP_SYNC(fsync)
WRAP_SYNC(fdatasync)
WRAP_SYNC(syncfs)
WRAP(ssize_t, write, (int fd, const void *data, size_t len), (fd, data, len),
     behind(fd))
WRAP(ssize_t, pwrite, (int fd, const void *data, size_t len, off_t at),
     (fd, data, len, at), behind(fd))
WRAP(int, ftruncate, (int fd, off_t len), (fd, len), behind(fd))
WRAP(int, mkdirat, (int fd, const char *name, mode_t mode), (fd, name, mode),
     name)
WRAP(int, mknodat, (int fd, const char *name, mode_t mode, dev_t dev),
     (fd, name, mode, dev), name)
WRAP(int, symlinkat, (const char *text, int fd, const char *name),
     (text, fd, name), name)
WRAP(int, unlinkat, (int fd, const char *name, int flags), (fd, name, flags),
     name)
WRAP(int, renameat, (int fd, const char *name, int fd2, const char *name2),
     (fd, name, fd2, name2), name2)
WRAP(int, chmod, (const char *path, mode_t mode), (path, mode), path)
WRAP(int, fchmod, (int fd, mode_t mode), (fd, mode), behind(fd))
WRAP(int, fchownat, (int fd, const char *name, uid_t uid, gid_t gid, int flags),
     (fd, name, uid, gid, flags), name)
WRAP(int, utimensat,
     (int fd, const char *name, const struct timespec times[2], int flags),
     (fd, name, times, flags), name)
WRAP(int, setxattr,
     (const char *path, const char *name, const void *value, size_t len,
      int flags),
     (path, name, value, len, flags), path)
WRAP(int, removexattr, (const char *path, const char *name), (path, name), path)

static bool is_staged_name(const char *name)
{
	return (name[0] == 'n' || name[0] == 'd') &&
	       isdigit((unsigned char)name[1]);
}

/* Staged files keep their hard links. */
int linkat(int fd, const char *name, int fd2, const char *name2, int flags)
{
	if (call_fails("linkat", name2))
		return -1;
	if (lacks == LACKS_LINKS_TOO &&
	    (name2[0] == 'x' ||
	     (is_staged_name(name) && !is_staged_name(name2)))) {
		errno = EPERM;
		return -1;
	}
	return REAL(linkat)(fd, name, fd2, name2, flags);
}

int renameat2(int fd, const char *name, int fd2, const char *name2,
	      unsigned int flags)
{
	void (*hook)(void) = calls.before_rename;

	if (hook && (!calls.rename_of || strcmp(calls.rename_of, name) == 0 ||
		     strcmp(calls.rename_of, name2) == 0)) {
		calls.before_rename = NULL;
		hook();
	}
	if (call_fails("renameat2", name2))
		return -1;
	if (lacks && flags) {
		errno = EINVAL;
		return -1;
	}
	name = spelled(fd, name);
	return REAL(renameat2)(fd, name, fd2, spelled(fd2, name2), flags);
}

int statx(int fd, const char *name, int flags, unsigned int mask,
	  struct statx *ret)
{
	return REAL(statx)(fd, spelled(fd, name), flags, mask, ret);
}

int openat(int fd, const char *name, int flags, ...)
{
	mode_t mode = 0;
	va_list list;

	va_start(list, flags);
	if (flags & (O_CREAT | __O_TMPFILE))
		mode = va_arg(list, mode_t);
	va_end(list);
	if ((calls.reads || (flags & O_CREAT)) && call_fails("openat", name))
		return -1;
	return REAL(openat)(fd, spelled(fd, name), flags, mode);
}

/* --- a directory as text --- */

static void picture_file(int fd, const char *name, struct buf *to)
{
	struct buf bytes = {0};
	uint64_t sum = 0xcbf29ce484222325;
	struct err err;
	size_t i;

	if (fd_slurp_at(fd, name, 64 << 20, &bytes, &err) < 0) {
		buf_printf(to, " (%d)", err.num);
		return;
	}
	for (i = 0; i < bytes.len; i++)
		sum = (sum ^ bytes.data[i]) * 0x100000001b3;
	buf_printf(to, " %zu %016llx", bytes.len, (unsigned long long)sum);
	buf_free(&bytes);
}

static void picture_attrs(int fd, const char *name, struct buf *to)
{
	struct xattrs x = {0};
	struct err err;
	size_t i;

	ok(xattrs_get(fd, name, &x, &err));
	for (i = 0; i < x.count; i++)
		buf_printf(to, " %s=%.*s", x.items[i].name, (int)x.items[i].len,
			   (char *)x.items[i].value);
	xattrs_free(&x);
}

/* Everything that a user can see except inode numbers; hard links as the other
 * names of the inode in this directory. */
static void picture(int dirfd, const char *name, const char *path,
		    struct buf *to)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = -1;
	struct meta m;
	struct err err;
	size_t i;

	assert_int_equal(meta_get(dirfd, name, &m), 0);
	buf_printf(to, "'%s' %o %u:%u %lld.%09u", path, m.mode, m.uid, m.gid,
		   (long long)m.mtime.sec, m.mtime.nsec);
	if (S_ISREG(m.mode)) {
		buf_printf(to, " links %u", m.nlink);
		picture_file(dirfd, name, to);
	}
	if (S_ISLNK(m.mode)) {
		char text[256] = "";

		assert_true(readlinkat(dirfd, name, text, 255) > 0);
		buf_printf(to, " -> %s", text);
	} else {
		picture_attrs(dirfd, name, to);
	}
	buf_add_char(to, '\n');
	if (!S_ISDIR(m.mode))
		return;
	fd = openat(dirfd, *name ? name : ".",
		    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	assert_true(fd >= 0);
	ok(dirlist_read(fd, &list, &err));
	for (i = 0; i < list.count; i++) {
		char *child = path_join(path, list.items[i].name);

		picture(fd, list.items[i].name, child, to);
		free(child);
	}
}

static char *picture_of(const char *dir)
{
	auto_close int fd =
		open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct buf text = {0};

	assert_true(fd >= 0);
	picture(fd, "", "", &text);
	(void)buf_text(&text);
	return buf_take_text(&text);
}

/* Prints only the differences. */
static void same_picture(const char *is, const char *should, const char *when)
{
	size_t i = 0, line = 0;

	if (strcmp(is, should) == 0)
		return;
	for (; is[i] && is[i] == should[i]; i++)
		if (is[i] == '\n')
			line = i + 1;
	fail_msg("%s: is\n%.*s\nnot\n%.*s", when, (int)strcspn(is + line, "\n"),
		 is + line, (int)strcspn(should + line, "\n"), should + line);
}

/* --- making files --- */

static void put_file(int fd, const char *path, const char *text, mode_t mode)
{
	auto_close int file = openat(
		fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_return_code(file, errno);
	assert_return_code(fd_write(file, text, strlen(text)), errno);
	assert_return_code(fchmod(file, mode), errno);
}

static void put_big(int fd, const char *path, unsigned int seed)
{
	auto_close int file = openat(
		fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t len = CONTENT_SINGLE_MAX + 5, i;
	unsigned char *data = mem_alloc(len);

	for (i = 0; i < len; i++)
		data[i] = (unsigned char)(i * seed >> 7);
	assert_return_code(fd_write(file, data, len), errno);
	free(data);
}

static void put_dir(int fd, const char *path)
{
	assert_return_code(mkdirat(fd, path, 0755), errno);
}

static void put_attr(int fd, const char *path, const char *value)
{
	char *whole = mem_printf("/proc/self/fd/%d/%s", fd, path);

	assert_return_code(
		setxattr(whole, "user.test", value, strlen(value), 0), errno);
	free(whole);
}

static void set_times(int dirfd, const char *name, long sec)
{
	AUTO(dirlist) struct dirlist list = {0};
	const struct timespec times[2] = {{.tv_sec = sec, .tv_nsec = 5},
					  {.tv_sec = sec, .tv_nsec = 5}};
	auto_close int fd =
		openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
	struct err err;
	size_t i;

	if (fd >= 0) {
		ok(dirlist_read(fd, &list, &err));
		for (i = 0; i < list.count; i++)
			set_times(fd, list.items[i].name, sec);
	}
	assert_return_code(utimensat(dirfd, name, times, AT_SYMLINK_NOFOLLOW),
			   errno);
}

static void put_time(int fd, const char *path, long sec)
{
	const struct timespec times[2] = {{.tv_sec = sec}, {.tv_sec = sec}};

	assert_return_code(utimensat(fd, path, times, AT_SYMLINK_NOFOLLOW),
			   errno);
}

/* The entries of both states. */
static void put_common(int fd)
{
	put_file(fd, "same", "stays\n", 0644);
	put_dir(fd, "deep");
	put_dir(fd, "deep/er");
	put_file(fd, "deep/er/same", "stays\n", 0644);
	put_dir(fd, "quiet");
	put_dir(fd, "modes");
	put_dir(fd, "opens");
	put_dir(fd, "shuts");
	put_dir(fd, "shut");
	put_dir(fd, "shut/in");
}

/* Directories that stay read-only. */
static void shut(int fd)
{
	assert_return_code(fchmodat(fd, "shut/in", 0555, 0), errno);
	assert_return_code(fchmodat(fd, "shut", 0555, 0), errno);
}

static void put_old(int fd)
{
	put_common(fd);
	put_file(fd, "edited", "old\n", 0644);
	put_file(fd, "readonly", "old\n", 0444);
	put_file(fd, "gone", "old\n", 0600);
	put_big(fd, "big", 3);
	put_dir(fd, "gone-dir");
	put_dir(fd, "gone-dir/below");
	put_file(fd, "gone-dir/below/x", "old\n", 0644);
	assert_return_code(symlinkat("x", fd, "gone-dir/below/l"), errno);
	assert_return_code(fchmodat(fd, "gone-dir", 0555, 0), errno);
	put_file(fd, "file-to-link", "old\n", 0644);
	assert_return_code(symlinkat("old", fd, "link-to-file"), errno);
	assert_return_code(symlinkat("old", fd, "link"), errno);
	put_file(fd, "file-to-dir", "old\n", 0644);
	put_dir(fd, "dir-to-file");
	put_file(fd, "dir-to-file/x", "old\n", 0644);
	put_file(fd, "modes/file", "same\n", 0644);
	put_file(fd, "modes/attr", "same\n", 0444);
	put_file(fd, "deep/er/edited", "old\n", 0644);
	put_file(fd, "quiet/edited", "old\n", 0644);
	put_file(fd, "opens/x", "old\n", 0644);
	assert_return_code(fchmodat(fd, "opens", 0555, 0), errno);
	put_file(fd, "shuts/x", "old\n", 0644);
	put_file(fd, "shut/edited", "old\n", 0644);
	put_file(fd, "shut/in/gone", "old\n", 0644);
	put_file(fd, "touched", "same\n", 0644);
	put_file(fd, "pair1", "pair\n", 0644);
	assert_return_code(linkat(fd, "pair1", fd, "pair2", 0), errno);
	put_file(fd, "half2", "half\n", 0644);
	assert_return_code(linkat(fd, "half2", fd, "half1", 0), errno);
	shut(fd);
	set_times(fd, ".", 1600000000);
}

static void put_new(int fd)
{
	put_common(fd);
	put_file(fd, "edited", "new\n", 0644);
	put_file(fd, "readonly", "new\n", 0444);
	put_big(fd, "big", 5);
	put_dir(fd, "made");
	put_dir(fd, "made/below");
	put_file(fd, "made/below/x", "new\n", 0640);
	put_file(fd, "made/empty", "", 0644);
	put_attr(fd, "made", "on a folder");
	put_dir(fd, "made-shut");
	put_file(fd, "made-shut/x", "new\n", 0644);
	assert_return_code(fchmodat(fd, "made-shut", 0555, 0), errno);
	put_file(fd, "two\nlines", "new\n", 0755);
	assert_return_code(symlinkat("new", fd, "file-to-link"), errno);
	put_file(fd, "link-to-file", "new\n", 0644);
	assert_return_code(symlinkat("new", fd, "link"), errno);
	put_dir(fd, "file-to-dir");
	put_file(fd, "file-to-dir/x", "new\n", 0644);
	put_file(fd, "dir-to-file", "new\n", 0644);
	put_file(fd, "modes/file", "same\n", 0600);
	put_file(fd, "modes/attr", "same\n", 0644);
	put_attr(fd, "modes/attr", "new");
	assert_return_code(fchmodat(fd, "modes/attr", 0444, 0), errno);
	assert_return_code(fchmodat(fd, "modes", 0750, 0), errno);
	put_file(fd, "deep/er/edited", "new\n", 0644);
	put_file(fd, "quiet/edited", "new\n", 0644);
	put_file(fd, "opens/x", "new\n", 0644);
	put_file(fd, "shuts/y", "new\n", 0644);
	put_file(fd, "shut/edited", "new\n", 0644);
	put_file(fd, "shut/in/made", "new\n", 0644);
	assert_return_code(fchmodat(fd, "shuts", 0555, 0), errno);
	put_file(fd, "touched", "same\n", 0644);
	put_file(fd, "half2", "half\n", 0644);
	put_file(fd, "pair1", "other pair\n", 0644);
	assert_return_code(linkat(fd, "pair1", fd, "pair2", 0), errno);
	assert_return_code(mkfifoat(fd, "fifo", 0620), errno);
	shut(fd);
	set_times(fd, ".", 1600000000);
	put_time(fd, "touched", 1600000001);
	put_time(fd, "edited", 1600000001);
	put_time(fd, "link", 1600000001);
	put_time(fd, "made/below", 1600000002);
	put_time(fd, "deep", 1600000003);
	put_time(fd, ".", 1600000004);
}

/* --- the bench --- */

struct bench {
	struct box *box;
	char project[128], wanted[128], workspaces[128];
	int workspaces_fd;
	struct snapshot old, new;
	struct plan plan; /* old -> new */
	char *old_picture, *new_picture;
};

static void make_state(const char *dir, void (*put)(int fd))
{
	auto_close int fd = -1;

	assert_return_code(mkdir(dir, 0755), errno);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	put(fd);
}

static void drop(const char *dir)
{
	struct err err;

	ok(dirtree_remove(AT_FDCWD, dir, &err));
}

/* The project in its old state, without caches. */
static void bench_reset(struct bench *b)
{
	if (b->workspaces_fd >= 0)
		(void)close(b->workspaces_fd);
	drop(b->project);
	drop(b->workspaces);
	make_state(b->project, put_old);
	assert_return_code(mkdir(b->workspaces, 0700), errno);
	b->workspaces_fd =
		open(b->workspaces, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void snap(struct bench *b, const char *dir, struct snapshot *ret)
{
	struct take_options options = {
		.root_path = dir, .root_fd = -1, .reason = "manual"};
	struct err err;

	ok(take_snapshot(b->box->store, &options, ret, &err));
}

static void plan_for(struct bench *b, const struct entry *base,
		     const struct entry *want, const struct entry *now,
		     struct plan *ret)
{
	struct plan_options options = {0};
	struct err err;

	ok(plan_make(b->box->store, base, want, now, &options, ret, &err));
}

static int bench_setup(void **state)
{
	struct bench *b = mem_zalloc(sizeof(*b));
	void *box;

	(void)setup(&box);
	b->box = box;
	b->workspaces_fd = -1;
	/* Otherwise its syncs would not be interposed. */
	ring_forbid(true);
	(void)umask(022);
	(void)snprintf(b->project, sizeof(b->project), "%s/project",
		       b->box->dir);
	(void)snprintf(b->wanted, sizeof(b->wanted), "%s/wanted", b->box->dir);
	(void)snprintf(b->workspaces, sizeof(b->workspaces), "%s/workspaces",
		       b->box->dir);
	bench_reset(b);
	make_state(b->wanted, put_new);
	b->old_picture = picture_of(b->project);
	b->new_picture = picture_of(b->wanted);
	snap(b, b->project, &b->old);
	snap(b, b->wanted, &b->new);
	plan_for(b, &b->old.root, &b->new.root, &b->old.root, &b->plan);
	*state = b;
	return 0;
}

static int bench_teardown(void **state)
{
	struct bench *b = *state;
	void *box = b->box;

	memset(&calls, 0, sizeof(calls));
	(void)close(b->workspaces_fd);
	plan_free(&b->plan);
	snapshot_free(&b->old);
	snapshot_free(&b->new);
	free(b->old_picture);
	free(b->new_picture);
	free(b);
	return teardown(&box);
}

static void open_project(struct bench *b, struct project *p)
{
	struct err err;

	ok(project_open(b->project, b->workspaces_fd, false, p, &err));
}

static const struct transaction applied = {.action = "apply", .run_id = ""};

/* In one root. */
static int run_root(struct store *store, struct project *p,
		    const struct plan *plan, struct err *err)
{
	struct transaction_root root = {.project = p, .plan = plan};

	return transaction_run(store, &root, 1, &applied, err);
}

/* Executes the plan with `calls` as they are set. */
static __attribute__((unused)) int run(struct bench *b, struct store *store,
				       const struct plan *plan, struct err *err)
{
	struct project p;
	bool on = calls.on;
	int got;

	calls.on = false;
	open_project(b, &p);
	calls.on = on;
	got = run_root(store, &p, plan, err);
	calls.on = false;
	project_close(&p);
	return got;
}

static __attribute__((unused)) int recover(struct bench *b, struct store *store,
					   char **ret_text, struct err *err)
{
	struct project p;
	bool on = calls.on;
	int got;

	calls.on = false;
	open_project(b, &p);
	calls.on = on;
	got = transaction_recover(store, &p, b->workspaces_fd, false, ret_text,
				  err);
	if (got == 1 && transaction_close(&p, b->workspaces_fd, err) < 0)
		got = -err->num;
	calls.on = false;
	project_close(&p);
	return got;
}

/* No file of guard's is left: no staging directory, no journal. */
static void nothing_left(struct bench *b)
{
	DIR *dir = opendir(b->project);
	struct dirent *d;

	while ((d = readdir(dir)))
		if (strncmp(d->d_name, ".guard", 6) == 0)
			fail_msg("left over: %s", d->d_name);
	(void)closedir(dir);
	assert_false(transaction_pending(b->workspaces_fd, b->project));
}

static void project_is(struct bench *b, const char *should, const char *when)
{
	char *is = picture_of(b->project);

	same_picture(is, should, when);
	free(is);
}

#endif
