/*
 * The sandbox of a run. It starts a command in new namespaces, without
 * capabilities, behind a seccomp filter, on a root assembled for it; relays
 * its terminal and signals; ends all processes that it leaves behind.
 *
 *	sandbox_start()	  namespaces, mounts, filters: setup is complete, the
 *			  command does not run yet
 *	sandbox_release() executes the command
 *	sandbox_wait()	  until the last process has ended
 *	sandbox_unmount() until the mounts are gone as well, where that matters
 *	sandbox_free()
 *
 * A command never runs without the complete sandbox: a missing layer of
 * protection is an error of sandbox_start(), with the remedy. When the caller
 * calls sandbox_start() it has no threads and no child that shares its
 * descriptors.
 *
 * This directory knows nothing of layers, stores or sessions: two callbacks
 * mount the overlays, in the child. docs/containment.md has the order of the
 * steps and the reasons.
 */
#ifndef GUARD_SANDBOX_SANDBOX_H
#define GUARD_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* How a run sees a path. */
enum visibility {
	VISIBILITY_READ_ONLY, /* the machine's, or granted by --ro */
	VISIBILITY_READ_WRITE, /* granted by --rw */
	VISIBILITY_LAYER, /* writes go to the run's layer */
	/* the run's own directory, without the machine's files */
	VISIBILITY_PRIVATE,
	VISIBILITY_HIDDEN, /* masked */
};

/* SANDBOX_NET_PRIVATE: see network.h. */
enum sandbox_net { SANDBOX_NET_HOST, SANDBOX_NET_NONE, SANDBOX_NET_PRIVATE };

/* Ports of the machine that are forwarded to a run with a private network. */
struct sandbox_port {
	char host[46]; /* the machine's address to listen on */
	uint16_t outside, inside; /* the first port of each range */
	uint16_t more; /* number of ports after the first */
	bool udp;
};

/* A file of guard's own that the run sees, read-only, at another path. */
struct sandbox_file {
	const char *path; /* absolute, below a private directory of the run */
	const char *source; /* absolute; without it the run has no such file */
};

/* A settings file without its secrets, as the run sees it. */
struct redaction {
	char *path; /* absolute */
	struct buf text; /* content without the secrets */
	char *copy; /* a file with that content instead, absolute, or NULL */
	bool any; /* the file contains secrets */
	bool closed; /* guard cannot remove secrets: text is empty */
	bool tracked; /* git tracks the file: the run sees it as it is */
};

struct redactions {
	struct redaction *items;
	size_t count, capacity;
};

struct sandbox;
struct grant;
struct grants;

struct sandbox_policy {
	char *const *argv; /* the command; argv[0] is found by PATH */
	bool own_program; /* the command is guard's program, called argv[0] */
	char *const *envp; /* the complete environment (sandbox_environ()) */
	const char *cwd; /* absolute; exists in the run */
	const char *home; /* absolute; NULL: an empty private one */
	/* Directories on disk for /tmp and /var/tmp; -1: in memory. */
	int tmp_fd, var_tmp_fd;
	/* Absolute paths to mask: a directory is empty and read-only, a file is
	 * empty. Missing paths are ignored, symbolic links resolved. */
	const char *const *hide; /* NULL-terminated */
	/* Files that the run sees with this content, read-only, also if they
	 * are in hide; NULL: none. */
	const struct redactions *redactions;
	const struct sandbox_file *files; /* the last path is NULL; or NULL */
	/* An absolute path of hide that no grant may expose, by any alias;
	 * NULL: none. */
	const char *never_granted;
	/* Also below masked or private directories; NULL: none. */
	const struct grants *grants;
	enum sandbox_net net;
	const struct sandbox_port *ports;
	size_t port_count;
	bool nested; /* allow sandboxes in the run */
	bool continued; /* the upper layers have files of an earlier run */
	/* An empty, private home directory. Landlock also forbids writes to
	 * FIFOs and devices on read-only mounts. Not with nested. */
	bool strict;
	/* System calls that are otherwise refused. */
	bool allow_perf, allow_io_uring, allow_userfaultfd, allow_32bit;
	int exec_socket_fd; /* of exec_socket_create(), or -1 */
	int64_t timeout_ms; /* 0: none */
	uint64_t pids_limit; /* 0: default */
	uint64_t memory; /* bytes; 0: no limit */
	unsigned int cpus_milli; /* thousandths of a processor; 0: no limit */
	/* Bytes of /tmp and /var/tmp together, which are then in memory; 0: no
	 * limit. */
	uint64_t tmp_size;
	/* User and groups of the command; only for root. */
	bool has_user;
	uid_t user;
	gid_t group;
	const gid_t *groups; /* supplementary groups */
	size_t group_count;
	/* The paths of the layers, in the order of their mounts; NULL: none. */
	const char *const *layers; /* NULL-terminated */
	/* Called in the child: open_layers() before any mount, mount_layer()
	 * to mount the layer with this number onto the new root. */
	int (*open_layers)(void *arg, struct err *err);
	int (*mount_layer)(void *arg, size_t number, int root_fd,
			   struct err *err);
	void *layers_arg;
	/* Called in guard while pid 1 sets itself up, to use that time. An
	 * error becomes one of sandbox_start(). NULL: none. */
	int (*during_setup)(void *arg, const struct sandbox *sb,
			    struct err *err);
	void *during_setup_arg;
};

/* -EPERM in a chroot without /proc, -ENOENT without /proc elsewhere; the text
 * has the remedy. */
int sandbox_check_proc(struct err *err);

/* Starts pid 1 and waits until setup is complete. Errors: -EPERM, -ENOSPC,
 * -EACCES if user namespaces are off (the text names the setting); others from
 * the failed step, named in the text. On error nothing is left behind. */
int sandbox_start(const struct sandbox_policy *policy, struct sandbox **ret,
		  struct err *err);

/* Executes the command. Errors: -ENOENT for a missing command; -EACCES,
 * -ENOEXEC and others of execve(2). */
int sandbox_release(struct sandbox *sb, struct err *err);

enum sandbox_end {
	SANDBOX_EXITED, /* code: exit status */
	SANDBOX_SIGNALED, /* code: signal */
	SANDBOX_STOPPED, /* by guard: timeout, limit or tick */
	SANDBOX_LOST, /* exec session: the run ended first */
};

/* The limit for which guard ended the run; NONE: tick asked for it. */
enum sandbox_limit {
	SANDBOX_LIMIT_NONE,
	SANDBOX_LIMIT_TIME,
	SANDBOX_LIMIT_PIDS,
	SANDBOX_LIMIT_MEMORY,
	SANDBOX_LIMIT_QUOTA, /* a resource of the machine: see why */
};

/* Why a rename failed in the run that would not fail outside. */
enum sandbox_refused_rename {
	SANDBOX_RENAME_REFUSED, /* a directory was renamed (EXDEV) */
	SANDBOX_EXCHANGE_REFUSED, /* it was exchanged with a file (EXDEV) */
	/* The name is that of a program whose memory guard cannot read; it
	 * renamed something, perhaps with success. */
	SANDBOX_RENAME_UNREADABLE,
};

struct sandbox_result {
	enum sandbox_end end;
	int code;
	enum sandbox_limit limit;
	const char *why; /* with SANDBOX_LIMIT_QUOTA; static */
	uint64_t killed; /* by the kernel, at the memory limit */
	bool network_lost; /* the private network ended before the run */
	/* The first rename that failed only because of the run: the name as the
	 * run sees it, valid as long as the sandbox; NULL: none. */
	const char *refused_rename;
	enum sandbox_refused_rename refused_how;
};

/*
 * A run's programs ask guard before they overwrite a file in a way that passes
 * a lease by (notifier.h). Returns the last reason why one may not have asked,
 * or NULL. Known soon after sandbox_release(), and may come later; valid until
 * the next call of sandbox_wait() or its tick.
 */
const char *sandbox_unasked(const struct sandbox *sb);

/* Sockets of well-known services that the user could connect to and the run
 * cannot: NULL-terminated, valid as long as sb. */
char *const *sandbox_unreachable_sockets(const struct sandbox *sb);

/* The number of sockets with a listener below a granted directory. They are
 * masked, except those that are granted themselves. */
size_t sandbox_count_sockets(const struct sandbox *sb, const struct grant *g);

/* Appends a sentence for each requested limit: who enforces it. Nothing without
 * limits. While the policy of sandbox_start() lives. */
void sandbox_describe_limits(const struct sandbox *sb, struct buf *to);

enum sandbox_tick_action {
	SANDBOX_CONTINUE,
	SANDBOX_KILL, /* at once */
};

/*
 * Relays until the last process has ended. tick, if not NULL, is called
 * *ret_next_ms (250) after its last call; while the caller is stopped, by a
 * child of the caller, where it must not change any state. Signals to guard
 * reach the run. On return the terminal has the caller's modes.
 */
int sandbox_wait(struct sandbox *sb,
		 enum sandbox_tick_action (*tick)(void *arg, int *ret_next_ms),
		 void *arg, struct sandbox_result *ret, struct err *err);

/* Gives the terminal to guard, for a question, or to the run again. */
void sandbox_hold_terminal(struct sandbox *sb, bool hold);

/* The run's pid 1 in guard's pid namespace, for freezer_begin(). */
pid_t sandbox_pid1(const struct sandbox *sb);

/* Whether a line on guard's terminal disturbs no screen of the run. */
bool sandbox_takes_lines(const struct sandbox *sb);

/* The namespaces of the run, owned by sb. */
const struct edits *sandbox_edits(const struct sandbox *sb);

/* Ends all processes of the run: sandbox_unmount() follows. */
void sandbox_kill(const struct sandbox *sb);

/* Waits until the kernel has removed the mounts. For each layer it syncs the
 * file system of the upper layer, so all layers are on disk afterwards. Without
 * this call the kernel may use the layers' directories for some time. */
void sandbox_unmount(struct sandbox *sb);

/* Ends and reaps the remaining processes and frees sb. *sb may be NULL. */
void sandbox_free(struct sandbox **sb);

/*
 * The exec socket of a run lies in a directory that no run sees. The run's
 * pid 1 accepts clients there and starts their commands under all confinements
 * of the run. From the client come only the texts below and descriptors 0, 1,
 * 2; a terminal is replaced by one of the run.
 */
/* Creates the socket and returns its descriptor for the policy. An old socket
 * of the same name is removed. */
int exec_socket_create(int dirfd, struct err *err);
void exec_socket_remove(int dirfd);

struct exec_request {
	char *const *argv; /* argv[0] is found by the run's PATH */
	/* K=V, added to the run's variables or replacing them */
	char *const *env;
	const char *cwd; /* a path in the run; NULL: the run's directory */
	bool strict; /* as in the run's policy */
	bool own_program; /* as in a policy */
	void (*on_wait)(void); /* called if no reply comes for a while */
};

/*
 * Starts a command in a run of another guard process. Use sandbox_release(),
 * sandbox_wait() (without tick) and sandbox_free() afterwards; the other guard
 * handles limits and the layer. Errors: -ESRCH if the run has ended; -ENXIO
 * without an exec socket.
 */
int exec_client_start(int dirfd, const struct exec_request *v,
		      struct sandbox **ret, struct err *err);

struct environ_request {
	const char *const *extra; /* "K=V" is set, "K" inherited; NULL-ended */
	const char *home, *run_id; /* may be NULL */
	bool clean; /* only the variables that the list keeps */
	/* Whether a value has a secret; NULL: none has. */
	bool (*has_secret)(const char *value, size_t len);
};

/* guard's list of variables in the source tree (base/shipped.h). */
#define VARIABLES_LIST "guard/sandbox/variables.list"

/*
 * Makes a run's environment from the variables of this process, without
 * secrets, variables by which loaders and interpreters find code, and those of
 * servers that a run cannot reach. dropped (or NULL) gets the names of these,
 * also of those in extra.
 * Free the result with sandbox_environ_free().
 */
char **sandbox_environ(const struct environ_request *q, struct names *dropped);
/* -EINVAL names the file and the line that is none of such a list. */
int sandbox_environ_check(const char *path, const char *text, struct err *err);
/* Makes the variables of a struct exec_request: extra as above, and with
 * terminal those that describe it. */
char **sandbox_environ_exec(const char *const *extra, bool terminal);
void sandbox_environ_free(char **envp);

/* Tries a complete setup. Returns 0 or the error that sandbox_start() would
 * give. in_child (or NULL) is called in the child, in its own mount namespace,
 * before any mount; its error is returned as well. */
int sandbox_probe(int (*in_child)(void *arg, struct err *err), void *arg,
		  struct err *err);

#endif
