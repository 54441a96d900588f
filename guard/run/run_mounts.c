#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/auto.h"
#include "base/mem.h"
#include "base/text.h"
#include "guard/recover.h"
#include "guard/run/run.h"
#include "overlay/layers.h"
#include "overlay/mount.h"

/* Each has a layer, a snapshot and a lock of its own. */
#define MOUNTS_MAX 64

static int add_mounts_below(struct run *run, const char *path, struct err *err);

/* The mount gets a layer of its own, or stays as it is, read-only. */
static int add_mount(struct run *run, const char *path, struct err *err)
{
	struct session *s = &run->session;
	auto_close int fd = fd_open_dir(AT_FDCWD, path);

	if (fd < 0 && errno == ENOTDIR)
		return 0; /* a file: a copy of it is seen */
	/* With --home it could be any disk. */
	if (fd < 0 || faccessat(fd, ".", X_OK, AT_EACCESS) < 0 ||
	    layers_is_special(fd) || run->options->home) {
		record_add(&s->more, LAYERS_UNCOVERED, path);
		return 0;
	}
	if (s->root_count > MOUNTS_MAX)
		return fail(err, E2BIG,
			    "more than %d mounts in %s: unmount some, or run "
			    "guard in a folder with fewer",
			    MOUNTS_MAX, text_quote(run->project));
	if (recover_project(&run->context, path, err) < 0 ||
	    session_add_root(s, path, fd, err) < 0)
		return -err->num;
	return add_mounts_below(run, path, err);
}

static int add_mounts_below(struct run *run, const char *path, struct err *err)
{
	auto_close int fd = fd_open_dir_path(AT_FDCWD, path);
	char **mounts = NULL;
	size_t i;
	int got;

	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(path));
	got = mount_list_below(fd, path, &mounts, err);
	for (i = 0; got >= 0 && mounts && mounts[i]; i++)
		got = add_mount(run, mounts[i], err);
	mem_list_free(&mounts);
	return got < 0 ? got : 0;
}

int run_add_mounts(struct run *run, struct err *err)
{
	struct session *s = &run->session;
	size_t cows = s->root_count, i;

	for (i = 1; i < cows; i++)
		if (add_mounts_below(run, s->roots[i].path, err) < 0)
			return -err->num;
	return add_mounts_below(run, run->project, err);
}
