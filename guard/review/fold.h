/*
 * The one rule by which every list of changes gets shorter: `diff`, the end of
 * a run, `apply` and `review`. The first that matches wins:
 *
 *	1. An entry that is never folded is listed before the fold around it: a
 *	   loss, a high or critical risk, another type, a step of a plan that
 *	   merges or replaces an edit. Of a reason that repeats in folds three
 *	   are listed and the others counted; a directory of nothing but losses
 *	   is one line that says so.
 *	2. A deleted directory of FOLD_LEAST files.
 *	3. A directory that tools fill: the topmost one.
 *	4. A new directory of FOLD_LEAST files.
 *
 * Ends of moves, changes in a .git, noise of the profile and caches of a home
 * directory are in no fold: they have lines or numbers of their own. --json, -z
 * and --name-* do not fold, --full folds nothing.
 */
#ifndef GUARD_REVIEW_FOLD_H
#define GUARD_REVIEW_FOLD_H

#include "guard/review/view.h"

#define FOLD_LEAST 20
/* A directory with so many losses and nothing else is a fold. */
#define FOLD_LOST_LEAST 4
/* Lines of a reason that repeats. */
#define FOLD_REPEATS 3

/* The reason with the text of this risk, or NULL. */
struct fold_repeat *fold_repeat_find(const struct fold_repeats *l,
				     const struct risk *risk);
/* Counts a file with this reason. true: the file is listed, since the risk is
 * at least high, and the reason has less than FOLD_REPEATS lines. */
bool fold_repeat_add(struct fold_repeats *l, const struct risk *risk);

/* Sets the folds of a view. full: every entry by itself. Reads the risks and
 * losses as far as they are known. */
void fold_make(struct view *v, bool full);
/* The fold of an entry, or NULL. */
const struct fold *fold_of(const struct view *v, size_t entry);
/* The entry is in a fold and has no line. */
bool fold_hides(const struct view *v, size_t entry);
/* The text of the entry is left out, too: it is generated. */
bool fold_hides_text(const struct view *v, size_t entry);
/* The letter of a fold in a list: D, G for generated files, or A. */
char fold_letter(const struct fold *fold);
/* Appends "all 215 files, 17 KB, 214 in git" or "+2301 ~12 -4, 210 packages":
 * of a fold with a directory. */
void fold_text(const struct fold *fold, struct buf *to);
/* Appends "  !! no other copy" for an entry that is a loss, and "  not
 * examined" for a file that the rules do not read. */
void fold_entry_text(const struct view_entry *e, struct buf *to);

#endif
