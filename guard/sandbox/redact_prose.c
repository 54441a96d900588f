#include "guard/sandbox/redact.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"

/* A shorter value without quotes may be a word. */
#define RANDOM_MIN 8
#define KEY_BEGIN "-----BEGIN "
#define KEY_END "-----END "

/* The part of a line to remove. */
struct secret_span {
	size_t from, end;
};

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* The end of the value that begins at i; in quotes, the next quote. */
static size_t value_end(const char *line, size_t len, size_t i, char quote)
{
	while (i < len && (quote ? line[i] != quote
				 : !strchr(" \t\r\"'`;,()[]{}<>|\\", line[i])))
		i++;
	return i;
}

/* True for letters mixed with digits, long enough not to be a word. */
static bool is_random(const char *value, size_t len)
{
	bool digit = false, letter = false;
	size_t i;

	for (i = 0; i < len; i++) {
		digit |= isdigit((unsigned char)value[i]) != 0;
		letter |= isalpha((unsigned char)value[i]) != 0;
	}
	return len >= RANDOM_MIN && digit && letter;
}

/* True for $TOKEN, <your token>, %s: a reference instead of a secret. */
static bool is_placeholder(const char *value, size_t len)
{
	return len == 0 || strchr("$<{%*(.", value[0]) ||
	       redact_is_harmless(value, len);
}

static bool is_variable(const char *name, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (!isupper((unsigned char)name[i]) &&
		    !isdigit((unsigned char)name[i]) && name[i] != '_')
			return false;
	return true;
}

/* Skips an authentication scheme such as "Bearer " before the value. */
static size_t skip_auth_scheme(const char *line, size_t len, size_t i)
{
	static const char *const kinds[] = {"Bearer ", "Basic ", "token ",
					    NULL};
	const char *const *kind;

	for (kind = kinds; *kind; kind++)
		if (len - i > strlen(*kind) &&
		    strncasecmp(line + i, *kind, strlen(*kind)) == 0)
			return i + strlen(*kind);
	return i;
}

/* Finds the value that begins at i. sure: the syntax cannot be a sentence. */
static bool find_value_span(const char *line, size_t len, size_t i, bool sure,
			    struct secret_span *ret)
{
	char quote = i < len && strchr("\"'`", line[i]) ? line[i] : '\0';
	size_t from = skip_auth_scheme(line, len, i + (quote != '\0')), end;

	end = value_end(line, len, from, quote);
	if (is_placeholder(line + from, end - from) || (quote && end == len) ||
	    (!quote && !sure && !is_random(line + from, end - from)))
		return false;
	/* An argument of a call: f(token=x, y) */
	if (!quote && end < len && strchr(",()[]{}", line[end]) &&
	    !is_random(line + from, end - from))
		return false;
	*ret = (struct secret_span){from, end};
	return true;
}

/* NAME=value, name = "value", "name": "value", name: value */
static bool find_secret_pair(const char *line, size_t len, size_t i,
			     struct secret_span *ret)
{
	size_t end = i, begin, value = i + 1;
	auto_free char *name = NULL;

	while (end && strchr(" \t\"'`*", line[end - 1]))
		end--;
	for (begin = end; begin && is_name(line[begin - 1]);)
		begin--;
	name = mem_strndup(line + begin, end - begin);
	if (begin == end || !redact_is_secret(name) ||
	    (line[i] == ':' && value < len && line[value] == ':'))
		return false;
	while (value < len && is_blank(line[value]))
		value++;
	return find_value_span(line, len, value,
			       line[i] == '=' && end == i && value == i + 1 &&
				       is_variable(name, end - begin),
			       ret);
}

/* --token x */
static bool find_secret_option(const char *line, size_t len, size_t i,
			       struct secret_span *ret)
{
	size_t end = i;
	auto_free char *name = NULL;

	if (i && !is_blank(line[i - 1]))
		return false;
	while (end < len && is_name(line[end]))
		end++;
	name = mem_strndup(line + i, end - i);
	return end < len && is_blank(line[end]) && redact_is_secret(name) &&
	       find_value_span(line, len, end + 1, false, ret);
}

/* ://user:password@ */
static bool find_url_user(const char *line, size_t len, size_t i,
			  struct secret_span *ret)
{
	size_t end = i + 3;

	if (len - i < 3 || memcmp(line + i, "://", 3) != 0)
		return false;
	while (end < len && !strchr("/@ \t\"'`<>\r)", line[end]))
		end++;
	*ret = (struct secret_span){i + 3, end + 1};
	return end < len && line[end] == '@' && end > i + 3 &&
	       line[i + 3] != '$';
}

static bool find_token(const char *line, size_t len, size_t i,
		       struct secret_span *ret)
{
	size_t end = i;

	if (!redact_is_token(line, len, i))
		return false;
	while (end < len && is_name(line[end]))
		end++;
	*ret = (struct secret_span){i, end};
	return true;
}

static bool find_prose_secret(const char *line, size_t len, size_t i,
			      struct secret_span *ret)
{
	switch (line[i]) {
	case '=':
		return find_secret_pair(line, len, i, ret);
	case ':':
		return find_url_user(line, len, i, ret) ||
		       find_secret_pair(line, len, i, ret);
	case '-':
		return find_secret_option(line, len, i, ret);
	default:
		return find_token(line, len, i, ret);
	}
}

static bool redact_prose_line(const char *line, size_t len, struct buf *to)
{
	size_t done = 0, i;
	bool any = false;
	struct secret_span secret_span;

	for (i = 0; i < len; i++) {
		if (!find_prose_secret(line, len, i, &secret_span))
			continue;
		buf_add(to, line + done, secret_span.from - done);
		done = secret_span.end;
		i = secret_span.end - 1;
		any = true;
	}
	buf_add(to, line + done, len - done);
	return any;
}

bool redact_prose(const void *data, size_t len, struct buf *to)
{
	const char *at = data, *end = at + len;
	bool any = false, in_key = false;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t line = (size_t)((stop ? stop : end) - at);

		if (memmem(at, line, KEY_END, strlen(KEY_END)))
			in_key = false;
		if (!in_key) {
			any |= redact_prose_line(at, line, to);
			if (stop)
				buf_add_char(to, '\n');
		}
		any |= in_key;
		if (memmem(at, line, KEY_BEGIN, strlen(KEY_BEGIN)) &&
		    memmem(at, line, "PRIVATE KEY", 11))
			in_key = true;
		at += line + 1;
	}
	return any;
}
