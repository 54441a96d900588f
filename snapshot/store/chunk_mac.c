#include "snapshot/store/chunk_mac.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/library.h"
#include "base/mem.h"

#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>

/* The functions in use, which libcrypto 1.1 and 3 both have. */
#define CALLS(X)                                                               \
	X(CIPHER_CTX_new)                                                      \
	X(CIPHER_CTX_free)                                                     \
	X(CIPHER_CTX_ctrl)                                                     \
	X(aes_128_gcm)                                                         \
	X(EncryptInit_ex)                                                      \
	X(EncryptUpdate)                                                       \
	X(EncryptFinal_ex)

static struct {
#define MEMBER(name) __typeof__(EVP_##name) *name;
	CALLS(MEMBER)
#undef MEMBER
} crypto_calls;

struct chunk_mac {
	EVP_CIPHER_CTX *ctx;
	bool failed;
};

static const unsigned char nonce[12];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool loaded;

static void load_cipher(void)
{
	struct err ignored;

	loaded = library_load(LIBRARY_LIBCRYPTO, "EVP_", CALLS(LIBRARY_NAME),
			      &crypto_calls, &ignored) == 0;
}

struct chunk_mac *chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN])
{
	struct chunk_mac *m;

	(void)pthread_once(&once, load_cipher);
	if (!loaded)
		return NULL;
	m = mem_zalloc(sizeof(*m));
	m->ctx = crypto_calls.CIPHER_CTX_new();
	if (!m->ctx ||
	    crypto_calls.EncryptInit_ex(m->ctx, crypto_calls.aes_128_gcm(),
					NULL, key, nonce) != 1)
		chunk_mac_free(&m);
	return m;
}

void chunk_mac_free(struct chunk_mac **chunk_mac)
{
	if (!*chunk_mac)
		return;
	if ((*chunk_mac)->ctx)
		crypto_calls.CIPHER_CTX_free((*chunk_mac)->ctx);
	free(*chunk_mac);
	*chunk_mac = NULL;
}

void chunk_mac_begin(struct chunk_mac *m)
{
	m->failed = crypto_calls.EncryptInit_ex(m->ctx, NULL, NULL, NULL,
						nonce) != 1;
}

void chunk_mac_add(struct chunk_mac *m, const void *data, size_t len)
{
	const unsigned char *at = data;
	int n, unused;

	for (; len && !m->failed; at += n, len -= (size_t)n) {
		n = len > INT_MAX / 2 ? INT_MAX / 2 : (int)len;
		m->failed = crypto_calls.EncryptUpdate(m->ctx, NULL, &unused,
						       at, n) != 1;
	}
}

bool chunk_mac_end(struct chunk_mac *m, unsigned char ret[CHUNK_MAC_LEN])
{
	unsigned char none[CHUNK_MAC_LEN];
	int unused;

	return !m->failed &&
	       crypto_calls.EncryptFinal_ex(m->ctx, none, &unused) == 1 &&
	       crypto_calls.CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG,
					    CHUNK_MAC_LEN, ret) == 1;
}

#else

struct chunk_mac *chunk_mac_new(const unsigned char key[CHUNK_MAC_KEY_LEN])
{
	(void)key;
	return NULL;
}

void chunk_mac_free(struct chunk_mac **chunk_mac)
{
	(void)chunk_mac;
}

void chunk_mac_begin(struct chunk_mac *m)
{
	(void)m;
}

void chunk_mac_add(struct chunk_mac *m, const void *data, size_t len)
{
	(void)m;
	(void)data;
	(void)len;
}

bool chunk_mac_end(struct chunk_mac *m, unsigned char ret[CHUNK_MAC_LEN])
{
	(void)m;
	(void)ret;
	return false;
}

#endif
