/*
 * Moments: points in the timeline of a run, as users name them, and the state
 * of the run then.
 *
 *	moment_find(contents_timeline(c), label, live, "14:03", &m, &err)
 *	moment_state(store, c, root, m.record, &entry, &losses, &err)
 *	moment_free(&m)
 *
 *	when = HH:MM[:SS[.fraction]]	; the end of that unit, on the last day
 *					; of the run on which it was
 *	     | as in time_spec.h	; without numbers of snapshots
 *	     | "-" number unit		; before now; before the end of a run
 *					; that has ended
 *	     | "start" | "end" | "now"	; "end" and "now" are one
 *	     | text			; a mark: its text, or its beginning
 *
 * The text of a mark is the mark rather than a time, unless the time has a
 * fraction: a run sets marks, and messages name such times.
 *
 * The state of a root is the run's base of the root, changed by the last record
 * of each path. The version worker writes a record for each name of the layer
 * that goes away with a directory.
 *
 * Records have no extended attributes. A file has those of its content, a
 * directory those of the base.
 */
#ifndef GUARD_TIMELINE_MOMENT_H
#define GUARD_TIMELINE_MOMENT_H

#include "guard/timeline/timeline.h"
#include "snapshot/tree/entry.h"

struct contents;

/* Mark of the state before a rewind. Of several, the last one counts. */
#define MOMENT_BEFORE_REWIND "before-rewind"

struct moment {
	uint64_t record; /* number of the last record that counts; 0: none */
	struct timestamp time;
	char *mark; /* the mark's text, or NULL */
};

void moment_free(struct moment *m);

/*
 * t: the timeline of the run, which messages call label. live: the command goes
 * on, "now" is the clock's. -EDOM: neither a time nor a mark, with the marks;
 * -ERANGE: not in the time of the run; -EEXIST: several marks, which the text
 * lists; -ENODATA: the run has no timeline.
 */
int moment_find(const struct timeline *t, const char *label, bool live,
		const char *when, struct moment *ret, struct err *err);
/* The length of WHEN in "WHEN[:PATH]", also of marks with a colon: the longest
 * time, else the longest that moment_find() knows. */
size_t moment_len(const struct timeline *t, bool live, const char *text);

/* A path whose state at a moment is not known. */
struct moment_loss {
	char *path; /* relative to the root */
	/* The content that is not kept. 0: the path and everything below it may
	 * differ from the state. */
	uint64_t content;
};

struct moment_losses {
	struct moment_loss *items; /* in the order of path_compare() */
	size_t count, capacity;
	size_t files; /* that have a record, lost or not */
};

void moment_losses_free(struct moment_losses *l);
/* Why, as the timeline says. */
const char *moment_loss_reason(const struct timeline *t, size_t root,
			       const struct moment_loss *l);

/*
 * The tree of a root after the record. A file whose content is lost has an
 * entry with ENTRY_INCOMPLETE and no bytes. So has the root itself where the
 * run has no base of it, or no longer: then the tree has only changed paths.
 * The new trees are in the store, not flushed. The caller has suspended a live
 * run. *ret is the caller's to free.
 */
int moment_state(struct store *store, struct contents *contents, size_t root,
		 uint64_t record, struct entry *ret, struct moment_losses *lost,
		 struct err *err);

#endif
