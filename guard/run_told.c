#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/record.h"
#include "base/text.h"
#include "guard/output.h"
#include "guard/run.h"
#include "restore/workspace.h"

#define TOLD "told"
#define VERSION 1
#define NAMED_MAX 8

/* Let in, or seen without its secrets, which is told by itself. */
static bool is_seen(const struct run *run, const struct sandbox_cuts *cuts,
		    const char *path)
{
	const char *const *lists[] = {run->options->read_only,
				      run->options->read_write};
	size_t i, k;

	for (i = 0; i < cuts->count; i++)
		if (strcmp(cuts->items[i].path, path) == 0)
			return true;
	for (k = 0; k < 2; k++)
		for (i = 0; lists[k][i]; i++) {
			struct err ignored;
			auto_free char *real =
				path_resolve(lists[k][i], &ignored);

			if (real && path_below(path, real))
				return true;
		}
	return false;
}

/* Those that are there, below the home folder: "~/.ssh, ~/.aws". */
static void list_hidden(const struct run *run, const struct sandbox_cuts *cuts,
			char *const *hide, struct buf *to)
{
	const struct state *st = &run->context.state;
	size_t count = 0;
	struct stat s;

	for (; *hide; hide++) {
		if (!st->home || !path_below(*hide, st->home) ||
		    strcmp(*hide, st->path) == 0 || lstat(*hide, &s) < 0 ||
		    is_seen(run, cuts, *hide))
			continue;
		if (count++ < NAMED_MAX)
			buf_printf(to, "%s~/%s", count > 1 ? ", " : "",
				   path_rest(*hide, st->home));
	}
	if (count > NAMED_MAX)
		buf_printf(to, " and %zu more", count - NAMED_MAX);
}

/* Whether it was told in this project already; from now on it was. */
static bool was_told(const struct run *run, const char *text)
{
	AUTO(record) struct record r = {0};
	struct err ignored;
	auto_close int fd = workspace_open(run->context.state.workspaces_fd,
					   run->project, true, &ignored);
	const char *had;

	if (fd < 0)
		return false;
	(void)record_load(fd, TOLD, TOLD, VERSION, &r, &ignored);
	had = record_get(&r, "hidden");
	if (had && strcmp(had, text) == 0)
		return true;
	record_set(&r, "hidden", text);
	(void)record_save(fd, TOLD, TOLD, VERSION, &r, false, &ignored);
	return false;
}

void run_tell_hidden(const struct run *run, const struct sandbox_cuts *cuts,
		     char *const *hide)
{
	AUTO(buf) struct buf names = {0}, shown = {0};

	list_hidden(run, cuts, hide, &names);
	if (!names.len || was_told(run, buf_text(&names)))
		return;
	output_name(&shown, buf_text(&names));
	output_say("hidden: %s (--ro PATH lets one in; not told again here)",
		   buf_text(&shown));
}
