#include "guard/sandbox/filter.h"
#include "guard/sandbox/network.h"
#include "guard/sandbox/namespaces_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"

static int wait_for_guard(const struct setup *s, enum message_type type,
			  const char *what, struct err *err)
{
	struct message message;
	int rc = message_receive(s->socket, &message, NULL);

	if (rc < 0)
		return fail_errno(err, "wait for %s", what);
	if (rc == 0 || message.type != type)
		return fail(err, ECANCELED, "the guard process ended");
	return 0;
}

/* The kernel kills pid 1 when guard ends, for whatever reason. */
static int bind_to_guard(struct err *err)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return fail_errno(err, "bind the run's life to guard's");
	return 0;
}

/*
 * The kernel accepts an id map only from the namespace itself or from its
 * parent, and a map of all ids only from the parent. guard is further outside,
 * so for root a helper stays behind in the parent namespace. The helper shares
 * this process's memory as after vfork(2): only one of the two works at a time,
 * the other one waits on a pipe. No code waits for the helper's end: pid 1
 * reaps all children.
 */
struct userns_helper {
	const struct setup *s;
	int start_fd, done_fd; /* the helper's ends of two pipes */
	struct err err;
};

/* Never freed: the helper may still exit on this stack. */
static char helper_stack[65536] __attribute__((aligned(16)));

/* AddressSanitizer inspects the stack before an exit and would warn of this
 * one. */
__attribute__((no_sanitize_address)) static int map_from_above(void *arg)
{
	struct userns_helper *h = arg;
	const struct setup *s = h->s;
	char go;

	if (read(h->start_fd, &go, 1) == 1) {
		h->err.num = 0;
		(void)userns_map(1, s->root, true, s->uid, s->gid, &h->err);
		(void)!write(h->done_fd, "", 1);
	}
	_exit(0);
}

static int unshare_with_helper(struct setup *s, struct err *err)
{
	/* Static: after an error return the helper may still read it. */
	static struct userns_helper h;
	int start_fd[2], done_fd[2];
	char done;

	if (pipe2(start_fd, O_CLOEXEC) < 0 || pipe2(done_fd, O_CLOEXEC) < 0)
		return fail_errno(err, "create the second user namespace");
	h = (struct userns_helper){
		.s = s, .start_fd = start_fd[0], .done_fd = done_fd[1]};
	h.err.num = ECHILD;
	if (clone(map_from_above, helper_stack + sizeof(helper_stack),
		  CLONE_VM | SIGCHLD, &h) < 0 ||
	    unshare(CLONE_NEWUSER) < 0)
		return userns_explain(errno, "create the second user namespace",
				      err);
	/* With these copies closed, a read reports the helper's death. */
	(void)close(start_fd[0]);
	(void)close(done_fd[1]);
	if (write(start_fd[1], "", 1) != 1 || read(done_fd[0], &done, 1) != 1)
		return fail(err, EPIPE,
			    "second user namespace: its helper "
			    "process died");
	(void)close(start_fd[1]);
	(void)close(done_fd[0]);
	if (h.err.num)
		return fail(err, h.err.num, "second user namespace: %s",
			    h.err.text);
	return 0;
}

/* Enters the namespace in which the run has no privileges: its mounts belong to
 * the parent namespace. */
static int enter_inner_userns(struct setup *s, struct err *err)
{
	if (s->root)
		return unshare_with_helper(s, err);
	if (unshare(CLONE_NEWUSER) < 0)
		return userns_explain(errno, "create the second user namespace",
				      err);
	return userns_map(1, false, true, s->uid, s->gid, err);
}

static int lock_down_pid1(struct setup *s, struct err *err)
{
	const struct filters *f = s->filters;

	/* A change of credentials clears the parent-death signal, so set it
	 * again after the last one. */
	if (lockdown_limits(s, err) < 0 || lockdown_capabilities(s, err) < 0 ||
	    command_enter_cwd(s, err) < 0 || lockdown_descriptors(s, err) < 0 ||
	    bind_to_guard(err) < 0)
		return -err->num;
	/* /proc/1/exe is guard's program through a mount of the machine,
	 * /proc/1/environ has variables that the run does not get. Exec makes
	 * the command dumpable again; pid 1 stays undumpable. */
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		return fail_errno(err, "close pid 1");
	if ((s->policy->strict ? landlock_writes(err) : landlock_scope(err)) <
	    0)
		return -err->num;
	return filter_load(f->calls.data, f->calls.len, err);
}

static int set_up_pid1(struct setup *s, struct err *err)
{
	const struct sandbox_policy *p = s->policy;

	(void)close(s->guard_socket);
	/* Only for pid 1's files: the command gets the caller's umask, and
	 * mount points serve any user of the run. */
	(void)umask(022);
	if (bind_to_guard(err) < 0)
		return -err->num;
	/* MS_PRIVATE instead of MS_SLAVE: with MS_SLAVE a disk that is plugged
	 * in later would appear, writable. */
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return userns_explain(errno, "make the mounts private", err);
	/* guard writes the maps of this user namespace: guard has the
	 * privilege, and waits for pid 1 in any case. The first mounts need
	 * neither ids nor power over files, which pid 1 has only with the
	 * maps. */
	if (mounts_begin(s, err) < 0 ||
	    wait_for_guard(s, MESSAGE_MAPPED, "the user namespace's maps",
			   err) < 0)
		return -err->num;
	if (setsid() < 0)
		return fail_errno(err, "create a new session");
	if (lockdown_early(s, err) < 0 || stdio_fds_restrict(s, err) < 0 ||
	    mounts_open(s, err) < 0 ||
	    (p->open_layers && p->open_layers(p->layers_arg, err) < 0) ||
	    mounts_build(s, err) < 0 || stdio_fds_replace_nodes(s, err) < 0 ||
	    command_terminal(s, err) < 0 ||
	    (p->net == SANDBOX_NET_PRIVATE &&
	     (wait_for_guard(s, MESSAGE_NETWORK, "the private network", err) <
		      0 ||
	      network_set_up(&s->network, err) < 0)) ||
	    enter_inner_userns(s, err) < 0)
		return -err->num;
	return lock_down_pid1(s, err);
}

void child_main(struct setup *s)
{
	struct err err;

	if (set_up_pid1(s, &err) < 0) {
		(void)message_send(s->socket, MESSAGE_ERROR, err.num, err.text,
				   -1);
		_exit(125);
	}
	pid1_main(s);
}
