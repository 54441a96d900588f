/* users: one */
#include "tests/unit/directory_fixture.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "snapshot/backup/keyfile.h"
#include "snapshot/store/hash.h"

#define CHECK_LEN 23

static unsigned char id[KEYFILE_ID_LEN], key[SEAL_KEY_LEN];
static char words[KEYFILE_WORDS_LEN];
static struct buf file;

static int make_file(void **state)
{
	struct err err;

	(void)state;
	ok(keyfile_make("my passphrase", id, key, words, &file, &err));
	return 0;
}

static int free_file(void **state)
{
	(void)state;
	buf_free(&file);
	return 0;
}

/* Puts `to` in the place of `from`, and a right check at the end. */
static struct buf edit(const char *from, const char *to)
{
	struct buf b = {0};
	const char *at = strstr(buf_text(&file), from);

	assert_non_null(at);
	buf_add(&b, file.data, (size_t)(at - buf_text(&file)));
	buf_add_text(&b, to);
	buf_add_text(&b, at + strlen(from));
	b.len -= CHECK_LEN;
	buf_printf(&b, "check=%016" PRIx64 "\n", hash_check(b.data, b.len));
	return b;
}

/* A file that takes a wrong passphrase in no time, for many tries. */
static struct buf fast_file(void)
{
	return edit("67108864 3", "8192 1");
}

static int open_with(const struct buf *b, const char *secret, struct err *err)
{
	unsigned char got[SEAL_KEY_LEN] = {0};

	if (keyfile_open(b, secret, false, got, err) < 0)
		return -err->num;
	assert_memory_equal(got, key, SEAL_KEY_LEN);
	return 0;
}

static void passphrase_and_sheet_open_it(void **state)
{
	unsigned char got[KEYFILE_ID_LEN];
	struct err err;

	(void)state;
	assert_memory_equal(buf_text(&file), "guard-copy 1\nid=", 16);
	ok(keyfile_read_id(&file, got, &err));
	assert_memory_equal(got, id, sizeof(id));
	ok(open_with(&file, "my passphrase", &err));
	ok(open_with(&file, words, &err));
	assert_null(strstr(buf_text(&file), "my passphrase"));
	assert_null(strstr(buf_text(&file), text_hex(key, sizeof(key))));
}

static void a_wrong_passphrase_is_refused(void **state)
{
	AUTO(buf) struct buf b = fast_file();
	struct err err;

	(void)state;
	assert_int_equal(open_with(&file, "My passphrase", &err), -EACCES);
	assert_non_null(strstr(err.text, "wrong passphrase"));
	assert_int_equal(open_with(&b, "", &err), -EACCES);
	assert_int_equal(open_with(&b, "two words", &err), -EACCES);
}

static void words_are_read_in_any_case_with_dashes_and_blanks(void **state)
{
	AUTO(buf) struct buf typed = {0};
	struct err err;
	size_t i;

	(void)state;
	buf_add_text(&typed, "  ");
	for (i = 0; words[i]; i++)
		if (words[i] == ' ')
			buf_add_text(&typed, i % 4 ? "-" : " - ");
		else
			buf_add_char(
				&typed,
				(char)(i % 3 ? toupper((unsigned char)words[i])
					     : words[i]));
	buf_add_text(&typed, "\n");
	ok(open_with(&file, buf_text(&typed), &err));
}

static void a_typing_error_is_found_and_an_impossible_word_named(void **state)
{
	AUTO(buf) struct buf b = fast_file();
	size_t i;
	struct err err;

	(void)state;
	for (i = 0; words[i]; i++) {
		const char *c = i % 6 % 2 ? "aioue" : "bdfghjklmnprstvzcx1";
		char typed[KEYFILE_WORDS_LEN];
		auto_free char *word = mem_printf("word %zu of ", i / 6 + 1);

		(void)strcpy(typed, words);
		for (; words[i] != ' ' && *c; c++) {
			if (*c == words[i])
				continue;
			typed[i] = *c;
			assert_int_equal(open_with(&b, typed, &err), -EINVAL);
			assert_int_equal(strstr(err.text, word) != NULL,
					 strchr(i % 6 % 2 ? "e" : "cx1", *c) !=
						 NULL);
		}
	}
}

static void missing_and_swapped_words_are_found(void **state)
{
	AUTO(buf) struct buf b = fast_file();
	auto_free char *ten = mem_printf("%s babab", words);
	char swapped[KEYFILE_WORDS_LEN];
	struct err err;

	(void)state;
	assert_int_equal(open_with(&b, words + 6, &err), -EINVAL);
	assert_non_null(strstr(err.text, "nine words, not 8"));
	assert_int_equal(open_with(&b, ten, &err), -EINVAL);
	assert_non_null(strstr(err.text, "nine words, not 10"));
	(void)strcpy(swapped, words);
	memcpy(swapped, words + 6, 5);
	memcpy(swapped + 6, words, 5);
	assert_int_equal(open_with(&b, swapped, &err),
			 memcmp(words, words + 6, 5) ? -EINVAL : 0);
}

static void a_sheet_of_another_destination_is_refused(void **state)
{
	AUTO(buf) struct buf b = fast_file(), other = {0};
	unsigned char other_id[KEYFILE_ID_LEN], other_key[SEAL_KEY_LEN];
	char other_words[KEYFILE_WORDS_LEN];
	struct err err;

	(void)state;
	ok(keyfile_make("my passphrase", other_id, other_key, other_words,
			&other, &err));
	assert_memory_not_equal(id, other_id, sizeof(id));
	assert_memory_not_equal(key, other_key, sizeof(key));
	assert_string_not_equal(words, other_words);
	assert_int_equal(open_with(&b, other_words, &err), -EACCES);
	assert_non_null(strstr(err.text, "another destination"));
}

static void every_change_and_cut_is_damage(void **state)
{
	AUTO(buf) struct buf b = {0};
	unsigned char got[KEYFILE_ID_LEN];
	struct err err;
	size_t i;

	(void)state;
	buf_add(&b, file.data, file.len);
	for (i = 0; i < 8 * b.len; i++) {
		b.data[i / 8] ^= (unsigned char)(1 << i % 8);
		assert_int_equal(keyfile_read_id(&b, got, &err), -EBADMSG);
		assert_int_equal(open_with(&b, words, &err), -EBADMSG);
		b.data[i / 8] ^= (unsigned char)(1 << i % 8);
	}
	while (b.len--)
		assert_int_equal(open_with(&b, words, &err), -EBADMSG);
}

static void other_versions_and_wrong_values_are_refused(void **state)
{
	static const struct {
		const char *from, *to;
		int num;
	} cases[] = {
		{"guard-copy 1", "guard-copy 2", EPROTO},
		{"guard-copy 1", "guard-copx 1", EBADMSG},
		{"sheet 8192 1", "sheet 4294967296 1", EPROTO},
		{"sheet 8192 1", "sheet 8192 17", EPROTO},
		{"sheet 8192 1", "sheet -8192 1", EPROTO},
		{"sheet 8192 1", "sheet 8192", EBADMSG},
		{"sheet 8192 1 ", "sheet 8192 1 0", EBADMSG},
		{"sheet 8192 1", "sheet 1 1", EINVAL},
		{"slot=sheet", "slot=later", EBADMSG},
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO(buf) struct buf b = edit(cases[i].from, cases[i].to);
		struct err err;

		assert_int_equal(open_with(&b, words, &err), -cases[i].num);
	}
}

/* The files of tests/lib/tap.sh have the first version of the format. */
static void files_of_the_first_version_open(void **state)
{
	AUTO(buf) struct buf b = {0}, sheet = {0};
	unsigned char by_passphrase[SEAL_KEY_LEN], by_words[SEAL_KEY_LEN];
	struct err err;

	(void)state;
	ok(fd_slurp_at(AT_FDCWD, "tests/data/destinations/1", 4096, &b, &err));
	ok(fd_slurp_at(AT_FDCWD, "tests/data/destinations/words", 100, &sheet,
		       &err));
	ok(keyfile_open(&b, "a long passphrase", false, by_passphrase, &err));
	ok(keyfile_open(&b, buf_text(&sheet), false, by_words, &err));
	assert_memory_equal(by_passphrase, by_words, SEAL_KEY_LEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passphrase_and_sheet_open_it),
		cmocka_unit_test(a_wrong_passphrase_is_refused),
		cmocka_unit_test(
			words_are_read_in_any_case_with_dashes_and_blanks),
		cmocka_unit_test(
			a_typing_error_is_found_and_an_impossible_word_named),
		cmocka_unit_test(missing_and_swapped_words_are_found),
		cmocka_unit_test(a_sheet_of_another_destination_is_refused),
		cmocka_unit_test(every_change_and_cut_is_damage),
		cmocka_unit_test(other_versions_and_wrong_values_are_refused),
		cmocka_unit_test(files_of_the_first_version_open),
	};

	return cmocka_run_group_tests(tests, make_file, free_file);
}
