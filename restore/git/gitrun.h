/*
 * git, run in a bare repository that guard made, on objects of a run.
 *
 * The repository (gitcopy_make()) has guard's configuration, no hooks and no
 * refs. The objects of a run lie beside it; git sees them only where a call
 * asks for them:
 *
 *	objects/	the pack that git has checked
 *	run/		the run's object files, unchecked
 *	user		a link to the objects of the user's repository
 *
 * git gets an environment of guard's, no descriptor but its files, limits on
 * memory, processor time and file size. It can write in this repository, and
 * read there, in system directories and in the `readable` paths: no other file,
 * no socket, no other process. Only programs that are part of git itself and
 * start no other are called here: cat-file, diff-tree, index-pack,
 *pack-objects, rev-list, for-each-ref and read-tree.
 */
#ifndef GUARD_RESTORE_GIT_GITRUN_H
#define GUARD_RESTORE_GIT_GITRUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

/*
 * Confines the calling process, which becomes git: write access to its working
 * directory, read access below that and the paths, no sockets. Called after a
 * fork, with no_new_privs. A negative errno: it cannot be confined here.
 */
typedef int gitrun_confine(const struct names *readable);

/* Sets how git is confined, once for the process. Without it gitrun() fails
 * with -ENOTSUP. */
void gitrun_use(gitrun_confine *confine);

/* The path of the git program; NULL: none is installed. PATH is not searched:
 * directories in it may hold files that a run made. */
const char *gitrun_program(void);

/*
 * The limit of processor time, in seconds, for a run's object files of this
 * size in bytes. A pack of 100 KB can hold thousands of deltas on an object
 * that is a thousand times larger.
 */
unsigned int gitrun_seconds(uint64_t bytes);

/* The file for an output that is not kept. */
#define GITRUN_OUTPUT "output"

struct gitrun {
	int dirfd; /* the repository, borrowed */
	struct names readable; /* of the user: objects, parts of the index */
	unsigned int seconds; /* processor time for all calls together */
	unsigned int used;
	/* Bytes of a file that git writes, and of its own memory; 0: enough. */
	uint64_t output_max, data_max;
};

/* The objects that a call sees. */
enum gitrun_objects {
	GITRUN_RUN, /* the run's */
	GITRUN_ALL, /* the run's and the user's; of equal ids the user's */
	GITRUN_CHECKED, /* the checked ones */
	GITRUN_RESULT, /* the checked ones and the user's */
};

/*
 * Runs git with these arguments (NULL ends them) and waits for it. input: its
 * standard input, or NULL; output: the file in the repository that its standard
 * output becomes.
 *
 * -ENOENT: no git is installed; -ENOTSUP: it cannot be confined here;
 * -ETIMEDOUT: it took too long; -EBADMSG: it failed or was killed, and the
 * error quotes its first message.
 */
int gitrun(struct gitrun *g, enum gitrun_objects objects,
	   char *const *arguments, const struct buf *input, const char *output,
	   struct err *err);

/*
 * The same, and each line of the output, without its end, to each(), which
 * stops with a negative result.
 */
int gitrun_lines(struct gitrun *g, enum gitrun_objects objects,
		 char *const *arguments, const struct buf *input,
		 int (*each)(void *arg, const char *line, struct err *err),
		 void *arg, struct err *err);

#endif
