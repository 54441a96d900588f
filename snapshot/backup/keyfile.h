/*
 * The file guard-copy at the top of a destination: its id, and its key in two
 * slots, sealed by a passphrase and by a recovery sheet. Text in the form of
 * base/record.h, mode 0444, written once.
 *
 *	guard-copy 1
 *	id=<32 hex digits>
 *	slot=passphrase <memory> <passes> <salt> <nonce> <sealed key>
 *	slot=sheet 8192 1 <salt> <nonce> <sealed key>
 *	check=<16 hex digits>	XXH3-64 of the text before; the last line
 *
 * The recovery sheet is nine words of five letters, each 16 bits: 128 random
 * bits and a check. Words are read in any case, with blanks or dashes between
 * them. 128 bits cannot be guessed: their key is made with the least parameters
 * of Argon2id.
 */
#ifndef GUARD_SNAPSHOT_BACKUP_KEYFILE_H
#define GUARD_SNAPSHOT_BACKUP_KEYFILE_H

#include <stdbool.h>

#include "base/mem.h"
#include "snapshot/backup/seal.h"

#define KEYFILE_NAME "guard-copy"
/* A second file of the same content, used when the first is damaged. */
#define KEYFILE_SECOND "guard-copy.2"
#define KEYFILE_ID_LEN 16
/* Nine words, blanks and NUL. */
#define KEYFILE_WORDS_LEN (9 * 6)

/* Makes an id, a key, and the content of the file. */
int keyfile_make(const char *passphrase, unsigned char ret_id[KEYFILE_ID_LEN],
		 unsigned char ret_key[SEAL_KEY_LEN],
		 char ret_words[KEYFILE_WORDS_LEN], struct buf *ret_bytes,
		 struct err *err);

/* The id in the file. -EBADMSG: damaged; -EPROTO: of a newer guard. */
int keyfile_read_id(const struct buf *bytes,
		    unsigned char ret_id[KEYFILE_ID_LEN], struct err *err);

/* The key, by a passphrase or by the words of a sheet; sheet: by these alone.
 * -EACCES: it opens no slot; -EINVAL: words of a sheet with a typing error, and
 * the number of a word that no sheet has, and with `sheet` also other texts;
 * -EBADMSG and -EPROTO as above. */
int keyfile_open(const struct buf *bytes, const char *secret, bool sheet,
		 unsigned char ret_key[SEAL_KEY_LEN], struct err *err);

#endif
