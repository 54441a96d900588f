/* Between the files of overlay/session: the directory and the record of a run.
 */
#ifndef GUARD_OVERLAY_SESSION_PRIVATE_H
#define GUARD_OVERLAY_SESSION_PRIVATE_H

#include "base/dirtree.h"
#include "overlay/session.h"

/* The name of the record, and its version. */
#define SESSION_RECORD "record"
#define SESSION_RECORD_VERSION 2
#define SESSION_LOCK "lock"

/* Opens the run with exactly this id, as session_open(). */
int session_open_id(int runs_fd, const char *id, bool lock, struct session *ret,
		    struct err *err);
/* Lists the ids of runs, those of closed ones when asked to; an id can be there
 * twice, side by side. */
int session_list_ids(int runs_fd, bool closed, struct dirlist *ret,
		     struct err *err);
/* Moves the directory of a closed run into runs/closed/, or that of a run that
 * is reopened out of it. The caller holds the run's lock. */
int session_move(struct session *s, bool closed, struct err *err);

/* Replaces all fields of s that the record holds. s->fd and s->id are set.
 * -EBADMSG: the record is damaged; -EPROTO: a newer guard wrote it. */
int session_load(struct session *s, struct err *err);
/* Writes the complete record and removes "going". how: its durability. */
int session_store(const struct session *s, enum atomic_durability how,
		  struct err *err);
/* Writes "going", not synced. s->times is higher than in the record. */
int session_store_resumed(const struct session *s, struct err *err);
/* Appends a root that has only its path. The pointer is valid until the next
 * call. */
struct session_root *session_append_root(struct session *s, const char *path);
/* Frees the fields that session_load() sets. */
void session_free_record(struct session *s);

#endif
