#include "restore/git/textdiff.h"

#include "restore/git/libgit.h"

static char line_kind(const git_diff_line *line)
{
	switch (line->origin) {
	case GIT_DIFF_LINE_CONTEXT_EOFNL:
	case GIT_DIFF_LINE_ADD_EOFNL:
	case GIT_DIFF_LINE_DEL_EOFNL:
		return '\\';
	default:
		return line->origin;
	}
}

static int
pass_hunk_header(const struct libgit *git, git_patch *patch, size_t hunk,
		 int (*each)(void *arg, const struct textdiff_line *line),
		 void *arg, struct err *err)
{
	const git_diff_hunk *head;
	size_t lines, i;
	int got;

	if (git->patch_get_hunk(&head, &lines, patch, hunk) < 0)
		return libgit_failed("compare texts", err);
	got = each(arg, &(struct textdiff_line){.kind = '@',
						.text = head->header,
						.len = head->header_len});
	for (i = 0; got >= 0 && i < lines; i++) {
		const git_diff_line *line;

		if (git->patch_get_line_in_hunk(&line, patch, hunk, i) < 0)
			return libgit_failed("compare texts", err);
		got = each(arg,
			   &(struct textdiff_line){.kind = line_kind(line),
						   .text = line->content,
						   .len = line->content_len});
	}
	return got < 0 ? fail(err, -got, "the difference was not taken") : 0;
}

static int pass_diff_line(const struct libgit *git, git_patch *patch,
			  int (*each)(void *arg,
				      const struct textdiff_line *line),
			  void *arg, struct err *err)
{
	size_t hunks = git->patch_num_hunks(patch), i;

	for (i = 0; i < hunks; i++)
		if (pass_hunk_header(git, patch, i, each, arg, err) < 0)
			return -err->num;
	return 0;
}

int textdiff(const void *old, size_t old_len, const void *now, size_t now_len,
	     int context_lines,
	     int (*each)(void *arg, const struct textdiff_line *line),
	     void *arg, size_t *ret_added, size_t *ret_removed,
	     bool *ret_binary, struct err *err)
{
	const struct libgit *git;
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	size_t added = 0, removed = 0;
	git_patch *patch = NULL;
	bool binary;
	int got = 0;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	options.context_lines = context_lines > 0 ? (unsigned)context_lines : 0;
	if (git->patch_from_buffers(&patch, old, old_len, NULL, now, now_len,
				    NULL, &options) < 0)
		return libgit_failed("compare texts", err);
	binary = git->patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY;
	if (!binary && git->patch_line_stats(NULL, &added, &removed, patch) < 0)
		got = libgit_failed("compare texts", err);
	if (got == 0 && !binary && each)
		got = pass_diff_line(git, patch, each, arg, err);
	git->patch_free(patch);
	if (got < 0)
		return got;
	if (ret_added)
		*ret_added = added;
	if (ret_removed)
		*ret_removed = removed;
	if (ret_binary)
		*ret_binary = binary;
	return 0;
}
