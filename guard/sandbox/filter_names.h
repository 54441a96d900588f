/*
 * System calls of a run, by name. The allowed ones are those of Docker's
 * default profile (moby/profiles, proven on very many images) without
 * fanotify_mark, socketcall and ipc, and with the calls that debuggers need,
 * which are harmless in a pid namespace. All others return ENOSYS, also each
 * call of a newer kernel. The second filter refuses arguments of some allowed
 * calls (clone, unshare, socket, ioctl...).
 */
#ifndef GUARD_SANDBOX_FILTER_NAMES_H
#define GUARD_SANDBOX_FILTER_NAMES_H

#include <stddef.h>

/* Lists end with NULL. */
extern const char *const filter_allow[];
/* EPERM instead of ENOSYS: the call exists but is refused. */
extern const char *const filter_refuse[];
/* EPERM, but allowed for nested sandboxes (--nested). */
extern const char *const filter_nested[];
/* ENOSYS, but allowed for nested sandboxes. */
extern const char *const filter_nested_new[];
/* All that git may call on objects of a run (git_process.h). */
extern const char *const filter_git[];

#ifdef __x86_64__
/* Allowed calls that libseccomp 2.5.4 does not know. */
extern const int filter_allow_numbers[];
extern const size_t filter_allow_numbers_count;

/*
 * i386: libseccomp has its own numbers for calls that socketcall(2) and ipc(2)
 * replace. Those two have their arguments in memory, out of a filter's reach:
 * ipc(2) is harmless in an IPC namespace; socketcall(2) stays refused (C
 * libraries since 2016 do without it).
 */
extern const int filter_allow_i386[];
extern const size_t filter_allow_i386_count;
#endif

#endif
