/*
 * A run's directory and record: its identity, its state, its lock.
 *
 * 	runs/<id>/	record lock base upper/ work/ home-upper/ home-work/
 * 			upper-<n>/ work-<n>/ tmp/ var-tmp/
 *
 * The directory of a run that is applied or discarded lies in runs/closed/, so
 * that the pending runs are found without reading the others. It is moved there
 * after the closed state is in the record, and back before another state is: a
 * run that is found in runs/ can be closed, a run in runs/closed/ is never
 * pending.
 *
 * The process that holds the lock owns the directory. A session whose record
 * says "running" and whose lock is free was interrupted. The kernel can mount
 * one upper twice without an error, so no process mounts without the lock.
 *
 * Each state is on disk before the step that it announces. Before the run has a
 * result, the record is renamed into place without a sync: it must survive kill
 * -9, not a power cut. From then on it is synced: after a power cut some file
 * systems would leave an empty record, and guard could not find the run any
 * more.
 */
#ifndef GUARD_OVERLAY_SESSION_H
#define GUARD_OVERLAY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/meta.h"
#include "base/record.h"
#include "overlay/session_id.h"

enum run_state {
	RUN_NEW,
	RUN_RUNNING,
	RUN_ENDED,
	RUN_APPLYING,
	RUN_APPLIED,
	RUN_DISCARDED,
	RUN_INTERRUPTED, /* never on disk: "running" without a lock */
};

/* The name of a state, as in the record; valid until the process ends. */
const char *run_state_name(enum run_state state);
/* Whether the user still has to decide about the run: new, running, ended,
 * applying, interrupted. */
bool run_state_pending(enum run_state state);

/*
 * A directory with a layer: the project, or an additional root whose changes
 * are displayed and applied together with those of the project.
 */
struct session_root {
	char *path; /* absolute, without symbolic links */
	uint64_t dev;
	struct dir_identity dir; /* when the run was created */
	uint64_t base; /* sequence number of the pre-run snapshot, 0: none */
	uint64_t result; /* sequence number of the post-run snapshot, 0: none */
	/* Snapshot of the base with the applied changes of the run, against
	 * which its result is compared from then on; 0: the base itself. From
	 * session_put_applied(). */
	uint64_t applied;
	/* Where the base is late: snapshot of the paths that were applied, as
	 * guard left them; 0: none were. */
	uint64_t left;
	/* The base holds the changed paths alone, and was stored after the
	 * run's start: see guard/change/late_base.h. */
	bool late;
};

struct session {
	char id[16];
	int fd; /* the run's directory, O_PATH */
	int lock_fd; /* -1 when another process or no process holds it */
	bool live; /* another process holds the lock */
	bool in_closed; /* the directory lies in runs/closed/ */
	enum run_state state;
	/* The project, then the directories of --cow and the mounts in them;
	 * after the last one, not counted, the home directory. */
	struct session_root *roots;
	size_t root_count;
	const char *project; /* roots[0].path */
	char *home; /* home directory with a layer, "" for none */
	char *command; /* argv joined, for people */
	struct timestamp started, ended; /* 0: not yet */
	struct timestamp began; /* time of the first start; 0: never started */
	int status; /* exit status as `guard run` returns it, -1 unknown */
	uint32_t times; /* number of starts (more than one with --continue) */
	struct record more; /* keys of higher layers, saved unchanged */
};

/* No session: what session_free() leaves. */
#define SESSION_NONE ((struct session){.fd = -1, .lock_fd = -1})
/* Frees the fields and releases the lock with lock_release(). */
void session_free(struct session *s);
/* The name that the user gave the run, or NULL. Valid as long as the session.
 */
const char *session_name(const struct session *s);
/* The caller saves the session afterwards. name: session_name_ok(), or NULL. */
void session_set_name(struct session *s, const char *name);
/* What messages call the run: its name, otherwise its id. Valid as long as the
 * session. */
const char *session_label(const struct session *s);
/* lock_holders_at() of the session's lock. */
char *session_holders(const struct session *s);

/* Whether another directory is at the root's path than the one in which the run
 * began. Without birth times the answer is no, as for a missing one. */
bool session_root_replaced(const struct session_root *root);

/* Creates runs/<id>/ and its directories, takes the lock and saves the state
 * "new". *ret must be freed with session_free(). */
int session_create(int runs_fd, const char *project, int project_fd,
		   const char *home, const char *command, struct session *ret,
		   struct err *err);

/*
 * Adds a root with an empty layer. The session is new, and the caller saves it
 * afterwards. dir_fd is `path`, open. The caller checks whether the directory
 * is allowed as a root.
 */
int session_add_root(struct session *s, const char *path, int dir_fd,
		     struct err *err);
/* The index of the innermost root that has the path; root_count: none. */
size_t session_root_of(const struct session *s, const char *path);
/* Whether the path is that of a root itself. */
bool session_has_root(const struct session *s, const char *path);
/* The name of a root's layer directory, to free: "upper" for the project (index
 * 0), "upper-1" for the next root. what: "upper" or "work". */
char *session_root_dir(size_t index, const char *what);

/*
 * Opens a session by its id or an unambiguous prefix of the id, first among
 * those in runs/, then among the closed ones. lock: also takes the lock; -EBUSY
 * when another process holds it. Without lock, ret->live says whether another
 * process holds it. *ret must be freed with session_free(). -ENOENT: no such
 * run; -EEXIST: ambiguous, and the text lists the ids.
 */
int session_open(int runs_fd, const char *id, bool lock, struct session *ret,
		 struct err *err);

/* Writes the record and syncs it. 0 or a negative errno. */
int session_save(const struct session *s, struct err *err);
/* Changes the state and writes the record, synced as far as the state needs it.
 * On failure the state in *s is unchanged. */
int session_set_state(struct session *s, enum run_state state, struct err *err);
/* Discards the record of a continued run that changed nothing: the record from
 * before the continuation is valid again. */
int session_forget_resumed(const struct session *s, struct err *err);

/* 1: the run has a directory, 0: it has none; or a negative errno. */
int session_exists(int runs_fd, const char *id, struct err *err);
/* Opens the directory of the closed runs. A descriptor, or -1 with errno. */
int session_open_closed_dir(int runs_fd);
/*
 * Moves the run's directory to trash_fd/<unix time>-<reason>-<id>. The caller
 * holds the session's lock: -EBUSY without it. -EINVAL: reason is not one word
 * of a-z. Deletes nothing but the leftovers of an earlier run's caches.
 */
int session_trash(struct session *s, int runs_fd, int trash_fd,
		  const char *reason, struct err *err);
/* The name in the trash of a run's directory, by the id of the run; to free.
 * NULL with -ENOENT: it is there no more. */
char *session_find_trashed(int trash_fd, const char *id, struct err *err);
/* Opens that directory without the run's lock, to read it. Errors as above. */
int session_open_trashed(int trash_fd, const char *id, struct session *ret,
			 struct err *err);
/*
 * After the run: makes the directories work/<n>/work readable. The kernel makes
 * them with mode 000, so that rm -r, cp and tar of a plain user would fail
 * there. They are not emptied: the whiteouts of the layer are links of one file
 * there, and its removal would change the ctime of all of them, so that a
 * stored result would seem older than the layer. An error is ignored: the next
 * mount makes a new directory, and the trash is removed with it.
 */
void session_open_work(const struct session *s);
/* Opens and locks a run with a damaged record in *s, which is empty, without
 * its record. 1; 0: the record is not damaged. -EWOULDBLOCK: another process
 * has the run. */
int session_open_damaged(int runs_fd, const char *id, struct session *s,
			 struct err *err);
/* Moves such a run to the trash. Returns and errors as of
 * session_open_damaged(). */
int session_trash_damaged(int runs_fd, int trash_fd, const char *id,
			  struct err *err);

/* Reason for a run's directory without anything that a user could need: it
 * leaves the trash after one minute, when no process can still use it. */
#define SESSION_TRASH_EMPTY "empty"

/*
 * Removes entries of the trash that are older than max_age seconds (-1: all):
 * names of the form <unix time>-<word>[-<a-z, 0-9, ->], and remains of
 * interrupted removals. All other names stay. An entry that cannot be removed
 * does not stop the others; the first error is returned.
 */
int session_empty_trash(int trash_fd, int64_t max_age, struct err *err);

/* Whether the store has the result of the run, and its layers are read no
 * more. */
bool session_is_stored(const struct session *s);
/* The key in a run's record that tells that the stored results have all changes
 * of its roots. */
#define SESSION_STORED "stored"

/*
 * The time of the first start by the current clock: earlier than session.began
 * when the clock was set back since then. When the clock was set back while the
 * machine was off, guard notices only a clock that is before the start; the
 * result is then the first second of 1970.
 */
struct timestamp session_began(const struct session *s);
/* Records the boot id and clock for session_began() at the first start. The
 * caller saves the session afterwards. */
void session_note_clock(struct session *s);

/*
 * A session's record on disk: runs/<id>/record, key=value. Keys of other
 * modules are saved unchanged.
 *
 * 	extra=DEV INO RESULT PATH	one for each additional root, in the
 * 					order of their layers
 *
 * A continued run has a second record, "going", while it runs. "going" is valid
 * when its `times` is higher than that of the record. It is never synced: after
 * a power cut its remains still prove that the run was continued.
 *
 * A record with additional roots has version 2: an older guard, which would
 * apply only the project, refuses it.
 */

#endif
