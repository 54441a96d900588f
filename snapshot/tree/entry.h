/*
 * An entry of a directory, as snapshots store it, and its encoding.
 */
#ifndef GUARD_SNAPSHOT_TREE_ENTRY_H
#define GUARD_SNAPSHOT_TREE_ENTRY_H

#include "base/codec.h"
#include "base/meta.h"
#include "snapshot/store/store.h"

/* Flags of an entry, as stored. */
enum entry_flags {
	/* The file's bytes, names or attributes could not be read completely;
	 * the entry has the readable part. No caller may take the entry for the
	 * file. */
	ENTRY_INCOMPLETE = 1,
};

/*
 * An entry of a directory. Mode 0 means "absent" in every interface that passes
 * entries. The entry owns its strings; entry_free() frees them.
 */
struct entry {
	char *name; /* "" for a root */
	uint32_t mode; /* type and permission bits, as st_mode */
	uint32_t uid, gid;
	struct timestamp mtime;
	uint64_t size; /* of a regular file; else 0 */
	uint64_t rdev; /* device number of a device node */
	struct oid content; /* file: data or chunk list; directory: its tree */
	struct oid attrs; /* OBJECT_NONE without xattrs */
	char *link; /* target of a symbolic link, else NULL */
	/* Files of one snapshot with the same number (not 0) are hard links
	 * of one inode. */
	uint64_t link_group;
	uint32_t chattr; /* flags of files and directories, see base/chattr.h */
	uint32_t flags;
};

/* entry_free() frees all that *e owns. entry_copy() makes a deep copy, to free
 * with entry_free(); the former members of *to are not freed. */
void entry_free(struct entry *e);
void entry_copy(struct entry *to, const struct entry *from);
/* The metadata that the entry has, as of a file without hard links. */
struct meta entry_meta(const struct entry *e);
/* Whether all stored values are equal, except for the name and for link_group,
 * whose numbers have no meaning across snapshots. */
bool entry_equal(const struct entry *a, const struct entry *b);
/* Whether type and bytes are equal (content, link, rdev); of directories only
 * the type. */
bool entry_same_content(const struct entry *a, const struct entry *b);
/* Whether mode, owner and attributes are equal; mtime is not compared. */
bool entry_same_meta(const struct entry *a, const struct entry *b);
/* Whether content and metadata are equal, or both are missing (NULL or mode
 * 0). */
bool entry_same_state(const struct entry *a, const struct entry *b);
bool entry_same_time(const struct entry *a, const struct entry *b);

/* Whether the entry may be stored: its type, its references, its name ("" where
 * is_root is set, else a name that a directory can hold). */
bool entry_ok(const struct entry *e, bool is_root);

/* Appends the entry's encoding; entry.c has the grammar. */
void entry_encode(struct buf *to, const struct entry *e);

void entry_encode_oid(struct buf *to, const struct oid *id);

/* Appends a part of a split tree: its first name, and its tree as content. */
void entry_encode_part(struct buf *to, const struct entry *part);
/* Decodes a part as entry_decode() does; *ret looks like the entry of a
 * directory. */
bool entry_decode_part(struct dec *d, struct entry *ret);

/*
 * Decodes one entry, the caller's to free. False when the entry is damaged or
 * not entry_ok(): *ret is empty then, and d is bad.
 */
bool entry_decode(struct dec *d, bool is_root, struct entry *ret);

#endif
