#include "restore/git/gitforward.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "restore/git/libgit.h"

static int moved(const char *ref, struct err *err)
{
	return fail(err, EBUSY, "%s has moved meanwhile: try again",
		    text_quote(ref));
}

/* From where it is. */
static int move(const struct libgit *git, git_repository *repo,
		git_reference *ref, const char *name, const git_oid *to,
		struct err *err)
{
	const git_oid *from = git->reference_target(ref);
	git_reference *made = NULL;
	int got;

	if (git->branch_is_checked_out(ref))
		return fail(err, EEXIST,
			    "%s is checked out: git merge --ff-only moves it "
			    "with its files",
			    text_quote(name));
	if (!from)
		return fail(err, EINVAL, "%s is no plain branch",
			    text_quote(name));
	if (memcmp(from, to, sizeof(*to)) == 0)
		return 1;
	got = git->graph_descendant_of(repo, to, from);
	if (got < 0)
		return libgit_failed("compare the commits", err);
	if (!got)
		return fail(err, EXDEV,
			    "%s has commits that the run's has not: git merge "
			    "brings them together",
			    text_quote(name));
	got = git->reference_create_matching(&made, repo, name, to, 1, from,
					     "guard: fast-forward to a run's");
	git->reference_free(made);
	if (got == GIT_EMODIFIED)
		return moved(name, err);
	return got < 0 ? libgit_failed("move the branch", err) : 0;
}

static int make(const struct libgit *git, git_repository *repo,
		const char *name, const git_oid *to, struct err *err)
{
	git_reference *made = NULL;
	int got = git->reference_create(&made, repo, name, to, 0,
					"guard: a run's branch");

	git->reference_free(made);
	if (got == GIT_EEXISTS)
		return moved(name, err);
	return got < 0 ? libgit_failed("make the branch", err) : 0;
}

int gitforward(const char *repository, const char *branch, const char *id,
	       struct err *err)
{
	auto_free char *name = mem_printf("refs/heads/%s", branch);
	const struct libgit *git;
	git_repository *repo = NULL;
	git_reference *ref = NULL;
	git_oid to;
	int got;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	if (git->oid_fromstr(&to, id) < 0 ||
	    git->repository_open_ext(&repo, repository,
				     GIT_REPOSITORY_OPEN_NO_SEARCH, NULL) < 0)
		return libgit_failed("open the repository", err);
	got = git->reference_lookup(&ref, repo, name);
	if (got == GIT_ENOTFOUND)
		got = make(git, repo, name, &to, err);
	else if (got < 0)
		got = libgit_failed("the branch", err);
	else
		got = move(git, repo, ref, name, &to, err);
	git->reference_free(ref);
	git->repository_free(repo);
	return got;
}
