#include "guard/action.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/record.h"
#include "base/walk.h"
#include "guard/options.h"

#define NEXT "next-action"
#define LAST "last-action"
#define DONE "done-"
#define DISCARD "discard"
#define VERSION 2
#define VERSION_ONE_FOLDER 1

void action_free_roots(struct action *a)
{
	size_t i;

	for (i = 0; i < a->other_count; i++) {
		free(a->others[i].path);
		mem_list_free(&a->others[i].only);
	}
	free(a->others);
	mem_list_free(&a->only);
	a->others = NULL;
	a->other_count = a->other_room = 0;
}

void action_free(struct action *a)
{
	action_free_roots(a);
	free(a->kind);
	free(a->run_id);
	free(a->undoes);
	*a = (struct action){0};
}

struct action_root *action_add_root(struct action *a, const char *path)
{
	struct action_root *root;

	GROW(a->others, a->other_count, a->other_room);
	root = &a->others[a->other_count++];
	*root = (struct action_root){.path = mem_strdup(path)};
	return root;
}

/* only = number of the root " " path; 0 is the action's own. */
static void put_only(struct record *r, size_t number, char *const *only)
{
	for (; only && *only; only++) {
		auto_free char *value = mem_printf("%zu %s", number, *only);

		record_add(r, "only", value);
	}
}

/* other = before " " after " " path */
static void put_others(struct record *r, const struct action *a)
{
	size_t i;

	put_only(r, 0, a->only);
	for (i = 0; i < a->other_count; i++) {
		const struct action_root *o = &a->others[i];
		auto_free char *value =
			mem_printf("%" PRIu64 " %" PRIu64 " %s", o->before,
				   o->after, o->path);

		record_add(r, "other", value);
		put_only(r, i + 1, o->only);
	}
}

static bool get_other(struct action *a, const char *value)
{
	struct action_root *root;
	uint64_t before, after;
	int at = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %n", &before, &after, &at) !=
		    2 ||
	    !at || value[at] != '/')
		return false;
	root = action_add_root(a, value + at);
	root->before = before;
	root->after = after;
	return true;
}

static bool get_only(struct action *a, const char *value)
{
	char *path;
	unsigned long number = strtoul(value, &path, 10);

	if (*path++ != ' ' || number > a->other_count)
		return false;
	mem_list_add(number ? &a->others[number - 1].only : &a->only, path);
	return true;
}

/* Calls get() with each value of a key; they may be a thousand. */
static bool get_all(const struct record *r, const char *key, struct action *a,
		    bool (*get)(struct action *a, const char *value))
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(r->items[i].key, key) == 0 &&
		    !get(a, r->items[i].value))
			return false;
	return true;
}

static int get_others(const struct record *r, struct action *a, struct err *err)
{
	if (!get_all(r, "other", a, get_other) ||
	    !get_all(r, "only", a, get_only))
		return fail(err, EBADMSG, "the record of an action is damaged");
	return 0;
}

/* to: the set that it is put into; NULL: durable on return. */
static int save(int workspace_fd, const char *name, const struct action *a,
		struct atomic_set *to, struct err *err)
{
	AUTO(record) struct record r = {0};
	int version;

	record_set(&r, "kind", a->kind);
	record_set(&r, "run", a->run_id);
	record_set(&r, "undoes", a->undoes ? a->undoes : "");
	record_set_int(&r, "before", (int64_t)a->before);
	record_set_int(&r, "after", (int64_t)a->after);
	record_set_int(&r, "takes", (int64_t)a->takes);
	record_set_int(&r, "git", a->git);
	record_set_int(&r, "whole", a->whole);
	put_others(&r, a);
	/* One that an older guard can take back is left to it. */
	version = a->only || a->other_count ? VERSION : VERSION_ONE_FOLDER;
	return to ? record_put(workspace_fd, name, "action", version, &r, to,
			       err)
		  : record_save(workspace_fd, name, "action", version, &r,
				ATOMIC_DURABLE, err);
}

static char *text_of(const struct record *r, const char *key)
{
	const char *value = record_get(r, key);

	return mem_strdup(value ? value : "");
}

static int load(int workspace_fd, const char *name, struct action *ret,
		struct err *err)
{
	AUTO(record) struct record r = {0};
	int got = record_load(workspace_fd, name, "action", VERSION, &r, err);

	if (got < 0)
		return got;
	*ret = (struct action){
		.kind = text_of(&r, "kind"),
		.run_id = text_of(&r, "run"),
		.undoes = text_of(&r, "undoes"),
		.before = (uint64_t)record_get_int(&r, "before"),
		.after = (uint64_t)record_get_int(&r, "after"),
		.takes = (uint64_t)record_get_int(&r, "takes"),
		.git = record_get_int(&r, "git") != 0,
		.whole = record_get_int(&r, "whole") != 0,
	};
	got = get_others(&r, ret, err);
	if (got < 0) {
		action_free(ret);
		return err_context(err, "%s", name);
	}
	return 0;
}

int action_save_next(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err)
{
	return save(workspace_fd, NEXT, a, to, err);
}

void action_drop_next(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NEXT, 0);
}

int action_load_next(int workspace_fd, struct action *ret, struct err *err)
{
	return load(workspace_fd, NEXT, ret, err);
}

int action_load_last(int workspace_fd, struct action *ret, struct err *err)
{
	return load(workspace_fd, LAST, ret, err);
}

bool action_in_effect(const struct action *a)
{
	return strcmp(a->kind, "undo") != 0 || strcmp(a->undoes, "undo") == 0;
}

/* --- what was done before the last one --- */

struct numbers {
	unsigned long *items; /* ascending */
	size_t count, room;
};

static void numbers_free(struct numbers *n)
{
	free(n->items);
}

static int by_number(const void *a, const void *b)
{
	unsigned long p = *(const unsigned long *)a;
	unsigned long q = *(const unsigned long *)b;

	return (p > q) - (p < q);
}

static void done_name(unsigned long number, char ret[32])
{
	(void)snprintf(ret, 32, DONE "%lu", number);
}

static int done_list(int workspace_fd, struct numbers *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(workspace_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		unsigned long number;

		if (strncmp(name, DONE, strlen(DONE)) != 0 ||
		    options_number(name + strlen(DONE), ULONG_MAX - 1,
				   &number) < 0)
			continue;
		GROW(ret->items, ret->count, ret->room);
		ret->items[ret->count++] = number;
	}
	if (ret->count)
		qsort(ret->items, ret->count, sizeof(*ret->items), by_number);
	return 0;
}

static int done_load(int workspace_fd, unsigned long number, struct action *ret,
		     struct err *err)
{
	char name[32];

	done_name(number, name);
	return load(workspace_fd, name, ret, err);
}

static void done_drop(int workspace_fd, unsigned long number)
{
	char name[32];

	done_name(number, name);
	(void)unlinkat(workspace_fd, name, 0);
}

static bool same(const struct action *a, const struct action *b)
{
	return strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->run_id, b->run_id) == 0 && a->before == b->before;
}

/*
 * The last one, which is `a`, under a number of its own as well: a name more of
 * a file that is on disk already. One that was pushed before a sudden end is
 * not pushed again.
 */
static int done_push(int workspace_fd, const struct action *a, struct err *err)
{
	AUTO(numbers) struct numbers n = {0};
	AUTO(action) struct action top = {0};
	unsigned long number = 1;
	char name[32];
	size_t i;

	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	if (n.count) {
		number = n.items[n.count - 1] + 1;
		if (done_load(workspace_fd, number - 1, &top, err) == 0 &&
		    same(&top, a))
			return 0;
	}
	for (i = 0; i + ACTIONS_MAX - 2 < n.count; i++)
		done_drop(workspace_fd, n.items[i]);
	done_name(number, name);
	if (linkat(workspace_fd, LAST, workspace_fd, name, 0) == 0)
		return 0;
	return save(workspace_fd, name, a, NULL, err);
}

/* What was taken back, and every undo above it. */
static int done_forget(int workspace_fd, uint64_t before, struct err *err)
{
	AUTO(numbers) struct numbers n = {0};
	size_t i, k;

	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	for (i = n.count; i-- > 0;) {
		AUTO(action) struct action a = {0};

		if (done_load(workspace_fd, n.items[i], &a, err) < 0)
			return -err->num;
		if (a.before != before || !action_in_effect(&a))
			continue;
		for (k = i; k < n.count; k++)
			done_drop(workspace_fd, n.items[k]);
		return 0;
	}
	return 0;
}

/* Room for a new last action. */
static int make_way(int workspace_fd, const struct action *a, struct err *err)
{
	AUTO(action) struct action last = {0};
	int got = action_load_last(workspace_fd, &last, err);

	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	if (same(&last, a))
		return 0;
	if (!action_in_effect(a))
		return last.before == a->takes || !a->takes
			       ? 0
			       : done_forget(workspace_fd, a->takes, err);
	return action_in_effect(&last) ? done_push(workspace_fd, &last, err)
				       : 0;
}

bool action_is_last(int workspace_fd, const struct action *a)
{
	AUTO(action) struct action last = {0};
	struct err ignored;

	return action_load_last(workspace_fd, &last, &ignored) == 0 &&
	       same(&last, a);
}

int action_save_last(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err)
{
	return make_way(workspace_fd, a, err) < 0
		       ? -err->num
		       : save(workspace_fd, LAST, a, to, err);
}

void action_close(int workspace_fd, const struct action *a)
{
	if (action_is_last(workspace_fd, a))
		action_drop_next(workspace_fd);
}

int action_load_effective(int workspace_fd, size_t back, struct action *ret,
			  struct err *err)
{
	AUTO(numbers) struct numbers n = {0};
	AUTO(action) struct action a = {0};
	int got = action_load_last(workspace_fd, &a, err);
	size_t i;

	if (got < 0)
		return got;
	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	for (i = n.count;; i--) {
		if (action_in_effect(&a) && back-- == 0) {
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

int action_load_prior(int workspace_fd, struct action *ret, struct err *err)
{
	size_t back = 0;

	for (;;) {
		int got = action_load_effective(workspace_fd, back++, ret, err);

		if (got < 0 || strcmp(ret->kind, "discard") != 0)
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
	/* An undo too: it can be taken back again once the discard was. */
	if (got == 0 && done_push(workspace_fd, &last, err) < 0)
		return -err->num;
	return save(workspace_fd, LAST, a, NULL, err);
}

/* The newest action in effect; when it is the last one, too, all is as before
 * it. */
static int pop_discard(int workspace_fd, struct err *err)
{
	AUTO(numbers) struct numbers n = {0};
	AUTO(action) struct action last = {0};
	char name[32];

	if (action_load_last(workspace_fd, &last, err) < 0)
		return -err->num;
	/* No snapshot was taken before a discard. */
	if (strcmp(last.kind, DISCARD) != 0)
		return done_forget(workspace_fd, 0, err);
	if (done_list(workspace_fd, &n, err) < 0)
		return -err->num;
	if (!n.count)
		return unlinkat(workspace_fd, LAST, 0) < 0
			       ? fail_errno(err, "forget the last action")
			       : 0;
	done_name(n.items[n.count - 1], name);
	return renameat(workspace_fd, name, workspace_fd, LAST) < 0
		       ? fail_errno(err, "forget the last action")
		       : 0;
}

int action_announce_discard(int workspace_fd, const char *run_id,
			    struct err *err)
{
	auto_close int lock = lock_take(workspace_fd, "lock", true, false, err);
	auto_free char *run = mem_strdup(run_id);
	struct action a = {.kind = DISCARD, .run_id = run};

	if (lock == -EWOULDBLOCK)
		return fail(err, EBUSY,
			    "another guard is at work in this project");
	if (lock < 0)
		return lock;
	if (action_save_next(workspace_fd, &a, NULL, err) < 0)
		return -err->num;
	return TAKE_FD(lock);
}

int action_settle_discard(int workspace_fd, int runs_fd, struct err *err)
{
	AUTO(action) struct action a = {0}, top = {0};
	int got = action_load_next(workspace_fd, &a, err);
	bool gone, noted;

	if (got < 0)
		return got;
	got = action_load_effective(workspace_fd, 0, &top, err);
	if (got < 0 && got != -ENOENT)
		return got;
	gone = !fd_exists(runs_fd, a.run_id);
	noted = got == 0 && strcmp(top.kind, DISCARD) == 0 &&
		strcmp(top.run_id, a.run_id) == 0;
	got = 0;
	if (gone && !noted)
		got = push_discard(workspace_fd, &a, err);
	else if (!gone && noted)
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

	if (lock < 0 || action_load_effective(workspace_fd, 0, &top, err) < 0)
		return -err->num;
	if (strcmp(top.kind, DISCARD) != 0 || strcmp(top.run_id, run_id) != 0 ||
	    fd_exists(runs_fd, run_id))
		return 0;
	return pop_discard(workspace_fd, err);
}
