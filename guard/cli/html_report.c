#include "guard/cli/html_report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/change/resolve_run.h"
#include "guard/cli/diffshow.h"
#include "guard/cli/kinds_show.h"
#include "guard/cli/listing.h"
#include "guard/cli/output.h"
#include "guard/review/fold.h"
#include "restore/git/textdiff.h"

/* Kinds of a family, and lines of a sample. */
#define FAMILY_ROWS 50
#define SAMPLE_LINES 20
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
	"pre span{display:block;min-height:1.45em;white-space:pre-wrap;"       \
	"overflow-wrap:anywhere}"                                              \
	".n,.t,pre span{unicode-bidi:isolate}"                                 \
	".n{overflow-wrap:anywhere}"                                           \
	".a{background:var(--add)}.d{background:var(--del)}"                   \
	".h,.f{color:var(--faint)}.b{color:var(--bad);font-weight:600}"        \
	"ul{list-style:none;padding-left:0;margin:.2em 0}"                     \
	"li{padding:.1em 0}"                                                   \
	"summary{cursor:pointer}"                                              \
	"@media print{body{max-width:none}"                                    \
	"details::details-content{content-visibility:visible;display:block}"   \
	"pre{overflow:visible}}"
#define STYLE_HASH "NADu6wss1hL1OOMXswO39+MxlMxokDZMXcdCKQ7Vnwk="

struct html {
	int fd;
	struct buf b; /* not written yet */
	size_t written;
	int error; /* the first errno */
};

static size_t html_size(const struct html *h)
{
	return h->written + h->b.len;
}

static void html_flush(struct html *h)
{
	if (!h->error && fd_write(h->fd, h->b.data, h->b.len) < 0)
		h->error = errno;
	h->written += h->b.len;
	buf_clear(&h->b);
}

/* A constant text with markup. */
static void html_raw(struct html *h, const char *markup)
{
	buf_add_text(&h->b, markup);
	if (h->b.len > 1 << 16)
		html_flush(h);
}

/* Bytes that are text_escape()d already, as characters of HTML. */
static void add_characters(struct buf *to, const char *text, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (text[i] == '&')
			buf_add_text(to, "&amp;");
		else if (text[i] == '<')
			buf_add_text(to, "&lt;");
		else if (text[i] == '>')
			buf_add_text(to, "&gt;");
		else if (text[i] == '"')
			buf_add_text(to, "&quot;");
		else if (text[i] == '\'')
			buf_add_text(to, "&#39;");
		else
			buf_add_char(to, text[i]);
	}
}

/* A text of guard's own, or one that was escaped for a terminal. */
static void html_text(struct html *h, const char *text)
{
	add_characters(&h->b, text, strlen(text));
}

/* Bytes of a run in an element of their own; class is constant. */
static void html_foreign(struct html *h, const char *element, const char *class,
			 const void *bytes, size_t len)
{
	AUTO(buf) struct buf escaped = {0};
	size_t kept = len < HTML_LINE_MAX ? len : HTML_LINE_MAX;

	text_escape(&escaped, bytes, kept, false);
	buf_printf(&h->b, "<%s class=%s>", element, class);
	add_characters(&h->b, buf_text(&escaped), escaped.len);
	if (kept < len)
		buf_printf(&h->b, " ... %s",
			   text_count(len - kept, "more byte"));
	buf_printf(&h->b, "</%s>", element);
}

static void html_name(struct html *h, const char *prefix, const char *path)
{
	auto_free char *name = mem_printf("%s%s", prefix ? prefix : "", path);

	html_foreign(h, "span", "n", name, strlen(name));
}

/* The head of a list that can be folded in. */
static void open_section(struct html *h, const char *title, const char *where,
			 size_t count, bool open)
{
	html_raw(h, open ? "<details open><summary>" : "<details><summary>");
	html_text(h, title);
	if (where && *where)
		html_foreign(h, "span", "t", where, strlen(where));
	buf_printf(&h->b, " (%zu)</summary>\n<ul>\n", count);
}

static void close_section(struct html *h, size_t more)
{
	if (more)
		buf_printf(&h->b, "<li class=f>... and %zu more</li>\n", more);
	html_raw(h, "</ul></details>\n");
}

/* --- head --- */

static void write_head(struct html *h, const struct session *s,
		       const struct changes *c)
{
	AUTO(buf) struct buf summary = {0};
	struct change_counts n;

	html_raw(h, "<!DOCTYPE html>\n<html lang=en><head>"
		    "<meta charset=utf-8>"
		    "<meta http-equiv=Content-Security-Policy content=\""
		    "default-src 'none'; style-src 'sha256-" STYLE_HASH
		    "'; base-uri 'none'; form-action 'none'\">"
		    "<meta name=viewport content=\"width=device-width\">"
		    "<meta name=referrer content=no-referrer>"
		    "<title>guard: run ");
	html_text(h, s->id);
	html_raw(h, "</title><style>" STYLE "</style></head><body>\n<h1>Run ");
	html_text(h, session_label(s));
	html_raw(h, "</h1>\n<p>");
	html_text(h, resolve_run_state_text(s));
	html_text(h, ", started ");
	html_text(h, text_time(s->started));
	if (s->status >= 0)
		buf_printf(&h->b, ", exit status %d", s->status);
	html_raw(h, "</p>\n<pre>");
	html_foreign(h, "span", "c", s->command ? s->command : "",
		     s->command ? strlen(s->command) : 0);
	html_raw(h, "</pre>\n<p>in ");
	html_name(h, NULL, s->project);
	changes_count_all(c, &n);
	changes_summary(&n, &summary);
	html_raw(h, ": ");
	html_text(h, buf_text(&summary));
	html_raw(h, "</p>\n");
}

static void write_verdict(struct html *h, const struct verdict *v)
{
	size_t i;

	html_raw(h, "<h2>Verdict</h2>\n<ul>\n");
	for (i = 0; i < v->count; i++) {
		html_raw(h, v->items[i].level == RISK_CRITICAL
				    ? "<li><span class=b>"
				    : "<li><span class=f>");
		html_text(h, verdict_sign(v->items[i].level));
		html_raw(h, "</span> <span class=t>");
		html_text(h, v->items[i].text);
		html_raw(h, "</span></li>\n");
	}
	if (!v->count)
		html_raw(h, "<li>nothing to look at first</li>\n");
	html_raw(h, "</ul>\n");
}

/* --- lists --- */

static void write_entry_row(struct html *h, const struct view *v,
			    const struct view_entry *e)
{
	const struct change *c = e->change;
	AUTO(buf) struct buf detail = {0};

	buf_printf(&h->b, "<li><code>%c</code> ", changes_letter(c->kind));
	html_name(h, v->prefix, c->path);
	changes_detail(c, &detail);
	fold_entry_text(e, &detail);
	html_raw(h, view_is_lost(e) ? "<span class=b>" : "<span class=f>");
	html_text(h, buf_text(&detail));
	html_raw(h, "</span></li>\n");
}

static void write_fold_row(struct html *h, const struct view *v,
			   const struct fold *fold)
{
	auto_free char *dir = NULL;
	AUTO(buf) struct buf text = {0};

	if (fold->kind == FOLD_NONE) {
		write_entry_row(h, v, &v->items[fold->entry]);
		return;
	}
	dir = mem_printf("%s/", fold->dir);
	fold_text(fold, &text);
	buf_printf(&h->b, "<li><code>%c</code> ", fold_letter(fold));
	html_name(h, v->prefix, dir);
	html_raw(h, fold->lost ? " <span class=b>" : " <span class=f>");
	html_text(h, buf_text(&text));
	html_raw(h, "</span></li>\n");
}

/* Losses stand before the other rows. */
static void write_section(struct html *h, const struct view *v,
			  const struct listing_section *section)
{
	size_t entries = 0, folds = 0, rows = 0, i;
	int pass;

	for (i = 0; i < v->folds.list.count; i++)
		if (listing_in_section(v, &v->folds.list.items[i], section)) {
			entries += v->folds.list.items[i].entries;
			folds++;
		}
	if (!folds)
		return;
	open_section(h, section->title, v->where, entries,
		     section->fold == FOLD_DELETED || folds <= OPEN_ROWS);
	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < v->folds.list.count && rows < HTML_ROWS_MAX;
		     i++) {
			const struct fold *fold = &v->folds.list.items[i];
			bool lost =
				fold->kind == FOLD_NONE
					? view_is_lost(&v->items[fold->entry])
					: fold->lost > 0;

			if (!listing_in_section(v, fold, section) ||
			    lost != !pass)
				continue;
			write_fold_row(h, v, fold);
			rows++;
		}
	close_section(h, folds - rows);
}

static void write_risks(struct html *h, const struct view *v)
{
	size_t count = 0, rows = 0, i, k;
	int level;

	for (i = 0; i < v->count; i++)
		count += v->items[i].risks.count;
	if (!count)
		return;
	open_section(h, "Look at these first", v->where, count, true);
	for (level = RISK_CRITICAL; level > RISK_NONE; level--)
		for (i = 0; i < v->count; i++)
			for (k = 0; k < v->items[i].risks.count; k++) {
				const struct risk *r =
					&v->items[i].risks.items[k];
				auto_free char *text = NULL;

				if ((int)r->level != level ||
				    rows >= HTML_ROWS_MAX)
					continue;
				rows++;
				text = risk_sentence(r);
				html_raw(h, level == RISK_CRITICAL
						    ? "<li><span class=b>"
						    : "<li><span class=f>");
				html_text(h, risk_level_name(r->level));
				html_raw(h, "</span> ");
				html_name(h, v->prefix,
					  v->items[i].change->path);
				html_raw(h, " <span class=t>");
				html_text(h, text);
				html_raw(h, "</span></li>\n");
			}
	close_section(h, count - rows);
}

static void write_moves(struct html *h, const struct view *v)
{
	size_t count = 0, rows = 0, i;

	for (i = 0; i < v->list->move_count; i++)
		count += !v->list->moves[i].half && !v->list->moves[i].with_dir;
	if (!count)
		return;
	open_section(h, "Moved", v->where, count, count <= OPEN_ROWS);
	for (i = 0; i < v->list->move_count && rows < HTML_ROWS_MAX; i++) {
		const struct change_move *m = &v->list->moves[i];

		if (m->half || m->with_dir)
			continue;
		rows++;
		html_raw(h, "<li><code>R</code> ");
		html_name(h, v->prefix, m->from);
		html_raw(h, " -&gt; ");
		html_name(h, v->prefix, m->to);
		buf_printf(&h->b, "<span class=f> %u %% alike</span></li>\n",
			   m->percent);
	}
	close_section(h, count - rows);
}

static void write_git(struct html *h, const struct changes_root *root,
		      const struct losses *l)
{
	AUTO(changes_git) struct changes_git git = {0};
	size_t i;

	if (root->home)
		return;
	changes_git_make(root, &git);
	if (!git.count && !l->refs.count)
		return;
	open_section(h, "In .git", root->where, git.count + l->refs.count,
		     true);
	for (i = 0; i < l->refs.count; i++) {
		html_raw(h, "<li class=b><span class=t>");
		html_text(h, l->refs.items[i].text);
		html_raw(h, "</span></li>\n");
	}
	for (i = 0; i < git.count && i < HTML_ROWS_MAX; i++) {
		html_raw(h, git.items[i].runs ? "<li class=b><span class=t>"
					      : "<li><span class=t>");
		html_text(h, git.items[i].text);
		html_raw(h, "</span></li>\n");
	}
	close_section(h, git.count - i);
}

static void write_lists(struct html *h, const struct changes *c,
			const struct judgement *j)
{
	static const struct listing_section deleted = {
		FOLD_DELETED, CHANGE_DELETED, "Deleted"};
	static const struct listing_section others[] = {
		{FOLD_NONE, CHANGE_TYPE, "Of another type"},
		{FOLD_NONE, CHANGE_META, "With other permissions"},
		{FOLD_NONE, CHANGE_MODIFIED, "Modified"},
		{FOLD_ADDED, CHANGE_ADDED, "Added"},
		{FOLD_GENERATED, -1, "Generated"},
	};
	size_t noise = 0, i, k;

	html_raw(h, "<h2>Changes</h2>\n");
	for (i = 0; i < j->count; i++) {
		const struct view *v = &j->views[i];

		write_section(h, v, &deleted);
		write_risks(h, v);
		write_moves(h, v);
		for (k = 0; k < sizeof(others) / sizeof(*others); k++) {
			if (others[k].entry == CHANGE_MODIFIED)
				write_git(h, &c->roots[i], &j->losses[i]);
			write_section(h, v, &others[k]);
		}
		noise += v->folds.noise + v->folds.caches;
	}
	if (noise)
		buf_printf(&h->b,
			   "<p class=f>%s in noise and caches not listed"
			   "</p>\n",
			   text_count(noise, "change"));
}

/* --- kinds of hunks --- */

static void write_line(struct html *h, char sign, const char *line, size_t len)
{
	AUTO(buf) struct buf text = {0};

	buf_add_char(&text, sign);
	buf_add(&text, line, len);
	html_foreign(h, "span",
		     sign == '+'   ? "a"
		     : sign == '-' ? "d"
		     : sign == '@' ? "h"
				   : "c",
		     text.data, text.len);
}

static void write_sample(struct html *h, const struct buf *sample)
{
	const char *at = (const char *)sample->data, *end = at + sample->len;
	size_t lines;

	html_raw(h, "<pre>");
	for (lines = 0; at < end && lines < SAMPLE_LINES; lines++) {
		size_t len = text_line_len(at, end);

		write_line(h, *at, at + 1, len - 1);
		at += len + (at + len < end);
	}
	if (at < end)
		html_raw(h, "<span class=f>...</span>");
	html_raw(h, "</pre>\n");
}

static void write_family(struct html *h, const struct kinds_files *f,
			 const struct kind_family *family)
{
	const struct kind *first = &f->kinds.items.items[family->first];
	const struct kinds_file *file =
		&f->items.items[first->places.items[0].item];
	size_t i;

	buf_printf(&h->b,
		   family->marked ? "<p><span class=b>!</span> %s in %s: "
				  : "<p>%s in %s: ",
		   text_count(family->hunks, "hunk"),
		   text_count(family->files, "file"));
	html_name(h, file->root->prefix, file->change->path);
	if (family->count == 1)
		buf_printf(&h->b, " <code class=f>%.*s</code>", f->kinds.id_len,
			   first->id);
	html_raw(h, "</p>\n");
	write_sample(h, &first->sample);
	if (family->count == 1)
		return;
	open_section(h, "Kinds that differ in these values", NULL,
		     family->count, family->count <= 10);
	for (i = 0; i < family->count && i < FAMILY_ROWS; i++) {
		const struct kind *kind = first + i;

		buf_printf(&h->b, "<li>%zu <code class=f>%.*s</code> ",
			   kind->places.count, f->kinds.id_len, kind->id);
		html_foreign(h, "span", "n", kind->removed,
			     strlen(kind->removed));
		html_raw(h, " -&gt; ");
		html_foreign(h, "span", "n", kind->added, strlen(kind->added));
		html_raw(h, "</li>\n");
	}
	close_section(h, family->count - i);
}

static void write_kinds(struct html *h, const struct judgement *j)
{
	AUTO(kinds_files) struct kinds_files f = {0};
	struct err missing;
	size_t i;

	if (kinds_show_make(j->views, j->count, &f, &missing) < 0 ||
	    !f.kinds.hunks)
		return;
	buf_printf(&h->b, "<h2>%s of %s</h2>\n",
		   text_count(f.kinds.hunks, "hunk"),
		   text_count(f.kinds.items.count, "kind"));
	for (i = 0; i < f.kinds.families.count && i < HTML_ROWS_MAX &&
		    html_size(h) < HTML_SIZE_MAX / 4;
	     i++)
		write_family(h, &f, &f.kinds.families.items[i]);
	if (i < f.kinds.families.count)
		buf_printf(&h->b, "<p class=f>... and %s</p>\n",
			   text_count(f.kinds.families.count - i, "more kind"));
}

/* --- texts --- */

static int write_diff_line(void *arg, const struct textdiff_line *line)
{
	struct html *h = arg;
	size_t len = line->len;

	while (len && line->text[len - 1] == '\n')
		len--;
	if (line->kind == '@' || line->kind == '\\')
		html_foreign(h, "span", "h", line->text, len);
	else
		write_line(h, line->kind, line->text, len);
	return html_size(h) > HTML_SIZE_MAX - END_ROOM ? -EFBIG : 0;
}

static bool has_text(const struct view *v, const struct change *c)
{
	return c->kind != CHANGE_META && c->kind != CHANGE_DELETED &&
	       S_ISREG(c->now.mode) && c->now.size <= CHANGES_READ_MAX &&
	       c->old.size <= CHANGES_READ_MAX &&
	       !changes_is_apart(c, v->home) &&
	       !(c->kind == CHANGE_ADDED && changes_is_moved(v->list, c));
}

static void write_change_text(struct html *h, const struct view *v,
			      const struct change *c)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct err ignored;
	int got;

	html_raw(h, "<details><summary>");
	html_name(h, v->prefix, c->path);
	html_raw(h, "</summary><pre>");
	if ((S_ISREG(c->old.mode) && changes_read(v->root, c->path, c->old.mode,
						  false, &old, &ignored) < 0) ||
	    changes_read(v->root, c->path, c->now.mode, true, &now, &ignored) <
		    0)
		got = -EIO;
	else
		got = textdiff(old.data, old.len, now.data, now.len, 3,
			       write_diff_line, h, NULL, NULL, &ignored);
	if (got == -EFBIG)
		html_raw(h, "<span class=f>... cut: the report is too large"
			    "</span>");
	else if (got)
		html_raw(h, got > 0 ? "<span class=f>binary</span>"
				    : "<span class=f>cannot be compared"
				      "</span>");
	html_raw(h, "</pre></details>\n");
}

static void write_texts(struct html *h, const struct judgement *j)
{
	size_t texts = 0, left = 0, i, k;

	html_raw(h, "<h2>Texts</h2>\n");
	for (i = 0; i < j->count; i++)
		for (k = 0; k < j->views[i].count; k++) {
			const struct view *v = &j->views[i];

			if (!has_text(v, v->items[k].change) ||
			    fold_hides_text(v, k))
				continue;
			if (texts == HTML_TEXTS_MAX ||
			    html_size(h) > HTML_SIZE_MAX - END_ROOM) {
				left++;
				continue;
			}
			write_change_text(h, v, v->items[k].change);
			texts++;
		}
	if (left)
		buf_printf(&h->b,
			   "<p class=f>%s left out: guard diff shows all"
			   "</p>\n",
			   text_count(left, "more text"));
}

int html_report_write(const char *file, const struct session *s,
		      const struct changes *c, const struct judgement *j,
		      const struct verdict *verdict, struct err *err)
{
	bool piped = strcmp(file, "-") == 0;
	struct html h = {.fd = piped ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
				     : open(file,
					    O_WRONLY | O_CREAT | O_EXCL |
						    O_NOFOLLOW | O_CLOEXEC,
					    0600)};
	size_t i;

	if (h.fd < 0 && errno == EEXIST)
		return fail(err, EEXIST,
			    "%s exists: a report never replaces a file, give "
			    "it another name",
			    text_quote(file));
	if (h.fd < 0)
		return fail_errno(err, "write the report %s", text_quote(file));
	for (i = 0; i < j->count; i++)
		fold_make(&j->views[i], false);
	write_head(&h, s, c);
	write_verdict(&h, verdict);
	write_lists(&h, c, j);
	write_kinds(&h, j);
	write_texts(&h, j);
	html_raw(&h, "</body></html>\n");
	html_flush(&h);
	buf_free(&h.b);
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
	const struct session *s = &p->session;
	AUTO(changes) struct changes changes = CHANGES_NONE;
	AUTO(judgement) struct judgement j = {0};
	AUTO(verdict) struct verdict verdict = {0};
	size_t i;

	if (changes_load_own(c, s, &changes, err) < 0)
		return -err->num;
	changes_find_moves(&changes);
	resolve_run_filter(p, &changes);
	for (i = 0; i < changes.root_count; i++)
		diffshow_sort(&changes.roots[i].list);
	verdict_make(&j, judgement_make(c, s, &changes, JUDGEMENT_ALL, &j),
		     &verdict);
	return html_report_write(file, s, &changes, &j, &verdict, err);
}
