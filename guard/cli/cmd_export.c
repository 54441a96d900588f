#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/fd.h"
#include "base/path.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/diffsnaps.h"
#include "guard/review/run_trees.h"
#include "guard/history/locate.h"
#include "guard/change/resolve_run.h"
#include "guard/change/recover.h"
#include "restore/export.h"
#include "snapshot/tree/tree.h"

struct export
{
	struct context *c;
	const struct options *o;
	int fd; /* the file; -1: stdout */
	bool left_out; /* something that was asked for */
};

static int write_tar_data(void *arg, const void *data, size_t len,
			  struct err *err)
{
	const struct export *x = arg;

	if (x->fd >= 0)
		return fd_write(x->fd, data, len) < 0
			       ? fail_errno(err, "write %s",
					    text_quote(x->o->output))
			       : 0;
	(void)fwrite(data, 1, len, stdout);
	return output_has_failed() ? fail_errno(err, "write the archive") : 0;
}

static void report_deleted_path(void *arg, const char *path)
{
	(void)arg;
	output_print("deleted: %s", text_quote(path));
}

static const char *export_loss_text(enum export_loss loss)
{
	switch (loss) {
	case EXPORT_GIT:
		return "a .git is skipped unless a path names it";
	case EXPORT_SOCKET:
		return "tar cannot hold sockets";
	case EXPORT_INCOMPLETE:
		return "it could not be read completely when it was stored, or "
		       "was purged";
	}
	return "not supported";
}

static void print_export_loss(void *arg, const char *path,
			      enum export_loss loss)
{
	struct export *x = arg;

	if (loss != EXPORT_GIT)
		x->left_out = true;
	output_warn("not in the archive: %s: %s", text_quote(path),
		    export_loss_text(loss));
}

static int write_tar(struct export *x, const struct entry *old,
		     const struct entry *now, char *const *paths,
		     struct err *err)
{
	const struct export_sink sink = {
		.add = write_tar_data,
		.deleted = report_deleted_path,
		.lost = print_export_loss,
		.arg = x,
	};

	return export_tar(x->c->store, old, now, (const char *const *)paths,
			  &sink, err);
}

static int export_run(struct export *x, struct err *err)
{
	AUTO(resolved_run) struct resolved_run resolved_run = RESOLVED_RUN_NONE;
	AUTO(run_trees) struct run_trees run_trees = RUN_TREES_NONE;
	const struct session *s = &resolved_run.session;
	int got;

	if (choose_run_open(x->c, x->o, &resolved_run, err) < 0)
		return -err->num;
	got = choose_run_check(x->c, &resolved_run, true, x->o->operands, err);
	if (got)
		return got;
	if (recover_project(x->c, s->project, err) < 0 ||
	    resolve_run_lock(x->c, &resolved_run, err) < 0)
		return -err->num;
	if (!run_state_pending(s->state))
		return fail(err, ENODATA,
			    "run %s is %s: export a snapshot instead (`guard "
			    "log` lists them)",
			    session_label(s), run_state_name(s->state));
	if (run_trees_load(x->c, &resolved_run, "archives are", &run_trees,
			   err) < 0)
		return -err->num;
	return write_tar(x, &run_trees.base.root, &run_trees.result,
			 resolve_run_paths(&resolved_run, 0), err);
}

/* Each path as `guard show SNAP:PATH` takes it, all in one snapshot. */
static int export_snapshot(struct export *x, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(mem_list) char **paths = NULL;
	char **argv = x->o->operands;
	int i;

	if (context_store(x->c, STORE_READ, err) < 0)
		return -err->num;
	for (i = 0; i < x->o->count; i++) {
		AUTO(snapshot) struct snapshot at = {0};
		AUTO(entry) struct entry e = {0};
		auto_free char *path = NULL;
		int got;

		if (locate_snapshot(x->c, argv[0], i ? argv[i] : NULL, &at,
				    &path, err) < 0)
			return -err->num;
		if (i &&
		    (at.seq != s.seq || strcmp(at.root_path, s.root_path) != 0))
			return fail(err, EXDEV,
				    "%s is in another snapshot than the "
				    "project: export %s alone",
				    text_quote(argv[i]), snapshot_label(&at));
		got = tree_lookup(x->c->store, &at.root, path, &e, err);
		if (got < 0)
			return got;
		if (!got)
			return fail(err, ENOENT, "no such path: %s in %s",
				    text_quote(path), snapshot_label(&at));
		if (i || *path)
			mem_list_add(&paths, path);
		if (i)
			continue;
		s = TAKE(at);
	}
	return write_tar(x, NULL, &s.root, paths, err);
}

static int export(struct export *x, struct err *err)
{
	int points = diffsnaps_points(
		x->c, words_before_dashes(x->o->count, x->o->dashed) > 0,
		x->o->operands, err);

	if (points < 0)
		return points;
	return (points ? export_snapshot : export_run)(x, err);
}

static int export_file(struct export *x, struct err *err)
{
	AUTO(atomic_file) struct atomic_file f = ATOMIC_FILE_NONE;
	auto_free char *path = resolve_run_path(x->o->output, err), *dir = NULL;
	auto_close int dirfd = -1;
	struct stat st;
	int got;

	if (!path)
		return -err->num;
	/* Checked before the work; a file that appears later is not overwritten
	 * either. */
	if (lstat(path, &st) == 0)
		return fail(err, EEXIST,
			    "%s exists: move it away, or choose another name",
			    text_quote(path));
	dir = path_parent(path);
	dirfd = open(*dir ? dir : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirfd < 0)
		return fail_errno(err, "open directory %s", text_quote(dir));
	if (atomic_begin(dirfd, path_name(path), 0600, &f, err) < 0)
		return -err->num;
	x->fd = f.fd;
	got = export(x, err);
	return got ?: atomic_publish(&f, path_name(path), err);
}

int cmd_export(const struct options *o, struct context *c, struct err *err)
{
	struct export x = {.c = c, .o = o, .fd = -1};
	int got;

	if (!o->tar)
		return options_usage_error(
			o, "--tar is required: it is the only format");
	if (!o->output && isatty(STDOUT_FILENO))
		return fail(err, EINVAL,
			    "a tar archive cannot be written to a terminal: "
			    "use -o FILE, or a pipe");
	got = (o->output ? export_file : export)(&x, err);
	if (got)
		return output_has_failed() ? STATUS_OK : got;
	return x.left_out ? STATUS_REFUSED : STATUS_OK;
}
