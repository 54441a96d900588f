/*
 * Types and functions that the sources of the version worker share.
 *
 *	worker.c	the loop, the limits, the watchdog
 *	worker_rest.c	which files rest and are held
 *	worker_mirror.c	the picture of the layers, events, records
 *	worker_hold.c	leases that break, copies to the spool
 *	worker_table.c	more descriptors than a process may have
 *
 * A name is an entry of a directory of the layer. A file is an inode of the
 * layer, of any type; hard links are several names of one file. Both are found
 * by trees of tsearch(3).
 */
#ifndef GUARD_TIMELINE_WORKER_PRIVATE_H
#define GUARD_TIMELINE_WORKER_PRIVATE_H

#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/queue.h>

#include "base/meta.h"
#include "base/vec.h"
#include "guard/timeline/marks.h"
#include "guard/timeline/timeline.h"
#include "guard/timeline/worker.h"

#define WORKER_TICK_MS 50
/* Watches of inotify up to which nothing is counted. */
#define WORKER_WATCHES_FEW 1024
/* The signal of a broken lease of the first table; the next ones follow. */
#define WORKER_SIGNAL (SIGRTMIN + 1)
#define WORKER_TABLES 29

struct worker;
struct worker_dir;
struct worker_name;
LIST_HEAD(worker_names, worker_name);

/* The list that has a file. */
enum worker_state {
	FILE_IDLE, /* no regular file, or nothing more can be done for it */
	FILE_WAITING, /* changed, or open for writing: until it rests */
	FILE_HELD, /* with a lease */
	FILE_NAMELESS, /* until the end of the tick */
	FILE_STATES,
};

struct worker_file {
	uint64_t ino; /* first: sorted_compare_numbers() */
	struct meta meta; /* as of the last look */
	uint64_t content; /* see timeline.h; 0: to be recorded */
	struct worker_names names;
	TAILQ_ENTRY(worker_file) entry; /* in the list of its state */
	enum worker_state state;
	int fd; /* open for reading, or -1 */
	struct worker_table *table; /* of fd */
	uint64_t path; /* hash: see worker_storm */
	bool leased;
	bool rested; /* the content stood still: it is worth a copy */
	bool kept; /* the content is in the spool, or a GAP is written */
	bool stale; /* changed since its last record */
	int64_t changed, due; /* monotonic ms: last change, next look */
};

struct worker_name {
	struct worker_name *parent; /* NULL: a root */
	const char *name; /* behind the struct */
	size_t root;
	struct worker_file *file;
	struct worker_dir *dir; /* of a directory, or NULL */
	LIST_ENTRY(worker_name) same_file, sibling;
	uint64_t seen; /* number of the last full scan that saw it */
};

struct worker_dir {
	uint64_t watch; /* of inotify, 0: none. First, as ino */
	struct worker_name *name;
	struct worker_names children;
	struct names changed; /* names with events */
	bool queued;
	bool all; /* every name has to be looked at */
	bool recorded, opaque;
	bool missed; /* it was not found under its name */
	bool gap; /* recorded as not watched, or not readable */
	TAILQ_ENTRY(worker_dir) entry, queue;
};

/* A content on its way to the spool. */
struct worker_read {
	uint64_t content;
	struct buf bytes;
	struct xattrs xattrs;
};

struct worker_root {
	int fd; /* the upper directory */
	struct worker_name *top;
};

TAILQ_HEAD(worker_files, worker_file);
TAILQ_HEAD(worker_dirs, worker_dir);

/* Saves of one path: see worker_hold.c. */
struct worker_storm {
	uint64_t path; /* hash */
	int64_t began, rest_ms;
	unsigned int count;
};

/*
 * RLIMIT_NOFILE limits the numbers of descriptors, and each thread may have a
 * table of descriptors of its own. The thread of a table makes all calls that
 * take a descriptor in it, while the other threads wait: no two threads work at
 * a time. A descriptor that is older than all holds is in every table.
 */
typedef void worker_call_fn(struct worker *w, void *arg);

struct worker_call {
	worker_call_fn *fn;
	void *arg;
	struct worker_table *caller;
	bool done;
};

struct worker_table {
	struct worker *worker;
	sem_t turn;
	struct worker_call *call; /* to be made by the table's thread */
	VEC(struct worker_file *) by_fd;
	size_t open_count;
};

struct worker {
	const struct worker_options *options;
	volatile uint64_t beats; /* for the watchdog: it works */
	struct timeline_writer out;
	struct marks marks;
	int marks_fd, inotify_fd, signal_fd, spool_fd;
	VEC(struct worker_root) roots;
	bool loading; /* nothing is recorded */
	void *names, *files, *watches; /* tsearch(3) */
	struct worker_files lists[FILE_STATES];
	struct worker_dirs dirs, queue;
	struct worker_table tables[WORKER_TABLES];
	struct worker_table *table; /* whose thread works */
	size_t table_count, table_max;
	size_t open_max; /* files in each table */
	size_t name_count; /* files */
	size_t dir_count, watch_count, watch_max;
	bool watches_counted;
	int64_t next_scan; /* of the directories without a watch */
	uint64_t scans; /* number of the last full scan */
	VEC(struct worker_read) reads;
	bool ended; /* the run: no file gets another name */
	bool broken; /* a lease, since the last tick */
	int64_t break_until; /* the copy is made by then */
	uint64_t spool_bytes;
	bool disk_full;
	int64_t disk_checked;
	int64_t next_sample;
	struct worker_storm storms[1024];
};

/* --- worker_hold.c --- */

/* Why a content is copied: a process of the run waits for it; its descriptor is
 * the last way to it; it stands still although a process has it open for
 * writing. */
enum worker_keep { KEEP_BROKEN, KEEP_NAMELESS, KEEP_SAMPLE };

/* To be called in every loop that may take long: answers broken leases. */
void worker_hold_breathe(struct worker *w);
/* Adds a record without an entry; one about the content of a file: GAP,
 * SAMPLED, THINNED; a GAP about everything below a directory, once. */
void worker_hold_text(struct worker *w, enum timeline_kind kind, size_t root,
		      const char *path, uint64_t content, const char *text);
void worker_hold_note(struct worker *w, enum timeline_kind kind,
		      const struct worker_file *f, const char *text);
void worker_hold_gap(struct worker *w, struct worker_dir *d, const char *text);
/* The path of a name in its root, for the caller to free. */
char *worker_hold_path(const struct worker_name *n);

void worker_hold_move(struct worker *w, struct worker_file *f,
		      enum worker_state state);
/* After how many ms without a change the file rests. */
int64_t worker_hold_rest(struct worker *w, const struct worker_file *f);
/* The file has changed: waits until it rests. */
void worker_hold_wait(struct worker *w, struct worker_file *f);
/* An event of a file that waits: a writer may have closed it. */
void worker_hold_event(struct worker *w, struct worker_file *f);
/* Saves the content. On failure the timeline says why. This function and those
 * that close the file run in the thread of its table. */
void worker_hold_keep(struct worker *w, struct worker_file *f,
		      enum worker_keep why);
/* Writes the contents that were only read so far. */
void worker_hold_write(struct worker *w);
void worker_hold_close(struct worker_file *f);
/* The content is lost since then, in monotonic ms: adds a GAP if it stood long
 * enough to be held. */
void worker_hold_missed(struct worker *w, const struct worker_file *f,
			int64_t lost);
/* The file has no name any more, since then: keeps its content and closes it.
 */
void worker_hold_end(struct worker *w, struct worker_file *f, int64_t lost);
/* Counts the bytes in the spool, and removes the oldest contents beyond `most`.
 * Remains of an earlier worker are removed. */
void worker_hold_count(struct worker *w, uint64_t most);

/* --- worker_mirror.c --- */

/* Opens the roots and builds the picture of them that the timeline has. */
int worker_mirror_load(struct worker *w, struct err *err);
/* Takes the events of inotify. */
void worker_mirror_events(struct worker *w);
/* Every directory is looked at next; unwatched: only those without a watch. */
void worker_mirror_rescan(struct worker *w, bool unwatched);
/* Looks at all directories with events, and ends the files that lost their
 * last name. last: the run has ended, no other name comes. */
void worker_mirror_refresh(struct worker *w, bool last);
/* Takes other metadata of a file and records it; lets the file wait if its
 * bytes may have changed. Whether anything was recorded. */
bool worker_mirror_update(struct worker *w, struct worker_file *f,
			  const struct meta *m);
/* Records the file under each of its names. */
void worker_mirror_record(struct worker *w, struct worker_file *f);
/* Opens a name for reading. A descriptor or a negative errno. */
int worker_mirror_open(struct worker *w, const struct worker_name *n,
		       int flags);

/* --- worker_table.c --- */

/* Raises the limit of descriptors. */
void worker_table_start(struct worker *w);
/* Makes the call in the thread of the table; of NULL, in this one. */
void worker_table_call(struct worker *w, struct worker_table *t,
		       worker_call_fn *fn, void *arg);
/* A table for one more file, or NULL. */
struct worker_table *worker_table_with_room(struct worker *w);

/* --- worker_rest.c --- */

/* Tries to hold the files that rest. Returns when to call again, in monotonic
 * ms. */
int64_t worker_rest_due(struct worker *w);
/* Records the files that change as they are now: a mark, or the end. */
void worker_rest_record(struct worker *w);

#endif
