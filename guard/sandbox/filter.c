#include "guard/sandbox/filter.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/inside.h"
#include "guard/sandbox/filter_calls.h"

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define NATIVE SCMP_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define NATIVE SCMP_ARCH_AARCH64
#else
#error "guard's filters know x86-64 and arm64"
#endif

/* CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET.
 * CLONE_NEWTIME is a flag of unshare(2) only; in clone(2) its bit is part of
 * the exit signal. */
#define NAMESPACES 0x7E020000u
#define NEWTIME 0x80u

/* Above all system call numbers of current kernels (Linux 6.18: 468). */
#define NUMBERS 1024u

/* Since Linux 5.19; installed headers may be older. */
#define WAIT_KILLABLE_RECV (1UL << 5)

#define REFUSE(num) (SECCOMP_RET_ERRNO | (num))

void filters_free(struct filters *f)
{
	buf_free(&f->calls);
	buf_free(&f->notifier);
}

/* ---- instructions ---- */

static void emit(struct buf *to, uint16_t code, uint32_t k, uint8_t jt,
		 uint8_t jf)
{
	struct sock_filter op = {.code = code, .jt = jt, .jf = jf, .k = k};

	buf_add(to, &op, sizeof(op));
}

static void emit_return(struct buf *to, uint32_t action)
{
	emit(to, BPF_RET | BPF_K, action, 0, 0);
}

static void emit_load(struct buf *to, size_t offset)
{
	emit(to, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Skips the next instruction unless the loaded word is k. */
static void emit_skip_unless(struct buf *to, uint32_t k)
{
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, k, 0, 1);
}

/* Loads the low 32 bits of an argument. The kernel reads only these in the
 * calls below; a rule on all 64 bits could be bypassed with a high bit
 * (CVE-2019-10063). Both architectures are little-endian. */
static void emit_load_argument(struct buf *to, unsigned int n)
{
	emit_load(to, offsetof(struct seccomp_data, args) + n * 8);
}

/* Instructions up to end_arch_block() apply to one architecture and must not
 * fall through. */
static size_t start_arch_block(struct buf *to, uint32_t machine)
{
	emit_load(to, offsetof(struct seccomp_data, arch));
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, machine, 1, 0);
	emit(to, BPF_JMP | BPF_JA, 0, 0, 0);
	return to->len;
}

static void end_arch_block(struct buf *to, size_t start)
{
	struct sock_filter *jump =
		(struct sock_filter *)(void *)(to->data + start) - 1;

	jump->k = (uint32_t)((to->len - start) / sizeof(*jump));
}

/* ---- calls ---- */

int filter_call_number(uint32_t arch, const char *name)
{
	return isdigit((unsigned char)*name)
		       ? atoi(name)
		       : seccomp_syscall_resolve_name_arch(arch, name);
}

/* Names that the architecture or the library does not know keep the default,
 * ENOSYS. */
static void set_syscall_action(uint32_t *actions, uint32_t arch,
			       const char *list, uint32_t action)
{
	AUTO(names) struct names names = {0};
	size_t i;

	filter_calls(list, &names);
	for (i = 0; i < names.count; i++) {
		int nr = filter_call_number(arch, names.items[i]);

		if (nr >= 0 && nr < (int)NUMBERS)
			actions[nr] = action;
	}
}

static void set_syscall_actions(uint32_t *actions, uint32_t arch,
				const struct filter_options *w)
{
	const uint32_t allow = SECCOMP_RET_ALLOW, refuse = REFUSE(EPERM);
	size_t i;

	for (i = 0; i < NUMBERS; i++)
		actions[i] = REFUSE(ENOSYS);
	set_syscall_action(actions, arch, "allow", allow);
	if (arch == SCMP_ARCH_X86_64)
		set_syscall_action(actions, arch, "x86_64", allow);
	if (arch == SCMP_ARCH_X86)
		set_syscall_action(actions, arch, "i386", allow);
	set_syscall_action(actions, arch, "refuse", refuse);
	set_syscall_action(actions, arch, "nested", w->nested ? allow : refuse);
	if (w->nested)
		set_syscall_action(actions, arch, "nested-new", allow);
	if (w->perf)
		set_syscall_action(actions, arch, "perf", allow);
	if (w->userfaultfd)
		set_syscall_action(actions, arch, "userfaultfd", allow);
	if (w->io_uring)
		set_syscall_action(actions, arch, "io_uring", allow);
	if (w->pinned)
		set_syscall_action(actions, arch, "affinity", refuse);
}

/* One action for all numbers from `start` up to the next range. */
struct syscall_range {
	uint32_t start, action;
};

/* Emits a balanced binary search. The far branch needs an unconditional jump,
 * since conditional jumps reach only 255 instructions. */
static void emit_tree(struct buf *to, const struct syscall_range *ranges,
		      size_t count)
{
	size_t half = count / 2, jump;
	struct sock_filter *op;

	if (count == 1) {
		emit_return(to, ranges->action);
		return;
	}
	emit(to, BPF_JMP | BPF_JGE | BPF_K, ranges[half].start, 0, 1);
	jump = to->len;
	emit(to, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_tree(to, ranges, half);
	op = (struct sock_filter *)(void *)(to->data + jump);
	op->k = (uint32_t)((to->len - jump) / sizeof(*op) - 1);
	emit_tree(to, ranges + half, count - half);
}

/* Decides by the loaded number; a number above NUMBERS fails with ENOSYS. */
static void emit_actions(struct buf *to, uint32_t arch, const uint32_t *actions)
{
	struct syscall_range ranges[NUMBERS + 2];
	size_t count = 0, i;

	(void)arch;
	for (i = 0; i < NUMBERS; i++)
		if (i == 0 || actions[i] != ranges[count - 1].action)
			ranges[count++] =
				(struct syscall_range){(uint32_t)i, actions[i]};
	if (ranges[count - 1].action != REFUSE(ENOSYS))
		ranges[count++] =
			(struct syscall_range){NUMBERS, REFUSE(ENOSYS)};
#ifdef X32_BIT
	if (arch == NATIVE)
		ranges[count++] = (struct syscall_range){
			X32_BIT, SECCOMP_RET_KILL_PROCESS};
#endif
	emit_tree(to, ranges, count);
}

/* ---- arguments ---- */

/* Instructions up to end_syscall_block() apply to the call nr. */
static size_t start_syscall_block(struct buf *to, int nr)
{
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 0);
	return to->len - sizeof(struct sock_filter);
}

static void end_syscall_block(struct buf *to, size_t start, uint32_t action)
{
	struct sock_filter *op;

	emit_return(to, action);
	op = (struct sock_filter *)(void *)(to->data + start);
	op->jf = (uint8_t)((to->len - start) / sizeof(*op) - 1);
}

static void refuse_argument_bits(struct buf *to, int nr, unsigned int arg,
				 uint32_t bits, uint32_t action)
{
	size_t start = start_syscall_block(to, nr);

	emit_load_argument(to, arg);
	emit(to, BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
	emit_return(to, action);
	end_syscall_block(to, start, SECCOMP_RET_ALLOW);
}

/* Compares the bits of mask in an argument with a list. */
static void compare_argument(struct buf *to, int nr, unsigned int arg,
			     uint32_t mask, const uint32_t *list, size_t count,
			     uint32_t found, uint32_t otherwise)
{
	size_t start = start_syscall_block(to, nr), i;

	emit_load_argument(to, arg);
	if (mask != UINT32_MAX)
		emit(to, BPF_ALU | BPF_AND | BPF_K, mask, 0, 0);
	for (i = 0; i < count; i++) {
		emit_skip_unless(to, list[i]);
		emit_return(to, found);
	}
	end_syscall_block(to, start, otherwise);
}

/* Numbers of the calls with checked arguments, by architecture; -1: none. */
struct syscall_numbers {
	int ioctl, socket, socketpair, clone, unshare, mknod, mknodat,
		personality, prctl;
};

static const struct syscall_numbers native = {
	.ioctl = SYS_ioctl,
	.socket = SYS_socket,
	.socketpair = SYS_socketpair,
	.clone = SYS_clone,
	.unshare = SYS_unshare,
#ifdef SYS_mknod
	.mknod = SYS_mknod,
#else
	.mknod = -1,
#endif
	.mknodat = SYS_mknodat,
	.personality = SYS_personality,
	.prctl = SYS_prctl,
};

#ifdef X32_BIT
static const struct syscall_numbers i386 = {
	.ioctl = 54,
	.socket = 359,
	.socketpair = 360,
	.clone = 120,
	.unshare = 310,
	.mknod = 14,
	.mknodat = 297,
	.personality = 136,
	.prctl = 172,
};
#endif

/* Refuses device nodes; whiteouts are character devices as well. */
static void restrict_mknod(struct buf *to, const struct syscall_numbers *n)
{
	static const uint32_t types[] = {0, S_IFREG, S_IFIFO, S_IFSOCK};

	if (n->mknod >= 0)
		compare_argument(to, n->mknod, 1, S_IFMT, types,
				 ARRAY_SIZE(types), SECCOMP_RET_ALLOW,
				 REFUSE(EPERM));
	compare_argument(to, n->mknodat, 2, S_IFMT, types, ARRAY_SIZE(types),
			 SECCOMP_RET_ALLOW, REFUSE(EPERM));
}

/* Allows personality(2) for Linux and Linux32, both with UNAME26, without
 * address randomization (for debuggers), and the query (0xffffffff).
 * READ_IMPLIES_EXEC is refused. */
static void restrict_personality(struct buf *to,
				 const struct syscall_numbers *n)
{
	static const uint32_t good[] = {0,	 0x8,	  0x20000,
					0x20008, 0x40000, UINT32_MAX};

	compare_argument(to, n->personality, 0, UINT32_MAX, good,
			 ARRAY_SIZE(good), SECCOMP_RET_ALLOW, REFUSE(EPERM));
}

/* The answer that inside_run() waits for. */
static void answer_inside(struct buf *to, const struct syscall_numbers *n)
{
	static const uint32_t option = INSIDE_OPTION;

	compare_argument(to, n->prctl, 0, UINT32_MAX, &option, 1,
			 REFUSE(INSIDE_ERRNO), SECCOMP_RET_ALLOW);
}

/* From linux/fscrypt.h, which is incomplete in old headers. */
#define ADD_ENCRYPTION_KEY 0xc0506617u
#define REMOVE_ENCRYPTION_KEY 0xc0406618u
#define REMOVE_ENCRYPTION_KEY_ALL_USERS 0xc0406619u

/*
 * Refuses injection of terminal input, terminal selection, line disciplines
 * (n_gsm) and the console's output; and the keys of encrypted directories,
 * which belong to the file system and the user: a removed key locks the
 * directory outside of the run as well.
 */
static void restrict_ioctl(struct buf *to, const struct syscall_numbers *n)
{
	static const uint32_t bad[] = {TIOCSTI,
				       TIOCLINUX,
				       TIOCSETD,
				       TIOCCONS,
				       ADD_ENCRYPTION_KEY,
				       REMOVE_ENCRYPTION_KEY,
				       REMOVE_ENCRYPTION_KEY_ALL_USERS};

	compare_argument(to, n->ioctl, 1, UINT32_MAX, bad, ARRAY_SIZE(bad),
			 REFUSE(EPERM), SECCOMP_RET_ALLOW);
}

/* From linux/in.h, which is incomplete in old headers. */
#define MULTIPATH_TCP 262u

/*
 * Allows TCP, UDP and ICMP for ping. For any other protocol (SCTP, DCCP,
 * L2TP...) the kernel loads a module, code that most machines never run and
 * that has had vulnerabilities. Without an explicit protocol the type decides.
 * Raw sockets need a capability that no run has.
 */
static void restrict_internet(struct buf *to)
{
	static const uint32_t types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW};
	static const uint32_t protocols[] = {
		0,	     IPPROTO_ICMP,   IPPROTO_TCP,
		IPPROTO_UDP, IPPROTO_ICMPV6, MULTIPATH_TCP,
	};
	size_t i, left;

	emit_load_argument(to, 1);
	emit(to, BPF_ALU | BPF_AND | BPF_K, 0xf, 0, 0);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		left = ARRAY_SIZE(types) - i;
		emit(to, BPF_JMP | BPF_JEQ | BPF_K, types[i], (uint8_t)left, 0);
	}
	emit_return(to, REFUSE(ESOCKTNOSUPPORT));
	emit_load_argument(to, 2);
	for (i = 0; i < ARRAY_SIZE(protocols); i++) {
		emit_skip_unless(to, protocols[i]);
		emit_return(to, SECCOMP_RET_ALLOW);
	}
	emit_return(to, REFUSE(EPROTONOSUPPORT));
}

/* Netlink is allowed only for NETLINK_ROUTE (0), which getaddrinfo(3)
 * uses; audit, netfilter and the others are refused. AF_VSOCK reaches the host
 * of a virtual machine; AF_ALG and AF_PACKET reach deep into the kernel. */
static void restrict_socket(struct buf *to, const struct syscall_numbers *n)
{
	static const uint32_t local[] = {AF_UNIX};
	size_t start = start_syscall_block(to, n->socket), jump;
	struct sock_filter *op;

	emit_load_argument(to, 0);
	emit_skip_unless(to, AF_UNIX);
	emit_return(to, SECCOMP_RET_ALLOW);
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, AF_INET, 1, 0);
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, AF_INET6, 0, 0);
	jump = to->len - sizeof(*op);
	restrict_internet(to);
	op = (struct sock_filter *)(void *)(to->data + jump);
	op->jf = (uint8_t)((to->len - jump) / sizeof(*op) - 1);
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, AF_NETLINK, 1, 0);
	emit_return(to, REFUSE(EAFNOSUPPORT));
	emit_load_argument(to, 2);
	emit_skip_unless(to, 0);
	emit_return(to, SECCOMP_RET_ALLOW);
	end_syscall_block(to, start, REFUSE(EPROTONOSUPPORT));
	compare_argument(to, n->socketpair, 0, UINT32_MAX, local,
			 ARRAY_SIZE(local), SECCOMP_RET_ALLOW,
			 REFUSE(EAFNOSUPPORT));
}

/* Each call whose arguments are checked is allowed otherwise. */
static void emit_arguments(struct buf *to, const struct syscall_numbers *n,
			   bool nested)
{
	restrict_ioctl(to, n);
	restrict_socket(to, n);
	if (!nested) {
		refuse_argument_bits(to, n->clone, 0, NAMESPACES,
				     REFUSE(EPERM));
		refuse_argument_bits(to, n->unshare, 0, NAMESPACES | NEWTIME,
				     REFUSE(EPERM));
	}
	restrict_mknod(to, n);
	restrict_personality(to, n);
	answer_inside(to, n);
}

static void emit_calls(struct buf *to, uint32_t arch,
		       const struct syscall_numbers *n,
		       const struct filter_options *w)
{
	uint32_t actions[NUMBERS];

	set_syscall_actions(actions, arch, w);
	emit_load(to, offsetof(struct seccomp_data, nr));
#ifdef X32_BIT
	/* Debuggers set the number -1 to skip a call. */
	emit_skip_unless(to, 0xFFFFFFFFu);
	emit_return(to, REFUSE(ENOSYS));
#endif
	/* The frequent one of the calls for which the kernel executes all
	 * programs: see filter.h. */
	emit_skip_unless(to, (uint32_t)filter_call_number(arch, "openat"));
	emit_return(to, actions[filter_call_number(arch, "openat")]);
	emit_arguments(to, n, w->nested);
	emit_actions(to, arch, actions);
}

static void make_call_filter(const struct filter_options *w, struct buf *to)
{
	size_t other = start_arch_block(to, ARCH);

	emit_calls(to, NATIVE, &native, w);
	end_arch_block(to, other);
#ifdef X32_BIT
	if (w->i386) {
		other = start_arch_block(to, AUDIT_ARCH_I386);
		emit_calls(to, SCMP_ARCH_X86, &i386, w);
		end_arch_block(to, other);
	}
#endif
	emit_return(to, SECCOMP_RET_KILL_PROCESS);
}

/* ---- the notifying filter ---- */

static void notify_syscall(struct buf *to, int nr)
{
	emit_skip_unless(to, (uint32_t)nr);
	emit_return(to, SECCOMP_RET_USER_NOTIF);
}

/*
 * Notifies of an open that would pass a lease by: for writing without a wait
 * for the lease's end, or for reading with O_TRUNC, which empties the file. A
 * file that does not exist yet has no lease. Nearly all opens have neither of
 * the first two flags.
 */
static void notify_open(struct buf *to, int nr, unsigned int arg)
{
	size_t start = start_syscall_block(to, nr);

	emit_load_argument(to, arg);
	emit(to, BPF_JMP | BPF_JSET | BPF_K, O_NONBLOCK | O_TRUNC, 1, 0);
	emit_return(to, SECCOMP_RET_ALLOW);
	emit(to, BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE, 1, 0);
	emit(to, BPF_JMP | BPF_JSET | BPF_K, O_TRUNC, 3, 4);
	emit(to, BPF_JMP | BPF_JSET | BPF_K, O_NONBLOCK, 0, 3);
	emit(to, BPF_ALU | BPF_AND | BPF_K, O_CREAT | O_EXCL, 0, 0);
	emit(to, BPF_JMP | BPF_JEQ | BPF_K, O_CREAT | O_EXCL, 1, 0);
	emit_return(to, SECCOMP_RET_USER_NOTIF);
	end_syscall_block(to, start, SECCOMP_RET_ALLOW);
}

/*
 * Notifies of renames, except those with other flags of renameat2(2), and of
 * calls that destroy a file's content without waiting for the end of a lease;
 * the flags of openat2(2) are out of a filter's reach. The frequent calls come
 * first. A program under a Landlock ruleset has fewer permissions than guard
 * can see, so that call is notified of. No other call may be: until guard has
 * received it, a signal ends it with EINTR, which exit_group(2), for example,
 * does not expect.
 */
static void make_notifier_filter(struct buf *to)
{
	size_t start, other = start_arch_block(to, ARCH);

	emit_load(to, offsetof(struct seccomp_data, nr));
	notify_open(to, SYS_openat, 2);
#ifdef SYS_open
	notify_open(to, SYS_open, 1);
#endif
	notify_syscall(to, SYS_openat2);
	notify_syscall(to, SYS_truncate);
#ifdef SYS_rename
	notify_syscall(to, SYS_rename);
#endif
#ifdef SYS_renameat
	notify_syscall(to, SYS_renameat);
#endif
	notify_syscall(to, SYS_landlock_restrict_self);
	start = start_syscall_block(to, SYS_renameat2);
	emit_load_argument(to, 4);
	emit(to, BPF_JMP | BPF_JSET | BPF_K,
	     ~(uint32_t)(RENAME_NOREPLACE | RENAME_EXCHANGE), 0, 1);
	emit_return(to, SECCOMP_RET_ALLOW);
	end_syscall_block(to, start, SECCOMP_RET_USER_NOTIF);
	emit_return(to, SECCOMP_RET_ALLOW);
	/* 32-bit programs get no notifier. */
	end_arch_block(to, other);
	emit_return(to, SECCOMP_RET_ALLOW);
}

/* ---- the filter of the parsing worker ---- */

/* Allows the call if this argument has none of the bits. */
static void allow_without_bits(struct buf *to, int nr, unsigned int arg,
			       uint32_t bits)
{
	refuse_argument_bits(to, nr, arg, bits, SECCOMP_RET_KILL_PROCESS);
}

void filter_make_parser(pid_t pid, struct buf *to)
{
	/* The calls of each request first. abort(3) makes the last ones. */
	static const int calls[] = {
		SYS_recvmsg,
		SYS_sendmsg,
		SYS_munmap,
		SYS_mremap,
		SYS_brk,
		SYS_madvise,
		SYS_close,
		SYS_lseek,
		SYS_memfd_create,
		SYS_write,
		SYS_ftruncate,
		SYS_futex,
		SYS_getrandom,
		SYS_clock_gettime,
		SYS_gettimeofday,
		SYS_rt_sigreturn,
		SYS_restart_syscall,
		SYS_exit,
		SYS_exit_group,
		SYS_getpid,
		SYS_gettid,
		SYS_rt_sigprocmask,
		SYS_rt_sigaction,
	};
	static const uint32_t seals[] = {F_ADD_SEALS, F_GET_SEALS};
	const uint32_t own = (uint32_t)pid;
	size_t other = start_arch_block(to, ARCH), i;

	emit_load(to, offsetof(struct seccomp_data, nr));
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		emit_skip_unless(to, (uint32_t)calls[i]);
		emit_return(to, SECCOMP_RET_ALLOW);
	}
	allow_without_bits(to, SYS_mmap, 2, PROT_EXEC);
	allow_without_bits(to, SYS_mprotect, 2, PROT_EXEC);
	compare_argument(to, SYS_fcntl, 1, UINT32_MAX, seals, ARRAY_SIZE(seals),
			 SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	compare_argument(to, SYS_tgkill, 0, UINT32_MAX, &own, 1,
			 SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
	emit_return(to, SECCOMP_RET_KILL_PROCESS);
	end_arch_block(to, other);
	emit_return(to, SECCOMP_RET_KILL_PROCESS);
}

/* ---- the filter of git ---- */

void filter_make_git(pid_t pid, struct buf *to)
{
	static const uint32_t fcntls[] = {F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD,
					  F_SETFD, F_GETFL,	    F_SETFL,
					  F_GETLK, F_SETLK,	    F_SETLKW};
	static const uint32_t own = 0;
	const uint32_t self = (uint32_t)pid;
	uint32_t actions[NUMBERS];
	size_t other = start_arch_block(to, ARCH), i;

	for (i = 0; i < NUMBERS; i++)
		actions[i] = REFUSE(ENOSYS);
	set_syscall_action(actions, NATIVE, "git", SECCOMP_RET_ALLOW);
	set_syscall_action(actions, NATIVE, "git-ignore", REFUSE(0));
	emit_load(to, offsetof(struct seccomp_data, nr));
	/* A terminal is asked for with ioctl(2). */
	emit_skip_unless(to, SYS_ioctl);
	emit_return(to, REFUSE(ENOTTY));
	compare_argument(to, SYS_fcntl, 1, UINT32_MAX, fcntls,
			 ARRAY_SIZE(fcntls), SECCOMP_RET_ALLOW, REFUSE(EINVAL));
	compare_argument(to, SYS_prlimit64, 0, UINT32_MAX, &own, 1,
			 SECCOMP_RET_ALLOW, REFUSE(EPERM));
	compare_argument(to, SYS_tgkill, 0, UINT32_MAX, &self, 1,
			 SECCOMP_RET_ALLOW, REFUSE(EPERM));
	/* Threads only. */
	compare_argument(to, SYS_clone, 0, CLONE_THREAD | NAMESPACES,
			 (const uint32_t[]){CLONE_THREAD}, 1, SECCOMP_RET_ALLOW,
			 REFUSE(EPERM));
	emit_actions(to, NATIVE, actions);
	end_arch_block(to, other);
	emit_return(to, SECCOMP_RET_KILL_PROCESS);
}

int filters_make(const struct filter_options *w, struct filters *ret,
		 struct err *err)
{
	struct filters f = {0};

	make_call_filter(w, &f.calls);
	make_notifier_filter(&f.notifier);
	if (f.calls.len / sizeof(struct sock_filter) > BPF_MAXINSNS) {
		filters_free(&f);
		return fail(err, E2BIG, "the seccomp filter is too long");
	}
	*ret = f;
	return 0;
}

int filter_load(const void *program, size_t len, struct err *err)
{
	struct sock_fprog prog = {
		.len = (unsigned short)(len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)(uintptr_t)program,
	};

	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) < 0)
		return fail_errno(err, "load a seccomp filter");
	return 0;
}

int filter_load_notifier(const void *program, size_t len)
{
	struct sock_fprog prog = {
		.len = (unsigned short)(len / sizeof(struct sock_filter)),
		.filter = (struct sock_filter *)(uintptr_t)program,
	};

	return (int)syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE_RECV, &prog);
}
