#include "restore/git/textdiff.h"

#include "restore/git/libgit.h"

/* Without lines of a side git's number is that of the line before. */
static size_t lines_before(int start, int count)
{
	return (size_t)(start - (count > 0));
}

static int pass_hunk(const struct libgit *git, git_patch *patch, size_t hunk,
		     int (*each)(void *arg, const struct textdiff_line *line),
		     void *arg, struct err *err)
{
	const git_diff_hunk *head;
	const git_diff_line *line;
	struct textdiff_line pass = {.kind = '@'};
	size_t lines, i;
	int got;

	if (git->patch_get_hunk(&head, &lines, patch, hunk) < 0)
		return libgit_failed("compare texts", err);
	pass.text = head->header;
	pass.len = head->header_len;
	pass.old_at = lines_before(head->old_start, head->old_lines);
	pass.new_at = lines_before(head->new_start, head->new_lines);
	got = each(arg, &pass);
	for (i = 0; got >= 0 && i < lines; i++) {
		if (git->patch_get_line_in_hunk(&line, patch, hunk, i) < 0)
			return libgit_failed("compare texts", err);
		pass.kind =
			line->origin == GIT_DIFF_LINE_CONTEXT_EOFNL ||
					line->origin ==
						GIT_DIFF_LINE_ADD_EOFNL ||
					line->origin == GIT_DIFF_LINE_DEL_EOFNL
				? '\\'
				: line->origin;
		pass.text = line->content;
		pass.len = line->content_len;
		got = each(arg, &pass);
	}
	return got < 0 ? fail(err, -got, "the comparison was stopped") : 0;
}

int textdiff(const void *old, size_t old_len, const void *now, size_t now_len,
	     int context_lines,
	     int (*each)(void *arg, const struct textdiff_line *line),
	     void *arg, size_t *ret_added, size_t *ret_removed, struct err *err)
{
	const struct libgit *git;
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	git_patch *patch = NULL;
	size_t i;
	int got = 0;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	options.context_lines = (unsigned)context_lines;
	if (git->patch_from_buffers(&patch, old, old_len, NULL, now, now_len,
				    NULL, &options) < 0)
		return libgit_failed("compare texts", err);
	if (git->patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY)
		got = 1;
	else if (git->patch_line_stats(NULL, ret_added, ret_removed, patch) < 0)
		got = libgit_failed("compare texts", err);
	for (i = 0; got == 0 && each && i < git->patch_num_hunks(patch); i++)
		got = pass_hunk(git, patch, i, each, arg, err);
	git->patch_free(patch);
	return got;
}

int textdiff_available(struct err *err)
{
	const struct libgit *git;

	return libgit_load(&git, err);
}
