/*
 * Puts an earlier state back into a run: into a live one, which is suspended
 * meanwhile, or into the layers of an ended one, whose result it becomes.
 *
 *	rewind_load()		the present trees; a live run is suspended
 *	rewind_want()		the wanted tree, for each root that gets one
 *	rewind_changes()	the difference
 *	rewind_write()		a live run; an ended one in run_exec()
 *	rewind_free()
 *
 * The names are written through the merged view of the run, as its own
 * processes do, never into an upper layer. Nothing is lost by a crash in
 * between: the present state is stored and the action recorded before the first
 * write, so undo restores it, and a second rewind completes the first one.
 */
#ifndef GUARD_CHANGE_REWIND_H
#define GUARD_CHANGE_REWIND_H

#include "guard/change/action.h"
#include "guard/change/changes.h"
#include "guard/change/live.h"
#include "guard/change/resolve_run.h"
#include "guard/state/context.h"
#include "overlay/torn.h"

struct rewind_root {
	struct entry now, want;
	struct differences differences;
	int upper_fd; /* the layer */
	int view_fd; /* as the run has it, while the rewind writes */
};

struct rewind {
	struct context *c;
	struct resolved_run *p;
	struct freezer *freezer; /* of a live run */
	struct changes changes; /* from now to want */
	struct torn torn; /* torn files that come back keep their mtime */
	VEC(struct rewind_root) roots; /* as session.roots, without the home */
	char **left; /* paths that could not be written, for people */
	/* The action that is undone or repeated; NULL: none. */
	const struct action *undone;
	uint64_t before; /* the project's state before, a snapshot; 0: none */
	enum rewind_state {
		REWIND_NONE,
		REWIND_FAILED, /* nothing was written */
		REWIND_BEGUN, /* written in part */
		REWIND_DONE,
	} state;
	struct err why; /* unless it is done */
};

/* Resumes the run, and frees all that *r owns. */
void rewind_free(struct rewind *r);
/* Locks the run or suspends it. -ENODATA: the state from before the run is not
 * stored yet; -EINVAL: the run is not pending. */
int rewind_load(struct rewind *r, struct err *err);
void rewind_want(struct rewind *r, size_t root, const struct entry *tree);
/* Fills r->changes with the named paths alone. lost: NULL, or for each root the
 * paths whose content is not there; they stay as they are. */
int rewind_changes(struct rewind *r, char ***lost, struct err *err);
/* Whether the wanted state is another one than the present one. */
bool rewind_has_work(const struct rewind *r);
/* Stores the present state, records the action, and writes all roots of the
 * run, whose layers are mounted. An error is in r->why. */
void rewind_write(struct rewind *r, const struct session *s);
/* After the end of a run that was not live: uncovers the user's files at paths
 * that neither the run nor its base has any more. */
void rewind_uncover(const struct rewind *r);

#endif
