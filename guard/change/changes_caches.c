/* Caches and histories in a home directory. */
#include "base/path.h"
#include "base/sorted.h"
#include "guard/change/changes.h"

bool changes_is_cache(const char *home_path)
{
	static const char *const caches[] = {
		".cache",
		".npm",
		".cargo/registry",
		".cargo/git",
		".ccache",
		".gradle/caches",
		".m2/repository",
		".nuget/packages",
		".yarn/berry/cache",
		".bun/install/cache",
		".local/share/pnpm/store",
		".pub-cache",
		"go/pkg/mod",
		/* Histories, which programs write by themselves. */
		".bash_history",
		".zsh_history",
		".python_history",
		".node_repl_history",
		".irb_history",
		".gdb_history",
		".sqlite_history",
		".psql_history",
		".mysql_history",
		".rediscli_history",
		".lesshst",
		".viminfo",
		".wget-hsts",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(caches); i++)
		if (path_below(home_path, caches[i]))
			/* A start file of zsh's. */
			return strncmp(home_path, ".cache/p10k-", 12) != 0;
	return false;
}

void changes_take_caches(struct change_list *home, struct change_list *to)
{
	size_t kept = 0, i;

	for (i = 0; i < home->count; i++)
		if (changes_is_cache(home->items[i].path))
			change_list_copy(to, &home->items[i]);
		else
			home->items[kept++] = home->items[i];
	home->count = kept;
}

void changes_add_caches(struct change_list *home, struct change_list *from)
{
	size_t i;

	for (i = 0; i < from->count; i++)
		change_list_copy(home, &from->items[i]);
	change_list_free(from);
	SORT_BY_PATH(home->items, home->count, path);
}

bool changes_is_apart(const struct change *c, bool home)
{
	return c->flags & (CHANGES_NOISE | CHANGES_WORKTREE) ||
	       (home ? changes_is_cache(c->path)
		     : (c->flags & CHANGE_GIT) != 0);
}
