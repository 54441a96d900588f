#include "guard/cli/passphrase.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <termios.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/cli/output.h"

/* A terminal's longest line (termios(3)). */
#define SECRET_MAX 4096
#define TRIES 3
#define LENGTH_MIN 8

void passphrase_free(char **secret)
{
	if (*secret)
		explicit_bzero(*secret, strlen(*secret));
	free(TAKE(*secret));
}

/* The first line of len bytes, which are wiped. NULL: it is empty, too long, or
 * no text: a NUL would end the passphrase there. */
static char *take_first_line(char *bytes, size_t len)
{
	char *line = NULL;
	size_t i = 0;

	while (i < len && ((unsigned char)bytes[i] >= ' ' || bytes[i] == '\t'))
		i++;
	if (i > 0 && i < SECRET_MAX &&
	    (i == len || bytes[i] == '\r' || bytes[i] == '\n'))
		line = mem_strndup(bytes, i);
	explicit_bzero(bytes, len);
	return line;
}

static int check_new_passphrase(const char *text, struct err *err)
{
	size_t count = 0;

	/* A byte 10xxxxxx continues a character of UTF-8. */
	for (; *text; text++)
		count += *text != ' ' && *text != '\t' &&
			 ((unsigned char)*text & 0xc0) != 0x80;
	return count >= LENGTH_MIN
		       ? 0
		       : fail(err, EINVAL,
			      "the passphrase is too short: choose one of at "
			      "least %d characters besides blanks",
			      LENGTH_MIN);
}

static int read_file(const char *path, char **ret, struct err *err)
{
	auto_close int fd = open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
	char bytes[SECRET_MAX];
	ssize_t len = fd < 0 ? -1 : fd_read(fd, bytes, sizeof(bytes));

	if (len < 0)
		return fail_errno(err, "--passphrase-file %s",
				  text_quote(path));
	*ret = take_first_line(bytes, (size_t)len);
	return *ret ? 0
		    : fail(err, EINVAL,
			   "--passphrase-file %s: its first line must be the "
			   "passphrase, of at most %d bytes, without control "
			   "characters, which random bytes have: base64 makes "
			   "text of them",
			   text_quote(path), SECRET_MAX - 1);
}

/* Asks once. Returns the bytes that were read; -1: a signal came. The signals
 * are blocked while the terminal does not echo, and act at the end. */
static ssize_t read_without_echo(const char *question, char *to, size_t size)
{
	sigset_t signals, before;
	struct termios modes, silent;
	auto_close int signal_fd = -1;
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {-1, POLLIN, 0}};
	ssize_t len = 0;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigaddset(&signals, SIGQUIT);
	(void)sigaddset(&signals, SIGTSTP);
	(void)sigprocmask(SIG_BLOCK, &signals, &before);
	signal_fd = fds[1].fd = signalfd(-1, &signals, SFD_CLOEXEC);
	if (tcgetattr(STDIN_FILENO, &modes) == 0) {
		silent = modes;
		silent.c_lflag &= ~(tcflag_t)ECHO;
		silent.c_lflag |= ICANON;
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &silent);
		(void)fputs(question, output_stderr());
		(void)fflush(output_stderr());
		len = -1;
		if (poll(fds, ARRAY_SIZE(fds), -1) > 0 && fds[0].revents)
			len = read(STDIN_FILENO, to, size);
		(void)tcsetattr(STDIN_FILENO, TCSANOW, &modes);
		(void)fputc('\n', output_stderr());
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return len;
}

static int ask(const char *question, char **ret, struct err *err)
{
	char bytes[SECRET_MAX];
	ssize_t len;

	if (!output_can_ask())
		return fail(err, ENOTTY,
			    "no terminal to ask for the passphrase: use "
			    "--passphrase-file FILE");
	do
		len = read_without_echo(question, bytes, sizeof(bytes));
	while (len < 0);
	*ret = take_first_line(bytes, (size_t)len);
	return *ret ? 0
		    : fail(err, ECANCELED,
			   "no passphrase was typed, or it has control "
			   "characters");
}

static int read_secret(const char *file, const char *question, char **ret,
		       struct err *err)
{
	return file ? read_file(file, ret, err) : ask(question, ret, err);
}

int passphrase_choose(const char *file, const char *question, char **ret,
		      struct err *err)
{
	AUTO(passphrase) char *first = NULL, *second = NULL;

	if (read_secret(file, question, &first, err) < 0 ||
	    check_new_passphrase(first, err) < 0 ||
	    (!file && ask("guard: the same again: ", &second, err) < 0))
		return -err->num;
	if (second && strcmp(first, second) != 0)
		return fail(err, EINVAL,
			    "the two passphrases differ: nothing was written");
	*ret = TAKE(first);
	return 0;
}

int passphrase_open_key(const char *file, struct destination *d,
			struct err *err)
{
	int got, tries = 0;

	if (!d->keyfile.len)
		return fail(err, ENOENT,
			    "%s has no backup: there is no file " KEYFILE_NAME,
			    text_quote(d->path));
	do {
		AUTO(passphrase) char *secret = NULL;

		if (tries)
			output_warn("%s", err->text);
		got = read_secret(
			file,
			text_printf("guard: passphrase, or words of the "
				    "recovery sheet, for %s: ",
				    text_quote(d->path)),
			&secret, err);
		if (got < 0)
			return got;
		got = keyfile_open(&d->keyfile, secret, false, d->key, err);
	} while ((got == -EACCES || got == -EINVAL) && !file &&
		 ++tries < TRIES);
	return got < 0 ? err_context(err, "%s", text_quote(d->path)) : 0;
}
