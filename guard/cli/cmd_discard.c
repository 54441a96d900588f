#include "guard/change/recover.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/discard.h"
#include "guard/state/reserve.h"

int cmd_discard(const struct options *o, struct context *c, struct err *err)
{
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	struct discard_choice how = {
		.dry = o->dry_run,
		.yes = o->yes,
		.keep_agent = o->keep_agent,
	};
	int got;

	if (o->count == 1 && o->dashed <= 0 &&
	    resolve_run_is_glob(o->operands[0]))
		how.glob = o->operands[0];
	if (o->all || how.glob) {
		reserve_release(c->state.fd);
		return discard_every_run(c, &how, err);
	}
	if (choose_run_open(c, o, &p, err) < 0)
		return -err->num;
	output_run_commands(&c->state, p.session.project);
	p.only = o->only;
	got = how.dry ? 0 : choose_run_check(c, &p, how.yes, o->operands, err);
	if (got)
		return got;
	reserve_release(c->state.fd);
	got = recover_project(c, p.session.project, err);
	if ((got < 0 && got != -ENOENT) || resolve_run_lock(c, &p, err) < 0)
		return -err->num;
	return discard_run(c, &p, &how, err);
}
