#include "guard/cli/html_report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/cli/agent_show.h"
#include "guard/cli/diffshow.h"
#include "guard/cli/kinds_show.h"
#include "guard/cli/listing.h"
#include "guard/cli/output.h"
#include "guard/cli/risk_show.h"
#include "guard/cli/verdict_show.h"
#include "guard/review/fold.h"

/* A longer list is folded in. */
#define OPEN_ROWS 40
/* Room that texts leave to the end of the file. */
#define END_ROOM 4096u

/* STYLE_HASH is the SHA-256 of STYLE in base64: tests/integration/html.t
 * compares them. */
#define STYLE                                                                  \
	":root{color-scheme:light dark;--add:#dafbe1;--del:#ffebe9;"           \
	"--faint:#59636e;--bad:#b3261e;--line:#d0d7de}"                        \
	"@media(prefers-color-scheme:dark){:root{--add:#12361f;--del:#4a1d1d;" \
	"--faint:#9198a1;--bad:#ff8a80;--line:#3d444d}}"                       \
	"body{font:15px/1.45 system-ui,sans-serif;max-width:72em;"             \
	"margin:1.5em auto;padding:0 1em}"                                     \
	"h1{font-size:1.4em}h2{font-size:1.1em;margin:1.4em 0 .3em}"           \
	"pre,code,.n{font-family:ui-monospace,monospace;font-size:13px}"       \
	"pre{margin:.3em 0;overflow-x:auto;border:1px solid var(--line);"      \
	"border-radius:4px;padding:.4em}"                                      \
	"pre>span{display:block;min-height:1.45em;white-space:pre-wrap;"       \
	"overflow-wrap:anywhere}"                                              \
	".n,pre>span{unicode-bidi:isolate}"                                    \
	".n{overflow-wrap:anywhere}"                                           \
	".a{background:var(--add)}.d{background:var(--del)}"                   \
	".h,.f{color:var(--faint)}.b{color:var(--bad);font-weight:600}"        \
	"ul{list-style:none;padding-left:0;margin:.2em 0}"                     \
	"li{padding:.1em 0}li.t{padding-left:2em}"                             \
	"summary{cursor:pointer}"                                              \
	"@media print{body{max-width:none}"                                    \
	"details::details-content{content-visibility:visible;display:block}"   \
	"pre{overflow:visible}}"
#define STYLE_HASH "CKNMmlsx51HsBAXbZLEYWWMUabWOUfGF6L6cipwgh94="

enum inner { INNER_NONE, INNER_LIST, INNER_TEXT };

/* The medium. Rows and texts stand in a <details> that a title or a file's name
 * has opened; that of a title is held until its number of rows is known. */
struct html {
	struct styled styled;
	int fd;
	struct buf b; /* not written yet */
	struct buf title; /* "<summary>...", or nothing */
	struct buf held; /* lines that are not written so far */
	bool file; /* a file's <details> is open */
	enum inner inner;
	size_t rows, left_out;
	bool loss; /* a row is a loss */
	size_t written;
	size_t most; /* bytes; lines beyond may be left out */
	int error; /* the first errno */
};

static void html_flush(struct html *h)
{
	if (!h->error && fd_write(h->fd, h->b.data, h->b.len) < 0)
		h->error = errno;
	h->written += h->b.len;
	buf_clear(&h->b);
}

/* Bytes that are escaped already, as characters of HTML. */
static void add_character(struct buf *to, char c)
{
	static const struct {
		char c;
		const char *text;
	} names[] = {{'&', "&amp;"},
		     {'<', "&lt;"},
		     {'>', "&gt;"},
		     {'"', "&quot;"},
		     {'\'', "&#39;"}};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (c == names[i].c) {
			buf_add_text(to, names[i].text);
			return;
		}
	if ((unsigned char)c >= ' ' || c == '\n' || c == '\t')
		buf_add_char(to, c);
}

static void close_span(struct buf *to, bool *open)
{
	buf_add_text(to, *open ? "</span>" : "");
	*open = false;
}

/* The text of a line, whose styles become elements; names are elements inside
 * of them. */
static void add_styled(struct buf *to, const char *text)
{
	static const char *const classes[] = {
		[2] = "h", [3] = "b", [4] = "c",
		[5] = "a", [6] = "h", [7] = "f",
	};
	size_t len = text_fit(text, HTML_LINE_MAX), i;
	bool style = false, name = false;

	for (i = 0; i < len; i++) {
		const char c = text[i];

		if (c >= *PLAIN && c <= *FAINT) {
			close_span(to, &name);
			close_span(to, &style);
			style = c != *PLAIN;
			if (style)
				buf_printf(to, "<span class=%s>",
					   classes[(int)c]);
		} else if (c == *NAME && !name) {
			name = true;
			buf_add_text(to, "<span class=n>");
		} else if (c == *NAME_END) {
			close_span(to, &name);
		} else {
			add_character(to, c);
		}
	}
	close_span(to, &name);
	close_span(to, &style);
	if (text[len])
		buf_printf(to, " ... %s",
			   text_count(strlen(text + len), "more byte"));
}

static void add_element(struct buf *to, const char *begin,
			const struct styled_line *line, const char *end)
{
	buf_add_text(to, begin);
	add_styled(to, line->text);
	buf_add_text(to, end);
}

static struct buf *inner_of(struct html *h)
{
	return h->title.len ? &h->held : &h->b;
}

static void enter(struct html *h, enum inner inner)
{
	static const char *const begin[] = {"", "<ul>\n", "<pre>"};
	static const char *const end[] = {"", "</ul>\n", "</pre>\n"};

	if (h->inner == inner)
		return;
	if (h->inner == INNER_LIST && h->left_out)
		buf_printf(inner_of(h), "<li class=f>... and %zu more</li>\n",
			   h->left_out);
	buf_add_text(inner_of(h), end[h->inner]);
	buf_add_text(inner_of(h), begin[inner]);
	h->inner = inner;
}

/* Ends a list or the text of a file. */
static void leave(struct html *h)
{
	enter(h, INNER_NONE);
	if (h->title.len) {
		buf_add_text(&h->b, h->loss || h->rows <= OPEN_ROWS
					    ? "<details open>"
					    : "<details>");
		buf_add(&h->b, h->title.data, h->title.len);
		buf_add(&h->b, h->held.data, h->held.len);
	}
	if (h->title.len || h->file)
		buf_add_text(&h->b, "</details>\n");
	buf_clear(&h->title);
	buf_clear(&h->held);
	h->file = h->loss = false;
	h->rows = h->left_out = 0;
	if (h->b.len > 1 << 16)
		html_flush(h);
}

static void add_row(struct html *h, const struct styled_line *line)
{
	h->loss |= line->kind == LINE_LOSS;
	if (h->rows >= HTML_ROWS_MAX && line->kind != LINE_LOSS) {
		h->left_out += line->kind == LINE_ROW;
		return;
	}
	h->rows++;
	enter(h, INNER_LIST);
	add_element(inner_of(h),
		    line->kind == LINE_NOTE ? "<li class=t>" : "<li>", line,
		    "</li>\n");
}

static void add_text(struct html *h, const struct styled_line *line)
{
	const char sign[] = {line->sign, '\0'};

	enter(h, INNER_TEXT);
	buf_printf(inner_of(h), "<span class=%s>%s",
		   line->sign == '+'	? "a"
		   : line->sign == '-'	? "d"
		   : line->sign == '@'	? "h"
		   : line->sign == '\\' ? "f"
					: "c",
		   strchr("@\\", line->sign) ? "" : sign);
	add_styled(inner_of(h), line->text);
	buf_add_text(inner_of(h), "</span>");
}

static void take_html(struct styled *to, const struct styled_line *line)
{
	struct html *h = (struct html *)to;

	if (line->kind == LINE_TITLE || line->kind == LINE_FILE ||
	    line->kind == LINE_PLAIN)
		leave(h);
	switch (line->kind) {
	case LINE_TITLE:
		add_element(&h->title, "<summary>", line, "</summary>\n");
		break;
	case LINE_FILE:
		h->file = true;
		add_element(&h->b, "<details><summary>", line, "</summary>\n");
		break;
	case LINE_PLAIN:
		add_element(&h->b, "<p>", line, "</p>\n");
		break;
	case LINE_TEXT:
		if (!to->full)
			add_text(h, line);
		break;
	default:
		add_row(h, line);
	}
	if (h->written + h->b.len + h->held.len > h->most && !to->full) {
		to->full = true;
		if (h->inner == INNER_TEXT)
			buf_add_text(inner_of(h),
				     "<span class=f>... cut: the report is too "
				     "large</span>");
	}
	if (!h->title.len && h->b.len > 1 << 16)
		html_flush(h);
}

/* A constant text with markup. */
static void html_raw(struct html *h, const char *markup)
{
	leave(h);
	buf_add_text(&h->b, markup);
}

/* --- the report --- */

static void write_head(struct html *h, const struct session *s,
		       const struct changes *c)
{
	AUTO(buf) struct buf b = {0};
	struct change_counts n;

	html_raw(h, "<!DOCTYPE html>\n<html lang=en><head>"
		    "<meta charset=utf-8>"
		    "<meta http-equiv=Content-Security-Policy content=\""
		    "default-src 'none'; style-src 'sha256-" STYLE_HASH
		    "'; base-uri 'none'; form-action 'none'\">"
		    "<meta name=viewport content=\"width=device-width\">"
		    "<meta name=referrer content=no-referrer>"
		    "<title>guard: run ");
	add_styled(&h->b, s->id);
	html_raw(h, "</title><style>" STYLE "</style></head><body>\n<h1>Run ");
	add_styled(&h->b, session_label(s));
	html_raw(h, "</h1>\n");
	buf_printf(&b, "%s, started %s", resolve_run_state_text(s),
		   text_time(s->started));
	if (s->status >= 0)
		buf_printf(&b, ", exit status %d", s->status);
	styled_line(&h->styled, LINE_PLAIN, "%s", buf_text(&b));
	styled_text(&h->styled, '\0', s->command ?: "",
		    s->command ? strlen(s->command) : 0, NULL);
	buf_clear(&b);
	buf_add_text(&b, "in ");
	styled_name(&b, "", s->project);
	buf_add_text(&b, ": ");
	changes_count_all(c, &n);
	changes_summary(&n, &b);
	styled_line(&h->styled, LINE_PLAIN, "%s", buf_text(&b));
}

static void write_lists(struct html *h, struct changes *c,
			const struct judgement *j, const struct session *s)
{
	size_t i, k;

	html_raw(h, "<h2>Changes</h2>\n");
	for (i = 0; i < j->count; i++) {
		const struct losses *l = &j->losses[i];

		fold_make(&j->views[i], false);
		risk_show_first(&j->views[i], RISK_NOTE, false, &h->styled);
		if (l->refs.count)
			styled_line(&h->styled, LINE_TITLE, "In .git (%zu)",
				    l->refs.count);
		for (k = 0; k < l->refs.count; k++)
			styled_line(&h->styled, LINE_LOSS, "%s",
				    l->refs.items[k].text);
	}
	agent_show_list(s, &h->styled);
	listing_print(c, j->views, &h->styled);
}

static void write_kinds(struct html *h, const struct judgement *j)
{
	AUTO(kinds_files) struct kinds_files f = {0};
	struct err missing;

	if (kinds_show_make(j->views, j->count, &f, &missing) < 0 ||
	    !f.kinds.hunks)
		return;
	html_raw(h, "<h2>Kinds of hunks</h2>\n");
	kinds_show_all(&f, "", &h->styled);
}

static void write_texts(struct html *h, const struct judgement *j)
{
	const struct diff_options o = {.context = DIFF_CONTEXT};
	size_t i;

	html_raw(h, "<h2>Texts</h2>\n");
	for (i = 0; i < j->count; i++)
		diffshow_texts(&j->views[i], &o, false, &h->styled);
}

int html_report_write(const char *file, const struct session *s,
		      struct changes *c, const struct judgement *j,
		      const struct verdict *verdict, struct err *err)
{
	bool piped = strcmp(file, "-") == 0;
	struct html h = {
		.styled.take = take_html,
		.most = HTML_SIZE_MAX / 4,
		.fd = piped ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
			    : open(file,
				   O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW |
					   O_CLOEXEC,
				   0600),
	};

	if (h.fd < 0 && errno == EEXIST)
		return fail(err, EEXIST,
			    "%s exists: a report never replaces a file, give "
			    "it another name",
			    text_quote(file));
	if (h.fd < 0)
		return fail_errno(err, "write the report %s", text_quote(file));
	write_head(&h, s, c);
	html_raw(&h, "<h2>Verdict</h2>\n");
	risk_show_verdict(verdict, &h.styled);
	if (!verdict->count)
		styled_line(&h.styled, LINE_PLAIN, "nothing to look at first");
	write_lists(&h, c, j, s);
	write_kinds(&h, j);
	h.styled.full = false;
	h.most = HTML_SIZE_MAX - END_ROOM;
	write_texts(&h, j);
	html_raw(&h, "</body></html>\n");
	html_flush(&h);
	buf_free(&h.b);
	buf_free(&h.title);
	buf_free(&h.held);
	if (close(h.fd) < 0 && !h.error)
		h.error = errno;
	if (h.error && !piped)
		(void)unlink(file);
	if (h.error)
		return fail_num(err, h.error, "write the report %s",
				text_quote(file));
	if (!piped)
		output_print("report of run %s: %s, %s", session_label(s),
			     text_quote(file), text_size(h.written));
	return 0;
}

int html_report_write_run(const char *file, struct context *c,
			  const struct resolved_run *p, struct err *err)
{
	AUTO(judged_run) struct judged_run r = {0};

	if (judged_run_load(c, p, NULL, NULL, &r, err) < 0)
		return -err->num;
	judged_run_end(p, &r);
	(void)judgement_read(&r.judgement, JUDGEMENT_ALL);
	return html_report_write(file, &p->session, &r.changes, &r.judgement,
				 &r.verdict, err);
}
