/*
 * A run's folder and record: who it is, what state it is in, who has it.
 *
 *	runs/<id>/	record lock base upper/ work/ home-upper/ home-work/
 *			upper-<n>/ work-<n>/ tmp/ var-tmp/
 *
 * The folder belongs to whoever holds its lock; a session whose record says
 * running and whose lock is free was interrupted. An upper can be mounted
 * twice without any error, so nobody mounts without the lock.
 *
 * Each state is on disk before the step that it announces. Until there is a
 * result it is renamed into place without a sync: it must survive kill -9, not
 * a power cut. From then on it is synced: some file systems leave an empty
 * file otherwise, and the run could not be found any more.
 */
#ifndef GUARD_OVERLAY_SESSION_H
#define GUARD_OVERLAY_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/meta.h"
#include "base/record.h"

enum run_state {
	RUN_NEW,
	RUN_RUNNING,
	RUN_ENDED,
	RUN_APPLYING,
	RUN_APPLIED,
	RUN_DISCARDED,
	RUN_INTERRUPTED, /* never on disk: running, but nobody has the lock */
};

const char *run_state_name(enum run_state state);
/* Still somebody's to decide on: new, running, ended, applying,
 * interrupted. */
bool run_state_pending(enum run_state state);

/*
 * A directory that the run has a layer over: the project, or another one whose
 * changes are shown and applied along with the project's.
 */
struct session_root {
	char *path; /* absolute, without links */
	uint64_t dev, ino;
	uint64_t base; /* sequence number of the pre-run snapshot, 0: none */
	uint64_t result; /* of the post-run snapshot, 0: none */
};

struct session {
	char id[16]; /* e.g. "3mk9zq-4t": sorts by time */
	int fd; /* its folder, O_PATH */
	int lock_fd; /* -1 when not ours */
	bool live; /* somebody else holds the lock */
	enum run_state state;
	/* The project, then the directories of --cow and the mounts in them. */
	struct session_root *roots;
	size_t root_count;
	const char *project; /* roots[0].path */
	char *home; /* covered home, "" when none is */
	char *command; /* argv joined for people */
	struct timestamp started, ended; /* 0 while it has not */
	struct timestamp
		began; /* when it was started first; 0 while it was not */
	int status; /* exit status as guard run gives it, -1 unknown */
	uint32_t times; /* how often it was started (--continue) */
	struct record more; /* keys of the layers above, kept as they are */
};

void session_free(struct session *s); /* lets go of the lock */

/* Makes runs/<id>/ and all in it, takes the lock, saves state new. */
int session_create(int runs_fd, const char *project, int project_fd,
		   const char *home, const char *command, struct session *ret,
		   struct err *err);

/*
 * One root more, empty layer and all; the session is new and not saved with it
 * yet. dir_fd: path, open. Whether it may be one is for the caller.
 */
int session_add_root(struct session *s, const char *path, int dir_fd,
		     struct err *err);
/* The layer's directory of a root: "upper" of the project, "upper-1" of the
 * next; what: "upper" or "work". To free. */
char *session_root_dir(size_t index, const char *what);

/*
 * Opens one by its id or an unambiguous beginning of it. lock: take it;
 * -EBUSY when the run is live. Without lock, `live` says. -ENOENT, -EEXIST
 * (ambiguous: the text lists them).
 */
int session_open(int runs_fd, const char *id, bool lock, struct session *ret,
		 struct err *err);

int session_save(const struct session *s, struct err *err);
int session_set_state(struct session *s, enum run_state state, struct err *err);
/* A run went on and left all as it was: so is its record, the one of before it
 * went on. */
int session_forget_resumed(const struct session *s, struct err *err);

/* All sessions, oldest first, none locked; live: only those that somebody is
 * at. One whose record cannot be read is skipped; `unread` says why of the
 * first that is there. Free with session_list_free(). */
struct session_list {
	struct session *items;
	size_t count, capacity;
	struct err unread; /* .num 0: all were read */
};
int session_list(int runs_fd, bool live, struct session_list *ret,
		 struct err *err);
void session_list_free(struct session_list *list);

/*
 * The sequence number of the pre-run snapshot is written by the process that
 * takes it, into a file of its own: it may end after everybody else.
 * session_base(): the number, 0 while there is none; waits for that process
 * when wait is set; -ENODATA with its message when it failed. Those of the
 * other roots come along.
 */
int session_write_base(const struct session *s, uint64_t seq, const char *error,
		       struct err *err);
/* -> fd; -EBUSY while another process takes it. Taken before the fork, it is
 * there before anybody can wait for it. */
int session_lock_base(const struct session *s, struct err *err);
int session_base(struct session *s, bool wait, struct err *err);

/*
 * Moves runs/<id> to trash_fd/<unix time>-<reason>-<id>; the session must be
 * locked. Never deletes.
 */
int session_trash(struct session *s, int runs_fd, int trash_fd,
		  const char *reason, struct err *err);
/* A run's folder that holds nothing anybody can want: it leaves the trash a
 * minute later, when nobody can be at work in it any more. */
#define SESSION_TRASH_EMPTY "empty"

/* Removes what lies in the trash for longer than max_age seconds (-1: all):
 * names of the form <unix time>-<word>[-<a-z, 0-9, ->], nothing else. One
 * that resists does not keep the others; the first error is returned. */
int session_empty_trash(int trash_fd, int64_t max_age, struct err *err);

/*
 * When it was started first, by the clock as it goes now: earlier, where that
 * was set back since. Set while the machine was off, only a clock that is
 * before the start gives that away: then it is the first second of all.
 */
struct timestamp session_began(const struct session *s);
/* What that needs, noted at the first start. */
void session_note_clock(struct session *s);

#endif
