#include "guard/review/words.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "base/auto.h"

/* Longer lines are compared at their ends only: the table grows with the
 * product. */
#define WORDS_MAX 400

/* One line as words: between the parts at both ends that are equal. */
struct words_line {
	const char *text;
	struct words_range words[WORDS_MAX];
	size_t count;
};

static bool is_word_byte(char c)
{
	return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static size_t word_len(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && is_word_byte(text[n]))
		n++;
	return n ? n : 1;
}

/* false: too many words. */
static bool split_words(const char *text, size_t from, size_t end,
			struct words_line *to)
{
	to->text = text;
	to->count = 0;
	while (from < end) {
		size_t len = word_len(text + from, end - from);

		if (to->count == WORDS_MAX)
			return false;
		to->words[to->count++] = (struct words_range){from, len};
		from += len;
	}
	return true;
}

static bool same_word(const struct words_line *a, size_t i,
		      const struct words_line *b, size_t k)
{
	return a->words[i].len == b->words[k].len &&
	       memcmp(a->text + a->words[i].at, b->text + b->words[k].at,
		      a->words[i].len) == 0;
}

static void add_range(struct words_ranges *to, struct words_range range)
{
	struct words_range *last = to->count ? &to->items[to->count - 1] : NULL;

	if (!range.len)
		return;
	if (last && last->at + last->len == range.at)
		last->len += range.len;
	else
		*VEC_ADD(to) = range;
}

/* Bytes that are no blanks. */
static size_t count_visible(const char *text, size_t len)
{
	size_t n = 0, i;

	for (i = 0; i < len; i++)
		n += text[i] != ' ' && text[i] != '\t';
	return n;
}

/* The longest common subsequence, from the end; returns the bytes of it that
 * are no blanks. */
static size_t compare_words(const struct words_line *a,
			    const struct words_line *b,
			    struct words_ranges *ret_a,
			    struct words_ranges *ret_b)
{
	size_t wide = b->count + 1, common = 0, i, k;
	auto_free uint16_t *best =
		mem_zalloc((a->count + 1) * wide * sizeof(*best));

	for (i = a->count; i-- > 0;)
		for (k = b->count; k-- > 0;) {
			uint16_t down = best[(i + 1) * wide + k];
			uint16_t right = best[i * wide + k + 1];

			best[i * wide + k] =
				same_word(a, i, b, k)
					? best[(i + 1) * wide + k + 1] + 1
				: down > right ? down
					       : right;
		}
	for (i = k = 0; i < a->count || k < b->count;) {
		if (i < a->count && k < b->count && same_word(a, i, b, k)) {
			common += count_visible(a->text + a->words[i].at,
						a->words[i].len);
			i++;
			k++;
		} else if (k == b->count ||
			   (i < a->count && best[(i + 1) * wide + k] >=
						    best[i * wide + k + 1])) {
			add_range(ret_a, a->words[i++]);
		} else {
			add_range(ret_b, b->words[k++]);
		}
	}
	return common;
}

/* Bytes at the beginning that both have, up to the end of a word. */
static size_t common_start(const char *a, size_t a_len, const char *b,
			   size_t b_len)
{
	size_t n = 0;

	while (n < a_len && n < b_len && a[n] == b[n])
		n++;
	while (n &&
	       ((n < a_len && is_word_byte(a[n])) ||
		(n < b_len && is_word_byte(b[n]))) &&
	       is_word_byte(a[n - 1]))
		n--;
	return n;
}

static size_t common_end(const char *a, size_t a_len, const char *b,
			 size_t b_len)
{
	size_t n = 0;

	while (n < a_len && n < b_len && a[a_len - n - 1] == b[b_len - n - 1])
		n++;
	while (n &&
	       ((n < a_len && is_word_byte(a[a_len - n - 1])) ||
		(n < b_len && is_word_byte(b[b_len - n - 1]))) &&
	       is_word_byte(a[a_len - n]))
		n--;
	return n;
}

void words_compare(const char *old, size_t old_len, const char *now,
		   size_t now_len, struct words_ranges *ret_old,
		   struct words_ranges *ret_now)
{
	auto_free struct words_line *a = mem_alloc(sizeof(*a));
	auto_free struct words_line *b = mem_alloc(sizeof(*b));
	size_t start = common_start(old, old_len, now, now_len);
	size_t end = common_end(old + start, old_len - start, now + start,
				now_len - start);
	size_t common = count_visible(old, start) +
			count_visible(old + old_len - end, end);
	size_t old_all = count_visible(old, old_len);
	size_t now_all = count_visible(now, now_len);
	const size_t old_had = ret_old->count, now_had = ret_now->count;

	if (split_words(old, start, old_len - end, a) &&
	    split_words(now, start, now_len - end, b)) {
		common += compare_words(a, b, ret_old, ret_now);
	} else {
		add_range(ret_old,
			  (struct words_range){start, old_len - end - start});
		add_range(ret_now,
			  (struct words_range){start, now_len - end - start});
	}
	if (common * 3 < (old_all > now_all ? old_all : now_all)) {
		ret_old->count = old_had;
		ret_now->count = now_had;
	}
}
