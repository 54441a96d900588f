#include "guard/agent/redact.h"

#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/auto.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/agent/members.h"

#define NUMBER_MAX 5

#define KEY_BEGIN "PRIVATE "
#define KEY_END "-----END "

/* A secret has one of these texts in its name, at its start or before it. */
enum {
	MARK_NAME = 1, /* in a name, in upper or lower case */
	MARK_NAME_END = 2, /* a name ends with it, in upper or lower case */
	MARK_TOKEN = 4, /* the start of a token that needs no name */
	MARK_USER = 8, /* user:password@ of a URL or proxy follows */
	MARK_VARIABLE = 16, /* a variable's name ends with it: LLM_KEY */
	MARK_KEY = 32, /* a private key follows */
	MARK_KINDS = 64,
};

/* Texts with a | between them. Of those in one list the first bytes are
 * similar, which keeps the search fast. */
static const struct {
	const char *texts;
	unsigned int kind;
} marks[] = {
	{"token", MARK_NAME},
	{"passw|passphrase", MARK_NAME},
	{"secret", MARK_NAME},
	{"_auth", MARK_NAME},
	{"apikey|api_key|api-key", MARK_NAME},
	{"accesskey|access_key|access-key|accountkey", MARK_NAME},
	{"privatekey|private_key|private-key", MARK_NAME},
	{"extraheader", MARK_NAME},
	{"authorization|authident", MARK_NAME},
	{"bearer", MARK_NAME},
	{"pass", MARK_NAME_END},
	{"ghp_|gho_|ghs_|ghu_|ghr_|github_pat_", MARK_TOKEN},
	{"glpat-|glptt-|glc_|glsa_|gsk_", MARK_TOKEN},
	{"xoxb-|xoxp-|xoxa-|xoxs-|xapp-|xai-", MARK_TOKEN},
	{"sk-|sk_live_|sk_test_|rk_live_|sk.eyJ", MARK_TOKEN},
	{"AKIA|AIza|AGE-SECRET-KEY-|ATATT3|ATBB", MARK_TOKEN},
	{"AAE|AAF|AAG|AAH", MARK_TOKEN}, /* Telegram, behind digits and : */
	{"npm_|ntn_|nvapi-|NRAK-", MARK_TOKEN},
	{"hf_|hvs.|hvb.", MARK_TOKEN},
	{"pypi-|pplx-|pul-|pscale_tkn_|pscale_pw_|PMAK-", MARK_TOKEN},
	{"shpat_|sbp_|sq0atp-|SG.", MARK_TOKEN},
	{"dop_v1_|doo_v1_|dor_v1_|dp.st.|dckr_pat_|dapi", MARK_TOKEN},
	{"r8_|rubygems_|figd_|GOCSPX-", MARK_TOKEN},
	{"lin_api_|lsv2_pt_|lsv2_sk_|whsec_", MARK_TOKEN},
	{"tskey-|tvly-|ya29.", MARK_TOKEN},
	{"eyJhbGciOi|eyJ0eXAiOi|eyJraWQiOi", MARK_TOKEN},
	{"LS0tLS1CRUdJTi", MARK_TOKEN}, /* "-----BEGIN " in base64 */
	{"://", MARK_USER},
	{"proxy", MARK_USER},
	{"_KEY|_PAT|_PWD", MARK_VARIABLE},
	{KEY_BEGIN "KEY-----|" KEY_BEGIN "KEY BLOCK-----", MARK_KEY},
};

#define MARK_COUNT ARRAY_SIZE(marks)
#define TOKEN_MIN 16 /* shortest such token, in bytes with its prefix */

/*
 * One bit for each list: which lists have a text with this byte at this offset,
 * and which are of these kinds. A text is searched for all marks at once: only
 * a place whose first four bytes may be those of a mark is compared with it.
 * Behind the last four bytes no secret can follow.
 */
#define MARK_BYTES 4

static uint64_t marks_with_byte[MARK_BYTES][256], marks_of_kind[MARK_KINDS];

_Static_assert(MARK_COUNT <= 64, "one bit for each list of marks");

static bool ignores_case(size_t mark)
{
	return marks[mark].kind & (MARK_NAME | MARK_NAME_END | MARK_USER);
}

static void make_mark_tables(void)
{
	size_t i, at, k;

	for (i = 0; i < MARK_COUNT; i++) {
		const uint64_t bit = UINT64_C(1) << i;
		const char *text = marks[i].texts;

		for (;;) {
			const size_t len = strcspn(text, "|");

			for (at = 0; at < MARK_BYTES; at++)
				for (k = 0; k < 256; k++)
					if (at >= len || (char)k == text[at] ||
					    (ignores_case(i) &&
					     tolower((int)k) == text[at]))
						marks_with_byte[at][k] |= bit;
			if (!text[len])
				break;
			text += len + 1;
		}
		for (k = 0; k < MARK_KINDS; k++)
			if (k & marks[i].kind)
				marks_of_kind[k] |= bit;
	}
}

/* Whether the text begins with one of the list. */
static bool begins_with_mark(const char *text, size_t len, size_t mark)
{
	const char *one = marks[mark].texts;
	size_t n;

	for (;; one += n + 1) {
		n = strcspn(one, "|");
		if (len >= n &&
		    (ignores_case(mark) ? strncasecmp(text, one, n)
					: memcmp(text, one, n)) == 0)
			return true;
		if (!one[n])
			return false;
	}
}

/* The offset of the first mark of these kinds, searched from `at`; len: there
 * is none. */
static size_t find_mark(const char *text, size_t len, size_t at,
			unsigned int kinds)
{
	const unsigned char *bytes = (const unsigned char *)text;
	uint64_t wanted, found;

	if (!marks_of_kind[MARK_KINDS - 1])
		make_mark_tables();
	wanted = marks_of_kind[kinds];
	for (; at + MARK_BYTES <= len; at++) {
		found = wanted & marks_with_byte[0][bytes[at]] &
			marks_with_byte[1][bytes[at + 1]] &
			marks_with_byte[2][bytes[at + 2]] &
			marks_with_byte[3][bytes[at + 3]];
		for (; found; found &= found - 1)
			if (begins_with_mark(text + at, len - at,
					     (size_t)__builtin_ctzll(found)))
				return at;
	}
	return len;
}

struct secret_line {
	const char *text;
	size_t len;
};

struct secret_lines {
	struct secret_line *items;
	size_t count, capacity;
};

struct redact {
	struct buf *to;
	const char *end; /* the end of the text */
	bool any;
	bool joined; /* the last line ends in a backslash and continues */
	bool dropping; /* drop lines that are indented deeper than indent */
	size_t indent;
	/* drop lines until this text; NULL: none */
	const char *until;
	bool next; /* the next line is the value of a --token */
	/* Only in settings of agents: */
	bool section; /* in a table of variables or headers */
	char ***members; /* names of those with a secret; NULL: none */
};

/* In settings of agents further names count, see is_member_name(). */
static bool in_agent_settings;

/* A name that speaks of a secret. */
static bool is_clear_name(const char *name, size_t len)
{
	if (find_mark(name, len, 0, MARK_NAME) < len)
		return true;
	while (len && isspace((unsigned char)name[len - 1]))
		len--;
	return len >= 4 &&
	       find_mark(name, len, len - 4, MARK_NAME_END) == len - 4;
}

/* The name of a variable that often has a secret: LLM_KEY, GITLAB_PAT. */
static bool is_weak_name(const char *name, size_t len)
{
	return len > 4 && find_mark(name, len, len - 4, MARK_VARIABLE) < len;
}

/* A name whose value may be a secret of any form, such as FOO_KEY and X-Auth,
 * or a table of variables or headers. Harmless names are taken, too: a run can
 * do without a keyboard in the settings of another agent. */
static bool is_member_name(const char *name, size_t len)
{
	static const char *const words[] = {"key", "auth",   "cookie",
					    "env", "header", "credential"};
	auto_free char *text = mem_strndup(name, len);
	size_t i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(text, words[i]))
			return true;
	return is_weak_name(name, len);
}

static bool is_secret_name(const char *name, size_t len)
{
	return is_clear_name(name, len) ||
	       (in_agent_settings && is_member_name(name, len));
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
		    !(line[i] == ':' &&
		      (i + 1 == len || isspace((unsigned char)line[i + 1]))))
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

static bool is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

static size_t name_end(const char *text, size_t len, size_t i)
{
	while (i < len && is_name_char(text[i]))
		i++;
	return i;
}

static size_t name_start(const char *text, size_t i)
{
	while (i && is_name_char(text[i - 1]))
		i--;
	return i;
}

/* The part of a line to remove. `quote` is open at `seen`. */
struct secret_span {
	size_t from, end;
	size_t stop; /* the end of the line */
	size_t seen;
	char quote;
};

/* user:password@ behind a mark: ://user:password@, proxy = "user:password@ */
static bool find_user(const char *text, size_t len, size_t mark,
		      struct secret_span *ret)
{
	bool url = text[mark] == ':';
	size_t i = url ? mark + 3
		       : skip_chars(text, len, name_end(text, len, mark),
				    " \t\"'`:=>");

	ret->from = ret->end = i;
	for (; i < len && !strchr("/ \t\"'`<>\r\n", text[i]); i++)
		if (text[i] == '@')
			ret->end = i + 1;
	len = ret->end - ret->from;
	/* ssh://git@host names a user: ssh takes no token in its place. */
	url = url && !(mark >= 3 && memcmp(text + mark - 3, "ssh", 3) == 0);
	return len > url && text[ret->from] != '$' &&
	       (url || memchr(text + ret->from, ':', len));
}

/* Copies text without the user part of URLs. */
static void put_without_user(struct redact *r, const char *text, size_t len)
{
	struct secret_span span;
	size_t at = 0, done = 0;

	for (; (at = find_mark(text, len, at, MARK_USER)) < len; at++) {
		if (!find_user(text, len, at, &span) || span.from < done)
			continue;
		r->any = true;
		buf_add(r->to, text + done, span.from - done);
		done = span.end;
	}
	buf_add(r->to, text + done, len - done);
}

/* The indent with the dashes of a YAML list: they indent what follows. */
static size_t depth_of(const char *line, size_t len)
{
	return skip_chars(line, len, 0, " \t-");
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

/* True if a value stands at i that is neither empty nor a variable. */
static bool has_secret_value(const char *text, size_t len, size_t i)
{
	size_t end;

	i = skip_auth_scheme(text, len, i);
	for (end = i; end < len && !strchr(" \t\"',;&]}", text[end]);)
		end++;
	return end > i && text[i] != '$' &&
	       !is_harmless_value(text + i, end - i);
}

/* {token = "x"}, {"token": "x"}, ?token=x; i: behind the name */
static bool is_secret_pair(const char *text, size_t len, size_t i)
{
	i = skip_chars(text, len, i, " \t\"'");
	if (i == len || (text[i] != '=' && text[i] != ':') ||
	    (text[i] == ':' &&
	     (i + 1 == len || !strchr(" \t\"'", text[i + 1]))))
		return false;
	return has_secret_value(text, len,
				skip_chars(text, len, i + 1, " \t\"'"));
}

/* --token, "--token" */
static bool is_option(const char *text, size_t i, size_t end)
{
	return text[i] == '-' && (!i || strchr(" \t\"'[,", text[i - 1])) &&
	       is_secret_name(text + i, end - i);
}

/* --token x, "--token", "x"; the option is from i to end */
static bool is_secret_option(const char *text, size_t len, size_t i, size_t end)
{
	size_t at = skip_chars(text, len, end, " \t\"',");

	return is_option(text, i, end) && at > end &&
	       has_secret_value(text, len, at) && text[at] != '-';
}

/* i: the start of a name */
static bool is_known_token(const char *text, size_t len, size_t i)
{
	return len - i >= TOKEN_MIN &&
	       find_mark(text, i + TOKEN_MIN, i, MARK_TOKEN) == i &&
	       name_end(text, len, i) - i >= TOKEN_MIN;
}

/* The next name that may be secret, or len. */
static size_t find_name(const char *text, size_t len, size_t at)
{
	if (!in_agent_settings) {
		at = find_mark(text, len, at,
			       MARK_NAME | MARK_NAME_END | MARK_TOKEN);
		return at < len ? name_start(text, at) : len;
	}
	while (at < len && !is_name_char(text[at]))
		at++;
	return at;
}

bool redact_has_secret(const char *text, size_t len)
{
	size_t at = 0, end;

	for (; (at = find_name(text, len, at)) < len; at = end) {
		end = name_end(text, len, at);
		if (is_known_token(text, len, at) ||
		    (is_secret_name(text + at, end - at) &&
		     (is_secret_pair(text, len, end) ||
		      is_secret_option(text, len, at, end))))
			return true;
	}
	return false;
}

/* ---- values ---- */

/* Removes the whole value of an element in a list with one element a line. */
static bool redact_list_element(struct redact *r, const char *line, size_t len)
{
	size_t at = depth_of(line, len), end = len, key_len;
	bool was_next = r->next, quoted;

	while (end > at && strchr(" \t,\r])}\"'", line[end - 1]))
		end--;
	key_len = name_start(line, end);
	r->next = key_len < end && is_option(line, key_len, end);
	for (end = len; end > at && strchr(" \t,\r])}", line[end - 1]);)
		end--;
	if (end == at || line[at] == '[')
		return false;
	quoted = strchr("\"'", line[at]) != NULL;
	if (was_next ? !quoted && find_value(line, len, &key_len)
		     : !quoted || end - at < 2 || line[end - 1] != line[at] ||
			       memchr(line + at + 1, line[at], end - at - 2) ||
			       !redact_has_secret(line + at + 1, end - at - 2))
		return false;
	r->any = true;
	buf_add(r->to, line, at);
	buf_add_text(r->to, "\"\"");
	buf_add(r->to, line + end, len - end);
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

/* Adds the name of a member whose value is a key, and no name of one. */
static void add_member(char ***members, const char *name, size_t name_len,
		       const char *value, size_t len)
{
	auto_free char *text = NULL;
	size_t i, k;

	while (name_len && !is_name_char(name[name_len - 1]))
		name_len--;
	i = name_start(name, name_len);
	value += k = skip_chars(value, len, 0, "\"'");
	text = mem_strndup(name + i, name_len - i);
	if (!members || k == len || strchr("${!", *value) ||
	    !(is_clear_name(text, name_len - i) ||
	      is_weak_name(text, name_len - i) ||
	      (name_len - i >= 3 &&
	       strncasecmp(name + name_len - 3, "key", 3) == 0)))
		return;
	mem_list_add_once(members, text);
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
	/* YAML's complex keys: "? key", and ": value" on the next line. */
	bool secret = r->section || is_secret_name(line, key_len) ||
		      (in_agent_settings && depth_of(line, len) == key_len);

	if (!at || memchr(line, '<', key_len))
		return false;
	r->indent = depth_of(line, len);
	if (at == len) /* the value may follow on deeper lines */
		r->dropping = secret;
	if (is_harmless_value(line + at, len - at) ||
	    (!secret && !redact_has_secret(line + at, len - at)))
		return false;
	add_member(r->members, line, key_len, line + at, len - at);
	put_without_user(r, line, at);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const char *end = kinds[i][1];

		n = strlen(kinds[i][0]);
		if (!end && in_agent_settings)
			end = kinds[i][0];
		if (len - at < n + !kinds[i][1] ||
		    memcmp(line + at, kinds[i][0], n))
			continue;
		buf_add_text(r->to, kinds[i][2]);
		n += at;
		if (end && !memmem(line + n, len - n, end, strlen(end)))
			r->until = end;
		break;
	}
	r->any = r->dropping = true;
	r->joined = line[len - 1] == '\\';
	return true;
}

/* The end tag of the element with this name, or the end of the text. */
static const char *find_end_tag(const struct redact *r, const char *at,
				const char *name, size_t len)
{
	for (; (at = memmem(at, (size_t)(r->end - at), "</", 2)); at += 2)
		if ((size_t)(r->end - at) > len + 2 &&
		    memcmp(at + 2, name, len) == 0)
			return at;
	return r->end;
}

/* Copies a line without the text and attributes of secret elements
 * (<password>...</password>) and without attributes that have a secret.
 * Returns the end of the line where the last of them ends. */
static const char *redact_xml_line(struct redact *r, const char *line,
				   size_t len)
{
	const char *end = line + len, *at = line, *tag, *name;

	while ((name = memchr(at, '<', (size_t)(end - at)))) {
		bool secret;

		for (at = ++name; at != r->end; at++)
			if (strchr(" \t\r\n\"'/<>", *at))
				break;
		len = (size_t)(at - name);
		tag = memchr(at, '<', (size_t)(r->end - at));
		/* A '>' may be in an attribute, too. */
		tag = memrchr(at, '>', (size_t)((tag ? tag : r->end) - at));
		secret = is_secret_name(name, len);
		if (!len || !tag ||
		    (!secret && !is_secret_name(at, (size_t)(tag - at)) &&
		     !redact_has_secret(at, (size_t)(tag - at)))) {
			at = name;
			continue;
		}
		put_without_user(r, line, (size_t)(at - line));
		for (line = tag; line > at && strchr("/?-", line[-1]);)
			line--;
		r->any |= line > at;
		if (secret && line == tag) {
			buf_add_char(r->to, '>');
			line = find_end_tag(r, tag, name, len);
			r->any |= line > tag + 1;
		}
		at = line;
		if (end < at)
			end = at + text_line_len(at, r->end);
	}
	put_without_user(r, line, (size_t)(end - line));
	return end;
}

/* Returns the end of the line up to which the text is done. */
static const char *redact_settings_line(struct redact *r, const char *line,
					size_t len)
{
	bool blank = len == indent_of(line, len);
	const char *end = line + len;

	if (r->joined) {
		r->joined = len && line[len - 1] == '\\';
		return end;
	}
	if (r->until) {
		if (memmem(line, len, r->until, strlen(r->until)))
			r->until = NULL;
		return end;
	}
	if (r->dropping && (blank || depth_of(line, len) > r->indent)) {
		r->any |= !blank;
		return end;
	}
	r->dropping = false;
	if (in_agent_settings && !blank && line[indent_of(line, len)] == '[')
		r->section = is_member_name(line, len);
	if (!redact_list_element(r, line, len) && !redact_value(r, line, len) &&
	    !redact_json_line(r, line, len))
		end = redact_xml_line(r, line, len);
	buf_add_char(r->to, '\n');
	return end;
}

/* Whether the next line is copied as it is unless it has a mark. */
static bool is_between_secrets(const struct redact *r)
{
	return !r->joined && !r->dropping && !r->until && !r->next;
}

/* Copies the lines before the next one with a mark. Returns that line, or
 * end. */
static const char *copy_unmarked(const char *at, const char *end,
				 struct buf *to)
{
	size_t len = (size_t)(end - at);
	size_t line = find_mark(at, len, 0, MARK_KINDS - 1);

	while (line && line < len && at[line - 1] != '\n')
		line--;
	buf_add(to, at, line);
	return at + line;
}

/* lines: those with a secret are added; NULL: to none. */
static bool redact_lines(const char *at, size_t len, struct buf *to,
			 bool section, char ***members,
			 struct secret_lines *lines)
{
	const char *end = at + len, *line;
	struct redact r = {
		.to = to, .end = end, .section = section, .members = members};
	bool any = false;

	while (at < end) {
		if (!in_agent_settings && is_between_secrets(&r)) {
			at = copy_unmarked(at, end, to);
			if (at == end) {
				if (at[-1] != '\n')
					buf_add_char(to, '\n');
				break;
			}
		}
		line = at;
		r.any = r.joined || r.until;
		at = redact_settings_line(&r, at, text_line_len(at, end)) + 1;
		if (r.any && lines)
			*VEC_ADD(lines) = (struct secret_line){
				line, (size_t)(at - 1 - line)};
		any |= r.any;
	}
	return any;
}

bool redact_text(const void *data, size_t len, struct buf *to)
{
	return redact_lines(data, len, to, false, NULL, NULL);
}

/* A shorter value without quotes may be a word. */
#define RANDOM_MIN 8
#define FISH_OPTIONS_MAX 64
/* The characters of a variable's name. */
#define UPPER_CASE "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

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

/* Skips the character at *at, or an escape, and returns the quote that is open
 * behind it. */
static char skip_char(const char *text, size_t *at, char quote)
{
	char c = text[(*at)++];

	if (c == '\\' && quote != '\'') {
		++*at;
		return quote;
	}
	if (quote || (c != '"' && c != '\'' && c != '`'))
		return c == quote ? '\0' : quote;
	return c;
}

/*
 * Finds the value that begins at i. sure: the syntax is that of a shell, where
 * words in different quotes are joined, and cannot be a sentence. A value in
 * quotes may have several lines if no quote is open in front of it. One whose
 * quote is never closed has the rest of the line.
 */
static bool find_value_span(const char *line, size_t len, size_t i, bool sure,
			    struct secret_span *ret)
{
	const char *ends = sure ? " \t\r\n;&|<>()" : " \t\r\n\"'`;,()[]{}<>|\\";
	bool escapes =
		i + 1 < len && line[i] == '$' && strchr("\"'", line[i + 1]);
	char first, quote;
	size_t from, end, limit;

	i += escapes;
	first = quote = i < len && strchr("\"'`", line[i]) ? line[i] : '\0';
	from = end = skip_auth_scheme(line, len, i + (quote != '\0'));
	/* $TOKEN, <your token> and %s refer to a secret. */
	if (from >= len || strchr("$<{%*(.", line[from]))
		return false;
	while ((first || sure) && ret->seen < i)
		ret->quote = skip_char(line, &ret->seen, ret->quote);
	limit = ret->quote ? ret->stop : len;
	while (end < limit) {
		if (!quote &&
		    (first && !sure ? line[end] != first
				    : strchr(ends, line[end]) ||
					      line[end] == ret->quote))
			break;
		if (quote == '\'' && line[end] == '\\' && (escapes || !sure))
			end += 2;
		else
			quote = skip_char(line, &end, quote);
	}
	if (quote || end > limit)
		end = ret->stop;
	if (first || sure)
		ret->seen = end;
	if (!quote && line[end - 1] == first)
		end--;
	else if (first)
		from = i;
	if (end <= from || is_harmless_value(line + from, end - from) ||
	    (!first && !sure && !is_random(line + from, end - from)))
		return false;
	ret->from = from;
	ret->end = end;
	return true;
}

/* LLM_KEY=abcd1234, but no path: SSH_KEY=~/.ssh/id_rsa */
static bool find_weak_value(const char *line, size_t len, size_t i,
			    struct secret_span *ret)
{
	return find_value_span(line, len, i, true, ret) &&
	       !strchr("/~", line[ret->from]) &&
	       is_random(line + ret->from, ret->end - ret->from);
}

/* NAME=value, name = "value", "name": "value", name: value; i: the sign */
static bool find_secret_pair(const char *line, size_t len, size_t begin,
			     size_t end, size_t i, struct secret_span *ret)
{
	size_t value = i + 1;
	bool assigns;

	if (begin == end ||
	    (line[i] == ':' && value < len && line[value] == ':'))
		return false;
	value += indent_of(line + value, len - value);
	assigns = line[i] == '=' && end == i && value == i + 1 &&
		  (line[begin] == '-' ||
		   skip_chars(line, end, begin, UPPER_CASE) == end);
	if (!is_secret_name(line + begin, end - begin))
		return assigns && is_weak_name(line + begin, end - begin) &&
		       find_weak_value(line, len, value, ret);
	return find_value_span(line, len, value, assigns, ret);
}

/* fish: "set -gx NAME value"; the name is from begin to i. Its own file of
 * variables has "SETUVAR --export NAME:value", with escapes in the value. */
static bool find_fish_value(const char *line, size_t len, size_t begin,
			    size_t i, struct secret_span *ret)
{
	bool own = line[i] == ':';
	const char *verb = own ? "SETUVAR" : "set";
	bool secret = is_secret_name(line + begin, i - begin);
	size_t end = begin, options;

	if (!secret && !is_weak_name(line + begin, i - begin))
		return false;
	for (options = 0; options < FISH_OPTIONS_MAX; options++) {
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
	ret->from = i + 1;
	ret->end = ret->stop;
	if (own)
		return ret->end > i + 1;
	i += indent_of(line + i, len - i);
	return options && (secret ? find_value_span(line, len, i, true, ret)
				  : find_weak_value(line, len, i, ret));
}

/* --token x, "--token", "x"; end: behind the name */
static bool find_option_value(const char *line, size_t len, size_t end,
			      struct secret_span *ret)
{
	size_t at = skip_chars(line, len, end, "\"'");
	size_t value = skip_chars(line, len, at, " \t\r\n,\\");

	if (value > ret->stop)
		ret->stop = value + text_line_len(line + value, line + len);
	return value > at && find_value_span(line, len, value, false, ret) &&
	       strncmp(line + ret->from, "--", 2) != 0;
}

/* Finds a secret that belongs to the mark or to its name, which ends at `end`.
 * Text before `done` is already copied or removed. */
static bool find_prose_secret(const char *line, size_t len, size_t mark,
			      size_t end, size_t done, struct secret_span *ret)
{
	size_t i = skip_chars(line, len, end, " \t\"'`*");
	size_t begin = name_start(line, mark);

	if (mark >= done && strncmp(line + mark, KEY_BEGIN, 8) == 0) {
		const char *key = memmem(line + mark, len - mark, KEY_END,
					 strlen(KEY_END));

		key = key ? key + text_line_len(key, line + len) : line + len;
		ret->from = mark;
		ret->end = (size_t)(key - line);
		return true;
	}
	if (begin >= done && is_option(line, begin, end) &&
	    find_option_value(line, len, end, ret))
		return true;
	if (begin >= done && is_known_token(line, len, begin)) {
		ret->from = begin;
		ret->end = end;
		return true;
	}
	if (end >= done && end < len && strchr(" :", line[end]) &&
	    find_fish_value(line, len, begin, end, ret))
		return true;
	if (i >= done && i < len && strchr(":=", line[i]) &&
	    find_secret_pair(line, len, begin, end, i, ret))
		return true;
	return strchr(":pP", line[mark]) && find_user(line, len, mark, ret) &&
	       ret->from >= done;
}

/* Returns the length of the line with all lines of its last secret. */
static size_t redact_prose_line(const char *line, const char *text_end,
				struct buf *to, bool *any)
{
	size_t len = (size_t)(text_end - line), done = 0, at = 0, end;
	struct secret_span s = {.stop = text_line_len(line, text_end)};

	for (; (at = find_mark(line, s.stop, at, MARK_KINDS - 1)) < s.stop;
	     at = end) {
		end = name_end(line, len, at);
		while (find_prose_secret(line, len, at, end, done, &s)) {
			buf_add(to, line + done, s.from - done);
			done = s.end;
			*any = true;
			if (s.stop < done)
				s.stop = done +
					 text_line_len(line + done, text_end);
		}
		/* A mark of a URL is in no name. */
		end += end == at;
	}
	buf_add(to, line + done, s.stop - done);
	return s.stop;
}

bool redact_prose(const void *data, size_t len, struct buf *to)
{
	const char *at = data, *end = at + len;
	bool any = false;

	while ((at = copy_unmarked(at, end, to)) < end)
		at += redact_prose_line(at, end, to, &any);
	return any;
}

/* ---- settings of agents ---- */

struct json_redact {
	char ***members;
	bool merges; /* sets the secrets in a copy, and removes none */
	bool any;
};

/* secret: any value of the member is one. */
static bool is_json_secret(const json_t *value, bool secret)
{
	const char *text = json_string_value(value);
	const size_t len = json_string_length(value);
	AUTO(buf) struct buf ignored = {0};

	return text && (secret ? !is_harmless_value(text, len)
			       : redact_has_secret(text, len) ||
					 redact_prose(text, len, &ignored));
}

/* name: of the member; copy: the value at that place in a copy, or NULL. */
static void redact_json(struct json_redact *r, json_t *value, json_t *copy,
			const char *name, bool secret)
{
	const char *text = json_string_value(value), *key;
	bool option = false; /* the string before it is an --api-key */
	json_t *member;
	size_t i;

	if (is_json_secret(value, secret)) {
		add_member(r->members, name, strlen(name), text,
			   json_string_length(value));
		r->any |= !r->merges ||
			  (json_is_string(copy) && !json_equal(copy, value));
		(void)json_string_set(r->merges ? copy : value,
				      r->merges ? text : "");
	}
	if (!r->merges && secret && json_integer_value(value) >= 100000) {
		(void)json_integer_set(value, 0);
		r->any = true;
	}
	json_array_foreach(value, i, member)
	{
		bool value_of_option;

		text = json_string_value(member);
		value_of_option = option && text && *text != '-';
		/* Before the text of the member is replaced. */
		option = text && is_option(text, 0, strlen(text)) &&
			 !strchr(text, '=');
		redact_json(r, member, json_array_get(copy, i), name,
			    secret || value_of_option);
	}
	json_object_foreach(value, key, member)
	{
		json_t *there = json_object_get(copy, key);
		bool below = secret || is_secret_name(key, strlen(key));

		if (r->merges && below && !there)
			r->any |= json_object_set(copy, key, member) == 0;
		else
			redact_json(r, member, there, key, below);
	}
}

/* False: the text is no JSON. */
static bool redact_json_text(const char *text, size_t len, struct buf *to,
			     struct json_redact *r)
{
	AUTO(buf) struct buf copy = {0};
	json_t *root;
	char *dumped;

	buf_add(&copy, text, len);
	root = members_load(&copy);
	if (!root)
		return false;
	redact_json(r, root, NULL, "", false);
	dumped = r->any ? json_dumps(root, JSON_INDENT(2)) : NULL;
	buf_add(to, dumped ?: text, dumped ? strlen(dumped) : len);
	free(dumped);
	json_decref(root);
	return true;
}

#define JSON_SUFFIXES " json jsonc json5 "
#define LINES_SUFFIXES " toml yaml yml ini conf cfg xml properties env "

/* Whether the name ends with a word of the list. */
static bool has_suffix(const char *name, const char *list)
{
	const char *dot = strrchr(name, '.');
	auto_free char *word = mem_printf(" %s ", dot ? dot + 1 : "");

	return strcasestr(list, word) != NULL;
}

/* The secret of curl's -u user:password; at: behind the option. */
static bool find_password(const char *text, size_t len, size_t at,
			  struct secret_span *ret)
{
	bool colon = false;

	at = skip_chars(text, len, at, " \t=\"'");
	for (ret->from = at; at < len && !strchr(" \t\r\n\"'\\", text[at]);
	     at++)
		if (text[at] == ':' && !colon) {
			colon = true;
			ret->from = at + 1;
		}
	ret->end = at;
	return colon && at > ret->from && text[ret->from] != '$';
}

/* name = "value" with any name of a member, in the syntax of any language. The
 * value may be on a later line, and behind an f of Python's. at: behind the
 * name. */
static bool find_member_value(const char *text, size_t len, size_t at,
			      struct secret_span *ret)
{
	size_t sign = skip_chars(text, len, at, " \t\"'`]*"), value;

	at = skip_chars(text, len, sign, "|?:=");
	if (at == sign || !strchr(":=", text[at - 1]))
		return false;
	value = skip_chars(text, len, at, " \t\r\n(\\");
	if (value + 1 < len && isalpha((unsigned char)text[value]) &&
	    strchr("\"'", text[value + 1]))
		value++;
	*ret = (struct secret_span){
		.seen = value,
		.stop = value + text_line_len(text + value, text + len)};
	return value < len &&
	       find_value_span(text, len, value, value == sign + 1, ret);
}

/* Scripts and instructions of agents. */
static bool redact_members(const char *text, size_t len, struct buf *to)
{
	size_t done = 0, at = 0, end;
	struct secret_span s;
	AUTO(buf) struct buf rest = {0};
	bool any = false;

	for (; (at = find_name(text, len, at)) < len; at = end) {
		end = name_end(text, len, at);
		if ((end - at == 2 && memcmp(text + at, "-u", 2) == 0) ||
				    (end - at == 6 &&
				     memcmp(text + at, "--user", 6) == 0)
			    ? !find_password(text, len, end, &s)
			    : !is_secret_name(text + at, end - at) ||
				      !find_member_value(text, len, end, &s))
			continue;
		any = true;
		buf_add(&rest, text + done, s.from - done);
		done = end = s.end;
	}
	buf_add(&rest, text + done, len - done);
	return redact_prose(rest.data, rest.len, to) || any;
}

bool redact_settings(const char *name, const void *data, size_t len,
		     struct buf *to, char ***members)
{
	struct json_redact json = {.members = members};
	const char *text = data, *front = NULL;
	bool any = false;

	in_agent_settings = true;
	if ((has_suffix(name, JSON_SUFFIXES) ||
	     (len && *(const char *)data == '{')) &&
	    redact_json_text(data, len, to, &json))
		any = json.any;
	else if (has_suffix(name, JSON_SUFFIXES LINES_SUFFIXES))
		any = redact_lines(data, len, to, has_suffix(name, " env "),
				   members, NULL);
	else {
		/* Markdown may begin with lines of YAML. */
		if (len > 4 && memcmp(text, "---\n", 4) == 0)
			front = memmem(text, len, "\n---\n", 5);
		if (front) {
			front++;
			any = redact_lines(text, (size_t)(front - text), to,
					   false, members, NULL);
		}
		any |= redact_members(
			front ?: text,
			front ? len - (size_t)(front - text) : len, to);
	}
	in_agent_settings = false;
	return any;
}

/* ---- secrets in a copy ---- */

static int merge_json(struct buf *real, struct buf *copy, struct buf *to)
{
	struct json_redact r = {.merges = true};
	json_t *root = members_load(real), *there = members_load(copy);
	char *dumped = NULL;
	const bool both = root && there;

	if (both)
		redact_json(&r, root, there, "", false);
	if (r.any)
		dumped = json_dumps(there, JSON_INDENT(2));
	buf_add_text(to, dumped ?: "");
	free(dumped);
	json_decref(root);
	json_decref(there);
	return both ? r.any : -EINVAL;
}

/* Lines with secrets have to be equally many in both files, under the same
 * names. */
static int merge_lines(const struct buf *real, const struct buf *copy,
		       bool section, struct buf *to)
{
	const char *done = (const char *)copy->data, *end = done + copy->len;
	AUTO(buf) struct buf ignored = {0};
	struct secret_lines mine = {0}, theirs = {0};
	bool any = false, fits;
	size_t i;

	(void)redact_lines((const char *)real->data, real->len, &ignored,
			   section, NULL, &mine);
	(void)redact_lines(done, copy->len, &ignored, section, NULL, &theirs);
	fits = mine.count == theirs.count;
	for (i = 0; fits && i < mine.count; i++) {
		const struct secret_line *a = &mine.items[i],
					 *b = &theirs.items[i];
		size_t a_key = 0, b_key = 0;

		fits = !find_value(a->text, a->len, &a_key) ==
			       !find_value(b->text, b->len, &b_key) &&
		       a_key == b_key && memcmp(a->text, b->text, a_key) == 0;
		buf_add(to, done, (size_t)(b->text - done));
		buf_add(to, a->text, a->len);
		any |= a->len != b->len ||
		       memcmp(a->text, b->text, a->len) != 0;
		done = b->text + b->len;
	}
	buf_add(to, done, (size_t)(end - done));
	VEC_FREE(&mine);
	VEC_FREE(&theirs);
	return fits ? any : -EINVAL;
}

int redact_merge(const char *name, struct buf *real, struct buf *copy,
		 struct buf *to)
{
	int got = 0;

	in_agent_settings = true;
	if (has_suffix(name, JSON_SUFFIXES))
		got = merge_json(real, copy, to);
	else if (has_suffix(name, LINES_SUFFIXES))
		got = merge_lines(real, copy, has_suffix(name, " env "), to);
	in_agent_settings = false;
	return got;
}
