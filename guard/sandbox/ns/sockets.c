#include "guard/sandbox/ns/ns.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

/* Sockets of well-known services, reported when the run cannot reach them.
 * Patterns of fnmatch(3), in which '*' also matches slashes. */
static const char *const unreachable_sockets[] = {
	"*/docker.sock",
	"*/docker-cli*.sock",
	"*/podman*.sock",
	"*/containerd.sock",
	"/run/user/*/bus",
	"/run/dbus/*",
	"*/gnupg/S.*",
	"*/keyring/*",
	"*/wayland-*",
	"*/.X11-unix/X*",
	"*/pulse/native",
	"*/pipewire-0",
	"*/.s.PGSQL.*",
	"*mysql*.sock",
	"*mariadb*.sock",
	"*redis*.sock",
	"*memcached*.sock",
	"*mongodb-*.sock",
	"*/daemon-socket/*",
	"*/snapd*.socket",
	"*ssh-agent*",
	"*/libvirt-sock",
	NULL,
};

/* Columns of /proc/net/unix before the path. The fourth has the flags; this bit
 * means that the socket listens. */
#define COLUMNS 7
#define FLAGS_COLUMN 3
#define LISTENING 0x10000UL

/* Datagram sockets have no listening state and receive without the bit. */
static const char *listening_path(const char *line)
{
	unsigned long flags = 0, type = 0;
	int column;

	for (column = 0; column < COLUMNS; column++) {
		if (column == FLAGS_COLUMN)
			flags = strtoul(line, NULL, 16);
		if (column == FLAGS_COLUMN + 1)
			type = strtoul(line, NULL, 16);
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	if (*line != '/' || (type != 2 && !(flags & LISTENING)))
		return NULL;
	return line;
}

static bool is_known_service(const char *path)
{
	const char *const *pattern = unreachable_sockets;

	while (*pattern && fnmatch(*pattern, path, 0) != 0)
		pattern++;
	return *pattern && access(path, W_OK) == 0;
}

/* A read-only mount does not prevent connect(2). Sockets in private directories
 * do not exist in the run, and a layer shows another file; every other
 * listener's socket gets a mask. */
void sockets_find(struct setup *s)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	auto_close int fd = open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC);
	char *save = NULL, *line;

	if (fd < 0 || fd_slurp(fd, 16 << 20, &b, &ignored) < 0)
		return;
	(void)buf_text(&b);
	line = strtok_r((char *)b.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		const char *path = listening_path(line);

		if (!path)
			continue;
		if (is_known_service(path))
			mem_list_add(&s->unreachable_sockets, path);
		if (!mounts_private_dir(path))
			names_add(&s->sockets, path);
	}
}

void sockets_free(struct setup *s)
{
	names_free(&s->sockets);
	mem_list_free(&s->unreachable_sockets);
}
