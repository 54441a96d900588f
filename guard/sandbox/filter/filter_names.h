/*
 * The calls that a run has, by name. The list of what is allowed is that of
 * Docker's default profile (moby/profiles, proven on very many images)
 * without fanotify_mark, socketcall and ipc, and with what debuggers need,
 * which is harmless in a PID namespace. What is in no list looks absent
 * (ENOSYS): also every call that a newer kernel brings. Arguments of some of
 * the allowed ones (clone, unshare, socket, ioctl...) are refused by the second
 * filter.
 */
#ifndef GUARD_SANDBOX_FILTER_FILTER_NAMES_H
#define GUARD_SANDBOX_FILTER_FILTER_NAMES_H

#include <stddef.h>

/* NULL-terminated. */
extern const char *const filter_allow[];
/* EPERM instead of ENOSYS: there, and not for you. */
extern const char *const filter_refuse[];
/* EPERM as well, but allowed for sandboxes inside (--nested). */
extern const char *const filter_nested[];
/* Absent, but allowed for sandboxes inside. */
extern const char *const filter_nested_new[];

#ifdef __x86_64__
/* Allowed, younger than libseccomp 2.5.4's tables. */
extern const int filter_allow_numbers[];
extern const size_t filter_allow_numbers_count;

/* Of i386, where libseccomp has numbers of its own for what socketcall(2) and
 * ipc(2) can do as well. Those two have their arguments in memory, where no
 * filter sees them: ipc(2) is harmless in a namespace, socketcall(2) stays
 * absent (C libraries since 2016 do without). */
extern const int filter_allow_i386[];
extern const size_t filter_allow_i386_count;
#endif

#endif
