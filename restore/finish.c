#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/text.h"
#include "base/walk.h"
#include "restore/onfile.h"
#include "restore/txn.h"

/* The staging folder came and went in the root: that is not to be seen. */
static int set_root_time(struct txn *t, bool forward, struct err *err)
{
	struct journal *j = &t->journal;

	if (!j->touched_count || (forward && !j->root_time_set))
		return 0;
	return onfile_set_time(t->project->fd,
			       forward ? j->root_time : j->touched[0].mtime,
			       err);
}

int txn_finish(struct txn *t, bool forward, struct err *err)
{
	if (t->staging_fd >= 0)
		(void)close(t->staging_fd);
	t->staging_fd = -1;
	if (walk_remove(t->project->fd, t->journal.staging, err) < 0)
		return err_context(err, "remove %s in %s",
				   text_quote(t->journal.staging),
				   text_quote(t->project->path));
	if (set_root_time(t, forward, err) < 0 ||
	    atomic_sync_dir(t->project->fd, err) < 0)
		return err_context(err, "%s", text_quote(t->project->path));
	return journal_remove(t->project->workspace_fd, err);
}
