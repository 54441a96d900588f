/*
 * Opens files until that fails, then prints their number and ends with 1.
 *
 *	eater [closed | on | instances | watches | ports]
 *
 * closed: closes all of them before the end. on: continues, and ends with 0
 * at the end of its input. instances, watches: takes those of inotify instead;
 * watches are of new directories below /tmp. ports: takes UDP ports and waits.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static int eat_instances(void)
{
	int count = 0;

	while (inotify_init1(IN_CLOEXEC) >= 0)
		count++;
	return count;
}

static int eat_watches(void)
{
	int fd = inotify_init1(IN_CLOEXEC), count = 0;
	char path[32];

	do
		(void)snprintf(path, sizeof(path), "/tmp/watch-%d", count++);
	while (mkdir(path, 0700) == 0 &&
	       inotify_add_watch(fd, path, IN_DELETE_SELF) >= 0);
	return count - 1;
}

static int eat_ports(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET};
	int count = 0;

	while (bind(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0),
		    (struct sockaddr *)&any, sizeof(any)) == 0)
		count++;
	return count;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	char byte;
	int count = 0;

	if (strcmp(how, "instances") == 0 || strcmp(how, "watches") == 0)
		return printf("%d\n", *how == 'i' ? eat_instances()
						  : eat_watches()) > 0;
	if (strcmp(how, "ports") == 0) {
		(void)printf("%d\n", eat_ports());
		(void)fflush(stdout);
		return pause();
	}
	while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0)
		count++;
	(void)printf("%d files\n", count);
	(void)fflush(stdout);
	if (strcmp(how, "closed") == 0)
		(void)close_range(3, ~0U, 0);
	if (strcmp(how, "on") != 0)
		return 1;
	return read(0, &byte, 1) != 0;
}
