#include "restore/git/gitcopy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "snapshot/store/content.h"

#define BYTES_MAX (32ull << 30)
#define FILES_MAX 2000000
#define SHALLOW_MAX (64u << 20)
#define RESERVE (256ull << 20)
#define ALTERNATES_MAX (1u << 20)
#define ALTERNATES_DEPTH 5 /* as in git */
#define HEAD "ref: refs/heads/none\n"

/* Deltas are sought among small objects only, packs are mapped in small windows
 * and by two threads, so that memory is bounded. */
static const char config[] = "[core]\n"
			     "\trepositoryformatversion = 0\n"
			     "\tbare = true\n"
			     "\thooksPath = /dev/null\n"
			     "\tfsmonitor = false\n"
			     "\tsplitIndex = false\n"
			     "\tbigFileThreshold = 1m\n"
			     "\tpackedGitWindowSize = 32m\n"
			     "\tpackedGitLimit = 512m\n"
			     "[pack]\n"
			     "\tthreads = 2\n"
			     "\tuseBitmaps = false\n"
			     "\twindowMemory = 64m\n"
			     "\tdeltaCacheSize = 64m\n"
			     "\twriteReverseIndex = false\n";

struct copy {
	struct store *store;
	int fd; /* run/ */
	uint64_t bytes, files, space;
};

static bool all_hex(const char *text, size_t len)
{
	return strspn(text, "0123456789abcdef") >= len;
}

/* <2 hex>/<38 hex>, or pack/pack-<40 hex>.pack: git makes indexes anew */
static bool is_object_file(const char *path)
{
	if (strncmp(path, "pack/pack-", 10) == 0)
		return all_hex(path + 10, 40) &&
		       strcmp(path + 50, ".pack") == 0;
	return strlen(path) == 41 && path[2] == '/' && all_hex(path, 2) &&
	       all_hex(path + 3, 38);
}

static int make_folder(int dirfd, const char *name, struct err *err)
{
	if (mkdirat(dirfd, name, 0700) < 0 && errno != EEXIST)
		return fail_errno(err, "create %s", text_quote(name));
	return 0;
}

static bool is_copied(const char *path, const struct entry *e)
{
	return e && S_ISREG(e->mode) && is_object_file(path) &&
	       !(e->flags & ENTRY_INCOMPLETE);
}

static int count_file(void *arg, const char *path, const struct entry *old,
		      const struct entry *e, struct err *err)
{
	uint64_t *bytes = arg;

	(void)old;
	(void)err;
	if (is_copied(path, e))
		*bytes += e->size;
	return 0;
}

static int copy_file(void *arg, const char *path, const struct entry *old,
		     const struct entry *e, struct err *err)
{
	struct copy *c = arg;
	char folder[8] = "";
	auto_close int fd = -1;

	(void)old;
	if (!is_copied(path, e))
		return 0;
	c->files++;
	c->bytes += e->size;
	if (c->files > FILES_MAX || c->bytes > BYTES_MAX)
		return fail(err, E2BIG,
			    "the run's repository is too large to import: more "
			    "than %d object files or %s",
			    FILES_MAX, text_size(BYTES_MAX));
	if (c->bytes > c->space)
		return fail(
			err, ENOSPC,
			"the run's git objects (%s so far) do not fit on the "
			"disk of guard's state, which holds a temporary copy",
			text_size(c->bytes));
	memcpy(folder, path, strcspn(path, "/"));
	if (make_folder(c->fd, folder, err) < 0)
		return -err->num;
	fd = openat(c->fd, path,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd < 0)
		return fail_errno(err, "create %s", text_quote(path));
	return e->content.type == OBJECT_NONE
		       ? 0
		       : content_write(c->store, &e->content, fd, NULL, err);
}

static int make_repository(const char *git, int dir, struct err *err)
{
	static const char *const folders[] = {"refs", "objects", "objects/pack",
					      "run", "run/pack"};
	auto_free char *user = path_join(git, "objects");
	auto_free char *shallow = path_join(git, "shallow");
	AUTO(buf) struct buf text = {0};
	size_t i;
	int got;

	for (i = 0; i < ARRAY_SIZE(folders); i++)
		if (make_folder(dir, folders[i], err) < 0)
			return -err->num;
	if (symlinkat(user, dir, "user") < 0)
		return fail_errno(err, "create a link to %s", text_quote(user));
	if (atomic_write(dir, "HEAD", HEAD, strlen(HEAD), 0600, ATOMIC_NO_SYNC,
			 err) < 0 ||
	    atomic_write(dir, "config", config, strlen(config), 0600,
			 ATOMIC_NO_SYNC, err) < 0)
		return -err->num;
	/* A repository whose history has an end: git must find the same end
	 * here. */
	got = fd_slurp_at(AT_FDCWD, shallow, SHALLOW_MAX, &text, err);
	if (got < 0)
		return got == -ENOENT ? 0 : got;
	return atomic_write(dir, "shallow", text.data, text.len, 0600,
			    ATOMIC_NO_SYNC, err);
}

static int find_objects(struct store *store, const struct entry *root,
			struct entry *ret, struct err *err)
{
	int got;

	if (!root)
		return 0;
	got = tree_lookup(store, root, "objects", ret, err);
	if (got > 0 && !S_ISDIR(ret->mode))
		entry_free(ret);
	return got < 0 ? got : 0;
}

int gitcopy_make(struct store *store, const struct entry *base,
		 const struct entry *result, const char *git, int dirfd,
		 const char *name, uint64_t most, uint64_t *ret_bytes,
		 struct err *err)
{
	AUTO(entry) struct entry old = {0}, now = {0};
	struct copy c = {.store = store};
	auto_close int run = -1;
	auto_close int dir = -1;
	struct statvfs fs;
	uint64_t total = 0;

	if (find_objects(store, base, &old, err) < 0 ||
	    find_objects(store, result, &now, err) < 0 ||
	    (most &&
	     tree_diff(store, old.mode ? &old : NULL, now.mode ? &now : NULL,
		       count_file, &total, err) < 0))
		return -err->num;
	if (most && total > most)
		return fail(err, EFBIG,
			    "the run's git objects have %s, which have to be "
			    "copied (-y agrees)",
			    text_size(total));
	if (make_folder(dirfd, name, err) < 0)
		return -err->num;
	dir = fd_open_dir(dirfd, name);
	if (dir < 0)
		return fail_errno(err, "open %s", text_quote(name));
	if (make_repository(git, dir, err) < 0)
		return -err->num;
	run = fd_open_dir(dir, "run");
	if (run < 0 || fstatvfs(run, &fs) < 0)
		return fail_errno(err, "read the disk's free space");
	c.space = (uint64_t)fs.f_bavail * fs.f_frsize;
	c.space -= c.space > RESERVE ? RESERVE : c.space;
	c.fd = run;
	if (tree_diff(store, old.mode ? &old : NULL, now.mode ? &now : NULL,
		      copy_file, &c, err) < 0)
		return -err->num;
	*ret_bytes = c.bytes;
	return TAKE_FD(dir);
}

/* A path in quotes, which git takes, too, is not added: the import reports
 * missing objects then. */
static void add_objects(const char *path, int depth, struct names *to)
{
	auto_free char *packs = path_join(path, "pack");
	auto_free char *list = path_join(path, "info/alternates");
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	char *rest, *line;

	names_add(to, path);
	/* This may be a link. */
	names_add(to, packs);
	if (depth == ALTERNATES_DEPTH ||
	    fd_slurp_at(AT_FDCWD, list, ALTERNATES_MAX, &text, &ignored) < 0)
		return;
	(void)buf_text(&text);
	rest = (char *)text.data;
	while ((line = strsep(&rest, "\n"))) {
		auto_free char *below =
			*line == '/' ? mem_strdup(line) : path_join(path, line);

		if (*line && *line != '#' && *line != '"')
			add_objects(below, depth + 1, to);
	}
}

void gitcopy_add_objects(const char *git, struct names *to)
{
	auto_free char *path = path_join(git, "objects");

	add_objects(path, 0, to);
}
