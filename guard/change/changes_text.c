/* Texts behind the names in a list of changes. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/chattr.h"
#include "base/text.h"
#include "guard/change/changes.h"
#include "guard/state/report.h"

struct change_side changes_side(const struct entry *e)
{
	const struct meta m = entry_meta(e);

	return change_side(&m);
}

static const char *type_name(uint32_t mode)
{
	static const char *const names[IFTODT(S_IFMT) + 1] = {
		[DT_DIR] = "directory",	  [DT_LNK] = "link",
		[DT_FIFO] = "fifo",	  [DT_SOCK] = "socket",
		[DT_CHR] = "device node", [DT_BLK] = "device node",
	};
	const char *name = names[IFTODT(mode)];

	return name ? name : "file";
}

static void add_size_or_type(const struct change_side *m, struct buf *to)
{
	if (S_ISREG(m->mode))
		buf_add_text(to, text_size(m->size));
	else
		buf_add_text(to, type_name(m->mode));
}

static void add_mode_text(const struct change *c, struct buf *to)
{
	char old[CHATTR_TEXT_LEN], now[CHATTR_TEXT_LEN];

	if ((c->old.mode ^ c->now.mode) & 07777)
		buf_printf(to, "  mode %04o -> %04o", c->old.mode & 07777,
			   c->now.mode & 07777);
	if (c->old.uid != c->now.uid || c->old.gid != c->now.gid)
		buf_printf(to, "  owner %u:%u -> %u:%u", c->old.uid, c->old.gid,
			   c->now.uid, c->now.gid);
	if (c->old.chattr != c->now.chattr)
		buf_printf(to, "  chattr %s -> %s",
			   chattr_text(c->old.chattr, old),
			   chattr_text(c->now.chattr, now));
	if (c->flags & CHANGE_ACL)
		buf_add_text(to, "  ACL");
	else if (c->flags & CHANGE_ATTRS ||
		 (!((c->old.mode ^ c->now.mode) & 07777) &&
		  c->old.uid == c->now.uid && c->old.gid == c->now.gid &&
		  c->old.chattr == c->now.chattr))
		buf_add_text(to, "  extended attributes");
}

static void add_flags(unsigned int flags, uint32_t mode, struct buf *to)
{
	if (flags & CHANGE_SETID)
		buf_add_text(to, "  SET-ID OR CAPABILITIES: not applied");
	if (flags & CHANGE_NODE && !S_ISFIFO(mode))
		buf_add_text(to, "  not applied");
	if (flags & CHANGE_UNREADABLE)
		buf_add_text(to, "  cannot be compared");
	if (flags & CHANGES_EDITED)
		buf_add_text(to, CHANGES_EDITED_TEXT);
}

/* Width of "  R  " in front and " -> " between the names. */
#define MOVE_SIGNS 9

void changes_move_text(const struct change_move *m, const char *prefix,
		       size_t width, struct buf *to)
{
	const struct change meta = {.old = m->old, .now = m->now};
	AUTO(buf) struct buf from = {0}, moved_to = {0};
	bool is_long;

	text_escape_name(&from, prefix);
	text_escape_name(&from, m->from);
	if (S_ISDIR(m->now.mode))
		buf_add_char(&from, '/');
	text_escape_name(&moved_to, prefix);
	text_escape_name(&moved_to, m->to);
	if (S_ISDIR(m->now.mode)) {
		buf_add_char(&moved_to, '/');
		if (m->files)
			buf_printf(&moved_to, "  (%s)",
				   text_count(m->files, "file"));
	} else {
		buf_add_text(&moved_to, "  ");
		add_size_or_type(&m->now, &moved_to);
	}
	if (m->percent < 100)
		buf_printf(&moved_to, "  %u %% alike", m->percent);
	/* Permissions that the moved file did not have before. */
	if (!changes_same_meta(&m->old, &m->now))
		add_mode_text(&meta, &moved_to);
	if (m->over.mode) {
		buf_add_text(&moved_to, "  OVER ANOTHER ");
		add_size_or_type(&m->over, &moved_to);
	}
	add_flags(m->flags, m->now.mode, &moved_to);
	buf_add(to, from.data, from.len);
	is_long = width && text_width(buf_text(&from)) +
					   text_width(buf_text(&moved_to)) +
					   MOVE_SIGNS >
				   width;
	buf_add_text(to, is_long ? "\n     -> " : " -> ");
	buf_add(to, moved_to.data, moved_to.len);
}

void changes_detail(const struct change *c, struct buf *to)
{
	auto_free char *old = mem_strdup(text_size(c->old.size));
	uint64_t was = c->old.size, is = c->now.size;
	bool resized = S_ISREG(c->now.mode) && was != is;

	buf_add_text(to, "  ");
	if (c->kind == CHANGE_DELETED) {
		add_size_or_type(&c->old, to);
	} else if (c->kind == CHANGE_TYPE) {
		buf_printf(to, "%s -> %s", type_name(c->old.mode),
			   type_name(c->now.mode));
	} else if (c->kind == CHANGE_MODIFIED) {
		add_size_or_type(&c->old, to);
		/* Sizes whose short forms are equal are printed exactly. */
		if (resized && strcmp(old, text_size(is)) != 0)
			buf_printf(to, " -> %s", text_size(is));
		else if (resized && is > was)
			buf_printf(to, ", %s more", text_size(is - was));
		else if (resized)
			buf_printf(to, ", %s less", text_size(was - is));
		if (c->flags & CHANGE_META_TOO)
			add_mode_text(c, to);
	} else if (c->kind == CHANGE_META) {
		buf_add_text(to, type_name(c->now.mode));
		add_mode_text(c, to);
	} else {
		add_size_or_type(&c->now, to);
		if (S_ISREG(c->now.mode) && c->now.mode & 0111)
			buf_add_text(to, "  executable");
	}
	add_flags(c->flags, c->now.mode, to);
}

void changes_report_excluded(struct changes *c, const char *what)
{
	size_t i;

	for (i = 0; i < c->root_count; i++) {
		AUTO(buf) struct buf where = {0};
		struct change_counts n;

		if (c->roots[i].home || !*c->roots[i].prefix)
			continue;
		changes_count(&c->roots[i].list, &n);
		text_escape_name(&where, c->roots[i].prefix);
		if (n.total > n.git)
			report_note("%s of the project: %s in %s not listed",
				    what, text_count(n.total - n.git, "change"),
				    buf_text(&where));
	}
}
