#include "guard/action.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "guard/action_record.h"
#include "base/parse.h"
#include "base/dirtree.h"

#define NEXT "next-action"
#define LAST "last-action"
#define DONE "done-"
#define DISCARD "discard"

int action_save_next(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err)
{
	return action_record_save(workspace_fd, NEXT, a, to, err);
}

void action_drop_next(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NEXT, 0);
}

int action_load_next(int workspace_fd, struct action *ret, struct err *err)
{
	return action_record_load(workspace_fd, NEXT, ret, err);
}

int action_load_last(int workspace_fd, struct action *ret, struct err *err)
{
	return action_record_load(workspace_fd, LAST, ret, err);
}

/* Whether undo regards the action's result as the current state of the files:
 * any action but an undo, and also an undo of an undo. */
static bool action_is_in_effect(const struct action *a)
{
	return strcmp(a->kind, "undo") != 0 ||
	       strcmp(a->undone_kind, "undo") == 0;
}

/* --- actions before the last one --- */

struct action_numbers {
	unsigned long *items; /* ascending */
	size_t count, capacity;
};

static void action_numbers_free(struct action_numbers *n)
{
	free(n->items);
}

static int compare_action_numbers(const void *a, const void *b)
{
	unsigned long p = *(const unsigned long *)a;
	unsigned long q = *(const unsigned long *)b;

	return (p > q) - (p < q);
}

static void done_record_name(unsigned long number, char ret[32])
{
	(void)snprintf(ret, 32, DONE "%lu", number);
}

static int done_list(int workspace_fd, struct action_numbers *ret,
		     struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(workspace_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		unsigned long number;

		if (strncmp(name, DONE, strlen(DONE)) != 0 ||
		    parse_number(name + strlen(DONE), ULONG_MAX - 1, &number) <
			    0)
			continue;
		GROW(ret->items, ret->count, ret->capacity);
		ret->items[ret->count++] = number;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items),
		      compare_action_numbers);
	return 0;
}

static int done_load(int workspace_fd, unsigned long number, struct action *ret,
		     struct err *err)
{
	char name[32];

	done_record_name(number, name);
	return action_record_load(workspace_fd, name, ret, err);
}

static void done_drop(int workspace_fd, unsigned long number)
{
	char name[32];

	done_record_name(number, name);
	(void)unlinkat(workspace_fd, name, 0);
}

bool action_same_parts(const struct action *a, const struct action *b)
{
	/* Names in the trash are unique. */
	return a->part_count && b->part_count &&
	       strcmp(a->parts[0].kept, b->parts[0].kept) == 0;
}

bool action_same(const struct action *a, const struct action *b)
{
	return strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->run_id, b->run_id) == 0 && a->before == b->before &&
	       (!a->part_count || action_same_parts(a, b));
}

/*
 * Gives last-action, which is `a`, also a number of its own: a second hard link
 * of a file that is already on disk. An action that was pushed before a crash
 * is not pushed again.
 */
static int done_push(int workspace_fd, const struct action *a, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	AUTO(action) struct action top = {0};
	unsigned long number = 1;
	char name[32];
	size_t i;

	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	if (n.count) {
		number = n.items[n.count - 1] + 1;
		if (done_load(workspace_fd, number - 1, &top, err) == 0 &&
		    action_same(&top, a))
			return 0;
	}
	for (i = 0; i + ACTIONS_MAX - 2 < n.count; i++)
		done_drop(workspace_fd, n.items[i]);
	done_record_name(number, name);
	if (linkat(workspace_fd, LAST, workspace_fd, name, 0) == 0)
		return 0;
	return action_record_save(workspace_fd, name, a, NULL, err);
}

/* Removes the undone action and every undo above it. */
static int done_forget(int workspace_fd, uint64_t before, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	size_t i, k;

	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	for (i = n.count; i-- > 0;) {
		AUTO(action) struct action a = {0};

		if (done_load(workspace_fd, n.items[i], &a, err) < 0)
			return -err->num;
		if (a.before != before || !action_is_in_effect(&a))
			continue;
		for (k = i; k < n.count; k++)
			done_drop(workspace_fd, n.items[k]);
		return 0;
	}
	return 0;
}

/* Prepares the records for a new last action. */
static int archive_last_action(int workspace_fd, const struct action *a,
			       struct err *err)
{
	AUTO(action) struct action last = {0};
	int got = action_load_last(workspace_fd, &last, err);

	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	if (action_same(&last, a))
		return 0;
	if (!action_is_in_effect(a))
		return last.before == a->undone_before || !a->undone_before
			       ? 0
			       : done_forget(workspace_fd, a->undone_before,
					     err);
	return action_is_in_effect(&last) ? done_push(workspace_fd, &last, err)
					  : 0;
}

bool action_is_last(int workspace_fd, const struct action *a)
{
	AUTO(action) struct action last = {0};
	struct err ignored;

	return action_load_last(workspace_fd, &last, &ignored) == 0 &&
	       action_same(&last, a);
}

int action_save_last(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err)
{
	return archive_last_action(workspace_fd, a, err) < 0
		       ? -err->num
		       : action_record_save(workspace_fd, LAST, a, to, err);
}

void action_close(int workspace_fd, const struct action *a)
{
	if (action_is_last(workspace_fd, a))
		action_drop_next(workspace_fd);
}

int action_load_effective(int workspace_fd, size_t back, struct action *ret,
			  struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	AUTO(action) struct action a = {0};
	int got = action_load_last(workspace_fd, &a, err);
	size_t i;

	if (got < 0)
		return got;
	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	for (i = n.count;; i--) {
		if (action_is_in_effect(&a) && back-- == 0) {
			*ret = a;
			a = (struct action){0};
			return 0;
		}
		if (!i)
			return fail(err, ENOENT,
				    "nothing more is there to take back");
		action_free(&a);
		got = done_load(workspace_fd, n.items[i - 1], &a, err);
		if (got < 0)
			return got;
	}
}

uint64_t action_first(const struct action *a, size_t n)
{
	const struct action_root *other = n ? &a->others[n - 1] : NULL;

	if (strcmp(a->kind, "undo") == 0)
		return other ? other->first : a->first;
	return other ? other->before : a->before;
}

bool action_is_discard(const struct action *a)
{
	return strcmp(a->kind, DISCARD) == 0 ||
	       strcmp(a->kind, ACTION_PARTS) == 0;
}

int action_load_prior(int workspace_fd, struct action *ret, struct err *err)
{
	size_t back = 0;

	for (;;) {
		int got = action_load_effective(workspace_fd, back++, ret, err);

		if (got < 0 || !action_is_discard(ret))
			return got;
		action_free(ret);
	}
}

static int push_discard(int workspace_fd, const struct action *a,
			struct err *err)
{
	AUTO(action) struct action last = {0};
	int got = action_load_last(workspace_fd, &last, err);

	if (got < 0 && got != -ENOENT)
		return got;
	/* An undo is pushed, too: it can be undone again after an undo of the
	 * discard. */
	if (got == 0 && done_push(workspace_fd, &last, err) < 0)
		return -err->num;
	return action_record_save(workspace_fd, LAST, a, NULL, err);
}

/* Removes the newest action in effect. When it is also the last action, the
 * records are as before it. */
static int pop_discard(int workspace_fd, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	AUTO(action) struct action last = {0};
	char name[32];

	if (action_load_last(workspace_fd, &last, err) < 0)
		return -err->num;
	if (!action_is_discard(&last))
		return done_forget(workspace_fd, 0, err);
	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	if (!n.count)
		return unlinkat(workspace_fd, LAST, 0) < 0
			       ? fail_errno(err, "forget the last action")
			       : 0;
	done_record_name(n.items[n.count - 1], name);
	return renameat(workspace_fd, name, workspace_fd, LAST) < 0
		       ? fail_errno(err, "forget the last action")
		       : 0;
}

int action_lock(int workspace_fd, struct err *err)
{
	int lock = lock_take(workspace_fd, "lock", true, false, err);

	return lock == -EWOULDBLOCK
		       ? fail(err, EBUSY,
			      "another guard is at work in this project")
		       : lock;
}

int action_announce_discard(int workspace_fd, const char *run_id,
			    struct err *err)
{
	auto_close int lock = action_lock(workspace_fd, err);
	auto_free char *run = mem_strdup(run_id);
	struct action a = {.kind = DISCARD, .run_id = run};

	if (lock < 0)
		return lock;
	if (action_save_next(workspace_fd, &a, NULL, err) < 0)
		return -err->num;
	return TAKE_FD(lock);
}

/* Returns 1 when the run is in runs/, else 0. An unknown state is an error,
 * because the record of a discard is written or removed by the result. */
static int run_exists(int runs_fd, const char *run_id, struct err *err)
{
	struct stat st;

	if (RETRY_ENOENT(fstatat(runs_fd, run_id, &st, AT_SYMLINK_NOFOLLOW)) ==
	    0)
		return 1;
	return errno == ENOENT ? 0 : fail_errno(err, "run %s", run_id);
}

int action_finalize_discard(int workspace_fd, int runs_fd, struct err *err)
{
	AUTO(action) struct action a = {0}, top = {0};
	int got = action_load_next(workspace_fd, &a, err);
	int run_present = got < 0 ? got : run_exists(runs_fd, a.run_id, err);
	bool noted;

	if (run_present < 0)
		return run_present;
	got = action_load_effective(workspace_fd, 0, &top, err);
	if (got < 0 && got != -ENOENT)
		return got;
	noted = got == 0 && strcmp(top.kind, DISCARD) == 0 &&
		strcmp(top.run_id, a.run_id) == 0;
	got = 0;
	if (!run_present && !noted)
		got = push_discard(workspace_fd, &a, err);
	else if (run_present && noted)
		got = pop_discard(workspace_fd, err);
	if (got == 0)
		action_drop_next(workspace_fd);
	return got;
}

int action_forget_discard(int workspace_fd, const char *run_id, int runs_fd,
			  struct err *err)
{
	AUTO(action) struct action top = {0};
	auto_close int lock = lock_take(workspace_fd, "lock", true, true, err);
	int run_present;

	if (lock < 0 || action_load_effective(workspace_fd, 0, &top, err) < 0)
		return -err->num;
	if (strcmp(top.kind, DISCARD) != 0 || strcmp(top.run_id, run_id) != 0)
		return 0;
	run_present = run_exists(runs_fd, run_id, err);
	return run_present ? (run_present < 0 ? run_present : 0)
			   : pop_discard(workspace_fd, err);
}

int action_push_parts(int workspace_fd, const struct action *a, struct err *err)
{
	return action_is_last(workspace_fd, a)
		       ? 0
		       : push_discard(workspace_fd, a, err);
}

int action_pop_parts(int workspace_fd, const struct action *a, struct err *err)
{
	AUTO(action) struct action top = {0};
	int got = action_load_effective(workspace_fd, 0, &top, err);

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	return action_same_parts(&top, a) ? pop_discard(workspace_fd, err) : 0;
}
