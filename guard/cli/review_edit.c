#include "guard/cli/review_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/fd.h"
#include "guard/cli/output.h"

#define NAME "edited-hunk.diff"
#define TEXT_NAME "edited-result"
#define EDITED_MAX (4u << 20)

static const char words[] =
	"# To drop a '-' line, make it ' '. To drop a '+' line, delete it.\n"
	"# Added lines may be changed freely. Lines that begin with # are "
	"ignored.\n"
	"# If no change is left, the hunk stays unchanged.\n";

/* The user's own words may hold arguments, so a shell reads them. */
static void exec_editor(const char *path)
{
	const char *editor = getenv("VISUAL");
	auto_free char *command = NULL;

	if (!editor || !*editor)
		editor = getenv("EDITOR");
	if (!editor || !*editor)
		editor = "command -v sensible-editor >/dev/null && "
			 "set -- sensible-editor \"$1\" || set -- vi \"$1\"; "
			 "exec";
	command = mem_printf("%s \"$@\"", editor);
	(void)execl("/bin/sh", "sh", "-c", command, "sh", path, (char *)NULL);
	_exit(127);
}

static int run_hunk_editor(const char *path, struct err *err)
{
	void (*interrupt)(int);
	int status = 0;
	pid_t pid;

	(void)fflush(stdout);
	interrupt = signal(SIGINT, SIG_IGN);
	pid = fork();
	if (pid == 0) {
		(void)signal(SIGINT, SIG_DFL);
		exec_editor(path);
	}
	status = child_wait(pid);
	(void)signal(SIGINT, interrupt);
	if (pid < 0)
		return fail_errno(err, "start the editor");
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return fail(err, ECANCELED,
			    "the editor failed: set VISUAL or EDITOR");
	return 0;
}

static int write_scratch(int scratch_fd, const char *name,
			 const struct buf *text, struct err *err)
{
	int fd, got = 0;

	(void)unlinkat(scratch_fd, name, 0);
	fd = openat(scratch_fd, name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0 || fd_write(fd, text->data, text->len) < 0)
		got = fail_errno(err, "write the text to be edited");
	fd_close(&fd);
	return got;
}

int review_edit_text(struct buf *text, int scratch_fd, const char *scratch,
		     struct err *err)
{
	auto_free char *path = mem_printf("%s/" TEXT_NAME, scratch);
	AUTO(buf) struct buf now = {0};
	int got = write_scratch(scratch_fd, TEXT_NAME, text, err);

	if (got == 0)
		got = run_hunk_editor(path, err);
	if (got == 0)
		got = fd_slurp_at(scratch_fd, TEXT_NAME, EDITED_MAX, &now, err);
	(void)unlinkat(scratch_fd, TEXT_NAME, 0);
	if (got < 0)
		return got;
	if (now.len && memchr(now.data, '\0', now.len))
		return fail(err, EINVAL, "the edited file is not a text");
	if (buf_same(&now, text))
		return 0;
	buf_clear(text);
	buf_add(text, now.data, now.len);
	return 1;
}

int review_edit(struct hunks *h, size_t at, int scratch_fd, const char *scratch,
		struct err *err)
{
	auto_free char *path = mem_printf("%s/" NAME, scratch);
	AUTO(buf) struct buf hunk = {0};
	int got;

	hunks_print(&h->items[at], &hunk);
	buf_add_text(&hunk, words);
	got = write_scratch(scratch_fd, NAME, &hunk, err);
	while (got == 0) {
		AUTO(buf) struct buf text = {0};

		got = run_hunk_editor(path, err);
		if (got == 0)
			got = fd_slurp_at(scratch_fd, NAME, EDITED_MAX, &text,
					  err);
		if (got == 0)
			got = hunks_edit(h, at, buf_text(&text), err);
		if (got == 0) {
			got = 1;
		} else if (got == -ECANCELED) {
			output_print("%s: the hunk is unchanged", err->text);
			got = 0;
			break;
		} else if (got == -EINVAL) {
			output_warn("%s", err->text);
			got = output_ask("guard: edit it again?") > 0 ? 0 : 2;
		}
	}
	(void)unlinkat(scratch_fd, NAME, 0);
	return got == 2 ? 0 : got;
}
