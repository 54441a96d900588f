#include "guard/sandbox/explain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/fd.h"
#include "guard/sandbox/namespaces.h"

struct explained_setup {
	struct setup s;
	const char *const *layers;
};

static void set_view(struct path_view *v, enum visibility visibility,
		     const char *place)
{
	*v = (struct path_view){.visibility = visibility, .place = place};
}

static struct path_view view_with_rules(const struct explained_setup *c,
					const char *path, size_t count)
{
	const struct sandbox_policy *policy = c->s.policy;
	const char *private = mounts_private_dir(path);
	const char *const *layer;
	struct path_view v;
	size_t i;

	/* The view before the rules: later mounts cover earlier ones. */
	set_view(&v, VISIBILITY_READ_ONLY, "/");
	if (private)
		set_view(&v, VISIBILITY_PRIVATE, private);
	if (policy->strict && policy->home && path_below(path, policy->home))
		set_view(&v, VISIBILITY_PRIVATE, policy->home);
	for (layer = c->layers; *layer; layer++)
		if (path_below(path, *layer))
			set_view(&v, VISIBILITY_LAYER, *layer);
	for (i = 0; i < count; i++) {
		const struct path_rule *p = &c->s.rules.items[i];
		struct path_view there;

		if (!path_below(path, p->path))
			continue;
		if (p->kind != RULE_MASK) {
			set_view(&v,
				 p->kind == RULE_READ_ONLY
					 ? VISIBILITY_READ_ONLY
					 : VISIBILITY_READ_WRITE,
				 p->path);
			v.granted = true;
			continue;
		}
		there = view_with_rules(c, p->path, i);
		/* A mask is mounted only on an existing path. */
		if ((p->socket && there.visibility == VISIBILITY_LAYER) ||
		    there.visibility == VISIBILITY_PRIVATE ||
		    there.visibility == VISIBILITY_HIDDEN)
			continue;
		set_view(&v, VISIBILITY_HIDDEN, p->path);
		v.socket = p->socket;
		v.redacted = p->text && p->text->len;
		if (v.redacted)
			v.visibility = VISIBILITY_READ_ONLY;
	}
	return v;
}

/* Nodes and directories that guard creates in private directories. */
static bool is_made_by_guard(const struct explained_setup *c, const char *path)
{
	static const char *const made[] = {"/dev/null",
					   "/dev/zero",
					   "/dev/full",
					   "/dev/random",
					   "/dev/urandom",
					   "/dev/tty",
					   "/dev/pts",
					   "/dev/shm",
					   "/dev/fd",
					   "/dev/ptmx",
					   "/dev/stdin",
					   "/dev/stdout",
					   "/dev/stderr",
					   "/dev/pts/ptmx",
					   "/run/user",
					   "/run/lock",
					   NULL};
	const struct sandbox_policy *p = c->s.policy;
	const char *private = mounts_private_dir(path);
	auto_free char *own =
		mem_printf("/run/user/%u", p->has_user ? p->user : geteuid());

	return strcmp(path, own) == 0 ||
	       (private && strcmp(path, private) == 0) ||
	       mem_list_has(made, path) || path_below(path, "/proc");
}

/* True for a directory on the path to a grant, which guard creates. */
static bool leads_to_grant(const struct explained_setup *c, const char *path)
{
	const char *const *layer;
	size_t i;

	for (i = 0; i < c->s.rules.count; i++)
		if (c->s.rules.items[i].kind != RULE_MASK &&
		    path_below(c->s.rules.items[i].path, path))
			return true;
	for (layer = c->layers; *layer; layer++)
		if (path_below(*layer, path))
			return true;
	return false;
}

void path_view_free(struct path_view *v)
{
	free(v->real);
	free(v->owned_place);
	*v = (struct path_view){0};
}

int sandbox_explain(const struct sandbox_policy *policy,
		    const char *const *layers, const char *path,
		    struct path_view *ret, struct err *err)
{
	struct explained_setup c = {.s = {.policy = policy}, .layers = layers};
	/* Symbolic links of the machine's /dev do not apply in the run's. */
	bool device = path_below(path, "/dev") && !strstr(path, "/.") &&
		      !strstr(path, "//") && strncmp(path, "/dev/fd/", 8) != 0;
	auto_free char *real =
		device ? mem_strdup(path) : path_resolve(path, err);
	struct stat st;
	bool exists;
	size_t i;
	int rc;

	if (!real)
		real = path_resolve_parent(path, err);
	if (!real)
		return -err->num;
	sockets_find(&c.s);
	rc = masks_open(&c.s, err);
	if (rc == 0) {
		*ret = view_with_rules(&c, real, c.s.rules.count);
		if (ret->visibility == VISIBILITY_HIDDEN)
			exists = strcmp(real, ret->place) == 0;
		else if (ret->visibility == VISIBILITY_PRIVATE)
			exists = strcmp(real, ret->place) == 0 ||
				 is_made_by_guard(&c, real);
		else
			exists = lstat(real, &st) == 0;
		ret->exists = exists || leads_to_grant(&c, real);
		ret->owned_place = mem_strdup(ret->place);
		ret->place = ret->owned_place;
		ret->real = TAKE(real);
	}
	for (i = 0; i < c.s.rules.count; i++) {
		fd_close(&c.s.rules.items[i].fd);
		free(c.s.rules.items[i].path);
	}
	VEC_FREE(&c.s.rules);
	sockets_free(&c.s);
	return rc;
}
