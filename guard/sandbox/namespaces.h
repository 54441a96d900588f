/*
 * The functions of pid 1's sources that guard's own process uses, too, and
 * child_main(), where pid 1 begins.
 */
#ifndef GUARD_SANDBOX_NAMESPACES_H
#define GUARD_SANDBOX_NAMESPACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guard/sandbox/inherited_state.h"
#include "guard/sandbox/setup.h"

/*
 * ---- pid1.c ----
 *
 * The protocol of the exec socket. A client sends one packet: a struct
 * exec_header with EXEC_FDS descriptors, the first of a file with the texts,
 * then those for 0, 1, 2 (ignored where the run's terminal replaces them). One
 * more is of guard's program, which is executed instead of the command's.
 * The texts follow each other, each ended by NUL: the directory ("": that of
 * the run), the arguments, the variables; together at most EXEC_TEXT_MAX bytes.
 * After that both sides exchange struct message.
 */

#define EXEC_VERSION 3
#define EXEC_FDS 4
#define EXEC_TEXT_MAX (8U << 20)

struct exec_header {
	uint32_t version;
	uint32_t arguments, variables; /* how many texts of each */
	uint8_t replace[3], pipeline; /* as in struct setup */
	struct inherited_state inherited_state; /* the client's own */
};

/* ---- child.c ---- */

/* Sets up pid 1, reports MESSAGE_READY or MESSAGE_ERROR and supervises the
 * run. */
void child_main(struct setup *s) __attribute__((noreturn));

/* ---- sockets.c ---- */

/* Fills s->sockets with the Unix sockets of the machine that have a listener,
 * and s->unreachable_sockets. Without
 * /proc/net/unix both stay empty. */
void sockets_find(struct setup *s);
void sockets_free(struct setup *s);

/* ---- stdio_fds.c ---- */

/*
 * Restricts descriptors 0, 1, 2 that enter the run: a file that is only read is
 * reopened on a read-only mount of its own, so that /proc/self/fd gives no
 * write access. Needs a private mount namespace in which nothing is covered
 * yet. Errors: -EISDIR, -EINVAL for a descriptor that leads out of the run;
 * -ESTALE if its file was replaced.
 */
int stdio_fds_restrict(struct setup *s, struct err *err);

/*
 * True for a descriptor that goes through a process of guard's: a device that
 * opens only once, or a socket of another network. arg: the struct setup;
 * without a policy it is an exec client's. For stdio_proxy_start(), in guard.
 */
bool stdio_fds_need_proxy(void *arg, int fd);

/* True if stdio_fds_restrict() would change nothing. */
bool stdio_fds_are_unrestricted(const struct setup *s);

/* ---- userns.c ---- */

/* Writes the id maps of pid's user namespace through the current /proc; inner:
 * of the second namespace, in which the user has its own id again. */
int userns_map(pid_t pid, bool root, bool inner, uid_t uid, gid_t gid,
	       struct err *err);

/* Explains errno num of a clone(2) or a mount (step), with the remedy. Returns
 * -num. */
int userns_explain(int num, const char *step, struct err *err);

/* Passes on the error of a setup step in the run. If its text has only the
 * kernel's message, the confinement around guard is added. Returns -num. */
int userns_explain_step(int num, const char *text, struct err *err);

/* Whether the root directory is no root of a mount, as in most chroots, where
 * the kernel refuses user namespaces with EPERM. Needs no /proc. */
bool userns_is_chrooted(void);

/* ---- lockdown.c ---- */

/* Raises the hard limit for core files from 0 to 1 where guard may (root), so
 * that lockdown_limits() can set 1. Call before pid 1 exists. */
void lockdown_core(void);

/* Drops all effective, permitted and inheritable capabilities; -1 with
 * errno. */
int lockdown_drop_all(void);

/* The kernel's Landlock ABI; below 1: no Landlock. */
long landlock_abi(void);

/* Forbids this process to open files, to connect and to send signals to others,
 * as far as this kernel's Landlock can. Needs no_new_privs. */
int landlock_deny_all(struct err *err);

/* The same, but the process can execute and read files in the system's
 * directories of programs and libraries, read the paths and all below them,
 * and read and write below its working directory (regular files and
 * directories). -ENOSYS: no Landlock. */
int landlock_allow_files(const struct names *readable, struct err *err);

#endif
