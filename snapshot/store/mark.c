#include "snapshot/store/mark.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#if __has_include(<openssl/evp.h>)
#include <openssl/evp.h>

/* The calls that are used, as the library has them in 1.1 and 3. */
struct calls {
	__typeof__(&EVP_CIPHER_CTX_new) CIPHER_CTX_new;
	__typeof__(&EVP_CIPHER_CTX_free) CIPHER_CTX_free;
	__typeof__(&EVP_CIPHER_CTX_ctrl) CIPHER_CTX_ctrl;
	__typeof__(&EVP_aes_128_gcm) aes_128_gcm;
	__typeof__(&EVP_EncryptInit_ex) EncryptInit_ex;
	__typeof__(&EVP_EncryptUpdate) EncryptUpdate;
	__typeof__(&EVP_EncryptFinal_ex) EncryptFinal_ex;
};

struct marker {
	EVP_CIPHER_CTX *ctx;
	bool failed;
};

static const unsigned char nonce[12];
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct calls calls;
static bool loaded;
static bool forbidden;

static void load(void)
{
	static const char *const names[] = {"libcrypto.so.3",
					    "libcrypto.so.1.1"};
	static const struct {
		const char *name;
		size_t at;
	} symbols[] = {
#define CALL(name) {"EVP_" #name, offsetof(struct calls, name)}
		CALL(CIPHER_CTX_new),  CALL(CIPHER_CTX_free),
		CALL(CIPHER_CTX_ctrl), CALL(aes_128_gcm),
		CALL(EncryptInit_ex),  CALL(EncryptUpdate),
		CALL(EncryptFinal_ex),
#undef CALL
	};
	void *library = NULL;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	loaded = library != NULL;
	for (i = 0; loaded && i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *call = dlsym(library, symbols[i].name);

		loaded = call != NULL;
		*(void **)((char *)&calls + symbols[i].at) = call;
	}
}

struct marker *marker_new(const unsigned char key[MARK_KEY_LEN])
{
	struct marker *m;

	(void)pthread_once(&once, load);
	if (!loaded || forbidden)
		return NULL;
	m = mem_zalloc(sizeof(*m));
	m->ctx = calls.CIPHER_CTX_new();
	if (!m->ctx || calls.EncryptInit_ex(m->ctx, calls.aes_128_gcm(), NULL,
					    key, nonce) != 1)
		marker_free(&m);
	return m;
}

void marker_free(struct marker **marker)
{
	if (!*marker)
		return;
	if ((*marker)->ctx)
		calls.CIPHER_CTX_free((*marker)->ctx);
	free(*marker);
	*marker = NULL;
}

void marker_begin(struct marker *m)
{
	m->failed = calls.EncryptInit_ex(m->ctx, NULL, NULL, NULL, nonce) != 1;
}

void marker_add(struct marker *m, const void *data, size_t len)
{
	const unsigned char *at = data;
	int n, unused;

	for (; len && !m->failed; at += n, len -= (size_t)n) {
		n = len > INT_MAX / 2 ? INT_MAX / 2 : (int)len;
		m->failed =
			calls.EncryptUpdate(m->ctx, NULL, &unused, at, n) != 1;
	}
}

bool marker_end(struct marker *m, unsigned char ret[MARK_LEN])
{
	unsigned char none[MARK_LEN];
	int unused;

	return !m->failed &&
	       calls.EncryptFinal_ex(m->ctx, none, &unused) == 1 &&
	       calls.CIPHER_CTX_ctrl(m->ctx, EVP_CTRL_AEAD_GET_TAG, MARK_LEN,
				     ret) == 1;
}

void marker_forbid(bool on)
{
	forbidden = on;
}

#else

struct marker *marker_new(const unsigned char key[MARK_KEY_LEN])
{
	(void)key;
	return NULL;
}

void marker_free(struct marker **marker)
{
	(void)marker;
}

void marker_begin(struct marker *m)
{
	(void)m;
}

void marker_add(struct marker *m, const void *data, size_t len)
{
	(void)m;
	(void)data;
	(void)len;
}

bool marker_end(struct marker *m, unsigned char ret[MARK_LEN])
{
	(void)m;
	(void)ret;
	return false;
}

void marker_forbid(bool on)
{
	(void)on;
}

#endif
