#include "guard/cli/difftext.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/text.h"
#include "guard/cli/output.h"
#include "restore/git/textdiff.h"

#define CONTEXT_LINES 3

static int read_text_file(int fd, const char *path, struct buf *to,
			  struct err *err)
{
	auto_close int file = fd;
	struct stat st;

	if (file < 0)
		return file;
	if (fstat(file, &st) < 0)
		return fail_errno(err, "%s", text_quote(path));
	if (!S_ISREG(st.st_mode))
		return fail(err, EINVAL, "%s is no file any more",
			    text_quote(path));
	return fd_slurp(file, DIFFTEXT_MAX, to, err);
}

static int read_run_bytes(void *arg, const struct change *c, bool now,
			  struct buf *to, struct err *err)
{
	const struct difftext_fds *fds = arg;

	return read_text_file(now ? scan_open(fds->upper_fd, c->path, err)
				  : beneath_open(fds->lower_fd, c->path,
						 O_RDONLY | O_NONBLOCK, 0, err),
			      c->path, to, err);
}

static int read_run_target(void *arg, const struct change *c, bool now,
			   struct buf *to, struct err *err)
{
	const struct difftext_fds *fds = arg;
	const char *name;
	auto_close int dir = beneath_parent(now ? fds->upper_fd : fds->lower_fd,
					    c->path, &name, err);
	char target[4096];
	ssize_t len;

	if (dir < 0)
		return dir;
	len = readlinkat(dir, name, target, sizeof(target));
	if (len < 0)
		return fail_errno(err, "%s", text_quote(c->path));
	buf_add(to, target, (size_t)len);
	return 0;
}

struct difftext_source difftext_from_run(struct difftext_fds *fds)
{
	return (struct difftext_source){read_run_bytes, read_run_target, fds};
}

static int read_text_side(const struct change *c,
			  const struct difftext_source *from, bool now,
			  struct buf *to, struct err *err)
{
	if (!S_ISREG(now ? c->now.mode : c->old.mode))
		return 0;
	return from->bytes(from->arg, c, now, to, err);
}

static bool is_text_change(const struct change *c)
{
	return c->kind != CHANGE_META &&
	       (S_ISREG(c->old.mode) || S_ISREG(c->now.mode));
}

static bool too_large(const struct change *c)
{
	return (S_ISREG(c->old.mode) && c->old.size > DIFFTEXT_MAX) ||
	       (S_ISREG(c->now.mode) && c->now.size > DIFFTEXT_MAX);
}

static void print_names(const struct change *c)
{
	AUTO(buf) struct buf name = {0};

	output_name(&name, c->path);
	(void)printf("\n%s--- %s%s%s\n%s+++ %s%s%s\n", output_style(STYLE_BOLD),
		     S_ISREG(c->old.mode) ? "a/" : "",
		     S_ISREG(c->old.mode) ? buf_text(&name) : "(nothing)",
		     output_style(STYLE_NONE), output_style(STYLE_BOLD),
		     S_ISREG(c->now.mode) ? "b/" : "",
		     S_ISREG(c->now.mode) ? buf_text(&name) : "(nothing)",
		     output_style(STYLE_NONE));
}

static enum output_style line_style(char kind)
{
	if (kind == '+')
		return STYLE_ADDED;
	if (kind == '-')
		return STYLE_DELETED;
	return kind == '@' ? STYLE_HUNK : STYLE_NONE;
}

static int print_diff_line(void *arg, const struct textdiff_line *line)
{
	AUTO(buf) struct buf b = {0};
	size_t len = line->len;
	bool styled = line->kind != ' ';

	(void)arg;
	while (len && line->text[len - 1] == '\n')
		len--;
	/* libgit2's own lines for hunks and ends of files are whole. */
	if (line->kind != '@' && line->kind != '\\')
		buf_add_char(&b, line->kind);
	text_escape(&b, line->text, len, true);
	(void)printf("%s%s%s\n",
		     styled ? output_style(line_style(line->kind)) : "",
		     buf_text(&b), styled ? output_style(STYLE_NONE) : "");
	return output_has_failed() ? -EPIPE : 0;
}

static void print_link_target(const struct change *c,
			      const struct difftext_source *from, bool now)
{
	AUTO(buf) struct buf target = {0}, b = {0};
	struct err ignored;

	if (!S_ISLNK(now ? c->now.mode : c->old.mode))
		return;
	if (from->target(from->arg, c, now, &target, &ignored) < 0)
		buf_add_char(&b, '?');
	else
		text_escape(&b, target.data, target.len, false);
	(void)printf("%s%c%s%s\n",
		     output_style(now ? STYLE_ADDED : STYLE_DELETED),
		     now ? '+' : '-', buf_text(&b), output_style(STYLE_NONE));
}

static void print_link_change(const struct change *c,
			      const struct difftext_source *from)
{
	AUTO(buf) struct buf name = {0};

	output_name(&name, c->path);
	(void)printf("\n%slink %s%s\n", output_style(STYLE_BOLD),
		     buf_text(&name), output_style(STYLE_NONE));
	print_link_target(c, from, false);
	print_link_target(c, from, true);
}

static void print_remark(const struct change *c, const char *remark)
{
	print_names(c);
	(void)printf("%s\n", remark);
}

void difftext_print(const struct change *c, const struct difftext_source *from)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	size_t added, removed;
	struct err err;
	bool binary = false;

	if (c->kind == CHANGE_DELETED || c->kind == CHANGE_META)
		return;
	if (S_ISLNK(c->old.mode) || S_ISLNK(c->now.mode))
		print_link_change(c, from);
	if (!is_text_change(c))
		return;
	if (too_large(c)) {
		print_remark(c, "too large to be shown");
		return;
	}
	if (read_text_side(c, from, false, &old, &err) < 0 ||
	    read_text_side(c, from, true, &now, &err) < 0) {
		print_names(c);
		(void)printf("cannot be read: %s\n", err.text);
		return;
	}
	if (textdiff(old.data, old.len, now.data, now.len, CONTEXT_LINES, NULL,
		     NULL, &added, &removed, &binary, &err) < 0 ||
	    binary) {
		print_remark(c, binary ? "binary" : "cannot be compared");
		return;
	}
	if (!added && !removed)
		return;
	print_names(c);
	(void)textdiff(old.data, old.len, now.data, now.len, CONTEXT_LINES,
		       print_diff_line, NULL, &added, &removed, &binary, &err);
}

static void print_rename(const struct change_move *m)
{
	AUTO(buf) struct buf from = {0}, to = {0};
	const char *bold = output_style(STYLE_BOLD);
	const char *none = output_style(STYLE_NONE);

	output_name(&from, m->from);
	output_name(&to, m->to);
	(void)printf("\n%ssimilarity index %u%%%s\n"
		     "%srename from %s%s\n%srename to %s%s\n"
		     "%s--- a/%s%s\n%s+++ b/%s%s\n",
		     bold, m->percent, none, bold, buf_text(&from), none, bold,
		     buf_text(&to), none, bold, buf_text(&from), none, bold,
		     buf_text(&to), none);
}

/* Both sides, which are read at different paths. */
static int read_move(const struct change_move *m,
		     const struct difftext_source *from, struct buf *old,
		     struct buf *now, struct err *err)
{
	const struct change gone = {.path = m->from, .old = m->old};
	const struct change came = {.path = m->to, .now = m->now};

	if (read_text_side(&gone, from, false, old, err) < 0)
		return -err->num;
	return read_text_side(&came, from, true, now, err);
}

void difftext_print_move(const struct change_move *m,
			 const struct difftext_source *from)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	bool binary = false;
	struct err err;

	if (m->percent == 100)
		return;
	print_rename(m);
	if (read_move(m, from, &old, &now, &err) < 0)
		(void)printf("cannot be read: %s\n", err.text);
	else if (textdiff(old.data, old.len, now.data, now.len, CONTEXT_LINES,
			  print_diff_line, NULL, NULL, NULL, &binary,
			  &err) == 0 &&
		 binary)
		(void)printf("binary\n");
}

void difftext_count_move(const struct change_move *m,
			 const struct difftext_source *from,
			 struct difftext_stat *ret)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	bool binary = false;
	struct err err;

	*ret = (struct difftext_stat){0};
	if (read_move(m, from, &old, &now, &err) == 0 &&
	    textdiff(old.data, old.len, now.data, now.len, 0, NULL, NULL,
		     &ret->added, &ret->removed, &binary, &err) == 0)
		ret->text = !binary;
}

void difftext_count(const struct change *c, const struct difftext_source *from,
		    struct difftext_stat *ret)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	struct err err;
	bool binary = false;

	*ret = (struct difftext_stat){0};
	if (!is_text_change(c) || too_large(c) ||
	    read_text_side(c, from, false, &old, &err) < 0 ||
	    read_text_side(c, from, true, &now, &err) < 0)
		return;
	if (textdiff(old.data, old.len, now.data, now.len, 0, NULL, NULL,
		     &ret->added, &ret->removed, &binary, &err) == 0)
		ret->text = !binary;
}
