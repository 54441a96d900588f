/*
 * pid 1's answers to the command's renames (the filter `renames`), and to the
 * failing ends of programs, which are only looked at.
 *
 * Nearly all of them are let go as they are. A folder on a layer is different:
 * where the lower layer has it too, the kernel would say EXDEV. Its rename is
 * done by a worker, a process with the rights of the run that does it for the
 * caller (mend.h), and the caller gets the worker's result. It waits so that
 * only a signal that ends it breaks this off: then the worker undoes what it
 * did. Whatever cannot be read, found or made plain stays the kernel's; so does
 * an exchange, but it is the worker that asks, to see what becomes of it.
 *
 * Two things have to be right for this to give nobody anything: the worker
 * may not do more than the caller could (there are no ids, capabilities,
 * roots or mount namespaces to differ by in a run; when some program fences
 * itself in with Landlock, nothing is mended from then on), and what a path
 * means to the caller must be what it means here (no magic links of /proc).
 */
#ifndef GUARD_SANDBOX_FILTER_RENAME_NOTIFIER_H
#define GUARD_SANDBOX_FILTER_RENAME_NOTIFIER_H

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>
#include <time.h>

#include "guard/sandbox/limits/fd_exhaustion.h"
#include "guard/sandbox/sandbox.h"

#define RENAME_NOTIFIER_WORKERS 16

/* When nothing of the run was there yet, in seconds of both clocks. */
struct rename_notifier_clock {
	time_t real, boot;
};

struct rename_notifier {
	struct rename_notifier_clock begin;
	int listener; /* -1: nobody asks */
	bool closed; /* all is left to the kernel */
	struct rename_notifier_worker {
		pid_t pid; /* 0: free */
		int to_fd;
		char temporary[48];
		char name[NAME_MAX + 1]; /* what is to be renamed */
		enum sandbox_refused_rename how; /* it fails, if it does */
	} workers[RENAME_NOTIFIER_WORKERS];
	/* The first folder that could not be renamed after all (EXDEV); "":
	 * there was none. */
	char refused[NAME_MAX + 1];
	enum sandbox_refused_rename
		refused_how; /* SANDBOX_RENAME_UNREADABLE: of whom */
	/* Renamed something and let nobody see what; 0: there was none. */
	pid_t unreadable_pid;
	struct fd_exhaustion
		fd_exhaustion; /* the first program that ended so */
};

/* The moment it is. */
struct rename_notifier_clock rename_notifier_clock(void);

/* begin: of the run, a visitor's too: what the run's own command writes to is
 * not moved away under it. listener: from filter_load_notifier(), taken over;
 * -1 is fine. */
void rename_notifier_open(struct rename_notifier *r,
			  struct rename_notifier_clock begin, int listener);

/* Takes one question; never blocks on an empty listener that poll(2) has
 * reported. */
void rename_notifier_answer(struct rename_notifier *r);

/* Nobody is left who could ask. */
void rename_notifier_hang_up(struct rename_notifier *r);

/* A child of pid 1 has ended, with that status; true when it was a worker. */
bool rename_notifier_reap(struct rename_notifier *r, pid_t pid, int status);

/* Ends all workers, waits for them a short while and removes what they left
 * unfinished. */
void rename_notifier_close(struct rename_notifier *r);

#endif
