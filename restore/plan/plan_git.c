/* A .git is one object made of many files, and a mixture of two states is
 * broken. A .git is therefore skipped or taken completely. */
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "restore/git/gitindex.h"
#include "restore/plan/plan_private.h"

/* The path up to its first component ".git", or the project's repository of
 * another name; NULL: the path is in none. */
static char *git_root_of(const struct planner *pl, const char *path)
{
	const char *other = pl->options->git_dir;
	size_t end = path_part_end(path, ".git");

	if (other && path_below(path, other))
		end = strlen(other);

	return end ? mem_strndup(path, end) : NULL;
}

/* jj beside git: an operation in .jj names commits in the .git of the same
 * directory, so that both are taken, or neither. *ret: the path up to the .jj
 * that has such a .git, or NULL. */
static int find_jj(struct planner *pl, const char *path, char **ret,
		   struct err *err)
{
	struct lookup *const trees[] = {&pl->find_base, &pl->find_want,
					&pl->find_now};
	size_t end = path_part_end(path, ".jj"), i;
	auto_free char *git =
		end ? mem_printf("%.*s.git", (int)(end - strlen(".jj")), path)
		    : NULL;

	*ret = NULL;
	for (i = 0; git && i < ARRAY_SIZE(trees); i++) {
		AUTO(entry) struct entry e = {0};

		if (lookup_find(trees[i], git, &e, err) < 0)
			return -err->num;
		if (e.mode) {
			*ret = mem_strndup(path, end);
			return 0;
		}
	}
	return 0;
}

/* Whether a path names the .git, or the .jj beside it. */
static bool is_repository_named(const struct planner *pl, const char *git)
{
	auto_free char *jj =
		mem_printf("%.*s.jj", (int)(strlen(git) - strlen(".git")), git);

	return plan_git_is_named(pl, git) || plan_git_is_named(pl, jj);
}

bool plan_git_is_named(const struct planner *pl, const char *path)
{
	const char *const *p = pl->options->paths;

	for (; p && *p; p++)
		if (path_below(*p, path))
			return true;
	return false;
}

bool plan_git_is_kept(const struct planner *pl, const char *path)
{
	auto_free char *root =
		pl->options->keep_git ? git_root_of(pl, path) : NULL;

	return root && !plan_git_is_named(pl, root);
}

void plan_git_skip(struct planner *pl, const char *path)
{
	struct names *gits = &pl->plan->gits_skipped;
	auto_free char *root = git_root_of(pl, path);

	/* A .jj beside a .git is skipped with it. */
	if (!root)
		root = mem_strndup(path, path_part_end(path, ".jj"));
	pl->plan->git_skipped++;
	/* The changes of one .git follow each other. */
	if (*root &&
	    (!gits->count || strcmp(gits->items[gits->count - 1], root) != 0))
		names_add(gits, root);
}

static bool is_one_of(const char *part, size_t len, const char *const *names)
{
	for (; *names; names++)
		if (strlen(*names) == len && memcmp(part, *names, len) == 0)
			return true;
	return false;
}

bool plan_git_obeys(const struct planner *pl, const char *path, uint32_t mode)
{
	static const char *const own[] = {"refs", "logs", NULL};
	static const char *const dirs[] = {"hooks", "info", NULL};
	static const char *const files[] = {
		"config",     "config.worktree", "commondir",
		"alternates", "http-alternates", NULL};
	auto_free char *root = git_root_of(pl, path);
	const char *at = root ? path_rest(path, root) : "";
	bool objects = false, obeys = false;

	/* A symbolic link leads git out of the repository, and git itself
	 * creates none. */
	if (root && *at && S_ISLNK(mode))
		return true;
	while (*at) {
		size_t len = strcspn(at, "/");
		bool last = !at[len];

		if (is_one_of(at, len, own))
			return false;
		/* objects/info belongs to git itself, except for the
		 * alternates. */
		objects |= len == 7 && memcmp(at, "objects", 7) == 0;
		obeys |= last ? is_one_of(at, len, files)
			      : !objects && is_one_of(at, len, dirs);
		at += len + !last;
	}
	/* git executes no hook of this name; git init writes a dozen. */
	return obeys && !path_ends(path, ".sample");
}

/* Whether the project's file is as in base, or as in want already. */
static int is_git_file_expected(struct planner *pl, const char *path,
				struct err *err)
{
	AUTO(entry) struct entry base = {0}, want = {0}, now = {0};
	int got;

	if (lookup_find(&pl->find_base, path, &base, err) < 0 ||
	    lookup_find(&pl->find_want, path, &want, err) < 0 ||
	    lookup_find(&pl->find_now, path, &now, err) < 0)
		return -err->num;
	if (!now.mode)
		return !base.mode || !want.mode;
	if (entry_same_content(&now, &base) || entry_same_content(&now, &want))
		return 1;
	if (strcmp(path_name(path), "index") != 0)
		return 0;
	/* The caches in an index may differ. */
	got = gitindex_same(pl->store, &now, &base, err);
	return got ? got : gitindex_same(pl->store, &now, &want, err);
}

struct refs {
	struct planner *pl;
	const char *path;
	bool moved;
};

static int check_ref_difference(void *arg, const char *path,
				const struct entry *a, const struct entry *b,
				struct err *err)
{
	struct refs *r = arg;
	auto_free char *full_path = path_join(r->path, path);
	int got;

	if (r->moved || (a && b && entry_same_content(a, b)))
		return 0;
	got = is_git_file_expected(r->pl, full_path, err);
	if (got == 0)
		r->moved = true;
	return got < 0 ? got : 0;
}

static int is_git_expected(struct planner *pl, const char *root,
			   struct err *err)
{
	static const char *const parts[] = {"HEAD", "packed-refs", "index"};
	auto_free char *refs = path_join(root, "refs");
	AUTO(entry) struct entry base = {0}, now = {0};
	struct refs r = {.pl = pl, .path = refs};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		auto_free char *path = path_join(root, parts[i]);
		int got = is_git_file_expected(pl, path, err);

		if (got <= 0)
			return got;
	}
	if (lookup_find(&pl->find_base, refs, &base, err) < 0 ||
	    lookup_find(&pl->find_now, refs, &now, err) < 0 ||
	    tree_diff(pl->store, &base, &now, check_ref_difference, &r, err) <
		    0)
		return -err->num;
	return !r.moved;
}

int plan_git_decide(struct planner *pl, const char *path, struct err *err)
{
	auto_free char *root = NULL, *jj = NULL;
	struct git_root *g = NULL;
	size_t i;
	int got;

	if (!pl->options->git_apart)
		return PLAN_GIT_NONE;
	if (find_jj(pl, path, &jj, err) < 0)
		return -err->num;
	root = jj ? mem_printf("%.*s.git", (int)(strlen(jj) - strlen(".jj")),
			       jj)
		  : git_root_of(pl, path);
	if (!root)
		return PLAN_GIT_NONE;
	if (!is_repository_named(pl, root))
		return PLAN_GIT_SKIPPED;
	for (i = pl->gits.count; !g && i-- > 0;)
		if (strcmp(pl->gits.items[i].path, root) == 0)
			g = &pl->gits.items[i];
	if (!g) {
		got = is_git_expected(pl, root, err);
		if (got < 0)
			return got;
		g = VEC_ADD(&pl->gits);
		*g = (struct git_root){.path = TAKE(root), .conflict = !got};
		if (g->conflict)
			planner_conflict(pl, CONFLICT_GIT, g->path);
	}
	return g->conflict ? PLAN_GIT_REFUSED : PLAN_GIT_TAKEN;
}

bool plan_git_ref_stays(const struct planner *pl, const char *path)
{
	const struct names *left = &pl->plan->excepted;
	size_t at = 0, end;
	bool stays = false;

	while (!stays && (end = path_part_end(path + at, "refs"))) {
		auto_free char *packed = NULL;

		at += end;
		packed = mem_printf("%.*spacked-refs",
				    (int)(at - strlen("refs")), path);
		/* Its row was before that of the ref. */
		stays = sorted_find(packed, left->items, left->count,
				    sizeof(*left->items), 0, path_compare);
	}
	return stays;
}
