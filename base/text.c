#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <wchar.h>
#include <wctype.h>

#define TEXT_BUFFERS 8
#define TEXT_BUFFER_LEN 2048
#define QUOTE_MAX 400
#define MB_LONGEST 4 /* bytes of a character */

static char *next_text_buffer(void)
{
	static _Thread_local char ring[TEXT_BUFFERS][TEXT_BUFFER_LEN];
	static _Thread_local unsigned int at;

	return ring[at++ % TEXT_BUFFERS];
}

const char *text_printf(const char *format, ...)
{
	char *out = next_text_buffer();
	va_list args;

	va_start(args, format);
	(void)vsnprintf(out, TEXT_BUFFER_LEN, format, args);
	va_end(args);
	return out;
}

size_t text_decode(const void *data, size_t len, uint32_t *ret_c)
{
	const unsigned char *p = data;
	uint32_t c, least;
	size_t need, i;

	if (p[0] < 0x80) {
		*ret_c = p[0];
		return 1;
	}
	if (p[0] >= 0xc2 && p[0] <= 0xdf) {
		need = 2;
		c = p[0] & 0x1f;
		least = 0x80;
	} else if ((p[0] & 0xf0) == 0xe0) {
		need = 3;
		c = p[0] & 0x0f;
		least = 0x800;
	} else if (p[0] >= 0xf0 && p[0] <= 0xf4) {
		need = 4;
		c = p[0] & 0x07;
		least = 0x10000;
	} else {
		return 0;
	}
	if (len < need)
		return 0;
	for (i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return 0;
	*ret_c = c;
	return need;
}

struct text_span {
	uint32_t first, last;
};

static bool is_in_spans(const struct text_span *spans, uint32_t c)
{
	while (c > spans->last)
		spans++;
	return c >= spans->first;
}

bool text_is_invisible(uint32_t c)
{
	/* Unicode's Default_Ignorable_Code_Point, C1, separators of lines,
	 * annotations, and characters whose glyph is blank. */
	static const struct text_span spans[] = {
		{0x80, 0x9f},
		{0xad, 0xad},
		{0x34f, 0x34f},
		{0x61c, 0x61c},
		{0x115f, 0x1160},
		{0x17b4, 0x17b5},
		{0x180b, 0x180f},
		{0x200b, 0x200f},
		{0x2028, 0x202e},
		{0x2060, 0x206f},
		{0x2800, 0x2800},
		{0x3164, 0x3164},
		{0xfe00, 0xfe0f},
		{0xfeff, 0xfeff},
		{0xffa0, 0xffa0},
		{0xfff0, 0xfffb},
		{0x13441, 0x13442},
		{0x16fe4, 0x16fe4},
		{0x1bca0, 0x1bca3},
		{0x1d159, 0x1d159},
		{0x1d173, 0x1d17a},
		{0xe0000, 0xe0fff},
		{UINT32_MAX, UINT32_MAX},
	};

	return is_in_spans(spans, c);
}

/* --- letters that look alike --- */

/* Python reads these as the letter of ASCII. */
static bool is_styled_letter(uint32_t c)
{
	static const struct text_span spans[] = {
		{0x2102, 0x2149},   {0x2160, 0x217f},	      {0xff10, 0xff5a},
		{0x1d400, 0x1d7ff}, {UINT32_MAX, UINT32_MAX},
	};

	return is_in_spans(spans, c);
}

/* Letters of other alphabets that look like one of ASCII, with
 * rare neighbors. Of Greek letters
 * that formulas have beside Latin ones, the closest. */
static bool is_foreign_twin(uint32_t c)
{
	static const struct text_span spans[] = {
		{0x1c0, 0x1c3},	    {0x251, 0x251},	      {0x261, 0x261},
		{0x37f, 0x37f},	    {0x391, 0x392},	      {0x395, 0x397},
		{0x399, 0x39a},	    {0x39c, 0x39d},	      {0x39f, 0x39f},
		{0x3a1, 0x3a1},	    {0x3a4, 0x3a5},	      {0x3a7, 0x3a7},
		{0x3bd, 0x3bd},	    {0x3bf, 0x3bf},	      {0x3f2, 0x3fa},
		{0x405, 0x408},	    {0x410, 0x410},	      {0x412, 0x412},
		{0x415, 0x415},	    {0x41a, 0x41a},	      {0x41c, 0x41e},
		{0x420, 0x423},	    {0x425, 0x425},	      {0x42c, 0x42c},
		{0x430, 0x430},	    {0x435, 0x435},	      {0x43e, 0x43e},
		{0x440, 0x441},	    {0x443, 0x443},	      {0x445, 0x445},
		{0x44c, 0x44c},	    {0x455, 0x458},	      {0x461, 0x461},
		{0x474, 0x475},	    {0x4ae, 0x4cf},	      {0x501, 0x51d},
		{0x53c, 0x53c},	    {0x54d, 0x54d},	      {0x54f, 0x54f},
		{0x555, 0x555},	    {0x566, 0x566},	      {0x570, 0x570},
		{0x575, 0x575},	    {0x578, 0x578},	      {0x57d, 0x57d},
		{0x581, 0x581},	    {0x585, 0x585},	      {0x13a0, 0x13f5},
		{0x1d00, 0x1d22},   {0x2c80, 0x2cb5},	      {0xa4d0, 0xa4f7},
		{0x10400, 0x1044f}, {UINT32_MAX, UINT32_MAX},
	};

	return is_in_spans(spans, c);
}

static pthread_once_t utf8_once = PTHREAD_ONCE_INIT;
static locale_t utf8_locale;

static void open_utf8_locale(void)
{
	utf8_locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static bool is_word_character(uint32_t c)
{
	if (c < 0x80)
		return isalnum((int)c);
	(void)pthread_once(&utf8_once, open_utf8_locale);
	return !utf8_locale || iswalnum_l((wint_t)c, utf8_locale) ||
	       text_is_invisible(c);
}

/* The part of an identifier, a path or a host that a letter is in is judged
 * with so many bytes around it. */
#define PART_AROUND 256

/* An ASCII character that is in no part. */
static bool ends_part(unsigned char c)
{
	return !isalnum(c) && !strchr("._-/", c);
}

/* Letters of a part, by kind. */
struct text_letters {
	size_t latin, twins, styled, others;
};

static void count_letter(struct text_letters *to, uint32_t c)
{
	if (is_styled_letter(c))
		to->styled++;
	else if (is_foreign_twin(c))
		to->twins++;
	else if (c >= 0x80 ? c <= 0x24f : isalpha((int)c))
		to->latin++;
	else if (c >= 0x80 && !text_is_invisible(c))
		to->others++;
}

/* Whether letters of the part around a letter look like others. Sets the end
 * of that part. */
static bool part_deceives(const unsigned char *p, size_t len, size_t at,
			  size_t *ret_end)
{
	const size_t least = at > PART_AROUND ? at - PART_AROUND : 0;
	struct text_letters part = {0};
	bool latin = false, reached = false, passed = false;
	size_t i = at, n;
	uint32_t c;

	*ret_end = at + 1;
	while (i > least && (p[i - 1] >= 0x80 || !ends_part(p[i - 1])))
		i--;
	if (len - at > PART_AROUND)
		len = at + PART_AROUND;
	for (; i < len; i += n) {
		n = text_decode(p + i, len - i, &c);
		reached |= i >= at;
		if (n && is_word_character(c)) {
			struct text_letters letter = {0};

			count_letter(passed ? &letter : &part, c);
			latin |= part.latin || letter.latin;
			*ret_end = passed ? *ret_end : i + n;
			continue;
		}
		n += !n;
		passed |= reached;
		if (p[i] >= 0x80 || ends_part(p[i])) {
			if (reached)
				break;
			latin = false;
		}
		if (!reached)
			part = (struct text_letters){0};
	}
	if (part.latin || (!part.others && part.styled >= 2))
		return part.twins + part.styled > 0;
	return latin && !part.others && part.twins + part.styled >= 2;
}

static bool is_lookalike(uint32_t c)
{
	return is_styled_letter(c) || is_foreign_twin(c);
}

bool text_has_lookalikes(const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t i, n, end = 0;
	uint32_t c;

	for (i = 0; i < len; i += n ? n : 1) {
		n = text_decode(p + i, len - i, &c);
		if (n > 1 && i >= end && is_lookalike(c) &&
		    part_deceives(p, len, i, &end))
			return true;
	}
	return false;
}

void text_escape(struct buf *to, const void *data, size_t len, bool keep_lines)
{
	text_escape_part(to, data, len, 0, len, keep_lines);
}

/* "<U+0410>": a text may have millions of them. */
static void add_code_point(struct buf *to, uint32_t c)
{
	char text[sizeof("<U+10FFFF>")] = "<U+";
	int bits = c > 0xfffff ? 24 : c > 0xffff ? 20 : 16;
	size_t len = 3;

	while (bits) {
		bits -= 4;
		text[len++] = "0123456789ABCDEF"[c >> bits & 15];
	}
	text[len++] = '>';
	buf_add(to, text, len);
}

void text_escape_part(struct buf *to, const void *data, size_t all, size_t at,
		      size_t part, bool keep_lines)
{
	const unsigned char *p = data;
	size_t len = at + part, i = at, judged = 0;
	bool deceives = false;

	while (i < len) {
		size_t plain = i, n;
		uint32_t c;

		/* Most text is printable ASCII. */
		while (plain < len && p[plain] >= ' ' && p[plain] <= '~')
			plain++;
		if (plain > i) {
			buf_add(to, p + i, plain - i);
			i = plain;
			continue;
		}
		n = text_decode(p + i, len - i, &c);
		if (n == 0) {
			buf_printf(to, "\\x%02x", p[i]);
			i++;
			continue;
		}
		if (n > 1 && i >= judged && is_lookalike(c))
			deceives = part_deceives(p, all, i, &judged);
		if (keep_lines && (c == '\n' || c == '\t'))
			buf_add_char(to, (char)c);
		else if (c == '\n')
			buf_add_text(to, "\\n");
		else if (c == '\t')
			buf_add_text(to, "\\t");
		else if (c == '\r')
			buf_add_text(to, "\\r");
		else if (c < 0x20 || c == 0x7f)
			buf_printf(to, "\\x%02x", (unsigned int)c);
		else if (text_is_invisible(c) ||
			 (deceives && i < judged && is_lookalike(c)))
			add_code_point(to, c);
		else
			buf_add(to, p + i, n);
		i += n;
	}
}

void text_escape_name(struct buf *to, const char *name)
{
	text_escape(to, name, strlen(name), false);
}

const char *text_quote(const char *name)
{
	char *out = next_text_buffer();
	struct buf b = {0};
	size_t len = strlen(name);

	if (len <= QUOTE_MAX) {
		text_escape(&b, name, len, false);
	} else {
		text_escape(&b, name, QUOTE_MAX / 2, false);
		buf_add_text(&b, "...");
		text_escape(&b, name + len - QUOTE_MAX / 2, QUOTE_MAX / 2,
			    false);
	}
	(void)snprintf(out, TEXT_BUFFER_LEN, "'%.*s'", TEXT_BUFFER_LEN - 3,
		       buf_text(&b));
	buf_free(&b);
	return out;
}

/* Bytes that no shell expands. */
#define SHELL_PLAIN                                                            \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"       \
	"_./@%+=:,-"

void text_shell_word(struct buf *to, const char *word)
{
	struct buf shown = {0};
	const char *p;
	bool plain = *word && strspn(word, SHELL_PLAIN) == strlen(word);
	bool visible;

	text_escape_name(&shown, word);
	visible = strcmp(buf_text(&shown), word) == 0;
	buf_free(&shown);
	buf_add_text(to, plain ? "" : visible ? "'" : "\"$(printf '");
	for (p = word; *p; p++)
		if (visible && *p == '\'')
			buf_add_text(to, "'\\''");
		else if (visible || isalnum((unsigned char)*p))
			buf_add_char(to, *p);
		else
			buf_printf(to, "\\%03o", (unsigned char)*p);
	buf_add_text(to, plain ? "" : visible ? "'" : "')\"");
}

const char *text_shell(const char *word)
{
	char *out = next_text_buffer();
	struct buf b = {0};

	text_shell_word(&b, word);
	(void)snprintf(out, TEXT_BUFFER_LEN, "%s", buf_text(&b));
	buf_free(&b);
	return out;
}

bool text_is_utf8(const void *data, size_t len)
{
	const unsigned char *p = data;
	size_t i = 0;

	while (i < len) {
		uint32_t c;
		size_t n = text_decode(p + i, len - i, &c);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

void text_encode(struct buf *b, uint32_t c)
{
	if (c < 0x80) {
		buf_add_char(b, (char)c);
	} else if (c < 0x800) {
		buf_add_char(b, (char)(0xc0 | c >> 6));
		buf_add_char(b, (char)(0x80 | (c & 0x3f)));
	} else if (c < 0x10000) {
		buf_add_char(b, (char)(0xe0 | c >> 12));
		buf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_add_char(b, (char)(0x80 | (c & 0x3f)));
	} else {
		buf_add_char(b, (char)(0xf0 | c >> 18));
		buf_add_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
		buf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
		buf_add_char(b, (char)(0x80 | (c & 0x3f)));
	}
}

uint32_t text_lower_case(uint32_t c)
{
	if (c < 0x80)
		return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
	(void)pthread_once(&utf8_once, open_utf8_locale);
	if (!utf8_locale)
		return c;
	return (uint32_t)towlower_l(towupper_l((wint_t)c, utf8_locale),
				    utf8_locale);
}

/* Columns of the character at text, and its length in bytes. */
static size_t char_width(const char *text, size_t *ret_len)
{
	uint32_t c;
	locale_t before;
	int width;

	*ret_len = text_decode((const unsigned char *)text,
			       strnlen(text, MB_LONGEST), &c);
	if (*ret_len <= 1) {
		*ret_len = 1;
		return 1;
	}
	(void)pthread_once(&utf8_once, open_utf8_locale);
	if (!utf8_locale)
		return 1;
	before = uselocale(utf8_locale);
	width = wcwidth((wchar_t)c);
	(void)uselocale(before);
	return width < 0 ? 1 : (size_t)width;
}

size_t text_width(const char *text)
{
	size_t columns = 0, len;

	for (; *text; text += len)
		columns += char_width(text, &len);
	return columns;
}

size_t text_fit(const char *text, size_t columns)
{
	size_t at = 0, len;

	for (; text[at]; at += len) {
		size_t width = char_width(text + at, &len);

		if (width > columns)
			break;
		columns -= width;
	}
	return at;
}

const char *text_size(uint64_t bytes)
{
	static const char *const units[] = {"B",  "KB", "MB", "GB",
					    "TB", "PB", "EB"};
	char *out = next_text_buffer();
	double value = (double)bytes;
	unsigned int unit = 0;

	while (value >= 999.5 && unit < 6) {
		value /= 1000;
		unit++;
	}
	if (unit && value < 9.95)
		(void)snprintf(out, TEXT_BUFFER_LEN, "%.1f %s", value,
			       units[unit]);
	else
		(void)snprintf(out, TEXT_BUFFER_LEN, "%.0f %s", value,
			       units[unit]);
	return out;
}

const char *text_count(uint64_t count, const char *noun)
{
	char *out = next_text_buffer();
	size_t len = strlen(noun);
	bool ies = len > 1 && noun[len - 1] == 'y' &&
		   !strchr("aeiou", noun[len - 2]);

	if (count == 1)
		(void)snprintf(out, TEXT_BUFFER_LEN, "1 %s", noun);
	else
		(void)snprintf(out, TEXT_BUFFER_LEN, "%" PRIu64 " %.*s%s",
			       count, (int)(ies ? len - 1 : len), noun,
			       ies ? "ies" : "s");
	return out;
}

void text_sum(struct buf *to, const struct text_part *parts, size_t count,
	      const char *none)
{
	const char *between = "";
	size_t i;

	for (i = 0; i < count; i++) {
		if (!parts[i].count)
			continue;
		buf_printf(to, "%s%llu %s", between,
			   (unsigned long long)parts[i].count, parts[i].name);
		between = ", ";
	}
	if (!*between)
		buf_add_text(to, none);
}

void text_unescape_octal(char *text)
{
	char *to = text;

	while (*text) {
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' &&
		    text[2] >= '0' && text[2] <= '7' && text[3] >= '0' &&
		    text[3] <= '7') {
			*to++ = (char)((text[1] - '0') * 64 +
				       (text[2] - '0') * 8 + (text[3] - '0'));
			text += 4;
		} else {
			*to++ = *text++;
		}
	}
	*to = '\0';
}

size_t text_line_len(const void *at, const void *end)
{
	const char *line = at, *limit = end;
	const char *feed = memchr(line, '\n', (size_t)(limit - line));

	return (size_t)((feed ? feed : limit) - line);
}

char *text_trim(const char *text, size_t len)
{
	while (len && strchr(" \t\r", text[len - 1]))
		len--;
	while (len && strchr(" \t", *text)) {
		text++;
		len--;
	}
	return mem_strndup(text, len);
}

const char *text_age(struct timestamp when)
{
	static const struct {
		int64_t below, unit;
		const char *name;
	} steps[] = {
		{120, 1, "s"},
		{2 * 3600, 60, "min"},
		{48 * 3600, 3600, "h"},
		{INT64_MAX, 86400, "d"},
	};
	int64_t age = timestamp_now().sec - when.sec;
	bool future = age < 0;
	char *out = next_text_buffer();
	size_t i = 0;

	if (future)
		age = -age;
	while (age >= steps[i].below)
		i++;
	(void)snprintf(out, TEXT_BUFFER_LEN, "%s%lld %s%s", future ? "in " : "",
		       (long long)(age / steps[i].unit), steps[i].name,
		       future ? "" : " ago");
	return out;
}

const char *text_time(struct timestamp when)
{
	char *out = next_text_buffer();
	time_t sec = (time_t)when.sec;
	struct tm tm;

	if (!localtime_r(&sec, &tm) ||
	    strftime(out, TEXT_BUFFER_LEN, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		(void)snprintf(out, TEXT_BUFFER_LEN, "@%lld",
			       (long long)when.sec);
	return out;
}

const char *text_moment(struct timestamp when)
{
	char *out = next_text_buffer();
	time_t sec = (time_t)when.sec, now = time(NULL);
	struct tm tm, today;
	bool is_today;
	size_t len;

	if (!localtime_r(&sec, &tm) || !localtime_r(&now, &today))
		return text_time(when);
	is_today = tm.tm_yday == today.tm_yday && tm.tm_year == today.tm_year;
	len = strftime(out, TEXT_BUFFER_LEN,
		       is_today ? "%H:%M:%S" : "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(out + len, TEXT_BUFFER_LEN - len, ".%03u",
		       when.nsec / 1000000);
	return out;
}

const char *text_hex(const void *data, size_t len)
{
	const unsigned char *p = data;
	char *out = next_text_buffer();
	size_t i;

	*out = '\0';
	for (i = 0; i < len && 2 * i + 2 < TEXT_BUFFER_LEN; i++)
		(void)snprintf(out + 2 * i, 3, "%02x", p[i]);
	return out;
}

bool text_unhex(unsigned char *to, const char *text, size_t len)
{
	size_t i;
	unsigned int v;

	if (!text || strlen(text) != 2 * len ||
	    strspn(text, "0123456789abcdef") != 2 * len)
		return false;
	for (i = 0; i < len; i++) {
		if (sscanf(text + 2 * i, "%2x", &v) != 1)
			return false;
		to[i] = (unsigned char)v;
	}
	return true;
}
