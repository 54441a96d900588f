/*
 * Suspends a live run from outside while its layer is read.
 *
 * Every process is stopped with SIGSTOP, pid 1 first and parents before their
 * children, so that no shell in the run notices that its jobs stop. Processes
 * that were stopped before stay stopped. The processes are the descendants of
 * the run's pid 1; a process of the run cannot leave that tree. A process that
 * waits for pid 1's answer (notifier.h) cannot be stopped, and makes its call
 * only after the answer: for that pid 1 and its workers must be resumed.
 *
 * A run with limits has a cgroup v2 of its own and is frozen with that instead:
 * atomically, and invisibly to the run.
 *
 * The file "suspended" in the run's directory lists the suspended processes.
 * The caller holds a lock on the file. When the caller dies, the kernel
 * releases the lock, and the guard that supervises the run resumes it. SIGTSTP
 * is blocked meanwhile: a stopped caller would keep the run suspended.
 */
#ifndef GUARD_SANDBOX_FREEZER_H
#define GUARD_SANDBOX_FREEZER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The start time of a process in clock ticks; 0: no such process. Together with
 * the pid it is unique until the next boot. */
uint64_t freezer_start_time(pid_t pid);

struct freezer;

/* Suspends the run with this pid 1 and this directory. On return no process of
 * the run executes, and the caller owns *ret. Errors: -ESRCH if the run has
 * ended; -ETIMEDOUT if a process does not stop (all are resumed); -EBUSY if
 * another process has suspended the run and keeps it so. */
int freezer_begin(int run_fd, pid_t init, uint64_t start, struct freezer **ret,
		  struct err *err);
/* Resumes the run. *f may be NULL. */
void freezer_end(struct freezer **f);

/*
 * Stops the run until freezer_continue(), whatever becomes of the caller. Other
 * processes can suspend it meanwhile, and it stays stopped after that. The file
 * "paused" in the run's directory lists the processes.
 */
int freezer_pause(int run_fd, pid_t init, uint64_t start, struct err *err);
bool freezer_is_paused(int run_fd);
void freezer_continue(int run_fd);

/* Resumes the run if the process that suspended it has died. Cheap: the guard
 * that supervises the run calls this several times a second. */
void freezer_resume_abandoned(int run_fd);

#endif
