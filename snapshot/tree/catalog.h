/*
 * Snapshots: the commit points. One small immutable file each, in snaps/.
 *
 * A snapshot exists from the moment its file is in snaps/ and synced; all it
 * refers to was durable before. Sequence numbers grow by one and are what
 * people type. Time is guard's own clock, never data of a run.
 */
#ifndef GUARD_SNAPSHOT_TREE_CATALOG_H
#define GUARD_SNAPSHOT_TREE_CATALOG_H

#include "base/atomic.h"
#include "snapshot/tree/tree.h"

/* "manual", "pre-run", "during-run", "post-run", "pre-apply", "post-apply",
 * "pre-restore", "post-restore", "pre-undo", "post-undo" */

/* How the text of a note begins about what `excludes` leaves out. */
#define NOTE_EXCLUSION "left out by --exclude "

enum note_kind {
	NOTE_INCOMPLETE = 1, /* could not be read, or changed while read */
	NOTE_MOVED = 2, /* changed since the run's start (time_start) */
};

struct note {
	enum note_kind kind;
	char *path; /* in the root */
	char *text; /* why; "" for moved ones */
};

struct snapshot {
	uint64_t seq;
	uint64_t parent; /* 0 none: the last one of the same root */
	struct timestamp time; /* when it was begun */
	char boot_id[40];
	uint32_t uid; /* who took it */
	char *reason;
	char *run_id; /* "" when no run had to do with it */
	char *command; /* for people, escaped when shown; "" */
	char *message; /* of -m; "" */
	char *root_path; /* absolute, without links */
	uint64_t root_dev;
	struct entry root; /* mode 0: the folder was not there */
	uint64_t files, dirs, bytes;
	/* NULL-terminated, NULL when there are none. */
	char **tags;
	char **excludes; /* what was left out because the user said so: each
			    such path has a note, its folder is incomplete */
	struct note *notes; /* sorted by path_compare() */
	size_t note_count, note_capacity;
};

void snapshot_free(struct snapshot *s);
void snapshot_add_note(struct snapshot *s, enum note_kind kind,
		       const char *path, const char *text);
/* The path itself or a folder above it up to the root has such a note. */
bool snapshot_has_note(const struct snapshot *s, enum note_kind kind,
		       const char *path);
/*
 * Whether path may have changed between moved_since and its reading, so that
 * the snapshot does not say what it was then. in_tree: the snapshot has it.
 * One that is there moved when its own note says so, or when a folder above
 * it may have been swapped: a rename marks the folder and the one it lies in.
 * One that is missing moved when the folder it would lie in is marked; ask
 * with the topmost missing part ("new" for "new/x" when there is no "new").
 * Finer than snapshot_has_note(), which calls everything below a folder in
 * which somebody made a file moved.
 */
bool snapshot_moved(const struct snapshot *s, const char *path, bool in_tree);

/*
 * Whether the snapshot says anything of an absolute path in its root: 1, 0 or
 * negative. One of some paths only (take_options.only) has its root flagged as
 * incomplete; it says nothing of what it does not have.
 */
int snapshot_covers_path(struct store *store, const struct snapshot *s,
			 const char *path, struct err *err);

/* What a run made ("post-run", "during-run"): it has never been in the real
 * files, so it is had by its number only, never because it is the newest. */
bool snapshot_of_run(const struct snapshot *s);
bool snapshot_has_tag(const struct snapshot *s, const char *tag);
/* A note about what was left out because the user said so. */
bool snapshot_is_exclusion(const struct note *n);
/* A list for tags and excludes, copied; NULL for none. */
char **snapshot_copy_texts(const char *const *texts);

/* store_flush(), then the file; gives it its sequence number. Durable when
 * this returns 0. */
int catalog_add(struct store *store, struct snapshot *s, struct err *err);

/*
 * The same, together with other files that may name it: `with` is called once
 * the snapshot has its number, and puts them into the set, in which the
 * snapshot's own file is the first. It is called again, with another number,
 * when somebody else has taken the first one. After a power cut one of these
 * files may be there without the snapshot, and its number may be another's
 * some day: whoever finds such a file asks. Nothing is put into the store by
 * `with`: that waits for the end of this.
 */
typedef int (*catalog_with)(void *arg, const struct snapshot *s,
			    struct atomic_set *set, struct err *err);
int catalog_add_with(struct store *store, struct snapshot *s, catalog_with with,
		     void *arg, struct err *err);

/* Puts it in the place of the snapshot that has its number: the old one is
 * whole until the new one is. store_flush() first; durable. */
int catalog_replace(struct store *store, const struct snapshot *s,
		    struct err *err);

int catalog_load(struct store *store, uint64_t seq, struct snapshot *ret,
		 struct err *err);

/* The same from another folder than snaps/. */
int catalog_load_from(int dir_fd, uint64_t seq, struct snapshot *ret,
		      struct err *err);
/* The name of its file, and back: 0 when it is no such name. */
void catalog_file_name(char name[32], uint64_t seq);
uint64_t catalog_file_seq(const char *name);

/* The highest number that was ever given, as far as it is known: never more,
 * less after a power cut. */
uint64_t catalog_highest_seq(struct store *store);

/* All sequence numbers, ascending. A damaged file is skipped when loading,
 * with its name in *err, by whoever walks the list. To free. */
int catalog_list(struct store *store, uint64_t **ret, size_t *ret_count,
		 struct err *err);

/*
 * The snapshot that `when` names for the absolute path `path`: NULL or
 * "latest", "latest~2", a number ("12" or "s12"), "2h ago" (s, m/min, h, d,
 * w), "2026-11-21", "2026-11-21 14:30[:05]" (local time: the last one not
 * after it). Counted are the snapshots whose root is path or above it and in
 * which path exists when need_path is set; what a run left ("post-run",
 * "during-run") counts by its number only. -ENOENT with a text that says what
 * there is; -ENODATA: it was purged from the one with that number; -EINVAL: not
 * understood, with examples.
 */
int catalog_find(struct store *store, const char *time_spec, const char *path,
		 bool need_path, struct snapshot *ret, struct err *err);

#endif
