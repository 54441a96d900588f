#include "snapshot/store/store_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/codec.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/record.h"
#include "base/text.h"
#include "snapshot/store/origin.h"

/* --- FORMAT --- */

#define FORMAT_VERSION 1
#define CHUNKER_NAME "fastcdc-64k-256k-1m"

static const char *const hash_names[] = {
	[HASH_XXH3_128] = "xxh3-128-secret",
	[HASH_XXH3_64X2] = "xxh3-64x2-secret",
};
#define HASH_KINDS ARRAY_SIZE(hash_names)

/* Features of this program. A store that needs others is refused. */
#define KNOWN_FEATURES "blocks holes"

/* A check over all keys and values except the check itself. */
static uint64_t record_check(const struct record *r)
{
	AUTO(buf) struct buf b = {0};
	size_t i;

	for (i = 0; i < r->count; i++) {
		if (strcmp(r->items[i].key, "check") == 0)
			continue;
		enc_text(&b, r->items[i].key);
		enc_text(&b, r->items[i].value);
	}
	return hash_check(b.data, b.len);
}

/* Replaces the file in directory fd durably, with mode 0400. */
static int format_write(int fd, const struct format *format, struct err *err)
{
	AUTO(record) struct record r = {0};
	char check[24];

	record_set(&r, "uuid", text_hex(format->uuid, PACK_UUID_LEN));
	record_set(&r, "hash", hash_names[format->hash]);
	record_set(&r, "chunker", CHUNKER_NAME);
	record_set(&r, "features-mandatory", KNOWN_FEATURES);
	record_set(&r, "features-optional",
		   format->has_tombstones ? "gone" : "");
	(void)snprintf(check, sizeof(check), "%016llx",
		       (unsigned long long)record_check(&r));
	record_set(&r, "check", check);
	if (record_save(fd, "FORMAT", "store", FORMAT_VERSION, &r,
			ATOMIC_DURABLE, err) < 0)
		return -err->num;
	/* Mode 0400 protects the file from programs that overwrite every
	 * writable file. */
	if (fchmodat(fd, "FORMAT", 0400, 0) < 0)
		return fail_errno(err, "protect the store's FORMAT");
	return 0;
}

static bool has_feature(const char *words, const char *word, size_t len)
{
	while (words && *words) {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, word, len) == 0)
			return true;
		words += n + (words[n] == ' ');
	}
	return false;
}

static int format_damaged(struct err *err)
{
	return fail(err, EBADMSG,
		    "FORMAT is damaged: `guard repair` recreates it");
}

/* -ENOENT: no such file. -EBADMSG: damaged. -EPROTO: the store needs a newer
 * guard; the text names the reason. */
static int format_read(int fd, struct format *ret, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *check, *hash, *chunker, *features;
	char want[24];
	struct format f = {.hash = HASH_XXH3_128};
	size_t len;
	int got = record_load(fd, "FORMAT", "store", FORMAT_VERSION, &r, err);

	if (got == -EBADMSG)
		return format_damaged(err);
	if (got < 0)
		return got;
	check = record_get(&r, "check");
	hash = record_get(&r, "hash");
	chunker = record_get(&r, "chunker");
	features = record_get(&r, "features-mandatory");
	(void)snprintf(want, sizeof(want), "%016llx",
		       (unsigned long long)record_check(&r));
	if (!check || strcmp(check, want) != 0 || !hash || !chunker ||
	    !features ||
	    !text_unhex(f.uuid, record_get(&r, "uuid"), PACK_UUID_LEN))
		return format_damaged(err);
	for (; *features; features += len + (features[len] == ' ')) {
		auto_free char *word = NULL;

		len = strcspn(features, " ");
		if (!len || has_feature(KNOWN_FEATURES, features, len))
			continue;
		word = mem_strndup(features, len);
		return fail(err, EPROTO,
			    "the store needs a newer guard that supports %s: "
			    "update guard",
			    text_quote(word));
	}
	f.has_tombstones =
		has_feature(record_get(&r, "features-optional"), "gone", 4);
	while (f.hash < HASH_KINDS && strcmp(hash, hash_names[f.hash]) != 0)
		f.hash++;
	if (f.hash == HASH_KINDS || strcmp(chunker, CHUNKER_NAME) != 0)
		return fail(err, EPROTO,
			    "the store needs a newer guard: update guard");
	*ret = f;
	return 0;
}

/* --- the directory --- */

#define SECRET_FILE_LEN (SECRET_LEN + 8)

int store_dir_open_subdir(int dirfd, const char *name, struct err *err)
{
	int fd = fd_open_dir(dirfd, name);

	return fd < 0 ? fail_errno(err, "open %s", text_quote(name)) : fd;
}

/* --- making it --- */

static int write_secret(int fd, const char *name, const void *secret,
			struct err *err)
{
	unsigned char bytes[SECRET_FILE_LEN];
	int got;

	memcpy(bytes, secret, SECRET_LEN);
	put_le(bytes + SECRET_LEN, hash_check(bytes, SECRET_LEN), 8);
	got = atomic_write(fd, name, bytes, sizeof(bytes), 0400, ATOMIC_DURABLE,
			   err);
	explicit_bzero(bytes, sizeof(bytes));
	return got;
}

int store_dir_write_secrets(int fd, const void *given, struct err *err)
{
	unsigned char secret[SECRET_LEN];

	if (given)
		memcpy(secret, given, SECRET_LEN);
	else
		mem_random(secret, SECRET_LEN);
	if (write_secret(fd, "secret", secret, err) < 0)
		return -err->num;
	return write_secret(fd, "secret.2", secret, err);
}

static int read_secret(int fd, const char *name, unsigned char ret[SECRET_LEN],
		       struct err *err)
{
	AUTO(buf) struct buf b = {0};

	if (fd_slurp_at(fd, name, SECRET_FILE_LEN, &b, err) < 0)
		return -err->num;
	if (b.len != SECRET_FILE_LEN ||
	    get_le(b.data + SECRET_LEN, 8) != hash_check(b.data, SECRET_LEN))
		return fail(err, EBADMSG,
			    "it is damaged; the other copy is used");
	memcpy(ret, b.data, SECRET_LEN);
	return 0;
}

int store_dir_check_secret(const struct store_dir *f, const char *name,
			   struct err *err)
{
	unsigned char secret[SECRET_LEN];

	if (read_secret(f->fd, name, secret, err) < 0)
		return -err->num;
	return memcmp(secret, f->key.secret, SECRET_LEN) == 0
		       ? 0
		       : fail(err, EBADMSG,
			      "it is damaged; the other copy is used");
}

int store_dir_repair_secret(const struct store_dir *f, const char *name,
			    struct err *err)
{
	if (store_dir_check_secret(f, name, err) == 0)
		return 0;
	return write_secret(f->fd, name, f->key.secret, err) < 0 ? -err->num
								 : 1;
}

/* Whether packs/ or snaps/ contain files that need the store's secret. */
static int has_packs_or_snaps(int fd, struct err *err)
{
	static const char *const names[] = {"packs", "snaps", "trash"};
	size_t i;

	for (i = 0; i < 3; i++) {
		AUTO(dirlist) struct dirlist list = {0};
		auto_close int sub = fd_open_dir(fd, names[i]);

		if (sub < 0 && errno == ENOENT)
			continue;
		if (sub < 0)
			return fail_errno(err, "open %s", text_quote(names[i]));
		if (dirlist_read(sub, &list, err) < 0)
			return -err->num;
		if (list.count)
			return 1;
	}
	return 0;
}

static int format_missing(struct err *err)
{
	return fail(err, EBADMSG,
		    "FORMAT is missing, but packs or snapshots exist: `guard "
		    "repair` recreates it");
}

int store_dir_make_subdirs(int fd, struct err *err)
{
	static const struct {
		const char *name;
		mode_t mode;
	} dirs[] = {{"packs", 0500},
		    {"snaps", 0500},
		    {"tmp", 0700},
		    {"trash", 0700}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (mkdirat(fd, dirs[i].name, dirs[i].mode) < 0 &&
		    errno != EEXIST)
			return fail_errno(err, "create directory %s",
					  text_quote(dirs[i].name));
	}
	return atomic_clear(fd, err);
}

static int write_store_files(int fd, enum hash_kind hash, const void *secret,
			     struct err *err)
{
	struct format format = {.hash = hash,
				.has_tombstones = hash != HASH_XXH3_128};
	int lock, held = has_packs_or_snaps(fd, err);

	if (held < 0)
		return held;
	if (held)
		return format_missing(err);
	if (store_dir_make_subdirs(fd, err) < 0 ||
	    store_dir_write_secrets(fd, secret, err) < 0)
		return -err->num;
	/* The lock file must exist before the directory gets mode 0500. */
	lock = lock_take(fd, "commit.lock", true, true, err);
	if (lock < 0)
		return lock;
	fd_close(&lock);
	mem_random(format.uuid, sizeof(format.uuid));
	if (format_write(fd, &format, err) < 0)
		return -err->num;
	if (fchmod(fd, 0500) < 0)
		return fail_errno(err, "close the store");
	return 0;
}

/* Creates the store. Returns 1, or 0 when it exists already. secret: SECRET_LEN
 * bytes, NULL: random ones. Tests make stores with an older kind of hash. */
static int store_dir_create(const char *dir, enum hash_kind hash,
			    const void *secret, struct err *err)
{
	auto_close int fd = -1, lock = -1, parent = -1;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create store %s", text_quote(dir));
	fd = store_dir_open_subdir(AT_FDCWD, dir, err);
	if (fd < 0)
		return fd;
	if (fd_exists(fd, "FORMAT"))
		return 0;
	lock = lock_take(fd, "lock", true, true, err);
	if (lock < 0)
		return lock;
	if (fd_exists(fd, "FORMAT"))
		return 0;
	if (write_store_files(fd, hash, secret, err) < 0)
		return err_context(err, "create store %s", text_quote(dir));
	/* The parent is synced, so that a new directory survives a power cut.
	 */
	parent = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0 || fsync(parent) < 0) {
		(void)fail_errno(err, "sync the parent directory of the store");
		return err_context(err, "create store %s", text_quote(dir));
	}
	return 1;
}

/* --- opening it --- */

static bool load_secret(struct store_dir *f, const char *name)
{
	unsigned char secret[SECRET_LEN];
	struct err ignored;

	if (read_secret(f->fd, name, secret, &ignored) < 0)
		return false;
	hash_key_make(&f->key, f->format.hash, secret);
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
	f->packs_fd = store_dir_open_subdir(f->fd, "packs", err);
	return f->packs_fd < 0 ? f->packs_fd : 0;
}

/* Deletes files without a lock: their writers have ended. */
static int clear_tmp_dir(const struct store_dir *f, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
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
	return 0;
}

/* --- repairing it --- */

/* Reads the format from all packs, which must agree. */
static int find_format_in_packs(int fd, struct format *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int packs_fd = store_dir_open_subdir(fd, "packs", err);
	struct format one = {0};
	bool found = false;
	size_t i;

	if (packs_fd < 0 || dirlist_read(packs_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		unsigned char header[HEADER_LEN];
		auto_close int pack =
			openat(packs_fd, list.items[i].name,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
				       O_NOCTTY);

		/* A pack's header says which store it belongs to, unless it is
		 * damaged. */
		if (pack < 0 ||
		    fd_pread(pack, header, sizeof(header), 0) != HEADER_LEN ||
		    !pack_header_get(header, &one))
			continue;
		one.has_tombstones = one.hash != HASH_XXH3_128;
		if (found && (memcmp(ret->uuid, one.uuid, PACK_UUID_LEN) != 0 ||
			      ret->hash != one.hash))
			return fail(err, EBADMSG,
				    "FORMAT is damaged, and the packs belong "
				    "to several stores");
		*ret = one;
		found = true;
	}
	return found ? 0
		     : fail(err, EBADMSG,
			    "FORMAT is damaged, and no pack has the store's "
			    "id");
}

int store_dir_repair_format(const char *dir, struct err *err)
{
	auto_close int fd = store_dir_open_subdir(AT_FDCWD, dir, err),
		       lock = -1;
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
	if (got == 0)
		got = origin_bind(fd, err);
	(void)fchmod(fd, 0500);
	return got < 0 ? got : 1;
}

int store_dir_set_modes(int fd, mode_t mode, struct err *err)
{
	if (fchmod(fd, mode) < 0 || fchmodat(fd, "packs", mode, 0) < 0 ||
	    fchmodat(fd, "snaps", mode, 0) < 0)
		return fail_errno(err,
				  "change the mode of the store's directories");
	return 0;
}

int store_dir_commit_begin(const struct store_dir *f, struct err *err)
{
	auto_close int lock = lock_take(f->fd, "commit.lock", true, true, err);

	if (lock < 0)
		return lock;
	if (store_dir_set_modes(f->fd, 0700, err) < 0)
		return -err->num;
	return TAKE_FD(lock);
}

void store_dir_commit_end(const struct store_dir *f, int lock_fd)
{
	struct err ignored;

	(void)store_dir_set_modes(f->fd, 0500, &ignored);
	(void)close(lock_fd);
}

int store_dir_put_cache(const struct store_dir *f, const char *name,
			const struct buf *bytes, struct err *err)
{
	auto_close int tmp_fd = store_dir_open_subdir(f->fd, "tmp", err),
		       fd = -1;
	char temp[LOCK_TEMP_LEN];
	int lock = -1, got = 0;

	if (tmp_fd < 0)
		return tmp_fd;
	fd = lock_create_temp(tmp_fd, "cache", temp, NULL, err);
	if (fd < 0)
		return fd;
	if (fd_write(fd, bytes->data, bytes->len) < 0)
		got = fail_errno(err, "write %s", text_quote(name));
	if (got == 0)
		got = lock = store_dir_commit_begin(f, err);
	if (got >= 0 && renameat(tmp_fd, temp, f->fd, name) < 0)
		got = fail_errno(err, "write %s", text_quote(name));
	if (lock >= 0)
		store_dir_commit_end(f, lock);
	if (got < 0)
		(void)unlinkat(tmp_fd, temp, 0);
	return got < 0 ? got : 0;
}

static int open_store_to_write(struct store_dir *f, struct err *err)
{
	auto_close int lock = -1;
	struct err ignored;

	f->lock_fd = lock_take(f->fd, "lock", false, true, err);
	if (f->lock_fd < 0)
		return f->lock_fd;
	f->tmp_fd = store_dir_open_subdir(f->fd, "tmp", err);
	if (f->tmp_fd < 0)
		return f->tmp_fd;
	/* Restores mode 0500 after a process was killed under the commit lock.
	 * The current holder of the lock restores the modes itself. */
	lock = lock_take(f->fd, "commit.lock", true, false, &ignored);
	if (lock >= 0)
		(void)store_dir_set_modes(f->fd, 0500, &ignored);
	fd_close(&lock);
	return clear_tmp_dir(f, err);
}

int store_dir_open(struct store_dir *ret, const char *dir, bool write,
		   struct err *err)
{
	struct store_dir f = {
		.fd = -1, .packs_fd = -1, .tmp_fd = -1, .lock_fd = -1};

	if (write && store_dir_create(dir, HASH_XXH3_64X2, NULL, err) < 0)
		return -err->num;
	f.fd = store_dir_open_subdir(AT_FDCWD, dir, err);
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

	for (i = 0; i < 4; i++)
		fd_close(fds[i]);
	explicit_bzero(&f->key, sizeof(f->key));
}
