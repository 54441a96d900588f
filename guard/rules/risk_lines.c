/*
 * Lines of settings, with their places, and which of them a change adds. Small
 * scanners stand for parsers of YAML, TOML and make: they err towards a place
 * that is too long, never towards an added line that is overlooked. JSON is
 * read in the parsing worker.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/rules/risk_place.h"
#include "guard/rules/risk_private.h"
#include "restore/parse/parse.h"

#define DEPTH_MAX 32 /* of YAML; deeper keys count as values */

void risk_lines_free(struct risk_lines *l)
{
	if (l->paths)
		names_free(l->paths);
	free(l->paths);
	free(l->bytes);
	free(l->items);
	*l = (struct risk_lines){0};
}

/* The path lives as long as the lines. */
static const char *keep_path(struct risk_lines *l, const char *path)
{
	if (!l->paths)
		l->paths = mem_zalloc(sizeof(*l->paths));
	if (!l->paths->count ||
	    strcmp(l->paths->items[l->paths->count - 1], path) != 0)
		names_add(l->paths, path);
	return l->paths->items[l->paths->count - 1];
}

static void add_line(struct risk_lines *l, const char *path, const char *text,
		     size_t number)
{
	*VEC_ADD(l) = (struct risk_line){
		.path = keep_path(l, path), .text = text, .number = number};
}

/* --- YAML --- */

struct yaml_scan {
	struct {
		size_t indent;
		char *path; /* with the keys above */
	} keys[DEPTH_MAX];
	size_t depth;
	bool block; /* in a block scalar of the last key */
};

static const char *yaml_path(const struct yaml_scan *y)
{
	return y->depth ? y->keys[y->depth - 1].path : "";
}

/* The length of the key at the beginning of the text, or 0. */
static size_t yaml_key_len(const char *text)
{
	size_t len;

	if (*text == '"' || *text == '\'') {
		const char *end = strchr(text + 1, *text);

		len = end ? (size_t)(end - text) + 1 : 0;
	} else {
		len = strcspn(text, ":#");
		while (text[len] && (text[len] == '#' ||
				     (text[len + 1] &&
				      !isspace((unsigned char)text[len + 1]))))
			len += 1 + strcspn(text + len + 1, ":#");
	}
	return text[len] == ':' ? len : 0;
}

static const char *scan_yaml_line(struct yaml_scan *y, const char *line)
{
	size_t indent = strspn(line, " "), len;
	const char *text = line + indent, *value;

	if (!*text || (*text == '#' && !y->block))
		return yaml_path(y);
	if (y->block && y->depth && indent > y->keys[y->depth - 1].indent)
		return yaml_path(y);
	y->block = false;
	while (text[0] == '-' && (text[1] == ' ' || text[1] == '\t')) {
		size_t skip = 1 + strspn(text + 1, " \t");

		indent += skip;
		text += skip;
	}
	while (y->depth && y->keys[y->depth - 1].indent >= indent)
		free(y->keys[--y->depth].path);
	len = yaml_key_len(text);
	if (len && y->depth < DEPTH_MAX) {
		bool quoted = *text == '"' || *text == '\'';
		char *path = risk_place_join(yaml_path(y), text + quoted,
					     len - 2 * quoted);

		y->keys[y->depth].indent = indent;
		y->keys[y->depth++].path = path;
		value = text + len + 1 + strspn(text + len + 1, " \t");
		y->block = *value == '|' || *value == '>';
	} else if (!len) {
		y->block = *text == '|' || *text == '>';
	}
	return yaml_path(y);
}

/* --- sections and keys --- */

struct ini_scan {
	enum risk_format format;
	char *section, *path;
	bool has_key;
	char until; /* TOML: '"' or '\'' of a text of several lines */
	int open; /* TOML: brackets of an array of several lines */
};

static void set_ini_path(struct ini_scan *s, const char *key, size_t len)
{
	free(s->path);
	s->path = risk_place_join(s->section, key, len);
}

/* Behind the section's name, which may have brackets between its quotes: git
 * takes a key on the same line. */
static const char *skip_section(const char *at)
{
	bool quoted = false;

	for (; *at && (quoted || *at != ']'); at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			quoted = !quoted;
	}
	return at + strspn(at, "]");
}

/* Follows the brackets and long texts of a TOML value to its end. */
static void scan_toml_value(struct ini_scan *s, const char *at)
{
	for (; *at; at++) {
		if (s->until) {
			if (at[0] == s->until && at[1] == s->until &&
			    at[2] == s->until) {
				s->until = 0;
				at += 2;
			}
		} else if ((*at == '"' || *at == '\'') && at[1] == *at &&
			   at[2] == *at) {
			s->until = *at;
			at += 2;
		} else if (*at == '"' || *at == '\'') {
			const char *end = strchr(at + 1, *at);

			if (!end)
				return;
			at = end;
		} else if (*at == '#') {
			return;
		} else {
			s->open += (*at == '[' || *at == '{') -
				   (*at == ']' || *at == '}');
		}
	}
}

static const char *scan_ini_line(struct ini_scan *s, const char *line)
{
	const char *text = line + strspn(line, " \t");
	const char *end = NULL;
	size_t len;

	if (!*text || (!s->until && (*text == '#' || *text == ';')))
		return s->path;
	if (s->until || s->open > 0) {
		scan_toml_value(s, text);
		return s->path;
	}
	if (s->format == FORMAT_INI && text != line && s->has_key)
		return s->path;
	if (*text == '[') {
		const char *name = text + strspn(text, "[");

		end = skip_section(text);
		len = (size_t)(end - name);
		while (len && name[len - 1] == ']')
			len--;
		free(s->section);
		s->section = text_trim(name, len);
		s->has_key = false;
		text = end + strspn(end, " \t");
		set_ini_path(s, "", 0);
		if (s->format != FORMAT_GIT || !*text)
			return s->path;
	}
	len = strcspn(text, s->format == FORMAT_INI ? "=:" : "=");
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	set_ini_path(s, text, len);
	s->has_key = true;
	if (s->format == FORMAT_TOML) {
		text += strcspn(text, "=");
		scan_toml_value(s, *text ? text + 1 : text);
	}
	return s->path;
}

/* --- make, Markdown --- */

struct plain_scan {
	enum risk_format format;
	bool joined; /* the last line ends in a backslash */
	bool fenced; /* between ``` and ``` */
	const char *path;
};

static const char *scan_plain_line(struct plain_scan *s, const char *line)
{
	const char *text = line + strspn(line, " \t"), *colon;
	size_t len = strlen(line);
	bool joined = s->joined;

	if (s->format == FORMAT_PROSE) {
		if (strncmp(text, "```", 3) == 0 ||
		    strncmp(text, "~~~", 3) == 0)
			s->fenced = !s->fenced;
		return s->fenced ? "code" : "";
	}
	if (s->format != FORMAT_MAKE)
		return "";
	s->joined = len && line[len - 1] == '\\';
	if (joined)
		return s->path;
	colon = strchr(line, ':');
	if (*line == '\t' || (colon && strchr(colon, ';')))
		s->path = "recipe";
	else
		s->path = "";
	return s->path;
}

/* --- JSON --- */

/* Pairs of texts, each with a NUL behind it. False: of another form, or more
 * than the file can have. */
static bool take_json_values(char *bytes, size_t len, size_t max,
			     struct risk_lines *ret)
{
	const char *at = bytes + 1, *end = bytes + len;

	if (end[-1] != '\0' && at != end)
		return false;
	while (at < end) {
		const char *path = at, *text = path + strlen(path) + 1;

		if (text >= end || ret->count >= max)
			return false;
		*VEC_ADD(ret) = (struct risk_line){.path = path, .text = text};
		at = text + strlen(text) + 1;
	}
	return true;
}

static int parse_json(const struct buf *text, struct risk_lines *ret,
		      struct err *err)
{
	const struct parse_text in = {text->data, text->len};
	AUTO(buf) struct buf answer = {0};
	size_t len;

	ret->keyed = true;
	if (parse_call(PARSE_JSON_LINES, &in, 1, &answer, err) < 0)
		return -err->num;
	len = answer.len;
	ret->bytes = buf_take_text(&answer);
	if (len == 1 && ret->bytes[0] == 0)
		return 0;
	if (!len || ret->bytes[0] != 1 ||
	    !take_json_values(ret->bytes, len, text->len, ret))
		return parse_refuse(err);
	return 1;
}

/* --- all formats --- */

static void trim_line(char *line)
{
	size_t len = strlen(line);

	while (len && isspace((unsigned char)line[len - 1]))
		line[--len] = '\0';
}

void risk_lines_split(enum risk_format format, const struct buf *bytes,
		      struct risk_lines *ret)
{
	struct yaml_scan yaml = {0};
	struct ini_scan ini = {format, mem_strdup(""), mem_strdup(""),
			       .has_key = false};
	struct plain_scan plain = {.format = format, .path = ""};
	char *at, *end;
	size_t number = 0;

	ret->bytes =
		bytes->len ? mem_strndup((const char *)bytes->data, bytes->len)
			   : mem_strdup("");
	at = ret->bytes;
	if (strncmp(at, "\xef\xbb\xbf", 3) == 0)
		at += 3;
	for (; *at; at = end) {
		const char *path;

		number++;
		/* YAML ends a line at a lone CR, too. */
		end = at + strcspn(at, "\r\n");
		if (end[0] == '\r' && end[1] == '\n')
			*end++ = '\0';
		if (*end)
			*end++ = '\0';
		trim_line(at);
		path = format == FORMAT_YAML ? scan_yaml_line(&yaml, at)
		       : format == FORMAT_TOML || format == FORMAT_INI ||
				       format == FORMAT_GIT
			       ? scan_ini_line(&ini, at)
			       : scan_plain_line(&plain, at);
		add_line(ret, path, at + strspn(at, " \t"), number);
	}
	while (yaml.depth)
		free(yaml.keys[--yaml.depth].path);
	free(ini.section);
	free(ini.path);
}

int risk_lines_parse(enum risk_format format, const struct buf *bytes,
		     struct risk_lines *ret, struct err *err)
{
	if (bytes->len && format == FORMAT_JSON)
		return parse_json(bytes, ret, err);
	risk_lines_split(format, bytes, ret);
	return 1;
}

/* --- comparison --- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Names that a version may directly follow. */
static bool takes_version(const char *text, size_t at)
{
	static const char *const names[] = {"py",   "python", "pypy",  "cp",
					    "gcc",  "clang",  "jdk",   "node",
					    "llvm", "ubuntu", "macos", "v"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		size_t len = strlen(names[i]);

		if (at >= len && strncmp(text + at - len, names[i], len) == 0 &&
		    (at == len || !is_word(text[at - len - 1])))
			return true;
	}
	return false;
}

/* The length of a version like 1.2, 3.x or 2.0rc1, or 0. An address of four
 * numbers is no version. */
static size_t version_len(const char *text, size_t at)
{
	static const char *const suffixes[] = {
		"alpha", "beta", "rc", "dev", "post", "pre", "a", "b", NULL};
	const char *p = text + at;
	size_t len, groups = 1, i;

	if (at && is_word(text[at - 1]) && !takes_version(text, at))
		return 0;
	len = strspn(p, "0123456789");
	while (len && p[len] == '.' &&
	       (isdigit((unsigned char)p[len + 1]) || p[len + 1] == 'x' ||
		p[len + 1] == '*')) {
		size_t digits = strspn(p + len + 1, "0123456789");

		groups++;
		len += 1 + (digits ? digits : 1);
	}
	if (!len || (groups == 4 && p[len] != '-'))
		return 0;
	for (i = 0; suffixes[i]; i++) {
		size_t skip = strspn(p + len, "-.+");
		size_t n = strlen(suffixes[i]);

		if (strncmp(p + len + skip, suffixes[i], n) != 0)
			continue;
		n += strspn(p + len + skip + n, "-.");
		len += skip + n + strspn(p + len + skip + n, "0123456789");
		break;
	}
	return is_word(p[len]) ? 0 : len;
}

/* The length of a hash in hex, or of sha512-BASE64, or 0. */
static size_t hash_len(const char *text, size_t at)
{
	const char *p = text + at;
	size_t len, skip = 0;

	if (at && is_word(text[at - 1]))
		return 0;
	if (strncmp(p, "sha", 3) == 0) {
		skip = 3 + strspn(p + 3, "0123456789");
		if (p[skip] == '-') {
			len = strspn(p + skip + 1,
				     "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmn"
				     "opqrstuvwxyz0123456789+/=");
			return len >= 28 ? skip + 1 + len : 0;
		}
		skip += p[skip] == ':';
	}
	len = strspn(p + skip, "0123456789abcdef");
	return (len == 40 || len == 64) && !is_word(p[skip + len]) ? skip + len
								   : 0;
}

#define VERSION '\1'
#define HASH '\2'

/* Versions in a row (">=3.1, <4") count as a single one. */
static void add_version(struct buf *to)
{
	size_t len = to->len;

	while (len && strchr(" ,<>=~^!|", to->data[len - 1]))
		len--;
	if (len && to->data[len - 1] == VERSION) {
		to->len = len;
		return;
	}
	while (to->len && strchr("<>=~^!", to->data[to->len - 1]))
		to->len--;
	buf_add_char(to, VERSION);
}

/* The text without what does not count: blanks, comments, versions. */
static void add_normalized(struct buf *to, const char *text,
			   const char *comment)
{
	size_t clen = comment ? strlen(comment) : 0, at = 0, len;

	if (clen && strncmp(text, comment, clen) == 0 && text[1] != '!')
		return;
	while (text[at]) {
		if (clen && at && text[at - 1] == ' ' &&
		    strncmp(text + at, comment, clen) == 0 &&
		    !memchr(text, '"', at) && !memchr(text, '\'', at))
			break;
		if (strncmp(text + at, "://", 3) == 0) {
			/* The host counts. */
			len = 3 + strcspn(text + at + 3, "/ \t\"'");
			buf_add(to, text + at, len);
		} else if ((len = hash_len(text, at))) {
			buf_add_char(to, HASH);
		} else if ((len = version_len(text, at))) {
			if (to->len && to->data[to->len - 1] == 'v' &&
			    (to->len < 2 ||
			     !is_word((char)to->data[to->len - 2])))
				to->len--;
			add_version(to);
		} else if ((len = strspn(text + at, " \t"))) {
			buf_add_char(to, ' ');
		} else {
			buf_add_char(to, text[at]);
			len = 1;
		}
		at += len;
	}
	while (to->len && to->data[to->len - 1] == ' ')
		to->len--;
}

/* The line as it is compared; empty: it does not count. */
static char *line_key(const struct risk_lines *l, const struct risk_line *line,
		      const char *comment, bool bytes)
{
	AUTO(buf) struct buf text = {0};
	const char *last = strrchr(line->path, '.');

	if (bytes)
		return mem_strdup(line->text);
	add_normalized(&text, line->text, l->keyed ? NULL : comment);
	if (!text.len)
		return mem_strdup("");
	return mem_printf("%s\n%s",
			  l->keyed ? line->path
			  : last   ? last + 1
				   : line->path,
			  buf_text(&text));
}

static int compare_keys(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void compare_lines(struct risk_lines *now, const struct risk_lines *old,
			  const char *comment, bool bytes)
{
	AUTO(names) struct names had = {0};
	size_t i;

	for (i = 0; i < old->count; i++)
		*VEC_ADD(&had) = line_key(old, &old->items[i], comment, bytes);
	VEC_SORT(&had, compare_keys);
	for (i = 0; i < now->count; i++) {
		auto_free char *key =
			line_key(now, &now->items[i], comment, bytes);

		now->items[i].added =
			*key && !(had.count &&
				  bsearch(&key, had.items, had.count,
					  sizeof(*had.items), compare_keys));
	}
}

void risk_lines_compare(struct risk_lines *now, const struct risk_lines *old,
			const char *comment)
{
	compare_lines(now, old, comment, false);
}

void risk_lines_compare_bytes(struct risk_lines *now,
			      const struct risk_lines *old)
{
	compare_lines(now, old, NULL, true);
}
