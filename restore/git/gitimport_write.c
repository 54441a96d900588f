/* Writes of an import: the pack and refs, the index, a branch. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/copybytes.h"
#include "base/dirtree.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/text.h"
#include "restore/git/gitimport_private.h"
#include "snapshot/store/content.h"

#define INDEX "index"
/* git has this object in every repository. */
#define EMPTY_TREE "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

/* --- into the user's repository --- */

/* The end of the name: ".pack" or ".idx". */
static int copy_pack_file(const struct gitimport *im, int dir, const char *end,
			  struct err *err)
{
	AUTO(atomic_file) struct atomic_file file = ATOMIC_FILE_NONE;
	auto_free char *from = mem_printf(GITIMPORT_PACK "%s", end);
	auto_free char *name = mem_printf("pack-%s%s", im->pack.hex, end);
	auto_close int fd = openat(im->run.dirfd, from, O_RDONLY | O_CLOEXEC);
	struct stat st;
	int got;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_errno(err, "read the pack");
	if (atomic_begin(dir, name, 0444, &file, err) < 0 ||
	    copybytes(fd, file.fd, st.st_size, NULL, NULL, err) < 0)
		return -err->num;
	got = atomic_publish(&file, name, err);
	/* An interrupted import may have left this file. */
	return got == -EEXIST ? 0 : got;
}

/*
 * The pack appears complete or not at all: git sees it when its index, the last
 * file, appears. Until the refs are written NAME.keep protects the objects from
 * a git gc of the user, as in git fetch.
 */
static int copy_pack(struct gitimport *im, int dir, char **ret_keep,
		     struct err *err)
{
	*ret_keep = mem_printf("pack-%s.keep", im->pack.hex);
	return atomic_write(dir, *ret_keep, "guard import\n", 13, 0600,
			    ATOMIC_NO_SYNC, err) < 0 ||
			       copy_pack_file(im, dir, ".pack", err) < 0 ||
			       copy_pack_file(im, dir, ".idx", err) < 0
		       ? -err->num
		       : 0;
}

static int create_ref(struct gitimport *im, const struct gitimport_ref *r,
		      struct err *err)
{
	auto_free char *name = mem_printf("%s/%s", im->list.prefix, r->name);
	auto_free char *lock = mem_printf("%s/%s.lock", im->to_path, name);
	git_oid oid;
	int got = im->git->oid_fromstr(&oid, r->id.hex);

	if (got == 0)
		got = libgit_move_ref(im->git, im->to, name, NULL, &oid, NULL);
	/* A killed import has left the lock: the name is new, so that no other
	 * program uses it. */
	if (got == GIT_ELOCKED && unlink(lock) == 0)
		got = libgit_move_ref(im->git, im->to, name, NULL, &oid, NULL);
	if (got >= 0)
		return 0;
	(void)libgit_failed(text_quote(name), err);
	if (got == GIT_EEXISTS)
		err->num = EEXIST;
	return -err->num;
}

int gitimport_write(struct gitimport *im, struct err *err)
{
	auto_free char *path = path_join(im->to_path, "objects/pack");
	auto_close int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	auto_free char *keep = NULL;
	size_t i;
	int got;

	if (dir < 0)
		return fail_errno(err, "open your repository's objects/pack");
	got = gitimport_check_complete(im, err);
	if (got == 0)
		got = gitlfs_write(&im->lfs, im->to_path, err);
	if (got == 0 && im->list.objects)
		got = copy_pack(im, dir, &keep, err);
	for (i = 0; got == 0 && i < im->list.count; i++)
		if (!im->list.items[i].known)
			got = create_ref(im, &im->list.items[i], err);
	if (keep)
		(void)unlinkat(dir, keep, 0);
	return got;
}

/* --- HEAD's branch and the index --- */

/* "<dropped> TAB <added>" */
static int parse_distance(void *arg, const char *line, struct err *err)
{
	struct gitimport_distance *d = arg;

	return sscanf(line, "%" SCNu64 " %" SCNu64, &d->dropped, &d->added) == 2
		       ? 0
		       : gitimport_fail_line(line, err);
}

int gitimport_distance(struct gitimport *im, const struct gitid *from,
		       const struct gitid *to, struct gitimport_distance *ret,
		       struct err *err)
{
	auto_free char *range =
		*from->hex ? mem_printf("%s...%s", from->hex, to->hex)
			   : mem_strdup(to->hex);
	char *const arguments[] = {"rev-list", "--left-right", "--count", range,
				   NULL};

	return gitrun_lines(&im->run, GITRUN_RESULT, arguments, NULL,
			    parse_distance, ret, err);
}

/* The entries of a split index are in files beside it; git writes a complete
 * one. */
static int link_shared_indexes(struct gitimport *im, const char *path,
			       struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int dir = fd_open_dir(AT_FDCWD, path);
	size_t i;

	if (dir < 0)
		return fail_errno(err, "open your repository");
	if (dirlist_read(dir, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_free char *shared = path_join(path, name);

		if (strncmp(name, "sharedindex.", 12) != 0)
			continue;
		if (symlinkat(shared, im->run.dirfd, name) < 0 &&
		    errno != EEXIST)
			return fail_errno(err, "create a link to %s",
					  text_quote(shared));
		names_add(&im->run.readable, shared);
	}
	return 0;
}

int gitimport_index(struct gitimport *im, struct store *store, const char *dir,
		    const struct entry *index, const struct gitid *from,
		    const struct gitid *to, struct entry *ret, struct err *err)
{
	auto_free char *old = mem_strdup(*from->hex ? from->hex : EMPTY_TREE);
	auto_free char *now = mem_strdup(to->hex);
	/* -i: the copy has no work tree to compare the entries with. */
	char *const arguments[] = {"read-tree", "-i", "-m", old, now, NULL};
	auto_close int fd = -1;

	(void)unlinkat(im->run.dirfd, INDEX, 0);
	if (index) {
		fd = openat(im->run.dirfd, INDEX,
			    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW |
				    O_CLOEXEC,
			    0600);
		if (fd < 0)
			return fail_errno(err, "create a copy of the index");
		if (index->content.type != OBJECT_NONE &&
		    content_write(store, &index->content, fd, NULL, err) < 0)
			return -err->num;
		fd_close(&fd);
	}
	if (link_shared_indexes(im, dir, err) < 0)
		return -err->num;
	if (gitrun(&im->run, GITRUN_RESULT, arguments, NULL, GITRUN_OUTPUT,
		   err) < 0) {
		return err->num != EBADMSG
			       ? -err->num
			       : fail(err, EEXIST,
				      "git cannot change your index for the "
				      "run's commits: commit or unstage your "
				      "staged changes first");
	}
	fd = openat(im->run.dirfd, INDEX, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_errno(err, "open the new index");
	return content_put(store, fd, NULL, &ret->content, &ret->size, err);
}

/* Characters that end a name in a reflog become "_". */
static void clean_name(char *name)
{
	for (; *name; name++)
		if ((unsigned char)*name < ' ' || strchr("<>", *name))
			*name = '_';
}

void gitimport_add_log(struct gitimport *im, const char *home,
		       const struct gitid *from, const struct gitid *to,
		       const char *message, struct buf *log)
{
	static const char none[] = "0000000000000000000000000000000000000000";
	auto_free char *name = NULL, *email = NULL;
	time_t now = time(NULL);
	char zone[8] = "+0000";
	struct tm tm;

	libgit_home(im->git, home);
	name = libgit_setting(im->git, im->to, "GIT_COMMITTER_NAME",
			      "user.name");
	email = libgit_setting(im->git, im->to, "GIT_COMMITTER_EMAIL",
			       "user.email");
	libgit_home(im->git, NULL);
	if (name)
		clean_name(name);
	if (email)
		clean_name(email);
	if (localtime_r(&now, &tm))
		(void)strftime(zone, sizeof(zone), "%z", &tm);
	buf_printf(log, "%s %s %s <%s> %lld %s\t%s\n",
		   *from->hex ? from->hex : none, to->hex,
		   name ? name : "guard", email ? email : "guard",
		   (long long)now, zone, message);
}

/* --- a branch --- */

/* Whether the branch may move on from where it is. 1: it is there already. */
static int check_forward(struct gitimport *im, git_reference *ref,
			 const char *name, const git_oid *from,
			 const git_oid *to, struct err *err)
{
	int got;

	if (im->git->branch_is_checked_out(ref))
		return fail(err, EEXIST, "%s is checked out", text_quote(name));
	if (!from)
		return fail(err, EINVAL, "%s is not a plain branch",
			    text_quote(name));
	if (memcmp(from, to, sizeof(*to)) == 0)
		return 1;
	got = im->git->graph_descendant_of(im->to, to, from);
	if (got < 0)
		return libgit_failed("compare the commits", err);
	return got ? 0
		   : fail(err, EXDEV,
			  "%s has commits that the run's branch lacks: use "
			  "git merge",
			  text_quote(name));
}

int gitimport_forward(struct gitimport *im, const char *branch,
		      const struct gitid *id, struct err *err)
{
	auto_free char *name = mem_printf("refs/heads/%s", branch);
	const git_oid *from = NULL;
	git_reference *ref = NULL;
	git_oid to;
	int got = im->git->oid_fromstr(&to, id->hex);

	if (got == 0)
		got = im->git->reference_lookup(&ref, im->to, name);
	if (got < 0 && got != GIT_ENOTFOUND)
		return libgit_failed("read the branch", err);
	if (got == 0) {
		from = im->git->reference_target(ref);
		got = check_forward(im, ref, name, from, &to, err);
	} else {
		got = 0;
	}
	if (got == 0) {
		got = libgit_move_ref(im->git, im->to, name, from, &to,
				      from ? "guard: fast-forward to a run's"
					   : "guard: a run's branch");
		if (got == GIT_EMODIFIED || got == GIT_EEXISTS)
			got = fail(err, EBUSY,
				   "%s moved during the command: try again",
				   text_quote(name));
		else if (got < 0)
			got = libgit_failed("move the branch", err);
	}
	im->git->reference_free(ref);
	return got;
}
