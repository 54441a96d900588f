#include "guard/agent/agent.h"
#include "guard/cli/commands.h"
#include "guard/retention/pins.h"
#include "guard/retention/settings.h"
#include "guard/state/usage.h"
#include "guard/timeline/timeline.h"
#include "overlay/session_list.h"
#include "snapshot/maintain/prune.h"

static struct usage usage_of(int dirfd, const char *name)
{
	struct usage u = {0};

	usage_add(dirfd, name, &u);
	return u;
}

struct du {
	struct context *c;
	struct usage packs, snaps, store_trash, runs, trash, reserve, agents;
	struct usage versions; /* of runs, not in the store yet */
	struct caches caches;
	uint64_t max_size; /* 0: none is set */
	struct prune_plan plan;
	bool stored, planned;
	struct err plan_err;
	struct session_list sessions;
	uint64_t *run_bytes; /* one for each session */
};

static int measure_usage(struct du *d, struct err *err)
{
	AUTO(pins) struct pins pins = {0};
	AUTO(settings) struct settings settings = {0};
	struct prune_options o = {.now = timestamp_now(),
				  .progress = progress_show};
	int fd, got = context_store(d->c, STORE_READ, err);
	size_t i;

	if (settings_load(&d->c->state, &settings, err) < 0)
		return -err->num;
	o.policy = settings.policy;
	o.keep_tags = settings.keep_tags;
	o.max_size = d->max_size = settings.max_size;
	d->trash = usage_of(d->c->state.fd, "trash");
	d->reserve = usage_of(d->c->state.fd, "reserve");
	d->agents = usage_of(d->c->state.fd, "agents");
	caches_measure(&d->c->state, &d->caches);
	if (session_list(d->c->state.runs_fd, false, &d->sessions, err) < 0)
		return -err->num;
	d->run_bytes = mem_zalloc((d->sessions.count + 1) * sizeof(uint64_t));
	for (i = 0; i < d->sessions.count; i++) {
		struct usage u = usage_of(d->sessions.items[i].fd, ".");

		usage_add(d->sessions.items[i].fd, TIMELINE_DIR, &d->versions);
		d->run_bytes[i] = u.bytes;
		d->runs.bytes += u.bytes;
		d->runs.unread += u.unread;
	}
	if (got == -ENOENT)
		return 0;
	if (got < 0)
		return got;
	d->stored = true;
	fd = store_root_fd(d->c->store);
	d->packs = usage_of(fd, "packs");
	d->snaps = usage_of(fd, "snaps");
	d->store_trash = usage_of(fd, "trash");
	/* A damaged store has sizes too. */
	got = pins_load(&d->c->state, &pins, &d->plan_err);
	o.pins = pins.items;
	o.pin_count = pins.count;
	d->planned = got == 0 &&
		     prune_plan(d->c->store, &o, &d->plan, &d->plan_err) == 0;
	return 0;
}

static void add_usage_line(struct table *t, uint64_t bytes, const char *what,
			   const char *detail)
{
	table_row(t, text_size(bytes), what, detail);
}

static void print_du_text(struct du *d)
{
	AUTO(table) struct table t = {.right = "r"};
	AUTO(buf) struct buf store = {0};
	size_t i;

	if (d->planned)
		buf_printf(&store, "%s, %s",
			   text_count(d->plan.count, "snapshot"),
			   text_count(d->plan.packs, "pack"));
	if (d->max_size)
		buf_printf(&store, "%sat most %s (max-size)",
			   store.len ? ", " : "", text_size(d->max_size));
	add_usage_line(&t, d->packs.bytes + d->snaps.bytes, "store",
		       buf_text(&store));
	add_usage_line(&t, d->runs.bytes, "layers",
		       text_count(d->sessions.count, "run"));
	for (i = 0; i < d->sessions.count; i++) {
		const struct session *s = &d->sessions.items[i];
		AUTO(buf) struct buf b = {0};

		buf_printf(&b, "%s, ", run_state_name(s->state));
		text_escape_name(&b, s->project);
		add_usage_line(&t, d->run_bytes[i],
			       text_printf("  run %s", session_label(s)),
			       buf_text(&b));
	}
	if (d->versions.bytes)
		add_usage_line(&t, d->versions.bytes, "  versions",
			       "during runs, until they are in the store");
	add_usage_line(&t, d->store_trash.bytes, "trash",
		       "of the store: guard undelete");
	add_usage_line(&t, d->trash.bytes, "trash", "of runs: guard undo");
	if (d->agents.bytes)
		add_usage_line(&t, d->agents.bytes, "agents",
			       "homes of guard's own: guard agents");
	if (d->caches.count)
		add_usage_line(&t, d->caches.usage.bytes, "caches",
			       "of runs: guard prune --caches");
	if (d->reserve.bytes)
		add_usage_line(&t, d->reserve.bytes, "reserve",
			       "for records on a full disk");
	if (d->planned)
		add_usage_line(&t, d->plan.frees, "to free",
			       d->plan.drop_snapshots || d->plan.frees
				       ? "about, by guard prune"
				       : "guard prune has nothing to remove");
	table_print(&t, "", stdout);
	if (!d->planned && d->stored)
		output_warn("the space that prune would free is unknown: %s",
			    d->plan_err.text);
	if (d->runs.unread + d->trash.unread)
		output_warn("not counted: %s that could not be read",
			    text_count(d->runs.unread + d->trash.unread,
				       "directory"));
}

int cmd_du(const struct options *o, struct context *c, struct err *err)
{
	struct du d = {.c = c};
	int got;

	if (context_open(c, false, err) < 0)
		return -err->num;
	progress_start("du");
	got = measure_usage(&d, err);
	progress_end();
	if (got == 0 && o->json) {
		json_t *object = jsonout_document("guard.du/1");
		json_t *runs = json_array();
		size_t i;

		for (i = 0; i < d.sessions.count; i++) {
			const struct session *s = &d.sessions.items[i];
			json_t *run = json_object();

			jsonout_text(run, "id", s->id);
			jsonout_text(run, "state", run_state_name(s->state));
			jsonout_text(run, "project", s->project);
			jsonout_number(run, "bytes", d.run_bytes[i]);
			jsonout_add(runs, run);
		}
		jsonout_number(object, "packs", d.packs.bytes);
		jsonout_number(object, "snapshots", d.snaps.bytes);
		jsonout_number(object, "store_trash", d.store_trash.bytes);
		jsonout_number(object, "trash", d.trash.bytes);
		jsonout_number(object, "runs_bytes", d.runs.bytes);
		jsonout_number(object, "versions", d.versions.bytes);
		jsonout_number(object, "agents", d.agents.bytes);
		jsonout_number(object, "caches", d.caches.usage.bytes);
		jsonout_number(object, "reserve", d.reserve.bytes);
		jsonout_number(object, "max_size", d.max_size);
		jsonout_set(object, "runs", runs);
		if (d.planned) {
			jsonout_number(object, "pack_count", d.plan.packs);
			jsonout_number(object, "snapshot_count", d.plan.count);
			jsonout_number(object, "prune_snapshots",
				       d.plan.drop_snapshots);
			jsonout_number(object, "prune_frees", d.plan.frees);
		}
		jsonstream_print(object);
	} else if (got == 0) {
		print_du_text(&d);
	}
	session_list_free(&d.sessions);
	free(d.run_bytes);
	prune_plan_free(&d.plan);
	return got;
}
