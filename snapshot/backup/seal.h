/*
 * Sealed files: bytes that only the owner of a key can read, and that cannot be
 * changed, cut, swapped or moved unnoticed.
 *
 *	file  = "GUARDSL1" header:24 *frame     ; secretstream of libsodium,
 *	                                        ; XChaCha20-Poly1305
 *	frame = 1 MiB of content and 17 bytes; the last one is shorter, may have
 *	        no content, and alone has the final tag
 *
 * The kind of the file and the namespace that it belongs to (a store and its
 * incarnation) are additional data of each frame: a file that was moved to
 * another namespace, or named as another kind, fails.
 *
 * The hash of a sealed file is the BLAKE2b-256 of all its bytes, so that a
 * program without the key can check it, too. The same content sealed twice has
 * two hashes: the header is random.
 *
 * Order of calls: new, any number of add or read, end, free. The first call
 * loads libsodium; an early seal_init() reports that it is missing.
 */
#ifndef GUARD_SNAPSHOT_BACKUP_SEAL_H
#define GUARD_SNAPSHOT_BACKUP_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

#define SEAL_KEY_LEN 32
#define SEAL_HASH_LEN 32
#define SEAL_SPACE_LEN 32
/* Bytes that a file has besides its content, and each frame besides its
 * share. */
#define SEAL_OVERHEAD (8 + 24)
#define SEAL_FRAME_ADDS 17
#define SEAL_FRAME_LEN ((size_t)1 << 20)

enum seal_kind {
	SEAL_ROOT = 1,
	SEAL_PACKS = 2,
	SEAL_META = 3,
	SEAL_MANIFEST = 4,
};

/* Loads libsodium, as the functions with an err below do. -ENOPKG: it is
 * missing; the text names the package. */
int seal_init(struct err *err);

struct seal_writer;
/* Writes the file at the position of fd, which is borrowed until free. */
int seal_writer_new(int fd, const unsigned char key[SEAL_KEY_LEN],
		    enum seal_kind kind,
		    const unsigned char space[SEAL_SPACE_LEN],
		    struct seal_writer **ret, struct err *err);
int seal_writer_add(struct seal_writer *w, const void *data, size_t len,
		    struct err *err);
/* Writes the last frame. ret_hash: of the file; ret_len: its bytes. */
int seal_writer_end(struct seal_writer *w,
		    unsigned char ret_hash[SEAL_HASH_LEN], uint64_t *ret_len,
		    struct err *err);
void seal_writer_free(struct seal_writer **w);

struct seal_reader;
/* Reads from the position of fd, which is borrowed until free. -EBADMSG: no
 * sealed file. */
int seal_reader_new(int fd, const unsigned char key[SEAL_KEY_LEN],
		    enum seal_kind kind,
		    const unsigned char space[SEAL_SPACE_LEN],
		    struct seal_reader **ret, struct err *err);
/* Reads up to len bytes of the content from offset on; *ret is less than len
 * only at the end. Reads go forward: of bytes in front of those that were read
 * before, none may come. -EBADMSG: damaged, cut, of another key, kind or
 * namespace. Bytes that were returned are authentic, whatever follows them. */
int seal_reader_read(struct seal_reader *r, uint64_t offset, void *to,
		     size_t len, size_t *ret, struct err *err);
void seal_reader_free(struct seal_reader **r);
/* Appends the whole content. After a failure `to` has the part before. */
int seal_slurp(int fd, const unsigned char key[SEAL_KEY_LEN],
	       enum seal_kind kind, const unsigned char space[SEAL_SPACE_LEN],
	       struct buf *to, struct err *err);

/* Reads a whole file, without a key and without moving the position of fd.
 * -EBADMSG: its hash is another one. */
int seal_check_file(int fd, const unsigned char want[SEAL_HASH_LEN],
		    struct err *err);

/* --- keys --- */

#define SEAL_SALT_LEN 16
#define SEAL_NONCE_LEN 24
#define SEAL_WRAPPED_LEN (SEAL_KEY_LEN + 16)

/* A sealed key. Argon2id makes the key that seals it of a secret text, with the
 * memory (bytes) and the number of passes given. */
struct seal_slot {
	uint64_t memory, passes;
	unsigned char salt[SEAL_SALT_LEN];
	unsigned char nonce[SEAL_NONCE_LEN];
	unsigned char wrapped[SEAL_WRAPPED_LEN];
};

/* Seals a key; memory and passes are the caller's, the rest is filled in.
 * -EINVAL: libsodium refuses the parameters; -ENOMEM. */
int seal_slot_make(struct seal_slot *s, const char *secret,
		   const unsigned char key[SEAL_KEY_LEN], struct err *err);
/* -EACCES: another secret sealed it, or it is damaged; the rest as above. */
int seal_slot_open(const struct seal_slot *s, const char *secret,
		   unsigned char ret_key[SEAL_KEY_LEN], struct err *err);

#endif
