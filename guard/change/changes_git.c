#include "guard/change/changes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"

#define ID_SHOWN 12

/* A part of a repository: a directory or a file with this name. */
struct git_part {
	const char *name;
	const char *what; /* NULL: its changes are only counted */
	bool runs; /* git executes it, or it names a command */
	bool contents; /* the first line is shown */
};

static const struct git_part git_dirs[] = {
	{.name = "objects"},
	{.name = "logs"},
	{"hooks", "hook", .runs = true},
	{"refs", "ref", .contents = true},
	{"info", "attributes or excludes", .runs = true},
};

static const struct git_part git_files[] = {
	{"HEAD", "HEAD", .contents = true},
	{"packed-refs", "packed refs"},
	{"index", "staged state"},
	{"config", "configuration", .runs = true},
	{"config.worktree", "configuration", .runs = true},
};

/* Counts of .git changes that the summary only gives as numbers. */
struct git_tally {
	size_t objects_added, objects_deleted, objects_changed;
	size_t logs, logs_deleted;
	size_t others;
};

/* The first part with a meaning decides, also below modules/ (submodules) and
 * worktrees/. NULL: no part has one. */
static const struct git_part *classify_git_path(const char *rest)
{
	const char *at = rest;
	size_t i;

	while (*at) {
		size_t len = strcspn(at, "/");

		/* A list for servers, which `git gc` writes. */
		if (strcmp(at, "info/refs") == 0)
			return NULL;
		for (i = 0; i < ARRAY_SIZE(git_dirs); i++)
			if (strlen(git_dirs[i].name) == len &&
			    memcmp(at, git_dirs[i].name, len) == 0)
				return &git_dirs[i];
		at += len;
		while (*at == '/')
			at++;
	}
	for (i = 0; i < ARRAY_SIZE(git_files); i++)
		if (strcmp(path_name(rest), git_files[i].name) == 0)
			return &git_files[i];
	return NULL;
}

/* First line of a small file; an object's id is shortened. */
static char *read_first_line(const struct changes_root *root,
			     const struct change *c, bool now)
{
	AUTO(buf) struct buf raw = {0}, text = {0};
	struct err ignored;
	size_t len;

	if (changes_read(root, c->path, now ? c->now.mode : c->old.mode, now,
			 &raw, &ignored) < 0 &&
	    !raw.len)
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
			 const struct git_part *part,
			 const struct changes_root *root)
{
	AUTO(buf) struct buf b = {0};

	buf_printf(&b, "%c  ", changes_letter(c->kind));
	text_escape(&b, c->path, strlen(c->path), false);
	buf_printf(&b, "  %s", part->what);
	if (part->contents && S_ISREG(c->old.mode | c->now.mode) &&
	    c->kind != CHANGE_META) {
		auto_free char *old = read_first_line(root, c, false);
		auto_free char *now = read_first_line(root, c, true);

		if (c->kind == CHANGE_DELETED)
			buf_printf(&b, "  %s -> deleted", old);
		else if (c->kind == CHANGE_ADDED)
			buf_printf(&b, "  none -> %s", now);
		else
			buf_printf(&b, "  %s -> %s", old, now);
	} else {
		changes_detail(c, &b);
	}
	*VEC_ADD(g) = (struct git_line){
		.text = buf_take_text(&b),
		.deleted = c->kind == CHANGE_DELETED,
		.runs = part->runs && c->kind != CHANGE_DELETED,
	};
}

static void add_git_count(struct changes_git *g, size_t count, const char *noun,
			  const char *what, bool deleted)
{
	if (count)
		*VEC_ADD(g) = (struct git_line){
			.text = mem_printf("%s %s", text_count(count, noun),
					   what),
			.deleted = deleted,
		};
}

/* git executes no hook with this ending; git init writes a dozen of them. */
static bool is_sample_hook(const struct change *c, const struct git_part *part)
{
	return part && part->what && strcmp(part->name, "hooks") == 0 &&
	       S_ISREG(c->now.mode) && path_ends(c->path, ".sample");
}

static bool is_dir_change(const struct change *c)
{
	return S_ISDIR(c->kind == CHANGE_DELETED ? c->old.mode : c->now.mode) &&
	       c->kind != CHANGE_TYPE;
}

void changes_git_make(const struct changes_root *root, struct changes_git *ret)
{
	static const struct git_part other = {.what = ""};
	struct git_tally t = {0};
	size_t i;

	for (i = 0; i < root->list.count; i++) {
		const struct change *c = &root->list.items[i];
		const char *rest = c->path + path_part_end(c->path, ".git");
		const struct git_part *part = classify_git_path(rest);
		bool deleted = c->kind == CHANGE_DELETED;
		const struct git_part itself = {
			.what = "repository",
			.runs = (c->kind == CHANGE_ADDED ||
				 S_ISREG(c->now.mode)) &&
				!(c->flags & CHANGES_CHECKOUT),
		};

		if (!(c->flags & CHANGE_GIT) || c->flags & CHANGES_WORKTREE)
			continue;
		if (part && !part->what) {
			if (is_dir_change(c))
				continue;
			if (part != git_dirs)
				*(deleted ? &t.logs_deleted : &t.logs) += 1;
			else if (deleted)
				t.objects_deleted++;
			else if (c->kind == CHANGE_ADDED)
				t.objects_added++;
			else
				t.objects_changed++;
		} else if (!*rest) {
			ret->gone |= deleted && rest == c->path + 4;
			add_git_line(ret, c, &itself, root);
		} else if (is_dir_change(c) && c->kind != CHANGE_META) {
			/* The changes of files include all information about
			 * their directories. */
			continue;
		} else if ((part || deleted) && !is_sample_hook(c, part)) {
			add_git_line(ret, c, part ? part : &other, root);
		} else {
			/* Files that git writes by itself (COMMIT_EDITMSG,
			 * ORIG_HEAD) are only counted, but a deletion is never
			 * hidden in a number. */
			t.others++;
		}
	}
	add_git_count(ret, t.objects_deleted, "object file", "deleted", true);
	add_git_count(ret, t.objects_changed, "object file", "CHANGED", true);
	add_git_count(ret, t.logs_deleted, "reflog", "deleted", true);
	add_git_count(ret, t.objects_added, "object file", "added", false);
	add_git_count(ret, t.logs, "reflog", "modified", false);
	add_git_count(ret, t.others, "other file", "modified", false);
}

void changes_git_free(struct changes_git *g)
{
	size_t i;

	for (i = 0; i < g->count; i++)
		free(g->items[i].text);
	free(g->items);
	*g = (struct changes_git){0};
}
