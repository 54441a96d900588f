#include "restore/fs_features.h"

#include <errno.h>

#include "base/text.h"

#define ALTERNATIVES                                                           \
	"`guard patch` prints a run's changes, `guard restore --to DIR` "      \
	"writes any version elsewhere"

int fs_features_explain(int num, const char *path, struct err *err)
{
	if (num == EROFS)
		return fail(err, num,
			    "%s is on a read-only file system and cannot be "
			    "changed; " ALTERNATIVES,
			    text_quote(path));
	if (num == EACCES || num == EPERM)
		return fail(
			err, num,
			"you have no permission to write in %s; " ALTERNATIVES,
			text_quote(path));
	if (num == ENOSYS || num == EOPNOTSUPP)
		return fail(err, num,
			    "the file system of %s cannot create "
			    "directories; " ALTERNATIVES,
			    text_quote(path));
	return fail_num(err, num, "create the staging directory in %s",
			text_quote(path));
}
