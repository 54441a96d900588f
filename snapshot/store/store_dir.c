#include "snapshot/store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "snapshot/store/format.h"

#define SECRET_FILE_LEN (SECRET_LEN + 8)

static int open_store_subdir(int dirfd, const char *name, struct err *err)
{
	int fd = fd_open_dir(dirfd, name);

	return fd < 0 ? fail_errno(err, "open %s", text_quote(name)) : fd;
}

static bool store_has_name(int dirfd, const char *name)
{
	struct stat st;

	return fstatat(dirfd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* --- making it --- */

static int random_bytes(void *to, size_t len, struct err *err)
{
	unsigned char *at = to;

	while (len) {
		ssize_t n = getrandom(at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail_errno(err, "random bytes");
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

static int write_secret(int fd, const void *given, struct err *err)
{
	unsigned char bytes[SECRET_FILE_LEN];
	uint64_t check;
	int i;

	if (given)
		memcpy(bytes, given, SECRET_LEN);
	else if (random_bytes(bytes, SECRET_LEN, err) < 0)
		return -err->num;
	check = hash_check(bytes, SECRET_LEN);
	for (i = 0; i < 8; i++)
		bytes[SECRET_LEN + i] = (unsigned char)(check >> 8 * i);
	if (atomic_write(fd, "secret", bytes, sizeof(bytes), 0400,
			 ATOMIC_DURABLE, err) < 0 ||
	    atomic_write(fd, "secret.2", bytes, sizeof(bytes), 0400,
			 ATOMIC_DURABLE, err) < 0)
		return -err->num;
	return 0;
}

/* Whether packs/ or snaps/ contain files that need the store's secret. */
static int has_packs_or_snaps(int fd, struct err *err)
{
	static const char *const names[] = {"packs", "snaps", "trash"};
	size_t i;

	for (i = 0; i < 3; i++) {
		struct dirlist list = {0};
		size_t count;
		auto_close int sub = fd_open_dir(fd, names[i]);

		if (sub < 0 && errno == ENOENT)
			continue;
		if (sub < 0)
			return fail_errno(err, "open %s", text_quote(names[i]));
		if (dirlist_read(sub, &list, err) < 0)
			return -err->num;
		count = list.count;
		dirlist_free(&list);
		if (count)
			return 1;
	}
	return 0;
}

/* The lock file must exist before the directory gets mode 0500. */
static int create_lock_file(int fd, struct err *err)
{
	auto_close int lock = lock_take(fd, "commit.lock", true, true, err);

	return lock < 0 ? lock : 0;
}

/* Removes the files of a process that was killed while it created the store;
 * some contain a secret. */
static int remove_unfinished_store(int fd, struct err *err)
{
	struct dirlist list = {0};
	size_t i;

	if (dirlist_read(fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		size_t len = strlen(name);

		if (name[0] == '.' && len > 4 &&
		    strcmp(name + len - 4, ".tmp") == 0)
			(void)unlinkat(fd, name, 0);
	}
	dirlist_free(&list);
	return 0;
}

static int format_missing(struct err *err)
{
	return fail(err, EBADMSG,
		    "FORMAT is missing, but there are packs or snapshots: "
		    "`guard repair` makes it anew");
}

static int write_store_files(int fd, enum hash_kind hash, const void *secret,
			     struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {{"packs", 0500},
		    {"snaps", 0500},
		    {"tmp", 0700},
		    {"trash", 0700}};
	struct format format = {.hash = hash,
				.has_tombstones = hash != HASH_XXH3_128};
	size_t i;
	int held = has_packs_or_snaps(fd, err);

	if (held < 0)
		return held;
	if (held)
		return format_missing(err);
	for (i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		if (mkdirat(fd, dirs[i].name, dirs[i].mode) < 0 &&
		    errno != EEXIST)
			return fail_errno(err, "make folder %s",
					  text_quote(dirs[i].name));
	}
	if (remove_unfinished_store(fd, err) < 0 ||
	    write_secret(fd, secret, err) < 0 ||
	    create_lock_file(fd, err) < 0 ||
	    random_bytes(format.uuid, sizeof(format.uuid), err) < 0 ||
	    format_write(fd, &format, err) < 0)
		return -err->num;
	if (fchmod(fd, 0500) < 0)
		return fail_errno(err, "close the store");
	return 0;
}

/* Syncs the parent, so that a new directory survives a power cut. */
static int sync_parent_dir(int fd, struct err *err)
{
	auto_close int parent =
		openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (parent < 0 || fsync(parent) < 0)
		return fail_errno(err, "sync the folder above the store");
	return 0;
}

int store_dir_create(const char *dir, enum hash_kind hash, const void *secret,
		     struct err *err)
{
	auto_close int fd = -1, lock = -1;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "make store %s", text_quote(dir));
	fd = open_store_subdir(AT_FDCWD, dir, err);
	if (fd < 0)
		return fd;
	if (store_has_name(fd, "FORMAT"))
		return 0;
	lock = lock_take(fd, "lock", true, true, err);
	if (lock < 0)
		return lock;
	if (store_has_name(fd, "FORMAT"))
		return 0;
	if (write_store_files(fd, hash, secret, err) < 0 ||
	    sync_parent_dir(fd, err) < 0)
		return err_context(err, "make store %s", text_quote(dir));
	return 1;
}

/* --- opening it --- */

static bool load_secret(struct store_dir *f, const char *name)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	struct dec d;

	if (fd_slurp_at(f->fd, name, SECRET_FILE_LEN, &b, &ignored) < 0 ||
	    b.len != SECRET_FILE_LEN)
		return false;
	d = dec_start(b.data + SECRET_LEN, 8);
	if (dec_u64(&d) != hash_check(b.data, SECRET_LEN))
		return false;
	hash_key_make(&f->key, f->format.hash, b.data);
	return true;
}

static int store_dir_load(struct store_dir *f, struct err *err)
{
	int got = format_read(f->fd, &f->format, err);
	struct err ignored;

	if (got == -ENOENT && has_packs_or_snaps(f->fd, &ignored) == 1)
		return format_missing(err);
	if (got < 0)
		return got;
	if (!load_secret(f, "secret") && !load_secret(f, "secret.2"))
		return fail(err, EBADMSG,
			    "secret and secret.2 are damaged or missing");
	f->packs_fd = open_store_subdir(f->fd, "packs", err);
	return f->packs_fd < 0 ? f->packs_fd : 0;
}

/* Deletes files without a lock: their writers have ended. */
static int clear_tmp_dir(const struct store_dir *f, struct err *err)
{
	struct dirlist list = {0};
	size_t i;

	if (dirlist_read(f->tmp_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_close int fd =
			openat(f->tmp_fd, list.items[i].name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			(void)unlinkat(f->tmp_fd, list.items[i].name, 0);
	}
	dirlist_free(&list);
	return 0;
}

/* --- repairing it --- */

/* Reads from a pack's header which store it belongs to. False: damaged, or no
 * pack. */
static bool read_pack_format(int packs_fd, const char *name, struct format *ret)
{
	unsigned char header[HEADER_LEN];
	auto_close int fd = openat(packs_fd, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_CLOEXEC | O_NOCTTY);

	if (fd < 0 || fd_pread(fd, header, sizeof(header), 0) != HEADER_LEN)
		return false;
	if (!pack_header_get(header, ret))
		return false;
	ret->has_tombstones = ret->hash != HASH_XXH3_128;
	return true;
}

/* Reads the format from all packs, which must agree. */
static int find_format_in_packs(int fd, struct format *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int packs_fd = open_store_subdir(fd, "packs", err);
	struct format one = {0};
	bool found = false;
	size_t i;

	if (packs_fd < 0 || dirlist_read(packs_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		if (!read_pack_format(packs_fd, list.items[i].name, &one))
			continue;
		if (found && (memcmp(ret->uuid, one.uuid, PACK_UUID_LEN) != 0 ||
			      ret->hash != one.hash))
			return fail(err, EBADMSG,
				    "FORMAT is damaged, and the packs are of "
				    "several stores");
		*ret = one;
		found = true;
	}
	return found ? 0
		     : fail(err, EBADMSG,
			    "FORMAT is damaged, and no pack says which store "
			    "this is");
}

int store_dir_repair_format(const char *dir, struct err *err)
{
	auto_close int fd = open_store_subdir(AT_FDCWD, dir, err), lock = -1;
	struct format format = {0};
	int got;

	if (fd < 0)
		return fd;
	lock = lock_take(fd, "lock", true, true, err);
	if (lock < 0)
		return lock;
	got = format_read(fd, &format, err);
	if (got != -EBADMSG && got != -ENOENT)
		return got;
	if (find_format_in_packs(fd, &format, err) < 0)
		return -err->num;
	if (fchmod(fd, 0700) < 0)
		return fail_errno(err, "open the store");
	got = format_write(fd, &format, err);
	(void)fchmod(fd, 0500);
	return got < 0 ? got : 1;
}

static int set_store_modes(const struct store_dir *f, mode_t mode,
			   struct err *err)
{
	if (fchmod(f->fd, mode) < 0 || fchmodat(f->fd, "packs", mode, 0) < 0 ||
	    fchmodat(f->fd, "snaps", mode, 0) < 0)
		return fail_errno(err, "change mode of the store's folders");
	return 0;
}

/* Restores mode 0500 after a process was killed under the commit lock. The
 * current holder of the lock restores the modes itself. */
static void restore_store_modes(const struct store_dir *f)
{
	struct err ignored;
	auto_close int lock =
		lock_take(f->fd, "commit.lock", true, false, &ignored);

	if (lock >= 0)
		(void)set_store_modes(f, 0500, &ignored);
}

int store_dir_commit_begin(const struct store_dir *f, struct err *err)
{
	auto_close int lock = lock_take(f->fd, "commit.lock", true, true, err);

	if (lock < 0)
		return lock;
	if (set_store_modes(f, 0700, err) < 0)
		return -err->num;
	return TAKE_FD(lock);
}

void store_dir_commit_end(const struct store_dir *f, int lock_fd)
{
	struct err ignored;

	(void)set_store_modes(f, 0500, &ignored);
	(void)close(lock_fd);
}

static int open_store_to_write(struct store_dir *f, struct err *err)
{
	f->lock_fd = lock_take(f->fd, "lock", false, true, err);
	if (f->lock_fd < 0)
		return f->lock_fd;
	f->tmp_fd = open_store_subdir(f->fd, "tmp", err);
	if (f->tmp_fd < 0)
		return f->tmp_fd;
	restore_store_modes(f);
	return clear_tmp_dir(f, err);
}

int store_dir_open(struct store_dir *ret, const char *dir, bool write,
		   struct err *err)
{
	struct store_dir f = {
		.fd = -1, .packs_fd = -1, .tmp_fd = -1, .lock_fd = -1};

	if (write && store_dir_create(dir, HASH_XXH3_64X2, NULL, err) < 0)
		return -err->num;
	f.fd = open_store_subdir(AT_FDCWD, dir, err);
	if (f.fd < 0)
		return f.fd;
	if (store_dir_load(&f, err) < 0 ||
	    (write && open_store_to_write(&f, err) < 0)) {
		store_dir_close(&f);
		return err_context(err, "store %s", text_quote(dir));
	}
	*ret = f;
	return 0;
}

void store_dir_close(struct store_dir *f)
{
	int *fds[] = {&f->tmp_fd, &f->packs_fd, &f->fd, &f->lock_fd};
	size_t i;

	for (i = 0; i < 4; i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
	explicit_bzero(&f->key, sizeof(f->key));
}
