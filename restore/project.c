#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/fs_features.h"
#include "restore/unreadable_dirs.h"
#include "restore/transaction.h"
#include "restore/workspace.h"
#include "snapshot/store/ingest_hint.h"
#include "snapshot/walk/take.h"

int project_open_dir(const char *path, bool make, struct err *err)
{
	auto_close int fd =
		RETRY_ENOENT(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	const char *at = path + 1;

	if (fd < 0)
		return fail_errno(err, "open /");
	while (*at) {
		auto_free char *name = mem_strndup(at, strcspn(at, "/"));
		int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
		int next = RETRY_ENOENT(openat(fd, name, flags));

		if (next < 0 && errno == ENOENT && make) {
			if (mkdirat(fd, name, 0777) < 0 && errno != EEXIST)
				return fail_errno(err, "create directory %s",
						  text_quote(path));
			next = openat(fd, name, flags);
		}
		if (next < 0)
			return fail_errno(err, "open %s", text_quote(path));
		(void)close(fd);
		fd = next;
		at += strlen(name);
		at += strspn(at, "/");
	}
	return TAKE_FD(fd);
}

int project_make(const char *path, int workspaces_fd, struct err *err)
{
	auto_close int fd = project_open_dir(path, true, err);
	auto_close int workspace =
		fd < 0 ? fd : workspace_open(workspaces_fd, path, true, err);

	if (workspace < 0 || workspace_renew(workspace, path, err) < 0)
		return -err->num;
	return TAKE_FD(fd);
}

int project_may_make(const char *path, struct err *err)
{
	auto_free char *at = mem_strdup(path);
	struct stat st;

	for (;;) {
		char *up;

		if (RETRY_ENOENT(lstat(at, &st)) == 0)
			break;
		if (errno != ENOENT || strcmp(at, "/") == 0)
			return fail_errno(err, "%s", text_quote(at));
		up = path_parent(at);
		free(at);
		at = *up ? up : (free(up), mem_strdup("/"));
	}
	if (!S_ISDIR(st.st_mode))
		return fail(err, ENOTDIR, "%s is not a directory",
			    text_quote(at));
	return faccessat(AT_FDCWD, at, W_OK | X_OK, AT_EACCESS) < 0
		       ? fs_features_explain(errno, at, err)
		       : 0;
}

/* Excludes guard's state, the parent of the workspaces directory. */
static void skip_guard_state(struct project *p, int workspaces_fd)
{
	auto_free char *text = fd_path(workspaces_fd);
	auto_free char *state = path_parent(text && *text == '/' ? text : "");

	if (*state)
		mem_list_add(&p->skip, state);
}

int project_open(const char *path, int workspaces_fd, bool make,
		 struct project *ret, struct err *err)
{
	auto_close int fd = -1;
	auto_close int workspace = -1;
	auto_close int lock = -1;
	auto_free char *cache_path = NULL;

	if (path[0] != '/')
		return fail(err, EINVAL, "%s is not an absolute path",
			    text_quote(path));
	fd = make && access(path, F_OK) < 0
		     ? project_make(path, workspaces_fd, err)
		     : project_open_dir(path, make, err);
	if (fd < 0)
		return fd;
	workspace = workspace_open(workspaces_fd, path, true, err);
	if (workspace < 0)
		return workspace;
	lock = workspace_lock(workspace, false, text_quote(path), err);
	if (lock < 0)
		return lock;
	if (unreadable_dirs_recover(workspace, err) < 0)
		return -err->num;
	/* Before TAKE_FD(): the order of initializers is unspecified. */
	cache_path = workspace_cache_path(workspace);
	*ret = (struct project){
		.path = mem_strdup(path),
		.cache_path = TAKE(cache_path),
		.fd = TAKE_FD(fd),
		.workspace_fd = TAKE_FD(workspace),
		.lock_fd = TAKE_FD(lock),
	};
	skip_guard_state(ret, workspaces_fd);
	return 0;
}

int project_open_beside(const struct project *first, const char *path,
			int workspaces_fd, struct project *ret, struct err *err)
{
	int got = project_open(path, workspaces_fd, false, ret, err);
	size_t i;

	for (i = 0; got == 0 && first->skip && first->skip[i]; i++)
		(void)mem_list_add_once(&ret->skip, first->skip[i]);
	return got;
}

void project_close(struct project *p)
{
	size_t i;

	if (!p->path)
		return;
	(void)close(p->fd);
	(void)close(p->workspace_fd);
	(void)close(p->lock_fd);
	free(p->path);
	free(p->cache_path);
	mem_list_free(&p->skip);
	free(p->hints.items);
	mem_list_free(&p->unreadable_dirs);
	for (i = 0; i < p->recovered.count; i++)
		applied_ops_free(&p->recovered.items[i]);
	free(p->recovered.items);
	*p = PROJECT_NONE;
}

/* The stat cache is not used: it would record the directories with their
 * changed modes. */
static int take_unreadable_too(struct store *store, struct project *p,
			       const struct take_options *options,
			       struct snapshot *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	AUTO(unreadable_dirs)
	struct unreadable_dirs opened = UNREADABLE_DIRS_NONE;
	struct take_options look = *options;

	look.look = true;
	look.amend = NULL;
	look.cache_path = NULL;
	if (unreadable_dirs_open(p->fd, p->unreadable_dirs, p->workspace_fd,
				 &opened, err) < 0 ||
	    take_snapshot(store, &look, &s, err) < 0 ||
	    unreadable_dirs_correct(&opened, store, &s.root, err) < 0 ||
	    (options->amend &&
	     options->amend(options->amend_arg, store, &s, err) < 0) ||
	    (!options->look && catalog_add_with(store, &s, options->with,
						options->with_arg, err) < 0))
		return -err->num;
	*ret = TAKE(s);
	return 0;
}

/* The stat cache covers the whole project and is read completely. It adds
 * nothing when the transaction just wrote all selected files. "x/" is a
 * directory without its entries. */
static bool needs_cache(const struct project *p)
{
	size_t wanted = 0, i;

	if (!p->only)
		return true;
	for (i = 0; p->only[i]; i++)
		wanted += *p->only[i] &&
			  p->only[i][strlen(p->only[i]) - 1] != '/';
	return p->hints.count < wanted;
}

static int take_project_snapshot(struct store *store, struct project *p,
				 struct take_options *options,
				 struct snapshot *ret, struct err *err)
{
	AUTO(snapshot) struct snapshot s = {0};
	struct meta m;

	options->root_path = p->path;
	options->root_fd = p->fd;
	options->cache_path = needs_cache(p) ? p->cache_path : NULL;
	options->skip = (const char *const *)p->skip;
	options->skip_prefix = p->staging ? TRANSACTION_STAGING_PREFIX : NULL;
	options->only = p->only;
	options->moved_since = p->moved_since;
	options->hints = p->hints.items;
	options->hint_count = p->hints.count;
	if (meta_get(p->fd, "", &m) < 0)
		return fail_errno(err, "%s", text_quote(p->path));
	if (m.nlink)
		return p->unreadable_dirs
			       ? take_unreadable_too(store, p, options, ret,
						     err)
			       : take_snapshot(store, options, ret, err);
	/* The directory is missing. */
	s = (struct snapshot){
		.time = timestamp_now(),
		.uid = geteuid(),
		.reason = mem_strdup(options->reason),
		.run_id = mem_strdup(options->run_id ? options->run_id : ""),
		.command = mem_strdup(""),
		.message = mem_strdup(""),
		.root_path = mem_strdup(options->root_path),
		.root = {.name = mem_strdup("")},
	};
	if (!options->look && catalog_add_with(store, &s, options->with,
					       options->with_arg, err) < 0)
		return -err->num;
	*ret = TAKE(s);
	return 0;
}

int project_add_hint(struct project *p, const char *path, const struct entry *e,
		     struct timestamp when, struct err *err)
{
	AUTO(unreadable_dirs)
	struct unreadable_dirs opened = UNREADABLE_DIRS_NONE;
	auto_close int fd = -1;
	struct err ignored;
	struct meta m;

	fd = beneath_open(p->fd, path, O_PATH, 0, &ignored);
	if (fd == -EACCES) {
		if (unreadable_dirs_open(p->fd, p->unreadable_dirs,
					 p->workspace_fd, &opened, err) < 0)
			return -err->num;
		fd = beneath_open(p->fd, path, O_PATH, 0, &ignored);
	}
	if (fd < 0 || meta_get(fd, "", &m) < 0)
		return 0;
	if (timestamp_compare(m.ctime, when) > 0 &&
	    !take_mmap_updates_times(p->fd))
		return 0;
	*VEC_ADD(&p->hints) = (struct ingest_hint){
		.ino = m.ino,
		.size = e->size,
		.mtime = e->mtime,
		.content = e->content,
	};
	return 0;
}

static int isolate_applied_ops(void *arg, struct store *store,
			       struct snapshot *s, struct err *err)
{
	const struct project_after *o = arg;

	return applied_ops_isolate(o->did, store, &o->before->root, s, err);
}

int project_snapshot_after(struct store *store, struct project *p,
			   const struct project_after *o, struct snapshot *ret,
			   struct err *err)
{
	struct project_after after = *o;
	struct take_options options = {
		.reason = o->reason,
		.run_id = o->run_id,
		.amend = o->before ? isolate_applied_ops : NULL,
		.amend_arg = &after,
		.with = o->with,
		.with_arg = o->with_arg,
	};

	return take_project_snapshot(store, p, &options, ret, err);
}

int project_inspect(struct store *store, struct project *p, const char *reason,
		    const char *run_id, struct snapshot *ret, struct err *err)
{
	struct take_options options = {
		.reason = reason,
		.run_id = run_id,
		.look = true,
	};

	return take_project_snapshot(store, p, &options, ret, err);
}
