#include "restore/git/libgit.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/resource.h>
#include <sys/single_threaded.h>

#include "base/library_open.h"
#include "base/auto.h"
#include "base/library.h"
#include "base/mem.h"
#include "base/text.h"

static struct libgit calls;
static struct err failed; /* num 0: loaded */

/*
 * The initialization would parse all certificates of the machine for TLS, which
 * takes twice as long as loading the library. It goes on without them if their
 * file cannot be opened: no descriptor is free. Another thread would miss its
 * descriptors, too.
 */
static int init_without_files(void)
{
	struct rlimit limit, none;
	bool limited =
		__libc_single_threaded && getrlimit(RLIMIT_NOFILE, &limit) == 0;
	int got;

	if (limited) {
		none = (struct rlimit){0, limit.rlim_max};
		limited = setrlimit(RLIMIT_NOFILE, &none) == 0;
	}
	got = calls.libgit2_init();
	if (limited)
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	return got < 0 && limited ? calls.libgit2_init() : got;
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

	if (library_load(LIBRARY_LIBGIT2, "git_", LIBGIT_CALLS(LIBRARY_NAME),
			 &calls, &failed) < 0)
		return;
	library_open_check((const void *)(uintptr_t)calls.libgit2_init);
	if (init_without_files() < 0) {
		(void)fail(&failed, EIO, "cannot initialize libgit2");
		return;
	}
	for (i = 0; i < ARRAY_SIZE(levels); i++)
		if (calls.libgit2_opts(GIT_OPT_SET_SEARCH_PATH, levels[i], "") <
		    0)
			(void)fail(&failed, EIO,
				   "cannot reset the search paths of libgit2");
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

char *libgit_setting(const struct libgit *git, git_repository *repo,
		     const char *variable, const char *name)
{
	const char *given = getenv(variable);
	git_config *config = NULL;
	git_buf value = GIT_BUF_INIT;
	char *text = NULL;

	if (given && *given)
		return mem_strdup(given);
	if (git->repository_config_snapshot(&config, repo) == 0 &&
	    git->config_get_string_buf(&value, config, name) == 0)
		text = mem_strdup(value.ptr);
	git->buf_dispose(&value);
	git->config_free(config);
	return text;
}

int libgit_refused(struct err *err)
{
	uint32_t mode;
	const char *path = library_open_refused(&mode);

	if (!path)
		return 0;
	return fail(err, EIO,
		    "%s is a %s where git has a regular file: remove it",
		    text_quote(path),
		    S_ISFIFO(mode)   ? "named pipe"
		    : S_ISSOCK(mode) ? "socket"
				     : "device");
}

int libgit_open(const struct libgit *git, const char *path, unsigned int flags,
		git_repository **ret, struct err *err)
{
	const git_error *e;
	int got;

	library_open_forget();
	got = git->repository_open_ext(ret, path, flags, NULL);
	if (libgit_refused(err) < 0) {
		if (got == 0)
			git->repository_free(TAKE(*ret));
		return err_context(err, "open the repository");
	}
	e = got < 0 ? git->error_last() : NULL;
	/* libgit2 1.5 reports the missing setting safe.directory instead of the
	 * wrong owner. */
	if (got == GIT_EOWNER ||
	    (got == GIT_ENOTFOUND && e && e->klass == GIT_ERROR_CONFIG))
		return fail(
			err, EIO,
			"open the repository: it or its directory belongs "
			"to another user (git status says how to allow it)");
	if (got == GIT_ENOTFOUND)
		return 0;
	return got < 0 ? libgit_failed("open the repository", err) : 1;
}

int libgit_each_ref(const struct libgit *git, git_repository *repo,
		    gitid_each_ref *each, void *arg, struct err *err)
{
	git_reference_iterator *refs = NULL;
	git_reference *ref = NULL;
	const git_oid *oid;
	struct gitid id;
	int end = git->reference_iterator_new(&refs, repo), got = 0;

	while (got == 0 && end == 0) {
		end = git->reference_next(&ref, refs);
		if (end == GIT_ITEROVER
			    ? git->reference_lookup(&ref, repo, "HEAD") < 0
			    : end < 0)
			break;
		oid = git->reference_target(ref);
		if (oid)
			(void)git->oid_tostr(id.hex, sizeof(id.hex), oid);
		got = each(arg, git->reference_name(ref), oid ? &id : NULL,
			   err);
		git->reference_free(ref);
	}
	git->reference_iterator_free(refs);
	return end == 0 || end == GIT_ITEROVER
		       ? got
		       : libgit_failed("read your repository's refs", err);
}

int libgit_move_ref(const struct libgit *git, git_repository *repo,
		    const char *name, const git_oid *from, const git_oid *to,
		    const char *message)
{
	git_reference *made = NULL;
	int got = git->reference_create_matching(&made, repo, name, to,
						 from != NULL, from, message);

	git->reference_free(made);
	return got;
}

uint32_t libgit_find(const struct libgit *git, const git_tree *tree,
		     const char *path, git_oid *ret)
{
	git_tree_entry *e = NULL;
	uint32_t mode;

	if (!tree || git->tree_entry_bypath(&e, tree, path) < 0)
		return 0;
	mode = (uint32_t)git->tree_entry_filemode(e);
	*ret = *git->tree_entry_id(e);
	git->tree_entry_free(e);
	return mode;
}

int libgit_read_blob(const struct libgit *git, git_repository *repo,
		     const git_oid *id, struct buf *to)
{
	git_blob *blob = NULL;
	int got = git->blob_lookup(&blob, repo, id);

	if (got < 0)
		return got;
	buf_add(to, git->blob_rawcontent(blob),
		(size_t)git->blob_rawsize(blob));
	git->blob_free(blob);
	return 0;
}

int libgit_failed(const char *what, struct err *err)
{
	const git_error *e = calls.error_last ? calls.error_last() : NULL;
	AUTO(buf) struct buf text = {0};

	if (libgit_refused(err) < 0)
		return err_context(err, "%s", what);
	if (e && e->message)
		text_escape(&text, e->message, strlen(e->message), false);
	return fail(err, EIO, "%s: %s", what,
		    text.len ? buf_text(&text) : "libgit2 reports no reason");
}
