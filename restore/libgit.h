/*
 * libgit2, loaded when it is first needed.
 *
 * It brings some fifteen libraries with it (TLS, SSH, Kerberos...), and
 * linking them takes as long as all that a run needs to start; most verbs
 * never compare a text. The library that this was built against is loaded by
 * its soname, which names its ABI.
 *
 * Started with every search path emptied: no file of the machine, the user or
 * a tree takes part in what it does.
 */
#ifndef GUARD_RESTORE_LIBGIT_H
#define GUARD_RESTORE_LIBGIT_H

#include <git2.h>

#include "base/err.h"

struct libgit {
	__typeof__(git_libgit2_init) *libgit2_init;
	__typeof__(git_libgit2_opts) *libgit2_opts;
	__typeof__(git_error_last) *error_last;
	__typeof__(git_merge_file) *merge_file;
	__typeof__(git_merge_file_result_free) *merge_file_result_free;
	__typeof__(git_patch_from_buffers) *patch_from_buffers;
	__typeof__(git_patch_free) *patch_free;
	__typeof__(git_patch_get_delta) *patch_get_delta;
	__typeof__(git_patch_get_hunk) *patch_get_hunk;
	__typeof__(git_patch_get_line_in_hunk) *patch_get_line_in_hunk;
	__typeof__(git_patch_line_stats) *patch_line_stats;
	__typeof__(git_patch_num_hunks) *patch_num_hunks;
};

/* 0 and its calls, valid for good; -ENOENT or -EIO: it cannot be loaded. */
int libgit_load(const struct libgit **ret, struct err *err);

#endif
