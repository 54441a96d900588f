#include "overlay/gitdir.h"

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

#define TEXT_MAX 8192
#define PREFIX "gitdir: "

/* The path in a file of one line, resolved relative to base_dir; NULL: none. */
static char *read_path_file(int dirfd, const char *file, const char *prefix,
			    const char *base_dir)
{
	AUTO(buf) struct buf text = {0};
	auto_free char *joined = NULL;
	const char *path;
	struct err ignored;
	struct stat st;

	if (fstatat(dirfd, file, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) ||
	    fd_slurp_at(dirfd, file, TEXT_MAX, &text, &ignored) < 0)
		return NULL;
	while (text.len && (text.data[text.len - 1] == '\n' ||
			    text.data[text.len - 1] == '\r'))
		text.len--;
	path = buf_text(&text);
	if (strlen(path) != text.len ||
	    strncmp(path, prefix, strlen(prefix)) != 0)
		return NULL;
	path += strlen(prefix);
	joined = *path == '/' ? mem_strdup(path)
			      : mem_printf("%s/%s", base_dir, path);
	return path_resolve(joined, &ignored);
}

/* Whether path has the form of a repository: the text of a file could name any
 * directory. */
static bool is_repository(const char *path)
{
	auto_close int fd = fd_open_dir_path(AT_FDCWD, path);
	struct stat self, objects, refs, head;

	return fd >= 0 && fstat(fd, &self) == 0 && self.st_uid == geteuid() &&
	       fstatat(fd, "objects", &objects, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(objects.st_mode) &&
	       fstatat(fd, "refs", &refs, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(refs.st_mode) &&
	       fstatat(fd, "HEAD", &head, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(head.st_mode);
}

char *gitdir_outside(int project_fd, const char *project)
{
	auto_free char *git =
		read_path_file(project_fd, ".git", PREFIX, project);
	auto_free char *common = NULL;
	auto_close int fd = -1;

	if (!git)
		return NULL;
	fd = fd_open_dir_path(AT_FDCWD, git);
	if (fd >= 0)
		common = read_path_file(fd, "commondir", "", git);
	if (!common)
		common = mem_strdup(git);
	if (!is_repository(common) || path_below(common, project) ||
	    path_below(project, common))
		return NULL;
	return TAKE(common);
}
