/* Journals that wait for their folder; see journal.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "restore/journal.h"

int journal_orphan_set(int workspace_fd, struct err *err)
{
	if (renameat(workspace_fd, JOURNAL_NAME, workspace_fd, JOURNAL_ORPHAN) <
	    0)
		return fail_errno(err, "set the journal aside");
	return 0;
}

bool journal_orphan_exists(int workspace_fd)
{
	return fd_exists(workspace_fd, JOURNAL_ORPHAN);
}

bool journal_orphan_is_available(int workspace_fd, const char *project_path)
{
	AUTO(journal) struct journal j = {0};
	struct err ignored;
	size_t i;

	if (!journal_orphan_exists(workspace_fd) ||
	    journal_load_from(workspace_fd, JOURNAL_ORPHAN, &j, &ignored) < 0)
		return false;
	for (i = 0; i < j.root_count; i++) {
		const struct journal_root *r = &j.roots[i];
		auto_free char *staging = path_join(
			*r->path ? r->path : project_path, r->staging);
		struct stat st;

		if (lstat(staging, &st) == 0 && S_ISDIR(st.st_mode))
			return true;
	}
	return false;
}

int journal_orphan_adopt(int workspace_fd, const char *project_path,
			 struct err *err)
{
	if (!journal_orphan_is_available(workspace_fd, project_path))
		return 0;
	if (renameat2(workspace_fd, JOURNAL_ORPHAN, workspace_fd, JOURNAL_NAME,
		      RENAME_NOREPLACE) == 0)
		return 1;
	if (errno == EEXIST)
		return 0;
	return fail_errno(err, "take up a journal that was set aside");
}
