#include "restore/git/libgit.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"

#define SONAME "libgit2.so." LIBGIT2_SOVERSION

static struct libgit calls;
static struct err failed; /* num 0: loaded */

static const struct {
	const char *name;
	size_t at;
} symbols[] = {
#define CALL(name)                                                             \
	{                                                                      \
		"git_" #name, offsetof(struct libgit, name)                    \
	}
	CALL(libgit2_init),
	CALL(libgit2_opts),
	CALL(attr_get),
	CALL(attr_value),
	CALL(blob_create_from_buffer),
	CALL(blob_free),
	CALL(blob_lookup),
	CALL(blob_rawcontent),
	CALL(blob_rawsize),
	CALL(branch_is_checked_out),
	CALL(branch_name_is_valid),
	CALL(buf_dispose),
	CALL(commit_create),
	CALL(commit_free),
	CALL(commit_id),
	CALL(commit_lookup),
	CALL(commit_tree),
	CALL(config_free),
	CALL(config_get_string_buf),
	CALL(error_last),
	CALL(filter_list_apply_to_buffer),
	CALL(filter_list_free),
	CALL(filter_list_load),
	CALL(graph_descendant_of),
	CALL(hashsig_compare),
	CALL(hashsig_create),
	CALL(hashsig_free),
	CALL(ignore_path_is_ignored),
	CALL(index_add),
	CALL(index_find_prefix),
	CALL(index_free),
	CALL(index_get_bypath),
	CALL(index_new),
	CALL(index_remove_bypath),
	CALL(index_write),
	CALL(merge_file),
	CALL(merge_file_result_free),
	CALL(mempack_new),
	CALL(odb_add_backend),
	CALL(odb_free),
	CALL(oid_fromstr),
	CALL(oid_tostr),
	CALL(patch_free),
	CALL(patch_from_buffers),
	CALL(patch_get_delta),
	CALL(patch_get_hunk),
	CALL(patch_get_line_in_hunk),
	CALL(patch_line_stats),
	CALL(patch_num_hunks),
	CALL(patch_to_buf),
	CALL(reference_create),
	CALL(reference_create_matching),
	CALL(reference_free),
	CALL(reference_iterator_free),
	CALL(reference_iterator_glob_new),
	CALL(reference_iterator_new),
	CALL(reference_lookup),
	CALL(reference_name_to_id),
	CALL(reference_next),
	CALL(reference_next_name),
	CALL(reference_symbolic_target),
	CALL(reference_target),
	CALL(repository_config_snapshot),
	CALL(repository_free),
	CALL(repository_index),
	CALL(repository_odb),
	CALL(repository_open_ext),
	CALL(repository_set_index),
	CALL(repository_state),
	CALL(signature_free),
	CALL(signature_now),
	CALL(tree_create_updated),
	CALL(tree_entry_bypath),
	CALL(tree_entry_filemode),
	CALL(tree_entry_free),
	CALL(tree_entry_id),
	CALL(tree_free),
	CALL(tree_id),
	CALL(tree_lookup),
#undef CALL
};

static int find_calls(struct err *err)
{
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
	size_t i;

	if (!library)
		return fail(err, ENOENT,
			    "the library %s cannot be loaded (%s): install "
			    "libgit2",
			    SONAME, dlerror());
	for (i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *call = dlsym(library, symbols[i].name);

		if (!call)
			return fail(err, ENOENT, "%s has no %s", SONAME,
				    symbols[i].name);
		*(void **)((char *)&calls + symbols[i].at) = call;
	}
	return 0;
}

static void start_libgit(void)
{
	static const int levels[] = {
		GIT_CONFIG_LEVEL_PROGRAMDATA,
		GIT_CONFIG_LEVEL_SYSTEM,
		GIT_CONFIG_LEVEL_XDG,
		GIT_CONFIG_LEVEL_GLOBAL,
	};
	size_t i;

	if (find_calls(&failed) < 0)
		return;
	if (calls.libgit2_init() < 0) {
		(void)fail(&failed, EIO, "libgit2 cannot be started");
		return;
	}
	for (i = 0; i < sizeof(levels) / sizeof(*levels); i++)
		if (calls.libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") <
		    0)
			(void)fail(&failed, EIO,
				   "libgit2 keeps its search paths");
}

int libgit_load(const struct libgit **ret, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, start_libgit);
	if (failed.num) {
		*err = failed;
		return -err->num;
	}
	*ret = &calls;
	return 0;
}

void libgit_home(const struct libgit *git, const char *home)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	auto_free char *xdg = NULL;

	if (home && config && *config == '/')
		xdg = mem_printf("%s/git", config);
	else if (home)
		xdg = mem_printf("%s/.config/git", home);
	(void)git->libgit2_opts(GIT_OPT_SET_SEARCH_PATH,
				GIT_CONFIG_LEVEL_SYSTEM, home ? "/etc" : "");
	(void)git->libgit2_opts(GIT_OPT_SET_SEARCH_PATH, GIT_CONFIG_LEVEL_XDG,
				xdg ? xdg : "");
	(void)git->libgit2_opts(GIT_OPT_SET_SEARCH_PATH,
				GIT_CONFIG_LEVEL_GLOBAL, home ? home : "");
}

int libgit_failed(const char *what, struct err *err)
{
	const git_error *e = calls.error_last ? calls.error_last() : NULL;
	AUTO(buf) struct buf text = {0};

	if (e && e->message)
		text_escape(&text, e->message, strlen(e->message), false);
	return fail(err, EIO, "%s: %s", what,
		    text.len ? buf_text(&text) : "libgit2 gives no reason");
}
