/*
 * The fence around a run. Starts a command in namespaces of its own, without
 * capabilities, behind two seccomp filters, on a root that was put together
 * for it; relays its terminal and signals; ends everything it left behind.
 *
 *	sandbox_start()	  namespaces, mounts, filters: all is set up, the
 *			  command has not run yet
 *	sandbox_release() the command is executed
 *	sandbox_wait()	  until its last process is gone
 *	sandbox_unmount() until its mounts are gone as well, if that matters
 *	sandbox_free()
 *
 * Nothing is ever run bare: a layer of protection that cannot be had is an
 * error of sandbox_start(), with the mend. The caller has no threads and has
 * forked nothing that shares its descriptors when it calls sandbox_start().
 *
 * Knows nothing of layers, stores or sessions: overlays are mounted by the
 * two callbacks, in the child. Facts and order: see docs/containment.md.
 */
#ifndef GUARD_SANDBOX_SANDBOX_H
#define GUARD_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"

/* PRIVATE: see network.h. */
enum sandbox_net { SANDBOX_NET_HOST, SANDBOX_NET_NONE, SANDBOX_NET_PRIVATE };

/* Ports of the machine that lead to the run's, with a private network. */
struct sandbox_port {
	char host[46]; /* the machine's address to listen at */
	uint16_t outside, inside; /* the first of each */
	uint16_t more; /* how many follow it */
	bool udp;
};

/* A file of settings and secrets, and what a run sees of it. */
struct redaction {
	char *path; /* absolute */
	struct buf text; /* without the secrets */
	bool any; /* there were some */
};

struct redactions {
	struct redaction *items;
	size_t count, capacity;
};

/* Those below the home folder (NULL: none). What cannot be read is empty. */
void redactions_find(const char *home, struct redactions *ret);
void redactions_free(struct redactions *redactions);

struct sandbox;

struct sandbox_policy {
	char *const *argv; /* the command, as given; argv[0] by PATH */
	char *const *envp; /* its whole environment (sandbox_environ()) */
	const char *cwd; /* absolute; exists inside */
	const char *home; /* absolute, or NULL: an empty private one */
	/* Folders on disk that become /tmp, /var/tmp; -1: in memory. */
	int tmp_fd, var_tmp_fd;
	/* Absolute paths that are hidden: a folder is empty and read-only, a
	 * file is empty. Missing ones are fine. Links are resolved. */
	const char *const *hide; /* NULL-terminated */
	/* Files that are seen so, read-only, whether they are among the hidden
	 * ones or not; NULL: none. */
	const struct redactions *redactions;
	/* Absolute, one of hide: never let in, under whatever name; or NULL. */
	const char *never_granted;
	/* Real paths let in, also from below hidden or private places. */
	const char *const *read_only; /* NULL-terminated, must exist */
	const char *const *read_write; /* NULL-terminated, must exist */
	enum sandbox_net net;
	const struct sandbox_port *ports;
	size_t port_count;
	bool nested; /* let sandboxes work inside */
	/* The home folder is empty and private, and Landlock closes what a
	 * read-only mount leaves open to writing. Not with nested. */
	bool strict;
	/* Calls that are refused otherwise. */
	bool allow_perf, allow_io_uring, allow_userfaultfd, allow_32bit;
	int exec_socket_fd; /* of exec_socket_create(), for later visitors, or
			       -1 */
	int64_t timeout_ms; /* 0: none */
	uint64_t pids_limit; /* 0: the default */
	uint64_t memory; /* bytes, 0: no limit */
	unsigned int cpus_milli; /* thousandths of a processor, 0: no limit */
	uint64_t tmp_size; /* bytes of /tmp and /var/tmp together, which are
			      in memory then; 0: no limit */
	/* Who the command is, for root only. */
	bool has_user;
	uid_t user;
	gid_t group;
	const gid_t *groups; /* besides */
	size_t group_count;
	/* In the child, before anything is mounted / onto the new root. */
	int (*open_layers)(void *arg, struct err *err);
	int (*mount_layers)(void *arg, int root_fd, struct err *err);
	void *layers_arg;
	/* In guard, while the run's first process sets itself up: what is to be
	 * done anyway. An error is one of sandbox_start(); NULL: nothing. */
	int (*during_setup)(void *arg, const struct sandbox *sb,
			    struct err *err);
	void *during_setup_arg;
};

/* What a container's engine keeps from all that is in it and a run needs. */
#define SANDBOX_CONTAINER                                                      \
	"--security-opt seccomp=unconfined --security-opt "                    \
	"apparmor=unconfined --security-opt systempaths=unconfined"

/* Errors: -EPERM/-ENOSPC/-EACCES user namespaces are off (text: which switch),
 * others from the step that failed, named. Nothing is left behind. */
int sandbox_start(const struct sandbox_policy *policy, struct sandbox **ret,
		  struct err *err);

/* 0; -ENOENT: no such command; -EACCES, -ENOEXEC, ...: cannot be executed. */
int sandbox_release(struct sandbox *sb, struct err *err);

enum sandbox_end {
	SANDBOX_EXITED, /* code: its status */
	SANDBOX_SIGNALED, /* code: the signal */
	SANDBOX_STOPPED, /* guard ended it: the time, or tick said so */
	SANDBOX_LOST, /* entered: the run ended first */
};

/* Which limit it was when guard ended the run; NONE: tick said so. */
enum sandbox_limit {
	SANDBOX_LIMIT_NONE,
	SANDBOX_LIMIT_TIME,
	SANDBOX_LIMIT_PIDS,
	SANDBOX_LIMIT_MEMORY,
	SANDBOX_LIMIT_QUOTA, /* of what others need too: why says which */
};

struct sandbox_result {
	enum sandbox_end end;
	int code;
	enum sandbox_limit limit;
	const char *why; /* with SANDBOX_LIMIT_QUOTA; lives for ever */
	uint64_t killed; /* processes, by the kernel at the memory's limit */
	bool network_lost; /* the private network ended before the run */
};

/* A folder that a program of the run could not rename, or exchange with another
 * file, which it could have outside (EXDEV); NULL: none. The name is the run's.
 * UNSEEN: the name of a program that let nobody see what it renamed, and then
 * ended with a failure. */
enum sandbox_refused_rename {
	SANDBOX_RENAME_REFUSED,
	SANDBOX_EXCHANGE_REFUSED,
	SANDBOX_RENAME_UNREADABLE,
};
const char *sandbox_refused_rename(const struct sandbox *sb,
				   enum sandbox_refused_rename *ret_how);

/* A program of the run that had as many files open as it may, or nearly, or
 * failed while the run had all that it may of inotify: its name (the run's; as
 * long as sb lives), and how many; it may raise that to *ret_hard_limit. NULL:
 * there was none. */
enum sandbox_exhausted {
	SANDBOX_EXHAUSTED_FILES,
	SANDBOX_EXHAUSTED_INSTANCES,
	SANDBOX_EXHAUSTED_WATCHES,
};
const char *sandbox_exhausted(const struct sandbox *sb,
			      enum sandbox_exhausted *ret_what,
			      uint64_t *ret_max_count,
			      uint64_t *ret_hard_limit);

/* Sockets of this machine's services that are out of the run's reach, and that
 * the user could connect to: NULL-terminated, as long as sb lives. */
char *const *sandbox_unreachable_sockets(const struct sandbox *sb);

/* What holds each limit that was asked for, for people, a sentence each; empty
 * when none was. */
void sandbox_describe_limits(const struct sandbox *sb, struct buf *to);

enum sandbox_tick_action {
	SANDBOX_CONTINUE,
	SANDBOX_KILL, /* at once */
};

/*
 * Relays until the command has ended and every process of it is gone. tick,
 * when not NULL, is called now and then, *ret_next_ms (250) after the last
 * time; from a child of the caller's while that is stopped, as its command is:
 * there it shall only look. Signals of guard itself that somebody may have sent
 * reach the run; the terminal is as it was when this returns.
 */
int sandbox_wait(struct sandbox *sb,
		 enum sandbox_tick_action (*tick)(void *arg, int *ret_next_ms),
		 void *arg, struct sandbox_result *ret, struct err *err);

/* The run's pid 1, as guard sees it: for freezer_begin(), from elsewhere. */
pid_t sandbox_pid1(const struct sandbox *sb);

/*
 * The last process takes the mounts down while it exits: for each layer the
 * kernel writes the whole file system out that its upper lies on. Returns when
 * all that is done; the layers are on disk then. Who does not call it leaves
 * this to the kernel, which may use the layers' folders for a while longer.
 */
void sandbox_unmount(struct sandbox *sb);

/* Ends what still runs, waits for it, frees. NULL inside is fine. */
void sandbox_free(struct sandbox **sb);

/*
 * The door of a run: a socket in a folder that no run sees, where its pid 1
 * takes visitors. A visitor's command is born by pid 1 behind everything that
 * the run is behind; nothing of the visitor enters but the texts below and
 * descriptors 0, 1, 2, for a terminal one of the run's own.
 */
/* -> fd for the policy; one that lay there goes. */
int exec_socket_create(int dirfd, struct err *err);
void exec_socket_remove(int dirfd);

struct exec_request {
	char *const *argv; /* argv[0] by the run's PATH */
	char *const *env; /* K=V, in place of or besides the run's own */
	const char *cwd; /* as the run sees it, or NULL: where it began */
	bool strict; /* as the run's policy */
	void (*on_wait)(void); /* called when no answer comes for a while */
};

/*
 * Then sandbox_release(), sandbox_wait() (without tick), sandbox_free() as
 * with one's own; limits and the layer are looked after by the run's guard.
 * -ESRCH: the run has ended; -ENXIO: it has no door.
 */
int exec_client_start(int dirfd, const struct exec_request *v,
		      struct sandbox **ret, struct err *err);

/*
 * The environment by allow list, from this process's own. extra: K=V as they
 * are, K: taken over from outside (NULL-terminated). dropped: gets the names
 * that were left out and look as if somebody will miss them (keys, tokens,
 * agent sockets), separated by ", ". Free with sandbox_environ_free().
 */
char **sandbox_environ(const char *const *extra, const char *home,
		       const char *run_id, struct buf *dropped);
/* For struct exec_request: extra as above, and what is known of the terminal
 * when there is one. */
char **sandbox_environ_exec(const char *const *extra, bool terminal);
void sandbox_environ_free(char **envp);

/*
 * Places that hold credentials, below home and elsewhere, as absolute paths:
 * what is hidden by default, but for what is not there. NULL-terminated; free
 * each and the array.
 */
char **sandbox_credential_paths(const char *home);
/* Whether a path below the home directory is one of them. */
bool credentials_listed(const char *name);

/* What this machine can and cannot do, before anything is tried: 0, or the
 * error that sandbox_start() would give. in_child (or NULL) is called in the
 * child with its own mounts, before any are made; its error is given, too. */
int sandbox_probe(int (*in_child)(void *arg, struct err *err), void *arg,
		  struct err *err);

#endif
