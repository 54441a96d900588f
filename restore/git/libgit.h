/*
 * libgit2, loaded at its first use.
 *
 * libgit2 depends on about fifteen libraries (TLS, SSH, Kerberos...). Linking
 * them takes as long as the whole start of a run, and most verbs never compare
 * a text. The library of the build is loaded by its soname, which names its
 * ABI.
 *
 * All search paths are emptied at the start: no file of the machine, the user
 * or a tree influences libgit2 until libgit_home() is called.
 */
#ifndef GUARD_RESTORE_GIT_LIBGIT_H
#define GUARD_RESTORE_GIT_LIBGIT_H

#include <git2.h>
#include <git2/sys/hashsig.h>
#include <git2/sys/repository.h>
#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>

#include "base/err.h"

struct libgit {
	__typeof__(git_libgit2_init) *libgit2_init;
	__typeof__(git_libgit2_opts) *libgit2_opts;
	__typeof__(git_attr_get) *attr_get;
	__typeof__(git_attr_value) *attr_value;
	__typeof__(git_blob_create_from_buffer) *blob_create_from_buffer;
	__typeof__(git_blob_free) *blob_free;
	__typeof__(git_blob_lookup) *blob_lookup;
	__typeof__(git_blob_rawcontent) *blob_rawcontent;
	__typeof__(git_blob_rawsize) *blob_rawsize;
	__typeof__(git_branch_is_checked_out) *branch_is_checked_out;
	__typeof__(git_branch_name_is_valid) *branch_name_is_valid;
	__typeof__(git_buf_dispose) *buf_dispose;
	__typeof__(git_commit_create) *commit_create;
	__typeof__(git_commit_free) *commit_free;
	__typeof__(git_commit_id) *commit_id;
	__typeof__(git_commit_lookup) *commit_lookup;
	__typeof__(git_commit_tree) *commit_tree;
	__typeof__(git_config_free) *config_free;
	__typeof__(git_config_get_string_buf) *config_get_string_buf;
	__typeof__(git_error_last) *error_last;
	__typeof__(git_filter_list_apply_to_buffer)
		*filter_list_apply_to_buffer;
	__typeof__(git_filter_list_free) *filter_list_free;
	__typeof__(git_filter_list_load) *filter_list_load;
	__typeof__(git_graph_descendant_of) *graph_descendant_of;
	__typeof__(git_hashsig_compare) *hashsig_compare;
	__typeof__(git_hashsig_create) *hashsig_create;
	__typeof__(git_hashsig_free) *hashsig_free;
	__typeof__(git_ignore_path_is_ignored) *ignore_path_is_ignored;
	__typeof__(git_index_add) *index_add;
	__typeof__(git_index_find_prefix) *index_find_prefix;
	__typeof__(git_index_free) *index_free;
	__typeof__(git_index_get_bypath) *index_get_bypath;
	__typeof__(git_index_new) *index_new;
	__typeof__(git_index_remove_bypath) *index_remove_bypath;
	__typeof__(git_index_write) *index_write;
	__typeof__(git_merge_file) *merge_file;
	__typeof__(git_merge_file_result_free) *merge_file_result_free;
	__typeof__(git_mempack_new) *mempack_new;
	__typeof__(git_odb_add_backend) *odb_add_backend;
	__typeof__(git_odb_free) *odb_free;
	__typeof__(git_oid_fromstr) *oid_fromstr;
	__typeof__(git_oid_tostr) *oid_tostr;
	__typeof__(git_patch_free) *patch_free;
	__typeof__(git_patch_from_buffers) *patch_from_buffers;
	__typeof__(git_patch_get_delta) *patch_get_delta;
	__typeof__(git_patch_get_hunk) *patch_get_hunk;
	__typeof__(git_patch_get_line_in_hunk) *patch_get_line_in_hunk;
	__typeof__(git_patch_line_stats) *patch_line_stats;
	__typeof__(git_patch_num_hunks) *patch_num_hunks;
	__typeof__(git_patch_to_buf) *patch_to_buf;
	__typeof__(git_reference_create) *reference_create;
	__typeof__(git_reference_create_matching) *reference_create_matching;
	__typeof__(git_reference_free) *reference_free;
	__typeof__(git_reference_iterator_free) *reference_iterator_free;
	__typeof__(git_reference_iterator_glob_new)
		*reference_iterator_glob_new;
	__typeof__(git_reference_iterator_new) *reference_iterator_new;
	__typeof__(git_reference_lookup) *reference_lookup;
	__typeof__(git_reference_name_to_id) *reference_name_to_id;
	__typeof__(git_reference_next) *reference_next;
	__typeof__(git_reference_next_name) *reference_next_name;
	__typeof__(git_reference_symbolic_target) *reference_symbolic_target;
	__typeof__(git_reference_target) *reference_target;
	__typeof__(git_repository_config_snapshot) *repository_config_snapshot;
	__typeof__(git_repository_free) *repository_free;
	__typeof__(git_repository_index) *repository_index;
	__typeof__(git_repository_odb) *repository_odb;
	__typeof__(git_repository_open_ext) *repository_open_ext;
	__typeof__(git_repository_set_index) *repository_set_index;
	__typeof__(git_repository_state) *repository_state;
	__typeof__(git_signature_free) *signature_free;
	__typeof__(git_signature_now) *signature_now;
	__typeof__(git_tree_create_updated) *tree_create_updated;
	__typeof__(git_tree_entry_bypath) *tree_entry_bypath;
	__typeof__(git_tree_entry_filemode) *tree_entry_filemode;
	__typeof__(git_tree_entry_free) *tree_entry_free;
	__typeof__(git_tree_entry_id) *tree_entry_id;
	__typeof__(git_tree_free) *tree_free;
	__typeof__(git_tree_id) *tree_id;
	__typeof__(git_tree_lookup) *tree_lookup;
};

/* 0 and the functions, valid until the process ends; -ENOENT or -EIO: the
 * library cannot be loaded. */
int libgit_load(const struct libgit **ret, struct err *err);

/* Repositories opened after this call belong to the user: settings, attributes
 * and ignore rules below home and in /etc count, as for git. NULL: none count.
 * For the whole process. */
void libgit_home(const struct libgit *git, const char *home);

/* -EIO with `what` and libgit2's reason, escaped because it may hold names of
 * the run. */
int libgit_failed(const char *what, struct err *err);

#endif
