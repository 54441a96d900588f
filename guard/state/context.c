#include "guard/state/context.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "base/auto.h"
#include "guard/state/free_space.h"
#include "guard/state/moved_project.h"
#include "guard/state/private_paths.h"
#include "guard/state/report.h"
#include "guard/state/reserve.h"
#include "overlay/temp_chmod.h"
#include "snapshot/tree/changed_paths.h"

/* So many new snapshots `guard log` may have to read itself. */
#define UNREAD_MAX 16

int context_open(struct context *c, bool with_project, struct err *err)
{
	if (state_open(&c->state, err) < 0)
		return -err->num;
	free_space_state(c->state.path);
	reserve_create(c->state.fd);
	temp_chmod_begin(c->state.fd);
	if (!with_project)
		return 0;
	c->project = state_project(&c->state, NULL, PROJECT_FIND, err);
	if (!c->project)
		return -err->num;
	moved_project_find(&c->state, c->project);
	return 0;
}

void context_free(struct context *c)
{
	/* The command's work is done. The next `guard log` does not have to
	 * read all new snapshots. */
	if (c->store && c->writable)
		changed_paths_update(c->store, UNREAD_MAX);
	store_free(&c->store);
	free(c->project);
	c->project = NULL;
	state_close(&c->state);
}

int context_store(struct context *c, enum store_mode mode, struct err *err)
{
	int got;

	if (c->store && (mode == STORE_READ || c->writable))
		return 0;
	store_free(&c->store);
	c->writable = mode == STORE_WRITE;
	if (c->writable)
		reserve_release(c->state.fd);
	got = store_open(&c->store, c->state.store_path, mode, err);
	if (got == -ENOENT && mode == STORE_READ)
		return fail(err, ENOENT,
			    "nothing is stored yet: `guard snapshot` stores "
			    "the project");
	return got < 0 ? err_context(err, "open the store") : 0;
}

void context_skip_private(const struct context *c, struct project *p)
{
	mem_list_free(&p->skip);
	p->skip = private_paths_list(&c->state, NULL);
}

/* Longest wait for another guard process. */
#define LOCK_WAIT_MS 30000
#define RETRY_MS 20

int context_project(struct context *c, const char *path, bool make,
		    struct project *ret, struct err *err)
{
	int waited, got;

	for (waited = 0;; waited += RETRY_MS) {
		got = project_open(path, c->state.workspaces_fd, make, ret,
				   err);
		if (got != -EBUSY || !c->wait_for_lock ||
		    waited >= LOCK_WAIT_MS)
			break;
		if (waited == 1000)
			report_note("waiting: %s", err->text);
		(void)poll(NULL, 0, RETRY_MS);
	}
	free_space_project(path);
	if (got == 0)
		context_skip_private(c, ret);
	/* The other guard process has stored more during the wait, and has
	 * written a stat cache that refers to its objects. */
	if (got == 0 && c->store && store_refresh(c->store, err) < 0) {
		project_close(ret);
		return -err->num;
	}
	return got;
}

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

static void fill_ending_signals(sigset_t *ret)
{
	size_t i;

	(void)sigemptyset(ret);
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		(void)sigaddset(ret, ending[i]);
}

/* nohup(1) ignores the signal, and so does a shell for a background process. */
static bool is_signal_ignored(int signal)
{
	struct sigaction now;

	return sigaction(signal, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

void context_block_signals(sigset_t *ret_before)
{
	sigset_t set;

	fill_ending_signals(&set);
	(void)sigprocmask(SIG_BLOCK, &set, ret_before);
}

bool context_signal_pending(void)
{
	sigset_t set;
	size_t i;

	if (sigpending(&set) < 0)
		return false;
	for (i = 0; i < ARRAY_SIZE(ending); i++)
		if (sigismember(&set, ending[i]) == 1 &&
		    !is_signal_ignored(ending[i]))
			return true;
	return false;
}

static bool interrupted;

bool context_interrupted(void)
{
	return interrupted;
}

bool context_restore_signals(const sigset_t *before)
{
	const struct timespec at_once = {0};
	bool waited = false;
	sigset_t set;
	int got;

	fill_ending_signals(&set);
	while ((got = sigtimedwait(&set, NULL, &at_once)) > 0)
		waited |= !is_signal_ignored(got);
	(void)sigprocmask(SIG_SETMASK, before, NULL);
	interrupted |= waited;
	return waited;
}
