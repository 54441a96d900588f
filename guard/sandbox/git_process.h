/*
 * The sandbox of git where it reads objects of a run (restore/git/gitrun.h).
 *
 * It needs no namespace, so that it is the same for root, for plain users and
 * in containers: Landlock for files, and a list of system calls, none of which
 * makes a socket, a process, or a change of a file's mode or times. Both hold
 * for all programs that the process may execute.
 */
#ifndef GUARD_SANDBOX_GIT_PROCESS_H
#define GUARD_SANDBOX_GIT_PROCESS_H

#include "base/mem.h"

/*
 * Confines the calling process and its programs: it can write below its
 * working directory, and read there, in the system's directories of programs
 * and libraries, and in the readable paths. Needs no_new_privs. -ENOSYS: the
 * kernel has no Landlock.
 */
int git_process_confine(const struct names *readable);

#endif
