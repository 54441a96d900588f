#include "guard/change/recover.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/cli/discard.h"
#include "guard/state/reserve.h"

int cmd_discard(int argc, char **argv)
{
	const struct verb *verb = options_verb("discard");
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(resolved_run) struct resolved_run p = RESOLVED_RUN_NONE;
	int dashed = options_after_dashes(argc, argv);
	struct discard_choice how = {0};
	bool only = false, all = false;
	const struct option_slot slots[] = {
		{'a', .flag = &all},
		{'n', .flag = &how.dry},
		{OPT_KEEP_AGENT, .flag = &how.keep_agent},
		{OPT_ONLY, .flag = &only},
		{'y', .flag = &how.yes},
		{'q', .read = output_quiet_read},
		{0},
	};
	struct err err;
	int got = options_parse(verb, argc, argv, slots);

	if (got != OPTIONS_END)
		return got;
	if (!all && argc - optind == 1 && !dashed &&
	    resolve_run_is_glob(argv[optind])) {
		how.glob = argv[optind++];
		all = true;
	}
	if (all && optind < argc)
		return options_usage_error(
			verb, "--all discards every pending run of this "
			      "project: give no RUN and no PATHS");
	if (all) {
		got = context_open(&c, true, &err);
		if (got == 0) {
			reserve_release(c.state.fd);
			got = discard_every_run(&c, &how, &err);
		}
		return output_status(got, &err);
	}
	if (context_open(&c, true, &err) < 0 ||
	    resolve_run_open(&c, argc - optind, argv + optind, dashed, false,
			     &p, &err) < 0)
		return output_status(-err.num, &err);
	p.only = only;
	got = how.dry ? 0
		      : choose_run_check(&c, &p, how.yes, argv + optind, &err);
	if (got)
		return output_status(got, &err);
	reserve_release(c.state.fd);
	got = recover_project(&c, p.session.project, &err);
	if ((got < 0 && got != -ENOENT) || resolve_run_lock(&c, &p, &err) < 0)
		return output_status(-err.num, &err);
	got = discard_run(&c, &p, &how, &err);
	return output_status(got, &err);
}
