#include "snapshot/store/format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/record.h"
#include "base/text.h"

#define FORMAT_VERSION 1
#define CHUNKER_NAME "fastcdc-64k-256k-1m"

static const char *const hash_names[] = {
	[HASH_XXH3_128] = "xxh3-128-secret",
	[HASH_XXH3_64X2] = "xxh3-64x2-secret",
};
#define HASH_KINDS (sizeof(hash_names) / sizeof(*hash_names))

/* Features of this program. A store that needs others is refused. */
static const char *const known_features[] = {"blocks", "holes"};

static void hex(char *to, const unsigned char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		(void)snprintf(to + 2 * i, 3, "%02x", bytes[i]);
}

static bool unhex(unsigned char *to, const char *text, size_t len)
{
	size_t i;
	unsigned int v;

	if (!text || strlen(text) != 2 * len ||
	    strspn(text, "0123456789abcdef") != 2 * len)
		return false;
	for (i = 0; i < len; i++) {
		if (sscanf(text + 2 * i, "%2x", &v) != 1)
			return false;
		to[i] = (unsigned char)v;
	}
	return true;
}

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

int format_write(int fd, const struct format *format, struct err *err)
{
	AUTO(record) struct record r = {0};
	char text[2 * PACK_UUID_LEN + 1], check[24];

	hex(text, format->uuid, PACK_UUID_LEN);
	record_set(&r, "uuid", text);
	record_set(&r, "hash", hash_names[format->hash]);
	record_set(&r, "chunker", CHUNKER_NAME);
	record_set(&r, "features-mandatory", "blocks holes");
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

static bool word_known(const char *word, size_t len)
{
	size_t i;

	for (i = 0; i < sizeof(known_features) / sizeof(*known_features); i++) {
		if (strlen(known_features[i]) == len &&
		    memcmp(known_features[i], word, len) == 0)
			return true;
	}
	return false;
}

static int features_check(const char *words, struct err *err)
{
	while (*words) {
		size_t len = strcspn(words, " ");

		if (len && !word_known(words, len)) {
			auto_free char *word = mem_strndup(words, len);

			return fail(err, EPROTO,
				    "the store needs a newer guard, one that "
				    "knows %s",
				    text_quote(word));
		}
		words += len + (words[len] == ' ');
	}
	return 0;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

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
		    "FORMAT is damaged: `guard repair` makes it anew");
}

int format_read(int fd, struct format *ret, struct err *err)
{
	AUTO(record) struct record r = {0};
	const char *check, *hash, *chunker, *features;
	char want[24];
	struct format f = {.hash = HASH_XXH3_128};
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
	    !features || !unhex(f.uuid, record_get(&r, "uuid"), PACK_UUID_LEN))
		return format_damaged(err);
	if (features_check(features, err) < 0)
		return -err->num;
	f.has_tombstones =
		has_word(record_get(&r, "features-optional"), "gone");
	while (f.hash < HASH_KINDS && strcmp(hash, hash_names[f.hash]) != 0)
		f.hash++;
	if (f.hash == HASH_KINDS || strcmp(chunker, CHUNKER_NAME) != 0)
		return fail(err, EPROTO, "the store needs a newer guard");
	*ret = f;
	return 0;
}
