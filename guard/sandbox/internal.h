/*
 * What the files of this folder share. Three places run this code:
 *
 *	guard	launch.c, relay.c, doze.c, ferry.c, userns.c, sockets.c,
 *		tty.c: the caller's process
 *	pid 1	child.c, mounts.c, devices.c, masks.c, proc.c, files.c,
 *		lockdown.c, landlock.c, pid1.c: born by one clone(2) with all
 *		namespaces, builds its root, locks itself in, then waits for
 *		the gate
 *	command	command.c: forked by pid 1, behind everything
 *	visitor	enter.c, of another guard; visit.c, forked by pid 1: leads the
 *		session of a command that came later
 *
 * guard and pid 1 talk over one SOCK_SEQPACKET pair, a struct note a packet.
 * Its end is pid 1's end, and guard's end is pid 1's end too.
 */
#ifndef GUARD_SANDBOX_INTERNAL_H
#define GUARD_SANDBOX_INTERNAL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "guard/sandbox/filter/filter.h"
#include "guard/sandbox/limits/fd_exhaustion.h"
#include "guard/sandbox/tty/inherited_state.h"
#include "guard/sandbox/net/network.h"
#include "guard/sandbox/ns/fd_message.h"
#include "guard/sandbox/filter/rename_notifier.h"
#include "guard/sandbox/sandbox.h"
#include "guard/sandbox/limits/kernel_quotas.h"

/* ---- notes ---- */

enum message_type {
	/* pid 1 to guard */
	MESSAGE_ERROR, /* value: errno; text */
	MESSAGE_READY, /* all is set up; carries the pty's master, if any */
	MESSAGE_STARTED, /* the command runs */
	MESSAGE_NOT_STARTED, /* value: errno of the exec */
	MESSAGE_STOPPED, /* value: the signal: Ctrl-Z */
	MESSAGE_RESUMED, /* somebody else than guard let it go on */
	MESSAGE_WANTS_INPUT, /* the command wants to read its terminal */
	MESSAGE_CONTINUED, /* the answer to MESSAGE_CONTINUE: it goes on */
	MESSAGE_RENAME_REFUSED, /* value, text: as of sandbox_refused_rename()
				 */
	MESSAGE_FD_EXHAUSTION, /* text: a struct full */
	MESSAGE_STDIO_OFFSET, /* value: a descriptor; text: how far it was read
			       */
	MESSAGE_EXITED, /* value: wait status */
	MESSAGE_EMPTY, /* no other process is left; only mounts are to go */
	/* guard to pid 1 */
	MESSAGE_MAPPED,
	MESSAGE_NETWORK, /* pasta's device is there */
	MESSAGE_RELEASE,
	MESSAGE_SIGNAL, /* value: the signal, for the command's group */
	MESSAGE_CONTINUE, /* the stopped command may go on */
};

struct message {
	int32_t type, value;
	char text[ERR_TEXT_LEN];
};

/* 0, or -1 with errno; fd -1: none goes along. */
int message_send(int socket, enum message_type type, int value,
		 const char *text, int fd);
/* 1, 0 at the other side's end, -1 with errno. *ret_fd (when not NULL) gets
 * the descriptor that came along, or -1. */
int message_receive(int socket, struct message *ret, int *ret_fd);

/* ---- what guard prepares and pid 1 uses (shared by the fork) ---- */

struct place {
	char *path;
	enum { PLACE_MASK, PLACE_READ_ONLY, PLACE_READ_WRITE } kind;
	int fd; /* O_PATH of the real thing; mask: unused */
	bool dir;
	const struct buf *text; /* what a mask over a file shows; NULL: nothing
				 */
	bool socket; /* hidden only while it is this very one: */
	dev_t dev;
	ino_t ino;
	int mount_fd; /* of the mask, until it is closed to writing */
};

struct setup {
	const struct sandbox_policy *policy;
	const struct filters *filters;
	int socket; /* pid 1's end */
	int guard_socket; /* guard's end, to be closed */
	int exec_socket_fd; /* where visitors knock, or -1 */
	uid_t uid;
	gid_t gid;
	bool root;
	char *tmp_path, *var_tmp_path; /* where the two folders lie */
	bool replace[3]; /* of fd 0, 1, 2: by the run's own terminal */
	bool replace_node[3]; /* by the run's own device node */
	bool reopened[3]; /* opened again, so where it is read is its own */
	/* Others may use the terminal as well (one of stdin and stdout is
	 * something else): it is touched when the command wants to read. */
	bool pipeline;

	struct inherited_state inherited_state; /* that the command gets */
	bool strict; /* the run, or that of a visitor */
	bool pin; /* to as many processors as cpus_milli asks for */
	uint64_t pids_limit;
	struct network network; /* with SANDBOX_NET_PRIVATE */
	/* Sockets that somebody listens on, as absolute paths. */
	char **sockets;
	size_t socket_count;
	char **unreachable_sockets; /* those that somebody will miss; NULL: none
				     */

	/* pid 1's own: */
	struct rename_notifier_clock begin;
	int tmp_fd, var_tmp_fd; /* opened again, in its mount namespace */
	int resolv_fd; /* the file behind /etc/resolv.conf when it would be
			  hidden, else -1 */
	char *resolv_path;
	struct place *places; /* sorted, parents first */
	size_t place_count, place_capacity;
	int root_fd; /* the new root */
	int master_fd, slave_fd; /* of the run's terminal, or -1 */
};

/* ---- child.c: pid 1 from its birth to the gate; never returns ---- */
void child_main(struct setup *s) __attribute__((noreturn));

/* ---- mounts.c, masks.c ---- */

/* The whole machine as the new root, read-only. */
int mounts_begin(struct setup *s, struct err *err);
/* Opens all that has to be mounted later, while nothing covers it. */
int mounts_open(struct setup *s, struct err *err);
/* Puts the run's own on the new root and enters it. */
int mounts_build(struct setup *s, struct err *err);

/* A new file system, mounted nowhere yet; options: "key=value" pairs. */
int mount_new_fs(const char *type, const char *const *options,
		 unsigned int attrs, struct err *err);
/* What such a tmpfs may hold that takes its size from --memory: bytes, or
 * half of the machine's memory where there is no limit. */
const char *mount_size(const struct setup *s, char text[24]);
/* A copy of what lies behind fd, as a mount of its own, with its attributes and
 * attrs. */
int mount_copy(int fd, bool recursive, unsigned int attrs, struct err *err);
/* What path (absolute) is in the new root, where links stay inside: a
 * descriptor, or -1 with errno. */
int mount_point(int root_fd, const char *path);
/* Mounts on that. */
int mount_place(int root_fd, const char *path, int mount_fd, struct err *err);
/* Makes what is missing of path (a folder or an empty file). */
int mount_make_point(int root_fd, const char *path, bool dir, struct err *err);

/* devices.c: a /dev of the run's own. old_dev: the machine's. */
int devices_place(struct setup *s, int old_dev, struct err *err);

/* Opens what is let in and finds what is hidden, with all its other names. */
int masks_open(struct setup *s, struct err *err);
/* Places both, parents first, so that the deeper wins; on the same path what
 * was let in. scratch_fd: a tmpfs of ours that is mounted somewhere. */
int masks_place(struct setup *s, int scratch_fd, struct err *err);
/* A mask of its own for each place: what is let in below one gets its path
 * made there and is not seen in the others. number: in scratch_fd, unused. */
int masks_make(int scratch_fd, size_t number, bool dir, struct err *err);
/* credentials.c: a path below the home folder that is hidden by default. */
bool credentials_listed(const char *name);

/* ---- proc.c ---- */

/* A fresh /proc for the run's processes, the user namespace's limits set. */
int proc_place(struct setup *s, struct err *err);
/* Whether the command is uid 0, or could do without a whole /proc. */
bool proc_must_restrict(const struct setup *s);
/* What uid 0 could do through /proc and see in /sys without any capability. */
int proc_restrict(struct setup *s, int scratch_fd, struct err *err);

/* ---- sockets.c: guard's side ---- */

/* Where programs of this machine listen, outside of what is private anyway. */
void sockets_find(struct setup *s);
void sockets_free(struct setup *s);

/* ---- files.c ---- */

/* Descriptors 0, 1, 2 that are handed to the run as they are must not lead
 * further than what was meant. Before anything is covered. */
int stdio_fds_restrict(struct setup *s, struct err *err);
/* Those that s->replace_node tells of, in the new root. */
int stdio_fds_replace_nodes(const struct setup *s, struct err *err);
/* In guard, of one of them: it is to go through a process between, as a device
 * that opens only once, or a socket of a network that is not the run's (arg:
 * the setup; one without a policy is a visitor's). For stdio_proxy_start(). */
bool stdio_fds_need_proxy(void *arg, int fd);
/* Whether stdio_fds_restrict() would do nothing. */
bool stdio_fds_are_unrestricted(const struct setup *s);

/* ---- userns.c: guard's side ---- */

/* Writes the maps of pid's user namespace (inner: of the second one) through
 * the /proc that is there. */
int userns_map(pid_t pid, bool root, bool inner, uid_t uid, gid_t gid,
	       struct err *err);
/* Puts the reason and the mend into words. num: of the clone or a mount. */
int userns_explain(int num, const char *step, struct err *err);
/* -num and the text of a step that failed inside, with more where it says
 * nothing but the kernel's word: asked from outside of the fence. */
int userns_explain_step(int num, const char *text, struct err *err);
/* A switch of the kernel (a file in /proc/sys) as a number; -1: none. */
long userns_switch(const char *path);

/* ---- scope.c: guard's side ---- */

/*
 * A scope of this user's systemd with the policy's limits. Under systemd the
 * tree of control groups is its own: what others make in it loses its
 * controllers when systemd next looks, and who has logged in over ssh may not
 * move a process out of that login's group at all. systemd may.
 */
struct scope {
	int fd; /* to systemd; -1: there is none, or it is not needed any more
		 */
	pid_t holder; /* a process that keeps it alive, as long as fd is open */
	char unit[48];
};

/* False: no systemd, or it does not want to. Its group is that of the holder.
 * The scope ends by itself with its last process. */
bool scope_make(struct scope *s, const struct sandbox_policy *p);
/* Puts pid into a group in it ("/NAME"), and ends the holder. */
int scope_enter(struct scope *s, const char *group, pid_t pid, struct err *err);
/* Nothing has come into it: it ends. Twice is fine. */
void scope_end(struct scope *s);

/* ---- cgroup.c: guard's side ---- */

enum { CGROUP_MEMORY, CGROUP_CPU, CGROUP_PIDS, CGROUP_KINDS };

/*
 * The group with the limits has one in it, which has none, and the run is in
 * that: a namespace of groups that a sandbox inside (--nested) makes begins
 * there, and the limits, which belong to the same user, are outside of it.
 */
struct cgroup {
	char name[32];
	int version; /* 0: none */
	bool holds[CGROUP_KINDS];
	/* Of the group, the one above (-1 where systemd made the group), the
	 * one in it; v2: the first alone. */
	int fd[CGROUP_KINDS], parent[CGROUP_KINDS], inner[CGROUP_KINDS];
	struct scope scope;
};

#define CGROUP_NONE                                                            \
	((struct cgroup){.fd = {-1, -1, -1},                                   \
			 .parent = {-1, -1, -1},                               \
			 .inner = {-1, -1, -1},                                \
			 .scope = {.fd = -1}})

/* Makes a group with the policy's limits as far as that can be had: v2 in a
 * scope of systemd's, or in the next group above that lets it, else v1. root:
 * /sys/fs/cgroup, but for tests. */
void cgroup_make(struct cgroup *c, const char *root,
		 const struct sandbox_policy *p);
int cgroup_enter(struct cgroup *c, pid_t pid, struct err *err);
/* How many processes the kernel killed for want of memory. */
uint64_t cgroup_killed(const struct cgroup *c);
void cgroup_remove(struct cgroup *c);

/* ---- watch.c: guard's side ---- */

/*
 * Looks now and then how many threads a run has and how much memory: the limit
 * where the kernel has none for it, and else the end of a run that stays at it
 * and makes no way any more (a fork bomb). Also whether it takes from others
 * what there is only so much of (shares.h).
 */
struct watch {
	pid_t pid1;
	uint64_t pids, memory; /* memory 0: not watched */
	bool enforced; /* the kernel refuses more than pids */
	uint64_t machine, threads; /* at the last look: of all, of the run */
	unsigned int ticks;
	int stuck_ms;
	struct fd_exhaustion
		fd_exhaustion; /* a program that had all its files open */
	struct kernel_quotas kernel_quotas;
	enum quota quota; /* with SANDBOX_LIMIT_QUOTA: of what it took most */
};

void watch_begin(struct watch *w, pid_t pid1, uint64_t pids, bool enforced,
		 uint64_t memory, bool ports);
void watch_end(struct watch *w);
int watch_interval(const struct watch *w);
enum sandbox_limit watch_tick(struct watch *w);

/* ---- lockdown.c: pid 1 gives everything up ---- */
int lockdown_early(const struct setup *s, struct err *err);
int lockdown_limits(const struct setup *s, struct err *err);
int lockdown_capabilities(const struct setup *s, struct err *err);
/* 0, 1, 2 become the terminal where they are replaced. Of all others only
 * those that s names survive, under other numbers. */
int lockdown_descriptors(struct setup *s, struct err *err);
/* In guard, before the child is born. */
void lockdown_core(void);

/* ---- landlock.c ---- */

/* Abstract sockets and signals stay in the run where the kernel can do that
 * (Linux 6.12); 0 too where it cannot. Needs no_new_privs. */
int landlock_scope(struct err *err);
/* --strict: nothing is opened for writing but on writable mounts of the run.
 * Forbids all mounts, so not with nested. Through the run's own /proc. */
int landlock_writes(struct err *err);
/* The kernel's version of it; below 1: none. */
long landlock_abi(void);

/* ---- command.c ---- */

/* A terminal of the run's own for whoever leads a session and has none; not
 * when nothing is to be replaced. */
int command_terminal(struct setup *s, struct err *err);
/* With the rights that the command will have. */
int command_enter_cwd(const struct setup *s, struct err *err);
/* -num: who may not do what, where that is what keeps the path closed. */
int command_explain_closed(const struct setup *s, const char *path, int num,
			   struct err *err);
/* 0 once the command is executed, else the errno of that. Its process and the
 * listener for its renames are there in both cases, or 0 and -1. */
int command_start(const struct setup *s, pid_t *ret, int *ret_listener);

/* ---- pid1.c: the gate and the supervisor; never return ---- */
void pid1_main(struct setup *s) __attribute__((noreturn));
/* The same for a command that came later, in a child of pid 1. */
void pid1_exec(struct setup *s) __attribute__((noreturn));

/* ---- visit.c: a child of pid 1, for one who came to the door ---- */

/* What a visitor asks for, with its descriptors: the texts in a file, and
 * what shall be 0, 1, 2 (where it is replaced: anything). */
#define EXEC_VERSION 2
#define EXEC_FDS FD_MESSAGE_FDS

struct exec_header {
	uint32_t version;
	uint32_t arguments, variables; /* how many texts of each */
	uint8_t replace[3], pipeline; /* as in struct setup */
	struct inherited_state inherited_state; /* of the visitor's process */
};
/* In this order, each ended by NUL: the folder ("": the run's own), the
 * arguments, the variables; all together at most */
#define EXEC_TEXT_MAX (8U << 20)

void exec_server_main(const struct setup *s, int conn)
	__attribute__((noreturn));

/* ---- tty.c: guard's side of the terminal ---- */

struct tty;

/* Looks at fd 0, 1, 2 and fills s->replace and s->pipeline. *ret NULL: none
 * of them is a terminal. */
int tty_find(struct setup *s, struct tty **ret, struct err *err);
void tty_free(struct tty **t);
/* Takes the master: size and modes as those of the caller's terminal. */
void tty_attach(struct tty *t, int master_fd);
/* Raw, as far as guard is in the foreground. */
void tty_enter(struct tty *t);
/* As it was. final: also what the run had switched on, and no answers to its
 * questions are left for the shell to read. */
void tty_leave(struct tty *t, bool final);
void tty_resize(struct tty *t);
/* What is typed waits: to a stopped command a Ctrl-Z would be lost. */
void tty_hold(struct tty *t, bool on);
/* The command wants input (pipeline). */
void tty_want_input(struct tty *t);
/* In the background: tty_poll() is to be called now and then, since nothing
 * tells of the way back. */
bool tty_awaits_foreground(const struct tty *t);
/* Fills up to 3 entries, returns how many; then tty_relay() with the same. */
size_t tty_poll(struct tty *t, struct pollfd *fds);
void tty_relay(struct tty *t, const struct pollfd *fds, size_t count);
/* What is still in the pipe after the last process is gone. */
void tty_drain(struct tty *t);

#endif
