#include "restore/git/gitsign.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"

/* The order of git: the environment, then the configuration. */
static char *find_name(const struct libgit *git, git_repository *repo,
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

int gitsign_now(git_repository *repo, git_signature **ret, struct err *err)
{
	auto_free char *name = NULL, *email = NULL;
	const struct libgit *git;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	name = find_name(git, repo, "GIT_AUTHOR_NAME", "user.name");
	email = find_name(git, repo, "GIT_AUTHOR_EMAIL", "user.email");
	if (!name || !email)
		return fail(err, ENODATA,
			    "git does not know your name: git config --global "
			    "user.name NAME, and user.email ADDRESS");
	if (git->signature_now(ret, name, email) < 0)
		return libgit_failed("your name", err);
	return 0;
}
