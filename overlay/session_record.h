/*
 * A session's record on disk: runs/<id>/record, key=value. Keys of other
 * modules are saved unchanged.
 *
 * 	extra=DEV INO RESULT PATH	one for each additional root, in the
 * 					order of their layers
 *
 * A continued run has a second record, "going", while it runs. "going" is valid
 * when its `times` is higher than that of the record. It is never synced: after
 * a power cut its remains still prove that the run was continued.
 *
 * A record with additional roots has version 2: an older guard, which would
 * apply only the project, refuses it.
 */
#ifndef GUARD_OVERLAY_SESSION_RECORD_H
#define GUARD_OVERLAY_SESSION_RECORD_H

#include "overlay/session.h"

/* Writes the complete record and removes "going". how: its durability, see
 * atomic.h. 0 or a negative errno. */
int session_store(const struct session *s, enum atomic_durability how,
		  struct err *err);
/* Writes "going", not synced. s->times is higher than in the record. */
int session_store_resumed(const struct session *s, struct err *err);

/* Replaces all fields of s that the record holds. s->fd and s->id are set.
 * -EBADMSG: the record is damaged; -EPROTO: a newer guard wrote it. */
int session_load(struct session *s, struct err *err);

/* Frees all roots and sets s->project to NULL. */
void session_free_roots(struct session *s);
/* Appends a root that has only its path. The pointer is valid until the next
 * call. */
struct session_root *session_append_root(struct session *s, const char *path);

#endif
