/*
 * Attacks on the caller's descriptors 0, 1, 2.
 *
 *	PROGRAM --with KIND CMD ARGS	CMD with a descriptor of that kind; ends
 *					with 0 when the other owner finds it
 *					changed afterwards, for kinds with a
 *					check of their own
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/hostile/attack.h"

#define TEXT "whole\n"
#define TEXT_LEN 6

static struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr = {htonl(INADDR_LOOPBACK)},
	};
}

/* --- the attacks --- */

/* Connects again, in the network that the socket comes from. */
static int connect_anew(void)
{
	struct sockaddr none = {.sa_family = AF_UNSPEC};
	struct sockaddr_in a = loopback(4711);
	char text[32];

	if (connect(0, &none, sizeof(none)) < 0)
		return verdict(-1, "disconnect");
	if (connect(0, (struct sockaddr *)&a, sizeof(a)) < 0)
		return verdict(-1, "connect");
	(void)!write(0, "x", 1);
	return verdict(read(0, text, sizeof(text)), "connected anew");
}

static int send_elsewhere(void)
{
	struct sockaddr_in a = loopback(4712);

	return verdict(sendto(0, "x", 1, 0, (struct sockaddr *)&a, sizeof(a)),
		       "sendto");
}

static int write_memory(void)
{
	int fd = open("/proc/self/fd/0", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return verdict(-1, "open again");
	return verdict(write(fd, "EVIL\n", 5), "written");
}

static int count_up(void)
{
	uint64_t one = 1;

	return verdict(write(0, &one, sizeof(one)), "counted");
}

/* Lines for the next reader: `while read x; do guard run ...; done`. */
static int write_input(void)
{
	int fd = open("/proc/self/fd/0", O_WRONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return verdict(-1, "open again");
	return verdict(write(fd, "EVIL\n", 5), "written");
}

/* Reads the text of another process with the same output. */
static int read_output(void)
{
	int fd = open("/proc/self/fd/1", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	char text[32];

	return fd >= 0 && read(fd, text, sizeof(text)) > 0 ? WORKED : HELD;
}

/* --- the descriptors --- */

static int tcp_pair(void)
{
	struct sockaddr_in a = loopback(0);
	socklen_t len = sizeof(a);
	int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (bind(door, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    listen(door, 1) < 0 ||
	    getsockname(door, (struct sockaddr *)&a, &len) < 0 ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		exit(CANNOT);
	return fd;
}

static int memory_to_read(int *ret_ours)
{
	char link[64];

	*ret_ours = memfd_create("input", MFD_CLOEXEC);
	if (write(*ret_ours, TEXT, TEXT_LEN) != TEXT_LEN)
		exit(CANNOT);
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", *ret_ours);
	return open(link, O_RDONLY | O_CLOEXEC);
}

static int full_pipe(bool output, int *ret_ours)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0 ||
	    write(ends[1], TEXT, TEXT_LEN) != TEXT_LEN)
		exit(CANNOT);
	*ret_ours = ends[0];
	if (output)
		return ends[1];
	/* A reader of all of it must find the end. */
	(void)close(ends[1]);
	return ends[0];
}

/* A part of the input may have been read; the output must be complete. */
static bool is_pipe_whole(int fd, bool output)
{
	char text[32] = "";

	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)!read(fd, text, sizeof(text) - 1);
	return output ? strncmp(text, TEXT, TEXT_LEN) == 0
		      : !strstr(text, "EVIL");
}

static bool is_whole(int fd)
{
	char text[32] = "";

	return pread(fd, text, sizeof(text) - 1, 0) == TEXT_LEN &&
	       strcmp(text, TEXT) == 0;
}

static bool is_zero(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) < 0;
}

static int with(const char *kind, char **argv)
{
	int ours = -1, theirs, status;
	bool events = strcmp(kind, "events") == 0;
	bool output = strcmp(kind, "output") == 0;
	bool pipe = output || strcmp(kind, "pipe") == 0;
	pid_t pid;

	if (strcmp(kind, "tcp") == 0) {
		theirs = tcp_pair();
	} else if (strcmp(kind, "udp") == 0) {
		theirs = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	} else if (strcmp(kind, "memory") == 0) {
		theirs = memory_to_read(&ours);
	} else if (pipe) {
		theirs = full_pipe(output, &ours);
	} else {
		theirs = ours = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
	pid = fork();
	if (pid == 0) {
		(void)dup2(theirs, output ? 1 : 0);
		(void)execvp(argv[0], argv);
		_exit(99);
	}
	if (waitpid(pid, &status, 0) < 0 || !WIFEXITED(status))
		return CANNOT;
	if (ours < 0)
		return WEXITSTATUS(status);
	if (pipe     ? is_pipe_whole(ours, output)
	    : events ? is_zero(ours)
		     : is_whole(ours))
		return tell(HELD, "whole");
	return tell(WORKED, "changed");
}

static const struct attack table[] = {
	{"I01", "connect the socket that is its input anew, without network",
	 "a pipe instead of it", PROOF_HOST, .options = "AS=tcp --net none",
	 .play = connect_anew},
	{"I02", "send from the socket that is its input, without network",
	 "a pipe instead of it", PROOF_HOST, .options = "AS=udp --net none",
	 .play = send_elsewhere},
	{"I03", "write memory of somebody's that is its input",
	 "a copy instead of it", PROOF_CLAIM, .options = "AS=memory",
	 .play = write_memory},
	{"I04", "count up events of somebody's", "refused", PROOF_CLAIM,
	 .options = "AS=events", .play = count_up},
	{"I05", "strict: write into the pipe that is its input",
	 "another pipe instead of it", PROOF_CLAIM,
	 .options = "AS=pipe --strict", .play = write_input},
	{"I06", "strict: read what others wrote to its output",
	 "another pipe instead of it", PROOF_CLAIM,
	 .options = "AS=output --strict", .play = read_output},
	{0},
};

int main(int argc, char **argv)
{
	if (argc > 3 && strcmp(argv[1], "--with") == 0) {
		refuse_outside();
		return with(argv[2], argv + 3);
	}
	return attack_main(table, argc, argv);
}
