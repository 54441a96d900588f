#include "restore/git/gitlfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/library.h"
#include "base/text.h"
#include "snapshot/store/content.h"

#define OBJECTS "lfs/objects"
#define SHA256_LEN 32
#define HEX_LEN (2 * SHA256_LEN)
/* "aa/bb/" */
#define DIRS_LEN 6

void gitlfs_free(struct gitlfs *l)
{
	size_t i;

	for (i = 0; i < l->files.count; i++)
		free(l->files.items[i].path);
	VEC_FREE(&l->files);
}

static bool is_object_path(const char *path)
{
	const char *name = path + DIRS_LEN;

	return strlen(path) == DIRS_LEN + HEX_LEN && path[2] == '/' &&
	       path[5] == '/' && memcmp(path, name, 2) == 0 &&
	       memcmp(path + 3, name + 2, 2) == 0 &&
	       strspn(name, "0123456789abcdef") == HEX_LEN;
}

#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>

/* The functions in use, which libcrypto 1.1 and 3 both have. */
#define CALLS(X)                                                               \
	X(MD_CTX_new)                                                          \
	X(MD_CTX_free)                                                         \
	X(sha256)                                                              \
	X(DigestInit_ex)                                                       \
	X(DigestUpdate)                                                        \
	X(DigestFinal_ex)

struct digest {
	struct {
#define MEMBER(name) __typeof__(EVP_##name) *name;
		CALLS(MEMBER)
#undef MEMBER
	} calls;
	EVP_MD_CTX *ctx;
};

static int fail_digest(struct err *err)
{
	return fail(err, EIO, "libcrypto computes no SHA-256");
}

static int add_bytes(void *arg, const void *data, size_t len, struct err *err)
{
	struct digest *d = arg;

	return d->calls.DigestUpdate(d->ctx, data, len) == 1 ? 0
							     : fail_digest(err);
}

static int compute_sha256(struct store *store, const struct oid *content,
			  unsigned char ret[SHA256_LEN], struct err *err)
{
	struct digest d;
	int got = library_load(LIBRARY_LIBCRYPTO, "EVP_", CALLS(LIBRARY_NAME),
			       &d.calls, err);

	if (got < 0)
		return got;
	d.ctx = d.calls.MD_CTX_new();
	if (!d.ctx || d.calls.DigestInit_ex(d.ctx, d.calls.sha256(), NULL) != 1)
		got = fail_digest(err);
	if (got == 0)
		got = content_each(store, content, add_bytes, &d, err);
	if (got == 0 && d.calls.DigestFinal_ex(d.ctx, ret, NULL) != 1)
		got = fail_digest(err);
	d.calls.MD_CTX_free(d.ctx);
	return got;
}

#else

static int compute_sha256(struct store *store, const struct oid *content,
			  unsigned char ret[SHA256_LEN], struct err *err)
{
	(void)store;
	(void)content;
	(void)ret;
	return fail(err, ENOSYS,
		    "guard was built without libcrypto: install the header "
		    "files of libssl and build guard again");
}

#endif

/* 1: the bytes have the hash that the name says. */
static int has_its_hash(struct store *store, const struct entry *e,
			const char *name, struct err *err)
{
	unsigned char sum[SHA256_LEN];

	if (compute_sha256(store, &e->content, sum, err) < 0)
		return err_context(err, "check the run's files of git-lfs");
	return memcmp(text_hex(sum, SHA256_LEN), name, HEX_LEN) == 0;
}

bool gitlfs_names(struct store *store, const struct buf *text,
		  const struct entry *file)
{
	static const char head[] = "version https://git-lfs.github.com/spec/";
	static const char key[] = "\noid sha256:";
	AUTO(buf) struct buf copy = {0};
	const char *oid;
	struct err ignored;

	buf_add(&copy, text->data, text->len);
	oid = strstr(buf_text(&copy), key);
	return strncmp(buf_text(&copy), head, strlen(head)) == 0 && oid &&
	       strlen(oid) >= strlen(key) + HEX_LEN && S_ISREG(file->mode) &&
	       file->content.type != OBJECT_NONE &&
	       has_its_hash(store, file, oid + strlen(key), &ignored) > 0;
}

struct search {
	struct gitlfs *lfs;
	const char *git;
};

static int add_file(void *arg, const char *path, const struct entry *e,
		    struct err *err)
{
	const struct search *s = arg;
	auto_free char *there = NULL;
	struct stat st;
	int got;

	if (!S_ISREG(e->mode) || e->content.type == OBJECT_NONE ||
	    e->flags & ENTRY_INCOMPLETE || !is_object_path(path))
		return 0;
	there = mem_printf("%s/" OBJECTS "/%s", s->git, path);
	if (lstat(there, &st) == 0)
		return 0;
	got = has_its_hash(s->lfs->store, e, path + DIRS_LEN, err);
	if (got > 0) {
		*VEC_ADD(&s->lfs->files) = (struct gitlfs_file){
			.path = mem_strdup(path),
			.content = e->content,
			.mode = e->mode & 0666,
		};
		s->lfs->bytes += e->size;
	}
	s->lfs->refused += got == 0;
	return got < 0 ? got : 0;
}

int gitlfs_find(struct store *store, const struct entry *now, const char *git,
		struct gitlfs *ret, struct err *err)
{
	struct search s = {ret, git};
	AUTO(entry) struct entry objects = {0};

	*ret = (struct gitlfs){.store = store};
	if (tree_lookup(store, now, OBJECTS, &objects, err) < 0)
		return -err->num;
	return S_ISDIR(objects.mode)
		       ? tree_each(store, &objects, add_file, &s, err)
		       : 0;
}

/* Opens a directory, and creates it if it is missing. A link in its place is
 * the user's own. */
static int open_dir(int above, const char *name, struct err *err)
{
	int made = mkdirat(above, name, 0777), fd;

	if (made < 0 && errno != EEXIST)
		return fail_errno(err, "create %s", text_quote(name));
	if (made == 0 && atomic_sync_dir(above, err) < 0)
		return -err->num;
	fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? fail_errno(err, "open %s", text_quote(name)) : fd;
}

/* Opens the directory of a file, durable like the file in it. */
static int open_dir_of(const char *git, const char *file, struct err *err)
{
	auto_free char *path = mem_printf(OBJECTS "/%.*s", DIRS_LEN - 1, file);
	char *rest = path, *name;
	int fd = open(git, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(git));
	while (fd >= 0 && (name = strsep(&rest, "/"))) {
		auto_close int above = fd;

		fd = open_dir(above, name, err);
	}
	return fd;
}

int gitlfs_write(const struct gitlfs *l, const char *git, struct err *err)
{
	size_t i;

	for (i = 0; i < l->files.count; i++) {
		const struct gitlfs_file *f = &l->files.items[i];
		auto_close int dir = open_dir_of(git, f->path, err);
		AUTO(atomic_file) struct atomic_file file = ATOMIC_FILE_NONE;
		const char *name = f->path + DIRS_LEN;

		if (dir < 0 ||
		    atomic_begin(dir, name, f->mode, &file, err) < 0 ||
		    content_write(l->store, &f->content, file.fd, NULL, err) <
			    0 ||
		    (atomic_publish(&file, name, err) < 0 &&
		     err->num != EEXIST))
			return err_context(err, "copy a file of git-lfs");
	}
	return 0;
}
