/*
 * A session's record on disk: runs/<id>/record, key=value. Keys that are not
 * the session's own are kept as they are.
 *
 *	extra=DEV INO RESULT PATH	one a folder, as their layers are
 *					counted
 *
 * A run that goes on has, while it does, a second one beside it, "going", which
 * counts where its `times` is the higher one. It is never synced: what a power
 * cut leaves of it says at least that the run went on.
 *
 * A record with extra folders has version 2: an earlier guard, which would
 * apply the project alone, refuses it.
 */
#ifndef GUARD_OVERLAY_SESSION_RECORD_H
#define GUARD_OVERLAY_SESSION_RECORD_H

#include "overlay/session.h"

/* Writes it whole; how: what it survives, see atomic.h. */
int session_store(const struct session *s, enum atomic_durability how,
		  struct err *err);
/* The one beside it; s->times is higher than in the record. */
int session_store_resumed(const struct session *s, struct err *err);

/* Everything of s that lies in the record; what it held before goes. s->fd
 * and s->id are set. -EBADMSG: the record is damaged. */
int session_load(struct session *s, struct err *err);

void session_free_roots(struct session *s);
/* The next root, with nothing but its path; valid until the next call. */
struct session_root *session_append_root(struct session *s, const char *path);

#endif
