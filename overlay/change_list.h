/*
 * What a run changed, path by path, in the order of path_compare().
 *
 * The scan fills it (scan.h); everybody else reads. Paths are relative to the
 * folder that was scanned and belong to the list.
 */
#ifndef GUARD_OVERLAY_CHANGE_LIST_H
#define GUARD_OVERLAY_CHANGE_LIST_H

#include "base/meta.h"

enum change_kind {
	CHANGE_DELETED,
	CHANGE_TYPE, /* another kind of thing has the name now */
	CHANGE_MODIFIED, /* other bytes, link target or device */
	CHANGE_META, /* mode, owner or xattrs only */
	CHANGE_ADDED,
};

enum change_flags {
	CHANGE_WITH_PARENT = 1, /* its folder is deleted or added as well */
	CHANGE_GIT = 2, /* in a .git, or a .git itself */
	CHANGE_META_TOO = 4, /* modified, and mode, owner or xattrs */
	CHANGE_SETID = 8, /* set-id bits or file capabilities */
	CHANGE_NODE = 16, /* device node, fifo or socket */
	CHANGE_UNREADABLE = 32, /* could not be compared: counts as changed */
	CHANGE_UNMARKED = 64, /* a file that was seen to have no attributes of
				 the layer's own */
	CHANGE_ATTRS = 128, /* other extended attributes */
	CHANGE_ACL = 0x400, /* an access list that it did not have */
};

/* What of an entry's metadata is shown or compared: a run may change
 * millions. */
struct change_side {
	uint32_t mode, uid, gid, chattr;
	uint64_t size;
	struct timestamp mtime;
};

struct change {
	enum change_kind kind;
	unsigned int flags;
	/* The move that it is one half of: its number in change_list.moves,
	 * + 1; 0: of none. */
	unsigned int move;
	const char *path; /* the list's */
	struct change_side old; /* mode 0 when added */
	struct change_side now; /* mode 0 when deleted */
};

/*
 * A deletion, and an addition (or a change) that has its bytes: one thing under
 * another name. The scan knows of none: whoever shows a list looks for them.
 */
struct change_move {
	const char *from, *to; /* the list's */
	struct change_side old, now;
	struct change_side over; /* what was there before; mode 0: nothing */
	unsigned int flags; /* of both */
	unsigned int percent; /* 100: the very bytes, and every folder */
	/* It went with its folder and is as it was but for that: the folder
	 * tells of it. */
	bool with_dir;
	bool half; /* only one of the two is in the list */
	size_t files; /* of a folder: with how many it went */
};

struct change_names;

struct change_list {
	struct change *items; /* sorted by path_compare() */
	size_t count, capacity;
	struct change_move *moves; /* sorted by where they went */
	size_t move_count;
	/* There may be more: not all that could be one was compared. */
	bool more_moves;
	/* What differs by its time alone, or is as it was but has got another
	 * name, sorted too: of no interest to people, but kept when the run's
	 * result is stored. */
	const char **touched;
	size_t touched_count, touched_capacity;
	/*
	 * The last time of change of anything in the layer, also of what is no
	 * change: it cannot be set back, so that a layer whose newest is older
	 * than some moment is as it was then. Not known: far in the future.
	 */
	struct timestamp newest;
	struct timestamp newest_below; /* without that of the folder itself */
	struct change_names *names; /* the bytes of all paths */
	/* Flags of chattr(1) are recorded: false of a layer, which keeps none
	 * of them, so that what it has is no change of the run. */
	bool flags_known;
};

void change_list_free(struct change_list *list);

/* For who fills it, in order. old NULL: added; now NULL: deleted. The flags
 * that now's mode says (CHANGE_SETID, CHANGE_NODE) are set here. */
void change_list_add(struct change_list *list, const char *path,
		     enum change_kind kind, unsigned int flags,
		     const struct meta *old, const struct meta *now);
void change_list_touch(struct change_list *list, const char *path);
/*
 * What lies below the path that was added or touched last, if it was, cannot
 * be listed. The path itself says so; it becomes a change when it was none.
 */
void change_list_unreadable(struct change_list *list, const char *path,
			    unsigned int flags, const struct meta *old,
			    const struct meta *now);

#endif
