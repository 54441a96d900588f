#include "restore/git/gitblob.h"

#include "restore/git/libgit.h"

int gitblob_id(const struct buf *bytes, char ret[static GITBLOB_ID_LEN + 1],
	       struct err *err)
{
	const struct libgit *git;
	git_oid id;

	if (libgit_load(&git, err) < 0)
		return -err->num;
	if (git->odb_hash(&id, bytes->len ? (const void *)bytes->data : "",
			  bytes->len, GIT_OBJECT_BLOB) < 0)
		return libgit_failed("hash a file", err);
	(void)git->oid_tostr(ret, GITBLOB_ID_LEN + 1, &id);
	return 0;
}
