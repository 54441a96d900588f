/*
 * Everyday operations of a run that a shell lacks:
 *
 *	watcher watch DIR COMMAND	runs COMMAND by sh and prints the names
 *					that inotify reports during it, one a
 *					line, each once
 *	watcher serve FILE		listens on the loopback, writes the port
 *					to FILE, and answers one client "served"
 *	watcher fetch PORT		prints the answer of such a server
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define NAMES_MAX 64

static char seen[NAMES_MAX][256];
static size_t seen_count;

static void tell(const char *name)
{
	size_t i;

	for (i = 0; i < seen_count; i++)
		if (strcmp(seen[i], name) == 0)
			return;
	if (seen_count == NAMES_MAX)
		return;
	(void)snprintf(seen[seen_count++], sizeof(seen[0]), "%s", name);
	puts(name);
}

static void drain(int fd)
{
	char data[65536]
		__attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t len = read(fd, data, sizeof(data));
	ssize_t at = 0;

	while (at < len) {
		const struct inotify_event *e = (void *)(data + at);

		if (e->len)
			tell(e->name);
		at += (ssize_t)(sizeof(*e) + e->len);
	}
}

static int watch(const char *folder, const char *command)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	int status;

	if (fd < 0 || inotify_add_watch(fd, folder, IN_ALL_EVENTS) < 0)
		err(1, "inotify %s", folder);
	status = system(command);
	/* The events of the command are queued already. */
	drain(fd);
	return status != 0;
}

static int serve(const char *file)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), client;
	char temporary[256];
	FILE *to;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (void *)&address, len) < 0 ||
	    listen(fd, 1) < 0 || getsockname(fd, (void *)&address, &len) < 0)
		err(1, "listen");
	(void)snprintf(temporary, sizeof(temporary), "%s.tmp", file);
	to = fopen(temporary, "we");
	if (!to || fprintf(to, "%u\n", ntohs(address.sin_port)) < 0 ||
	    fclose(to) != 0 || rename(temporary, file) < 0)
		err(1, "%s", file);
	client = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
	if (client < 0 || write(client, "served\n", 7) != 7)
		err(1, "answer");
	return close(client) < 0;
}

static int fetch(const char *port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[64];
	ssize_t len;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (void *)&address, sizeof(address)) < 0)
		err(1, "connect");
	len = read(fd, text, sizeof(text));
	if (len < 0)
		err(1, "read");
	return fwrite(text, 1, (size_t)len, stdout) != (size_t)len;
}

int main(int argc, char **argv)
{
	if (argc == 4 && strcmp(argv[1], "watch") == 0)
		return watch(argv[2], argv[3]);
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		return serve(argv[2]);
	if (argc == 3 && strcmp(argv[1], "fetch") == 0)
		return fetch(argv[2]);
	errx(2, "watch FOLDER COMMAND | serve FILE | fetch PORT");
}
