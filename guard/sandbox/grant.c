#include "guard/sandbox/grant.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "base/vec.h"
#include "guard/sandbox/mount.h"

/* As many as the kernel follows. */
#define LINKS_MAX 40

/* A path on its way. */
struct walk {
	char *real; /* the part that is open */
	char *rest; /* the text that is not */
	int fd;
	struct stat st;
	struct names *links;
};

static void walk_free(struct walk *w)
{
	free(w->real);
	free(w->rest);
	fd_close(&w->fd);
}

static int walk_to(struct walk *w, char *real, int dir, const char *name)
{
	int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &w->st) < 0) {
		int num = errno;

		fd_close(&fd);
		free(real);
		return -num;
	}
	fd_close(&w->fd);
	w->fd = fd;
	free(w->real);
	w->real = real;
	return 0;
}

/* Replaces the link that is open by its target. above: the directory of the
 * link, which is open as above_fd. */
static int walk_link(struct walk *w, const char *above, int above_fd)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(w->fd, "", target, sizeof(target) - 1);
	char *rest;

	if (len <= 0)
		return len < 0 ? -errno : -ENOENT;
	target[len] = '\0';
	names_add(w->links, w->real);
	if (w->links->count > LINKS_MAX)
		return -ELOOP;
	rest = mem_printf("%s/%s", target, w->rest);
	free(w->rest);
	w->rest = rest;
	return *target == '/' ? walk_to(w, mem_strdup("/"), AT_FDCWD, "/")
			      : walk_to(w, mem_strdup(above), above_fd, ".");
}

/* One part of the path. */
static int walk_part(struct walk *w, const char *name)
{
	auto_free char *above = NULL;
	auto_close int above_fd = -1;
	char *parent;
	int rc;

	if (!*name || strcmp(name, ".") == 0)
		return S_ISDIR(w->st.st_mode) ? 0 : -ENOTDIR;
	if (strcmp(name, "..") == 0) {
		parent = path_parent(w->real);
		if (!*parent) {
			free(parent);
			parent = mem_strdup("/");
		}
		return walk_to(w, parent, w->fd, "..");
	}
	above = mem_strdup(w->real);
	above_fd = fcntl(w->fd, F_DUPFD_CLOEXEC, 0);
	if (above_fd < 0)
		return -errno;
	rc = walk_to(w, path_join(w->real, name), above_fd, name);
	return rc == 0 && S_ISLNK(w->st.st_mode) ? walk_link(w, above, above_fd)
						 : rc;
}

/* Opens path, which is absolute. */
static int walk_path(struct walk *w, const char *path, const char *beneath)
{
	bool inside = false;
	int rc = walk_to(w, mem_strdup("/"), AT_FDCWD, "/");

	w->rest = mem_strdup(path + strspn(path, "/"));
	while (rc == 0 && *w->rest) {
		size_t len = strcspn(w->rest, "/");
		auto_free char *name = mem_strndup(w->rest, len);
		bool more = w->rest[len] == '/';

		memmove(w->rest, w->rest + len + more,
			strlen(w->rest + len + more) + 1);
		rc = walk_part(w, name);
		if (inside && rc == 0 && !path_below(w->real, beneath))
			return -EXDEV;
		inside = beneath && path_below(w->real, beneath);
	}
	return rc ? rc : beneath && !inside ? -EXDEV : 0;
}

static int resolve_grant(struct grant *g, const char *beneath, struct err *err)
{
	AUTO(walk) struct walk w = {.fd = -1, .links = &g->links};
	auto_free char *here = NULL, *path = NULL;
	int rc;

	if (!*g->written)
		return fail(err, ENOENT, "the path is empty");
	here = *g->written == '/' ? NULL : getcwd(NULL, 0);
	if (*g->written != '/' && (!here || *here != '/'))
		return fail(err, ENOENT,
			    "the current directory was deleted or cannot be "
			    "reached: change to another one");
	path = here ? path_join(here, g->written) : mem_strdup(g->written);
	rc = walk_path(&w, path, beneath);
	if (rc == -EXDEV)
		return fail(err, EXDEV, "it leads out of %s",
			    text_quote(beneath));
	if (rc == -ENOENT)
		return fail(err, ENOENT, "no such file or directory");
	errno = -rc;
	if (rc < 0)
		return fail_errno(err, "%s", text_quote(w.real ? w.real : "/"));
	g->real = TAKE(w.real);
	g->fd = TAKE_FD(w.fd);
	g->mode = w.st.st_mode;
	return 0;
}

static void grant_free(struct grant *g)
{
	free(g->label);
	free(g->written);
	free(g->real);
	fd_close(&g->fd);
	names_free(&g->links);
}

int grants_add(struct grants *to, enum grant_kind kind, char *label,
	       const char *written, const char *beneath, struct err *err)
{
	AUTO(grant)
	struct grant g = {.kind = kind,
			  .label = label,
			  .written = mem_strdup(written),
			  .fd = -1};

	if (resolve_grant(&g, beneath, err) < 0)
		return err_context(err, "%s", label);
	*VEC_ADD(to) = g;
	g = (struct grant){.fd = -1};
	return 0;
}

void grants_free(struct grants *grants)
{
	size_t i;

	for (i = 0; i < grants->count; i++)
		grant_free(&grants->items[i]);
	VEC_FREE(grants);
}

int grant_reopen(const struct grant *g, struct err *err)
{
	AUTO(names) struct names links = {0};
	AUTO(walk) struct walk w = {.fd = -1, .links = &links};
	struct stat st;
	int rc = walk_path(&w, g->real, NULL);

	errno = -rc;
	if (rc < 0 || fstat(g->fd, &st) < 0)
		return fail_errno(err, "expose %s", text_quote(g->real));
	if (links.count || st.st_dev != w.st.st_dev || st.st_ino != w.st.st_ino)
		return fail(err, ESTALE,
			    "%s was replaced while the sandbox started: try "
			    "again",
			    text_quote(g->real));
	return TAKE_FD(w.fd);
}

bool grants_cover(const struct grants *grants, const char *path)
{
	size_t i;

	for (i = 0; i < grants->count; i++)
		if (path_below(path, grants->items[i].real))
			return true;
	return false;
}

bool grants_name(const struct grants *grants, const char *path)
{
	size_t i;

	for (i = 0; i < grants->count; i++)
		if (strcmp(path, grants->items[i].real) == 0)
			return true;
	return false;
}

/* The name as it is written, or NULL: ".." behind a link is another directory
 * than in the text. */
static char *written_name(const struct grant *g)
{
	auto_free char *here = getcwd(NULL, 0);

	if (path_has_part(g->written, ".."))
		return NULL;
	return *g->written == '/' || !here ? mem_strdup(g->written)
					   : path_join(here, g->written);
}

const char *grant_find_hidden(const struct grant *g, char *const *hide,
			      bool *ret_named)
{
	AUTO(mountinfo) struct mountinfo table = {0};
	auto_free char *name = written_name(g);
	struct err ignored;

	(void)mountinfo_load(0, &table, &ignored);
	for (; *hide; hide++) {
		AUTO(names) struct names aliases = {0};
		auto_free char *real = path_resolve(*hide, &ignored);
		bool hidden = real && path_below(g->real, real);
		size_t i;

		if (real && !hidden)
			mountinfo_aliases(&table, real, &aliases);
		for (i = 0; i < aliases.count; i++)
			hidden |= path_below(g->real, aliases.items[i]);
		if (!hidden)
			continue;
		*ret_named =
			!g->links.count || (name && (path_below(name, *hide) ||
						     path_below(name, real)));
		return *hide;
	}
	return NULL;
}

char *grant_describe_link(const struct grant *g, const char *project,
			  const char *home)
{
	size_t i;

	for (i = 0; i < g->links.count; i++)
		if ((path_below(g->links.items[i], project) ||
		     (home && path_below(g->links.items[i], home))) &&
		    !path_below(g->real, project))
			return mem_printf("%s is %s", g->label,
					  text_quote(g->real));
	return NULL;
}
