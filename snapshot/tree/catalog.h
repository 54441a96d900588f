/*
 * Snapshots, the commit points of the store: one small immutable file each in
 * snaps/.
 *
 * A snapshot exists from the moment when its file is in snaps/ and synced. All
 * objects that it refers to were durable before. Sequence numbers grow by one,
 * and users type them. Times are of guard's own clock, never data of a run.
 */
#ifndef GUARD_SNAPSHOT_TREE_CATALOG_H
#define GUARD_SNAPSHOT_TREE_CATALOG_H

#include "base/atomic.h"
#include "snapshot/store/origin.h"
#include "snapshot/tree/tree.h"

/* Reasons on disk: "manual", "pre-run", "during-run", "post-run", "pre-apply",
 * "post-apply", "pre-restore", "post-restore", "pre-undo", "post-undo" */

/* Reason of the base of a run that has applied changes in it: a state that
 * existed nowhere, which no list shows. */
#define APPLIED_BASE "applied-base"

/* Reason of the timeline of a run and the contents that it names
 * (guard/timeline/contents.h). Its tree is no state of the directory. */
#define CATALOG_TIMELINE "timeline"

/* Beginning of the note of a path that `excludes` left out. */
#define NOTE_EXCLUSION "left out by --exclude "

/* The note of a directory whose file system is not that of the root. */
#define NOTE_FILE_SYSTEM "another file system"

/* Beginning of the note of a path that purge_path() removed. */
#define NOTE_PURGED "purged on "

/* Name of the cache of changed_paths.h. catalog_drop_changed_paths() removes
 * it: for callers that put a snapshot under a number below the highest one,
 * before they do. Called with the commit lock. */
#define CATALOG_CHANGED_PATHS "changed-paths"
void catalog_drop_changed_paths(struct store *store);

enum note_kind {
	NOTE_INCOMPLETE = 1, /* could not be read, or changed while read */
	NOTE_MOVED = 2, /* changed since the run's start (time_start) */
};

struct note {
	enum note_kind kind;
	char *path; /* relative to the root */
	char *text; /* the reason; "" for NOTE_MOVED */
};

struct snapshot {
	uint64_t seq;
	uint64_t parent; /* previous snapshot of the same root, or 0 */
	struct timestamp time; /* start of the walk */
	char boot_id[40];
	uint32_t uid; /* user that took it */
	char *reason;
	char *run_id; /* "" for a snapshot without a run */
	char *command; /* for people, escaped when printed; may be "" */
	char *message; /* text of -m; may be "" */
	char *root_path; /* absolute, without links */
	uint64_t root_dev;
	struct entry root; /* mode 0: the directory did not exist */
	uint64_t files, dirs, bytes;
	/* The store and the machine that took it: see origin.h. Zeros and NULL
	 * before version 4 of the file. */
	unsigned char origin[ORIGIN_LEN];
	char *host;
	/* NULL-terminated; NULL for none, as for mem_list_has(). */
	char **tags;
	/* Globs that the user excluded: each matching path has a note, and
	 * its directory is incomplete. */
	char **excludes;
	struct note *notes; /* sorted by path_compare() */
	size_t note_count, note_capacity;
};

/* Frees all that *s owns. */
void snapshot_free(struct snapshot *s);
/* A deep copy, to free; the former members of *to are not freed. */
void snapshot_copy(struct snapshot *to, const struct snapshot *from);
/* Adds a note; path and text are copied. */
void snapshot_add_note(struct snapshot *s, enum note_kind kind,
		       const char *path, const char *text);
/* Whether the path, or a directory above it up to the root, has a note of this
 * kind. */
bool snapshot_has_note(const struct snapshot *s, enum note_kind kind,
		       const char *path);
/*
 * Whether path may have changed between moved_since and its reading, so that
 * the snapshot may not show its state of that time. in_tree: the snapshot has
 * the path.
 *
 * A path in the tree has moved when it has a note itself, or when a directory
 * above it may have been replaced: a rename marks the directory and its parent.
 * A missing path has moved when the directory that would hold it is marked; the
 * caller asks for the topmost missing part ("new" for "new/x" when "new" is
 * missing). More precise than snapshot_has_note(), for which every path below a
 * directory with a new file has moved.
 */
bool snapshot_moved(const struct snapshot *s, const char *path, bool in_tree);

/*
 * Whether the snapshot knows about an absolute path below its root: 1, 0 or a
 * negative errno. A partial snapshot (take_options.only) has an incomplete root
 * and knows only about the paths that it holds.
 */
int snapshot_covers_path(struct store *store, const struct snapshot *s,
			 const char *path, struct err *err);

/* Whether a run made this state ("post-run", "during-run", and the hidden
 * ones). Such a state never was in the real files, so only its number selects
 * it, never its age. */
bool snapshot_of_run(const struct snapshot *s);
/* Whether no list or search shows it: APPLIED_BASE, CATALOG_TIMELINE. */
bool snapshot_is_hidden(const struct snapshot *s);
/* "snapshot 12"; the message of a snapshot that is in no catalog (seq 0).
 * Buffers as in text_quote(). */
const char *snapshot_label(const struct snapshot *s);
/* Whether the note is about a path that the user excluded. */
bool snapshot_is_exclusion(const struct note *n);
/* Text of the note when path (in the root) or a directory above it was purged
 * from the snapshot, else NULL. Valid as long as s. */
const char *snapshot_purge_note(const struct snapshot *s, const char *path);
/* A copy of a NULL-terminated list of tags or excludes, to free; NULL for
 * none. */
char **snapshot_copy_texts(const char *const *texts);

/* Calls store_flush(), writes the snapshot's file and sets its sequence number.
 * Durable when it returns 0. */
int catalog_add(struct store *store, struct snapshot *s, struct err *err);

/*
 * catalog_add() together with other files that may name the snapshot. `with` is
 * called when the snapshot has its number, and adds its files to the set, in
 * which the snapshot's own file is the first. `with` is called again with
 * another number when another process took the first one. After a power cut one
 * of these files may exist without the snapshot, and another snapshot may get
 * the number later: readers of such a file must check. `with` must not store
 * objects: this call holds the commit lock.
 */
typedef int (*catalog_with)(void *arg, const struct snapshot *s,
			    struct atomic_set *set, struct err *err);
int catalog_add_with(struct store *store, struct snapshot *s, catalog_with with,
		     void *arg, struct err *err);

/* Replaces the snapshot of the same number, durably; the old file is intact
 * until the new one is. Calls store_flush() first. */
int catalog_replace(struct store *store, const struct snapshot *s,
		    struct err *err);

/* Loads a snapshot, to free with snapshot_free(). -ENOENT: no snapshot has this
 * number. */
int catalog_load(struct store *store, uint64_t seq, struct snapshot *ret,
		 struct err *err);

/* catalog_load() for a number that the user gave. -EINVAL: it is a
 * CATALOG_TIMELINE. */
int catalog_load_version(struct store *store, uint64_t seq,
			 struct snapshot *ret, struct err *err);

/* catalog_load() from another directory than snaps/. */
int catalog_load_from(int dir_fd, uint64_t seq, struct snapshot *ret,
		      struct err *err);
/* The file name of a sequence number, and the number of a file name (0: another
 * name). */
void catalog_file_name(char name[32], uint64_t seq);
uint64_t catalog_file_seq(const char *name);

/* The highest number ever given, as far as known: never more, less after a
 * power cut. */
uint64_t catalog_highest_seq(struct store *store);

/* The highest number in snaps/ without listing them, or a higher one whose
 * snapshot was removed. After a power cut all are listed once. */
int catalog_newest(struct store *store, uint64_t *ret, struct err *err);

/* All sequence numbers, ascending; *ret is the caller's to free. Damaged files
 * are in the list: the caller skips them when catalog_load() refuses them. */
int catalog_list(struct store *store, uint64_t **ret, size_t *ret_count,
		 struct err *err);

/*
 * Finds the snapshot that time_spec names for the absolute path `path`: NULL or
 * "latest", "latest~2", a number ("12" or "s12"), "2h ago" (s, m/min, h, d, w),
 * "2026-11-21", "2026-11-21 14:30[:05]" (local time: the last snapshot not
 * after it). Snapshots whose root is path or above it count, when need_path is
 * set only those in which path exists; a state that a run left ("post-run",
 * "during-run") counts by its number only. -ENOENT with a text that names the
 * existing snapshots; -ENODATA: the path was purged from the snapshot of that
 * number; -EDOM: not understood, with examples.
 */
int catalog_find(struct store *store, const char *time_spec, const char *path,
		 bool need_path, struct snapshot *ret, struct err *err);

#endif
