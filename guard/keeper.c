#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/ioprio.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/lock.h"
#include "base/mem.h"
#include "guard/run.h"
#include "restore/transaction.h"
#include "restore/workspace.h"
#include "snapshot/take.h"

static void be_idle(void)
{
	struct sched_param none = {0};

	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0));
}

/*
 * Nothing of guard's may stay open here: not the session's lock (a dead guard
 * would look alive), not the terminal or a pipe (its reader would wait for
 * the snapshot). Two descriptors are needed and become 3 and 4.
 */
static int detach(int *session_fd, int *base_lock)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int session = fcntl(*session_fd, F_DUPFD_CLOEXEC, 10);
	int lock = fcntl(*base_lock, F_DUPFD_CLOEXEC, 10);
	sigset_t none;

	if (null < 0 || session < 0 || lock < 0)
		return -1;
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	if (dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    dup3(session, 3, O_CLOEXEC) < 0 || dup3(lock, 4, O_CLOEXEC) < 0)
		return -1;
	(void)syscall(SYS_close_range, 5u, ~0u, 0u);
	*session_fd = 3;
	*base_lock = 4;
	return 0;
}

static int take(const struct run *run, struct moment start, uint64_t *ret_seq,
		struct err *err)
{
	const char *skip[] = {run->context.state.path, NULL};
	auto_close int workspace = -1;
	auto_close int lock = -1;
	auto_free char *cache = NULL;
	struct snapshot snapshot = {0};
	struct store *store = NULL;
	struct state state;
	int got;

	if (state_open(&state, err) < 0)
		return -err->num;
	workspace =
		workspace_open(state.workspaces_fd, run->project, true, err);
	if (workspace < 0)
		return workspace;
	/* One at a time: the second finds all that the first has kept. */
	lock = lock_take(workspace, "snapshot.lock", true, true, err);
	if (lock < 0 ||
	    store_open(&store, state.store_path, STORE_WRITE, err) < 0)
		return -err->num;
	cache = workspace_cache_path(workspace);
	got = take_snapshot(store,
			    &(struct take_options){
				    .root_path = run->project,
				    .root_fd = -1,
				    .cache_path = cache,
				    .reason = "pre-run",
				    .run_id = run->session.id,
				    .command = run->session.command,
				    .moved_since = start,
				    .skip = skip,
				    .skip_prefix = TRANSACTION_STAGING_PREFIX,
			    },
			    &snapshot, err);
	if (got == 0)
		*ret_seq = snapshot.seq;
	snapshot_free(&snapshot);
	store_free(&store);
	state_close(&state);
	return got;
}

static void keep(struct run *run, struct moment start, int base_lock)
{
	struct session session = run->session;
	struct err err;
	uint64_t seq = 0;

	if (detach(&session.fd, &base_lock) < 0)
		_exit(1);
	(void)prctl(PR_SET_NAME, "guard-keeper");
	be_idle();
	session.lock_fd = -1;
	if (take(run, start, &seq, &err) < 0)
		(void)session_write_base(&session, 0, err.text, &err);
	else
		(void)session_write_base(&session, seq, NULL, &err);
	_exit(0);
}

int keeper_start(struct run *run, struct moment start, struct err *err)
{
	/* Locked before the fork: whoever asks for the base from now on waits
	 * for the process that holds the lock. */
	auto_close int base_lock = session_lock_base(&run->session, err);
	pid_t pid;

	if (base_lock < 0)
		return base_lock;
	pid = fork();
	if (pid < 0)
		return fail_errno(err, "start the snapshot's process");
	if (pid == 0)
		keep(run, start, base_lock);
	run->keeper = pid;
	return 0;
}

void keeper_hurry(const struct run *run)
{
	struct sched_param none = {0};

	if (!run->keeper)
		return;
	(void)sched_setscheduler(run->keeper, SCHED_OTHER, &none);
	(void)syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, run->keeper,
		      IOPRIO_PRIO_VALUE(IOPRIO_CLASS_BE, 4));
}
