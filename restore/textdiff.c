#include "restore/textdiff.h"

#include <errno.h>
#include <git2.h>
#include <limits.h>
#include <pthread.h>

#include "base/auto.h"

static int ready;

/* No file of the machine or of the user takes part: every search path is
 * emptied before anything else is asked of the library. */
static void start(void)
{
	static const int levels[] = {
		GIT_CONFIG_LEVEL_PROGRAMDATA,
		GIT_CONFIG_LEVEL_SYSTEM,
		GIT_CONFIG_LEVEL_XDG,
		GIT_CONFIG_LEVEL_GLOBAL,
	};
	size_t i;

	if (git_libgit2_init() < 0)
		return;
	for (i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") <
		    0)
			return;
	ready = 1;
}

static int git_failed(struct err *err)
{
	const git_error *e = git_error_last();

	return fail(err, EIO, "compare texts: %s",
		    e && e->message ? e->message : "libgit2 gives no reason");
}

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

static int each_hunk(git_patch *patch, size_t hunk,
		     int (*each)(void *arg, const struct textdiff_line *line),
		     void *arg, struct err *err)
{
	const git_diff_hunk *head;
	size_t lines, i;
	int got;

	if (git_patch_get_hunk(&head, &lines, patch, hunk) < 0)
		return git_failed(err);
	got = each(arg, &(struct textdiff_line){.kind = '@',
						.text = head->header,
						.len = head->header_len});
	for (i = 0; got >= 0 && i < lines; i++) {
		const git_diff_line *line;

		if (git_patch_get_line_in_hunk(&line, patch, hunk, i) < 0)
			return git_failed(err);
		got = each(arg,
			   &(struct textdiff_line){.kind = line_kind(line),
						   .text = line->content,
						   .len = line->content_len});
	}
	return got < 0 ? fail(err, -got, "the difference was not taken") : 0;
}

static int each_line(git_patch *patch,
		     int (*each)(void *arg, const struct textdiff_line *line),
		     void *arg, struct err *err)
{
	size_t hunks = git_patch_num_hunks(patch), i;

	for (i = 0; i < hunks; i++)
		if (each_hunk(patch, i, each, arg, err) < 0)
			return -err->num;
	return 0;
}

int textdiff(const void *old, size_t old_len, const void *now, size_t now_len,
	     int context_lines,
	     int (*each)(void *arg, const struct textdiff_line *line),
	     void *arg, size_t *ret_added, size_t *ret_removed,
	     bool *ret_binary, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	size_t added = 0, removed = 0;
	git_patch *patch = NULL;
	bool binary;
	int got = 0;

	(void)pthread_once(&once, start);
	if (!ready)
		return fail(err, EIO, "libgit2 cannot be started");
	options.context_lines = context_lines > 0 ? (unsigned)context_lines : 0;
	if (git_patch_from_buffers(&patch, old, old_len, NULL, now, now_len,
				   NULL, &options) < 0)
		return git_failed(err);
	binary = git_patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY;
	if (!binary && git_patch_line_stats(NULL, &added, &removed, patch) < 0)
		got = git_failed(err);
	if (got == 0 && !binary && each)
		got = each_line(patch, each, arg, err);
	git_patch_free(patch);
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
