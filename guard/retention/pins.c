#include "guard/retention/pins.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"
#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/dirtree.h"
#include "base/vec.h"
#include "guard/change/action.h"
#include "guard/change/moved_dirs.h"
#include "overlay/session_base.h"
#include "overlay/session_list.h"

#define PINS_MAX (16u << 20)

void pins_free(struct pins *p)
{
	free(p->items);
	*p = (struct pins){0};
}

void pins_add(struct pins *p, uint64_t seq)
{
	if (!seq)
		return;
	*VEC_ADD(p) = seq;
}

/* Undo and redo need the snapshots of an action, and the base of its run. */
static void add_pins_of(const struct action *a, struct pins *to,
			struct names *named)
{
	size_t i;

	for (i = 0; i < a->roots.count; i++) {
		pins_add(to, a->roots.items[i].before);
		pins_add(to, a->roots.items[i].after);
	}
	for (i = 0; i < a->bases.count; i++) {
		pins_add(to, a->bases.items[i].from);
		pins_add(to, a->bases.items[i].to);
	}
	if (a->run_id && *a->run_id)
		names_add(named, a->run_id);
}

/* Calls load() with 0, 1, ... until there is no more action. */
static int add_pins_back(int (*load)(int fd, size_t back, struct action *ret,
				     struct err *err),
			 int fd, struct pins *to, struct names *named,
			 struct err *err)
{
	size_t back;

	for (back = 0; back < PINS_ACTIONS; back++) {
		AUTO(action) struct action a = {0};
		int got = load(fd, back, &a, err);

		if (got < 0)
			return got == -ENOENT ? 0 : got;
		add_pins_of(&a, to, named);
	}
	return 0;
}

/* The announced action, and those of `undo N` and `redo`. */
static int add_action_pins_of(int fd, struct pins *to, struct names *named,
			      struct err *err)
{
	AUTO(action) struct action next = {0};
	int got = action_load_next(fd, &next, err);

	if (got < 0 && got != -ENOENT)
		return got;
	add_pins_of(&next, to, named);
	return add_pins_back(action_load_effective, fd, to, named, err) < 0 ||
			       add_pins_back(action_load_undone, fd, to, named,
					     err) < 0
		       ? -err->num
		       : 0;
}

static int add_workspace_pins(int workspaces_fd, struct pins *to,
			      struct names *named, struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(workspaces_fd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		auto_close int fd =
			fd_open_dir(workspaces_fd, list.items[i].name);

		if (fd < 0 && (errno == ENOTDIR || errno == ENOENT))
			continue;
		if (fd < 0)
			return fail_errno(err, "open workspace %s",
					  text_quote(list.items[i].name));
		if (add_action_pins_of(fd, to, named, err) < 0)
			return err_context(err, "workspace %s",
					   text_quote(list.items[i].name));
	}
	return 0;
}

/* Whether the run in that directory is finished. */
static bool is_finished_run(const struct session_list *runs,
			    const struct names *named, const char *id)
{
	size_t i;

	if (names_have(named, id))
		return false;
	for (i = 0; i < runs->count; i++)
		if (strcmp(runs->items[i].id, id) == 0)
			return !run_state_pending(runs->items[i].state);
	return false;
}

static void add_run_pin(void *arg, uint64_t seq)
{
	pins_add(arg, seq);
}

/* Adds the bases and results of every run in the directory, except of finished
 * ones (runs NULL: of all). */
static int add_run_pins(int dirfd, const struct session_list *runs,
			const struct names *named, struct pins *to,
			struct err *err)
{
	AUTO(dirlist) struct dirlist list = {0};
	size_t i;

	if (dirlist_read(dirfd, &list, err) < 0)
		return -err->num;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_close int fd = fd_open_dir(dirfd, name);

		if (fd < 0 || strstr(name, "-discard-part-") ||
		    (runs && is_finished_run(runs, named, name)))
			continue;
		if (session_each_snapshot(fd, add_run_pin, to, err) < 0)
			return err_context(err, "%s", text_quote(name));
	}
	return 0;
}

static int add_all_run_pins(const struct state *state,
			    const struct session_list *runs,
			    const struct names *named, struct pins *to,
			    struct err *err)
{
	auto_close int closed = session_open_closed_dir(state->runs_fd);

	if (closed < 0 && errno != ENOENT)
		return fail_errno(err, "open the directory of closed runs");
	/* An undo moves a run from the second directory to the first one. */
	if (add_run_pins(state->runs_fd, runs, named, to, err) < 0 ||
	    (closed >= 0 &&
	     (add_run_pins(closed, runs, named, to, err) < 0 ||
	      add_run_pins(state->runs_fd, runs, named, to, err) < 0)))
		return -err->num;
	return add_run_pins(state->trash_fd, NULL, named, to, err);
}

/* --- the user's own --- */

int pins_user_load(const struct state *state, struct pins *ret, struct err *err)
{
	AUTO(buf) struct buf bytes = {0};
	int got = fd_slurp_at(state->fd, "pins", PINS_MAX, &bytes, err);
	const char *at = buf_text(&bytes);
	char *end;

	if (got < 0)
		return got == -ENOENT ? 0 : got;
	while (*at) {
		uint64_t seq = strtoull(at, &end, 10);

		if (end == at || *end != '\n' || !seq)
			return fail(err, EBADMSG,
				    "%s/pins is damaged: remove its lines that "
				    "are no number of a snapshot, or the file, "
				    "and pin again with guard pin",
				    state->path);
		pins_add(ret, seq);
		at = end + 1;
	}
	return 0;
}

static bool has_seq(const uint64_t *seqs, size_t count, uint64_t seq)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (seqs[i] == seq)
			return true;
	return false;
}

bool pins_has(const struct pins *p, uint64_t seq)
{
	return has_seq(p->items, p->count, seq);
}

int pins_user_change(const struct state *state, const uint64_t *seqs,
		     size_t count, bool on, struct err *err)
{
	auto_close int lock =
		lock_take(state->fd, "pins.lock", true, true, err);
	AUTO(pins) struct pins old = {0}, now = {0};
	AUTO(buf) struct buf bytes = {0};
	size_t i;

	if (lock < 0 || pins_user_load(state, &old, err) < 0)
		return -err->num;
	for (i = 0; i < old.count; i++)
		if (!has_seq(seqs, count, old.items[i]))
			pins_add(&now, old.items[i]);
	for (i = 0; on && i < count; i++)
		if (!pins_has(&now, seqs[i]))
			pins_add(&now, seqs[i]);
	for (i = 0; i < now.count; i++)
		buf_printf(&bytes, "%llu\n", (unsigned long long)now.items[i]);
	return atomic_write(state->fd, "pins", bytes.data, bytes.len, 0600,
			    ATOMIC_DURABLE, err);
}

/* --- all of them --- */

int pins_load(const struct state *state, struct pins *ret, struct err *err)
{
	AUTO(session_list) struct session_list runs = {0};
	AUTO(names) struct names named = {0};
	AUTO(pins) struct pins pins = {0};
	size_t i;

	if (pins_user_load(state, &pins, err) < 0 ||
	    add_workspace_pins(state->workspaces_fd, &pins, &named, err) < 0 ||
	    session_list(state->runs_fd, false, &runs, err) < 0)
		return -err->num;
	for (i = 0; i < runs.count; i++) {
		/* An undo restores moved directories from this result. */
		if (moved_dirs_any(&runs.items[i]))
			pins_add(&pins, runs.items[i].roots[0].result);
	}
	if (add_all_run_pins(state, &runs, &named, &pins, err) < 0)
		return -err->num;
	*ret = TAKE(pins);
	return 0;
}
