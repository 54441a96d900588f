#include "guard/state/state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/inside.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/text.h"
#include "guard/state/clock.h"

char *state_find_home(struct err *why)
{
	const char *home = getenv("HOME");
	const struct passwd *user;
	struct stat st;
	char *real;

	*why = (struct err){0};

	if (!home || home[0] != '/') {
		user = getpwuid(geteuid());
		home = user ? user->pw_dir : NULL;
	}
	if (!home || home[0] != '/')
		return NULL;
	if (stat(home, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			(void)fail_errno(why, "home directory %s",
					 text_quote(home));
		return NULL;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	real = path_resolve(home, why);
	if (real && strcmp(real, "/") == 0)
		free(TAKE(real));
	return real;
}

/* no_home: why the home directory is unknown. */
static char *find_state_path(const char *home, const struct err *no_home,
			     struct err *err)
{
	const char *named = getenv("GUARD_HOME");
	const char *data = getenv("XDG_DATA_HOME");
	auto_free char *path = NULL;

	if (named && *named) {
		if (*named != '/') {
			(void)fail(err, EINVAL,
				   "GUARD_HOME is %s: it must be an absolute "
				   "path",
				   text_quote(named));
			return NULL;
		}
		path = mem_strdup(named);
	} else if (geteuid() == 0) {
		path = mem_strdup("/var/lib/guard");
	} else if (data && data[0] == '/') {
		path = path_join(data, "guard");
	} else if (home) {
		path = path_join(home, ".local/share/guard");
	} else if (no_home->num) {
		*err = *no_home;
		return NULL;
	} else {
		(void)fail(err, ENOENT,
			   "no home directory for guard's state: set "
			   "GUARD_HOME to a directory of your own");
		return NULL;
	}
	return path_resolve(path, err);
}

char *state_settings_path(const struct state *st, struct err *err)
{
	auto_free char *path = path_join(st->path, "config");

	return path_resolve(path, err);
}

static int fail_to_make(const char *path, struct err *err)
{
	int num = errno;

	if (num != EACCES && num != EPERM && num != EROFS)
		return fail_num(err, num, "create %s", text_quote(path));
	return fail(err, num,
		    "create %s: %s (GUARD_HOME=/some/path puts guard's state "
		    "elsewhere)",
		    text_quote(path), strerror(num));
}

static int open_state_dir(const char *path, struct err *err)
{
	auto_free char *above = mem_strdup(path);
	char *slash = above;
	auto_close int fd = -1;
	struct stat st;

	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		if (mkdir(above, 0700) < 0 && errno != EEXIST)
			return fail_to_make(above, err);
		*slash = '/';
	}
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return fail_to_make(path, err);
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "open %s", text_quote(path));
	if (st.st_uid != geteuid())
		return fail(err, EPERM,
			    "%s belongs to another user (uid %u): set "
			    "GUARD_HOME to a directory of your own",
			    text_quote(path), (unsigned int)st.st_uid);
	if (st.st_mode & 077)
		return fail(err, EPERM,
			    "other users have access to %s (mode %03o): run "
			    "chmod 700 on it",
			    text_quote(path),
			    (unsigned int)(st.st_mode & 0777));
	return TAKE_FD(fd);
}

/* 1: the directory is new. */
static int open_state_subdir(int dirfd, const char *name, int *ret_fd,
			     struct err *err)
{
	bool made = mkdirat(dirfd, name, 0700) == 0;

	if (!made && errno != EEXIST)
		return fail_errno(err, "create %s", text_quote(name));
	*ret_fd = fd_open_dir(dirfd, name);
	if (*ret_fd < 0)
		return fail_errno(err, "open %s", text_quote(name));
	return made;
}

void state_close(struct state *st)
{
	fd_close(&st->runs_fd);
	fd_close(&st->workspaces_fd);
	fd_close(&st->trash_fd);
	fd_close(&st->fd);
	free(TAKE(st->path));
	free(TAKE(st->store_path));
	free(TAKE(st->home));
}

bool state_exists(void)
{
	struct err ignored;
	auto_free char *home = state_find_home(&ignored);
	auto_free char *path = find_state_path(home, &ignored, &ignored);

	return path && access(path, F_OK) == 0;
}

int state_check_outside(struct err *err)
{
	return inside_run() ? fail(err, EPERM,
				   "this is inside a run%s, which cannot reach "
				   "guard's state: use guard outside of it",
				   inside_label())
			    : 0;
}

int state_open(struct state *ret, struct err *err)
{
	struct state st = {
		.fd = -1, .runs_fd = -1, .workspaces_fd = -1, .trash_fd = -1};
	struct err why;
	int made = 0;

	if (state_check_outside(err) < 0)
		return -err->num;
	st.home = state_find_home(&why);
	st.path = find_state_path(st.home, &why, err);
	if (st.path) {
		st.store_path = path_join(st.path, "store");
		st.fd = open_state_dir(st.path, err);
	}
	if (st.fd < 0 ||
	    open_state_subdir(st.fd, "runs", &st.runs_fd, err) < 0 ||
	    open_state_subdir(st.fd, "workspaces", &st.workspaces_fd, err) <
		    0 ||
	    (made = open_state_subdir(st.fd, "trash", &st.trash_fd, err)) < 0) {
		state_close(&st);
		return err_context(err, "guard's state");
	}
	clock_keep(st.fd, made);
	*ret = st;
	return 0;
}

/* The nearest directory at or above dir that has a .git. A home directory kept
 * in git does not make everything below it one project. */
static char *find_work_tree(const struct state *st, const char *dir)
{
	auto_free char *at = mem_strdup(dir);

	while (!path_below(st->path, at) &&
	       !(st->home && path_below(st->home, at))) {
		auto_free char *git = path_join(at, ".git"), *below = NULL;
		struct stat found;

		if (lstat(git, &found) == 0)
			return TAKE(at);
		below = TAKE(at);
		at = path_parent(below);
	}
	return mem_strdup(dir);
}

static int refuse_project(const struct state *st, const char *path,
			  enum project_use use, struct err *err)
{
	const char *remedy = use == PROJECT_STORE
				     ? "go to the project's own directory, or "
				       "name the directory"
				     : "go to the project's own directory, or "
				       "name it with -C";

	if (strcmp(path, "/") == 0)
		return fail(err, EPERM, "'/' cannot be a project: %s", remedy);
	if (path_below(path, st->path))
		return fail(
			err, EPERM,
			"%s is guard's own state and cannot be a project: %s",
			text_quote(path), remedy);
	if (st->home && strcmp(path, st->home) == 0)
		return fail(err, EPERM,
			    "%s is your home directory: %s to include all of "
			    "it; else %s",
			    text_quote(path),
			    use == PROJECT_STORE ? "name it" : "--home",
			    remedy);
	if (st->home && path_below(st->home, path))
		return fail(err, EPERM,
			    "%s contains your home directory and cannot be a "
			    "project: %s",
			    text_quote(path), remedy);
	if (path_below(st->path, path))
		return fail(err, EPERM,
			    "guard's state (%s) is in %s: set GUARD_HOME to a "
			    "directory outside of the project",
			    text_quote(st->path), text_quote(path));
	return 0;
}

static int check_named_dir(const char *path, const char *name, struct err *err)
{
	struct stat found;

	if (stat(path, &found) < 0)
		return fail_errno(err, "%s", text_quote(name));
	if (!S_ISDIR(found.st_mode))
		return fail(err, ENOTDIR, "%s is not a directory",
			    text_quote(name));
	return 0;
}

char *state_directory(const struct state *st, const char *path, struct err *err)
{
	auto_free char *named_dir = NULL;

	/* An unset variable of a script gives an empty path. */
	if (!*path) {
		(void)fail(err, ENOENT,
			   "'' is not a directory: `.` is the current one");
		return NULL;
	}
	named_dir = path_resolve(path, err);
	if (!named_dir || check_named_dir(named_dir, path, err) < 0)
		return NULL;
	if (strcmp(named_dir, "/") == 0) {
		(void)fail(err, EPERM,
			   "'/' is too large for a snapshot: name directories "
			   "in it");
		return NULL;
	}
	if (path_below(named_dir, st->path)) {
		(void)fail(err, EPERM, "%s is guard's own state",
			   text_quote(path));
		return NULL;
	}
	return TAKE(named_dir);
}

char *state_project(const struct state *st, const char *dir,
		    enum project_use use, struct err *err)
{
	auto_free char *start = path_resolve(dir ?: ".", err);
	auto_free char *project = NULL;

	if (!start)
		return NULL;
	if (use != PROJECT_FIND &&
	    check_named_dir(start, dir ?: start, err) < 0) {
		(void)err_context(err, dir ? "-C" : "the current directory");
		return NULL;
	}
	project = find_work_tree(st, start);
	if (use != PROJECT_FIND && refuse_project(st, project, use, err) < 0)
		return NULL;
	return TAKE(project);
}

int state_check_project(const char *dir, enum project_use use, struct err *err)
{
	struct err why, ignored;
	auto_free char *home = state_find_home(&why);
	auto_free char *path = find_state_path(home, &why, &ignored);
	const struct state st = {.home = home, .path = path};
	auto_free char *project = NULL;

	/* state_open() reports the reason. */
	if (!path)
		return 0;
	project = state_project(&st, dir, use, err);
	return project ? 0 : -err->num;
}

static void set_json_text(json_t *object, const char *key, const char *text)
{
	AUTO(buf) struct buf b = {0};

	if (text_is_utf8(text, strlen(text)))
		buf_add_text(&b, text);
	else
		text_escape(&b, text, strlen(text), false);
	(void)json_object_set_new(object, key, json_string(buf_text(&b)));
}

bool state_is_due(const struct state *st, const char *stamp, int64_t seconds)
{
	int64_t now = timestamp_now().sec;
	auto_close int fd = -1;
	struct stat s;

	if (fstatat(st->fd, stamp, &s, AT_SYMLINK_NOFOLLOW) == 0 &&
	    s.st_mtime <= now && s.st_mtime > now - seconds)
		return false;
	fd = openat(st->fd, stamp, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	(void)futimens(fd, NULL);
	return true;
}

void state_log(const struct state *st, const char *action, ...)
{
	auto_close int fd = openat(
		st->fd, "oplog",
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	json_t *line = json_object();
	auto_free char *text = NULL;
	time_t now = time(NULL);
	char when[32];
	struct tm utc;
	const char *key;
	va_list list;

	(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ",
		       gmtime_r(&now, &utc));
	set_json_text(line, "time", when);
	set_json_text(line, "action", action);
	(void)json_object_set_new(line, "uid", json_integer(geteuid()));
	(void)json_object_set_new(line, "pid", json_integer(getpid()));
	va_start(list, action);
	while ((key = va_arg(list, const char *))) {
		const char *value = va_arg(list, const char *);

		if (value)
			set_json_text(line, key, value);
	}
	va_end(list);
	text = json_dumps(line, JSON_COMPACT);
	json_decref(line);
	if (fd >= 0 && text) {
		AUTO(buf) struct buf b = {0};

		buf_printf(&b, "%s\n", text);
		(void)fd_write(fd, b.data, b.len);
	}
}
