#include "restore/git/gitsign.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/mem.h"

static char *setting(const struct libgit *git, git_config *config,
		     const char *name)
{
	git_buf value = GIT_BUF_INIT;
	char *text = NULL;

	if (git->config_get_string_buf(&value, config, name) == 0)
		text = mem_strdup(value.ptr);
	git->buf_dispose(&value);
	return text;
}

/* As git does: the environment, the repository, the user's own file. */
static char *find_name(const struct libgit *git, git_repository *repo,
		       const char *home, const char *variable, const char *name)
{
	const char *given = getenv(variable);
	static const char *const files[] = {"/.gitconfig",
					    "/.config/git/config"};
	git_config *config = NULL;
	char *text = given && *given ? mem_strdup(given) : NULL;
	size_t i;

	if (!text && git->repository_config_snapshot(&config, repo) == 0)
		text = setting(git, config, name);
	git->config_free(config);
	for (i = 0; !text && home && i < 2; i++) {
		auto_free char *path = mem_printf("%s%s", home, files[i]);

		config = NULL;
		if (git->config_open_ondisk(&config, path) == 0) {
			git_config *snapshot = NULL;

			if (git->config_snapshot(&snapshot, config) == 0)
				text = setting(git, snapshot, name);
			git->config_free(snapshot);
		}
		git->config_free(config);
	}
	return text;
}

int gitsign_now(git_repository *repo, const char *home, git_signature **ret,
		struct err *err)
{
	auto_free char *name = NULL, *email = NULL;
	const struct libgit *git;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	name = find_name(git, repo, home, "GIT_AUTHOR_NAME", "user.name");
	email = find_name(git, repo, home, "GIT_AUTHOR_EMAIL", "user.email");
	if (!name || !email)
		return fail(err, ENODATA,
			    "git does not know your name: git config --global "
			    "user.name NAME, and user.email ADDRESS");
	if (git->signature_now(ret, name, email) < 0)
		return libgit_failed("your name", err);
	return 0;
}
