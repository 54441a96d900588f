/*
 * The state that guard prepares for a run and pid 1 uses. guard fills a struct
 * setup before the clone(2) of pid 1; the fork copies it, and the fields marked
 * as pid 1's change only there. An exec session (pid1.c) works on a copy
 * of pid 1's.
 *
 * Four processes run the code of guard/sandbox:
 *
 *	guard		the caller's process: places.c, grant.c, sockets.c,
 *			launch.c, relay.c, tty.c, stdio_proxy.c, userns.c,
 *			filter.c, cgroup.c, watch.c, freezer.c
 *	pid 1		child.c, mount_list.c, mounts.c, grant.c,
 *			proc.c, stdio_fds.c, lockdown.c, pid1.c: created by
 *			one clone(2) with all namespaces. It builds the root,
 *			drops its privileges, then waits for the release
 *	command		command.c: forked by pid 1, confined from its start
 *	exec session	exec_client.c in another guard process; pid1.c in a
 *			child of pid 1, which leads the session of the command
 */
#ifndef GUARD_SANDBOX_SETUP_H
#define GUARD_SANDBOX_SETUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/mem.h"
#include "guard/sandbox/filter.h"
#include "guard/sandbox/notifier.h"
#include "guard/sandbox/network.h"
#include "guard/sandbox/sandbox.h"
#include "guard/sandbox/inherited_state.h"
#include "base/vec.h"

/*
 * One mount of a run, or a mask (mount_list.h). The run sees a path as the last
 * entry says that covers it.
 */
struct mount_entry {
	enum visibility sight;
	char *path; /* absolute */
	bool granted; /* an option or a line of a profile grants it */
	bool dir;
	/* The source: the present mount (in_place), a file or directory
	 * (O_PATH), a text; else an empty file or directory. */
	bool in_place;
	int fd; /* or -1 */
	const struct buf *text; /* or NULL */
	size_t layer; /* number of a layer in policy->layers */
	/* Masks only a socket with this device and inode number. */
	bool socket;
	dev_t dev;
	ino_t ino;
	int mount_fd; /* a masked directory, until it becomes read-only */
};

struct setup {
	const struct sandbox_policy *policy;
	const struct filters *filters;
	int socket; /* pid 1's end of the socket pair */
	int guard_socket; /* guard's end: pid 1 closes it */
	int program_fd; /* guard's program, for policy->own_program; or -1 */
	int exec_socket_fd; /* pid 1 accepts exec clients here; or -1 */
	uid_t uid;
	gid_t gid;
	bool root;
	char *tmp_path, *var_tmp_path; /* on disk, for /tmp and /var/tmp */
	bool replace[3]; /* descriptors 0, 1, 2: by the run's terminal */
	bool replace_node[3]; /* by the device node of the run's /dev */
	bool reopened[3]; /* the offset is not shared with the caller's */
	/* Only one of stdin and stdout is the terminal, so other programs of
	 * the pipeline may use it too: its modes change only when the command
	 * reads from it. */
	bool pipeline;

	struct inherited_state inherited_state; /* restored for the command */
	bool strict; /* of the run, or of the exec request */
	bool pin; /* to as many processors as cpus_milli asks for */
	uint64_t pids_limit;
	struct network network; /* with SANDBOX_NET_PRIVATE */
	/* Absolute paths of Unix sockets with a listener. */
	struct names sockets;
	/* Sockets of well-known services among them; NULL: none. */
	char **unreachable_sockets;

	/* pid 1's own: */
	struct notifier_clock begin;
	int tmp_fd, var_tmp_fd; /* reopened in pid 1's mount namespace */
	VEC(struct mount_entry) mounts; /* in their order */
	int root_fd; /* the new root */
	int old_dev; /* the machine's /dev */
	int scratch_fd; /* a mounted tmpfs of guard's, the source of masks */
	int master_fd, slave_fd; /* of the run's terminal, or -1 */
};

#endif
