/*
 * One run, from its options to its summary: joins the layers, in this order:
 * options -> policy -> run -> change list -> stored result.
 */
#ifndef GUARD_RUN_RUN_H
#define GUARD_RUN_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "guard/agent/run_options.h"
#include "guard/state/context.h"
#include "guard/state/exit_status.h"
#include "guard/run/alarms.h"
#include "guard/run/budget.h"
#include "guard/run/run_syncs.h"
#include "guard/run/run_import.h"
#include "guard/run/copy_up.h"
#include "guard/run/run_versions.h"
#include "guard/sandbox/grant.h"
#include "guard/sandbox/places.h"
#include "guard/sandbox/sandbox.h"
#include "overlay/session.h"

/* In the session's record: exit status, milliseconds and command of the last
 * test of the layer as it is (guard exec --all). */
#define RUN_TEST "test"

struct agent;
struct changes;
struct layers;
struct read_only_exec;
struct unstored;

struct run {
	const struct run_options *options; /* of the profiles, too */
	const struct run_ui *ui;
	struct agent *agent; /* the profiles that hold */
	struct places places; /* of credentials */
	struct context context;
	struct session session;
	char *project;
	int project_fd;
	char *cwd;
	pid_t base_worker_pid; /* the process that takes the pre-run snapshot,
				  or 0 */
	bool base_ended; /* before its end; a snapshot follows the run */
	struct sandbox *sandbox; /* NULL: nothing was started */
	pid_t self; /* guard itself: while it is stopped a child looks */
	bool in_child;
	bool recorded_unasked; /* why programs may overwrite files unasked */
	struct budget budget;
	struct alarms alarms;
	bool over_budget;
	struct run_versions run_versions;
	struct run_syncs run_syncs;
	struct run_import run_import;
	/* While this process has the FIFO open, no writer of a mark waits for a
	 * reader. -1: the run has no marks. */
	int mark_fd;
	struct copy_up_watch copy_up_watch;
	struct timestamp begun;
	/* From the release of the command to the summary the signals that end a
	 * program are blocked. */
	bool signals_blocked;
	sigset_t signals_before;
	/* Of a resumed run: the earlier results of the additional roots, then
	 * of the project. */
	uint64_t *results_before;
	struct read_only_exec *read_only_exec; /* NULL: of no use */
};

/* Shows the result of a run: the only output that is more than a message. */
struct run_ui {
	/* The changes, and the next steps. */
	void (*changes)(const struct session *s, struct changes *c);
	/* Changes of an agent's home that its next session executes. */
	void (*agent_changes)(const struct session *s);
	/*
	 * Directly after the end of the command: from here on signals may end
	 * guard, with this exit status. Counting the changes and judging them
	 * may take long. summary_begin() follows before the first line that
	 * says what the run changed; changes() calls it by itself. count_end()
	 * may be called without the others.
	 */
	void (*count_begin)(const struct session *s, int status);
	void (*summary_begin)(void);
	void (*count_end)(void);
	/* Asks how a run goes on that an alarm has paused; moment: before
	 * the alarm. */
	void (*ask_alarm)(const struct session *s, pid_t init,
			  const char *moment);
	/* Whether to store a directory that was too large to be stored unasked.
	 * 1: yes; 0: the user does not want it; -1: the user was not asked. */
	int (*ask_store)(const char *path, const struct unstored *u);
};

/*
 * Runs the command from its options to the summary, and returns the exit
 * status of `guard run`. Errors are reported (guard/state/report.h).
 */
int run_command(const struct run_options *options, const struct run_ui *ui);

/*
 * base_snapshot_worker.c: takes the pre-run snapshot in a process of its own,
 * beside the command. The process may outlive guard, holds the base lock of the
 * session until it is done, and writes the sequence number of the snapshot into
 * the session's directory. start: see take_start_time().
 */
int base_snapshot_worker_start(struct run *run, struct timestamp start,
			       struct err *err);
/* Ends the idle priority of the worker: the caller waits for it. */
void base_snapshot_worker_hurry(const struct run *run);

/* Puts the pack of the run's result into the index of the store, in the
 * background: status and diff read the result next. */
void base_snapshot_worker_index(struct run *run);
/* Ends the worker: session_base() finds no snapshot then, and a late base takes
 * its place (guard/change/late_base.h). */
void base_snapshot_worker_end(struct run *run);

/* After the run's end: begins to store each directory whose snapshot was ended
 * so; asks about each that was not stored because of its size (ask-above). */
void base_snapshot_worker_after(struct run *run);

/* run_end.c: the layer's changes, the stored result, the summary. The last
 * process is gone. Failing here loses nothing: the layer stays. */
int run_end(struct run *run, int status, struct err *err);

/* run_open.c: the project that the options mean, to free. */
char *run_find_project(const struct run *run, struct err *err);
/* Opens the project's directory, and ends an interrupted apply. */
int run_open_project(struct run *run, struct err *err);
/* The places of credentials, the profiles, and with them the options that
 * hold. */
int run_load_agent(struct run *run, struct err *err);
/* Creates a session, or opens the resumed one with --continue. */
int run_open_session(struct run *run, struct err *err);
/* Restores the earlier results of a resumed run that was not started. */
void run_restore_results(struct run *run);

/* run_start.c: the masked paths of the run, and guard's state; to free with
 * mem_list_free(). */
char **run_hidden_paths(const struct run *run);
/* The policy of the options. Open descriptors and directories of the run are
 * added later. */
struct sandbox_policy run_policy(const struct run *run);
/*
 * run_cow.c: the directories of --cow. run_find_cows() resolves and checks
 * them; *ret is the caller's, after an error too. git: the repository that
 * already has a layer (LAYERS_GIT), or NULL. run_add_cows() adds them to a new
 * session; run_check_cows() checks that a resumed session has them.
 */
int run_find_cows(const struct run *run, const char *git, struct grants *ret,
		  struct err *err);
int run_add_cows(struct run *run, const struct grants *cows, struct err *err);
int run_check_cows(const struct run *run, struct err *err);
/* Adds the mounts below the project or a directory of --cow to a
 * new session, each as a root of its own. */
int run_add_mounts(struct run *run, struct err *err);
/* run_notices.c: names credentials that are hidden, variables that were dropped
 * and sockets that are out of reach, each once a project. */
void run_notices_print(struct run *run, const struct sandbox *sb,
		       const struct redactions *redactions, char *const *hide,
		       const struct names *dropped);
/* Reports that a command cannot do its work in a run. */
void run_hints_print(const struct run_options *options);
/* After the run: reports a directory that its programs could not rename. */
void run_notices_print_refused(const struct sandbox_result *result);
/* Files below the home directory that the run sees without their secrets. */
void run_find_redactions(const struct run *run, struct redactions *redactions);
/*
 * Recorded before the command of a new run starts: the setup of the sandbox
 * leaves time for it. The exact start time is known only later, and is never
 * before the recorded one. A resumed run records itself when it continues.
 */
void run_set_start_time(struct run *run, struct timestamp time);
int run_record_running(struct run *run, const struct sandbox *sb,
		       struct err *err);
/* Refuses what may not be let in. */
int run_check_grants(const struct run *run, struct err *err);
/* Everything up to the moment before the command: policy and fence. layers is
 * the caller's to free, after an error too. */
int run_start(struct run *run, struct layers **layers, struct err *err);

/*
 * The options that the run's record has. Paths are absolute; of variables only
 * the names are kept. NULL-terminated, to free with mem_list_free(); -ENODATA:
 * an older guard noted none.
 */
int run_saved_options_load(const struct session *s, char ***ret,
			   struct err *err);
/* Whether one of those is that, as it is written: "--strict". */
bool run_saved_options_has(const struct session *s, const char *wanted);

/* The exit status of `guard run`. */
int run_status_of(const struct sandbox_result *result);

/* Takes a snapshot of each real directory that the run may write to (--rw) and
 * of its agent's home, before the command or after it. */
int run_store_granted(struct run *run, bool after, struct err *err);

/*
 * base_snapshot_worker.c: owners of a project's files. Most projects have no
 * meta_foreign() entry. Where a snapshot has shown this, the next run starts
 * without a look at every file (overlay/pre_copy_up.h), so that a large project
 * starts as fast as a small one. The workspace of the directory keeps the
 * record "groups": the answer, the user's group, and the directory's inode.
 */

/* Marks the directories of a new session without such entries
 * (LAYERS_ONE_GROUP). */
void gid_cache_recall(struct session *s, int workspaces_fd);

/* After the base snapshot of the run: the directory that had no such entry
 * before and has one now, so that writes of the run may have failed there; or
 * NULL. */
const char *gid_cache_find_stale(const struct session *s, int workspaces_fd);

/*
 * run_end.c: a command in an ended run may leave the upper layer unchanged. In
 * this case no snapshot and no sync is needed, and the run's record does not
 * change.
 *
 * read_only_exec_begin(): before the layers are mounted. NULL: the run had not
 * ended in order, all has to be looked at anew.
 */
struct read_only_exec *read_only_exec_begin(const struct session *s);

/* Frees all that *l owns. */
void read_only_exec_free(struct read_only_exec *l);

#endif
