/*
 * One thing in a folder, as snapshots keep it, and how it looks in bytes.
 */
#ifndef GUARD_SNAPSHOT_TREE_ENTRY_H
#define GUARD_SNAPSHOT_TREE_ENTRY_H

#include "base/codec.h"
#include "base/meta.h"
#include "snapshot/store/store.h"

/* Entry's flags, as stored. */
enum entry_flags {
	/* Its bytes, names or attributes could not be read whole; the entry
	 * says what could be. Nobody may take it for the file. */
	ENTRY_INCOMPLETE = 1,
};

/*
 * One thing in a folder. mode 0 means "nothing there" wherever an entry is
 * passed about. Strings are owned; entry_free() frees them.
 */
struct entry {
	char *name; /* "" for a root */
	uint32_t mode; /* type and permission bits, as st_mode */
	uint32_t uid, gid;
	struct timestamp mtime;
	uint64_t size; /* of a regular file, else 0 */
	uint64_t rdev; /* of a device node */
	struct oid content; /* file: data or chunklist; folder: its tree */
	struct oid attrs; /* OBJECT_NONE when there are no xattrs */
	char *link; /* of a symbolic link, else NULL */
	uint64_t link_group; /* files of one snapshot with the same number
				(not 0) are names of one inode */
	uint32_t chattr; /* flags of files and folders, see base/chattr.h */
	uint32_t flags;
};

void entry_free(struct entry *e);
void entry_copy(struct entry *to, const struct entry *from);
/* Same in all that is kept (name apart, and link_group, whose numbers mean
 * nothing across snapshots). */
bool entry_equal(const struct entry *a, const struct entry *b);
/* Same type and bytes: content, link, rdev; for a folder only the type. */
bool entry_same_content(const struct entry *a, const struct entry *b);
/* Same mode, owner, attributes; mtime is not looked at. */
bool entry_same_meta(const struct entry *a, const struct entry *b);
bool entry_same_time(const struct entry *a, const struct entry *b);

/* Whether the entry may be stored: its type, its references, its name (""
 * where is_root, else one that a folder may hold). */
bool entry_ok(const struct entry *e, bool is_root);

/* The grammar stands in entry.c. */
void entry_encode(struct buf *to, const struct entry *e);

/* A part of a split tree: name (its first) and content (its tree). */
void entry_encode_part(struct buf *to, const struct entry *part);
/* As entry_decode(); *ret looks like a folder's entry. */
bool entry_decode_part(struct dec *d, struct entry *ret);

/*
 * Reads one entry, the caller's to free; false when it is damaged or not
 * entry_ok(): *ret is empty then and d is bad.
 */
bool entry_decode(struct dec *d, bool is_root, struct entry *ret);

/* An entry's place in a tree's bytes; name is theirs, without a NUL. */
struct entry_span {
	const unsigned char *at;
	size_t len;
	const char *name;
	size_t name_len;
	bool chattr;
};

/* Passes over one entry, of which no more is checked than where it ends; false
 * when even that cannot be told: d is bad then. */
bool entry_skip(struct dec *d, struct entry_span *ret);

#endif
