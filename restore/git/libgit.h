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
#include "base/mem.h"
#include "restore/git/gittips.h"

/* The functions of libgit2 that guard calls, without their git_. */
#define LIBGIT_CALLS(CALL)                                                     \
	CALL(libgit2_init)                                                     \
	CALL(libgit2_opts)                                                     \
	CALL(attr_get)                                                         \
	CALL(attr_value)                                                       \
	CALL(blob_create_from_buffer)                                          \
	CALL(blob_free)                                                        \
	CALL(blob_lookup)                                                      \
	CALL(blob_rawcontent)                                                  \
	CALL(blob_rawsize)                                                     \
	CALL(branch_is_checked_out)                                            \
	CALL(branch_name_is_valid)                                             \
	CALL(buf_dispose)                                                      \
	CALL(commit_create)                                                    \
	CALL(commit_free)                                                      \
	CALL(commit_id)                                                        \
	CALL(commit_lookup)                                                    \
	CALL(commit_tree)                                                      \
	CALL(config_free)                                                      \
	CALL(config_get_string_buf)                                            \
	CALL(config_open_ondisk)                                               \
	CALL(error_last)                                                       \
	CALL(filter_list_apply_to_buffer)                                      \
	CALL(filter_list_free)                                                 \
	CALL(filter_list_load)                                                 \
	CALL(graph_descendant_of)                                              \
	CALL(hashsig_compare)                                                  \
	CALL(hashsig_create)                                                   \
	CALL(hashsig_free)                                                     \
	CALL(ignore_path_is_ignored)                                           \
	CALL(index_add)                                                        \
	CALL(index_find_prefix)                                                \
	CALL(index_free)                                                       \
	CALL(index_get_bypath)                                                 \
	CALL(index_new)                                                        \
	CALL(index_remove_bypath)                                              \
	CALL(index_write)                                                      \
	CALL(merge_file)                                                       \
	CALL(merge_file_result_free)                                           \
	CALL(mempack_new)                                                      \
	CALL(odb_add_backend)                                                  \
	CALL(odb_free)                                                         \
	CALL(odb_exists)                                                       \
	CALL(odb_hash)                                                         \
	CALL(odb_hashfile)                                                     \
	CALL(odb_read_header)                                                  \
	CALL(oid_fromstr)                                                      \
	CALL(oid_tostr)                                                        \
	CALL(patch_free)                                                       \
	CALL(patch_from_buffers)                                               \
	CALL(patch_get_delta)                                                  \
	CALL(patch_get_hunk)                                                   \
	CALL(patch_get_line_in_hunk)                                           \
	CALL(patch_num_hunks)                                                  \
	CALL(patch_to_buf)                                                     \
	CALL(reference_create_matching)                                        \
	CALL(reference_free)                                                   \
	CALL(reference_iterator_free)                                          \
	CALL(reference_iterator_new)                                           \
	CALL(reference_lookup)                                                 \
	CALL(reference_name)                                                   \
	CALL(reference_name_to_id)                                             \
	CALL(reference_next)                                                   \
	CALL(reference_symbolic_target)                                        \
	CALL(reference_target)                                                 \
	CALL(repository_commondir)                                             \
	CALL(repository_config_snapshot)                                       \
	CALL(repository_free)                                                  \
	CALL(repository_index)                                                 \
	CALL(repository_odb)                                                   \
	CALL(repository_open_ext)                                              \
	CALL(repository_path)                                                  \
	CALL(repository_set_index)                                             \
	CALL(repository_state)                                                 \
	CALL(repository_workdir)                                               \
	CALL(revwalk_free)                                                     \
	CALL(revwalk_hide)                                                     \
	CALL(revwalk_new)                                                      \
	CALL(revwalk_next)                                                     \
	CALL(revwalk_push)                                                     \
	CALL(signature_free)                                                   \
	CALL(signature_now)                                                    \
	CALL(tree_create_updated)                                              \
	CALL(tree_entry_bypath)                                                \
	CALL(tree_entry_filemode)                                              \
	CALL(tree_entry_free)                                                  \
	CALL(tree_entry_id)                                                    \
	CALL(tree_free)                                                        \
	CALL(tree_id)                                                          \
	CALL(tree_lookup)

struct libgit {
#define MEMBER(name) __typeof__(git_##name) *name;
	LIBGIT_CALLS(MEMBER)
#undef MEMBER
};

/* 0 and the functions, valid until the process ends; -ENOPKG: the library
 * cannot be loaded; -EIO: it failed. */
int libgit_load(const struct libgit **ret, struct err *err);

/* Repositories opened after this call belong to the user: settings, attributes
 * and ignore rules below home and in /etc count, as for git. NULL: none count.
 * For the whole process. */
void libgit_home(const struct libgit *git, const char *home);

/* A setting of the user's as text, to free; NULL: it is not set. As in git, the
 * variable of the environment comes before the configuration. */
char *libgit_setting(const struct libgit *git, git_repository *repo,
		     const char *variable, const char *name);

/* git_repository_open_ext(): 1; 0: there is no repository; -EIO. */
int libgit_open(const struct libgit *git, const char *path, unsigned int flags,
		git_repository **ret, struct err *err);

/* Calls each() with every ref, and then with "HEAD". Stops at a result other
 * than 0 and returns it. */
int libgit_each_ref(const struct libgit *git, git_repository *repo,
		    gitid_each_ref *each, void *arg, struct err *err);

/* Moves a ref from an id to another one and logs the message; from NULL: the
 * ref must be new. 0, or libgit2's number, as GIT_EEXISTS, GIT_EMODIFIED. */
int libgit_move_ref(const struct libgit *git, git_repository *repo,
		    const char *name, const git_oid *from, const git_oid *to,
		    const char *message);

/* The mode of a path in a tree, and its id; 0: there is none. A tree of NULL is
 * empty. */
uint32_t libgit_find(const struct libgit *git, const git_tree *tree,
		     const char *path, git_oid *ret);

/* Appends the bytes of a blob; a negative number of libgit2: it cannot be
 * read. */
int libgit_read_blob(const struct libgit *git, git_repository *repo,
		     const git_oid *id, struct buf *to);

/* -EIO with `what` and libgit2's reason, escaped because it may hold names of
 * the run. */
int libgit_failed(const char *what, struct err *err);
/* -EIO with the special file that libgit2 was last refused in this thread
 * (base/library_open.h); 0: none was. */
int libgit_refused(struct err *err);

#endif
