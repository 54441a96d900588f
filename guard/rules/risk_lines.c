/* Lines of settings, with their places, and which of them a change adds. JSON
 * is read in the parsing worker. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"
#include "restore/parse/parse.h"

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

static void add_line(void *arg, const char *place, const char *text,
		     size_t number)
{
	struct risk_lines *l = arg;

	*VEC_ADD(l) = (struct risk_line){
		.path = keep_path(l, place), .text = text, .number = number};
}

void risk_lines_split(enum settings_format format, const struct buf *bytes,
		      struct risk_lines *ret)
{
	ret->bytes =
		bytes->len ? mem_strndup((const char *)bytes->data, bytes->len)
			   : mem_strdup("");
	settings_each_line(format, ret->bytes, add_line, ret);
}

int risk_lines_parse(enum settings_format format, const struct buf *bytes,
		     struct risk_lines *ret, struct err *err)
{
	if (bytes->len && format == SETTINGS_JSON)
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

	for (i = 0; i < ARRAY_SIZE(names); i++) {
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

	for (i = 0; i < old->count; i++) {
		if (i % RISK_LINES_OF_TIME == 0 && risk_is_late())
			break;
		*VEC_ADD(&had) = line_key(old, &old->items[i], comment, bytes);
	}
	VEC_SORT(&had, compare_keys);
	for (i = 0; i < now->count; i++) {
		auto_free char *key = NULL;

		if (i % RISK_LINES_OF_TIME == 0 && risk_is_late())
			break;
		key = line_key(now, &now->items[i], comment, bytes);

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
