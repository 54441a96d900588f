/* Repositories in directories of any name. */
#include "guard/rules/risk.h"

#include <string.h>

#include "base/auto.h"
#include "base/path.h"

/* Names in a repository that git obeys. "X/": all below X. */
static bool is_obeyed(const char *rest)
{
	static const char *const names[] = {"config",
					    "config.worktree",
					    "commondir",
					    "packed-refs",
					    "info/attributes",
					    "info/grafts",
					    "objects/info/alternates",
					    "hooks/",
					    "modules/",
					    "rebase-merge/",
					    "refs/replace/",
					    NULL};
	const char *const *name;

	for (name = names; *name; name++)
		if (path_ends(*name, "/")
			    ? strncmp(rest, *name, strlen(*name)) == 0
			    : strcmp(rest, *name) == 0)
			return true;
	return false;
}

static bool is_repository(const struct risk_file *f, const char *dir)
{
	auto_free char *head = path_join(dir, "HEAD");
	auto_free char *objects = path_join(dir, "objects");
	auto_free char *refs = path_join(dir, "refs");
	auto_free char *common = path_join(dir, "commondir");

	return f->exists(f->arg, head) &&
	       ((f->exists(f->arg, objects) && f->exists(f->arg, refs)) ||
		f->exists(f->arg, common));
}

char *risk_repository_path(const struct risk_file *f)
{
	/* In a .git only those of submodules, whose names may have slashes. */
	size_t own = path_part_end(f->path, ".git");
	const char *slash = f->path + own;

	if (!f->exists || (own && strncmp(slash, "/modules/", 9) != 0))
		return NULL;
	if (!own && is_obeyed(f->path) && is_repository(f, ""))
		return path_join(".git", f->path);
	for (slash += own ? 8 : 0; (slash = strchr(slash, '/')); slash++) {
		auto_free char *dir =
			mem_strndup(f->path, (size_t)(slash - f->path));
		auto_free char *git = path_join(own ? "" : dir, ".git");

		if (is_obeyed(slash + 1) && is_repository(f, dir) &&
		    !(own && path_below(slash + 1, "modules")))
			return path_join(git, slash + 1);
	}
	return NULL;
}
