#include "restore/git/gitclean.h"

#include <stddef.h>
#include <sys/stat.h>

#include "snapshot/store/content.h"

uint32_t gitclean_mode(const struct entry *e)
{
	if (!e || (!S_ISREG(e->mode) && !S_ISLNK(e->mode)))
		return 0;
	if (S_ISLNK(e->mode))
		return GIT_FILEMODE_LINK;
	return e->mode & 0100 ? GIT_FILEMODE_BLOB_EXECUTABLE
			      : GIT_FILEMODE_BLOB;
}

int gitclean_read(struct store *store, const struct entry *e, struct buf *to,
		  struct err *err)
{
	if (e && S_ISLNK(e->mode))
		buf_add_text(to, e->link);
	else if (e && S_ISREG(e->mode))
		return content_append(store, &e->content, to, err);
	return 0;
}

void gitclean_drop_returns(struct buf *bytes)
{
	size_t kept = 0, i;

	for (i = 0; i < bytes->len; i++)
		if (bytes->data[i] != '\r' || i + 1 == bytes->len ||
		    bytes->data[i + 1] != '\n')
			bytes->data[kept++] = bytes->data[i];
	bytes->len = kept;
}

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

	for (i = 0; i < ARRAY_SIZE(names); i++)
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
		return libgit_failed("convert the line endings of a file", err);
	if (!list)
		return 0;
	if (git->filter_list_apply_to_buffer(
		    &made, list, (const char *)bytes->data, bytes->len) < 0) {
		git->filter_list_free(list);
		return libgit_failed("convert the line endings of a file", err);
	}
	git->filter_list_free(list);
	bytes->len = 0;
	buf_add(bytes, made.ptr, made.size);
	git->buf_dispose(&made);
	return 0;
}
