/* Repositories in directories of any name. */
#include "guard/rules/risk.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/rules/risk_private.h"

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

/* A value without its quotes. */
static char *config_value(const char *line)
{
	const char *at = strchr(line, '=');
	AUTO(buf) struct buf value = {0};

	at = at ? at + 1 : "";
	for (at += strspn(at, " \t"); *at; at++) {
		if (*at == '\\' && at[1])
			at++;
		else if (*at == '"')
			continue;
		buf_add_char(&value, *at);
	}
	return buf_take_text(&value);
}

char *risk_hooks_dir(const struct buf *config)
{
	AUTO(risk_lines) struct risk_lines lines = {0};
	auto_free char *dir = NULL;
	size_t len, i;

	risk_lines_split(SETTINGS_GIT, config, &lines);
	for (i = 0; i < lines.count; i++) {
		if (strcasecmp(lines.items[i].path, "core.hooksPath") != 0 ||
		    !strchr(lines.items[i].text, '='))
			continue;
		free(dir);
		dir = config_value(lines.items[i].text);
	}
	while (dir && strncmp(dir, "./", 2) == 0)
		memmove(dir, dir + 2, strlen(dir) - 1);
	len = dir ? strlen(dir) : 0;
	while (len && dir[len - 1] == '/')
		dir[--len] = '\0';
	if (!len || *dir == '/' || *dir == '~' || strcmp(dir, ".") == 0 ||
	    path_has_part(dir, ".."))
		return NULL;
	return TAKE(dir);
}

char *risk_repository_path(const struct risk_file *f)
{
	const char *slash = f->path;

	if (f->hooks && path_below(f->path, f->hooks))
		return path_join(".git/hooks", path_rest(f->path, f->hooks));
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
