#include "guard/agent/agent.h"
#include "guard/cli/commands.h"
#include "guard/cli/history_show.h"
#include "guard/retention/run_contents.h"
#include "guard/retention/autoprune.h"
#include "guard/retention/pins.h"
#include "guard/retention/settings.h"
#include "guard/retention/trashes.h"
#include "guard/state/clock.h"
#include "snapshot/maintain/prune.h"

struct prune_command {
	struct settings settings; /* of the options */
	struct prune_options options;
	const struct options *o;
};

/* The rules of the command line, in their order. */
static int read_rules(struct prune_command *p, struct err *err)
{
	const struct options *o = p->o;
	size_t i;

	settings_init(&p->settings);
	/* In the config 0 means no limit; on the command line it must be a
	 * mistake. */
	if (o->max_size && strcmp(o->max_size, "0") == 0)
		return fail(err, EINVAL,
			    "--max-size 0 would keep no snapshot: use a size "
			    "like 500M or 20G");
	for (i = 0; i < o->given_count; i++)
		if (o->given[i].value &&
		    settings_set(&p->settings, o->given[i].option->name,
				 o->given[i].value, err) < 0)
			return -err->num;
	if (p->settings.rules && !settings_keep_any(&p->settings))
		return fail(err, EINVAL,
			    "these rules keep no snapshot: add a --keep- rule");
	return 0;
}

static void print_prune_json(const struct prune_plan *plan,
			     const struct prune_result *done)
{
	/* In the order of enum retain_why's bits. */
	static const char *const names[] = {
		"newest", "day",    "pin",     "last",	 "within", "hourly",
		"daily",  "weekly", "monthly", "yearly", "tag",
	};
	json_t *object = jsonout_document("guard.prune/1");
	json_t *array = json_array();
	size_t i, k;

	for (i = 0; i < plan->count; i++) {
		const struct snapshot *s = &plan->snapshots[i];
		unsigned int why = plan->items[i].why;
		json_t *item = json_object(), *reasons = json_array();

		for (k = 0; k < ARRAY_SIZE(names); k++)
			if (why & 1u << k)
				jsonout_add(reasons, json_string(names[k]));

		jsonout_number(item, "snapshot", s->seq);
		jsonout_time(item, "time", s->time);
		jsonout_text(item, "reason", s->reason);
		jsonout_text(item, "root", s->root_path);
		jsonout_bool(item, "gone", !why);
		jsonout_set(item, "kept_by", reasons);
		jsonout_add(array, item);
	}
	jsonout_bool(object, "done", done != NULL);
	jsonout_set(object, "snapshots", array);
	jsonout_number(object, "gone", plan->drop_snapshots);
	jsonout_number(object, "bytes", plan->bytes);
	jsonout_number(object, "needed", plan->needed);
	jsonout_number(object, "frees", plan->frees);
	if (done) {
		jsonout_number(object, "moved_snapshots", done->snapshots);
		jsonout_number(object, "moved_packs", done->packs);
		jsonout_number(object, "moved_bytes", done->bytes);
		jsonout_number(object, "written_bytes", done->written);
	}
	jsonstream_print(object);
}

static int execute_prune(struct context *c, struct prune_command *p,
			 const struct prune_plan *plan, struct err *err)
{
	struct prune_result result = {0};
	int got;

	/* Also without removed snapshots: expired trash is emptied. */
	if (plan->drop_snapshots &&
	    !output_confirm(p->o->yes,
			    "guard: remove %s? guard keeps them in its trash "
			    "for 7 days.",
			    text_count(plan->drop_snapshots, "snapshot")))
		return STATUS_REFUSED;
	if (context_store(c, STORE_WRITE, err) < 0)
		return -err->num;
	p->options.keep_trash = !clock_believed(c->state.fd);
	if (p->options.keep_trash)
		output_warn("the clock has jumped, or guard did not know it "
			    "before: for one day the trash is "
			    "emptied by guard prune --trash only");
	if (run_contents_maintain(&c->state, c->store, err) < 0)
		output_warn("versions during runs: %s", err->text);
	progress_start("prune");
	got = prune_run(c->store, &p->options, plan, &result, err);
	progress_end();
	if (got < 0)
		return got;
	autoprune_log(&c->state, NULL, &result);
	if (p->o->json)
		print_prune_json(plan, &result);
	else if (!result.snapshots && !result.packs)
		output_print("nothing to do");
	else
		output_print("%s and %s (%s) moved to the trash, deleted in 7 "
			     "days%s%s",
			     text_count(result.snapshots, "snapshot"),
			     text_count(result.packs, "pack"),
			     text_size(result.bytes),
			     result.written ? "; repacked: " : "",
			     result.written ? text_size(result.written) : "");
	if (!p->o->json && result.packs)
		output_hint("guard prune --trash deletes them now");
	if (!p->o->json && result.snapshots)
		output_hint("guard undelete lists and restores them");
	return STATUS_OK;
}

static int prune_snapshots(struct prune_command *p, struct context *c,
			   struct err *err)
{
	AUTO(prune_plan) struct prune_plan plan = {0};
	AUTO(pins) struct pins pins = {0};
	AUTO(settings) struct settings kept = {0};
	int got;
	const struct settings *rules;
	AUTO(table) struct table t = {0};
	size_t i;

	if (context_store(c, STORE_READ, err) < 0)
		return -err->num;
	/* Rules of the command line, else those of the config. */
	rules = p->settings.rules ? &p->settings : &kept;
	if (settings_load(&c->state, &kept, err) < 0)
		return -err->num;
	p->options.policy = rules->policy;
	p->options.keep_tags = rules->keep_tags;
	p->options.max_size = p->settings.max_size ?: kept.max_size;
	if (pins_load(&c->state, &pins, err) < 0)
		return -err->num;
	p->options.pins = pins.items;
	p->options.pin_count = pins.count;
	progress_start("prune");
	got = prune_plan(c->store, &p->options, &plan, err);
	progress_end();
	if (got < 0)
		return got;
	for (i = 0; !p->o->json && i < plan.count; i++)
		if (!plan.items[i].why)
			history_show_row(&t, &plan.snapshots[i], "");
	table_print(&t, "", stdout);
	output_print("%s of %zu would be moved to the trash: about %s of "
		     "%s",
		     text_count(plan.drop_snapshots, "snapshot"), plan.count,
		     text_size(plan.frees), text_size(plan.bytes));
	if (p->options.max_size && plan.needed > p->options.max_size)
		output_warn("the kept snapshots need %s, more than %s, but no "
			    "rule may remove them",
			    text_size(plan.needed),
			    text_size(p->options.max_size));
	if (!p->o->dry_run)
		return execute_prune(c, p, &plan, err);
	if (p->o->json)
		print_prune_json(&plan, NULL);
	return STATUS_OK;
}

/* No rule is about them: they can all be had again. */
static int clear_caches(struct prune_command *p, struct context *c,
			struct err *err)
{
	struct caches caches;

	if (p->o->dry_run)
		caches_measure(&c->state, &caches);
	else if (caches_clear(&c->state, &caches, err) < 0)
		return err_context(err, "clear the caches");
	if (p->o->json) {
		json_t *object = jsonout_document("guard.prune-caches/1");

		jsonout_number(object, "caches", caches.count);
		jsonout_number(object, "busy", caches.busy);
		jsonout_number(object, "bytes", caches.usage.bytes);
		jsonstream_print(object);
	} else {
		output_print("%s of caches, %s: %s",
			     text_count(caches.count, "directory"),
			     text_size(caches.usage.bytes),
			     p->o->dry_run ? "would be removed" : "removed");
	}
	if (caches.busy)
		output_print("%s skipped: in use by a run",
			     text_count(caches.busy, "directory"));
	return STATUS_OK;
}

/* The rules do not apply to the trash. */
static int empty_both_trashes(struct prune_command *p, struct context *c,
			      struct err *err)
{
	struct trashes t;
	json_t *object;
	int got = context_store(c, STORE_READ, err);

	if (got < 0 && got != -ENOENT)
		return got;
	trashes_measure(c, &t);
	if (!p->o->dry_run) {
		if (!output_confirm(
			    p->o->yes,
			    "guard: empty guard's trash (%s)? Neither undo nor "
			    "undelete can restore its contents afterwards.",
			    text_size(t.runs.bytes + t.versions.bytes)))
			return STATUS_REFUSED;
		if (trashes_empty(c, err) < 0)
			return -err->num;
		state_log(&c->state, "empty-trash", NULL);
	}
	if (p->o->json) {
		object = jsonout_document("guard.prune-trash/1");
		jsonout_bool(object, "done", !p->o->dry_run);
		jsonout_number(object, "runs_bytes", t.runs.bytes);
		jsonout_number(object, "versions_bytes", t.versions.bytes);
		jsonstream_print(object);
	} else {
		output_print("trash: %s of runs, %s of versions: %s",
			     text_size(t.runs.bytes),
			     text_size(t.versions.bytes),
			     p->o->dry_run ? "would be removed" : "removed");
	}
	return STATUS_OK;
}

int cmd_prune(const struct options *o, struct context *c, struct err *err)
{
	struct prune_command p = {
		.o = o,
		.options = {.now = timestamp_now(),
			    .progress = progress_show,
			    .busy = progress_wait},
	};
	int got;

	if (o->undo)
		return cmd_undelete(o, c, err);
	if (o->count)
		return options_usage_error(o, "%s: snapshots go with --undo",
					   text_quote(o->operands[0]));
	if (read_rules(&p, err) < 0)
		got = options_usage_error(o, "%s", err->text);
	else if (o->caches)
		got = clear_caches(&p, c, err);
	else if (o->trash)
		got = empty_both_trashes(&p, c, err);
	else
		got = prune_snapshots(&p, c, err);
	settings_free(&p.settings);
	return got;
}
