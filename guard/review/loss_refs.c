/* Refs that lose commits. */
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/review/loss_private.h"

#define PACKED "packed-refs"
#define STASH_LOG "logs/refs/stash"
#define HEADS "refs/heads/"
#define TAGS "refs/tags/"

struct ref_judge {
	const struct view *view;
	const char *dir; /* ".git", "sub/.git" */
	struct gitcopies *git;
	struct losses *losses;
	struct buf packed; /* of the run */
	/* The tips that refs have after the run, as far as the user's
	 * repository has their commits. */
	VEC(struct gitid) tips;
};

static void ref_judge_free(struct ref_judge *j)
{
	VEC_FREE(&j->tips);
	buf_free(&j->packed);
	gitcopies_free(&j->git);
}

/* The length of the .git's path if the change is of a file in it that names
 * commits; 0: of none. */
static size_t find_dir(const struct change *c)
{
	size_t end = path_part_end(c->path, ".git");
	const char *rest = c->path + end;

	if (!end || !(c->flags & CHANGE_GIT) || !*rest)
		return 0;
	rest++;
	return strcmp(rest, "HEAD") == 0 || strcmp(rest, PACKED) == 0 ||
			       strcmp(rest, STASH_LOG) == 0 ||
			       path_below(rest, "refs")
		       ? end
		       : 0;
}

/* The change of a file of the repository, or NULL. */
static const struct view_entry *find_change(const struct ref_judge *j,
					    const char *name)
{
	auto_free char *path = path_join(j->dir, name);

	return view_find(j->view, path);
}

static void read_git_file(const struct ref_judge *j, const char *name, bool now,
			  struct buf *to)
{
	auto_free char *path = path_join(j->dir, name);
	struct err ignored;

	if (changes_read(j->view->root, path, S_IFREG, now, to, &ignored) < 0)
		buf_clear(to);
}

/* The line "<id> <name>" of packed-refs. */
static void find_packed(struct buf *packed, const char *name, struct gitid *ret)
{
	auto_free char *wanted = mem_printf(" %s\n", name);
	const char *at = strstr(buf_text(packed), wanted);

	*ret = (struct gitid){""};
	if (at && at - buf_text(packed) >= GITID_HEX)
		(void)gittips_read_id(at - GITID_HEX, ret);
}

/* The tip after the run; false: unchanged, or no commit can be told. */
static bool find_new_tip(struct ref_judge *j, const char *name,
			 struct gitid *ret)
{
	const struct view_entry *e = find_change(j, name);
	auto_free char *path = path_join(j->dir, name);
	AUTO(buf) struct buf text = {0};

	*ret = (struct gitid){""};
	if (e && S_ISREG(e->change->now.mode)) {
		read_git_file(j, name, true, &text);
		/* HEAD is on a branch now: nothing of its own. */
		return gittips_read_id(buf_text(&text), ret) ||
		       strcmp(name, "HEAD") == 0;
	}
	if (!e && changes_exists(j->view->root, path))
		return false;
	if (e || find_change(j, PACKED))
		find_packed(&j->packed, name, ret);
	return e || find_change(j, PACKED);
}

static int add_tip(void *arg, const char *name, const struct gitid *id,
		   struct err *err)
{
	struct ref_judge *j = arg;
	struct gitid now;

	(void)err;
	if (!id)
		return 0;
	if (!find_new_tip(j, name, &now))
		now = *id;
	if (*now.hex && gitcopies_has(j->git, &now))
		*VEC_ADD(&j->tips) = now;
	return 0;
}

/* --- the run's reflog --- */

/*
 * The last commit of the user's that a branch of the run is built on. The
 * branch's tip is a new commit, and the run's objects are not read: its reflog
 * tells, which a run may forge, so that this is a hint. *ret_amended: the
 * commit itself was replaced by another one.
 */
static struct gitid find_fork(const struct ref_judge *j, const char *ref,
			      const struct gitid *old, bool *ret_amended)
{
	auto_free char *path = mem_printf("logs/%s", ref);
	AUTO(buf) struct buf log = {0};
	struct gitid known = {""};
	bool started = false, is_new = false;
	const char *line, *end;

	*ret_amended = false;
	read_git_file(j, path, true, &log);
	for (line = buf_text(&log); *line; line = *end ? end + 1 : end) {
		struct gitid from, to, onto;
		const char *text;
		auto_free char *copy = NULL;

		end = line + strcspn(line, "\n");
		copy = mem_strndup(line, (size_t)(end - line));
		if (!gittips_read_id(copy, &from) ||
		    strlen(copy) < 2 * GITID_HEX + 1 ||
		    !gittips_read_id(copy + GITID_HEX + 1, &to))
			continue;
		if (strcmp(from.hex, old->hex) == 0) {
			started = true;
			is_new = *ret_amended = false;
			known = *old;
		}
		if (!started)
			continue;
		text = strchr(copy, '\t');
		text = text ? text + 1 : "";
		if (gitcopies_has(j->git, &to)) {
			known = to;
			is_new = *ret_amended = false;
			continue;
		}
		*ret_amended |=
			!is_new && strncmp(text, "commit (amend)", 14) == 0;
		text = strstr(text, " onto ");
		if (text && gittips_read_id(text + 6, &onto) &&
		    gitcopies_has(j->git, &onto)) {
			known = onto;
			*ret_amended = false;
		}
		is_new = true;
	}
	return known;
}

/* --- texts --- */

/* text, brief: owned by the list now */
static void add_loss_ref(struct ref_judge *j, const char *name, char *text,
			 char *brief)
{
	*VEC_ADD(&j->losses->refs) = (struct loss_ref){
		.text = text, .brief = brief, .path = path_join(j->dir, name)};
}

static int judge_ref(void *arg, const char *ref, const struct gitid *old,
		     struct err *err)
{
	struct ref_judge *j = arg;
	auto_free char *where = path_parent(j->dir);
	const char *kind = "", *name = ref;
	AUTO(buf) struct buf in = {0}, shown = {0};
	struct gitid tip, now;
	bool amended = false;
	size_t n;

	(void)err;
	if (!old || !find_new_tip(j, ref, &tip) ||
	    strcmp(tip.hex, old->hex) == 0 ||
	    strncmp(ref, "refs/remotes/", 13) == 0 ||
	    strcmp(ref, "refs/stash") == 0)
		return 0;
	now = tip;
	if (path_below(name, "refs/heads") || path_below(name, "refs/tags")) {
		kind = path_below(name, "refs/tags") ? "tag " : "";
		name += strlen(*kind ? TAGS : HEADS);
	} else if (strcmp(name, "HEAD") == 0) {
		kind = "detached ";
	}
	if (*where) {
		text_escape_name(&in, where);
		buf_add_text(&in, ": ");
	}
	text_escape_name(&shown, name);
	if (!*now.hex) {
		n = gitcopies_count_commits(j->git, old, j->tips.items,
					    j->tips.count);
		if (n)
			add_loss_ref(j, ref,
				     mem_printf("%s%s%s %s: no ref reaches its "
						"last %s",
						buf_text(&in), kind,
						buf_text(&shown),
						strcmp(name, "HEAD") == 0
							? "was left"
							: "was deleted",
						text_count(n, "commit")),
				     mem_printf("%s%s deleted", buf_text(&in),
						buf_text(&shown)));
		return 0;
	}
	if (!gitcopies_has(j->git, &now))
		now = find_fork(j, ref, old, &amended);
	if (!*now.hex) {
		add_loss_ref(j, ref,
			     mem_printf("%s%s%s points to another commit, and "
					"the run has no log of it",
					buf_text(&in), kind, buf_text(&shown)),
			     mem_printf("%s%s moved", buf_text(&in),
					buf_text(&shown)));
		return 0;
	}
	n = gitcopies_count_commits(j->git, old, &now, 1) + amended;
	if (n)
		add_loss_ref(j, ref,
			     mem_printf("%s%s%s %s %s", buf_text(&in), kind,
					buf_text(&shown),
					strcmp(now.hex, tip.hex) == 0
						? "moved back by"
						: "was rewritten without",
					text_count(n, "commit")),
			     mem_printf("%s%s -%zu", buf_text(&in),
					buf_text(&shown), n));
	return 0;
}

/* Each entry of a stash is a line of its reflog. */
static void judge_stash(struct ref_judge *j)
{
	AUTO(buf) struct buf old = {0}, now = {0};
	const char *line, *end;
	size_t n = 0;

	if (strcmp(j->dir, ".git") != 0 || !find_change(j, STASH_LOG))
		return;
	read_git_file(j, STASH_LOG, false, &old);
	read_git_file(j, STASH_LOG, true, &now);
	for (line = buf_text(&old); *line; line = *end ? end + 1 : end) {
		struct gitid id;

		end = line + strcspn(line, "\n");
		if ((size_t)(end - line) > 2 * GITID_HEX &&
		    gittips_read_id(line + GITID_HEX + 1, &id) &&
		    !strstr(buf_text(&now), id.hex))
			n++;
	}
	if (n)
		add_loss_ref(j, STASH_LOG,
			     mem_printf("the stash lost %zu %s", n,
					n == 1 ? "entry" : "entries"),
			     mem_printf("stash -%zu", n));
}

/* dir: the path of a .git in the root, which is the directory path */
static void judge_repository(const struct view *v, const char *path,
			     const char *dir, struct losses *ret)
{
	AUTO(ref_judge)
	struct ref_judge j = {.view = v, .losses = ret, .dir = dir};
	const struct view_entry *all = view_find(v, dir);
	auto_free char *below = path_parent(dir);
	auto_free char *tree = path_join(path, below);
	struct err err;

	/* A repository that is gone is a critical risk of its own. */
	if ((all && !all->change->now.mode) ||
	    gitcopies_open(tree, true, &j.git, &err) <= 0)
		return;
	read_git_file(&j, PACKED, find_change(&j, PACKED) != NULL, &j.packed);
	if (gitcopies_each_ref(j.git, add_tip, &j, &err) < 0 ||
	    gitcopies_each_ref(j.git, judge_ref, &j, &err) < 0)
		return;
	judge_stash(&j);
}

void loss_refs_judge(const struct view *v, const char *path, struct losses *ret)
{
	auto_free char *last = NULL;
	size_t i;

	for (i = 0; i < v->count; i++) {
		const char *changed = v->items[i].change->path;
		size_t len = find_dir(v->items[i].change);

		if (!len || (last && path_below(changed, last)))
			continue;
		free(last);
		last = mem_strndup(changed, len);
		judge_repository(v, path, last, ret);
	}
}
