/* Links that were there before a run: a file that the run changes may have a
 * critical name through one of them. */
#include "guard/rules/risk.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/vec.h"
#include "guard/rules/risk_private.h"

/* Names in directories of agents and editors that people make links. */
static const char *const inner[] = {
	"agents",      "commands",	 "hooks",    "plugins",
	"prompts",     "rules",		 "scripts",  "skills",
	"config.toml", "launch.json",	 "mcp.json", "settings.json",
	"tasks.json",  "extensions.json"};

#define INNER (sizeof(inner) / sizeof(*inner))

struct link_search {
	uint32_t (*look)(void *arg, const char *path, struct buf *target);
	void *arg;
	struct risk_links *found;
	char *missing;
};

void risk_links_free(struct risk_links *l)
{
	size_t i;

	for (i = 0; i < l->count; i++) {
		free(l->items[i].path);
		free(l->items[i].target);
	}
	VEC_FREE(l);
}

char *risk_links_follow(const char *path, const char *target)
{
	auto_free char *dir = path_parent(path);
	AUTO(buf) struct buf to = {0};

	if (*target == '/')
		return NULL;
	buf_add_text(&to, dir);
	while (*target) {
		size_t len = strcspn(target, "/");
		const char *slash;

		if (len == 2 && memcmp(target, "..", 2) == 0) {
			if (!to.len)
				return NULL;
			slash = strrchr(buf_text(&to), '/');
			to.len = slash ? (size_t)(slash - buf_text(&to)) : 0;
		} else if (len && !(len == 1 && *target == '.')) {
			if (to.len)
				buf_add_char(&to, '/');
			buf_add(&to, target, len);
		}
		target += len + (target[len] == '/');
	}
	return to.len ? buf_take_text(&to) : NULL;
}

static uint32_t try_path(struct link_search *s, const char *path)
{
	AUTO(buf) struct buf text = {0};
	uint32_t mode = s->look(s->arg, path, &text);
	char *target = NULL;
	size_t i;

	for (i = 0; i < s->found->count; i++)
		if (strcmp(s->found->items[i].path, path) == 0)
			return mode;
	if (S_ISLNK(mode))
		target = risk_links_follow(path, buf_text(&text));
	if (target)
		*VEC_ADD(s->found) =
			(struct risk_link){mem_strdup(path), target};
	return mode;
}

/* The last missing path is kept: many names begin with the same directory. */
static bool try_name(void *arg, const char *path, bool directory)
{
	struct link_search *s = arg;
	uint32_t mode;
	size_t i;

	if (s->missing && strcmp(s->missing, path) == 0)
		return false;
	mode = try_path(s, path);
	if (!mode) {
		free(s->missing);
		s->missing = mem_strdup(path);
	}
	for (i = 0; directory && S_ISDIR(mode) && i < INNER; i++) {
		auto_free char *below = path_join(path, inner[i]);

		(void)try_path(s, below);
	}
	return S_ISDIR(mode);
}

void risk_links_find(uint32_t (*look)(void *arg, const char *path,
				      struct buf *target),
		     void *arg, struct risk_links *ret)
{
	struct link_search s = {look, arg, ret, NULL};

	risk_each_critical_name(try_name, &s);
	free(s.missing);
}
