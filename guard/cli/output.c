#include "guard/cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/child.h"
#include "base/path.h"
#include "guard/cli/user_git.h"
#include "guard/state/free_space.h"

#define CUT_COLUMNS 60
#define VERB_LETTERS "abcdefghijklmnopqrstuvwxyz-"

static bool quiet;
static enum output_when colours = OUTPUT_AUTO;
static pid_t pager;
static size_t pager_width;
static int write_error; /* stdout forgets its own with the bytes */

void output_quiet(bool on)
{
	quiet = on;
}

bool output_is_quiet(void)
{
	return quiet;
}

/* One write a message, so that lines of two processes do not mix. */
FILE *output_stderr(void)
{
	(void)fflush(stdout);
	(void)output_has_failed();
	return stderr;
}

static bool (*is_verb)(const char *);
static char *command_dir; /* "guard -C DIR" */

void output_verbs(bool (*verb)(const char *))
{
	is_verb = verb;
}

void output_commands_in(const char *dir)
{
	char *longer =
		mem_printf("%s -C %s", output_command(), text_shell(dir));

	free(command_dir);
	command_dir = longer;
}

const char *output_command(void)
{
	return command_dir ?: "guard";
}

/* The directory of the caller was deleted, perhaps by this command: commands
 * have to run in one above. */
static void leave_deleted_cwd(void)
{
	auto_free char *dir = command_dir ? NULL : path_deleted_cwd();

	while (dir && access(dir, F_OK) < 0) {
		char *up = path_parent(dir);

		free(dir);
		dir = up;
	}
	if (dir)
		output_commands_in(dir);
}

/* Each "guard VERB" of the text works where the user is. */
static void print_message(const char *label, const char *text)
{
	AUTO(buf) struct buf b = {0};
	const char *from = text, *at;

	for (; (at = strstr(text, "guard ")); text = at) {
		auto_free char *verb = NULL;
		/* "cd DIR && guard ..." */
		bool apart = at - from > 3 && strncmp(at - 3, "&& ", 3) == 0;

		buf_add(&b, text, (size_t)(at - text));
		at += strlen("guard");
		verb = mem_strndup(at + 1, strspn(at + 1, VERB_LETTERS));
		apart |= !is_verb || !is_verb(verb);
		if (!apart)
			leave_deleted_cwd();
		buf_add_text(&b, apart ? "guard" : output_command());
	}
	(void)fprintf(output_stderr(), "guard: %s%s%s\n", label, buf_text(&b),
		      text);
}

void output_message(enum report_kind kind, const char *format, ...)
{
	static const char *const labels[] = {
		[REPORT_NOTE] = "",
		[REPORT_HINT] = "  ",
		[REPORT_WARNING] = "warning: ",
	};
	auto_free char *text = NULL;
	va_list ap;

	if (quiet && kind != REPORT_WARNING)
		return;
	va_start(ap, format);
	text = mem_vprintf(format, ap);
	va_end(ap);
	print_message(labels[kind], text);
}

void output_error(const struct err *err)
{
	print_message("", err->text);
	/* An error about damage of the store names the remedy. */
	if (err->num == EBADMSG && !strstr(err->text, "guard repair") &&
	    strncmp(err->file, "snapshot/", strlen("snapshot/")) == 0 &&
	    !strstr(err->file, "/backup/"))
		output_hint("guard verify lists the damage, guard repair "
			    "repairs it as far as possible");
	/* Also where nothing else is said: there is no other way on. */
	if ((err->num == ENOSPC || err->num == EDQUOT) &&
	    !strstr(err->text, " prune") &&
	    !strstr(err->text, "free space there")) {
		auto_free char *hint = free_space_hint();

		print_message("  ", hint);
	}
}

void output_color(enum output_when when)
{
	colours = when;
}

bool output_term_is_capable(void)
{
	const char *term = getenv("TERM");

	return term && *term && strcmp(term, "dumb") != 0;
}

bool output_has_color(void)
{
	const char *off;

	if (colours == OUTPUT_AUTO) {
		off = getenv("NO_COLOR");
		colours = isatty(STDOUT_FILENO) && !(off && *off) &&
					  output_term_is_capable()
				  ? OUTPUT_ALWAYS
				  : OUTPUT_NEVER;
	}
	return colours == OUTPUT_ALWAYS;
}

/* pager.VERB is a command, or a bool as git writes it. */
static char *find_git_pager(const char *verb)
{
	auto_free char *key = mem_printf("pager.%s", verb);
	auto_free char *own = user_git_setting(key);
	static const char *const words[] = {"false", "no",  "off", "0",
					    "true",  "yes", "on",  "1"};
	size_t i;

	for (i = 0; own && i < ARRAY_SIZE(words); i++)
		if (strcasecmp(own, words[i]) == 0)
			return i < ARRAY_SIZE(words) / 2
				       ? mem_strdup("cat")
				       : user_git_setting("core.pager");
	return own ? TAKE(own) : user_git_setting("core.pager");
}

/* A command for the shell; *ret_git: from git's settings. */
static char *find_pager(const char *verb, bool *ret_git)
{
	const char *given = getenv("GUARD_PAGER");
	char *command = NULL;

	*ret_git = false;
	if (!given)
		given = getenv("GIT_PAGER");
	if (!given)
		command = find_git_pager(verb);
	*ret_git = command != NULL;
	if (!given && !command)
		given = getenv("PAGER");
	if (!given)
		given = "command -v less >/dev/null && exec less; exec cat";
	return command ?: mem_strdup(given);
}

void output_pager_start(const char *verb)
{
	auto_free char *command = NULL;
	bool of_git;
	int ends[2];

	if (!isatty(STDOUT_FILENO) || pager > 0)
		return;
	command = find_pager(verb, &of_git);
	if (!*command || strcmp(command, "cat") == 0)
		return;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	(void)fflush(stdout);
	(void)output_has_color(); /* while stdout is the terminal */
	pager_width = output_width();
	pager = fork();
	if (pager == 0) {
		(void)dup2(ends[0], STDIN_FILENO);
		(void)signal(SIGPIPE, SIG_DFL);
		/* Such pagers read git's settings themselves. */
		if (of_git && !user_git_leave("/"))
			_exit(127);
		(void)setenv("LESS", "FRX", 0);
		(void)setenv("LV", "-c", 0);
		(void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	(void)close(ends[0]);
	if (pager > 0) {
		/* The user may leave the pager early: that ends nothing but
		 * the output, and the terminal is handed back in order. */
		(void)signal(SIGPIPE, SIG_IGN);
		(void)dup2(ends[1], STDOUT_FILENO);
	}
	(void)close(ends[1]);
}

void output_pager_end(void)
{
	int status = 0;

	if (pager <= 0)
		return;
	/* Ctrl-C is the pager's while it shows something. */
	(void)signal(SIGINT, SIG_IGN);
	(void)fflush(stdout);
	clearerr(stdout); /* a pager may be left early */
	(void)close(STDOUT_FILENO);
	status = child_wait(pager);
	pager = 0;
	(void)signal(SIGINT, SIG_DFL);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		output_warn("the pager could not be started: set GUARD_PAGER, "
			    "or use --no-pager");
}

size_t output_width(void)
{
	struct winsize size = {0};

	if (pager > 0)
		return pager_width;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

bool output_has_failed(void)
{
	if (ferror(stdout) && !write_error)
		write_error = errno;
	return ferror(stdout);
}

bool output_finish(void)
{
	static bool told;
	struct pollfd reader = {.fd = STDOUT_FILENO};

	(void)output_stderr();
	if (!output_has_failed())
		return true;
	/* Left by its reader: that is how pagers and `head` end. */
	if (write_error == EPIPE || pager > 0 ||
	    (poll(&reader, 1, 0) > 0 && reader.revents & POLLERR))
		return true;
	if (!told)
		(void)fprintf(stderr, "guard: write to stdout: %s\n",
			      strerror(write_error));
	told = true;
	return false;
}

bool output_can_ask(void)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

__attribute__((format(printf, 1, 0))) static int ask_yes_no(const char *format,
							    va_list ap)
{
	auto_free char *text = mem_vprintf(format, ap);
	auto_free char *question = mem_printf("%s [y/N] ", text);
	auto_free char *line = output_ask_line(question);

	if (!line)
		return output_can_ask() ? 0 : -1;
	return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}

int output_ask(const char *format, ...)
{
	va_list ap;
	int answer;

	va_start(ap, format);
	answer = ask_yes_no(format, ap);
	va_end(ap);
	return answer;
}

bool output_confirm(bool yes, const char *format, ...)
{
	va_list ap;
	int answer;

	if (yes)
		return true;
	va_start(ap, format);
	answer = ask_yes_no(format, ap);
	va_end(ap);
	if (answer < 0)
		output_print("nothing changed: no terminal to ask on; use -y");
	else if (!answer)
		output_print("nothing changed");
	return answer > 0;
}

/* The question that waits for an answer. */
static const char *open_question;

/* After Ctrl-Z and fg. */
static void repeat_question(int sig)
{
	(void)sig;
	(void)!write(STDERR_FILENO, open_question, strlen(open_question));
}

char *output_ask_line(const char *question)
{
	auto_free char *line = NULL;
	size_t capacity = 0;
	ssize_t len;

	if (!output_can_ask())
		return NULL;
	open_question = question;
	(void)signal(SIGCONT, repeat_question);
	(void)fputs(question, output_stderr());
	(void)fflush(stderr);
	len = getline(&line, &capacity, stdin);
	(void)signal(SIGCONT, SIG_DFL);
	if (len < 0) {
		(void)fputc('\n', stderr);
		return NULL;
	}
	line[strcspn(line, "\n")] = '\0';
	return TAKE(line);
}

void output_list(struct buf *to, char *const *texts)
{
	size_t i;

	for (i = 0; texts && texts[i]; i++) {
		buf_add_text(to, i ? ", " : "");
		text_escape_name(to, texts[i]);
	}
}

void output_path(struct buf *to, const char *path, const char *here)
{
	const char *rest =
		path_below(path, here) ? path_rest(path, here) : path;

	text_escape_name(to, *rest ? rest : ".");
}

void output_truncated(struct buf *to, const char *text)
{
	AUTO(buf) struct buf all = {0};
	size_t len;

	text_escape_name(&all, text);
	len = text_fit(buf_text(&all), CUT_COLUMNS);
	buf_add(to, buf_text(&all), len);
	if (len < all.len)
		buf_add_text(to, "...");
}

static size_t find_line_end(const char *text, size_t columns_left, bool must)
{
	size_t fits = text_fit(text, columns_left), len;

	if (!text[fits] || text[fits] == ' ')
		return fits;
	for (len = fits; len && text[len - 1] != ' '; len--)
		;
	while (len && text[len - 1] == ' ')
		len--;
	return len || !must ? len : strcspn(text, " ");
}

size_t output_wrap(struct buf *to, const char *text, size_t at, size_t indent,
		   size_t width)
{
	bool fresh = at <= indent;

	while (width > indent && at + text_width(text) > width) {
		size_t columns_left = width > at ? width - at : 0;
		size_t len = find_line_end(text, columns_left, fresh);

		buf_add(to, text, len);
		text += len;
		text += strspn(text, " ");
		if (!*text)
			break;
		buf_printf(to, "\n%*s", (int)indent, "");
		at = indent;
		fresh = true;
	}
	buf_add_text(to, text);
	return at + text_width(text);
}
