#include "guard/change/moved_dirs.h"

#include <errno.h>

#include "base/auto.h"
#include "base/fd.h"
#include "restore/restore_upper.h"
#include "snapshot/tree/catalog.h"

#define KEY "taken"

bool moved_dirs_any(const struct session *s)
{
	return record_get(&s->more, KEY) != NULL;
}

void moved_dirs_record(struct session *s, char *const *paths)
{
	for (; paths && *paths; paths++)
		record_add(&s->more, KEY, *paths);
}

static int restore_moved_dirs(const struct session *s, struct store *store,
			      struct err *err)
{
	AUTO(snapshot) struct snapshot result = {0};
	auto_close int upper = fd_open_dir_path(s->fd, "upper");
	const char *path;
	size_t n;

	if (upper < 0)
		return fail_errno(err, "open its layer");
	if (catalog_load(store, s->roots[0].result, &result, err) < 0)
		return -err->num;
	for (n = 0; (path = record_get_nth(&s->more, KEY, n)); n++)
		if (restore_upper_dir(store, &result.root, path, s->fd, upper,
				      err) < 0)
			return -err->num;
	return 0;
}

int moved_dirs_restore(struct session *s, struct store *store, struct err *err)
{
	if (!moved_dirs_any(s))
		return 0;
	if (restore_moved_dirs(s, store, err) < 0)
		return err_context(err, "complete the layer of run %s",
				   session_label(s));
	record_set(&s->more, KEY, NULL);
	return session_save(s, err);
}

int moved_dirs_check(const struct session *s, struct err *err)
{
	if (!moved_dirs_any(s) || s->state == RUN_APPLIED)
		return 0;
	return fail(err, ENODATA,
		    "parts of the layer of run %s are missing since an apply "
		    "was undone: free disk space, then run guard apply -n %s "
		    "to restore them",
		    session_label(s), session_label(s));
}
