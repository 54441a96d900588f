/*
 * Lists the pending runs of the project around the current directory, or
 * applies one after a question:
 *
 *	apply			list
 *	apply RUN		list the steps of the run, ask, apply
 *
 * Built by `make tools`; tests/integration/library.t runs it.
 */
#include <stdio.h>

#include "guard/guard.h"

/* Prints a name from a run: control characters could forge the listing. */
static void print_name(const char *name)
{
	for (; *name; name++)
		(void)putchar((unsigned char)*name < ' ' || *name == 127
				      ? '?'
				      : *name);
}

static int print_run(void *arg, const struct guard_run *run)
{
	size_t *count = arg;

	(void)printf("%s  %s  ", run->id, run->running ? "running" : "ended");
	print_name(run->command);
	(void)putchar('\n');
	++*count;
	return 0;
}

static int list_runs(struct guard *g, struct err *err)
{
	size_t count = 0;
	int got = guard_pending(g, print_run, &count, err);

	if (got == 0 && count == 0)
		(void)printf("no run is pending in %s\n", guard_project(g));
	return got;
}

static bool show_and_ask(void *arg, const struct guard_plan *plan)
{
	static const char *const names[] = {"delete", "replace", "create",
					    "change the metadata of",
					    "cannot apply"};
	char answer[8];
	size_t i;

	(void)arg;
	for (i = 0; i < plan->count; i++) {
		const struct guard_step *step = &plan->steps[i];

		(void)printf("%s ", names[step->kind]);
		print_name(step->path);
		if (step->reason)
			(void)printf(": %s", step->reason);
		(void)putchar('\n');
	}
	if (plan->blocked)
		return false;
	(void)printf("apply %zu steps? [y/N] ", plan->count);
	(void)fflush(stdout);
	return fgets(answer, sizeof(answer), stdin) && answer[0] == 'y';
}

static void print_message(void *arg, const char *text)
{
	(void)arg;
	(void)printf("%s\n", text);
}

int main(int argc, char **argv)
{
	const struct guard_ui ui = {
		.agree = show_and_ask,
		.message = print_message,
	};
	struct guard *g;
	struct err err;
	int got = guard_open(NULL, &g, &err);

	if (got == 0) {
		got = argc > 1 ? guard_apply(g, argv[1], &ui, &err)
			       : list_runs(g, &err);
		guard_close(&g);
	}
	if (got < 0)
		(void)fprintf(stderr, "apply: %s\n", err.text);
	return got < 0;
}
