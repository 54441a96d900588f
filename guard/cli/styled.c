#include "guard/cli/styled.h"

#include <stdarg.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "guard/review/words.h"

void styled_line(struct styled *to, enum line_kind kind, const char *format,
		 ...)
{
	auto_free char *text = NULL;
	struct styled_line line = {.kind = kind};
	va_list ap;

	va_start(ap, format);
	text = mem_vprintf(format, ap);
	va_end(ap);
	line.text = text;
	to->take(to, &line);
}

void styled_text(struct styled *to, char sign, const char *text, size_t len,
		 const struct words_ranges *words)
{
	AUTO(buf) struct buf b = {0};
	struct styled_line line = {.kind = LINE_TEXT, .sign = sign};
	size_t at = 0, i;

	len -= len && text[len - 1] == '\n';
	for (i = 0; words && i < words->count; i++) {
		const struct words_range *w = &words->items[i];

		text_escape_part(&b, text, len, at, w->at - at, true);
		buf_add_text(&b, MARK);
		text_escape_part(&b, text, len, w->at, w->len, true);
		buf_add_text(&b, MARK_END);
		at = w->at + w->len;
	}
	text_escape_part(&b, text, len, at, len - at, true);
	line.text = buf_text(&b);
	to->take(to, &line);
}

void styled_lines(struct styled *to, char sign, const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		len = text_line_len(text, end);
		styled_text(to, sign, text, len, NULL);
		text += len + (text + len < end);
	}
}

void styled_target(struct styled *to, char sign, const char *target, size_t len)
{
	AUTO(buf) struct buf b = {0};
	struct styled_line line = {.kind = LINE_TEXT, .sign = sign};

	text_escape(&b, target, len, false);
	line.text = buf_text(&b);
	to->take(to, &line);
}

void styled_name(struct buf *to, const char *prefix, const char *path)
{
	buf_add_text(to, NAME);
	text_escape_name(to, prefix);
	text_escape_name(to, path);
	buf_add_text(to, NAME_END);
}

void styled_row(struct buf *to, char letter, const char *prefix,
		const char *path, bool dir)
{
	buf_printf(to, "  %s%c  ", styled_of(letter), letter);
	styled_name(to, prefix, path);
	buf_add_text(to, dir ? "/" PLAIN : PLAIN);
}

const char *styled_of(char letter)
{
	switch (letter) {
	case 'D':
	case '-':
		return DELETED;
	case 'A':
	case '+':
		return ADDED;
	case 'G':
		return FAINT;
	case '@':
		return HUNK;
	case '\0':
	case ' ':
	case '\\':
		return "";
	default:
		return CHANGED;
	}
}

/* --- streams --- */

void styled_terminal(struct buf *to, const char *text, bool color)
{
	static const char *const sequences[0x20] = {
		[1] = "\x1b[m",	  [2] = "\x1b[1m",  [3] = "\x1b[31m",
		[4] = "\x1b[33m", [5] = "\x1b[32m", [6] = "\x1b[36m",
		[7] = "\x1b[2m",
	};

	for (;;) {
		size_t len = 0;
		unsigned char c;

		while ((unsigned char)text[len] >= ' ')
			len++;
		buf_add(to, text, len);
		text += len;
		c = (unsigned char)*text++;
		if (!c)
			return;
		if (c == '\t' || c == '\n')
			buf_add_char(to, (char)c);
		else if (color && sequences[c])
			buf_add_text(to, sequences[c]);
	}
}

struct stream {
	struct styled styled;
	FILE *file;
	bool color;
	struct buf b; /* one line: one write each */
};

static void print_line(struct styled *to, const struct styled_line *line)
{
	struct stream *s = (struct stream *)to;
	const char *style =
		line->kind == LINE_TITLE ? BOLD : styled_of(line->sign);

	buf_clear(&s->b);
	if (line->kind == LINE_TITLE || line->kind == LINE_FILE)
		buf_add_char(&s->b, '\n');
	if (line->kind == LINE_TEXT)
		buf_printf(&s->b, "%*s", (int)to->indent, "");
	/* The names of a file stand at the top of its text. */
	if (line->kind != LINE_FILE) {
		styled_terminal(&s->b, style, s->color);
		if (line->sign && !strchr("@\\", line->sign))
			buf_add_char(&s->b, line->sign);
		styled_terminal(&s->b, line->text, s->color);
		styled_terminal(&s->b, *style ? PLAIN : "", s->color);
		buf_add_char(&s->b, line->kind == LINE_QUESTION ? ' ' : '\n');
	}
	(void)fwrite(s->b.data, 1, s->b.len, s->file);
	to->full = ferror(s->file) != 0;
}

struct styled *styled_out(void)
{
	static struct stream s = {.styled.take = print_line};

	s.file = stdout;
	s.color = output_has_color();
	s.styled.width = output_width();
	return &s.styled;
}

struct styled *styled_err(void)
{
	static struct stream s = {.styled.take = print_line};

	s.file = output_stderr();
	return &s.styled;
}
