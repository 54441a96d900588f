/*
 * A run as guard's process sees it. launch.c creates and frees it; relay.c
 * releases the command, relays until the last process has ended and stops guard
 * along with the command; exec_client.c creates one for a command in the run of
 * another guard process.
 */
#ifndef GUARD_SANDBOX_SANDBOX_PRIVATE_H
#define GUARD_SANDBOX_SANDBOX_PRIVATE_H

#include <signal.h>

#include "guard/sandbox/cgroup.h"
#include "guard/sandbox/edits.h"
#include "guard/sandbox/watch.h"
#include "guard/sandbox/message.h"
#include "guard/sandbox/namespaces.h"
#include "guard/sandbox/sandbox.h"
#include "guard/sandbox/setup.h"
#include "guard/sandbox/stdio_proxy.h"
#include "guard/sandbox/tty.h"

struct sandbox {
	struct setup setup;
	struct filters filters;
	struct tty *tty; /* NULL: no terminal */
	pid_t pid; /* the run's pid 1; 0: none, or of another guard process */
	int pid_fd, socket;
	char *command; /* for messages */
	int64_t timeout_ms;
	/* From the release to the end: */
	int signal_fd; /* -1: signals are as the caller had them */
	sigset_t signals_before;
	/* The descriptors of an exec client that were reopened, or -1. */
	int caller_fds[3];
	struct stdio_proxies stdio_proxies;
	int flags_before[3]; /* file status flags of descriptors 0, 1, 2 */
	bool has_status, ending;
	bool is_empty; /* only pid 1 is left, and it exits */
	int status;
	int64_t deadline; /* monotonic ms; 0: none */
	struct cgroup cgroup;
	struct pasta pasta;
	struct edits edits;
	bool network_lost;
	char *refused_rename; /* see struct sandbox_result */
	enum sandbox_refused_rename refused_rename_how;
	char *unasked; /* or NULL */
	struct watch watch;
	int64_t next_watch, next_tick; /* monotonic ms; 0: none */
	enum sandbox_tick_action (*tick)(void *arg, int *ret_next_ms);
	void *tick_arg;
	unsigned int end_requests; /* signals to an exec client */
	enum sandbox_limit limit; /* why the run is ending */
	bool kernel_pids_limit; /* the kernel enforces pids_limit */
};

/* ---- launch.c ---- */

/* Returns an empty one, for sandbox_free(). */
struct sandbox *launch_new(void);
/* Waits for MESSAGE_READY and attaches the terminal. Errors: as reported by
 * pid 1; -ECHILD if it died. */
int launch_wait_ready(struct sandbox *sb, struct err *err);

/* ---- relay.c ---- */

/* Sends SIGKILL to pid 1; the kernel then kills the other processes. */
void relay_kill(const struct sandbox *sb);
/* Restores the caller's terminal modes, signal mask and descriptor flags. */
void relay_restore_caller(struct sandbox *sb);
#endif
