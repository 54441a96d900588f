#include <errno.h>

#include "base/auto.h"
#include "base/text.h"
#include "snapshot/walk/stable_read.h"
#include "snapshot/walk/take.h"

int take_entry(struct store *store, int dirfd, const char *name,
	       const char *private_xattrs, struct entry *ret, struct err *err)
{
	AUTO(stable_read) struct stable_read r = {0};

	if (stable_read_entry(store, dirfd, name, private_xattrs, NULL, NULL,
			      &r, err) < 0)
		return -err->num;
	if (r.unstable)
		return fail(err, EBUSY, "%s changed while it was read",
			    text_quote(name));
	if (!r.meta.mode || r.incomplete)
		return fail(err, EACCES, "%s cannot be read (%s)",
			    text_quote(name), r.why);
	stable_read_make_entry(&r, name, ret);
	return 0;
}
