/*
 * Copies without secrets of the settings files that a run sees. A file of 64
 * KiB or more is read only when it has changed: its copy stays in the state
 * (base/derived.h), and the run gets that file itself.
 */
#ifndef GUARD_AGENT_REDACTIONS_H
#define GUARD_AGENT_REDACTIONS_H

#include "guard/sandbox/places.h"
#include "guard/sandbox/sandbox.h"

struct state;

/*
 * Adds the copy of the file at place, if it has secrets, or is masked
 * otherwise. closed, with an empty text: a file whose secrets cannot be
 * removed, because it cannot be read, is no text or too large. Nothing is added
 * for a missing file, and for a masked file that stays masked.
 */
void redactions_add(struct redactions *redactions, const struct state *state,
		    const struct place *place);
void redactions_free(struct redactions *redactions);

#endif
