/*
 * Lists of runs. Those of one directory are found in an index
 * (pending_index.h), without opening the others.
 */
#ifndef GUARD_OVERLAY_SESSION_LIST_H
#define GUARD_OVERLAY_SESSION_LIST_H

#include "overlay/session.h"

/* Result of session_list(); free with session_list_free(). */
struct session_list {
	struct session *items;
	size_t count, capacity;
	struct err unread; /* .num 0: all records were read */
	int64_t unread_time; /* session_id_time() of the newest unread one */
	size_t elsewhere; /* number of pending sessions not opened */
};
/* Lists all sessions, oldest first, without their locks. live: only sessions
 * whose lock another process holds. A session with an unreadable record is
 * skipped, and ret->unread has the error of the first such record. */
int session_list(int runs_fd, bool live, struct session_list *ret,
		 struct err *err);
/* session_list() of the pending sessions, if `here` is not NULL only of those
 * with a root at or above it, and not those of another directory that was at
 * their project's path before. Of the closed ones it opens those that are in
 * runs/ still, as earlier versions of guard left them, and moves them. */
int session_list_pending(int runs_fd, const char *here,
			 struct session_list *ret, struct err *err);
/* Frees all sessions and empties the list. */
void session_list_free(struct session_list *list);

/* Lists the ids of the runs whose record is damaged. */
int session_list_damaged(int runs_fd, struct names *ret, struct err *err);

#endif
