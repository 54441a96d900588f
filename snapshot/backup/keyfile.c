#include "snapshot/backup/keyfile.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/record.h"
#include "base/text.h"
#include "snapshot/store/hash.h"

#define VERSION 1
/* "check=", 16 digits and a line feed. */
#define CHECK_LEN 23

/* The memory and passes of the second option that RFC 9106 recommends, which
 * small machines have room for, too. The words of a sheet get the least
 * parameters that libsodium allows. */
#define MEMORY ((uint64_t)64 << 20)
#define PASSES 3
#define LEAST_MEMORY 8192
#define LEAST_PASSES 1
/* A damaged or hostile file must not take all memory of the machine. */
#define MOST_MEMORY ((uint64_t)1 << 30)
#define MOST_PASSES 16

/* --- the words of a recovery sheet --- */

#define WORDS 9
#define WORD_LEN 5

struct words {
	uint16_t numbers[WORDS]; /* the last one: a check of the others */
	size_t count; /* of the words that were typed */
	size_t valid; /* of them, words that a sheet can have */
	size_t wrong; /* the number of the first other word, from 1; 0: none */
};

/* The letters at the odd and at the even places of a word: 4 and 2 bits of its
 * number. */
static const char *const letters[] = {"bdfghjklmnprstvz", "aiou"};

static void write_word(unsigned int number, char *to)
{
	int i;

	for (i = WORD_LEN - 1; i >= 0; i--) {
		const char *set = letters[i % 2];

		to[i] = set[number % strlen(set)];
		number /= strlen(set);
	}
}

/* The number of a word of five letters; -1: it is none of a sheet. */
static int parse_word(const char *word)
{
	size_t number = 0;
	int i;

	for (i = 0; i < WORD_LEN; i++) {
		const char *set = letters[i % 2];
		const char *at = strchr(set, tolower((unsigned char)word[i]));

		if (!at)
			return -1;
		number = number * strlen(set) + (size_t)(at - set);
	}
	return (int)number;
}

static uint16_t compute_word_check(const struct words *w)
{
	unsigned char bytes[2 * (WORDS - 1)];
	size_t i;

	for (i = 0; i < WORDS - 1; i++)
		put_le(bytes + 2 * i, w->numbers[i], 2);
	return (uint16_t)hash_check(bytes, sizeof(bytes));
}

static bool words_are_right(const struct words *w)
{
	return w->count == WORDS && !w->wrong &&
	       w->numbers[WORDS - 1] == compute_word_check(w);
}

/* The text that the sheet's key is made of. */
static void write_words(const struct words *w, char ret[KEYFILE_WORDS_LEN])
{
	size_t i;

	for (i = 0; i < WORDS; i++) {
		write_word(w->numbers[i], ret + i * (WORD_LEN + 1));
		ret[i * (WORD_LEN + 1) + WORD_LEN] = i + 1 < WORDS ? ' ' : '\0';
	}
}

static void parse_words(const char *text, struct words *ret)
{
	static const char between[] = " -\t\r\n";

	*ret = (struct words){0};
	while (*(text += strspn(text, between))) {
		size_t len = strcspn(text, between);
		int number = len == WORD_LEN ? parse_word(text) : -1;

		if (ret->count < WORDS && number >= 0)
			ret->numbers[ret->count] = (uint16_t)number;
		ret->count++;
		ret->valid += number >= 0;
		if (number < 0 && !ret->wrong)
			ret->wrong = ret->count;
		text += len;
	}
}

static int fail_words(const struct words *w, bool sheet, struct err *err)
{
	if (words_are_right(w))
		return fail(err, EACCES,
			    "the recovery sheet is of another destination: "
			    "compare the id on it");
	/* A passphrase has few such words. */
	if (2 * w->valid <= WORDS && sheet)
		return fail(err, EINVAL,
			    "these are no words of a recovery sheet, which has "
			    "nine of five letters");
	if (2 * w->valid <= WORDS)
		return fail(err, EACCES,
			    "wrong passphrase: type the passphrase of this "
			    "destination, or the nine words of its recovery "
			    "sheet");
	if (w->count != WORDS)
		return fail(err, EINVAL,
			    "a recovery sheet has nine words, not %zu",
			    w->count);
	if (w->wrong)
		return fail(err, EINVAL,
			    "word %zu of the recovery sheet has a typing error",
			    w->wrong);
	return fail(err, EINVAL,
		    "the words of the recovery sheet have a typing error or "
		    "another order");
}

/* --- the file --- */

/* "check=" and the check of the text before that line, which is the last one in
 * all versions. */
static void write_check(const void *text, size_t len, struct buf *to)
{
	buf_printf(to, "check=%016" PRIx64 "\n", hash_check(text, len));
}

static int add_slot(struct record *r, const char *name, const char *secret,
		    struct seal_slot s, const unsigned char key[SEAL_KEY_LEN],
		    struct err *err)
{
	AUTO(buf) struct buf text = {0};

	if (seal_slot_make(&s, secret, key, err) < 0)
		return -err->num;
	buf_printf(&text, "%s %" PRIu64 " %" PRIu64 " %s %s %s", name, s.memory,
		   s.passes, text_hex(s.salt, sizeof(s.salt)),
		   text_hex(s.nonce, sizeof(s.nonce)),
		   text_hex(s.wrapped, sizeof(s.wrapped)));
	record_add(r, "slot", buf_text(&text));
	return 0;
}

int keyfile_make(const char *passphrase, unsigned char ret_id[KEYFILE_ID_LEN],
		 unsigned char ret_key[SEAL_KEY_LEN],
		 char ret_words[KEYFILE_WORDS_LEN], struct buf *ret_bytes,
		 struct err *err)
{
	static const struct seal_slot usual = {MEMORY, PASSES},
				      least = {LEAST_MEMORY, LEAST_PASSES};
	AUTO(record) struct record r = {0};
	struct words w;
	int got;

	mem_random(ret_id, KEYFILE_ID_LEN);
	mem_random(ret_key, SEAL_KEY_LEN);
	mem_random(w.numbers, sizeof(w.numbers));
	w.numbers[WORDS - 1] = compute_word_check(&w);
	write_words(&w, ret_words);
	record_add(&r, "id", text_hex(ret_id, KEYFILE_ID_LEN));
	got = add_slot(&r, "passphrase", passphrase, usual, ret_key, err);
	if (got == 0)
		got = add_slot(&r, "sheet", ret_words, least, ret_key, err);
	explicit_bzero(&w, sizeof(w));
	if (got < 0)
		return got;
	record_encode(&r, "copy", VERSION, ret_bytes);
	write_check(ret_bytes->data, ret_bytes->len, ret_bytes);
	return 0;
}

static int fail_damaged(struct err *err)
{
	return fail(err, EBADMSG, "%s is damaged", text_quote(KEYFILE_NAME));
}

static int read_keyfile(const struct buf *bytes, struct record *ret,
			struct err *err)
{
	AUTO(buf) struct buf text = {0}, check = {0};
	size_t len;

	if (bytes->len < CHECK_LEN)
		return fail_damaged(err);
	len = bytes->len - CHECK_LEN;
	write_check(bytes->data, len, &check);
	if (memcmp(bytes->data + len, check.data, CHECK_LEN) != 0)
		return fail_damaged(err);
	buf_add(&text, bytes->data, len);
	return record_decode(&text, KEYFILE_NAME, "copy", VERSION, ret, err);
}

int keyfile_read_id(const struct buf *bytes,
		    unsigned char ret_id[KEYFILE_ID_LEN], struct err *err)
{
	AUTO(record) struct record r = {0};
	unsigned char id[KEYFILE_ID_LEN];

	if (read_keyfile(bytes, &r, err) < 0)
		return -err->num;
	if (!text_unhex(id, record_get(&r, "id"), sizeof(id)))
		return fail_damaged(err);
	memcpy(ret_id, id, sizeof(id));
	return 0;
}

static bool find_slot(const struct record *r, const char *name,
		      struct seal_slot *ret)
{
	const char *text;
	size_t i;

	for (i = 0; (text = record_get_nth(r, "slot", i)); i++) {
		char is[16], salt[2 * SEAL_SALT_LEN + 1],
			nonce[2 * SEAL_NONCE_LEN + 1],
			wrapped[2 * SEAL_WRAPPED_LEN + 1];

		if (sscanf(text, "%15s %" SCNu64 " %" SCNu64 " %32s %48s %96s",
			   is, &ret->memory, &ret->passes, salt, nonce,
			   wrapped) == 6 &&
		    strcmp(is, name) == 0)
			return text_unhex(ret->salt, salt, SEAL_SALT_LEN) &&
			       text_unhex(ret->nonce, nonce, SEAL_NONCE_LEN) &&
			       text_unhex(ret->wrapped, wrapped,
					  SEAL_WRAPPED_LEN);
	}
	return false;
}

static int open_slot(const struct record *r, const char *name,
		     const char *secret, unsigned char ret_key[SEAL_KEY_LEN],
		     struct err *err)
{
	struct seal_slot s;

	if (!find_slot(r, name, &s))
		return fail_damaged(err);
	if (s.memory > MOST_MEMORY || s.passes > MOST_PASSES)
		return fail(err, EPROTO,
			    "%s asks for more memory or time than this guard "
			    "gives: update guard",
			    text_quote(KEYFILE_NAME));
	return seal_slot_open(&s, secret, ret_key, err);
}

int keyfile_open(const struct buf *bytes, const char *secret, bool sheet,
		 unsigned char ret_key[SEAL_KEY_LEN], struct err *err)
{
	AUTO(record) struct record r = {0};
	struct words w;
	char words[KEYFILE_WORDS_LEN];
	int got = -EACCES;

	if (read_keyfile(bytes, &r, err) < 0)
		return -err->num;
	parse_words(secret, &w);
	if (words_are_right(&w)) {
		write_words(&w, words);
		got = open_slot(&r, "sheet", words, ret_key, err);
		explicit_bzero(words, sizeof(words));
	}
	if (got == -EACCES && !sheet)
		got = open_slot(&r, "passphrase", secret, ret_key, err);
	if (got == -EACCES)
		got = fail_words(&w, sheet, err);
	explicit_bzero(&w, sizeof(w));
	return got;
}
