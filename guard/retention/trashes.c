#include "guard/retention/trashes.h"

#include "base/auto.h"
#include "overlay/session.h"
#include "snapshot/maintain/trash.h"

void trashes_measure(struct context *c, struct trashes *ret)
{
	*ret = (struct trashes){0};
	usage_add(c->state.fd, "trash", &ret->runs);
	if (c->store)
		usage_add(store_root_fd(c->store), "trash", &ret->versions);
}

int trashes_empty(struct context *c, struct err *err)
{
	auto_close int versions = -1;

	if (session_empty_trash(c->state.trash_fd, -1, err) < 0)
		return -err->num;
	if (!c->store)
		return 0;
	versions = trash_open(c->store, err);
	return versions < 0 ? versions
			    : trash_purge(versions, -1, timestamp_now(), err);
}
