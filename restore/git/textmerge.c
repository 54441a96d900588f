#include "restore/git/textmerge.h"

#include <string.h>

#include "restore/git/libgit.h"

bool textmerge_is_text(const struct buf *text)
{
	return text->len <= TEXTMERGE_MAX &&
	       (!text->len || !memchr(text->data, '\0', text->len));
}

static git_merge_file_input input_of(const struct buf *text)
{
	git_merge_file_input in = GIT_MERGE_FILE_INPUT_INIT;

	/* NULL would mean that the side does not exist. */
	in.ptr = text->len ? (const char *)text->data : "";
	in.size = text->len;
	return in;
}

int textmerge(const struct textmerge_sides *sides, struct buf *ret,
	      struct err *err)
{
	git_merge_file_options options = GIT_MERGE_FILE_OPTIONS_INIT;
	git_merge_file_input base = {0}, ours = input_of(sides->ours),
			     theirs = input_of(sides->theirs);
	git_merge_file_result merged = {0};
	const struct libgit *git;
	bool clean;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	if (sides->base)
		base = input_of(sides->base);
	options.our_label = sides->our_label;
	options.their_label = sides->their_label;
	if (git->merge_file(&merged, sides->base ? &base : NULL, &ours, &theirs,
			    &options) < 0)
		return libgit_failed("merge texts", err);
	clean = merged.automergeable;
	buf_add(ret, merged.ptr, merged.len);
	git->merge_file_result_free(&merged);
	return clean;
}
