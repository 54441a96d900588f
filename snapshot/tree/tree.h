/*
 * Trees: what a folder held. One object a folder, entries sorted by bytes.
 *
 * No atime, ctime or inode is in a tree: touching a file must not write trees
 * anew. A name is checked when it is written and when it is read; a damaged
 * or hostile tree gives -EBADMSG, never a path outside.
 *
 * The tree of a huge folder is split: its object names parts, which are trees
 * themselves. A part begins at every name whose keyed hash says so, so that one
 * change writes one part anew, and two folders of the same names have the same
 * borders. Whoever reads a folder through here need not know; a cursor holds no
 * more than one part in memory.
 *
 * The grammar on disk stands above tree_encode() in tree.c and in entry.c.
 */
#ifndef GUARD_SNAPSHOT_TREE_TREE_H
#define GUARD_SNAPSHOT_TREE_TREE_H

#include "snapshot/tree/entry.h"

struct tree {
	struct entry *entries; /* sorted by name's bytes */
	size_t count, capacity;
	bool split; /* by tree_decode() alone: they are parts, see entry.h */
};

void tree_free(struct tree *t);
/* Takes over what *e owns and leaves it empty. tree_save() sorts. */
void tree_add(struct tree *t, struct entry *e);
struct entry *tree_find(const struct tree *t, const char *name);

/* An empty tree is an object too. -EEXIST: two entries of one name. */
int tree_save(struct store *s, struct tree *t, struct oid *ret,
	      struct err *err);
/* The same, one by one and in order, without all of them in memory. count: so
 * many as will come. */
struct tree_writer;
struct tree_writer *tree_writer_new(struct store *s, size_t count);
void tree_writer_free(struct tree_writer **w);
/* -EINVAL: it cannot be kept, or is out of order; -EEXIST: its name came. */
int tree_writer_add(struct tree_writer *w, const struct entry *e,
		    struct err *err);
int tree_writer_end(struct tree_writer *w, struct oid *ret, struct err *err);

/* The whole folder. id of OBJECT_NONE gives an empty tree. */
int tree_load(struct store *s, const struct oid *id, struct tree *ret,
	      struct err *err);

/* The folder's entries one after the other. */
struct tree_cursor {
	struct store *store;
	struct tree parts; /* none: it is not split */
	size_t part; /* the next one */
	struct tree now;
	size_t next;
};

int tree_cursor_open(struct store *s, const struct oid *id,
		     struct tree_cursor *ret, struct err *err);
/* Of two folders at once: what both hold, the same in every byte, may be left
 * out of both. */
int tree_cursor_open_pair(struct store *s, const struct oid *a,
			  const struct oid *b, struct tree_cursor *ret_a,
			  struct tree_cursor *ret_b, struct err *err);
void tree_cursor_free(struct tree_cursor *c);
/* 1 and the next entry (the cursor's, until it is asked again), 0 at the end,
 * or negative. Move on with c->next++. */
int tree_cursor_get(struct tree_cursor *c, const struct entry **ret,
		    struct err *err);
/* Skips parts that both would go through next and that are the same. */
void tree_cursor_skip_same(struct tree_cursor *a, struct tree_cursor *b);

/*
 * Follows a path from a root entry: 1 and a copy in *ret (entry_free it), 0
 * when there is no such path, or negative. "" is the root itself.
 */
int tree_lookup(struct store *s, const struct entry *root, const char *path,
		struct entry *ret, struct err *err);

/*
 * Goes through two trees side by side and calls each() for every path where
 * they differ (entry_equal), a folder before what is in it; a, b: NULL where
 * there is none. Folders with the same tree are not entered. A path that is a
 * folder on one side only has all below it reported too. Either root may have
 * mode 0. A negative answer of each() ends it and is returned.
 */
int tree_diff(struct store *s, const struct entry *a, const struct entry *b,
	      int (*each)(void *arg, const char *path, const struct entry *a,
			  const struct entry *b, struct err *err),
	      void *arg, struct err *err);

/* Every path below root in order, the root itself ("") first. */
int tree_each(struct store *s, const struct entry *root,
	      int (*each)(void *arg, const char *path, const struct entry *e,
			  struct err *err),
	      void *arg, struct err *err);

/*
 * A tree with changes: start from a root, put and remove paths, save. What is
 * not touched keeps its objects. Only touched folders are loaded.
 */
struct tree_editor;
struct tree_editor *tree_editor_new(struct store *s, const struct entry *root);
void tree_editor_free(struct tree_editor **ed);
/* Sets path to *e (copied; its name is taken from path, content too: for a
 * folder its whole tree). Parents must be folders there: -ENOTDIR. */
int tree_editor_put(struct tree_editor *ed, const char *path,
		    const struct entry *e, struct err *err);
/* Sets a folder's own metadata and keeps what is in it; makes it when
 * missing. path "" is the root. */
int tree_editor_put_dir(struct tree_editor *ed, const char *path,
			const struct entry *e, struct err *err);
/* Removes path and all below; one that is not there is fine. */
int tree_editor_remove(struct tree_editor *ed, const char *path,
		       struct err *err);
/* What is done next lies at path: the folders that were opened for what the
 * last call named, and do not hold it, are saved and take no room any more. */
int tree_editor_move_to(struct tree_editor *ed, const char *path,
			struct err *err);
/* A copy of what is at path now, to be freed; 1, 0 when there is nothing. */
int tree_editor_get(struct tree_editor *ed, const char *path, struct entry *ret,
		    struct err *err);
int tree_editor_save(struct tree_editor *ed, struct entry *ret_root,
		     struct err *err);

/* --- the bytes themselves; tree_save() and tree_load() use them --- */

/* Of entries that are sorted and entry_ok(). */
void tree_encode(const struct entry *entries, size_t count, struct buf *to);
/* What stands before the entries; chattr: one of them has some. */
void tree_encode_head(bool chattr, size_t count, struct buf *to);
/* Of a tree that is split: its parts. */
void tree_encode_split(const struct entry *parts, size_t count, struct buf *to);
/* -EBADMSG: damaged or hostile; -EPROTO: written by a newer guard. */
int tree_decode(const void *data, size_t len, struct tree *ret,
		struct err *err);
/*
 * As tree_decode() of both, without the entries whose bytes are the same in
 * both; of these no more is checked than their names' order. Trees that are
 * split are not shortened.
 */
int tree_decode_pair(const struct buf *a, const struct buf *b,
		     struct tree *ret_a, struct tree *ret_b, struct err *err);

#endif
