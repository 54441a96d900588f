#include "guard/history/matcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"

/* Bytes that are searched for a NUL, as in git: a file with a NUL there is
 * binary. */
#define BINARY_WITHIN 8000

/* Returns the place behind the bracket expression that begins here. */
static const char *skip_brackets(const char *at)
{
	at += at[1] == '^' ? 2 : 1;
	/* A ']' at the first place is a character of the expression. */
	for (at += *at == ']'; *at && *at != ']'; at++)
		if (*at == '[' && at[1] && strchr(".:=", at[1]))
			return at + strlen(at);
	return at + (*at == ']');
}

/*
 * The longest text that every match contains. A search for fixed bytes is much
 * faster than the automaton. Only plain expressions are understood.
 */
static char *required_text(const char *at)
{
	AUTO(buf) struct buf run = {0}, best = {0};

	if (at[strcspn(at, "|()\\")])
		return mem_strdup("");
	while (*at) {
		if (!strchr("^$.[]*+?{}", *at)) {
			buf_add_char(&run, *at++);
			if (!*at || !strchr("*?{", *at))
				continue;
			run.len--;
		}
		if (run.len > best.len) {
			buf_clear(&best);
			buf_add(&best, run.data, run.len);
		}
		buf_clear(&run);
		at = *at == '['	  ? skip_brackets(at)
		     : *at == '{' ? at + strcspn(at, "}")
		     : *at	  ? at + 1
				  : at;
	}
	return mem_strdup(run.len > best.len ? buf_text(&run)
					     : buf_text(&best));
}

int matcher_compile(struct matcher *ret, const char *pattern, bool fixed,
		    bool no_case, struct err *err)
{
	AUTO(buf) struct buf escaped = {0};
	struct matcher m = {.text = no_case ? mem_strdup("")
				    : fixed ? mem_strdup(pattern)
					    : required_text(pattern)};
	const char *at;
	char why[160];
	int got;

	m.len = strlen(m.text);
	m.literal = m.len && strcmp(m.text, pattern) == 0;
	if (m.literal) {
		*ret = m;
		return 0;
	}
	for (at = pattern; *at; at++) {
		if (fixed && strchr("\\^$.[]|()*+?{}", *at))
			buf_add_char(&escaped, '\\');
		buf_add_char(&escaped, *at);
	}
	got = regcomp(&m.regex, buf_text(&escaped),
		      REG_EXTENDED | REG_NEWLINE | (no_case ? REG_ICASE : 0));
	if (got) {
		(void)regerror(got, &m.regex, why, sizeof(why));
		free(m.text);
		return fail(err, EINVAL,
			    "invalid regular expression %s: %s (-F searches "
			    "for plain text)",
			    text_quote(pattern), why);
	}
	m.compiled = true;
	*ret = m;
	return 0;
}

void matcher_free(struct matcher *m)
{
	if (m->compiled)
		regfree(&m->regex);
	free(m->text);
	*m = (struct matcher){0};
}

/* Finds the first match in [from, len); an empty match counts. */
static bool find_regex(const struct matcher *m, const char *data, size_t len,
		       size_t from, size_t *ret_start, size_t *ret_end)
{
	regmatch_t at = {.rm_so = (regoff_t)from, .rm_eo = (regoff_t)len};

	if (regexec(&m->regex, data, 1, &at, REG_STARTEND) != 0)
		return false;
	*ret_start = (size_t)at.rm_so;
	*ret_end = (size_t)at.rm_eo;
	return true;
}

/* Finds the first match; from is the start of a line. */
static bool find_match(const struct matcher *m, const char *data, size_t len,
		       size_t from, size_t *ret_start, size_t *ret_end)
{
	const char *found;

	if (!m->len)
		return find_regex(m, data, len, from, ret_start, ret_end);
	while ((found = memmem(data + from, len - from, m->text, m->len))) {
		size_t at = (size_t)(found - data);
		const char *feed = memchr(found, '\n', len - at);
		const char *before = memrchr(data + from, '\n', at - from);
		size_t stop = feed ? (size_t)(feed - data) : len;

		*ret_start = at;
		*ret_end = at + m->len;
		if (m->literal ||
		    find_regex(m, data, stop,
			       before ? (size_t)(before - data) + 1 : from,
			       ret_start, ret_end))
			return true;
		if (stop == len)
			break;
		from = stop + 1;
	}
	return false;
}

static uint64_t count_line_feeds(const char *data, size_t len)
{
	const char *end = data + len;
	uint64_t n = 0;

	while (data < end &&
	       (data = memchr(data, '\n', (size_t)(end - data)))) {
		data++;
		n++;
	}
	return n;
}

/* Scans complete lines; only the last line may lack its line feed. */
static int scan_lines(struct scanner *s, const char *data, size_t len,
		      struct err *err)
{
	size_t from = 0, counted = 0, start, end;
	int got;

	while (from < len &&
	       find_match(s->matcher, data, len, from, &start, &end)) {
		const char *before = memrchr(data, '\n', start);
		const char *feed = memchr(data + start, '\n', len - start);
		size_t line = before ? (size_t)(before - data) + 1 : 0;
		size_t stop = feed ? (size_t)(feed - data) : len;

		/* No line begins behind the last line feed. */
		if (line == len)
			break;
		s->any = true;
		if (!s->each || s->binary)
			return 1;
		s->lines += count_line_feeds(data + counted, line - counted);
		counted = line;
		got = s->each(s->arg,
			      &(struct match){
				      .number = s->lines + 1,
				      .line = data + line,
				      .len = stop - line,
				      .start = start - line,
				      .end = (end < stop ? end : stop) - line,
			      },
			      err);
		if (got < 0)
			return got;
		from = stop + 1;
	}
	s->lines += count_line_feeds(data + counted, len - counted);
	return 0;
}

/* Completes the unfinished line; *ret_used: the number of bytes taken from
 * data. */
static int complete_line(struct scanner *s, const char *data, size_t len,
			 size_t *ret_used, struct err *err)
{
	const char *feed = memchr(data, '\n', len);
	size_t used = feed ? (size_t)(feed - data) + 1 : len;
	size_t free_bytes = MATCHER_LINE_MAX - s->rest.len;
	int got = 0;

	*ret_used = used;
	if (!s->cut) {
		buf_add(&s->rest, data, used < free_bytes ? used : free_bytes);
		s->cut = used > free_bytes;
	}
	if (!feed)
		return 0;
	if (s->cut)
		buf_add_char(&s->rest, '\n');
	got = scan_lines(s, (const char *)s->rest.data, s->rest.len, err);
	buf_clear(&s->rest);
	s->cut = false;
	return got;
}

int scanner_add(struct scanner *s, const void *bytes, size_t len,
		struct err *err)
{
	const char *data = bytes, *feed;
	size_t early = s->seen < BINARY_WITHIN ? BINARY_WITHIN - s->seen : 0;
	size_t used;
	int got;

	if (memchr(data, '\0', len < early ? len : early))
		s->binary = true;
	s->seen += len;
	if (s->rest.len || s->cut) {
		got = complete_line(s, data, len, &used, err);
		if (got)
			return got;
		data += used;
		len -= used;
	}
	feed = memrchr(data, '\n', len);
	used = feed ? (size_t)(feed - data) + 1 : 0;
	got = used ? scan_lines(s, data, used, err) : 0;
	if (got)
		return got;
	return len > used
		       ? complete_line(s, data + used, len - used, &used, err)
		       : 0;
}

int scanner_end(struct scanner *s, struct err *err)
{
	return s->rest.len ? scan_lines(s, (const char *)s->rest.data,
					s->rest.len, err)
			   : 0;
}

void scanner_free(struct scanner *s)
{
	buf_free(&s->rest);
}
