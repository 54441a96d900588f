/* guard-copy, the key of a destination, and the words of a recovery sheet: a
 * file, a NUL and typed words. Argon2id would make each input slow. */
#include <inttypes.h>

#include "snapshot/backup/keyfile.h"
#include "tests/fuzz/fuzz.h"

#define CHECK_LEN 23

int seal_slot_make(struct seal_slot *s, const char *secret,
		   const unsigned char key[SEAL_KEY_LEN], struct err *err)
{
	(void)s;
	(void)secret;
	(void)key;
	(void)err;
	return 0;
}

int seal_slot_open(const struct seal_slot *s, const char *secret,
		   unsigned char ret_key[SEAL_KEY_LEN], struct err *err)
{
	must(s->memory <= 1 << 30 && s->passes <= 16);
	if (s->wrapped[0] != ((int)strlen(secret) ^ s->salt[0] ^ s->nonce[0]))
		return fail(err, EACCES, "another key");
	memset(ret_key, s->wrapped[1], SEAL_KEY_LEN);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(buf) struct buf bytes = {0}, secret = {0};
	unsigned char id[KEYFILE_ID_LEN], key[SEAL_KEY_LEN];
	struct err err;
	size_t n;
	int got;

	if (!len)
		return 0;
	n = strnlen((const char *)data + 1, len - 1);
	buf_add(&bytes, data + 1, n);
	if (n + 1 < len)
		buf_add(&secret, data + n + 2, len - n - 2);
	if (data[0] & 1 && n >= CHECK_LEN) {
		bytes.len -= CHECK_LEN;
		buf_printf(&bytes, "check=%016" PRIx64 "\n",
			   hash_check(bytes.data, bytes.len));
	}
	got = keyfile_read_id(&bytes, id, &err);
	must(got == 0 || got == -EBADMSG || got == -EPROTO);
	got = keyfile_open(&bytes, buf_text(&secret), data[0] & 2, key, &err);
	must(got == 0 || got == -EBADMSG || got == -EPROTO || got == -EACCES ||
	     got == -EINVAL);
	return 0;
}
