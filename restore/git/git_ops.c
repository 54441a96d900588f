#include "restore/git/git_ops.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/vec.h"
#include "restore/git/libgit.h"

void git_ops_load(void)
{
	const struct libgit *git;
	struct err ignored;

	(void)libgit_load(&git, &ignored);
}

/* --- difference --- */

/* Without lines of a side git's number is that of the line before. */
static uint64_t lines_before(int start, int count)
{
	return (uint64_t)(start - (count > 0));
}

static int kind_of(char origin)
{
	return origin == GIT_DIFF_LINE_CONTEXT	  ? DIFF_CONTEXT
	       : origin == GIT_DIFF_LINE_ADDITION ? DIFF_ADDED
	       : origin == GIT_DIFF_LINE_DELETION ? DIFF_DELETED
						  : -1;
}

/* Lines of one kind that follow each other become one number. */
static int add_runs(const struct libgit *git, git_patch *patch, size_t hunk,
		    size_t lines, struct buf *to, struct err *err)
{
	AUTO(buf) struct buf runs = {0};
	const git_diff_line *line;
	uint64_t count = 0, length = 0;
	int kind, last = -1;
	size_t i;

	for (i = 0; i < lines; i++) {
		if (git->patch_get_line_in_hunk(&line, patch, hunk, i) < 0)
			return libgit_failed("compare texts", err);
		kind = kind_of(line->origin);
		/* A note on the missing end of a last line. */
		if (kind < 0)
			continue;
		if (length && kind != last) {
			enc_var(&runs, length << 2 | (unsigned)last);
			count++;
			length = 0;
		}
		last = kind;
		length++;
	}
	if (length) {
		enc_var(&runs, length << 2 | (unsigned)last);
		count++;
	}
	enc_var(to, count);
	buf_add(to, runs.data, runs.len);
	return 0;
}

/* "@@ -1,2 +3,4 @@ function\n": only the text behind the numbers. */
static void add_header_text(const git_diff_hunk *head, struct buf *to)
{
	const char *end = head->header + head->header_len;
	const char *at = head->header_len > 2
				 ? memmem(head->header + 2,
					  head->header_len - 2, "@@", 2)
				 : NULL;

	at = at ? at + 2 : end;
	while (end > at && end[-1] == '\n')
		end--;
	enc_bytes(to, at, (size_t)(end - at));
}

static int add_hunk(const struct libgit *git, git_patch *patch, size_t hunk,
		    struct buf *to, struct err *err)
{
	const git_diff_hunk *head;
	size_t lines;

	if (git->patch_get_hunk(&head, &lines, patch, hunk) < 0)
		return libgit_failed("compare texts", err);
	enc_var(to, lines_before(head->old_start, head->old_lines));
	enc_var(to, (uint64_t)head->old_lines);
	enc_var(to, lines_before(head->new_start, head->new_lines));
	enc_var(to, (uint64_t)head->new_lines);
	add_header_text(head, to);
	return add_runs(git, patch, hunk, lines, to, err);
}

int git_ops_diff(const struct parse_text *in, struct buf *ret, struct err *err)
{
	const struct libgit *git;
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	struct dec given = dec_start(in[2].data, in[2].len);
	git_patch *patch = NULL;
	size_t i, count;
	int got = 0;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	options.context_lines = dec_u32(&given);
	/* guard has decided that these are texts, of which it may send a part.
	 */
	options.flags |= GIT_DIFF_FORCE_TEXT;
	if (git->patch_from_buffers(&patch, in[0].data, in[0].len, NULL,
				    in[1].data, in[1].len, NULL, &options) < 0)
		return libgit_failed("compare texts", err);
	if (git->patch_get_delta(patch)->flags & GIT_DIFF_FLAG_BINARY) {
		enc_u8(ret, 1);
	} else {
		count = git->patch_num_hunks(patch);
		enc_u8(ret, 0);
		enc_u32(ret, (uint32_t)count);
		for (i = 0; got == 0 && i < count; i++)
			got = add_hunk(git, patch, i, ret, err);
	}
	git->patch_free(patch);
	return got;
}

/* --- merge --- */

static git_merge_file_input merge_input(const struct parse_text *text)
{
	git_merge_file_input in = GIT_MERGE_FILE_INPUT_INIT;

	/* NULL would mean that the side does not exist. */
	in.ptr = text->len ? text->data : "";
	in.size = text->len;
	return in;
}

int git_ops_merge(const struct parse_text *in, struct buf *ret, struct err *err)
{
	git_merge_file_options options = GIT_MERGE_FILE_OPTIONS_INIT;
	git_merge_file_input base = merge_input(&in[0]),
			     ours = merge_input(&in[1]),
			     theirs = merge_input(&in[2]);
	struct dec labels = dec_start(in[3].data, in[3].len);
	auto_free char *our_label = dec_text(&labels);
	auto_free char *their_label = dec_text(&labels);
	uint64_t marker = dec_var(&labels);
	git_merge_file_result merged = {0};
	const struct libgit *git;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	options.our_label = our_label;
	options.their_label = their_label;
	options.marker_size = (unsigned short)marker;
	if (marker)
		options.flags = GIT_MERGE_FILE_STYLE_DIFF3;
	if (git->merge_file(&merged, in[0].data ? &base : NULL, &ours, &theirs,
			    &options) < 0)
		return libgit_failed("merge texts", err);
	enc_u8(ret, merged.automergeable != 0);
	buf_add(ret, merged.ptr, merged.len);
	git->merge_file_result_free(&merged);
	return 0;
}

/* --- binary patch --- */

int git_ops_binary(const struct parse_text *in, struct buf *ret,
		   struct err *err)
{
	static const char mark[] = "\nGIT binary patch\n";
	git_diff_options options = GIT_DIFF_OPTIONS_INIT;
	const struct libgit *git;
	git_patch *patch = NULL;
	git_buf text = {0};
	const char *body;
	int got;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	options.flags = GIT_DIFF_SHOW_BINARY | GIT_DIFF_FORCE_BINARY;
	options.id_abbrev = GIT_OID_HEXSZ;
	got = git->patch_from_buffers(
		&patch, in[0].data, in[0].len, in[0].data ? "x" : NULL,
		in[1].data, in[1].len, in[1].data ? "x" : NULL, &options);
	if (got == 0)
		got = git->patch_to_buf(&text, patch);
	if (got < 0)
		(void)libgit_failed("create a patch", err);
	body = got == 0 && text.size ? strstr(text.ptr, mark) : NULL;
	if (body)
		buf_add(ret, body + 1,
			text.size - (size_t)(body + 1 - text.ptr));
	git->buf_dispose(&text);
	git->patch_free(patch);
	return got < 0 ? -err->num : 0;
}

/* --- similarity --- */

/* A fingerprint by libgit2's measure, as in `git diff -M`: about 1 KB,
 * whatever the text's size. NULL: the text is too short. */
static git_hashsig *sign_text(const struct libgit *git,
			      const struct parse_text *text)
{
	git_hashsig *ret = NULL;

	return git->hashsig_create(&ret, text->len ? text->data : "", text->len,
				   GIT_HASHSIG_SMART_WHITESPACE) < 0
		       ? NULL
		       : ret;
}

/* 100 means the same bytes. */
static uint8_t compare_signatures(const struct libgit *git,
				  const git_hashsig *a, const git_hashsig *b)
{
	int percent = a && b ? git->hashsig_compare(a, b) : 0;

	return (uint8_t)(percent < 0 ? 0 : percent > 99 ? 99 : percent);
}

static void free_signature(const struct libgit *git, git_hashsig *sig)
{
	if (sig)
		git->hashsig_free(sig);
}

int git_ops_similar(const struct parse_text *in, struct buf *ret,
		    struct err *err)
{
	const struct libgit *git;
	git_hashsig *a, *b;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	a = sign_text(git, &in[0]);
	b = a ? sign_text(git, &in[1]) : NULL;
	enc_u8(ret, compare_signatures(git, a, b));
	free_signature(git, a);
	free_signature(git, b);
	return 0;
}

/* Of the texts of one search. */
static VEC(git_hashsig *) signatures;

int git_ops_sign(const struct parse_text *in, struct buf *ret, struct err *err)
{
	struct dec number = dec_start(in[1].data, in[1].len);
	const struct libgit *git;
	git_hashsig *sig;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	if (dec_u32(&number) == 0)
		while (signatures.count)
			free_signature(git,
				       signatures.items[--signatures.count]);
	sig = sign_text(git, &in[0]);
	enc_u32(ret, (uint32_t)signatures.count);
	enc_u8(ret, sig != NULL);
	*VEC_ADD(&signatures) = sig;
	return 0;
}

int git_ops_compare(const struct parse_text *in, struct buf *ret,
		    struct err *err)
{
	struct dec pairs = dec_start(in[0].data, in[0].len);
	const struct libgit *git;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	while (pairs.at < pairs.end && !pairs.bad) {
		uint32_t a = dec_u32(&pairs), b = dec_u32(&pairs);

		if (a >= signatures.count || b >= signatures.count)
			return fail(err, EINVAL, "no such signature");
		enc_u8(ret, compare_signatures(git, signatures.items[a],
					       signatures.items[b]));
	}
	return 0;
}
