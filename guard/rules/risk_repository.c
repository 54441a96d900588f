/* Repositories in directories of any name. */
#include "guard/rules/risk.h"

#include <string.h>

#include "base/auto.h"
#include "base/path.h"

/* Names in a repository that git obeys. */
static bool is_obeyed(const char *rest)
{
	static const char *const names[] = {"config", "config.worktree",
					    "commondir", "info/attributes",
					    "objects/info/alternates"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strcmp(rest, names[i]) == 0)
			return true;
	return path_below(rest, "hooks") || path_below(rest, "modules");
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
	const char *slash = f->path;

	if (!f->exists || path_has_part(f->path, ".git"))
		return NULL;
	if (is_obeyed(f->path) && is_repository(f, ""))
		return path_join(".git", f->path);
	while ((slash = strchr(slash, '/'))) {
		auto_free char *dir =
			mem_strndup(f->path, (size_t)(slash - f->path));
		auto_free char *git = path_join(dir, ".git");

		slash++;
		if (is_obeyed(slash) && is_repository(f, dir))
			return path_join(git, slash);
	}
	return NULL;
}
