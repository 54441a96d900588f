#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/options.h"
#include "guard/output.h"
#include "guard/pins.h"
#include "snapshot/prune.h"
#include "snapshot/when.h"

struct prune_command {
	struct prune_options options;
	bool given; /* a rule; the default ones do not hold then */
	bool dry, yes;
};

/* "14d": seconds; -1. */
static int64_t parse_span(const char *text, struct moment now)
{
	struct when when;
	struct err ignored;

	if (text[0] < '0' || text[0] > '9' ||
	    when_parse(text, now, &when, &ignored) < 0 ||
	    when.kind != WHEN_TIME || when.time.sec > now.sec ||
	    strpbrk(text, ":-"))
		return -1;
	return now.sec - when.time.sec;
}

static bool read_rule(const struct verb *verb, int id, const char *value,
		      void *to)
{
	struct prune_command *p = to;
	struct retain_policy *policy = &p->options.policy;
	unsigned long number = 0;

	if (id == OPT_MAX_SIZE) {
		p->options.max_size = options_size(value);
		if (p->options.max_size)
			return true;
		options_complain(verb, "%s is no size: 500M, 20G",
				 text_quote(value));
		return false;
	}
	if (!p->given)
		*policy = (struct retain_policy){0};
	p->given = true;
	if (id == OPT_KEEP_WITHIN) {
		policy->within = parse_span(value, p->options.now);
		if (policy->within >= 0)
			return true;
		options_complain(verb, "%s is no time: 12h, 14d, 8w",
				 text_quote(value));
		return false;
	}
	if (options_number(value, 1000000, &number) < 0) {
		options_complain(verb, "%s is no number", text_quote(value));
		return false;
	}
	switch (id) {
	case OPT_KEEP_LAST:
		policy->last = (uint32_t)number;
		break;
	case OPT_KEEP_HOURLY:
		policy->hourly = (uint32_t)number;
		break;
	case OPT_KEEP_DAILY:
		policy->daily = (uint32_t)number;
		break;
	case OPT_KEEP_WEEKLY:
		policy->weekly = (uint32_t)number;
		break;
	default:
		policy->monthly = (uint32_t)number;
	}
	return true;
}

static void print_plan(const struct prune_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->count; i++) {
		const struct snapshot *s = &plan->snapshots[i];
		AUTO(buf) struct buf b = {0};

		if (plan->items[i].why)
			continue;
		buf_printf(&b, "%llu  %s  ", (unsigned long long)s->seq,
			   output_time(s->time));
		output_name(&b, s->reason);
		buf_add_text(&b, "  ");
		output_name(&b, s->root_path);
		if (*s->message) {
			buf_add_text(&b, "  ");
			output_cut(&b, s->message);
		}
		(void)puts(buf_text(&b));
	}
}

static bool ask(const struct prune_command *p, const struct prune_plan *plan)
{
	int answer = p->yes ? 1
			    : output_ask("guard: take %s away? guard keeps "
					 "them in its trash for 7 days.",
					 text_count(plan->gone, "snapshot"));

	if (answer < 0)
		output_say("nothing is done: there is no terminal to ask on; "
			   "say it with -y");
	else if (!answer)
		output_say("nothing is done");
	return answer > 0;
}

static void tell_busy(void *arg, const char *who)
{
	(void)arg;
	output_warn("the store is in use by %s: waiting", who);
}

static int carry_out(struct context *c, struct prune_command *p,
		     const struct prune_plan *plan, struct err *err)
{
	struct prune_result result = {0};
	char count[24], bytes[24];

	p->options.busy = tell_busy;
	if (prune_run(c->store, &p->options, plan, &result, err) < 0)
		return -err->num;
	if (!result.snapshots && !result.packs) {
		output_say("nothing was to be done");
		return STATUS_OK;
	}
	(void)snprintf(count, sizeof(count), "%llu",
		       (unsigned long long)result.snapshots);
	(void)snprintf(bytes, sizeof(bytes), "%llu",
		       (unsigned long long)result.bytes);
	state_log(&c->state, "prune", "snapshots", count, "bytes", bytes, NULL);
	output_say("%s and %s (%s) lie in the trash for 7 days%s%s",
		   text_count(result.snapshots, "snapshot"),
		   text_count(result.packs, "pack"), text_size(result.bytes),
		   result.written ? "; packed anew: " : "",
		   result.written ? text_size(result.written) : "");
	output_hint("guard undelete lists them and brings them back");
	return STATUS_OK;
}

static int prune(struct prune_command *p, struct err *err)
{
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(prune_plan) struct prune_plan plan = {0};
	AUTO(pins) struct pins pins = {0};

	if (context_open(&c, false, err) < 0 ||
	    context_store(&c, STORE_READ, err) < 0 ||
	    pins_load(&c.state, &pins, err) < 0)
		return -err->num;
	p->options.pins = pins.items;
	p->options.pin_count = pins.count;
	if (prune_plan(c.store, &p->options, &plan, err) < 0)
		return -err->num;
	print_plan(&plan);
	output_say("%s of %zu would go; about %s of %s would be free",
		   text_count(plan.gone, "snapshot"), plan.count,
		   text_size(plan.frees), text_size(plan.bytes));
	if (p->options.max_size && plan.needed > p->options.max_size)
		output_warn("what stays needs %s: more than %s, but no rule "
			    "may take it",
			    text_size(plan.needed),
			    text_size(p->options.max_size));
	if (p->dry)
		return output_finish() ? STATUS_OK : STATUS_REFUSED;
	/* Also without any: what is in the trash for long is emptied. */
	if (plan.gone && !ask(p, &plan))
		return STATUS_REFUSED;
	store_free(&c.store);
	if (context_store(&c, STORE_WRITE, err) < 0)
		return -err->num;
	return carry_out(&c, p, &plan, err);
}

static bool keeps_something(const struct verb *verb,
			    const struct prune_command *p)
{
	const struct retain_policy *r = &p->options.policy;

	if (!p->given || r->last || r->within || r->hourly || r->daily ||
	    r->weekly || r->monthly)
		return true;
	options_complain(verb, "these rules keep nothing at all: that cannot "
			       "be meant");
	return false;
}

int cmd_prune(int argc, char **argv)
{
	const struct verb *verb = options_verb("prune");
	struct prune_command p = {
		.options = {.policy = retain_default, .now = moment_now()}};
	bool quiet = false;
	const struct option_slot slots[] = {
		{'n', .flag = &p.dry},
		{'y', .flag = &p.yes},
		{'q', .flag = &quiet},
		{OPT_KEEP_LAST, .read = read_rule, .to = &p},
		{OPT_KEEP_WITHIN, .read = read_rule, .to = &p},
		{OPT_KEEP_HOURLY, .read = read_rule, .to = &p},
		{OPT_KEEP_DAILY, .read = read_rule, .to = &p},
		{OPT_KEEP_WEEKLY, .read = read_rule, .to = &p},
		{OPT_KEEP_MONTHLY, .read = read_rule, .to = &p},
		{OPT_MAX_SIZE, .read = read_rule, .to = &p},
		{0},
	};
	struct err err;
	int got = options_take(verb, argc, argv, slots);

	if (got != OPTIONS_END)
		return got;
	output_quiet(quiet);
	if (!keeps_something(verb, &p))
		return STATUS_USAGE;
	return output_ended(prune(&p, &err), &err);
}
