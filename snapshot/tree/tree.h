/*
 * Trees: the content of directories. One object a directory, entries sorted by
 * bytes.
 *
 * A tree holds no atime, ctime or inode: touching a file must not change a
 * tree. A name is checked when it is written and when it is read. A damaged or
 * hostile tree gives -EBADMSG, never a path outside of the root.
 *
 * The tree of a huge directory is split: its object names parts, which are
 * trees themselves. A part begins at every name whose keyed hash says so. One
 * change therefore writes one part again, and two directories with the same
 * names have the same borders. The functions below hide the parts; a cursor
 * holds at most one part in memory.
 *
 * The grammar on disk is in tree.c above tree_encode_head(), and in entry.c.
 */
#ifndef GUARD_SNAPSHOT_TREE_TREE_H
#define GUARD_SNAPSHOT_TREE_TREE_H

#include "snapshot/tree/entry.h"

struct tree {
	struct entry *entries; /* sorted by name's bytes */
	size_t count, capacity;
	/* Entries are parts, see entry.h. Set by tree_decode() only. */
	bool split;
};

/* Frees all that *t owns. */
void tree_free(struct tree *t);
/* Takes the contents of *e and leaves it empty. */
void tree_add(struct tree *t, struct entry *e);
struct entry *tree_find(const struct tree *t, const char *name);

/* Stores a tree entry by entry, in order, without all of them in memory. count:
 * the number of entries to come. An empty tree is an object too. */
struct tree_writer;
struct tree_writer *tree_writer_new(struct store *s, size_t count);
void tree_writer_free(struct tree_writer **w);
/* -EINVAL: the entry is invalid or out of order; -EEXIST: its name came
 * before. */
int tree_writer_add(struct tree_writer *w, const struct entry *e,
		    struct err *err);
int tree_writer_end(struct tree_writer *w, struct oid *ret, struct err *err);

/* Loads the complete directory. An id of OBJECT_NONE gives an empty tree. */
int tree_load(struct store *s, const struct oid *id, struct tree *ret,
	      struct err *err);

/*
 * Follows a path from a root entry: 1 and a copy in *ret (to free with
 * entry_free()), 0 for a path that does not exist, or negative. "" is the root.
 */
int tree_lookup(struct store *s, const struct entry *root, const char *path,
		struct entry *ret, struct err *err);

/*
 * Compares two trees and calls each() for every path where they differ
 * (entry_equal), a directory before its entries; a or b is NULL where the path
 * is absent. Directories with the same tree are skipped. Where a path is a
 * directory on one side only, all paths below it are reported too. Either root
 * may have mode 0. A negative result of each() ends the comparison and is
 * returned.
 */
typedef int tree_diff_visit(void *arg, const char *path, const struct entry *a,
			    const struct entry *b, struct err *err);
int tree_diff(struct store *s, const struct entry *a, const struct entry *b,
	      tree_diff_visit *each, void *arg, struct err *err);

/* The result of tree_diff(), stored for a second use: reading and comparing two
 * trees is the expensive part. */
struct difference {
	char *path;
	struct entry a, b; /* mode 0: absent */
};

struct differences {
	struct difference *items;
	size_t count, capacity;
	bool complete; /* the list has all differences; set by the caller */
};

/* Frees all that *d owns. */
void differences_free(struct differences *d);
/* Appends a copy of one difference; a or b is NULL where it has no entry. */
void differences_add(struct differences *d, const char *path,
		     const struct entry *a, const struct entry *b);
/* Calls each() for every difference, in the order of tree_diff(). A negative
 * result of each() ends the loop and is returned. */
int differences_each(const struct differences *d, tree_diff_visit *each,
		     void *arg, struct err *err);

/* Calls each() for every path below root in order, the root itself ("")
 * first. */
typedef int tree_visit(void *arg, const char *path, const struct entry *e,
		       struct err *err);
int tree_each(struct store *s, const struct entry *root, tree_visit *each,
	      void *arg, struct err *err);

/* Loads the attributes of an entry into *ret, which is the caller's to free and
 * empty on failure. An id of OBJECT_NONE gives no attributes. -EBADMSG:
 * damaged. */
int attrset_load(struct store *s, const struct oid *id, struct xattrs *ret,
		 struct err *err);
/* Stores the attributes and sets *ret to their object, OBJECT_NONE for an empty
 * set. 0 or a negative errno of store_put(). */
int attrset_save(struct store *s, const struct xattrs *x, struct oid *ret,
		 struct err *err);

/*
 * A tree with changes: start from a root, put and remove paths, save. Unchanged
 * directories keep their objects; only directories on changed paths are loaded.
 */
struct tree_editor;
struct tree_editor *tree_editor_new(struct store *s, const struct entry *root);
void tree_editor_free(struct tree_editor **ed);
/* Sets path to a copy of *e; the name comes from path, and the content of a
 * directory is its complete tree. -ENOTDIR: a parent is missing or no
 * directory. */
int tree_editor_put(struct tree_editor *ed, const char *path,
		    const struct entry *e, struct err *err);
/* Sets a directory's own metadata and keeps its entries; creates a missing one.
 * path "" is the root. */
int tree_editor_put_dir(struct tree_editor *ed, const char *path,
			const struct entry *e, struct err *err);
/* Removes path and everything below; a missing path is no error. */
int tree_editor_remove(struct tree_editor *ed, const char *path,
		       struct err *err);
/* Announces that the next changes are at path: loaded directories of the
 * previous call that do not contain it are saved, and their memory is freed. */
int tree_editor_move_to(struct tree_editor *ed, const char *path,
			struct err *err);
/* A copy of the present entry at path, to free; 1, or 0 for an absent path. */
int tree_editor_get(struct tree_editor *ed, const char *path, struct entry *ret,
		    struct err *err);
int tree_editor_save(struct tree_editor *ed, struct entry *ret_root,
		     struct err *err);
/* After the last change, which returned got: saves the tree in place of *tree,
 * unless got is an error, and frees the editor. 0, got or a negative errno. */
int tree_editor_end(struct tree_editor **ed, int got, struct entry *tree,
		    struct err *err);

/* --- encoding, used by tree_writer_end() and tree_load() --- */

/* Decodes a tree object. -EBADMSG: damaged or hostile; -EPROTO: written by a
 * newer guard. */
int tree_decode(const void *data, size_t len, struct tree *ret,
		struct err *err);

#endif
