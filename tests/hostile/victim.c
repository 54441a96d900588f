/*
 * Another process of the same user, outside of the run: it has a secret in its
 * environment and memory, and sockets, shared memory, queues, keys.
 *
 *	victim LOG	prints on stdout, in lines NAME VALUE, its resources,
 *			then "ready"; ends with its parent
 *
 *	victim --keys CMD ARGS	CMD with a secret in its keyrings
 *
 * Every connection, message or signal leaves a line in LOG and gets the secret.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define SECRET "SECRET-of-the-victim"
#define SOCKETS 16

static int log_fd;
static struct pollfd fds[SOCKETS];
static const char *names[SOCKETS];
static nfds_t count;

static void note(const char *what)
{
	(void)!write(log_fd, what, strlen(what));
	(void)!write(log_fd, "\n", 1);
}

static void add(int fd, const char *name)
{
	if (fd < 0) {
		perror(name);
		exit(1);
	}
	names[count] = name;
	fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* name with a leading '@': abstract */
static int listen_unix(const char *name)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				    strlen(name));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(a.sun_path, name, strlen(name));
	if (*name == '@')
		a.sun_path[0] = '\0';
	else
		(void)unlink(name);
	if (bind(fd, (struct sockaddr *)&a, len) < 0 || listen(fd, 9) < 0)
		return -1;
	return fd;
}

static int listen_tcp(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 9) < 0)
		return -1;
	return fd;
}

static int bind_udp(int port)
{
	struct sockaddr_in a = {.sin_family = AF_INET,
				.sin_port = htons((uint16_t)port),
				.sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	return bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ? -1 : fd;
}

static void make_dir(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		perror(path);
}

/* Sockets like those of a desktop, a terminal, a build machine. */
static void open_sockets(void)
{
	static char run[64], tmux[64], home[300];
	const char *dir = getenv("HOSTILE_RUNTIME");

	(void)snprintf(run, sizeof(run), "%s/bus", dir);
	add(listen_unix(run), "session bus");
	(void)snprintf(tmux, sizeof(tmux), "/tmp/tmux-%u", getuid());
	make_dir(tmux);
	(void)snprintf(tmux, sizeof(tmux), "/tmp/tmux-%u/default", getuid());
	add(listen_unix(tmux), "tmux");
	(void)snprintf(home, sizeof(home), "%s/.agent/socket", getenv("HOME"));
	add(listen_unix(home), "socket below the home folder");
	(void)snprintf(home, sizeof(home), "%s/project/host.sock",
		       getenv("HOME"));
	add(listen_unix(home), "socket in the project");
	(void)snprintf(home, sizeof(home), "%s/.agent/pipe", getenv("HOME"));
	(void)mkfifo(home, 0600);
	add(open(home, O_RDWR | O_NONBLOCK | O_CLOEXEC), "pipe");
	add(listen_unix("/srv/service/socket"), "socket below /srv");
	add(listen_unix("@guard-hostile"), "abstract socket");
	add(listen_tcp(4711), "tcp");
	add(bind_udp(4712), "udp");
}

static void make_ipc(void)
{
	struct mq_attr attr = {.mq_maxmsg = 4, .mq_msgsize = 64};
	int id = shmget(0x6775, 4096, IPC_CREAT | 0600), fd;
	char *mem = id < 0 ? NULL : shmat(id, NULL, 0);
	mqd_t queue =
		mq_open("/victim", O_RDWR | O_CREAT | O_NONBLOCK, 0600, &attr);

	if (mem && mem != (char *)-1)
		strcpy(mem, SECRET);
	if (queue != (mqd_t)-1)
		(void)mq_send(queue, SECRET, sizeof(SECRET), 0);
	id = msgget(0x6776, IPC_CREAT | 0600);
	if (id >= 0) {
		struct {
			long type;
			char text[32];
		} m = {1, SECRET};

		(void)msgsnd(id, &m, sizeof(m.text), IPC_NOWAIT);
	}
	fd = open("/dev/shm/victim", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		(void)!write(fd, SECRET, sizeof(SECRET));
}

static void say_memory(void)
{
	static char in_memory[32];
	int fd = memfd_create("victim", MFD_CLOEXEC);

	strcpy(in_memory, SECRET);
	(void)!write(fd, SECRET, sizeof(SECRET));
	(void)printf("VICTIM_PID %d\nVICTIM_ADDRESS %p\nVICTIM_FD %d\n",
		     getpid(), (void *)in_memory, fd);
}

static void serve(nfds_t i)
{
	char bytes[64];
	int fd;

	note(names[i]);
	if (strcmp(names[i], "udp") == 0 || strcmp(names[i], "pipe") == 0) {
		(void)!read(fds[i].fd, bytes, sizeof(bytes));
		return;
	}
	fd = accept(fds[i].fd, NULL, NULL);
	if (fd < 0)
		return;
	(void)send(fd, SECRET "\n", sizeof(SECRET), MSG_NOSIGNAL);
	(void)close(fd);
}

/* CMD in a session whose keyrings hold the secret. */
static int with_keys(char **argv)
{
	long id;

	(void)syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);
	(void)syscall(SYS_add_key, "user", "guard-hostile", SECRET,
		      sizeof(SECRET), KEY_SPEC_SESSION_KEYRING);
	id = syscall(SYS_add_key, "user", "guard-hostile", SECRET,
		     sizeof(SECRET), KEY_SPEC_USER_KEYRING);
	(void)syscall(SYS_keyctl, KEYCTL_SETPERM, id, 0x3f3f3f3f);
	(void)execvp(argv[0], argv);
	return 99;
}

int main(int argc, char **argv)
{
	sigset_t set;
	nfds_t i;

	if (argc > 2 && strcmp(argv[1], "--keys") == 0)
		return with_keys(argv + 2);
	if (argc != 2 || access("/.guard-test-root", F_OK) < 0)
		return 99;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	log_fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	(void)signal(SIGUSR1, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	add(signalfd(-1, &set, SFD_CLOEXEC), "signal");
	open_sockets();
	make_ipc();
	say_memory();
	(void)printf("ready\n");
	(void)fclose(stdout);
	while (poll(fds, count, -1) >= 0)
		for (i = 0; i < count; i++) {
			struct signalfd_siginfo info;

			if (!fds[i].revents)
				continue;
			if (i > 0) {
				serve(i);
			} else if (read(fds[0].fd, &info, sizeof(info)) > 0) {
				note("signal");
			}
		}
	return 1;
}
