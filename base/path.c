#include "base/path.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

bool path_name_ok(const char *name, size_t len)
{
	if (len == 0 || len > NAME_MAX || memchr(name, '/', len) ||
	    memchr(name, '\0', len))
		return false;
	return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

bool path_ok(const char *path)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (!path_name_ok(path, len))
			return false;
		path += len;
		if (*path == '/' && !*++path)
			return false;
	}
	return true;
}

char *path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir), slash;
	char *joined;

	if (!len)
		return mem_strdup(name);
	if (!*name)
		return mem_strdup(dir);
	slash = dir[len - 1] != '/';
	joined = mem_alloc(len + slash + strlen(name) + 1);
	memcpy(joined, dir, len);
	joined[len] = '/';
	strcpy(joined + len + slash, name);
	return joined;
}

const char *path_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool path_ends(const char *path, const char *text)
{
	size_t len = strlen(path), n = strlen(text);

	return len >= n && strcmp(path + len - n, text) == 0;
}

char *path_parent(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return mem_strdup("");
	if (slash == path)
		return mem_strdup(path[1] ? "/" : "");
	return mem_strndup(path, (size_t)(slash - path));
}

bool path_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 0 || (len == 1 && dir[0] == '/'))
		return true;
	return strncmp(path, dir, len) == 0 &&
	       (path[len] == '\0' || path[len] == '/');
}

const char *path_rest(const char *path, const char *dir)
{
	path += strlen(dir);
	while (*path == '/')
		path++;
	return path;
}

size_t path_part_end(const char *path, const char *name)
{
	size_t len = strlen(name);
	const char *at = path;

	while (*at) {
		size_t part = strcspn(at, "/");

		at += part;
		if (part == len && memcmp(at - len, name, len) == 0)
			return (size_t)(at - path);
		while (*at == '/')
			at++;
	}
	return 0;
}

bool path_has_part(const char *path, const char *name)
{
	return path_part_end(path, name) > 0;
}

int path_compare(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	if (*a == *b)
		return 0;
	if (!*a || !*b)
		return *a ? 1 : -1;
	if (*a == '/')
		return -1;
	if (*b == '/')
		return 1;
	return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
}

char *path_find_program(const char *name)
{
	const char *at = getenv("PATH"), *end;

	for (; at && *at; at = *end ? end + 1 : end) {
		auto_free char *dir = NULL, *file = NULL;
		struct stat st;

		end = strchrnul(at, ':');
		dir = mem_strndup(at, (size_t)(end - at));
		file = path_join(dir, name);
		if (*dir == '/' && stat(file, &st) == 0 &&
		    S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return TAKE(file);
	}
	return NULL;
}

bool path_has_program(const char *name)
{
	auto_free char *file = path_find_program(name);

	return file != NULL;
}

/* Removes "." and ".." from the text behind a base that is already resolved. */
static char *append_normalized(char *base, const char *rest)
{
	while (*rest) {
		size_t len = strcspn(rest, "/");

		if (len == 2 && rest[0] == '.' && rest[1] == '.') {
			char *up = path_parent(base);

			free(base);
			base = *up ? up : (free(up), mem_strdup("/"));
		} else if (len && !(len == 1 && rest[0] == '.')) {
			auto_free char *name = mem_strndup(rest, len);
			char *longer = path_join(base, name);

			free(base);
			base = longer;
		}
		rest += len;
		while (*rest == '/')
			rest++;
	}
	return base;
}

char *path_deleted_cwd(void)
{
	static const char deleted[] = " (deleted)";
	auto_free char *here = getcwd(NULL, 0);
	char name[PATH_MAX];
	ssize_t len = readlink("/proc/self/cwd", name, sizeof(name));
	ssize_t end = len - (ssize_t)strlen(deleted);

	if (end <= 0 || len == sizeof(name) ||
	    memcmp(name + end, deleted, strlen(deleted)) != 0 || here)
		return NULL;
	return mem_strndup(name, (size_t)end);
}

/* The shell knows the name of a directory that cannot be reached. */
static int fail_deleted_cwd(struct err *err)
{
	static const char *const lost =
		"the current directory was deleted or cannot be reached";
	auto_free char *deleted = path_deleted_cwd();
	const char *name = deleted ? deleted : getenv("PWD");

	if (!name || name[0] != '/')
		return fail(err, ENOENT, "%s: change to another one", lost);
	/* Made again, or mounted again. */
	if (access(name, F_OK) == 0)
		return fail(err, ENOENT, "%s: cd %s enters the new one", lost,
			    text_shell(name));
	name = text_shell(name);
	return fail(err, ENOENT,
		    "%s: cd / && guard restore %s restores it if a version "
		    "is stored, then cd %s",
		    lost, name, name);
}

static char *make_absolute(const char *path, struct err *err)
{
	auto_free char *here = NULL;

	if (path[0] == '/')
		return mem_strdup(path);
	here = getcwd(NULL, 0);
	if (!here || here[0] != '/') {
		(void)fail_deleted_cwd(err);
		return NULL;
	}
	return path_join(here, path);
}

char *path_resolve(const char *path, struct err *err)
{
	auto_free char *full_path = make_absolute(path, err);
	char *cut, *real;

	if (!full_path)
		return NULL;
	if (!*path) {
		(void)fail(err, ENOENT, "an empty name is no path");
		return NULL;
	}
	real = realpath(full_path, NULL);
	if (real)
		return real;
	/* Resolves the longest prefix that exists; the tail is handled as text.
	 */
	cut = full_path + strlen(full_path);
	while (cut > full_path) {
		if (errno != ENOENT && errno != ENOTDIR) {
			(void)fail_errno(err, "%s", text_quote(path));
			return NULL;
		}
		while (cut > full_path && *--cut != '/')
			;
		if (cut == full_path)
			break;
		*cut = '\0';
		real = realpath(full_path, NULL);
		*cut = '/';
		if (real)
			return append_normalized(real, cut + 1);
	}
	return append_normalized(mem_strdup("/"), full_path);
}

char *path_resolve_parent(const char *path, struct err *err)
{
	auto_free char *full_path = make_absolute(path, err);
	auto_free char *parent = NULL;
	const char *name;
	char *slash;
	size_t len;

	if (!full_path)
		return NULL;
	len = strlen(full_path);
	while (len > 1 && full_path[len - 1] == '/')
		full_path[--len] = '\0';
	slash = strrchr(full_path, '/');
	name = slash + 1;
	if (!path_name_ok(name, strlen(name)))
		return path_resolve(path, err);
	*slash = '\0';
	parent = path_resolve(full_path[0] ? full_path : "/", err);
	return parent ? path_join(parent, name) : NULL;
}
