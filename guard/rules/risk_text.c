/* Text that deceives its reader, and secrets in text. Only lines count that the
 * old text does not have. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/rules/risk_private.h"

/* --- invisible characters --- */

static bool is_emoji(uint32_t c)
{
	return c >= 0x1f000 || (c >= 0x2190 && c <= 0x2bff) || c == 0x3030 ||
	       c == 0x303d || c == 0x3297 || c == 0x3299 || c == 0x203c ||
	       c == 0x2049 || c == 0x2122 || c == 0x2139 || c == 0xa9 ||
	       c == 0xae || (c >= '0' && c <= '9') || c == '#' || c == '*';
}

/* Scripts whose letters take another form beside a joiner. */
static bool is_joined_script(uint32_t c)
{
	return (c >= 0x600 && c <= 0xdff) || (c >= 0x1000 && c <= 0x109f) ||
	       (c >= 0x1780 && c <= 0x18af);
}

static bool is_ideograph(uint32_t c)
{
	return (c >= 0x3400 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) ||
	       (c >= 0x20000 && c <= 0x3ffff);
}

static bool is_right_to_left(uint32_t c)
{
	return (c >= 0x590 && c <= 0x8ff) || (c >= 0xfb1d && c <= 0xfefc);
}

/* Scripts without blanks between words: Thai to Tibetan, Burmese, Khmer, Tai.
 */
static bool is_unspaced_script(uint32_t c)
{
	return (c >= 0xe00 && c <= 0x109f) || (c >= 0x1780 && c <= 0x17ff) ||
	       (c >= 0x1950 && c <= 0x19df) || (c >= 0x1a20 && c <= 0x1aaf);
}

/* Whether an invisible character belongs to its neighbors. letter: the last
 * one in front of it, perhaps with marks and digits in between. */
static bool is_in_place(uint32_t c, uint32_t letter, uint32_t before,
			uint32_t after)
{
	switch (c) {
	case 0xfe0e:
	case 0xfe0f:
		return is_emoji(before);
	case 0x200d:
		return ((is_emoji(before) || before == 0xfe0f) &&
			is_emoji(after)) ||
		       is_joined_script(before);
	case 0x200c:
		return is_joined_script(before);
	case 0x61c:
	case 0x200e:
	case 0x200f:
		return (is_right_to_left(letter) || is_right_to_left(after)) &&
		       !text_is_invisible(before);
	case 0x200b:
		return is_unspaced_script(before) || is_unspaced_script(after);
	case 0x180e:
		/* Perhaps behind the form of a letter. */
		return before >= 0x180b && before <= 0x18aa && before != c;
	default:
		/* Forms of a letter. */
		return (c >= 0x180b && c <= 0x180f && before >= 0x1820 &&
			before <= 0x18aa) ||
		       (((c >= 0xfe00 && c <= 0xfe02) ||
			 (c >= 0xe0100 && c <= 0xe01ef)) &&
			is_ideograph(before));
	}
}

/* The bytes of the tags that choose a flag, such as England's: at most six
 * letters or digits, of four bytes each, and U+E007F. */
static size_t flag_len(const char *text, size_t len)
{
	size_t at, n;
	uint32_t c;

	for (at = 0; at < len && at <= 6 * 4; at += n) {
		n = text_decode(text + at, len - at, &c);
		if (n && at && c == 0xe007f)
			return at + n;
		if (!n || c < 0xe0030 || c > 0xe007a)
			break;
	}
	return 0;
}

/* The first characters that a terminal obeys or does not show; 0: none. */
struct hidden {
	uint32_t control, invisible;
};

static struct hidden find_hidden(const char *text, size_t len)
{
	uint32_t letter = 0, before = 0, c, after;
	struct hidden found = {0};
	size_t flags = 0, i, n;

	for (i = 0; i < len; i += n ? n : 1) {
		n = text_decode(text + i, len - i, &c);
		if (!n)
			continue;
		if ((c < 0x20 && !(c >= '\t' && c <= '\r')) || c == 0x7f ||
		    (c >= 0x80 && c <= 0x9f)) {
			if (!found.control)
				found.control = c;
		} else if (c == 0x1f3f4) {
			const size_t flag = flag_len(text + i + n, len - i - n);

			/* Flags of Great Britain, or a single other one: more
			 * would be a text. */
			if (!flag ||
			    memcmp(text + i + n, "\U000e0067\U000e0062", 8) ==
				    0 ||
			    !flags++)
				n += flag;
		} else if (c >= 0x80 && text_is_invisible(c)) {
			if (i + n >= len ||
			    !text_decode(text + i + n, len - i - n, &after))
				after = 0;
			if (!found.invisible &&
			    !is_in_place(c, letter, before, after))
				found.invisible = c;
		} else if (c >= 0xa0 || isalpha((int)c)) {
			letter = c;
		}
		before = c;
	}
	return found;
}

bool risk_hides_text(const char *text)
{
	const struct hidden found = find_hidden(text, strlen(text));

	return found.control || found.invisible;
}

/* --- texts that look binary --- */

static bool has_byte(const struct buf *b, char c)
{
	return b->len && memchr(b->data, c, b->len);
}

bool risk_has_nul(const struct buf *b)
{
	return has_byte(b, '\0');
}

static bool is_source_name(const char *path)
{
	static const char *const suffixes[] = {
		".sh",	".bash", ".js",	  ".mjs", ".cjs",    ".ts",   ".jsx",
		".tsx", ".py",	 ".rb",	  ".pl",  ".pm",     ".php",  ".lua",
		".c",	".h",	 ".cc",	  ".cpp", ".hpp",    ".rs",   ".go",
		".mk",	".json", ".yaml", ".yml", ".toml",   ".html", ".css",
		".md",	".sql",	 ".java", ".kt",  ".gradle",
	};
	size_t len = strlen(path), i;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		size_t n = strlen(suffixes[i]);

		if (len > n && strcmp(path + len - n, suffixes[i]) == 0)
			return true;
	}
	return false;
}

static bool is_script(const char *path, const struct buf *now)
{
	return is_source_name(path) ||
	       (now->len > 2 && memcmp(now->data, "#!", 2) == 0);
}

/* A text that a NUL makes binary for every comparison, while its interpreter
 * still reads it: it was no binary before, or has the name of a script. */
static bool hides_text(const char *path, const struct buf *old,
		       const struct buf *now)
{
	if (!risk_has_nul(now) || risk_has_nul(old))
		return false;
	return is_script(path, now) ||
	       (old->len && now->len > old->len / 2 &&
		memcmp(old->data, now->data,
		       old->len < 64 ? old->len / 2 : 32) == 0);
}

/* As many as git looks at for a NUL. */
#define NOISE_WITHIN 8000

/* Random or compressed bytes without a NUL. Text in another encoding than UTF-8
 * has no control characters; colored text has no other one than ESC. */
static bool is_noise(const struct buf *b)
{
	size_t len = b->len < NOISE_WITHIN ? b->len : NOISE_WITHIN;
	size_t invalid = 0, controls = 0, i, n;
	uint32_t c;

	for (i = 0; i < len; i += n ? n : 1) {
		n = text_decode(b->data + i, len - i, &c);
		invalid += !n;
		controls += n && ((c < 0x20 && !(c >= '\t' && c <= '\r') &&
				   c != '\033') ||
				  c == 0x7f);
	}
	return invalid * 4 >= len && controls * 64 >= len && len;
}

/* --- secrets --- */

/* Formats of the issuers. A word with a digit follows each prefix. */
static const struct {
	const char *prefix;
	size_t rest; /* least length of the word */
} keys[] = {
	{"ghp_", 30},	   {"gho_", 30},
	{"ghu_", 30},	   {"ghs_", 30},
	{"ghr_", 30},	   {"github_pat_", 22},
	{"glpat-", 20},	   {"sk-ant-", 20},
	{"sk-proj-", 20},  {"sk-svcacct-", 20},
	{"sk-or-v1-", 20}, {"AIza", 35},
	{"sk_live_", 16},  {"rk_live_", 16},
	{"xoxb-", 20},	   {"xoxp-", 20},
	{"xoxa-", 20},	   {"xapp-", 20},
	{"AKIA", 16},	   {"ASIA", 16},
	{"npm_", 36},	   {"pypi-AgE", 50},
	{"hf_", 30},	   {"dop_v1_", 40},
	{"shpat_", 32},	   {"AGE-SECRET-KEY-1", 50},
	{"whsec_", 24},	   {"lin_api_", 32},
	{"gsk_", 40},	   {"xai-", 40},
	{"r8_", 36},	   {"SG.", 60},
};

static size_t word_len(const char *text)
{
	return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvw"
			    "xyz0123456789-_.");
}

/* The least word of a key or token. Few lines have one, so that the others need
 * no search for each prefix. */
#define KEY_WORD_LEAST 20

static bool is_key_byte(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c >= '-' && c <= '9') || c == '_';
}

static bool has_long_word(const char *line)
{
	size_t len = 0;

	for (; *line && len < KEY_WORD_LEAST; line++)
		len = is_key_byte(*line) ? len + 1 : 0;
	return len >= KEY_WORD_LEAST;
}

static bool has_key(const char *line)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *at = line;

		while ((at = strstr(at, keys[i].prefix))) {
			bool inner =
				at > line && isalnum((unsigned char)at[-1]);
			size_t len;

			at += strlen(keys[i].prefix);
			len = inner ? 0 : word_len(at);
			if (len >= keys[i].rest &&
			    strcspn(at, "0123456789") < len &&
			    !memmem(at, len, "EXAMPLE", 7))
				return true;
			at += len;
		}
	}
	return false;
}

#define KEY_BEGIN "-----BEGIN "

static bool has_private_key(const char *line)
{
	const char *at = strchr(line, '-');

	while (at && strncmp(at, KEY_BEGIN, strlen(KEY_BEGIN)) != 0)
		at = strchr(at + 1, '-');
	return at && strstr(at, "PRIVATE KEY----");
}

/* header.payload.signature, of JSON in base64 each. */
static bool has_token(const char *line)
{
	const char *at = line;

	while ((at = strstr(at, "eyJ"))) {
		size_t len = word_len(at);
		const char *dot = memchr(at, '.', len), *last;

		if (dot && strncmp(dot + 1, "eyJ", 3) == 0) {
			last = memchr(dot + 1, '.',
				      len - (size_t)(dot + 1 - at));
			if (last && dot - at > 10 && last - dot > 10 &&
			    word_len(last + 1) > 20)
				return true;
		}
		at += len;
	}
	return false;
}

/* scheme://user:password@host, unless the password is an example. */
static bool has_password(const char *line)
{
	static const char *const examples[] = {
		"password", "passwd", "pass",  "secret", "pw",	"user",
		"changeme", "xxx",    "test",  "token",	 "key", "postgres",
		"root",	    "admin",  "guest", "example"};
	const char *at = line;

	while ((at = strchr(at, ':'))) {
		size_t user, len, i;

		at++;
		if (at[0] != '/' || at[1] != '/')
			continue;
		at += 2;
		user = strcspn(at, "/:@ \t\"'<>`");
		if (at[user] != ':' || !user)
			continue;
		len = strcspn(at + user + 1, "/:@ \t\"'<>${}*`");
		if (at[user + 1 + len] != '@' || len < 4)
			continue;
		for (i = 0; i < ARRAY_SIZE(examples); i++)
			if (strncasecmp(at + user + 1, examples[i],
					strlen(examples[i])) == 0)
				break;
		if (i == ARRAY_SIZE(examples))
			return true;
	}
	return false;
}

/* --- lines --- */

#define LINE_RULES 4

/* A rule that a line breaks. */
struct broken {
	const char *rule; /* its id */
	uint32_t character; /* that breaks it; 0: not a single one */
};

/* The rules that a line breaks, up to one without a rule. */
static void judge_line(const char *path, const struct risk_line *line,
		       struct broken ret[LINE_RULES + 1])
{
	size_t len = strlen(line->text), n = 0;
	/* A mark of UTF-8 at the beginning of a file hides nothing. */
	const size_t mark =
		line->number == 1 && strncmp(line->text, "\ufeff", 3) == 0 ? 3
									   : 0;
	const struct hidden hidden = find_hidden(line->text + mark, len - mark);

	if (hidden.control)
		ret[n++] = (struct broken){"text-escape", hidden.control};
	if (hidden.invisible)
		ret[n++] = (struct broken){"text-invisible", hidden.invisible};
	else if (text_has_lookalikes(line->text, len))
		ret[n++] = (struct broken){"text-lookalike", 0};
	if ((has_long_word(line->text) &&
	     (has_key(line->text) || has_token(line->text))) ||
	    has_private_key(line->text) || has_password(line->text))
		ret[n++] = (struct broken){"secret", 0};
	if (len > RISK_LINE_MAX && is_source_name(path) &&
	    !strstr(path, ".min.") && !strstr(path, ".json"))
		ret[n++] = (struct broken){"line-long", 0};
	ret[n] = (struct broken){0};
}

static void add_broken(struct risks *ret, const struct broken *broken,
		       const struct risk_line *line)
{
	struct risk *risk =
		risk_add_line(ret, risk_rule(broken->rule), RISK_NONE,
			      line->number, NULL, line->text);

	if (risk)
		risk->character = broken->character;
}

enum { BYTE_WORD = 1, BYTE_MARK = 2, BYTE_OTHER = 4 };

static void fill_byte_kinds(unsigned char kinds[256])
{
	unsigned int i;

	for (i = 0; i < 256; i++) {
		if (is_key_byte((char)i))
			kinds[i] |= BYTE_WORD;
		if (i == ':' || i == '-')
			kinds[i] |= BYTE_MARK;
		if (i < '\t' || (i > '\r' && i < ' ') || i > '~')
			kinds[i] |= BYTE_OTHER;
	}
}

/* Whether judge_line() can find anything: few lines have a byte that is not
 * printable ASCII, or a long word. marked: the text has an address or a private
 * key, in a line with a colon or a dash. */
static bool is_suspect_line(const unsigned char *line, size_t len, bool marked)
{
	static unsigned char kinds[256];
	unsigned int found = 0;
	size_t word = 0, longest = 0, i;

	if (!kinds[0])
		fill_byte_kinds(kinds);
	for (i = 0; i < len; i++) {
		unsigned char kind = kinds[line[i]];

		found |= kind;
		word = kind & BYTE_WORD ? word + 1 : 0;
		longest = word > longest ? word : longest;
	}
	return found & (BYTE_OTHER | (marked ? BYTE_MARK : 0)) ||
	       longest >= KEY_WORD_LEAST || len > RISK_LINE_MAX;
}

/* The lines of a text without those at its beginning and end that the old text
 * has there, too. */
static struct buf changed_lines(const struct buf *old, const struct buf *now)
{
	size_t least = old->len < now->len ? old->len : now->len, start, end;
	const unsigned char *from, *to;

	if (!least)
		return *now;
	start = mem_equal_start(old->data, now->data, least);
	end = mem_equal_end(old->data + old->len, now->data + now->len,
			    least - start);
	from = memrchr(now->data, '\n', start);
	to = memchr(now->data + now->len - end, '\n', end);
	from = from ? from + 1 : now->data;
	to = to ? to : now->data + now->len;
	return (struct buf){.data = now->data + (from - now->data),
			    .len = (size_t)(to - from)};
}

/* Whether a changed line breaks a rule. The lines are those of
 * risk_lines_split(), with their blanks. */
static bool has_bad_line(const char *path, const struct buf *old,
			 const struct buf *now)
{
	const struct buf text = changed_lines(old, now);
	const unsigned char *at = text.data, *end = at + text.len, *feed = at;
	struct broken broken[LINE_RULES + 1] = {{0}};
	AUTO(buf) struct buf copy = {0};
	struct risk_line line = {0};
	bool marked = buf_has(&text, "://") || buf_has(&text, KEY_BEGIN);
	size_t lines = 0;

	/* A file that takes too long is not examined: risk.c says so. */
	while (at < end && !broken[0].rule &&
	       (lines++ % RISK_LINES_OF_TIME || !risk_is_late())) {
		const unsigned char *stop;

		if (at >= feed)
			feed = at + text_line_len(at, end);
		stop = memchr(at, '\r', (size_t)(feed - at));
		stop = stop ? stop : feed;
		if (is_suspect_line(at, (size_t)(stop - at), marked)) {
			buf_clear(&copy);
			buf_add(&copy, at, (size_t)(stop - at));
			line.text = buf_text(&copy);
			judge_line(path, &line, broken);
		}
		at = stop + 1;
	}
	return broken[0].rule != NULL;
}

/* An old line with the same trouble is not new trouble, but a new line with it
 * is, even where another has gone. */
static void judge_lines(const char *path, const struct buf *old,
			const struct buf *now, struct risks *ret)
{
	AUTO(risk_lines) struct risk_lines before = {0}, after = {0};
	static const struct buf none = {0};
	bool compared = false;
	size_t i;

	if (!has_bad_line(path, risk_has_nul(old) ? &none : old, now))
		return;
	if (is_noise(now) && !is_script(path, now) &&
	    (!old->len || risk_has_nul(old) || is_noise(old)))
		return;
	risk_lines_split(SETTINGS_PLAIN, now, &after);
	for (i = 0; i < after.count; i++) {
		struct broken broken[LINE_RULES + 1];
		size_t k;

		if (i % RISK_LINES_OF_TIME == 0 && risk_is_late())
			return;
		judge_line(path, &after.items[i], broken);
		if (!broken[0].rule)
			continue;
		if (!compared) {
			if (!risk_has_nul(old))
				risk_lines_split(SETTINGS_PLAIN, old, &before);
			risk_lines_compare_bytes(&after, &before);
			compared = true;
		}
		for (k = 0; after.items[i].added && broken[k].rule; k++)
			add_broken(ret, &broken[k], &after.items[i]);
	}
}

/* --- whole texts --- */

static size_t count_lost(const struct buf *b)
{
	const unsigned char *at = b->data;
	size_t left = b->len, n = 0;
	const unsigned char *found;

	while (left && (found = memchr(at, 0xef, left))) {
		left -= (size_t)(found + 1 - at);
		at = found + 1;
		n += left >= 2 && at[0] == 0xbf && at[1] == 0xbd;
	}
	return n;
}

/* 1: most lines end in CRLF; -1: in LF; 0: there are too few of them. */
static int line_ends(const struct buf *b)
{
	size_t lines = 0, crlf = 0, i;

	for (i = 0; i < b->len; i++) {
		lines += b->data[i] == '\n';
		crlf += b->data[i] == '\n' && i && b->data[i - 1] == '\r';
	}
	return lines < 2 ? 0 : crlf > lines / 2 ? 1 : -1;
}

void risk_judge_text(const char *path, bool existed, const struct buf *old,
		     const struct buf *now, struct risks *ret)
{
	if (hides_text(path, old, now))
		risk_add(ret, risk_rule("text-nul"), RISK_NONE);
	if (risk_has_nul(now))
		return;
	if (existed && count_lost(now) > count_lost(old))
		risk_add(ret, risk_rule("text-lost"), RISK_NONE);
	if (existed && (has_byte(old, '\r') || has_byte(now, '\r')) &&
	    line_ends(old) * line_ends(now) < 0)
		risk_add(ret, risk_rule("line-ends"), RISK_NONE);
	judge_lines(path, old, now, ret);
}
