#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/auto.h"
#include "base/text.h"
#include "guard/commands.h"
#include "guard/context.h"
#include "guard/jsonout.h"
#include "guard/options.h"
#include "guard/output.h"
#include "restore/transaction.h"

static void print_json(const struct snapshot *s)
{
	json_t *object = json_object(), *notes = json_array();
	size_t i;

	jsonout_text(object, "schema", "guard.snapshot/1");
	jsonout_number(object, "snapshot", s->seq);
	jsonout_text(object, "root", s->root_path);
	jsonout_number(object, "files", s->files);
	jsonout_number(object, "folders", s->folders);
	jsonout_number(object, "bytes", s->bytes);
	for (i = 0; i < s->note_count; i++) {
		json_t *note = json_object();

		jsonout_text(note, "path", s->notes[i].path);
		jsonout_text(note, "reason", s->notes[i].text);
		(void)json_array_append_new(notes, note);
	}
	(void)json_object_set_new(object, "incomplete", notes);
	jsonout_print(object);
}

static void print_text(const struct snapshot *s)
{
	size_t i;

	(void)printf("%llu\n", (unsigned long long)s->seq);
	output_say("snapshot %llu of %s: %s in %s, %s",
		   (unsigned long long)s->seq, text_quote(s->root_path),
		   text_count(s->files, "file"),
		   text_count(s->folders, "folder"), text_size(s->bytes));
	for (i = 0; i < s->note_count; i++)
		output_warn("incomplete: %s: %s", text_quote(s->notes[i].path),
			    s->notes[i].text);
}

/* How long a snapshot waits for another guard at work in the project. */
#define PATIENCE_MS 30000
#define LOOK_MS 20

static int open_patiently(struct context *c, const char *project,
			  struct project *ret, struct err *err)
{
	int waited, got;

	for (waited = 0;; waited += LOOK_MS) {
		got = project_open(project, c->state.workspaces_fd, false, ret,
				   err);
		if (got != -EBUSY || waited >= PATIENCE_MS)
			return got;
		if (waited == 1000)
			output_say("waiting: %s", err->text);
		(void)poll(NULL, 0, LOOK_MS);
	}
}

static int take(struct context *c, const char *message, struct snapshot *ret,
		struct err *err)
{
	struct project p = {.fd = -1, .workspace_fd = -1, .lock_fd = -1};
	auto_free char *project = NULL;
	int got;

	if (context_open(c, false, err) < 0)
		return -err->num;
	project = state_project(&c->state, NULL, true, err);
	if (!project || context_recover(c, project, err) < 0 ||
	    context_store(c, STORE_WRITE, err) < 0 ||
	    open_patiently(c, project, &p, err) < 0)
		return -err->num;
	got = project_snapshot(c->store, &p, "manual", "", message, ret, err);
	project_close(&p);
	return got;
}

int cmd_snapshot(int argc, char **argv)
{
	const struct verb *verb = options_verb("snapshot");
	AUTO(context) struct context c = CONTEXT_NONE;
	AUTO(snapshot) struct snapshot s = {0};
	const char *message = "";
	bool json = false, quiet = false;
	const struct option_slot slots[] = {
		{'m', .text = &message},
		{'q', .flag = &quiet},
		{OPT_JSON, .flag = &json},
		{0},
	};
	struct err err;
	int got;

	got = options_take(verb, argc, argv, slots);
	if (got != OPTIONS_END)
		return got;
	output_quiet(quiet);
	if (take(&c, message, &s, &err) < 0) {
		output_error(&err);
		return STATUS_REFUSED;
	}
	if (json)
		print_json(&s);
	else
		print_text(&s);
	return output_finish() ? STATUS_OK : STATUS_REFUSED;
}
