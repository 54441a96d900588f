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
	__typeof__(git_buf_dispose) *buf_dispose;
	__typeof__(git_error_last) *error_last;
	__typeof__(git_merge_file) *merge_file;
	__typeof__(git_merge_file_result_free) *merge_file_result_free;
	__typeof__(git_odb_exists_ext) *odb_exists_ext;
	__typeof__(git_odb_free) *odb_free;
	__typeof__(git_odb_object_data) *odb_object_data;
	__typeof__(git_odb_object_free) *odb_object_free;
	__typeof__(git_odb_object_size) *odb_object_size;
	__typeof__(git_odb_object_type) *odb_object_type;
	__typeof__(git_odb_read) *odb_read;
	__typeof__(git_odb_read_header) *odb_read_header;
	__typeof__(git_odb_refresh) *odb_refresh;
	__typeof__(git_packbuilder_free) *packbuilder_free;
	__typeof__(git_packbuilder_insert) *packbuilder_insert;
	__typeof__(git_packbuilder_new) *packbuilder_new;
	__typeof__(git_packbuilder_write) *packbuilder_write;
	__typeof__(git_patch_from_buffers) *patch_from_buffers;
	__typeof__(git_patch_free) *patch_free;
	__typeof__(git_patch_get_delta) *patch_get_delta;
	__typeof__(git_patch_get_hunk) *patch_get_hunk;
	__typeof__(git_patch_get_line_in_hunk) *patch_get_line_in_hunk;
	__typeof__(git_patch_line_stats) *patch_line_stats;
	__typeof__(git_patch_num_hunks) *patch_num_hunks;
	__typeof__(git_patch_to_buf) *patch_to_buf;
	__typeof__(git_reference_create) *reference_create;
	__typeof__(git_reference_free) *reference_free;
	__typeof__(git_reference_iterator_free) *reference_iterator_free;
	__typeof__(git_reference_iterator_glob_new)
		*reference_iterator_glob_new;
	__typeof__(git_reference_iterator_new) *reference_iterator_new;
	__typeof__(git_reference_next) *reference_next;
	__typeof__(git_reference_next_name) *reference_next_name;
	__typeof__(git_reference_target) *reference_target;
	__typeof__(git_repository_free) *repository_free;
	__typeof__(git_repository_odb) *repository_odb;
	__typeof__(git_repository_open_ext) *repository_open_ext;
	__typeof__(git_revwalk_free) *revwalk_free;
	__typeof__(git_revwalk_hide) *revwalk_hide;
	__typeof__(git_revwalk_new) *revwalk_new;
	__typeof__(git_revwalk_next) *revwalk_next;
	__typeof__(git_revwalk_push) *revwalk_push;
};

/* 0 and its calls, valid for good; -ENOENT or -EIO: it cannot be loaded. */
int libgit_load(const struct libgit **ret, struct err *err);

#endif
