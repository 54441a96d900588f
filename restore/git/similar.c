#include "restore/git/similar.h"

#include <stdlib.h>

#include "base/mem.h"
#include "restore/git/libgit.h"

struct similar {
	const struct libgit *git;
	git_hashsig *sig;
};

int similar_make(const void *data, size_t len, struct similar **ret,
		 struct err *err)
{
	const struct libgit *git;
	git_hashsig *sig = NULL;
	int got;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	got = git->hashsig_create(&sig, data, len,
				  GIT_HASHSIG_SMART_WHITESPACE);
	if (got == GIT_EBUFS)
		return 0;
	if (got < 0)
		return libgit_failed("measure a file", err);
	*ret = mem_alloc(sizeof(**ret));
	**ret = (struct similar){git, sig};
	return 1;
}

void similar_free(struct similar **s)
{
	if (*s)
		(*s)->git->hashsig_free((*s)->sig);
	free(*s);
	*s = NULL;
}

unsigned similar_percent(const struct similar *a, const struct similar *b)
{
	int got = a->git->hashsig_compare(a->sig, b->sig);

	return got < 0 ? 0 : (unsigned)got;
}
