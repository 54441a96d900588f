#include "guard/agent/redact.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/sandbox/places.h"
#include "guard/sandbox/sandbox.h"

#define NUMBER_MAX 5

static const char *const words[] = {
	"token",	 "passw",	"passphrase",  "secret",
	"_auth",	 "authident",	"apikey",      "api_key",
	"api-key",	 "accesskey",	"access_key",  "access-key",
	"privatekey",	 "private_key", "private-key", "extraheader",
	"authorization", "bearer",	NULL,
};

/* Prefixes by which a token is recognized without a name. */
static const char *const token_prefixes[] = {
	"sk-",	 "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-",
	"xoxp-", "AKIA", "AIza", "npm_", "hf_",		"pypi-",  NULL,
};

#define TOKEN_MIN 16 /* shortest such token, in bytes with its prefix */

struct redact {
	struct buf *to;
	bool any;
	char *element; /* the XML element whose text is removed, or NULL */
	bool joined; /* the last line ends in a backslash and continues */
	bool dropping; /* drop lines that are indented deeper than indent */
	size_t indent;
	/* drop lines until this text; NULL: none */
	const char *until;
	bool next; /* the next list element is the value of a --token */
};

static bool is_secret_name(const char *name, size_t len)
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
	return is_secret_name(name, strlen(name));
}

/* Copies text without the user part of URLs. */
static void put_without_user(struct redact *r, const char *text, size_t len)
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

/* The offset of the value behind "key = " or "key: "; 0: none. */
static size_t find_value(const char *line, size_t len, size_t *ret_key_len)
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

static bool is_harmless_value(const char *value, size_t len)
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

/* ---- secrets inside a value ---- */

static size_t skip_chars(const char *text, size_t len, size_t i,
			 const char *chars)
{
	while (i < len && text[i] && strchr(chars, text[i]))
		i++;
	return i;
}

static size_t name_end(const char *text, size_t len, size_t i)
{
	while (i < len && (isalnum((unsigned char)text[i]) || text[i] == '_' ||
			   text[i] == '-' || text[i] == '.'))
		i++;
	return i;
}

/* True if a value stands at i that is neither empty nor a variable. */
static bool has_secret_value(const char *text, size_t len, size_t i)
{
	static const char *const kinds[] = {"Bearer ", "Basic ", NULL};
	const char *const *kind;
	size_t end;

	for (kind = kinds; *kind; kind++)
		if (len - i > strlen(*kind) &&
		    strncasecmp(text + i, *kind, strlen(*kind)) == 0)
			i += strlen(*kind);
	for (end = i; end < len && !strchr(" \t\"',;&]}", text[end]);)
		end++;
	return end > i && text[i] != '$' &&
	       !is_harmless_value(text + i, end - i);
}

/* {token = "x"}, {"token": "x"}, ?token=x; i: offset of the = or : */
static bool is_secret_pair(const char *text, size_t len, size_t i)
{
	size_t end = i, at;

	if (text[i] == ':' && (i + 1 == len || !strchr(" \t\"'", text[i + 1])))
		return false;
	while (end && strchr(" \t\"'", text[end - 1]))
		end--;
	for (at = end; at && name_end(text, at, at - 1) == at; at--)
		;
	return is_secret_name(text + at, end - at) &&
	       has_secret_value(text, len,
				skip_chars(text, len, i + 1, " \t\"'"));
}

/* --token x, "--token", "x" */
static bool is_secret_option(const char *text, size_t len, size_t i)
{
	size_t end = name_end(text, len, i), at;

	if ((i && !strchr(" \t\"'[,", text[i - 1])) ||
	    !is_secret_name(text + i, end - i))
		return false;
	at = skip_chars(text, len, end, " \t\"',");
	return at > end && at < len && text[at] != '-' &&
	       has_secret_value(text, len, at);
}

static bool is_known_token(const char *text, size_t len, size_t i)
{
	const char *const *mark;

	if (i && name_end(text, i, i - 1) == i)
		return false;
	for (mark = token_prefixes; *mark; mark++)
		if (len - i > strlen(*mark) &&
		    strncmp(text + i, *mark, strlen(*mark)) == 0)
			return name_end(text, len, i) - i >= TOKEN_MIN;
	return false;
}

bool redact_has_secret(const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (((text[i] == '=' || text[i] == ':') &&
		     is_secret_pair(text, len, i)) ||
		    (text[i] == '-' && is_secret_option(text, len, i)) ||
		    is_known_token(text, len, i))
			return true;
	return false;
}

/* ---- values ---- */

/* Removes the whole value of an element in a list with one element a line. */
static bool redact_list_element(struct redact *r, const char *line, size_t len)
{
	size_t at = indent_of(line, len), end = len;
	bool was_next = r->next;

	r->next = false;
	while (end > at && strchr(" \t,", line[end - 1]))
		end--;
	if (end - at < 2 || !strchr("\"'", line[at]) ||
	    line[end - 1] != line[at] ||
	    memchr(line + at + 1, line[at], end - at - 2))
		return false;
	r->next = line[at + 1] == '-' &&
		  is_secret_name(line + at, end - at - 1) &&
		  !memchr(line + at, '=', end - at);
	if (!was_next && !redact_has_secret(line + at + 1, end - at - 2))
		return false;
	r->any = true;
	buf_add(r->to, line, at + 1);
	buf_add(r->to, line + end - 1, len - end + 1);
	return true;
}

/* Removes a line such as {"token":"x"}, which has no blank after the colon as
 * in YAML. */
static bool redact_json_line(struct redact *r, const char *line, size_t len)
{
	size_t key_len, at = indent_of(line, len);

	if (at == len || line[at] == '<' || find_value(line, len, &key_len) ||
	    !redact_has_secret(line, len))
		return false;
	r->any = true;
	return true;
}

/* Writes an empty value of the same kind, so that the file still parses. */
static bool redact_value(struct redact *r, const char *line, size_t len)
{
	static const char *const kinds[][3] = {
		{"\"\"\"", "\"\"\"", "\"\""},
		{"'''", "'''", "''"},
		{"\"", NULL, "\"\""},
		{"'", NULL, "''"},
		{"[", "]", "[]"},
		{"{", "}", "{}"},
	};
	size_t key_len = 0, at = find_value(line, len, &key_len), i, n;

	if (!at || is_harmless_value(line + at, len - at) ||
	    (!is_secret_name(line, key_len) &&
	     (line[indent_of(line, len)] == '<' ||
	      !redact_has_secret(line + at, len - at))))
		return false;
	put_without_user(r, line, at);
	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		const char *end = kinds[i][1];

		n = strlen(kinds[i][0]);
		if (len - at < n + !end || memcmp(line + at, kinds[i][0], n))
			continue;
		buf_add_text(r->to, kinds[i][2]);
		n += at;
		if (end && !memmem(line + n, len - n, end, strlen(end)))
			r->until = end;
		break;
	}
	r->any = r->dropping = true;
	r->indent = indent_of(line, len);
	r->joined = line[len - 1] == '\\';
	return true;
}

/* The first "</" of the element's end tag, or NULL if the text continues. */
static const char *find_element_end(const struct redact *r, const char *line,
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

/* Finds a start tag such as <password> and returns the text behind it. */
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
		if (at + len < end && at[len] == '>' &&
		    is_secret_name(at, len)) {
			r->element = mem_strndup(at, len);
			return at + len + 1;
		}
	}
	return NULL;
}

/* Copies a line without the text of secret elements
 * (<password>...</password>). An element may begin or end on another line. */
static void redact_xml_line(struct redact *r, const char *line, size_t len)
{
	const char *end = line + len;

	for (;;) {
		const char *at = r->element ? find_element_end(r, line, end)
					    : find_element(r, line, end);

		if (r->element && !at) {
			len = (size_t)(end - line);
			r->any |= len > indent_of(line, len);
			return;
		}
		if (!at)
			break;
		/* After a start tag, at points behind its '>'; otherwise at the
		 * end tag. */
		if (at > line && at[-1] == '>') {
			put_without_user(r, line, (size_t)(at - line));
		} else {
			r->any |= at > line;
			free(r->element);
			r->element = NULL;
			buf_add(r->to, at, 2);
			at += 2;
		}
		line = at;
	}
	put_without_user(r, line, (size_t)(end - line));
}

static void redact_settings_line(struct redact *r, const char *line, size_t len)
{
	bool deeper =
		len > indent_of(line, len) && indent_of(line, len) > r->indent;

	if (r->joined) {
		r->joined = len && line[len - 1] == '\\';
		return;
	}
	if (r->until) {
		if (memmem(line, len, r->until, strlen(r->until)))
			r->until = NULL;
		return;
	}
	if (r->dropping && (deeper || len == indent_of(line, len)))
		return;
	r->dropping = false;
	if (r->element ||
	    (!redact_list_element(r, line, len) &&
	     !redact_value(r, line, len) && !redact_json_line(r, line, len)))
		redact_xml_line(r, line, len);
	buf_add_char(r->to, '\n');
}

bool redact_text(const void *data, size_t len, struct buf *to)
{
	struct redact r = {.to = to};
	const char *at = data, *end = at + len;

	while (at < end) {
		size_t line = text_line_len(at, end);

		redact_settings_line(&r, at, line);
		at += line + 1;
	}
	free(r.element);
	return r.any;
}

/* A shorter value without quotes may be a word. */
#define RANDOM_MIN 8
/* The characters of a variable's name. */
#define UPPER_CASE "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"
#define KEY_BEGIN "-----BEGIN "
#define KEY_END "-----END "

/* The part of a line to remove. */
struct secret_span {
	size_t from, end;
};

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

	for (end = from; end < len; end++)
		if (quote ? line[end] == quote
			  : strchr(" \t\r\"'`;,()[]{}<>|\\", line[end]) != NULL)
			break;
	/* $TOKEN, <your token> and %s refer to a secret. */
	if (end == from || strchr("$<{%*(.", line[from]) ||
	    is_harmless_value(line + from, end - from) ||
	    (quote && end == len) ||
	    (!quote && !sure && !is_random(line + from, end - from)))
		return false;
	/* An argument of a call: f(token=x, y) */
	if (!quote && end < len && strchr(",()[]{}", line[end]) &&
	    !is_random(line + from, end - from))
		return false;
	*ret = (struct secret_span){from, end};
	return true;
}

/* The name of a variable that often has a secret: LLM_KEY, GITLAB_PAT. */
static bool is_weak_name(const char *name)
{
	static const char *const ends[] = {"_KEY", "_PAT", "_PWD", "_AUTH"};
	size_t len = strlen(name), i;

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (len > strlen(ends[i]) &&
		    strcmp(name + len - strlen(ends[i]), ends[i]) == 0)
			return true;
	return false;
}

/* LLM_KEY=abcd1234, but no path: SSH_KEY=~/.ssh/id_rsa */
static bool find_weak_value(const char *line, size_t len, size_t i,
			    struct secret_span *ret)
{
	return find_value_span(line, len, i, true, ret) &&
	       !strchr("/~", line[ret->from]) &&
	       is_random(line + ret->from, ret->end - ret->from);
}

/* NAME=value, name = "value", "name": "value", name: value */
static bool find_secret_pair(const char *line, size_t len, size_t i,
			     struct secret_span *ret)
{
	size_t end = i, begin, value = i + 1;
	auto_free char *name = NULL;
	bool assigns;

	while (end && strchr(" \t\"'`*", line[end - 1]))
		end--;
	for (begin = end; begin && name_end(line, begin, begin - 1) == begin;)
		begin--;
	name = mem_strndup(line + begin, end - begin);
	if (begin == end ||
	    (line[i] == ':' && value < len && line[value] == ':'))
		return false;
	value += indent_of(line + value, len - value);
	assigns = line[i] == '=' && end == i && value == i + 1 &&
		  !name[strspn(name, UPPER_CASE)];
	if (!redact_is_secret(name))
		return assigns && is_weak_name(name) &&
		       find_weak_value(line, len, value, ret);
	return find_value_span(line, len, value, assigns, ret);
}

/* fish: "set -gx NAME value"; i is behind the name. Its own file of variables
 * has "SETUVAR --export NAME:value", with escapes in the value. */
static bool find_fish_value(const char *line, size_t len, size_t i,
			    struct secret_span *ret)
{
	bool own = line[i] == ':', options = false, secret, weak;
	const char *verb = own ? "SETUVAR" : "set";
	auto_free char *name = NULL;
	size_t begin = i, end;

	while (begin && name_end(line, begin, begin - 1) == begin)
		begin--;
	name = mem_strndup(line + begin, i - begin);
	secret = redact_is_secret(name);
	weak = is_weak_name(name);
	if (!secret && !weak)
		return false;
	for (end = begin;; options = true) {
		while (end && indent_of(line + end - 1, 1))
			end--;
		for (begin = end; begin && !indent_of(line + begin - 1, 1);)
			begin--;
		if (begin == end || line[begin] != '-')
			break;
		end = begin;
	}
	if (end - begin != strlen(verb) ||
	    strncmp(line + begin, verb, strlen(verb)) != 0)
		return false;
	*ret = (struct secret_span){i + 1, len};
	if (own)
		return i + 1 < len;
	i += indent_of(line + i, len - i);
	return options && (secret ? find_value_span(line, len, i, true, ret)
				  : find_weak_value(line, len, i, ret));
}

/* --token x */
static bool find_secret_option(const char *line, size_t len, size_t i,
			       struct secret_span *ret)
{
	size_t end = name_end(line, len, i);

	return (!i || indent_of(line + i - 1, 1)) &&
	       indent_of(line + end, len - end) &&
	       is_secret_name(line + i, end - i) &&
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

static bool redact_prose_line(const char *line, size_t len, struct buf *to)
{
	size_t done = 0, i;
	bool any = false;
	struct secret_span span;

	for (i = 0; i < len; i++) {
		bool found = false;

		switch (line[i]) {
		case ' ':
			found = find_fish_value(line, len, i, &span);
			break;
		case ':':
			found = find_fish_value(line, len, i, &span) ||
				find_url_user(line, len, i, &span) ||
				find_secret_pair(line, len, i, &span);
			break;
		case '=':
			found = find_secret_pair(line, len, i, &span);
			break;
		case '-':
			found = find_secret_option(line, len, i, &span);
			break;
		default:
			span = (struct secret_span){i, name_end(line, len, i)};
			found = is_known_token(line, len, i);
		}
		if (!found)
			continue;
		buf_add(to, line + done, span.from - done);
		done = span.end;
		i = span.end - 1;
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
		size_t line = text_line_len(at, end);

		if (memmem(at, line, KEY_END, strlen(KEY_END)))
			in_key = false;
		if (!in_key) {
			any |= redact_prose_line(at, line, to);
			if (at + line < end)
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

#define SETTINGS_MAX (1u << 20)

/* Returns 0; 1 for a file that is unreadable or not text, and may be all
 * secret; -1 for a missing file. */
static int read_settings_file(const char *path, struct buf *ret)
{
	struct err ignored;
	auto_close int fd =
		open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? -1 : 1;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 1;
	if (fd_slurp(fd, SETTINGS_MAX, ret, &ignored) < 0 ||
	    (ret->len && memchr(ret->data, '\0', ret->len))) {
		buf_clear(ret);
		return 1;
	}
	return 0;
}

void redactions_find(const struct places *places, struct redactions *ret)
{
	size_t i;

	for (i = 0; i < places->count; i++) {
		const struct place *place = &places->items[i];
		AUTO(buf) struct buf text = {0};
		AUTO(buf) struct buf cut = {0};
		bool masked = place->how & PLACE_MASKED, any;
		int got;

		if (place->how == PLACE_MASKED)
			continue;
		got = read_settings_file(place->path, &text);
		/* Masked as a whole where the cut text cannot replace it. */
		if (got < 0 || (got && masked))
			continue;
		any = got || (place->how & PLACE_PROSE
				      ? redact_prose(text.data, text.len, &cut)
				      : redact_text(text.data, text.len, &cut));
		if (!any && !masked)
			continue;
		*VEC_ADD(ret) =
			(struct redaction){.path = mem_strdup(place->path),
					   .text = cut,
					   .any = any};
		cut = (struct buf){0};
	}
}

void redactions_free(struct redactions *redactions)
{
	size_t i;

	for (i = 0; i < redactions->count; i++) {
		free(redactions->items[i].path);
		buf_free(&redactions->items[i].text);
	}
	free(redactions->items);
	*redactions = (struct redactions){0};
}
