#include "restore/git/gitdir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"

#define TEXT_MAX 8192
#define PACKED_MAX (64u << 20)
#define PREFIX "gitdir: "

void gitdir_free(struct gitdir *d)
{
	free(d->own);
	free(d->common);
	free(d->objects);
	*d = (struct gitdir){0};
}

/* Reads a plain file without the ends of lines behind its text. */
static bool read_text(const char *dir, const char *file, size_t max,
		      struct buf *ret)
{
	auto_free char *path = path_join(dir, file);
	struct err ignored;
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_slurp_at(AT_FDCWD, path, max, ret, &ignored) < 0)
		return false;
	while (ret->len && (ret->data[ret->len - 1] == '\n' ||
			    ret->data[ret->len - 1] == '\r'))
		ret->len--;
	return strlen(buf_text(ret)) == ret->len;
}

/* The path in a file of one line, resolved relative to its directory; NULL:
 * none. */
static char *read_path_file(const char *dir, const char *file,
			    const char *prefix)
{
	AUTO(buf) struct buf text = {0};
	auto_free char *joined = NULL;
	const char *path;
	struct err ignored;

	if (!read_text(dir, file, TEXT_MAX, &text))
		return NULL;
	path = buf_text(&text);
	if (strncmp(path, prefix, strlen(prefix)) != 0)
		return NULL;
	path += strlen(prefix);
	joined = *path == '/' ? mem_strdup(path)
			      : mem_printf("%s/%s", dir, path);
	return path_resolve(joined, &ignored);
}

bool gitdir_find(const char *project, struct gitdir *ret)
{
	auto_free char *git = path_join(project, ".git");
	AUTO(gitdir) struct gitdir d = {0};
	auto_free char *objects = NULL;
	struct err ignored;
	struct stat st;

	d.own = read_path_file(project, ".git", PREFIX);
	if (!d.own)
		d.own = path_resolve(git, &ignored);
	if (!d.own || stat(d.own, &st) < 0 || !S_ISDIR(st.st_mode))
		return false;
	d.common = read_path_file(d.own, "commondir", "");
	if (!d.common)
		d.common = mem_strdup(d.own);
	objects = path_join(d.common, "objects");
	if (lstat(objects, &st) == 0 && S_ISLNK(st.st_mode))
		d.objects = path_resolve(objects, &ignored);
	*ret = TAKE(d);
	return true;
}

bool gitdir_head(const struct gitdir *d, struct githead *ret)
{
	AUTO(buf) struct buf head = {0}, ref = {0}, packed = {0};
	auto_free char *wanted = NULL;
	const char *branch, *at;

	*ret = (struct githead){0};
	if (!d->own || !read_text(d->own, "HEAD", TEXT_MAX, &head))
		return false;
	if (strncmp(buf_text(&head), "ref:", 4) != 0)
		return gittips_read_id(buf_text(&head), &ret->id);
	branch = buf_text(&head) + 4;
	branch += strspn(branch, " \t");
	ret->branch = mem_strdup(branch);
	if (read_text(d->common, branch, TEXT_MAX, &ref)) {
		(void)gittips_read_id(buf_text(&ref), &ret->id);
		return true;
	}
	wanted = mem_printf(" %s\n", branch);
	(void)read_text(d->common, "packed-refs", PACKED_MAX, &packed);
	buf_add_char(&packed, '\n');
	at = strstr(buf_text(&packed), wanted);
	if (at && at - buf_text(&packed) >= GITID_HEX)
		(void)gittips_read_id(at - GITID_HEX, &ret->id);
	return true;
}

char *gitdir_below(const char *project)
{
	AUTO(gitdir) struct gitdir d = {0};
	const char *path =
		gitdir_find(project, &d) && path_below(d.common, project)
			? path_rest(d.common, project)
			: "";

	return *path && strcmp(path, ".git") != 0 ? mem_strdup(path) : NULL;
}

bool gitdir_is_bare(const char *git)
{
	AUTO(buf) struct buf config = {0};

	(void)read_text(git, "config", PACKED_MAX, &config);
	(void)read_text(git, "config.worktree", PACKED_MAX, &config);
	return strstr(buf_text(&config), "bare = true") != NULL;
}

bool gitdir_has_upstream(const struct gitdir *d, const char *branch)
{
	auto_free char *section =
		mem_printf("[branch \"%s\"]", path_rest(branch, "refs/heads"));
	auto_free char *merge = mem_printf("merge = %s\n", branch);
	auto_free char *text = NULL;
	AUTO(buf) struct buf config = {0};
	const char *at;

	if (!read_text(d->common, "config", PACKED_MAX, &config))
		return false;
	buf_add_char(&config, '\n');
	at = strstr(buf_text(&config), section);
	text = at ? mem_strndup(at, 1 + strcspn(at + 1, "[")) : mem_strdup("");
	return strstr(text, merge) && !strstr(text, "remote = .\n");
}
