/*
 * What guard keeps of a run. launch.c makes it and takes it down; relay.c lets
 * the command go and is between the two until the last process is gone.
 * enter.c makes one for a command that comes later, in another guard's run.
 */
#ifndef GUARD_SANDBOX_LAUNCH_H
#define GUARD_SANDBOX_LAUNCH_H

#include <signal.h>

#include "guard/sandbox/tty/stdio_proxy.h"
#include "guard/sandbox/internal.h"

struct sandbox {
	struct setup setup;
	struct filters filters;
	struct tty *tty; /* NULL: the run has none */
	pid_t pid; /* the run's pid 1; 0: none, or another guard's */
	int pid_fd, socket;
	char *command; /* for messages */
	int64_t timeout_ms;
	/* from the release to the end: */
	int signal_fd; /* -1: signals are as the caller had them */
	sigset_t signals_before;
	int caller_fds[3]; /* a visitor's own, where 0, 1, 2 were opened again
			    */
	struct stdio_proxies stdio_proxies;
	int flags_before[3]; /* of descriptors 0, 1, 2 as open files */
	bool has_status, ending;
	bool is_empty; /* its pid 1 alone is left, in its exit */
	int status;
	int64_t deadline; /* 0: none; monotonic ms */
	struct cgroup cgroup;
	struct pasta pasta;
	bool network_lost;
	char *refused_rename; /* see sandbox_refused_rename() */
	enum sandbox_refused_rename refused_rename_how;
	struct watch watch;
	int64_t next_watch, next_tick; /* 0: there is none */
	enum sandbox_tick_action (*tick)(void *arg, int *ret_next_ms);
	void *tick_arg;
	unsigned int end_requests; /* of a visitor's guard: signals */
	enum sandbox_limit limit; /* why it is ending */
	/* what was asked for; 0: nothing */
	uint64_t memory, pids;
	unsigned int cpus_milli;
	bool kernel_pids_limit; /* the number of processes */
};

/* ---- launch.c ---- */

/* One with nothing in it, for sandbox_free(). */
struct sandbox *launch_new(void);
/* Until all is set up, and takes the terminal. */
int launch_wait_ready(struct sandbox *sb, struct err *err);

/* ---- relay.c ---- */

/* SIGKILL for pid 1, which all the others follow. */
void relay_kill(const struct sandbox *sb);
/* The terminal and the signals are the caller's again. */
void relay_restore_caller(struct sandbox *sb);
/* Milliseconds until something is to be looked at, for poll(2). */
int relay_next_wait(const struct sandbox *sb);
enum relay_limits { RELAY_WITHIN_LIMITS, RELAY_TIMED_OUT, RELAY_BEYOND_LIMIT };
/* Looks at what is due. sb->limit is the one that was met, if any. */
enum relay_limits relay_check_limits(struct sandbox *sb);

/* ---- doze.c ---- */

/* Stops guard, as sig stopped the command. True: somebody let guard go on, so
 * the command is to go on as well. False: it has done so itself, or has ended,
 * or a limit was met. */
bool suspend_with_command(struct sandbox *sb, int sig);

#endif
