#include "restore/git/gitclean.h"

#include <stddef.h>

/* Attributes may come from the index; without an index there are none. */
bool gitclean_begin(const struct libgit *git, git_repository *repo)
{
	git_index *index = NULL;
	bool read = git->repository_index(&index, repo) == 0;

	if (!read && git->index_new(&index) == 0)
		(void)git->repository_set_index(repo, index);
	git->index_free(index);
	return read;
}

bool gitclean_by_program(const struct libgit *git, git_repository *repo,
			 const char *path)
{
	static const char *const names[] = {"filter", "working-tree-encoding"};
	const char *value;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (git->attr_get(&value, repo, GIT_ATTR_CHECK_FILE_THEN_INDEX,
				  path, names[i]) == 0 &&
		    git->attr_value(value) == GIT_ATTR_VALUE_STRING)
			return true;
	return false;
}

int gitclean_bytes(const struct libgit *git, git_repository *repo,
		   const char *path, struct buf *bytes, struct err *err)
{
	git_filter_list *list = NULL;
	git_buf made = GIT_BUF_INIT;

	if (!bytes->len)
		return 0;
	if (git->filter_list_load(&list, repo, NULL, path, GIT_FILTER_TO_ODB,
				  GIT_FILTER_ALLOW_UNSAFE) < 0)
		return libgit_failed("the line ends of a file", err);
	if (!list)
		return 0;
	if (git->filter_list_apply_to_buffer(
		    &made, list, (const char *)bytes->data, bytes->len) < 0) {
		git->filter_list_free(list);
		return libgit_failed("the line ends of a file", err);
	}
	git->filter_list_free(list);
	bytes->len = 0;
	buf_add(bytes, made.ptr, made.size);
	git->buf_dispose(&made);
	return 0;
}
