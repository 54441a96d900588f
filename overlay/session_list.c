#include "overlay/session_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/vec.h"
#include "overlay/pending_index.h"
#include "overlay/session_private.h"

void session_list_free(struct session_list *list)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		session_free(&list->items[i]);
	free(list->items);
	*list = (struct session_list){0};
}

static int compare_age(const void *left, const void *right)
{
	const struct session *a = left, *b = right;
	int order = timestamp_compare(a->began, b->began);

	return order ? order : strcmp(a->id, b->id);
}

/* Moves a closed run that an earlier version of guard, or a process that was
 * killed, left among the pending ones. */
static void tidy_closed(int runs_fd, const char *id)
{
	AUTO(session) struct session s = SESSION_NONE;
	struct err ignored;

	if (session_open_id(runs_fd, id, true, &s, &ignored) == 0 &&
	    !run_state_pending(s.state))
		(void)session_move(&s, true, &ignored);
}

static void note_unread(struct session_list *list, const char *id,
			const struct err *why)
{
	if (why->num == ENOENT)
		return;
	if (!list->unread.num || err_is_exhaustion(why->num))
		list->unread = *why;
	if (session_id_time(id) > list->unread_time)
		list->unread_time = session_id_time(id);
}

/* pending: a closed session is moved to its place instead. Returns whether the
 * session was read. */
static bool add_listed(int runs_fd, const char *id, bool pending,
		       struct session_list *list)
{
	AUTO(session) struct session s = SESSION_NONE;
	struct err why;

	if (session_open_id(runs_fd, id, false, &s, &why) < 0) {
		note_unread(list, id, &why);
		return false;
	}
	if (pending && !run_state_pending(s.state)) {
		tidy_closed(runs_fd, id);
		return true;
	}
	*VEC_ADD(list) = s;
	s = SESSION_NONE;
	return true;
}

int session_list_damaged(int runs_fd, struct names *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist ids = {0};
	size_t i;

	if (session_list_ids(runs_fd, true, &ids, err) < 0)
		return -err->num;
	for (i = 0; i < ids.count; i++) {
		const char *id = ids.items[i].name;
		AUTO(session) struct session s = SESSION_NONE;
		struct err why;

		if ((!i || strcmp(id, ids.items[i - 1].name) != 0) &&
		    session_open_id(runs_fd, id, false, &s, &why) == -EBADMSG)
			names_add(ret, id);
	}
	return 0;
}

int session_list(int runs_fd, bool live, struct session_list *ret,
		 struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	AUTO(dirlist) struct dirlist names = {0};
	size_t i;

	/* A closed session is never live, but for the moment in which another
	 * process changes its state. */
	if (session_list_ids(runs_fd, !live, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *id = names.items[i].name;
		auto_free char *lock = path_join(id, SESSION_LOCK);
		struct err ignored;

		/* A quick test before the record is read: most runs are not
		 * live. */
		if ((!i || strcmp(id, names.items[i - 1].name) != 0) &&
		    !(live && lock_is_held(runs_fd, lock, &ignored) == 0))
			(void)add_listed(runs_fd, id, false, &list);
	}
	if (err_is_exhaustion(list.unread.num)) {
		*err = list.unread;
		return -err->num;
	}
	VEC_SORT(&list, compare_age);
	*ret = TAKE(list);
	return 0;
}

/* The lines of the index for the runs in runs/: of the old one, or from the
 * runs that it does not have. */
static int make_pending_index(int runs_fd, const struct record *old,
			      struct timestamp seen, struct record *ret,
			      struct err *err)
{
	AUTO(dirlist) struct dirlist names = {0};
	AUTO(session_list) struct session_list fresh = {0};
	bool complete = true;
	size_t at = 0, i, k;

	if (session_list_ids(runs_fd, false, &names, err) < 0)
		return -err->num;
	for (i = 0; i < names.count; i++) {
		const char *id = names.items[i].name;
		const struct session *s;
		size_t before = ret->count, count = fresh.count;

		while (at < old->count && strcmp(old->items[at].key, id) < 0)
			at++;
		for (; at < old->count && strcmp(old->items[at].key, id) == 0;
		     at++)
			record_add(ret, id, old->items[at].value);
		if (ret->count > before)
			continue;
		/* One without a record, or new, gets roots yet. */
		if (!add_listed(runs_fd, id, true, &fresh)) {
			record_add(ret, id, "/");
			complete = false;
		} else if (fresh.count == count) {
			/* A closed run: the next list moves it if this one
			 * could not. */
			complete = false;
		} else {
			s = &fresh.items[count];
			complete = complete && s->state != RUN_NEW;
			for (k = 0; k < s->root_count; k++)
				record_add(ret, id, s->roots[k].path);
		}
	}
	if (complete)
		pending_index_save(runs_fd, ret, seen);
	return 0;
}

int session_list_pending(int runs_fd, const char *here,
			 struct session_list *ret, struct err *err)
{
	AUTO(session_list) struct session_list list = {0};
	AUTO(record) struct record old = {0}, made = {0};
	const struct record *index = &old;
	struct timestamp seen;
	size_t i, next;

	if (!pending_index_load(runs_fd, &old, &seen)) {
		if (make_pending_index(runs_fd, &old, seen, &made, err) < 0)
			return -err->num;
		index = &made;
	}
	for (i = 0; i < index->count; i = next) {
		const char *id = index->items[i].key;
		bool wanted = !here;

		for (next = i; next < index->count &&
			       strcmp(index->items[next].key, id) == 0;
		     next++)
			wanted = wanted ||
				 path_below(here, index->items[next].value);
		if (!wanted) {
			list.elsewhere++;
		} else if (add_listed(runs_fd, id, true, &list) && here &&
			   list.count &&
			   strcmp(list.items[list.count - 1].id, id) == 0 &&
			   session_root_replaced(
				   &list.items[list.count - 1].roots[0])) {
			/* The run is of a directory that was here before. */
			session_free(&list.items[--list.count]);
			list.elsewhere++;
		}
	}
	if (err_is_exhaustion(list.unread.num)) {
		*err = list.unread;
		return -err->num;
	}
	VEC_SORT(&list, compare_age);
	*ret = TAKE(list);
	return 0;
}
