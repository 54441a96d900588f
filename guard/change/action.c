#include "guard/change/action.h"

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
#include "base/parse.h"
#include "base/path.h"
#include "base/record.h"
#include "base/sorted.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "guard/state/report.h"
#include "overlay/session.h"

#define VERSION 4
#define VERSION_PARTS 3
#define VERSION_FOLDERS 2
#define VERSION_ONE_FOLDER 1

#define NEXT "next-action"
#define LAST "last-action"
#define DONE "done-"
#define UNDONE "undone-"
#define DISCARD "discard"

void action_free(struct action *a)
{
	size_t i;

	for (i = 0; i < a->roots.count; i++) {
		free(a->roots.items[i].path);
		mem_list_free(&a->roots.items[i].only);
	}
	for (i = 0; i < a->parts.count; i++) {
		free(a->parts.items[i].kept);
		free(a->parts.items[i].layer);
		free(a->parts.items[i].path);
	}
	VEC_FREE(&a->roots);
	VEC_FREE(&a->parts);
	VEC_FREE(&a->bases);
	free(a->kind);
	free(a->run_id);
	free(a->run_name);
	free(a->undone_kind);
	free(a->origin);
	*a = (struct action){0};
}

uint64_t action_before(const struct action *a)
{
	return a->roots.count ? a->roots.items[0].before : 0;
}

void action_add_part(struct action *a, const char *kept, const char *layer,
		     const char *path)
{
	*VEC_ADD(&a->parts) = (struct action_part){
		.kept = mem_strdup(kept),
		.layer = mem_strdup(layer),
		.path = mem_strdup(path),
	};
}

/* --- the record --- */

static bool parse_part(struct action *a, const char *value)
{
	const char *layer = strchr(value, ' ');
	const char *path = layer ? strchr(layer + 1, ' ') : NULL;
	auto_free char *kept_name = NULL, *layer_name = NULL;

	if (!path || !path_ok(path + 1))
		return false;
	kept_name = mem_strndup(value, (size_t)(layer - value));
	layer_name = mem_strndup(layer + 1, (size_t)(path - layer - 1));
	if (!path_name_ok(kept_name, strlen(kept_name)) ||
	    !path_name_ok(layer_name, strlen(layer_name)))
		return false;
	action_add_part(a, kept_name, layer_name, path + 1);
	return true;
}

static bool parse_other_root(struct action *a, const char *value)
{
	uint64_t before, after;
	int at = 0;

	if (sscanf(value, "%" SCNu64 " %" SCNu64 " %n", &before, &after, &at) !=
		    2 ||
	    !at || value[at] != '/')
		return false;
	*VEC_ADD(&a->roots) = (struct action_root){
		.path = mem_strdup(value + at),
		.before = before,
		.after = after,
	};
	return true;
}

static bool parse_only_path(struct action *a, const char *value)
{
	char *path;
	unsigned long number = strtoul(value, &path, 10);

	if (*path++ != ' ' || number >= a->roots.count)
		return false;
	mem_list_add(&a->roots.items[number].only, path);
	return true;
}

static bool parse_base(struct action *a, const char *value)
{
	struct action_base base = {.left = strchr(value, 'l') != NULL};

	if (sscanf(value, "%zu %" SCNu64 " %" SCNu64, &base.root, &base.from,
		   &base.to) != 3)
		return false;
	*VEC_ADD(&a->bases) = base;
	return true;
}

static bool parse_first_seq(struct action *a, const char *value)
{
	uint64_t first;
	size_t number;

	if (sscanf(value, "%zu %" SCNu64, &number, &first) != 2 ||
	    number >= a->roots.count)
		return false;
	a->roots.items[number].first = first;
	return true;
}

/* Calls get() with each value of a key; a record may have a thousand. */
static bool parse_values(const struct record *r, const char *key,
			 struct action *a,
			 bool (*get)(struct action *a, const char *value))
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(r->items[i].key, key) == 0 &&
		    !get(a, r->items[i].value))
			return false;
	return true;
}

/* Takes the value. */
static void add_value(struct record *r, const char *key, char *value)
{
	record_add(r, key, value);
	free(value);
}

static int save_record(int workspace_fd, const char *name,
		       const struct action *a, struct atomic_set *to,
		       struct err *err)
{
	const struct action_root none = {0}, *root;
	const struct action_root *project =
		a->roots.count ? a->roots.items : &none;
	AUTO(record) struct record r = {0};
	int version;
	size_t i;

	record_set(&r, "kind", a->kind);
	record_set(&r, "run", a->run_id);
	record_set(&r, "run-name", a->run_name);
	record_set(&r, "undoes", a->undone_kind ? a->undone_kind : "");
	record_set(&r, "of", a->origin);
	record_set_int(&r, "before", (int64_t)project->before);
	record_set_int(&r, "after", (int64_t)project->after);
	record_set_int(&r, "takes", (int64_t)a->undone_before);
	record_set_int(&r, "git", a->git);
	record_set_int(&r, "whole", a->complete);
	/* Each root after the project: other = before " " after " " path. Each
	 * partial root: only = number of the root " " path. */
	for (i = 0; i < a->roots.count; i++) {
		char *const *only;

		root = &a->roots.items[i];
		if (i)
			add_value(&r, "other",
				  mem_printf("%" PRIu64 " %" PRIu64 " %s",
					     root->before, root->after,
					     root->path));
		for (only = root->only; only && *only; only++)
			add_value(&r, "only", mem_printf("%zu %s", i, *only));
	}
	/* Each root with a first action: first = number of the root " "
	 * before. */
	for (i = 0; i < a->roots.count; i++) {
		root = &a->roots.items[i];
		if (root->first)
			add_value(&r, "first",
				  mem_printf("%zu %" PRIu64, i, root->first));
	}
	/* part = kept " " layer " " path */
	for (i = 0; i < a->parts.count; i++)
		add_value(&r, "part",
			  mem_printf("%s %s %s", a->parts.items[i].kept,
				     a->parts.items[i].layer,
				     a->parts.items[i].path));
	/* base = root " " from " " to [" left"] */
	for (i = 0; i < a->bases.count; i++)
		add_value(&r, "base",
			  mem_printf("%zu %" PRIu64 " %" PRIu64 "%s",
				     a->bases.items[i].root,
				     a->bases.items[i].from,
				     a->bases.items[i].to,
				     a->bases.items[i].left ? " left" : ""));
	/* The lowest sufficient version, so that an older guard can undo the
	 * action. */
	version = a->bases.count			? VERSION
		  : a->parts.count			? VERSION_PARTS
		  : project->only || a->roots.count > 1 ? VERSION_FOLDERS
							: VERSION_ONE_FOLDER;
	return to ? record_put(workspace_fd, name, "action", version, &r, to,
			       err)
		  : record_save(workspace_fd, name, "action", version, &r,
				ATOMIC_DURABLE, err);
}

static char *record_text_copy(const struct record *r, const char *key)
{
	const char *value = record_get(r, key);

	return mem_strdup(value ? value : "");
}

/* The values that every version has written. */
static bool is_complete(const struct record *r)
{
	return record_get(r, "kind") && record_get(r, "before") &&
	       record_get(r, "after");
}

static int parse_action(int workspace_fd, const char *name, struct action *ret,
			struct err *err)
{
	AUTO(record) struct record r = {0};
	int got = record_load(workspace_fd, name, "action", VERSION, &r, err);

	if (got < 0)
		return got;
	if (!is_complete(&r))
		return fail(err, EBADMSG, "%s is incomplete", text_quote(name));
	*ret = (struct action){
		.kind = record_text_copy(&r, "kind"),
		.run_id = record_text_copy(&r, "run"),
		.run_name = mem_strdup(record_get(&r, "run-name")),
		.undone_kind = record_text_copy(&r, "undoes"),
		.origin = record_get(&r, "of") ? record_text_copy(&r, "of")
					       : NULL,
		.undone_before = (uint64_t)record_get_int(&r, "takes"),
		.git = record_get_int(&r, "git") != 0,
		.complete = record_get_int(&r, "whole") != 0,
	};
	*VEC_ADD(&ret->roots) = (struct action_root){
		.before = (uint64_t)record_get_int(&r, "before"),
		.after = (uint64_t)record_get_int(&r, "after"),
	};
	if (parse_values(&r, "other", ret, parse_other_root) &&
	    parse_values(&r, "only", ret, parse_only_path) &&
	    parse_values(&r, "first", ret, parse_first_seq) &&
	    parse_values(&r, "part", ret, parse_part) &&
	    parse_values(&r, "base", ret, parse_base))
		return 0;
	action_free(ret);
	return fail(err, EBADMSG, "%s: the record of an action is damaged",
		    name);
}

/* Without a damaged record one action cannot be undone, but the snapshots
 * around it remain. To refuse every later action would cost more. */
static int load_record(int workspace_fd, const char *name, struct action *ret,
		       struct err *err)
{
	int got = parse_action(workspace_fd, name, ret, err);

	if (got != -EBADMSG)
		return got;
	got = record_set_aside(workspace_fd, name, err);
	report_warning(
		"%s: guard undo and redo no longer know the action that "
		"it recorded; guard log lists the stored versions, guard "
		"restore restores them",
		err->text);
	return got;
}

/* --- the records of a workspace --- */

int action_save_next(int workspace_fd, const struct action *a,
		     struct atomic_set *to, struct err *err)
{
	return save_record(workspace_fd, NEXT, a, to, err);
}

void action_drop_next(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NEXT, 0);
}

int action_load_next(int workspace_fd, struct action *ret, struct err *err)
{
	return load_record(workspace_fd, NEXT, ret, err);
}

int action_load_last(int workspace_fd, struct action *ret, struct err *err)
{
	return load_record(workspace_fd, LAST, ret, err);
}

/* Whether undo regards the action's result as the current state of the files:
 * any action but an undo, and also an undo of an undo. */
static bool action_is_in_effect(const struct action *a)
{
	return strcmp(a->kind, "undo") != 0 ||
	       strcmp(a->undone_kind, "undo") == 0;
}

static bool action_is_redo(const struct action *a)
{
	return strcmp(a->kind, "undo") == 0 && action_is_in_effect(a);
}

/* --- the actions before the last one, and the undone ones --- */

struct action_numbers {
	uint64_t *items; /* ascending */
	size_t count, capacity;
};

static void action_numbers_free(struct action_numbers *n)
{
	VEC_FREE(n);
}

/* stack: DONE or UNDONE. */
static void stack_name(const char *stack, unsigned long number, char ret[32])
{
	(void)snprintf(ret, 32, "%s%lu", stack, number);
}

static int stack_list(int workspace_fd, const char *stack,
		      struct action_numbers *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(workspace_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		unsigned long number;

		if (strncmp(name, stack, strlen(stack)) != 0 ||
		    parse_number(name + strlen(stack), ULONG_MAX - 1, &number) <
			    0)
			continue;
		*VEC_ADD(ret) = number;
	}
	VEC_SORT(ret, sorted_compare_numbers);
	return 0;
}

static int stack_load(int workspace_fd, const char *stack, unsigned long number,
		      struct action *ret, struct err *err)
{
	char name[32];

	stack_name(stack, number, name);
	return load_record(workspace_fd, name, ret, err);
}

static void stack_drop(int workspace_fd, const char *stack,
		       unsigned long number)
{
	char name[32];

	stack_name(stack, number, name);
	(void)unlinkat(workspace_fd, name, 0);
}

static bool action_same_parts(const struct action *a, const struct action *b)
{
	/* Names in the trash are unique. */
	return a->parts.count && b->parts.count &&
	       strcmp(a->parts.items[0].kept, b->parts.items[0].kept) == 0;
}

bool action_same(const struct action *a, const struct action *b)
{
	return strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->run_id, b->run_id) == 0 &&
	       action_before(a) == action_before(b) &&
	       (!a->parts.count || action_same_parts(a, b));
}

/* Whether one of the two newest records is the action: it was pushed before a
 * crash, alone or with another one. */
static bool is_pushed(int workspace_fd, const char *stack,
		      const struct action_numbers *n, const struct action *a)
{
	size_t i;

	for (i = n->count; i-- > 0 && i + 2 >= n->count;) {
		AUTO(action) struct action top = {0};
		struct err ignored;

		if (stack_load(workspace_fd, stack, n->items[i], &top,
			       &ignored) == 0 &&
		    action_same(&top, a))
			return true;
	}
	return false;
}

/* If the action is last-action, its record gets a second hard link: it is
 * already on disk. */
static int stack_push(int workspace_fd, const char *stack,
		      const struct action *a, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	unsigned long number;
	char name[32];
	size_t i;

	if (stack_list(workspace_fd, stack, &n, err) < 0)
		return -err->num;
	if (is_pushed(workspace_fd, stack, &n, a))
		return 0;
	number = n.count ? n.items[n.count - 1] + 1 : 1;
	for (i = 0; i + ACTIONS_MAX - 2 < n.count; i++)
		stack_drop(workspace_fd, stack, n.items[i]);
	stack_name(stack, number, name);
	if (action_is_last(workspace_fd, a) &&
	    linkat(workspace_fd, LAST, workspace_fd, name, 0) == 0)
		return 0;
	return save_record(workspace_fd, name, a, NULL, err);
}

/* Removes the undone action and every record above it. */
static int done_forget(int workspace_fd, uint64_t before, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	size_t i, k;
	int got;

	if (stack_list(workspace_fd, DONE, &n, err) < 0)
		return -err->num;
	for (i = n.count; i-- > 0;) {
		AUTO(action) struct action a = {0};

		got = stack_load(workspace_fd, DONE, n.items[i], &a, err);
		if (got == -ENOENT)
			continue;
		if (got < 0)
			return got;
		if (action_before(&a) != before || !action_is_in_effect(&a))
			continue;
		for (k = i; k < n.count; k++)
			stack_drop(workspace_fd, DONE, n.items[k]);
		return 0;
	}
	return 0;
}

/* Whether the discard repeats an undone one. */
static bool repeats_discard(const struct action *a, const struct action *undone)
{
	size_t i;

	if (strcmp(a->kind, undone->kind) != 0 ||
	    strcmp(a->run_id, undone->run_id) != 0 ||
	    a->parts.count != undone->parts.count)
		return false;
	for (i = 0; i < a->parts.count; i++)
		if (strcmp(a->parts.items[i].path,
			   undone->parts.items[i].path) != 0)
			return false;
	return true;
}

/* Removes the undone record that the action repeats; after any other action,
 * all of them. last_undone: last-action is an undo, which is redone first. */
static int undone_forget(int workspace_fd, const struct action *a,
			 bool last_undone, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	size_t i;
	int got;

	if (stack_list(workspace_fd, UNDONE, &n, err) < 0)
		return -err->num;
	for (i = n.count; i-- > 0;) {
		AUTO(action) struct action undone = {0};

		got = stack_load(workspace_fd, UNDONE, n.items[i], &undone,
				 err);
		if (got == -ENOENT)
			continue;
		if (got < 0)
			return got;
		if (action_is_redo(a)
			    ? action_before(&undone) == a->undone_before
			    : !last_undone && i + 1 == n.count &&
				      repeats_discard(a, &undone)) {
			stack_drop(workspace_fd, UNDONE, n.items[i]);
			return 0;
		}
	}
	for (i = 0; i < n.count && !action_is_redo(a); i++)
		stack_drop(workspace_fd, UNDONE, n.items[i]);
	return 0;
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
	AUTO(action) struct action last = {0};
	int got = action_load_last(workspace_fd, &last, err);

	if (got < 0 && got != -ENOENT)
		return got;
	if (got == 0 && !action_same(&last, a)) {
		if (action_is_in_effect(a) == action_is_in_effect(&last))
			got = stack_push(workspace_fd,
					 action_is_in_effect(a) ? DONE : UNDONE,
					 &last, err);
		if (got == 0 && !action_is_in_effect(a) && a->undone_before &&
		    action_before(&last) != a->undone_before)
			got = done_forget(workspace_fd, a->undone_before, err);
		if (got < 0)
			return got;
	}
	if (action_is_in_effect(a) &&
	    undone_forget(workspace_fd, a, false, err) < 0)
		return -err->num;
	return save_record(workspace_fd, LAST, a, to, err);
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
	if (stack_list(workspace_fd, DONE, &n, err) < 0)
		return -err->num;
	for (i = n.count;; i--) {
		if (a.kind && action_is_in_effect(&a) && back-- == 0) {
			*ret = a;
			a = (struct action){0};
			return 0;
		}
		if (!i)
			return fail(err, ENOENT,
				    "no earlier action is left to undo");
		action_free(&a);
		got = stack_load(workspace_fd, DONE, n.items[i - 1], &a, err);
		if (got < 0 && got != -ENOENT)
			return got;
	}
}

int action_load_undone(int workspace_fd, size_t back, struct action *ret,
		       struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	AUTO(action) struct action last = {0};
	int got = action_load_last(workspace_fd, &last, err);
	bool undone = got == 0 && !action_is_in_effect(&last);
	size_t i;

	if (got < 0 && got != -ENOENT)
		return got;
	if (undone && back-- == 0) {
		*ret = last;
		last = (struct action){0};
		return 0;
	}
	if (stack_list(workspace_fd, UNDONE, &n, err) < 0)
		return -err->num;
	for (i = n.count; i-- > 0;) {
		AUTO(action) struct action a = {0};

		got = stack_load(workspace_fd, UNDONE, n.items[i], &a, err);
		if (got == -ENOENT)
			continue;
		if (got < 0)
			return got;
		/* A leftover of a crash is on both sides. */
		if ((undone && action_same(&a, &last)) || back-- > 0)
			continue;
		*ret = a;
		a = (struct action){0};
		return 0;
	}
	return fail(err, ENOENT, "no undone action is left");
}

bool action_names_run(int workspace_fd, const char *run_id, bool undone)
{
	static int (*const loads[])(int, size_t, struct action *,
				    struct err *) = {action_load_effective,
						     action_load_undone};
	struct err err;
	size_t i, back;

	for (i = 0; i < (undone ? 2 : 1); i++)
		for (back = 0;; back++) {
			AUTO(action) struct action a = {0};
			int got = loads[i](workspace_fd, back, &a, &err);

			if (got == -ENOENT)
				break;
			if (got < 0 || strcmp(a.run_id, run_id) == 0)
				return true;
		}
	return false;
}

uint64_t action_first(const struct action *a, size_t n)
{
	const struct action_root *root = &a->roots.items[n];

	return strcmp(a->kind, "undo") == 0 ? root->first : root->before;
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
	if (got == 0 && action_is_in_effect(&last) &&
	    stack_push(workspace_fd, DONE, &last, err) < 0)
		return -err->num;
	return undone_forget(workspace_fd, a,
			     got == 0 && !action_is_in_effect(&last), err) < 0
		       ? -err->num
		       : save_record(workspace_fd, LAST, a, NULL, err);
}

/* Removes last-action: the action before it becomes the last one. */
static int pop_last(int workspace_fd, struct err *err)
{
	AUTO(action_numbers) struct action_numbers n = {0};
	char name[32];

	if (stack_list(workspace_fd, DONE, &n, err) < 0)
		return -err->num;
	if (n.count)
		stack_name(DONE, n.items[n.count - 1], name);
	if ((n.count ? renameat(workspace_fd, name, workspace_fd, LAST)
		     : unlinkat(workspace_fd, LAST, 0)) < 0)
		return fail_errno(err, "remove the record of the last action");
	return 0;
}

/* Removes the discard, which is the newest action in effect. undone: it can be
 * redone, before the actions that were undone earlier. */
static int pop_discard(int workspace_fd, const struct action *a, bool undone,
		       struct err *err)
{
	AUTO(action) struct action last = {0};
	bool is_last;

	if (action_load_last(workspace_fd, &last, err) < 0)
		return -err->num;
	is_last = action_same(&last, a);
	if (undone && !is_last &&
	    stack_push(workspace_fd, UNDONE, &last, err) < 0)
		return -err->num;
	if (undone && stack_push(workspace_fd, UNDONE, a, err) < 0)
		return -err->num;
	if (!is_last && done_forget(workspace_fd, 0, err) < 0)
		return -err->num;
	return is_last || undone ? pop_last(workspace_fd, err) : 0;
}

int action_lock(int workspace_fd, struct err *err)
{
	int lock = lock_take(workspace_fd, "lock", true, false, err);

	auto_free char *holder = NULL;

	if (lock != -EWOULDBLOCK)
		return lock;
	holder = lock_holders_at(workspace_fd, "lock");
	return fail(err, EBUSY,
		    "this project is in use by %s: try again when it has ended",
		    holder);
}

int action_announce_discard(int workspace_fd, const char *run_id,
			    const char *run_name, struct err *err)
{
	auto_close int lock = action_lock(workspace_fd, err);
	auto_free char *run = mem_strdup(run_id), *name = mem_strdup(run_name);
	struct action a = {.kind = DISCARD, .run_id = run, .run_name = name};

	if (lock < 0)
		return lock;
	if (action_save_next(workspace_fd, &a, NULL, err) < 0)
		return -err->num;
	return TAKE_FD(lock);
}

int action_finalize_discard(int workspace_fd, int runs_fd, struct err *err)
{
	AUTO(action) struct action a = {0}, top = {0};
	int got = action_load_next(workspace_fd, &a, err);
	int run_present =
		got < 0 ? got : session_exists(runs_fd, a.run_id, err);
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
		got = pop_discard(workspace_fd, &top, true, err);
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
	run_present = session_exists(runs_fd, run_id, err);
	return run_present ? (run_present < 0 ? run_present : 0)
			   : pop_discard(workspace_fd, &top, false, err);
}

int action_push_parts(int workspace_fd, const struct action *a, struct err *err)
{
	return action_is_last(workspace_fd, a)
		       ? 0
		       : push_discard(workspace_fd, a, err);
}

int action_pop_parts(int workspace_fd, const struct action *a, bool undone,
		     struct err *err)
{
	AUTO(action) struct action top = {0};
	int got = action_load_effective(workspace_fd, 0, &top, err);

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	return action_same_parts(&top, a)
		       ? pop_discard(workspace_fd, &top, undone, err)
		       : 0;
}
