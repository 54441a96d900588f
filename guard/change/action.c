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
#include "base/mem.h"
#include "base/parse.h"
#include "base/record.h"
#include "base/sorted.h"
#include "base/dirtree.h"
#include "guard/change/action_private.h"
#include "guard/state/report.h"
#include "restore/workspace.h"
#include "overlay/session.h"

/* The log, and next-action. */
#define LOG "actions"
#define LOG_VERSION 1
#define NEXT "next-action"
#define NEXT_VERSION 5
#define NEXT_KIND "action"
/* Key of the last line. */
#define END "end"
/* Earlier guards had a file for each action. */
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
	free(a->origin);
	*a = (struct action){0};
}

uint64_t action_before(const struct action *a)
{
	return a->roots.count ? a->roots.items[0].before : 0;
}

/* --- the log --- */

/* In the order in which they were done or undone last. */
struct action_log {
	struct action *items;
	size_t count, capacity;
};

static void action_log_free(struct action_log *log)
{
	size_t i;

	for (i = 0; i < log->count; i++)
		action_free(&log->items[i]);
	VEC_FREE(log);
}

static void drop_action(struct action_log *log, size_t at)
{
	action_free(&log->items[at]);
	log->count--;
	memmove(&log->items[at], &log->items[at + 1],
		(log->count - at) * sizeof(*log->items));
}

static struct action *new_action(struct action_log *log)
{
	struct action *a = VEC_ADD(log);

	*a = (struct action){.run_id = mem_strdup("")};
	*VEC_ADD(&a->roots) = (struct action_root){0};
	return a;
}

/* Adds the actions of a record. In one of an earlier guard there is one. */
static int parse_actions(const struct record *r, const char *name,
			 struct action_log *to, struct err *err)
{
	struct action *a = NULL;
	bool valid = r->count > 0, ends = true;
	size_t i;

	for (i = 0; i < r->count && valid; i++) {
		const struct record_item *item = &r->items[i];
		bool begins = strcmp(item->key, ACTION_KEY) == 0;

		ends = strcmp(item->key, END) == 0;
		if (ends)
			continue;
		if (begins || !a)
			a = new_action(to);
		if (begins) {
			a->number = strtoull(item->value, NULL, 10);
			a->undone = strchr(item->value, 'u') != NULL;
		} else if (strcmp(item->key, "undoes") == 0) {
			/* An earlier guard wrote "undo" for a redo. */
			a->undone = *item->value &&
				    strcmp(item->value, "undo") != 0;
			if (*item->value && !a->origin)
				a->origin = mem_strdup(a->undone ? item->value
								 : "action");
		} else {
			valid = action_fields_parse(a, item->key, item->value);
		}
	}
	for (i = 0; i < to->count; i++) {
		a = &to->items[i];
		valid = valid && a->kind && (ends || !a->number);
		/* An earlier guard's undo of a discard of paths. */
		if (a->parts.count && a->origin) {
			free(a->kind);
			a->kind = mem_strdup(ACTION_PARTS);
			free(TAKE(a->origin));
		}
	}
	return valid ? 0
		     : fail(err, EBADMSG,
			    "%s: the record of an action is damaged", name);
}

/* Without a damaged record actions cannot be undone, but the snapshots around
 * them remain. To refuse every later action would cost more. */
static int load_actions(int workspace_fd, const char *name, const char *kind,
			int version, struct action_log *ret, struct err *err)
{
	AUTO(record) struct record r = {0};
	AUTO(action_log) struct action_log log = {0};
	int got = record_load(workspace_fd, name, kind, version, &r, err);

	if (got == 0)
		got = parse_actions(&r, name, &log, err);
	if (got == -EBADMSG) {
		got = record_set_aside(workspace_fd, name, err);
		report_warning(
			"%s: guard undo and redo no longer know what it "
			"recorded; guard log lists the stored versions, guard "
			"restore restores them",
			err->text);
	}
	if (got < 0)
		return got;
	*ret = TAKE(log);
	return 0;
}

/* --- the files of an earlier guard --- */

struct action_numbers {
	uint64_t *items; /* ascending */
	size_t count, capacity;
};

static void action_numbers_free(struct action_numbers *n)
{
	VEC_FREE(n);
}

static int list_earlier(int workspace_fd, const char *stack,
			struct action_numbers *ret, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(workspace_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		unsigned long number;

		if (strncmp(name, stack, strlen(stack)) == 0 &&
		    parse_number(name + strlen(stack), ULONG_MAX - 1,
				 &number) == 0)
			*VEC_ADD(ret) = number;
	}
	VEC_SORT(ret, sorted_compare_numbers);
	return 0;
}

static bool is_like(const struct action *a, const struct action *b)
{
	return strcmp(a->kind, b->kind) == 0 &&
	       strcmp(a->run_id, b->run_id) == 0 &&
	       action_before(a) == action_before(b) &&
	       a->parts.count == b->parts.count &&
	       (!a->parts.count ||
		strcmp(a->parts.items[0].kept, b->parts.items[0].kept) == 0);
}

/* Adds the action of a file, unless a crash left the same in two files. */
static int add_earlier(int workspace_fd, const char *name, const char *stack,
		       struct action_log *to, struct err *err)
{
	AUTO(action_log) struct action_log one = {0};
	int got = load_actions(workspace_fd, name, NEXT_KIND, NEXT_VERSION,
			       &one, err);
	size_t i;

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	for (i = 0; i < to->count; i++)
		if (is_like(&to->items[i], &one.items[0]))
			return 0;
	/* Undos that no redo can reach. */
	if (strcmp(stack, DONE) == 0 && one.items[0].undone)
		return 0;
	one.items[0].undone |= strcmp(stack, UNDONE) == 0;
	one.items[0].number = to->count + 1;
	*VEC_ADD(to) = one.items[0];
	one.count = 0;
	return 0;
}

static int load_earlier(int workspace_fd, struct action_log *ret,
			struct err *err)
{
	static const char *const stacks[] = {DONE, UNDONE};
	size_t i, k;

	for (k = 0; k < 2; k++) {
		AUTO(action_numbers) struct action_numbers n = {0};

		if (list_earlier(workspace_fd, stacks[k], &n, err) < 0)
			return -err->num;
		for (i = 0; i < n.count; i++) {
			auto_free char *name =
				mem_printf("%s%" PRIu64, stacks[k], n.items[i]);

			if (add_earlier(workspace_fd, name, stacks[k], ret,
					err) < 0)
				return -err->num;
		}
	}
	return add_earlier(workspace_fd, LAST, LAST, ret, err);
}

/* The log has them. */
static void remove_earlier(int workspace_fd)
{
	static const char *const stacks[] = {DONE, UNDONE};
	struct err ignored;
	size_t i, k;

	for (k = 0; k < 2; k++) {
		AUTO(action_numbers) struct action_numbers n = {0};

		(void)list_earlier(workspace_fd, stacks[k], &n, &ignored);
		for (i = 0; i < n.count; i++) {
			auto_free char *name =
				mem_printf("%s%" PRIu64, stacks[k], n.items[i]);

			(void)unlinkat(workspace_fd, name, 0);
		}
	}
	(void)unlinkat(workspace_fd, LAST, 0);
}

static int load_log(int workspace_fd, struct action_log *ret, struct err *err)
{
	int got = load_actions(workspace_fd, LOG, LOG, LOG_VERSION, ret, err);

	return got == -ENOENT ? load_earlier(workspace_fd, ret, err) : got;
}

/* --- the newest actions --- */

/* The action before the last `back` ones in this state; its index, or count.
 */
static size_t find_back(const struct action_log *log, bool undone, size_t back)
{
	size_t i;

	for (i = log->count; i-- > 0;)
		if (log->items[i].undone == undone && back-- == 0)
			return i;
	return log->count;
}

static int load_back(int workspace_fd, bool undone, size_t back,
		     struct action *ret, struct err *err)
{
	AUTO(action_log) struct action_log log = {0};
	size_t at;

	if (load_log(workspace_fd, &log, err) < 0)
		return -err->num;
	at = find_back(&log, undone, back);
	if (at == log.count)
		return fail(err, ENOENT,
			    undone ? "no undone action is left"
				   : "no earlier action is left to undo");
	*ret = log.items[at];
	log.items[at] = (struct action){0};
	return 0;
}

int action_load_effective(int workspace_fd, size_t back, struct action *ret,
			  struct err *err)
{
	return load_back(workspace_fd, false, back, ret, err);
}

int action_load_undone(int workspace_fd, size_t back, struct action *ret,
		       struct err *err)
{
	return load_back(workspace_fd, true, back, ret, err);
}

bool action_names_run(int workspace_fd, const char *run_id, bool undone)
{
	AUTO(action_log) struct action_log log = {0};
	struct err ignored;
	size_t i;

	if (load_log(workspace_fd, &log, &ignored) < 0)
		return true;
	for (i = 0; i < log.count; i++)
		if (log.items[i].undone <= undone &&
		    strcmp(log.items[i].run_id, run_id) == 0)
			return true;
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

bool action_is_rewind(const struct action *a)
{
	return strcmp(a->kind, ACTION_REWIND) == 0 ||
	       (a->origin && strcmp(a->origin, ACTION_REWIND) == 0);
}

bool action_same(const struct action *a, const struct action *b)
{
	return a->number == b->number && a->undone == b->undone &&
	       is_like(a, b);
}

bool action_is_recorded(int workspace_fd, const struct action *a)
{
	AUTO(action_log) struct action_log log = {0};
	struct err ignored;
	size_t i;

	if (load_log(workspace_fd, &log, &ignored) < 0)
		return false;
	for (i = 0; i < log.count; i++)
		if (action_same(&log.items[i], a))
			return true;
	return false;
}

/* --- next-action --- */

static uint64_t next_number(const struct action_log *log)
{
	uint64_t highest = 0;
	size_t i;

	for (i = 0; i < log->count; i++)
		if (highest < log->items[i].number)
			highest = log->items[i].number;
	return highest + 1;
}

int action_begin(int workspace_fd, struct action *a, struct err *err)
{
	AUTO(action_log) struct action_log log = {0};

	if (!a->number) {
		if (load_log(workspace_fd, &log, err) < 0)
			return -err->num;
		a->number = next_number(&log);
	}
	a->time = timestamp_now().sec;
	return 0;
}

int action_announce(int workspace_fd, struct action *a, struct atomic_set *to,
		    struct err *err)
{
	AUTO(record) struct record r = {0};

	if (action_begin(workspace_fd, a, err) < 0)
		return -err->num;
	action_fields_add(&r, a);
	record_add(&r, END, "1");
	return to ? record_put(workspace_fd, NEXT, NEXT_KIND, NEXT_VERSION, &r,
			       to, err)
		  : record_save(workspace_fd, NEXT, NEXT_KIND, NEXT_VERSION, &r,
				ATOMIC_DURABLE, err);
}

void action_drop_next(int workspace_fd)
{
	(void)unlinkat(workspace_fd, NEXT, 0);
}

/* An earlier guard has announced it: the action in the log that it is, or that
 * it undoes, or a new one. */
static void number_earlier(struct action *next, const struct action_log *log)
{
	size_t i;

	next->number = next_number(log);
	for (i = 0; i < log->count; i++)
		if (is_like(next, &log->items[i]) ||
		    (next->undone_before &&
		     action_before(&log->items[i]) == next->undone_before))
			next->number = log->items[i].number;
}

int action_load_next(int workspace_fd, struct action *ret, struct err *err)
{
	AUTO(action_log) struct action_log next = {0}, log = {0};
	int got = load_actions(workspace_fd, NEXT, NEXT_KIND, NEXT_VERSION,
			       &next, err);

	if (got < 0)
		return got;
	if (!next.items[0].number) {
		if (load_log(workspace_fd, &log, err) < 0)
			return -err->num;
		number_earlier(&next.items[0], &log);
	}
	*ret = next.items[0];
	next.count = 0;
	return 0;
}

/* --- changes of the log --- */

static int save_log(int workspace_fd, const struct action_log *log,
		    const struct action *last, struct atomic_set *to,
		    struct err *err)
{
	AUTO(record) struct record r = {0};
	size_t most = ACTIONS_MAX - (last != NULL), i;

	for (i = log->count > most ? log->count - most : 0; i < log->count; i++)
		action_fields_add(&r, &log->items[i]);
	if (last)
		action_fields_add(&r, last);
	record_add(&r, END, "1");
	if (fd_exists(workspace_fd, LOG))
		remove_earlier(workspace_fd);
	return to ? record_put(workspace_fd, LOG, LOG, LOG_VERSION, &r, to, err)
		  : record_save(workspace_fd, LOG, LOG, LOG_VERSION, &r,
				ATOMIC_DURABLE, err);
}

/* Whether the discard repeats an undone one. */
static bool repeats_discard(const struct action *a, const struct action *undone)
{
	size_t i;

	if (!action_is_discard(a) || strcmp(a->kind, undone->kind) != 0 ||
	    strcmp(a->run_id, undone->run_id) != 0 ||
	    a->parts.count != undone->parts.count)
		return false;
	for (i = 0; i < a->parts.count; i++)
		if (strcmp(a->parts.items[i].path,
			   undone->parts.items[i].path) != 0)
			return false;
	return true;
}

/* Removes the action's own earlier state, or the discard that it repeats; else
 * all undone actions, which cannot be redone after it. */
static void forget_replaced(struct action_log *log, const struct action *a)
{
	size_t top = find_back(log, true, 0), i;

	for (i = 0; i < log->count; i++)
		if (log->items[i].number == a->number) {
			drop_action(log, i);
			return;
		}
	if (top < log->count && repeats_discard(a, &log->items[top])) {
		drop_action(log, top);
		return;
	}
	for (i = log->count; i-- > 0 && !a->undone;)
		if (log->items[i].undone)
			drop_action(log, i);
}

int action_record(int workspace_fd, const struct action *a,
		  struct atomic_set *to, struct err *err)
{
	AUTO(action_log) struct action_log log = {0};

	if (load_log(workspace_fd, &log, err) < 0)
		return -err->num;
	forget_replaced(&log, a);
	return save_log(workspace_fd, &log, a, to, err);
}

void action_close(int workspace_fd, const struct action *a)
{
	if (action_is_recorded(workspace_fd, a))
		action_drop_next(workspace_fd);
}

int action_forget(int workspace_fd, const struct action *a, struct err *err)
{
	AUTO(action_log) struct action_log log = {0};
	size_t i;

	if (load_log(workspace_fd, &log, err) < 0)
		return -err->num;
	for (i = 0; i < log.count; i++)
		if (log.items[i].number == a->number) {
			drop_action(&log, i);
			return save_log(workspace_fd, &log, NULL, NULL, err);
		}
	return 0;
}

/* --- discards --- */

int action_lock(int workspace_fd, struct err *err)
{
	return workspace_lock(workspace_fd, false, "this project", err);
}

int action_announce_discard(int workspace_fd, const char *run_id,
			    const char *run_name, struct err *err)
{
	auto_close int lock = action_lock(workspace_fd, err);
	AUTO(action)
	struct action a = {
		.kind = mem_strdup(DISCARD),
		.run_id = mem_strdup(run_id),
		.run_name = mem_strdup(run_name),
	};

	if (lock < 0)
		return lock;
	if (action_announce(workspace_fd, &a, NULL, err) < 0)
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
	if (!run_present && !noted) {
		got = action_record(workspace_fd, &a, NULL, err);
	} else if (run_present && noted) {
		top.undone = true;
		got = action_record(workspace_fd, &top, NULL, err);
	}
	if (got == 0)
		action_drop_next(workspace_fd);
	return got;
}

int action_forget_discard(int workspace_fd, const char *run_id, int runs_fd,
			  struct err *err)
{
	AUTO(action) struct action top = {0};
	auto_close int lock = workspace_lock(workspace_fd, true, "", err);
	int run_present;

	if (lock < 0 || action_load_effective(workspace_fd, 0, &top, err) < 0)
		return -err->num;
	if (strcmp(top.kind, DISCARD) != 0 || strcmp(top.run_id, run_id) != 0)
		return 0;
	run_present = session_exists(runs_fd, run_id, err);
	return run_present ? (run_present < 0 ? run_present : 0)
			   : action_forget(workspace_fd, &top, err);
}
