#include "snapshot/backup/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/text.h"

#define STREAM(name) crypto_secretstream_xchacha20poly1305_##name
#define AEAD(name) crypto_aead_xchacha20poly1305_ietf_##name

#define MAGIC "GUARDSL1"
#define MAGIC_LEN (sizeof(MAGIC) - 1)
#define SEALED_FRAME_LEN (SEAL_FRAME_LEN + SEAL_FRAME_ADDS)

_Static_assert(SEAL_OVERHEAD == MAGIC_LEN + STREAM(HEADERBYTES), "header");
_Static_assert(SEAL_FRAME_ADDS == STREAM(ABYTES), "frame");

#define CALLS(X)                                                               \
	X(sodium_init)                                                         \
	X(STREAM(init_push))                                                   \
	X(STREAM(push))                                                        \
	X(STREAM(init_pull))                                                   \
	X(STREAM(pull))                                                        \
	X(AEAD(encrypt))                                                       \
	X(AEAD(decrypt))                                                       \
	X(crypto_generichash_init)                                             \
	X(crypto_generichash_update)                                           \
	X(crypto_generichash_final)                                            \
	X(crypto_pwhash)

static struct {
#define MEMBER(name) __typeof__(name) *name;
	CALLS(MEMBER)
#undef MEMBER
} lib;
static struct err failed; /* num 0: loaded */

static void load_libsodium(void)
{
	/* sodium_init() also selects the code for this processor. */
	if (library_load(LIBRARY_LIBSODIUM, "", CALLS(LIBRARY_NAME), &lib,
			 &failed) == 0 &&
	    lib.sodium_init() < 0)
		(void)fail(&failed, EIO, "libsodium finds no random bytes");
}

int seal_init(struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, load_libsodium);
	if (!failed.num)
		return 0;
	*err = failed;
	return -err->num;
}

/* The additional data of all frames of a file: its kind and namespace. */
#define PLACE_LEN (1 + SEAL_SPACE_LEN)

static void set_place(unsigned char place[PLACE_LEN], enum seal_kind kind,
		      const unsigned char space[SEAL_SPACE_LEN])
{
	place[0] = (unsigned char)kind;
	memcpy(place + 1, space, SEAL_SPACE_LEN);
}

/* --- writing --- */

struct seal_writer {
	int fd;
	crypto_secretstream_xchacha20poly1305_state stream;
	crypto_generichash_state hash;
	uint64_t written;
	unsigned char place[PLACE_LEN];
	size_t len; /* content that is not written yet */
	unsigned char content[SEAL_FRAME_LEN], sealed[SEALED_FRAME_LEN];
};

static int write_bytes(struct seal_writer *w, const void *data, size_t len,
		       struct err *err)
{
	if (fd_write(w->fd, data, len) < 0)
		return fail_errno(err, "write a sealed file");
	/* The disk writes while the next frame is sealed. */
	(void)sync_file_range(w->fd, (off_t)w->written, (off_t)len,
			      SYNC_FILE_RANGE_WRITE);
	(void)lib.crypto_generichash_update(&w->hash, data, len);
	w->written += len;
	return 0;
}

static int write_frame(struct seal_writer *w, unsigned char tag,
		       struct err *err)
{
	unsigned long long len;

	(void)lib.STREAM(push)(&w->stream, w->sealed, &len, w->content, w->len,
			       w->place, sizeof(w->place), tag);
	w->len = 0;
	return write_bytes(w, w->sealed, len, err);
}

int seal_writer_new(int fd, const unsigned char key[SEAL_KEY_LEN],
		    enum seal_kind kind,
		    const unsigned char space[SEAL_SPACE_LEN],
		    struct seal_writer **ret, struct err *err)
{
	AUTO(seal_writer) struct seal_writer *w = NULL;
	unsigned char header[SEAL_OVERHEAD] = MAGIC;

	if (seal_init(err) < 0)
		return -err->num;
	/* The state of the hash needs more alignment than malloc(3) gives. */
	w = aligned_alloc(_Alignof(struct seal_writer), sizeof(*w));
	if (!w)
		abort();
	w->fd = fd;
	set_place(w->place, kind, space);
	w->written = 0;
	w->len = 0;
	(void)lib.crypto_generichash_init(&w->hash, NULL, 0, SEAL_HASH_LEN);
	(void)lib.STREAM(init_push)(&w->stream, header + MAGIC_LEN, key);
	if (write_bytes(w, header, sizeof(header), err) < 0)
		return -err->num;
	*ret = TAKE(w);
	return 0;
}

int seal_writer_add(struct seal_writer *w, const void *data, size_t len,
		    struct err *err)
{
	const unsigned char *at = data;

	while (len) {
		size_t n = SEAL_FRAME_LEN - w->len < len
				   ? SEAL_FRAME_LEN - w->len
				   : len;

		memcpy(w->content + w->len, at, n);
		w->len += n;
		at += n;
		len -= n;
		if (w->len == SEAL_FRAME_LEN && write_frame(w, 0, err) < 0)
			return -err->num;
	}
	return 0;
}

int seal_writer_end(struct seal_writer *w,
		    unsigned char ret_hash[SEAL_HASH_LEN], uint64_t *ret_len,
		    struct err *err)
{
	if (write_frame(w, STREAM(TAG_FINAL), err) < 0)
		return -err->num;
	(void)lib.crypto_generichash_final(&w->hash, ret_hash, SEAL_HASH_LEN);
	*ret_len = w->written;
	return 0;
}

void seal_writer_free(struct seal_writer **w)
{
	if (*w)
		explicit_bzero(&(*w)->stream, sizeof((*w)->stream));
	free(*w);
	*w = NULL;
}

/* --- reading --- */

/* A file that is read as a whole is not longer. */
#define CONTENT_MAX ((size_t)1 << 30)

struct seal_reader {
	int fd;
	crypto_secretstream_xchacha20poly1305_state stream;
	unsigned char place[PLACE_LEN];
	bool ended, damaged;
	/* The content of the last frame, and its place in that of the file. */
	uint64_t start;
	size_t len;
	unsigned char content[SEAL_FRAME_LEN], sealed[SEALED_FRAME_LEN];
};

int seal_reader_new(int fd, const unsigned char key[SEAL_KEY_LEN],
		    enum seal_kind kind,
		    const unsigned char space[SEAL_SPACE_LEN],
		    struct seal_reader **ret, struct err *err)
{
	AUTO(seal_reader) struct seal_reader *r = NULL;
	unsigned char header[SEAL_OVERHEAD];
	ssize_t n;

	if (seal_init(err) < 0)
		return -err->num;
	n = fd_read(fd, header, sizeof(header));
	if (n < 0)
		return fail_errno(err, "read a sealed file");
	if (n < (ssize_t)sizeof(header) ||
	    memcmp(header, MAGIC, MAGIC_LEN) != 0)
		return fail(err, EBADMSG, "no sealed file of guard");
	r = mem_alloc(sizeof(*r));
	r->fd = fd;
	set_place(r->place, kind, space);
	r->ended = r->damaged = false;
	r->start = r->len = 0;
	(void)lib.STREAM(init_pull)(&r->stream, header + MAGIC_LEN, key);
	*ret = TAKE(r);
	return 0;
}

/* A frame that is not full is the last one, because the file ends there. After
 * damage no frame is read any more: a later one may be authentic again. */
static int read_frame(struct seal_reader *r, struct err *err)
{
	ssize_t n =
		r->damaged ? 0 : fd_read(r->fd, r->sealed, sizeof(r->sealed));
	unsigned long long len;
	unsigned char tag;

	if (n < 0)
		return fail_errno(err, "read a sealed file");
	r->ended = n < (ssize_t)sizeof(r->sealed);
	r->damaged = n < (ssize_t)SEAL_FRAME_ADDS ||
		     lib.STREAM(pull)(&r->stream, r->content, &len, &tag,
				      r->sealed, (unsigned long long)n,
				      r->place, sizeof(r->place)) != 0 ||
		     tag != (r->ended ? STREAM(TAG_FINAL) : 0);
	r->start += r->len;
	r->len = 0;
	if (r->damaged) {
		r->ended = false;
		return fail(err, EBADMSG,
			    "the file is damaged, cut or in the wrong place, "
			    "or another key sealed it");
	}
	r->len = len;
	return 0;
}

int seal_reader_read(struct seal_reader *r, uint64_t offset, void *to,
		     size_t len, size_t *ret, struct err *err)
{
	unsigned char *at = to;
	size_t left = len;

	while (left) {
		/* More than any length, where the frame is behind the byte. */
		uint64_t skip = offset - r->start;
		size_t n;

		if (skip < r->len) {
			n = r->len - skip < left ? r->len - skip : left;
			memcpy(at, r->content + skip, n);
			at += n;
			offset += n;
			left -= n;
		} else if (r->ended) {
			break;
		} else if (read_frame(r, err) < 0) {
			return -err->num;
		}
	}
	*ret = len - left;
	return 0;
}

void seal_reader_free(struct seal_reader **r)
{
	if (*r)
		explicit_bzero(&(*r)->stream, sizeof((*r)->stream));
	free(*r);
	*r = NULL;
}

int seal_slurp(int fd, const unsigned char key[SEAL_KEY_LEN],
	       enum seal_kind kind, const unsigned char space[SEAL_SPACE_LEN],
	       struct buf *to, struct err *err)
{
	AUTO(seal_reader) struct seal_reader *r = NULL;
	size_t len, at = 0;

	if (seal_reader_new(fd, key, kind, space, &r, err) < 0)
		return -err->num;
	do {
		if (at > CONTENT_MAX)
			return fail(err, EBADMSG, "the file is too long");
		if (seal_reader_read(r, at, buf_reserve(to, SEAL_FRAME_LEN),
				     SEAL_FRAME_LEN, &len, err) < 0)
			return -err->num;
		to->len += len;
		at += len;
	} while (len == SEAL_FRAME_LEN);
	return 0;
}

int seal_check_file(int fd, const unsigned char want[SEAL_HASH_LEN],
		    struct err *err)
{
	auto_free unsigned char *bytes = mem_alloc(SEAL_FRAME_LEN);
	unsigned char is[SEAL_HASH_LEN];
	crypto_generichash_state hash;
	uint64_t len = 0;
	ssize_t n;

	if (seal_init(err) < 0)
		return -err->num;
	(void)lib.crypto_generichash_init(&hash, NULL, 0, SEAL_HASH_LEN);
	while ((n = fd_pread(fd, bytes, SEAL_FRAME_LEN, len)) > 0) {
		(void)lib.crypto_generichash_update(&hash, bytes, (size_t)n);
		len += (uint64_t)n;
	}
	if (n < 0)
		return fail_errno(err, "read a sealed file");
	(void)lib.crypto_generichash_final(&hash, is, SEAL_HASH_LEN);
	return memcmp(is, want, SEAL_HASH_LEN) == 0
		       ? 0
		       : fail(err, EBADMSG, "its bytes do not match its name");
}

/* --- keys --- */

static int derive_key(const struct seal_slot *s, const char *secret,
		      unsigned char ret[SEAL_KEY_LEN], struct err *err)
{
	if (seal_init(err) < 0)
		return -err->num;
	if (lib.crypto_pwhash(ret, SEAL_KEY_LEN, secret, strlen(secret),
			      s->salt, s->passes, s->memory,
			      crypto_pwhash_ALG_ARGON2ID13) != 0)
		return fail_errno(err,
				  "make a key of the passphrase, with %s "
				  "of memory",
				  text_size(s->memory));
	return 0;
}

int seal_slot_make(struct seal_slot *s, const char *secret,
		   const unsigned char key[SEAL_KEY_LEN], struct err *err)
{
	unsigned char with[SEAL_KEY_LEN];

	mem_random(s->salt, sizeof(s->salt));
	mem_random(s->nonce, sizeof(s->nonce));
	if (derive_key(s, secret, with, err) < 0)
		return -err->num;
	(void)lib.AEAD(encrypt)(s->wrapped, NULL, key, SEAL_KEY_LEN, NULL, 0,
				NULL, s->nonce, with);
	explicit_bzero(with, sizeof(with));
	return 0;
}

int seal_slot_open(const struct seal_slot *s, const char *secret,
		   unsigned char ret_key[SEAL_KEY_LEN], struct err *err)
{
	unsigned char with[SEAL_KEY_LEN];
	int got = derive_key(s, secret, with, err);

	if (got == 0 &&
	    lib.AEAD(decrypt)(ret_key, NULL, NULL, s->wrapped, SEAL_WRAPPED_LEN,
			      NULL, 0, s->nonce, with) != 0)
		got = fail(err, EACCES, "another key sealed this key");
	explicit_bzero(with, sizeof(with));
	return got;
}
