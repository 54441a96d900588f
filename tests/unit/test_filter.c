/* The seccomp programs, executed by an interpreter of the instructions in them:
 * every number, and the checked arguments. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/inside.h"
#include "guard/sandbox/filter.h"
#include "base/auto.h"
#include "guard/sandbox/filter_calls.h"

#undef fail
#include <cmocka.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif
#define OTHER_ARCH AUDIT_ARCH_I386

static uint32_t run(const struct buf *program, const struct seccomp_data *data)
{
	const struct sock_filter *ops = (const void *)program->data;
	size_t count = program->len / sizeof(*ops), pc;
	uint32_t a = 0;

	for (pc = 0; pc < count; pc++) {
		const struct sock_filter *op = &ops[pc];

		switch (op->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(op->k + 4 <= sizeof(*data));
			memcpy(&a, (const char *)data + op->k, 4);
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= op->k;
			break;
		case BPF_JMP | BPF_JA:
			pc += op->k;
			break;
		case BPF_JMP | BPF_JEQ | BPF_K:
			pc += a == op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JGE | BPF_K:
			pc += a >= op->k ? op->jt : op->jf;
			break;
		case BPF_JMP | BPF_JSET | BPF_K:
			pc += a & op->k ? op->jt : op->jf;
			break;
		case BPF_RET | BPF_K:
			return op->k;
		default:
			fail_msg("instruction %#x", op->code);
		}
	}
	fail_msg("the program has no end");
	return 0;
}

static struct filters make(bool nested)
{
	struct filters f = {0};
	struct err err;

	assert_int_equal(
		filters_make(&(struct filter_options){.nested = nested}, &f,
			     &err),
		0);
	return f;
}

static uint32_t ask(const struct buf *program, int nr, uint64_t a0, uint64_t a1,
		    uint64_t a2)
{
	struct seccomp_data data = {
		.nr = nr, .arch = ARCH, .args = {a0, a1, a2}};

	return run(program, &data);
}

static uint32_t refused(int num)
{
	return SECCOMP_RET_ERRNO | (uint32_t)num;
}

static bool in_list(const char *list, int nr)
{
	AUTO(names) struct names names = {0};
	size_t i;

	filter_calls(list, &names);
	assert_true(names.count > 0);
	for (i = 0; i < names.count; i++)
		if (filter_call_number(seccomp_arch_native(), names.items[i]) ==
		    nr)
			return true;
	return false;
}

static uint32_t expected(int nr, bool nested)
{
	if (nested && (in_list("nested", nr) || in_list("nested-new", nr)))
		return SECCOMP_RET_ALLOW;
	if (in_list("refuse", nr) || in_list("nested", nr))
		return refused(EPERM);
	if (in_list("allow", nr))
		return SECCOMP_RET_ALLOW;
#ifdef __x86_64__
	if (in_list("x86_64", nr))
		return SECCOMP_RET_ALLOW;
#endif
	return refused(ENOSYS);
}

static void compare_all(bool nested)
{
	struct filters f = make(nested);
	int nr;

	/* With arguments that no call is refused for. */
	for (nr = 0; nr < 2000; nr++) {
		bool sockets = nr == SYS_socket || nr == SYS_socketpair;
		uint32_t got = ask(&f.calls, nr, sockets ? AF_UNIX : 0, 0, 0);

		if (got != expected(nr, nested))
			fail_msg("call %d: %#x", nr, got);
	}
	filters_free(&f);
}

static void every_number_gets_the_answer_of_its_list(void **state)
{
	(void)state;
	compare_all(false);
	compare_all(true);
}

static void must_not_be_allowed(const char *list)
{
	AUTO(names) struct names names = {0};
	size_t i;

	filter_calls(list, &names);
	for (i = 0; i < names.count; i++) {
		int nr = filter_call_number(seccomp_arch_native(),
					    names.items[i]);

		if (nr >= 0)
			assert_false(in_list("allow", nr));
	}
}

static void the_lists_do_not_contradict_each_other(void **state)
{
	(void)state;
	must_not_be_allowed("refuse");
	must_not_be_allowed("nested-new");
}

static void well_known_calls_are_where_they_belong(void **state)
{
	struct filters f = make(false);

	(void)state;
	assert_int_equal(ask(&f.calls, SYS_openat, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f.calls, SYS_read, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f.calls, SYS_ptrace, 0, 0, 0), SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f.calls, SYS_clone3, 0, 0, 0), refused(ENOSYS));
	assert_int_equal(ask(&f.calls, SYS_io_uring_setup, 0, 0, 0),
			 refused(ENOSYS));
	assert_int_equal(ask(&f.calls, SYS_mount, 0, 0, 0), refused(EPERM));
	assert_int_equal(ask(&f.calls, SYS_bpf, 0, 0, 0), refused(EPERM));
	/* open_tree_attr, unknown to libseccomp's tables */
	assert_int_equal(ask(&f.calls, 467, 0, 0, 0), refused(ENOSYS));
	filters_free(&f);
}

static void other_machines_calls_end_the_process(void **state)
{
	struct filters f = make(false);
	struct seccomp_data data = {.nr = 1, .arch = OTHER_ARCH};

	(void)state;
	assert_int_equal(run(&f.calls, &data), SECCOMP_RET_KILL_PROCESS);
#ifdef __x86_64__
	assert_int_equal(ask(&f.calls, 0x40000000 | 39, 0, 0, 0),
			 SECCOMP_RET_KILL_PROCESS);
	assert_int_equal(ask(&f.calls, -1, 0, 0, 0), refused(ENOSYS));
#endif
	filters_free(&f);
}

static void no_bit_above_32_walks_around_an_argument(void **state)
{
	static const uint32_t bad[] = {TIOCSTI,
				       TIOCLINUX,
				       TIOCSETD,
				       TIOCCONS,
				       0xc0506617 /* keys of fscrypt */,
				       0xc0406618,
				       0xc0406619};
	struct filters f = make(false);
	size_t i;
	int bit;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		assert_int_equal(ask(&f.calls, SYS_ioctl, 0, bad[i], 0),
				 refused(EPERM));
		for (bit = 32; bit < 64; bit++)
			assert_int_equal(ask(&f.calls, SYS_ioctl, 0,
					     bad[i] | 1ULL << bit, 0),
					 refused(EPERM));
	}
	assert_int_equal(ask(&f.calls, SYS_ioctl, 0, TIOCGWINSZ, 0),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(
		ask(&f.calls, SYS_unshare, CLONE_NEWUSER | 1ULL << 40, 0, 0),
		refused(EPERM));
	filters_free(&f);
}

static void each_namespace_flag_alone_is_refused(void **state)
{
	static const uint32_t flags[] = {
		CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
		CLONE_NEWUSER, CLONE_NEWPID,	CLONE_NEWNET};
	struct filters f = make(false), n = make(true);
	size_t i;

	(void)state;
	for (i = 0; i < 7; i++) {
		assert_int_equal(ask(&f.calls, SYS_clone, flags[i] | 17, 0, 0),
				 refused(EPERM));
		assert_int_equal(ask(&f.calls, SYS_unshare, flags[i], 0, 0),
				 refused(EPERM));
		assert_int_equal(ask(&n.calls, SYS_unshare, flags[i], 0, 0),
				 SECCOMP_RET_ALLOW);
	}
	/* CLONE_NEWTIME; in clone(2) the same bit is part of the signal */
	assert_int_equal(ask(&f.calls, SYS_unshare, 0x80, 0, 0),
			 refused(EPERM));
	assert_int_equal(
		ask(&f.calls, SYS_clone, CLONE_VM | CLONE_FS | 17, 0, 0),
		SECCOMP_RET_ALLOW);
	filters_free(&f);
	filters_free(&n);
}

static void only_four_families_of_sockets_are_left(void **state)
{
	struct filters f = make(true);
	uint64_t family;

	(void)state;
	for (family = 0; family < 100; family++) {
		bool good = family == AF_UNIX || family == AF_INET ||
			    family == AF_INET6 || family == AF_NETLINK;

		assert_int_equal(ask(&f.calls, SYS_socket, family, 1, 0),
				 good ? SECCOMP_RET_ALLOW
				      : refused(EAFNOSUPPORT));
	}
	assert_int_equal(ask(&f.calls, SYS_socket, AF_NETLINK, 3, 9),
			 refused(EPROTONOSUPPORT));
	assert_int_equal(ask(&f.calls, SYS_socket, AF_INET, 1, 6),
			 SECCOMP_RET_ALLOW);
	filters_free(&f);
}

static void only_tcp_udp_and_ping_are_left_of_the_internet(void **state)
{
	static const uint64_t high = 1ULL << 40;
	struct filters f = make(true);
	uint64_t kind, protocol;

	(void)state;
	for (kind = 0; kind < 12; kind++)
		assert_int_equal(ask(&f.calls, SYS_socket, AF_INET6,
				     kind | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
				 kind >= SOCK_STREAM && kind <= SOCK_RAW
					 ? SECCOMP_RET_ALLOW
					 : refused(ESOCKTNOSUPPORT));
	for (protocol = 0; protocol < 300; protocol++) {
		bool good = protocol == 0 || protocol == 1 || protocol == 6 ||
			    protocol == 17 || protocol == 58 || protocol == 262;
		uint32_t answer =
			good ? SECCOMP_RET_ALLOW : refused(EPROTONOSUPPORT);

		assert_int_equal(ask(&f.calls, SYS_socket, AF_INET, SOCK_DGRAM,
				     protocol),
				 answer);
		assert_int_equal(ask(&f.calls, SYS_socket, AF_INET6 | high,
				     SOCK_STREAM | high, protocol | high),
				 answer);
	}
	filters_free(&f);
}

static void no_device_node_can_be_made(void **state)
{
	struct filters f = make(true);
	int nr = SYS_mknodat;

	(void)state;
	assert_int_equal(ask(&f.calls, nr, 0, 0, S_IFCHR | 0600),
			 refused(EPERM));
	assert_int_equal(ask(&f.calls, nr, 0, 0, S_IFBLK | 0600),
			 refused(EPERM));
	assert_int_equal(ask(&f.calls, nr, 0, 0, S_IFIFO | 0600),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f.calls, nr, 0, 0, 0644), SECCOMP_RET_ALLOW);
	filters_free(&f);
}

static void prctl_says_that_this_is_a_run(void **state)
{
	struct filters f = {0};
	struct err err;

	(void)state;
	assert_false(inside_run());
	assert_int_equal(filters_make(&(struct filter_options){0}, &f, &err),
			 0);
	assert_int_equal(ask(&f.calls, SYS_prctl, INSIDE_OPTION, 0, 0),
			 SECCOMP_RET_ERRNO | INSIDE_ERRNO);
	assert_int_equal(ask(&f.calls, SYS_prctl, PR_SET_NAME, 0, 0),
			 SECCOMP_RET_ALLOW);
	filters_free(&f);
}

static void an_executable_stack_is_no_personality(void **state)
{
	struct filters f = make(false);

	(void)state;
	assert_int_equal(ask(&f.calls, SYS_personality, 0x0400000, 0, 0),
			 refused(EPERM));
	assert_int_equal(ask(&f.calls, SYS_personality, 0x0040000, 0, 0),
			 SECCOMP_RET_ALLOW);
	assert_int_equal(ask(&f.calls, SYS_personality, 0xffffffff, 0, 0),
			 SECCOMP_RET_ALLOW);
	filters_free(&f);
}

static void only_some_calls_are_asked_about(void **state)
{
	struct seccomp_data data = {.nr = SYS_renameat2, .arch = ARCH};
	struct filters f = make(false), nested = make(true);
	int nr;

	(void)state;
	assert_int_equal(nested.notifier.len, f.notifier.len);
	for (nr = 0; nr < 512; nr++) {
		uint32_t wanted = SECCOMP_RET_ALLOW;

		if (nr == SYS_renameat2 || nr == SYS_landlock_restrict_self ||
		    nr == SYS_openat2 || nr == SYS_truncate)
			wanted = SECCOMP_RET_USER_NOTIF;
#ifdef SYS_renameat
		if (nr == SYS_renameat)
			wanted = SECCOMP_RET_USER_NOTIF;
#endif
#ifdef SYS_rename
		if (nr == SYS_rename)
			wanted = SECCOMP_RET_USER_NOTIF;
#endif
		assert_int_equal(ask(&f.notifier, nr, 0, 0, 0), wanted);
	}
	/* A signal would end it with EINTR, and then libc the process. */
	assert_int_equal(ask(&f.notifier, SYS_exit_group, 1, 0, 0),
			 SECCOMP_RET_ALLOW);
	data.args[4] = RENAME_NOREPLACE;
	assert_int_equal(run(&f.notifier, &data), SECCOMP_RET_USER_NOTIF);
	data.args[4] = RENAME_EXCHANGE;
	assert_int_equal(run(&f.notifier, &data), SECCOMP_RET_USER_NOTIF);
	data.args[4] = RENAME_WHITEOUT;
	assert_int_equal(run(&f.notifier, &data), SECCOMP_RET_ALLOW);
	filters_free(&f);
	filters_free(&nested);
}

/* Only such an open may destroy the content of a file with a lease. */
static bool passes_lease(int flags)
{
	if ((flags & O_CREAT) && (flags & O_EXCL))
		return (flags & O_ACCMODE) == O_RDONLY && (flags & O_TRUNC);
	if ((flags & O_ACCMODE) == O_RDONLY)
		return flags & O_TRUNC;
	return flags & O_NONBLOCK;
}

static void each_open_that_passes_a_lease_is_asked_about(void **state)
{
	static const int bits[] = {O_CREAT,  O_EXCL,	O_TRUNC,    O_NONBLOCK,
				   O_APPEND, O_CLOEXEC, O_DIRECTORY};
	struct filters f = make(false);
	unsigned int set, mode, i;

	(void)state;
	for (set = 0; set < 1u << 7; set++) {
		for (mode = 0; mode < 4; mode++) {
			uint32_t wanted = SECCOMP_RET_ALLOW;
			int flags = (int)mode;

			for (i = 0; i < 7; i++)
				flags |= set & 1u << i ? bits[i] : 0;
			if (passes_lease(flags))
				wanted = SECCOMP_RET_USER_NOTIF;
			assert_int_equal(ask(&f.notifier, SYS_openat, 0, 0,
					     (uint64_t)flags),
					 wanted);
#ifdef SYS_open
			assert_int_equal(ask(&f.notifier, SYS_open, 0,
					     (uint64_t)flags, 0),
					 wanted);
#endif
		}
	}
	filters_free(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_gets_the_answer_of_its_list),
		cmocka_unit_test(the_lists_do_not_contradict_each_other),
		cmocka_unit_test(well_known_calls_are_where_they_belong),
		cmocka_unit_test(other_machines_calls_end_the_process),
		cmocka_unit_test(no_bit_above_32_walks_around_an_argument),
		cmocka_unit_test(each_namespace_flag_alone_is_refused),
		cmocka_unit_test(only_four_families_of_sockets_are_left),
		cmocka_unit_test(
			only_tcp_udp_and_ping_are_left_of_the_internet),
		cmocka_unit_test(no_device_node_can_be_made),
		cmocka_unit_test(prctl_says_that_this_is_a_run),
		cmocka_unit_test(an_executable_stack_is_no_personality),
		cmocka_unit_test(only_some_calls_are_asked_about),
		cmocka_unit_test(each_open_that_passes_a_lease_is_asked_about),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
