#include "guard/sandbox/ns/mountinfo.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/vec.h"

void mountinfo_free(struct mountinfo *m)
{
	size_t i;

	for (i = 0; i < m->count; i++) {
		free(m->items[i].dev);
		free(m->items[i].root);
		free(m->items[i].point);
	}
	free(m->items);
	*m = (struct mountinfo){0};
}

/* The kernel writes blank, tab, line feed and backslash as \ooo. */
static char *unescape_mount_path(const char *text)
{
	char *out = mem_strdup(text), *to = out;
	const char *at;

	for (at = text; *at; at++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] &&
		    at[3]) {
			*to++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 |
				       (at[3] - '0'));
			at += 3;
		} else {
			*to++ = *at;
		}
	}
	*to = '\0';
	return out;
}

/* Fields: id parent major:minor root point options ... (proc(5)) */
static void add_mountinfo_line(struct mountinfo *m, char *line)
{
	char *save = NULL, *field[6], *at = line;
	size_t i;

	for (i = 0; i < 6; i++, at = NULL) {
		field[i] = strtok_r(at, " ", &save);
		if (!field[i])
			return;
	}
	*VEC_ADD(m) = (struct mountinfo_item){
		.dev = mem_strdup(field[2]),
		.root = unescape_mount_path(field[3]),
		.point = unescape_mount_path(field[4]),
		.writable = strncmp(field[5], "rw", 2) == 0,
	};
}

int mountinfo_load(struct mountinfo *ret, struct err *err)
{
	AUTO(buf) struct buf b = {0};
	auto_close int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *save = NULL, *line;
	int rc;

	if (fd < 0)
		return fail_errno(err, "open /proc/self/mountinfo");
	rc = fd_slurp(fd, 64 << 20, &b, err);
	if (rc < 0)
		return err_context(err, "/proc/self/mountinfo");
	(void)buf_text(&b);
	line = strtok_r((char *)b.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save))
		add_mountinfo_line(ret, line);
	return 0;
}

static const struct mountinfo_item *find_mount_of(const struct mountinfo *m,
						  const char *path)
{
	const struct mountinfo_item *best = NULL;
	size_t i;

	for (i = 0; i < m->count; i++) {
		const struct mountinfo_item *item = &m->items[i];

		if (path_below(path, item->point) &&
		    (!best || strlen(item->point) >= strlen(best->point)))
			best = item;
	}
	return best;
}

static char *join_absolute(const char *dir, const char *rest)
{
	if (!*rest)
		return mem_strdup(dir);
	return mem_printf("%s/%s", strcmp(dir, "/") == 0 ? "" : dir, rest);
}

static const char *rest_below(const char *path, const char *dir)
{
	const char *rest = path_rest(path, dir);

	return rest + strspn(rest, "/");
}

/* The table does not tell which mounts are covered by others; device and inode
 * numbers do. */
static bool is_same_mounted_file(const char *a, const char *b)
{
	struct stat x, y;

	return lstat(a, &x) == 0 && lstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* Returns the path at which item shows `inside` (a path in the file system;
 * `path` in this namespace) or a part of it; NULL if it shows neither. */
static char *find_alias_in(const struct mountinfo_item *item,
			   const char *inside, const char *path)
{
	auto_free char *alias = NULL, *here = NULL;

	if (path_below(inside, item->root)) {
		alias = join_absolute(item->point,
				      rest_below(inside, item->root));
		here = mem_strdup(path);
	} else if (path_below(item->root, inside)) {
		alias = mem_strdup(item->point);
		here = join_absolute(path, rest_below(item->root, inside));
	} else {
		return NULL;
	}
	if (path_below(alias, path) || !is_same_mounted_file(alias, here))
		return NULL;
	return TAKE(alias);
}

void mountinfo_aliases(const struct mountinfo *m, const char *path,
		       struct names *ret)
{
	const struct mountinfo_item *containing = find_mount_of(m, path);
	auto_free char *inside = NULL;
	size_t i;

	*ret = (struct names){0};
	if (!containing)
		return;
	inside = join_absolute(containing->root,
			       rest_below(path, containing->point));
	for (i = 0; i < m->count; i++) {
		char *alias;

		if (&m->items[i] == containing ||
		    strcmp(m->items[i].dev, containing->dev) != 0)
			continue;
		alias = find_alias_in(&m->items[i], inside, path);
		if (!alias)
			continue;
		*VEC_ADD(ret) = alias;
	}
}
