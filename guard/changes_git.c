#include "guard/changes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"

#define ID_SHOWN 12

enum git_part {
	GIT_ITSELF,
	GIT_HEAD,
	GIT_REF,
	GIT_PACKED_REFS,
	GIT_INDEX,
	GIT_CONFIG,
	GIT_HOOK,
	GIT_INFO,
	GIT_OBJECT,
	GIT_LOG,
	GIT_OTHER,
};

/* Counts of .git changes that the summary only gives as numbers. */
struct git_tally {
	size_t objects_added, objects_deleted, objects_changed;
	size_t logs, logs_deleted;
	size_t others;
};

/* The part behind the first ".git" of the path; "" for .git itself. */
static const char *inside_git(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");
		bool git = len == 4 && memcmp(path, ".git", 4) == 0;

		path += len;
		while (*path == '/')
			path++;
		if (git)
			break;
	}
	return path;
}

/* The first part with a meaning decides, also below modules/ (submodules) and
 * worktrees/. */
static enum git_part classify_git_path(const char *rest)
{
	static const struct {
		const char *name;
		enum git_part part;
	} dirs[] =
		{
			{"objects", GIT_OBJECT}, {"hooks", GIT_HOOK},
			{"refs", GIT_REF},	 {"logs", GIT_LOG},
			{"info", GIT_INFO},
		},
	  files[] = {
		  {"HEAD", GIT_HEAD},
		  {"packed-refs", GIT_PACKED_REFS},
		  {"index", GIT_INDEX},
		  {"config", GIT_CONFIG},
		  {"config.worktree", GIT_CONFIG},
	  };
	const char *at = rest;
	size_t i;

	if (!*rest)
		return GIT_ITSELF;
	while (*at) {
		size_t len = strcspn(at, "/");

		for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
			if (strlen(dirs[i].name) == len &&
			    memcmp(at, dirs[i].name, len) == 0)
				return dirs[i].part;
		at += len;
		while (*at == '/')
			at++;
	}
	for (i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		if (strcmp(path_name(rest), files[i].name) == 0)
			return files[i].part;
	return GIT_OTHER;
}

/* First line of a small file; an object's id is shortened. */
static char *read_first_line(int root_fd, const char *path, bool run)
{
	AUTO(buf) struct buf raw = {0}, text = {0};
	struct err ignored;
	auto_close int fd = -1;
	size_t len;

	if (root_fd < 0)
		return mem_strdup("?");
	fd = run ? scan_open(root_fd, path, &ignored)
		 : beneath_open(root_fd, path, O_RDONLY | O_NONBLOCK, 0,
				&ignored);
	if (fd < 0 || (fd_slurp(fd, 4096, &raw, &ignored) < 0 && !raw.len))
		return mem_strdup("?");
	len = strcspn(buf_text(&raw), "\n");
	if (len >= 40 && strspn(buf_text(&raw), "0123456789abcdef") == len)
		len = ID_SHOWN;
	if (len > 200)
		len = 200;
	text_escape(&text, raw.data, len, false);
	return buf_take_text(&text);
}

static void add_git_line(struct changes_git *g, const struct change *c,
			 const char *what, bool runs, bool contents,
			 int upper_fd, int lower_fd)
{
	AUTO(buf) struct buf b = {0};

	buf_printf(&b, "%c  ", changes_letter(c->kind));
	text_escape(&b, c->path, strlen(c->path), false);
	buf_printf(&b, "  %s", what);
	if (contents) {
		auto_free char *old = read_first_line(lower_fd, c->path, false);
		auto_free char *now = read_first_line(upper_fd, c->path, true);

		if (c->kind == CHANGE_DELETED)
			buf_printf(&b, "  %s -> deleted", old);
		else if (c->kind == CHANGE_ADDED)
			buf_printf(&b, "  new -> %s", now);
		else
			buf_printf(&b, "  %s -> %s", old, now);
	} else {
		changes_detail(c, &b);
	}
	GROW(g->items, g->count, g->capacity);
	g->items[g->count++] = (struct git_line){
		.text = buf_take_text(&b),
		.deleted = c->kind == CHANGE_DELETED,
		.runs = runs && c->kind != CHANGE_DELETED,
	};
}

static void add_git_count(struct changes_git *g, size_t count, const char *noun,
			  const char *what, bool deleted)
{
	if (!count)
		return;
	GROW(g->items, g->count, g->capacity);
	g->items[g->count++] = (struct git_line){
		.text = mem_printf("%s %s", text_count(count, noun), what),
		.deleted = deleted,
	};
}

static bool is_dir_change(const struct change *c)
{
	return S_ISDIR(c->kind == CHANGE_DELETED ? c->old.mode : c->now.mode) &&
	       c->kind != CHANGE_TYPE;
}

static void count_object(const struct change *c, struct git_tally *t)
{
	if (is_dir_change(c))
		return;
	if (c->kind == CHANGE_DELETED)
		t->objects_deleted++;
	else if (c->kind == CHANGE_ADDED)
		t->objects_added++;
	else
		t->objects_changed++;
}

static void add_git_change(struct changes_git *g, const struct change *c,
			   int upper_fd, int lower_fd, struct git_tally *t)
{
	enum git_part part = classify_git_path(inside_git(c->path));
	bool content =
		S_ISREG(c->old.mode | c->now.mode) && c->kind != CHANGE_META;

	if (part == GIT_OBJECT) {
		count_object(c, t);
		return;
	}
	if (part == GIT_LOG) {
		if (c->kind == CHANGE_DELETED)
			t->logs_deleted += !is_dir_change(c);
		else
			t->logs += !is_dir_change(c);
		return;
	}
	if (part == GIT_ITSELF) {
		add_git_line(g, c, "repository", c->kind == CHANGE_ADDED, false,
			     upper_fd, lower_fd);
		return;
	}
	/* The changes of files include all information about their
	 * directories. */
	if (is_dir_change(c) && c->kind != CHANGE_META)
		return;
	switch (part) {
	case GIT_HEAD:
		add_git_line(g, c, "HEAD", false, content, upper_fd, lower_fd);
		break;
	case GIT_REF:
		add_git_line(g, c, "ref", false, content, upper_fd, lower_fd);
		break;
	case GIT_PACKED_REFS:
		add_git_line(g, c, "packed refs", false, false, -1, -1);
		break;
	case GIT_INDEX:
		add_git_line(g, c, "staged state", false, false, -1, -1);
		break;
	case GIT_CONFIG:
		add_git_line(g, c, "configuration", true, false, -1, -1);
		break;
	case GIT_HOOK:
		add_git_line(g, c, "hook", true, false, -1, -1);
		break;
	case GIT_INFO:
		add_git_line(g, c, "attributes or excludes", true, false, -1,
			     -1);
		break;
	default:
		/* Files that git writes by itself (COMMIT_EDITMSG,
		 * ORIG_HEAD) are only counted, but a deletion is never
		 * hidden in a number. */
		if (c->kind == CHANGE_DELETED)
			add_git_line(g, c, "", false, false, -1, -1);
		else
			t->others++;
	}
}

void changes_git_make(const struct change_list *list, int upper_fd,
		      int lower_fd, struct changes_git *ret)
{
	struct git_tally t = {0};
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->items[i].flags & CHANGE_GIT)
			add_git_change(ret, &list->items[i], upper_fd, lower_fd,
				       &t);
	add_git_count(ret, t.objects_deleted, "object file", "deleted", true);
	add_git_count(ret, t.objects_changed, "object file", "CHANGED", true);
	add_git_count(ret, t.logs_deleted, "reflog", "deleted", true);
	add_git_count(ret, t.objects_added, "object file", "added", false);
	add_git_count(ret, t.logs, "reflog", "changed", false);
	add_git_count(ret, t.others, "other file", "changed", false);
}

void changes_git_free(struct changes_git *g)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		free(g->items[i].text);
	free(g->items);
	*g = (struct changes_git){0};
}
