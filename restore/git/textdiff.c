#include "restore/git/textdiff.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "restore/git/git_ops.h"
#include "restore/parse/parse.h"

/* git looks for a NUL in so many bytes, and takes larger files for binary. */
#define NUL_WITHIN 8000
#define TEXT_MAX (512u << 20)
/* Longest text behind the numbers of a hunk's header. */
#define HEADER_TEXT_MAX 256
/* Of a line that names a function, as libgit2 has it. */
#define FUNCTION_MAX 80
/* Equal lines at both ends that the worker gets besides the context: a change
 * among repeated lines has more than one place, and git takes the last. */
#define KEEP_LINES 16
/* Fewer equal bytes are not worth the search. */
#define TRIM_LEAST 512

/* The check of an answer: unchanged lines are equal in both texts, and the
 * hunks account for every other line. */
struct check {
	struct textdiff_reader old, now;
	uint64_t skipped; /* equal lines that the worker does not get */
	const char *start; /* of the old text */
	size_t skipped_len;
	uint64_t added, removed;
	int (*each)(void *arg, const struct textdiff_line *line);
	void *arg;
	bool stopped; /* by each() */
};

struct textdiff_reader textdiff_read(const void *data, size_t len)
{
	const char *start = data ? data : "";

	return (struct textdiff_reader){start, start + len, 0};
}

bool textdiff_next(struct textdiff_reader *r, const char **ret, size_t *ret_len)
{
	const char *feed;

	if (r->at == r->end)
		return false;
	feed = memchr(r->at, '\n', (size_t)(r->end - r->at));
	*ret = r->at;
	r->at = feed ? feed + 1 : r->end;
	*ret_len = (size_t)(r->at - *ret);
	r->line++;
	return true;
}

static bool pass(struct check *c, const struct textdiff_line *line)
{
	if (c->each && c->each(c->arg, line) < 0)
		c->stopped = true;
	return !c->stopped;
}

/* Lines up to the next hunk. */
static bool skip_equal(struct check *c, uint64_t old_at, uint64_t new_at)
{
	const char *old = c->old.at, *now = c->now.at, *text;
	size_t len;

	if (old_at < c->old.line || new_at < c->now.line ||
	    old_at - c->old.line != new_at - c->now.line)
		return false;
	while (c->old.line < old_at)
		if (!textdiff_next(&c->old, &text, &len))
			return false;
	len = (size_t)(c->old.at - old);
	if ((size_t)(c->now.end - now) < len ||
	    (len && memcmp(old, now, len) != 0))
		return false;
	c->now.at += len;
	c->now.line = new_at;
	return true;
}

static bool pass_line(struct check *c, unsigned kind)
{
	static const char kinds[] = {
		[DIFF_CONTEXT] = ' ',
		[DIFF_ADDED] = '+',
		[DIFF_DELETED] = '-',
	};
	static const char note[] = "\\ No newline at end of file\n";
	struct textdiff_line line = {.kind = kinds[kind]}, other = {0};

	if (kind != DIFF_DELETED &&
	    !textdiff_next(&c->now, &line.text, &line.len))
		return false;
	other = line;
	if (kind != DIFF_ADDED &&
	    !textdiff_next(&c->old, &line.text, &line.len))
		return false;
	if (kind == DIFF_CONTEXT &&
	    (line.len != other.len || memcmp(line.text, other.text, line.len)))
		return false;
	c->added += kind == DIFF_ADDED;
	c->removed += kind == DIFF_DELETED;
	if (!pass(c, &line))
		return false;
	if (line.text[line.len - 1] == '\n')
		return true;
	return pass(c, &(struct textdiff_line){.kind = '\\',
					       .text = note,
					       .len = sizeof(note) - 1});
}

static void add_range(struct buf *to, char mark, uint64_t at, uint64_t count)
{
	buf_printf(to, "%c%llu", mark, (unsigned long long)(at + (count > 0)));
	if (count != 1)
		buf_printf(to, ",%llu", (unsigned long long)count);
	buf_add_char(to, ' ');
}

/* Adds the last of the skipped lines that names a function, as git does in
 * headers of hunks: such a line begins with a letter, '_' or '$'. */
static void add_function(const struct check *c, struct buf *to)
{
	const char *end = c->start + c->skipped_len;

	while (end > c->start) {
		const char *feed =
			memrchr(c->start, '\n', (size_t)(end - 1 - c->start));
		const char *at = feed ? feed + 1 : c->start;
		size_t len = (size_t)(end - at);

		if (*at == '_' || *at == '$' ||
		    ((*at | 0x20) >= 'a' && (*at | 0x20) <= 'z')) {
			len = len > FUNCTION_MAX ? FUNCTION_MAX : len;
			while (len && strchr(" \t\n\v\f\r", at[len - 1]))
				len--;
			buf_add_char(to, ' ');
			buf_add(to, at, len);
			return;
		}
		end = at;
	}
}

static bool pass_hunk(struct check *c, struct dec *d)
{
	uint64_t old_at = dec_var(d) + c->skipped, old_count = dec_var(d);
	uint64_t new_at = dec_var(d) + c->skipped, new_count = dec_var(d);
	uint64_t runs, length;
	size_t len;
	const unsigned char *text = dec_bytes(d, &len);
	AUTO(buf) struct buf header = {0};
	struct textdiff_line line = {.kind = '@'};

	runs = dec_var(d);
	if (d->bad || len > HEADER_TEXT_MAX ||
	    (len && memchr(text, '\n', len)) || (!old_count && !new_count) ||
	    !skip_equal(c, old_at, new_at))
		return false;
	buf_add_text(&header, "@@ ");
	add_range(&header, '-', old_at, old_count);
	add_range(&header, '+', new_at, new_count);
	buf_add_text(&header, "@@");
	buf_add(&header, text, len);
	if (!len)
		add_function(c, &header);
	buf_add_char(&header, '\n');
	line.text = (const char *)header.data;
	line.len = header.len;
	line.old_at = old_at;
	line.new_at = new_at;
	if (!pass(c, &line))
		return false;
	while (runs-- && !d->bad) {
		length = dec_var(d);
		if (d->bad || (length & 3) > DIFF_DELETED)
			return false;
		for (; length >> 2; length -= 4)
			if (!pass_line(c, length & 3))
				return false;
	}
	return !d->bad && c->old.line == old_at + old_count &&
	       c->now.line == new_at + new_count;
}

/* 0; 1: not text; -EPROTO: the answer is not a difference of the texts. */
static int check_answer(struct check *c, const struct buf *answer,
			struct err *err)
{
	struct dec d = dec_start(answer->data, answer->len);
	bool binary = dec_u8(&d), good = !d.bad;
	uint32_t hunks;

	if (binary)
		return dec_end(&d) ? 1 : parse_refuse(err);
	hunks = dec_u32(&d);
	while (good && hunks-- && !d.bad)
		good = pass_hunk(c, &d);
	if (c->stopped)
		return fail(err, ECANCELED, "the comparison was stopped");
	/* Unchanged lines behind the last hunk. */
	good = good && dec_end(&d) &&
	       c->old.end - c->old.at == c->now.end - c->now.at &&
	       (c->old.at == c->old.end ||
		memcmp(c->old.at, c->now.at,
		       (size_t)(c->old.end - c->old.at)) == 0);
	return good ? 0 : parse_refuse(err);
}

/* As libgit2 decides, so that a worker cannot hide a text. */
static bool is_binary(const void *data, size_t len)
{
	return len > TEXT_MAX ||
	       (len && memchr(data, '\0', len < NUL_WITHIN ? len : NUL_WITHIN));
}

static uint64_t count_lines(struct textdiff_reader s)
{
	const char *text;
	size_t len;

	while (textdiff_next(&s, &text, &len))
		;
	return s.line;
}

/* The answer for a text and an empty one: one hunk, for which no worker is
 * asked. */
static void add_only_hunk(const struct check *c, struct buf *to)
{
	uint64_t old = count_lines(c->old), now = count_lines(c->now);

	enc_u8(to, 0);
	enc_u32(to, old || now);
	if (!old && !now)
		return;
	enc_var(to, 0);
	enc_var(to, old);
	enc_var(to, 0);
	enc_var(to, now);
	enc_bytes(to, "", 0);
	enc_var(to, 1);
	enc_var(to, old ? old << 2 | DIFF_DELETED : now << 2 | DIFF_ADDED);
}

/* --- equal ends --- */

/* The start of the line that so many lines precede the one at `at`. */
static const char *lines_back(const char *start, const char *at, uint64_t lines)
{
	for (lines++; lines && at > start; lines--) {
		const char *feed = memrchr(start, '\n', (size_t)(at - start));

		at = feed ? feed : start;
	}
	return at > start ? at + 1 : start;
}

static const char *lines_on(const char *at, const char *end, uint64_t lines)
{
	for (lines++; lines && at < end; lines--) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));

		at = feed ? feed + 1 : end;
	}
	return at;
}

/* Leaves equal lines at both ends to guard: libgit2 computes two hashes of
 * every byte. Of two differences that are as short, it may then find the other
 * one. */
static void trim(struct check *c, uint64_t keep, struct parse_text in[2])
{
	const char *old = in[0].data, *now = in[1].data;
	size_t least = in[0].len < in[1].len ? in[0].len : in[1].len;
	size_t start = mem_equal_start(old, now, least);
	size_t end = mem_equal_end(c->old.end, c->now.end, least - start);
	const char *text;
	size_t len;

	start = (size_t)(lines_back(old, old + start, keep) - old);
	end = (size_t)(c->old.end -
		       lines_on(c->old.end - end, c->old.end, keep));
	if (start + end < TRIM_LEAST)
		return;
	while (c->old.at < old + start)
		(void)textdiff_next(&c->old, &text, &len);
	c->now.at = now + start;
	c->now.line = c->skipped = c->old.line;
	c->skipped_len = start;
	in[0] = (struct parse_text){old + start, in[0].len - start - end};
	in[1] = (struct parse_text){now + start, in[1].len - start - end};
}

int textdiff(const void *old, size_t old_len, const void *now, size_t now_len,
	     int context_lines,
	     int (*each)(void *arg, const struct textdiff_line *line),
	     void *arg, size_t *ret_added, size_t *ret_removed, struct err *err)
{
	AUTO(buf) struct buf context = {0}, answer = {0};
	struct parse_text in[3] = {{old, old_len}, {now, now_len}};
	struct check c = {
		.old = textdiff_read(old, old_len),
		.now = textdiff_read(now, now_len),
		.start = old ? old : "",
		.each = each,
		.arg = arg,
	};
	int got;

	if (is_binary(old, old_len) || is_binary(now, now_len))
		return 1;
	enc_u32(&context, (uint32_t)context_lines);
	in[2] = (struct parse_text){context.data, context.len};
	if (!old_len || !now_len) {
		add_only_hunk(&c, &answer);
	} else {
		trim(&c, (uint64_t)context_lines + KEEP_LINES, in);
		if (parse_call(PARSE_DIFF, in, 3, &answer, err) < 0)
			return -err->num;
	}
	got = check_answer(&c, &answer, err);
	if (got > 0)
		return parse_refuse(err);
	if (got == 0 && ret_added)
		*ret_added = c.added;
	if (got == 0 && ret_removed)
		*ret_removed = c.removed;
	return got;
}

int textdiff_available(struct err *err)
{
	return textdiff("a", 1, "b", 1, 0, NULL, NULL, NULL, NULL, err);
}
