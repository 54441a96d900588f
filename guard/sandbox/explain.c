#include "guard/sandbox/explain.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/path.h"
#include "guard/sandbox/mount_list.h"
#include "guard/sandbox/namespaces.h"

static bool is_redacted(const struct mount_entry *e)
{
	return e->sight == VISIBILITY_HIDDEN &&
	       (e->fd >= 0 || (e->text && e->text->len));
}

/* The entry among the first `count` that decides how the run sees the path;
 * NULL: the machine's root, read-only. */
static const struct mount_entry *deciding_entry(const struct setup *s,
						const char *path, size_t count)
{
	while (count--) {
		const struct mount_entry *e = &s->mounts.items[count], *below;

		if (!path_below(path, e->path))
			continue;
		if (e->sight != VISIBILITY_HIDDEN)
			return e;
		/* A mask is mounted only on an existing path. */
		below = deciding_entry(s, e->path, count);
		if (!below ||
		    (below->sight != VISIBILITY_PRIVATE &&
		     (below->sight != VISIBILITY_HIDDEN ||
		      is_redacted(below)) &&
		     !(e->socket && below->sight == VISIBILITY_LAYER)))
			return e;
	}
	return NULL;
}

/* Nodes and directories that guard creates in private directories. */
static bool is_made_by_guard(const struct sandbox_policy *p, const char *path)
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
	auto_free char *own =
		mem_printf("/run/user/%u", p->has_user ? p->user : geteuid());

	return strcmp(path, own) == 0 || mem_list_has(made, path) ||
	       path_below(path, "/proc");
}

/* True for a directory on the path to a grant or a layer, which guard
 * creates. */
static bool leads_to_mount(const struct setup *s, const char *path)
{
	size_t i;

	for (i = 0; i < s->mounts.count; i++) {
		const struct mount_entry *e = &s->mounts.items[i];

		if (e->sight != VISIBILITY_HIDDEN &&
		    e->sight != VISIBILITY_PRIVATE && path_below(e->path, path))
			return true;
	}
	return false;
}

void path_view_free(struct path_view *v)
{
	free(v->real);
	free(v->place);
	*v = (struct path_view){0};
}

static void fill_view(const struct setup *s, const char *real,
		      struct path_view *v)
{
	const struct mount_entry root = {.path = (char[]){"/"},
					 .sight = VISIBILITY_READ_ONLY};
	const struct mount_entry *e =
		deciding_entry(s, real, s->mounts.count) ?: &root;
	bool is_place = strcmp(real, e->path) == 0;
	struct stat st;

	*v = (struct path_view){
		.visibility = is_redacted(e) ? VISIBILITY_READ_ONLY : e->sight,
		.granted = e->granted,
		.socket = e->socket,
		.redacted = is_redacted(e),
		.place = mem_strdup(e->path),
		.real = mem_strdup(real),
	};
	if (e->sight == VISIBILITY_HIDDEN)
		v->exists = is_place;
	else if (e->sight == VISIBILITY_PRIVATE)
		v->exists = is_place || is_made_by_guard(s->policy, real);
	else
		v->exists = lstat(real, &st) == 0;
	v->exists |= leads_to_mount(s, real);
}

int sandbox_explain(const struct sandbox_policy *policy, const char *path,
		    struct path_view *ret, struct err *err)
{
	struct setup s = {.policy = policy};
	/* Symbolic links of the machine's /dev do not apply in the run's. */
	bool device = path_below(path, "/dev") && !strstr(path, "/.") &&
		      !strstr(path, "//") && strncmp(path, "/dev/fd/", 8) != 0;
	auto_free char *real =
		device ? mem_strdup(path) : path_resolve(path, err);
	int rc;

	if (!real)
		real = path_resolve_parent(path, err);
	if (!real)
		return -err->num;
	sockets_find(&s);
	rc = mount_list_make(&s, err);
	if (rc == 0)
		fill_view(&s, real, ret);
	mount_list_free(&s);
	sockets_free(&s);
	return rc;
}
