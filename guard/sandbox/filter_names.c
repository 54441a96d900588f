#include "guard/sandbox/filter_names.h"

/* clang-format off */
const char *const filter_allow[] = {
	"_llseek", "_newselect", "accept", "accept4", "access", "adjtimex",
	"alarm", "arch_prctl", "bind", "brk", "cachestat", "capget", "capset",
	"chdir", "chmod", "chown", "chown32", "clock_adjtime",
	"clock_adjtime64", "clock_getres", "clock_getres_time64",
	"clock_gettime", "clock_gettime64", "clock_nanosleep",
	"clock_nanosleep_time64", "clone", "close", "close_range", "connect",
	"copy_file_range", "creat", "dup", "dup2", "dup3", "epoll_create",
	"epoll_create1", "epoll_ctl", "epoll_ctl_old", "epoll_pwait",
	"epoll_pwait2", "epoll_wait", "epoll_wait_old", "eventfd", "eventfd2",
	"execve", "execveat", "exit", "exit_group", "faccessat", "faccessat2",
	"fadvise64", "fadvise64_64", "fallocate", "fchdir", "fchmod",
	"fchmodat", "fchmodat2", "fchown", "fchown32", "fchownat", "fcntl",
	"fcntl64", "fdatasync", "fgetxattr", "flistxattr", "flock", "fork",
	"fremovexattr", "fsetxattr", "fstat", "fstat64", "fstatat64", "fstatfs",
	"fstatfs64", "fsync", "ftruncate", "ftruncate64", "futex",
	"futex_requeue", "futex_time64", "futex_wait", "futex_waitv",
	"futex_wake", "futimesat", "get_mempolicy", "get_robust_list",
	"get_thread_area", "getcpu", "getcwd", "getdents", "getdents64",
	"getegid", "getegid32", "geteuid", "geteuid32", "getgid", "getgid32",
	"getgroups", "getgroups32", "getitimer", "getpeername", "getpgid",
	"getpgrp", "getpid", "getppid", "getpriority", "getrandom", "getresgid",
	"getresgid32", "getresuid", "getresuid32", "getrlimit", "getrusage",
	"getsid", "getsockname", "getsockopt", "gettid", "gettimeofday",
	"getuid", "getuid32", "getxattr", "getxattrat", "inotify_add_watch",
	"inotify_init", "inotify_init1", "inotify_rm_watch", "io_cancel",
	"io_destroy", "io_getevents", "io_pgetevents", "io_pgetevents_time64",
	"io_setup", "io_submit", "ioctl", "ioprio_get", "ioprio_set", "kcmp",
	"kill", "landlock_add_rule", "landlock_create_ruleset",
	"landlock_restrict_self", "lchown", "lchown32", "lgetxattr", "link",
	"linkat", "listen", "listmount", "listxattr", "listxattrat",
	"llistxattr", "lremovexattr", "lseek", "lsetxattr", "lstat", "lstat64",
	"madvise", "map_shadow_stack", "membarrier", "memfd_create",
	"memfd_secret", "mincore", "mkdir", "mkdirat", "mknod", "mknodat",
	"mlock", "mlock2", "mlockall", "mmap", "mmap2", "mprotect",
	"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive",
	"mq_timedreceive_time64", "mq_timedsend", "mq_timedsend_time64",
	"mq_unlink", "mremap", "mseal", "msgctl", "msgget", "msgrcv", "msgsnd",
	"msync", "munlock", "munlockall", "munmap", "name_to_handle_at",
	"nanosleep", "newfstatat", "open", "openat", "openat2", "pause",
	"personality", "pidfd_getfd", "pidfd_open", "pidfd_send_signal", "pipe",
	"pipe2", "pkey_alloc", "pkey_free", "pkey_mprotect", "poll", "ppoll",
	"ppoll_time64", "prctl", "pread64", "preadv", "preadv2", "prlimit64",
	"process_madvise", "process_mrelease", "process_vm_readv",
	"process_vm_writev", "pselect6", "pselect6_time64", "ptrace",
	"pwrite64", "pwritev", "pwritev2", "read", "readahead", "readlink",
	"readlinkat", "readv", "recv", "recvfrom", "recvmmsg",
	"recvmmsg_time64", "recvmsg", "remap_file_pages", "removexattr",
	"removexattrat", "rename", "renameat", "renameat2", "restart_syscall",
	"riscv_hwprobe", "rmdir", "rseq", "rt_sigaction", "rt_sigpending",
	"rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend",
	"rt_sigtimedwait", "rt_sigtimedwait_time64", "rt_tgsigqueueinfo",
	"sched_get_priority_max", "sched_get_priority_min", "sched_getaffinity",
	"sched_getattr", "sched_getparam", "sched_getscheduler",
	"sched_rr_get_interval", "sched_rr_get_interval_time64",
	"sched_setaffinity", "sched_setattr", "sched_setparam",
	"sched_setscheduler", "sched_yield", "seccomp", "select", "semctl",
	"semget", "semop", "semtimedop", "semtimedop_time64", "send",
	"sendfile", "sendfile64", "sendmmsg", "sendmsg", "sendto",
	"set_robust_list", "set_thread_area", "set_tid_address", "setfsgid",
	"setfsgid32", "setfsuid", "setfsuid32", "setgid", "setgid32",
	"setgroups", "setgroups32", "setitimer", "setpgid", "setpriority",
	"setregid", "setregid32", "setresgid", "setresgid32", "setresuid",
	"setresuid32", "setreuid", "setreuid32", "setrlimit", "setsid",
	"setsockopt", "setuid", "setuid32", "setxattr", "setxattrat", "shmat",
	"shmctl", "shmdt", "shmget", "shutdown", "sigaltstack", "signalfd",
	"signalfd4", "sigprocmask", "sigreturn", "socket", "socketpair",
	"splice", "stat", "stat64", "statfs", "statfs64", "statmount", "statx",
	"symlink", "symlinkat", "sync", "sync_file_range", "sync_file_range2",
	"syncfs", "sysinfo", "tee", "tgkill", "time", "timer_create",
	"timer_delete", "timer_getoverrun", "timer_gettime", "timer_gettime64",
	"timer_settime", "timer_settime64", "timerfd_create", "timerfd_gettime",
	"timerfd_gettime64", "timerfd_settime", "timerfd_settime64", "times",
	"tkill", "truncate", "truncate64", "ugetrlimit", "umask", "uname",
	"unlink", "unlinkat", "unshare", "uretprobe", "utime", "utimensat",
	"utimensat_time64", "utimes", "vfork", "vmsplice", "wait4", "waitid",
	"waitpid", "write", "writev", NULL,
};

const char *const filter_refuse[] = {
	"_sysctl", "acct", "add_key", "afs_syscall", "bdflush", "bpf", "break",
	"clock_settime", "clock_settime64", "create_module", "delete_module",
	"fanotify_init", "fanotify_mark", "finit_module", "ftime",
	"get_kernel_syms", "getpmsg", "gtty", "init_module", "ioperm", "iopl",
	"kexec_file_load", "kexec_load", "keyctl", "lock", "lookup_dcookie",
	"mbind", "migrate_pages", "modify_ldt", "move_pages", "mpx",
	"nfsservctl", "open_by_handle_at", "perf_event_open", "prof", "profil",
	"putpmsg", "query_module", "quotactl", "quotactl_fd", "reboot",
	"request_key", "security", "set_mempolicy", "set_mempolicy_home_node",
	"setdomainname", "settimeofday", "sgetmask", "ssetmask", "stime",
	"stty", "swapoff", "swapon", "sysfs", "syslog", "tuxcall", "ulimit",
	"uselib", "userfaultfd", "ustat", "vhangup", "vm86", "vm86old",
	"vserver", NULL,
};

const char *const filter_nested[] = {
	"chroot", "mount", "pivot_root", "sethostname", "setns", "umount",
	"umount2", NULL,
};

const char *const filter_nested_new[] = {
	"clone3", "fsconfig", "fsmount", "fsopen", "fspick", "mount_setattr",
	"move_mount", "open_tree", NULL,
};

const char *const filter_git[] = {
	"access", "alarm", "arch_prctl", "brk", "chdir", "clock_getres",
	"clock_gettime", "clock_nanosleep", "close", "dup", "dup2", "dup3",
	"execve", "exit", "exit_group", "faccessat", "faccessat2", "fadvise64",
	"fdatasync", "fstat", "fstatfs", "fsync", "ftruncate", "futex",
	"get_robust_list", "getcwd", "getdents64", "getegid", "geteuid",
	"getgid", "getitimer", "getpgrp", "getpid", "getppid", "getrandom",
	"getrlimit", "getrusage", "gettid", "gettimeofday", "getuid", "lseek",
	"lstat", "madvise", "membarrier", "mincore", "mkdir", "mkdirat", "mmap",
	"mprotect", "mremap", "msync", "munmap", "nanosleep", "newfstatat",
	"open", "openat", "pipe", "pipe2", "poll", "ppoll", "pread64", "preadv",
	"pselect6", "pwrite64", "pwritev", "read", "readahead", "readlink",
	"readlinkat", "readv", "rename", "renameat", "renameat2",
	"restart_syscall", "rseq", "rt_sigaction", "rt_sigpending",
	"rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "sched_getaffinity",
	"sched_yield", "select", "set_robust_list", "set_tid_address",
	"setitimer", "sigaltstack", "stat", "statfs", "statx",
	"sync_file_range", "sysinfo", "time", "umask", "uname", "unlink",
	"unlinkat", "write", "writev", NULL,
};

#ifdef __x86_64__
/*
 * 335 uretprobe (a traced program is killed without it), 336 uprobe; 451-458
 * cachestat, fchmodat2, map_shadow_stack, futex_*, statmount, listmount;
 * 462-466 mseal, *xattrat.
 */
const int filter_allow_numbers[] = {
	335, 336, 451, 452, 453, 454, 455, 456,
	457, 458, 462, 463, 464, 465, 466,
};
const size_t filter_allow_numbers_count =
	sizeof(filter_allow_numbers) / sizeof(*filter_allow_numbers);

/*
 * 117 ipc; 359-373 socket to shutdown; 393-402 semget to msgctl; 403-414 and
 * 416-423 the calls with 64-bit times; 436 close_range, 437 openat2, 439
 * faccessat2, 449 futex_waitv.
 */
const int filter_allow_i386[] = {
	117, 359, 360, 361, 362, 363, 364, 365, 366, 367, 368, 369,
	370, 371, 372, 373, 393, 394, 395, 396, 397, 398, 399, 400,
	401, 402, 403, 406, 407, 408, 409, 410, 411, 412, 413, 414,
	416, 417, 418, 419, 420, 421, 422, 423, 436, 437, 439, 449,
};
const size_t filter_allow_i386_count =
	sizeof(filter_allow_i386) / sizeof(*filter_allow_i386);
#endif
/* clang-format on */
