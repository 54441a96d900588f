/*
 * Files that only commits of a run have: the index can be written without the
 * work tree, a commit can take back what an earlier one added, and a branch, a
 * stash or a tag need not be checked out. So of each new commit (gitversions.h)
 * the versions are listed that the run's work tree does not have at that path,
 * and judged by the rules of risks as a change of the work tree's file.
 */
#ifndef GUARD_CHANGE_COMMIT_FILES_H
#define GUARD_CHANGE_COMMIT_FILES_H

#include "guard/change/importer.h"
#include "guard/rules/risk.h"

/* The mode of a submodule, whose commit is another one. */
#define COMMIT_FILES_SUBMODULE 0160000u
/* The rule of commits that were not read. */
#define COMMIT_FILES_UNREAD "commits-unread"

struct commit_file {
	char *path; /* absolute, in the repository's work tree */
	char *shown; /* for people */
	struct gitid commit;
	uint32_t mode; /* git's */
	bool in_worktree; /* a worktree of the run has it, whose branch it is */
	bool unknown; /* the work tree's file is too large, or its bytes are
			 made by a program: it was not compared */
	struct risks risks;
	enum risk_level worst; /* of all versions of the path */
	size_t order; /* the newest commit first */
	/* Of the path, with the level of this one; 0: another version stands
	 * for it. */
	size_t versions;
};

struct commit_files {
	struct commit_file *items; /* the worst path first, the worst and newest
				     of its versions first */
	size_t count, capacity;
	size_t unread; /* commits that were not read */
};

/* After importer_open(), whose trees must be stored. */
int commit_files_find(struct context *c, const struct session *s,
		      const struct importer *imp, struct commit_files *ret,
		      struct err *err);
/* "only in commit 0123456789", to free. */
char *commit_files_place(const struct commit_file *f);
/* "is only in commit 0123456789 and runs at make", to free. */
char *commit_files_sentence(const struct commit_file *f,
			    const struct risk *risk);
void commit_files_free(struct commit_files *f);

#endif
