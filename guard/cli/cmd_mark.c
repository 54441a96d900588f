#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/inside.h"
#include "guard/cli/choose_run.h"
#include "guard/cli/commands.h"
#include "guard/timeline/marks.h"

#define HOOK_MAX (1u << 20)
#define PROMPT_COLUMNS 80

/* An agent must not wait for its hook. */
static void give_up(int signal)
{
	(void)signal;
	_exit(STATUS_OK);
}

/* "prompt: ..." with the start of the hook's prompt, to free; NULL: there is
 * none. */
static char *find_prompt(void)
{
	AUTO(buf) struct buf hook = {0};
	json_auto_t *json = NULL;
	struct err ignored;
	const char *prompt;

	(void)signal(SIGALRM, give_up);
	(void)alarm(1);
	(void)fd_slurp(0, HOOK_MAX, &hook, &ignored);
	json = json_loadb((const char *)hook.data, hook.len, 0, NULL);
	prompt = json_string_value(json_object_get(json, "prompt"));
	return prompt ? mem_printf("prompt: %.*s",
				   (int)text_fit(prompt, PROMPT_COLUMNS),
				   prompt)
		      : NULL;
}

/* In a run, where hooks of agents call it: it prints nothing, and ends with 0
 * also when the run takes no marks. */
static int mark_own_run(const char *text)
{
	(void)marks_put(AT_FDCWD, MARKS_RUN_FIFO, text);
	return STATUS_OK;
}

static int mark_run(struct context *c, const struct options *o,
		    const char *text, struct err *err)
{
	AUTO(session) struct session s = SESSION_NONE;
	int got = choose_run_live(c, o->count > 1 ? o->operands[0] : NULL,
				  o->operands, &s, err);

	if (got)
		return got;
	if (!resolve_run_is_running(&s))
		return fail(err, ESRCH,
			    "run %s has ended: only a running one takes marks",
			    session_label(&s));
	if (marks_put(s.fd, TIMELINE_FIFO, text) == 0) {
		output_print("run %s is marked", session_label(&s));
		return STATUS_OK;
	}
	if (errno == ENOENT || errno == ENXIO)
		return fail(err, errno,
			    "run %s takes no marks: it was started with "
			    "--versions 0, or by an older guard",
			    session_label(&s));
	return fail_errno(err, "mark run %s", session_label(&s));
}

int cmd_mark(const struct options *o, struct context *c, struct err *err)
{
	auto_free char *text =
		o->prompt ? find_prompt()
			  : mem_strdup(o->count ? o->operands[o->count > 1]
						: NULL);

	if (!text && !o->prompt)
		return options_usage_error(o, "no text given");
	if (inside_run())
		return text ? mark_own_run(text) : STATUS_OK;
	if (!text || !text[strspn(text, " \t\n")])
		return fail(err, EINVAL, "the text of a mark is empty");
	if (context_open(c, true, err) < 0)
		return -err->num;
	return mark_run(c, o, text, err);
}
