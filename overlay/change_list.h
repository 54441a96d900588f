/*
 * The changes of a run, path by path, in the order of path_compare().
 *
 * scan_layer() (scan.h) fills the list; all other modules only read it. Paths
 * are relative to the scanned directory. The list owns them: they are valid
 * until change_list_free().
 */
#ifndef GUARD_OVERLAY_CHANGE_LIST_H
#define GUARD_OVERLAY_CHANGE_LIST_H

#include "base/meta.h"

enum change_kind {
	CHANGE_DELETED,
	CHANGE_TYPE, /* the name now has another file type */
	CHANGE_MODIFIED, /* other content, link target or device number */
	CHANGE_META, /* mode, owner or xattrs only */
	CHANGE_ADDED,
};

enum change_flags {
	/* the parent directory is deleted or added as well */
	CHANGE_WITH_PARENT = 1,
	CHANGE_GIT = 2, /* inside a .git, or a .git itself */
	/* CHANGE_MODIFIED, and mode, owner or xattrs differ as well */
	CHANGE_META_TOO = 4,
	CHANGE_SETID = 8, /* set-id bits or file capabilities */
	CHANGE_NODE = 16, /* device node, fifo or socket */
	CHANGE_UNREADABLE = 32, /* not comparable: counts as changed */
	/* a file without xattrs of overlayfs, as the scan has checked */
	CHANGE_UNMARKED = 64,
	CHANGE_ATTRS = 128, /* xattrs differ */
	CHANGE_ACL = 0x400, /* an ACL that the lower file does not have */
};

/* The part of an entry's metadata that is displayed or compared. Small, because
 * a run may change millions of entries. */
struct change_side {
	uint32_t mode, uid, gid, chattr;
	uint64_t size;
	struct timestamp mtime;
};

struct change {
	enum change_kind kind;
	unsigned int flags;
	/* Index in change_list.moves, + 1, of the move that this change is one
	 * half of; 0: no move. */
	unsigned int move;
	const char *path; /* owned by the list */
	struct change_side old; /* mode 0 when added */
	struct change_side now; /* mode 0 when deleted */
};

/*
 * A deletion together with an addition (or a change) of the same bytes: a
 * rename. The scan finds no renames: callers that display a list detect them.
 */
struct change_move {
	const char *from, *to; /* owned by the list */
	struct change_side old, now;
	struct change_side over; /* entry that `to` replaced; mode 0: none */
	unsigned int flags; /* flags of both halves */
	/* similarity; 100: equal bytes, and every directory */
	unsigned int percent;
	/* The entry moved with its directory and is otherwise unchanged: the
	 * directory's move stands for it. */
	bool with_dir;
	bool half; /* only one of the two halves is in the list */
	size_t files; /* for a directory: number of files that moved with it */
};

struct change_names;

struct change_list {
	struct change *items; /* sorted by path_compare() */
	size_t count, capacity;
	struct change_move *moves; /* sorted by `to` */
	size_t move_count;
	/* There may be more moves: not all candidates were compared. */
	bool more_moves;
	/* Paths whose mtime alone differs, and unchanged files with several
	 * hard links; sorted. People do not see them, but the run's result in
	 * the store has them. */
	const char **touched;
	size_t touched_count, touched_capacity;
	/*
	 * The highest ctime of any entry in the layer, also of unchanged ones.
	 * A process cannot set ctime back, so a layer whose newest ctime is
	 * older than a given time has not changed since then. Unknown:
	 * INT64_MAX seconds.
	 */
	struct timestamp newest;
	/* without the ctime of the root itself */
	struct timestamp newest_below;
	struct change_names *names; /* the bytes of all paths */
	/* Flags of chattr(1) are recorded. False for a layer: overlayfs copies
	 * none of them up, so a missing flag is no change of the run. */
	bool flags_known;
};

/* NULL: mode 0. */
struct change_side change_side(const struct meta *m);

/* Frees all items and paths and empties the list. */
void change_list_free(struct change_list *list);

/* Moves all of `from`, which follows `to` in the order of the paths, to its
 * end. Neither has moves; `from` is empty then. */
void change_list_append(struct change_list *to, struct change_list *from);

/* Adds a change; the caller adds in the order of path_compare(). path is
 * copied. old NULL: added; now NULL: deleted. Sets the flags that follow from
 * now's mode: CHANGE_SETID, CHANGE_NODE. */
void change_list_add(struct change_list *list, const char *path,
		     enum change_kind kind, unsigned int flags,
		     const struct meta *old, const struct meta *now);
/* Adds a copy of a change. */
void change_list_copy(struct change_list *list, const struct change *c);
/* Adds a copy of path to `touched`; same order as change_list_add(). */
void change_list_touch(struct change_list *list, const char *path);
/*
 * Marks the directory `path` as unreadable: its entries are not in the list.
 * Sets CHANGE_UNREADABLE on the change that was added last when it has this
 * path, else adds a change of kind CHANGE_META. A path that was just touched
 * becomes a change.
 */
void change_list_unreadable(struct change_list *list, const char *path,
			    unsigned int flags, const struct meta *old,
			    const struct meta *now);

#endif
