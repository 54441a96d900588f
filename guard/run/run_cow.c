#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/fstype.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/change/recover.h"
#include "guard/run/run.h"
#include "guard/state/report.h"
#include "overlay/layers.h"
#include "overlay/mount.h"
#include "overlay/subvolumes.h"

/* The reason why the directory cannot have a layer beside the project's; 0: it
 * can. */
static int check_cow_path(const struct run *run, const char *git,
			  const char *path, struct err *err)
{
	const struct state *st = &run->context.state;
	const char *name = text_quote(path);

	if (strcmp(path, run->project) == 0)
		return fail(err, EINVAL, "--cow: %s is the project itself",
			    name);
	if (path_below(path, run->project))
		return fail(err, EINVAL,
			    "--cow: %s is in the project, whose layer already "
			    "covers it",
			    name);
	if (st->home && path_below(st->home, path))
		return fail(err, EINVAL,
			    "--cow: %s %s, which already has a layer: name a "
			    "directory in it",
			    name,
			    strcmp(st->home, path) == 0
				    ? "is your home directory"
				    : "contains your home directory");
	if (path_below(run->project, path))
		return fail(err, EINVAL,
			    "--cow: %s contains the project: name a directory "
			    "next to it",
			    name);
	if (path_below(st->path, path))
		return fail(err, EINVAL,
			    "--cow: %s contains guard's own state: name a "
			    "directory next to it",
			    name);
	if (git && path_below(path, git))
		return fail(err, EINVAL,
			    "--cow: %s is in the project's repository, which "
			    "already has a layer",
			    name);
	return 0;
}

/* Resolves the directory of --cow and adds it. */
static int find_cow(const struct run *run, const char *git, const char *arg,
		    struct grants *to, struct err *err)
{
	auto_free char *dir = NULL;
	auto_close int fd = -1;
	char **hide;
	const struct grant *g;
	bool hidden, named;
	size_t i, k;

	if (grants_add(to, GRANT_LAYER,
		       *arg ? mem_printf("--cow %s", text_quote(arg))
			    : mem_strdup("--cow"),
		       arg, NULL, err) < 0)
		return -err->num;
	i = to->count - 1;
	g = &to->items[i];
	if (check_cow_path(run, git, g->real, err) < 0)
		return -err->num;
	for (k = 0; k < i; k++) {
		const char *had = to->items[k].real;

		if (strcmp(g->real, had) == 0)
			return fail(err, EINVAL, "--cow: %s is named twice",
				    text_quote(g->real));
		if (path_below(g->real, had) || path_below(had, g->real))
			return fail(err, EINVAL,
				    "--cow: %s and %s contain one another",
				    text_quote(g->real), text_quote(had));
	}
	/* A masked path would be masked in its layer, too. */
	hide = run_hidden_paths(run);
	hidden = grant_find_hidden(g, hide, &named) != NULL;
	mem_list_free(&hide);
	if (hidden)
		return fail(err, EINVAL, "--cow: %s is masked in runs",
			    text_quote(g->real));
	dir = state_directory(&run->context.state, g->real, err);
	if (!dir)
		return err_context(err, "--cow");
	fd = fd_open_dir(g->fd, ".");
	if (fd < 0 || faccessat(fd, ".", X_OK, AT_EACCESS) < 0)
		return fail_errno(err, "--cow: %s cannot be read",
				  text_quote(g->real));
	return 0;
}

int run_find_cows(const struct run *run, const char *git, struct grants *ret,
		  struct err *err)
{
	const char *const *arg;

	for (arg = run->options->cow; *arg; arg++)
		if (find_cow(run, git, *arg, ret, err) < 0)
			return -err->num;
	return 0;
}

int run_add_cows(struct run *run, const struct grants *cows, struct err *err)
{
	size_t i;

	for (i = 0; i < cows->count; i++) {
		const struct grant *g = &cows->items[i];
		auto_free char *link = grant_describe_link(
			g, run->project, run->context.state.home);

		if (link)
			report_note("%s", link);
		/* As for the project itself. */
		if (recover_project(&run->context, g->real, err) < 0 ||
		    session_add_root(&run->session, g->real, g->fd, err) < 0)
			return -err->num;
	}
	return 0;
}

int run_check_cows(const struct run *run, struct err *err)
{
	const struct session *s = &run->session;
	AUTO(grants) struct grants cows = {0};
	int got = run_find_cows(run, NULL, &cows, err);
	size_t i, k;

	for (i = 0; got == 0 && i < cows.count; i++) {
		for (k = 1; k < s->root_count; k++)
			if (strcmp(s->roots[k].path, cows.items[i].real) == 0)
				break;
		if (k == s->root_count)
			got = fail(err, EINVAL,
				   "--cow is for a new run: a continued run "
				   "keeps its directories");
	}
	return got;
}

/* ---- mounts below the roots ---- */

/* Each has a layer, a snapshot and a lock of its own. */
#define MOUNTS_MAX 64

static int add_mounts_below(struct run *run, const char *path, struct err *err);

static int add_part(struct run *run, const char *path, int fd, struct err *err)
{
	if (recover_project(&run->context, path, err) < 0 ||
	    session_add_root(&run->session, path, fd, err) < 0)
		return -err->num;
	return add_mounts_below(run, path, err);
}

/* The other subvolumes are parts of the layer around them, but not of its
 * snapshots. */
static int add_subvolumes_below(struct run *run, const char *path, int fd,
				struct err *err)
{
	struct session *s = &run->session;
	char **subvolumes = NULL;
	size_t i, left = 0;
	int got = 0;

	subvolumes_list_below(fd, path, &subvolumes);
	for (i = 0; got == 0 && subvolumes && subvolumes[i]; i++) {
		auto_close int part = fd_open_dir(AT_FDCWD, subvolumes[i]);

		if (session_has_root(s, subvolumes[i]))
			continue;
		if (part < 0 || faccessat(part, ".", X_OK, AT_EACCESS) < 0 ||
		    s->root_count > MOUNTS_MAX)
			left++;
		else
			got = add_part(run, subvolumes[i], part, err);
	}
	mem_list_free(&subvolumes);
	if (left)
		report_note("%s below %s cannot be stored (unreadable, or more "
			    "than %d): what a run changes there cannot be "
			    "applied",
			    text_count(left, "subvolume"), text_quote(path),
			    MOUNTS_MAX);
	return got;
}

/* Each mount gets a layer of its own, or stays as it is, read-only. A subvolume
 * comes before the mounts in it. */
static int add_mounts_below(struct run *run, const char *path, struct err *err)
{
	auto_close int fd = fd_open_dir_path(AT_FDCWD, path);
	struct session *s = &run->session;
	char **mounts = NULL;
	size_t i;
	int got;

	if (fd < 0)
		return fail_errno(err, "open %s", text_quote(path));
	if (add_subvolumes_below(run, path, fd, err) < 0)
		return -err->num;
	got = mount_list_below(fd, path, &mounts, err);
	for (i = 0; got >= 0 && mounts && mounts[i]; i++) {
		auto_close int mount = fd_open_dir(AT_FDCWD, mounts[i]);

		if (session_has_root(s, mounts[i]))
			continue; /* in a subvolume */
		if (mount < 0 && errno == ENOTDIR)
			continue; /* a file: a copy of it is seen */
		/* With --home it could be any disk. */
		if (mount < 0 || faccessat(mount, ".", X_OK, AT_EACCESS) < 0 ||
		    fstype_of_fd(mount)->traits & FSTYPE_PSEUDO ||
		    run->options->home)
			record_add(&s->more, LAYERS_UNCOVERED, mounts[i]);
		else if (s->root_count > MOUNTS_MAX)
			got = fail(err, E2BIG,
				   "more than %d mounts in %s: unmount some, "
				   "or run guard in a directory with fewer",
				   MOUNTS_MAX, text_quote(run->project));
		else
			got = add_part(run, mounts[i], mount, err);
	}
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
