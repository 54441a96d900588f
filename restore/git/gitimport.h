/*
 * A run's commits in the user's repository: objects as one pack, the files of
 * git-lfs that it lacks, and refs below refs/guard/<run>/. Nothing else
 * of the repository is written, ever, but the branch of gitimport_forward(): no
 * HEAD, index, configuration, hook or reflog of its own.
 *
 *	gitimport_open()	lists new refs; with `check` git packs and
 *				checks their objects
 *	gitimport_write()	copies the pack, syncs it, then writes the refs
 *
 * git pack-objects packs the objects that refs and reflogs of the run reach and
 * no ref of the user reaches. In a bare repository of guard, git index-pack
 * --strict checks that pack as git fetch does with fetch.fsckObjects: the id
 *and form of each object, and that no object is missing. gitrun.h says what git
 * may do. The user's own repository is read and written by libgit2.
 */
#ifndef GUARD_RESTORE_GIT_GITIMPORT_H
#define GUARD_RESTORE_GIT_GITIMPORT_H

#include "restore/git/gittips.h"
#include "snapshot/tree/entry.h"

struct gitimport_ref {
	char *name; /* below the prefix */
	struct gitid id;
	char type[8]; /* "commit", "tree", "blob" or "tag" */
	bool known; /* a ref of the user reaches it already */
	char *subject; /* of a commit or tag, unescaped, at most 200 bytes */
};

struct gitimport;

struct gitimport_list {
	char *prefix; /* "refs/guard/<run>", with ".2" when that is taken */
	struct gitimport_ref *items; /* new and known refs, by name */
	size_t count, capacity;
	uint64_t commits; /* commits that no ref of the user reaches */
	uint64_t objects, bytes; /* contents of the pack; 0 without `check` */
	size_t fresh; /* refs that are not known */
	size_t lfs_files; /* git-lfs files that the user lacks; with `check` */
	uint64_t lfs_bytes;
	const struct names *notes; /* skipped refs with the reason */
};

struct gitimport_job {
	struct store *store;
	/* The directory with objects and refs before (NULL: not known) and
	 * after the run. */
	const struct entry *then, *now;
	int dirfd; /* the run's directory, for the copy of its objects; borrowed
		    */
	const char *copy; /* the name of the copy there */
	const char *to; /* the user's directory, absolute */
	const char *run_id; /* the prefix is refs/guard/ and this */
	bool local; /* list nothing if the run only cloned the repository */
	bool check;
	uint64_t most; /* bytes of objects; 0: any */
};

/*
 * -EBADMSG: git refuses an object of the run, and why; -ENODATA: an object is
 * missing; -EFBIG: more than `most`; -E2BIG: too much; -ETIMEDOUT: git took too
 * long; -ENOTSUP: a kind of repository that libgit2 cannot handle; -ENOENT: git
 * is not installed. *ret is valid as long as the job's directory is open.
 */
int gitimport_open(const struct gitimport_job *job, struct gitimport **ret,
		   struct err *err);
/* Removes the copy, too. */
void gitimport_free(struct gitimport **im);
/* NULL: an empty list. */
const struct gitimport_list *gitimport_listed(const struct gitimport *im);

/*
 * Writes the pack and the new refs, after an open with `check`. Never moves a
 * ref: -EEXIST; -EBUSY: the user's repository lost objects since.
 */
int gitimport_write(struct gitimport *im, struct err *err);

/* Between two commits of the user's or the import's; from "": no commit. */
struct gitimport_distance {
	uint64_t added; /* commits of `to` that `from` lacks */
	uint64_t dropped; /* commits of `from` that `to` lacks */
};

/* Whether a commit of the run's refs that no ref of the user reaches changes a
 * path of the work tree, or one below it. After an open with `check`. 1, 0. */
int gitimport_touches(struct gitimport *im, const char *path, struct err *err);

/* After an open with `check`. */
int gitimport_distance(struct gitimport *im, const struct gitid *from,
		       const struct gitid *to, struct gitimport_distance *ret,
		       struct err *err);
/*
 * The user's index in the directory dir (NULL: there is none) as `git read-tree
 * -m` makes it when HEAD moves from one commit to another: entries that differ
 * between the commits change, and staged changes of other paths stay. Sets the
 * content and the size of *ret. After an open with `check`. -EEXIST: a path
 * with staged changes is in the way.
 */
int gitimport_index(struct gitimport *im, struct store *store, const char *dir,
		    const struct entry *index, const struct gitid *from,
		    const struct gitid *to, struct entry *ret, struct err *err);

/* Appends a line to the text of a reflog, with the user's name; home: the
 * home directory with the settings. */
void gitimport_add_log(struct gitimport *im, const char *home,
		       const struct gitid *from, const struct gitid *to,
		       const char *message, struct buf *log);

/*
 * Moves a branch of the user on to a commit of the import. Forward only, and
 * only a branch that no work tree has checked out; a missing branch is made.
 * 1: it is there already; -EEXIST: checked out; -EXDEV: it has commits of its
 * own; -EBUSY: it has moved meanwhile.
 */
int gitimport_forward(struct gitimport *im, const char *branch,
		      const struct gitid *id, struct err *err);

#endif
