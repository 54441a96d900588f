#include "guard/sandbox/redact.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"

#define NUMBER_MAX 5

static const char *const words[] = {
	"token",       "passw",	     "passphrase", "secret",	  "_auth",
	"authident",   "apikey",     "api_key",	   "api-key",	  "accesskey",
	"access_key",  "access-key", "privatekey", "private_key", "private-key",
	"extraheader", NULL,
};

struct redact {
	struct buf *to;
	bool any;
	char *element; /* of XML, whose text goes; NULL: none */
	bool joined; /* the last line goes on in this one: a backslash */
	bool dropping; /* lines that are further in than this: */
	size_t indent;
};

static bool is_secret(const char *name, size_t len)
{
	auto_free char *text = mem_strndup(name, len);
	const char *const *word;

	for (word = words; *word; word++)
		if (strcasestr(text, *word))
			return true;
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return len >= 4 && strncasecmp(text + len - 4, "pass", 4) == 0;
}

bool redact_is_secret(const char *name)
{
	return is_secret(name, strlen(name));
}

/* Copies it without what an URL says of its user. */
static void put_text(struct redact *r, const char *text, size_t len)
{
	const char *end = text + len, *at = text;

	while (at < end) {
		const char *mark = memmem(at, (size_t)(end - at), "://", 3);
		size_t user;

		if (!mark)
			break;
		mark += 3;
		buf_add(r->to, at, (size_t)(mark - at));
		for (user = 0; mark + user < end; user++)
			if (strchr("/@ \t\"'<>\r\n", mark[user]))
				break;
		if (mark + user < end && mark[user] == '@') {
			r->any = true;
			mark += user + 1;
		}
		at = mark;
	}
	buf_add(r->to, at, (size_t)(end - at));
}

static size_t indent_of(const char *line, size_t len)
{
	size_t i = 0;

	while (i < len && (line[i] == ' ' || line[i] == '\t'))
		i++;
	return i;
}

/* Where the value begins behind "key = " or "key: "; 0: there is none. */
static size_t value_at(const char *line, size_t len, size_t *ret_key_len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (line[i] != '=' &&
		    !(line[i] == ':' && i + 1 < len && line[i + 1] == ' '))
			continue;
		*ret_key_len = i++;
		return i + indent_of(line + i, len - i);
	}
	return 0;
}

/* A switch or a short number tells nothing. */
static bool is_harmless(const char *value, size_t len)
{
	static const char *const switches[] = {"true", "false", "yes", "no",
					       "on",   "off",	NULL};
	const char *const *s;
	size_t i;

	for (s = switches; *s; s++)
		if (strlen(*s) == len && strncasecmp(value, *s, len) == 0)
			return true;
	for (i = 0; i < len; i++)
		if (!isdigit((unsigned char)value[i]))
			return false;
	return len <= NUMBER_MAX;
}

static bool cut_value(struct redact *r, const char *line, size_t len)
{
	size_t key_len = 0, at = value_at(line, len, &key_len);

	if (!at || !is_secret(line, key_len) ||
	    is_harmless(line + at, len - at))
		return false;
	put_text(r, line, at);
	r->any = r->dropping = true;
	r->indent = indent_of(line, len);
	r->joined = line[len - 1] == '\\';
	return true;
}

/* The line behind an element's end, or NULL: it goes on. */
static const char *find_end(const struct redact *r, const char *line,
			    const char *end)
{
	size_t len = strlen(r->element);
	const char *at = line;

	while ((at = memmem(at, (size_t)(end - at), "</", 2))) {
		if ((size_t)(end - at) > len + 2 &&
		    strncmp(at + 2, r->element, len) == 0)
			return at;
		at += 2;
	}
	return NULL;
}

/* An element's beginning, "<password>": its text goes from here on. */
static const char *find_element(struct redact *r, const char *line,
				const char *end)
{
	const char *at = line;

	while ((at = memchr(at, '<', (size_t)(end - at)))) {
		size_t len = 0;

		at++;
		while (at + len < end && (isalnum((unsigned char)at[len]) ||
					  strchr("._-", at[len])))
			len++;
		if (at + len < end && at[len] == '>' && is_secret(at, len)) {
			r->element = mem_strndup(at, len);
			return at + len + 1;
		}
	}
	return NULL;
}

/* The rest of a line in which elements may begin and end. */
static void put_line(struct redact *r, const char *line, size_t len)
{
	const char *end = line + len;

	for (;;) {
		const char *at = r->element ? find_end(r, line, end)
					    : find_element(r, line, end);

		if (r->element && !at) {
			len = (size_t)(end - line);
			r->any |= len > indent_of(line, len);
			return;
		}
		if (!at)
			break;
		/* What was just found began; what was looked for has ended. */
		if (at > line && at[-1] == '>') {
			put_text(r, line, (size_t)(at - line));
		} else {
			r->any |= at > line;
			free(r->element);
			r->element = NULL;
			buf_add(r->to, at, 2);
			at += 2;
		}
		line = at;
	}
	put_text(r, line, (size_t)(end - line));
}

static void one_line(struct redact *r, const char *line, size_t len)
{
	bool deeper =
		len > indent_of(line, len) && indent_of(line, len) > r->indent;

	if (r->joined) {
		r->joined = len && line[len - 1] == '\\';
		return;
	}
	if (r->dropping && (deeper || len == indent_of(line, len)))
		return;
	r->dropping = false;
	if (r->element || !cut_value(r, line, len))
		put_line(r, line, len);
	buf_add_char(r->to, '\n');
}

bool redact_text(const void *data, size_t len, struct buf *to)
{
	struct redact r = {.to = to};
	const char *at = data, *end = at + len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		size_t line = (size_t)((stop ? stop : end) - at);

		one_line(&r, at, line);
		at += line + 1;
	}
	free(r.element);
	return r.any;
}
