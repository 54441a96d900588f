#include "guard/retention/autoprune.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/lock.h"
#include "guard/state/background.h"
#include "guard/state/clock.h"
#include "guard/retention/pins.h"
#include "guard/retention/run_contents.h"
#include "guard/retention/settings.h"

/* Lock file of the automatic prune; its mtime is the time of the last prune. */
#define STAMP "last-prune"
#define DAY ((int64_t)24 * 3600)
#define HOUR ((int64_t)3600)

/* Pins the snapshots that the user took by hand. */
static int pin_manual_snapshots(struct store *store, struct pins *to,
				struct err *err)
{
	auto_free uint64_t *seqs = NULL;
	size_t count, i;

	if (catalog_list(store, &seqs, &count, err) < 0)
		return -err->num;
	for (i = 0; i < count; i++) {
		AUTO(snapshot) struct snapshot s = {0};

		if (catalog_load(store, seqs[i], &s, err) < 0)
			return -err->num;
		if (strcmp(s.reason, "manual") == 0)
			pins_add(to, s.seq);
	}
	return 0;
}

/* Waits without a message. */
static void ignore_lock_wait(void *arg, const char *who)
{
	(void)arg;
	(void)who;
}

void autoprune_log(const struct state *state, const char *by,
		   const struct prune_result *r)
{
	auto_free char *count = mem_printf("%" PRIu64, r->snapshots);
	auto_free char *bytes = mem_printf("%" PRIu64, r->bytes);

	if (r->snapshots || r->packs)
		state_log(state, "prune", "by", by, "snapshots", count, "bytes",
			  bytes, NULL);
}

/* One automatic prune, at the given time. 0 also when no snapshot is removed.
 */
static int autoprune(const struct state *state, struct timestamp now,
		     struct prune_result *ret, struct err *err)
{
	AUTO(settings) struct settings settings = {0};
	AUTO(store) struct store *store = NULL;
	AUTO(prune_plan) struct prune_plan plan = {0};
	AUTO(pins) struct pins pins = {0};
	struct prune_options o = {.now = now, .busy = ignore_lock_wait};

	*ret = (struct prune_result){0};
	if (store_open(&store, state->store_path, STORE_WRITE, err) < 0)
		return -err->num;
	/* Damaged versions of one run keep nothing else. */
	(void)run_contents_maintain(state, store, err);
	store_free(&store);
	if (settings_load(state, &settings, err) < 0 ||
	    store_open(&store, state->store_path, STORE_READ, err) < 0 ||
	    pins_load(state, &pins, err) < 0 ||
	    pin_manual_snapshots(store, &pins, err) < 0)
		return -err->num;
	o.policy = settings.policy;
	o.keep_tags = settings.keep_tags;
	o.max_size = settings.max_size;
	o.pins = pins.items;
	o.pin_count = pins.count;
	if (prune_plan(store, &o, &plan, err) < 0)
		return -err->num;
	store_free(&store);
	/* Also when nothing goes: trash that is old enough is emptied. */
	if (store_open(&store, state->store_path, STORE_WRITE, err) < 0 ||
	    prune_run(store, &o, &plan, ret, err) < 0)
		return -err->num;
	autoprune_log(state, "guard itself", ret);
	return 0;
}

static bool is_prune_due(const struct state *state)
{
	AUTO(settings) struct settings settings = {0};
	struct err ignored;
	bool first;

	if (settings_load(state, &settings, &ignored) < 0 ||
	    !settings.auto_prune || !clock_believed(state->fd) ||
	    access(state->store_path, F_OK) < 0)
		return false;
	/* The first time there is nothing old. What fails is not tried again
	 * after every run. */
	first = !fd_exists(state->fd, STAMP);
	return state_is_due(state, STAMP, settings.max_size ? HOUR : DAY) &&
	       !first;
}

/* In a process of its own. */
static void prune_in_background(struct timestamp now)
{
	struct prune_result result;
	struct state state;
	struct err err;

	_exit(background_enter("guard-pruner", NULL, 0) < 0 ||
	      state_open(&state, &err) < 0 ||
	      lock_take(state.fd, STAMP, true, false, &err) < 0 ||
	      autoprune(&state, now, &result, &err) < 0);
}

void autoprune_start(void)
{
	struct timestamp now = timestamp_now();
	struct state state;
	struct err ignored;

	if (state_open(&state, &ignored) < 0)
		return;
	if (is_prune_due(&state)) {
		(void)fflush(NULL);
		if (fork() == 0)
			prune_in_background(now);
	}
	state_close(&state);
}
