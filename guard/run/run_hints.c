#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"
#include "guard/report.h"
#include "guard/run/run.h"

/* Programs whose main call is refused in a run, and whose own message does not
 * name guard. */
static const struct {
	const char *names; /* each between bars */
	bool nested, perf; /* --nested, --allow perf help */
	const char *why;
} hints[] = {
	{"|sudo|su|doas|pkexec|run0|", false, false,
	 "nobody gets other rights in a run: start guard as that user, or do "
	 "this outside"},
	{"|systemctl|systemd-run|loginctl|crontab|at|batch|", false, false,
	 "what it would start or ask would be outside of every run, where "
	 "nothing in a run reaches: do this outside"},
	{"|unshare|bwrap|firejail|flatpak|podman|buildah|chromium|chrome|"
	 "google-chrome|google-chrome-stable|chromium-browser|",
	 true, false,
	 "namespaces of its own, which it makes unless it is told not to, a "
	 "run may not have: --nested lets it"},
	{"|perf|", false, true,
	 "performance events are refused in a run: --allow perf lets it"},
};

static bool is_hinted_program(const char *names, const char *name)
{
	size_t len = strlen(name);
	const char *at;

	if (!len || strchr(name, '|'))
		return false;
	for (at = names; (at = strstr(at, name)); at++)
		if (at[-1] == '|' && at[len] == '|')
			return true;
	return false;
}

void run_hints_print(const struct run_options *o)
{
	const char *slash = strrchr(o->argv[0], '/');
	const char *name = slash ? slash + 1 : o->argv[0];
	size_t i;

	for (i = 0; i < sizeof(hints) / sizeof(*hints); i++)
		if (is_hinted_program(hints[i].names, name) &&
		    !(hints[i].nested && o->nested) &&
		    !(hints[i].perf && o->allow_perf))
			report_note("%s: %s", text_quote(name), hints[i].why);
}
