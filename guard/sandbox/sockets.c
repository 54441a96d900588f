#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/dirtree.h"
#include "base/mem.h"
#include "base/path.h"
#include "guard/sandbox/grant.h"
#include "guard/sandbox/namespaces.h"
#include "guard/sandbox/procfs.h"

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
	if (!*line || *line == '@' || (type != 2 && !(flags & LISTENING)))
		return NULL;
	return line;
}

#define SEARCHED_LEVELS 4
#define SEARCHED_DIRS_MAX 1000

struct socket_search {
	struct setup *s;
	const struct names *wanted;
};

static bool add_wanted_socket(void *arg, const char *path,
			      const struct dirlist_item *item)
{
	struct socket_search *search = arg;

	if (item->type == DT_SOCK &&
	    mem_list_has(search->wanted->items, item->name))
		names_add(&search->s->sockets, path);
	return true;
}

/* The kernel knows a socket by the name that its program gave, which may begin
 * in a directory that no other process knows. */
static void find_relative_sockets(struct setup *s, struct names *relative)
{
	const struct grants *grants = s->policy->grants;
	struct socket_search search = {s, relative};
	size_t i;

	if (!relative->count)
		return;
	*VEC_ADD(relative) = NULL;
	for (i = 0; grants && i < grants->count; i++)
		if (S_ISDIR(grants->items[i].mode))
			dirtree_levels(grants->items[i].real, SEARCHED_LEVELS,
				       SEARCHED_DIRS_MAX, NULL,
				       add_wanted_socket, &search);
}

/* A read-only mount does not prevent connect(2). Sockets in private directories
 * exist in the run only below a grant, and a layer shows another file; every
 * other listener's socket gets a mask. */
void sockets_find(struct setup *s)
{
	AUTO(names) struct names relative = {0}, lines = {0};
	size_t i;

	procfs_lines("/proc/self/net/unix", &lines);
	for (i = 0; i < lines.count; i++) {
		const char *path = listening_path(lines.items[i]);
		const char *const *pattern = unreachable_sockets;

		if (!path)
			continue;
		if (*path != '/') {
			names_add(&relative, path_name(path));
			continue;
		}
		while (*pattern && fnmatch(*pattern, path, 0) != 0)
			pattern++;
		if (*pattern && access(path, W_OK) == 0)
			mem_list_add(&s->unreachable_sockets, path);
		names_add(&s->sockets, path);
	}
	find_relative_sockets(s, &relative);
}

void sockets_free(struct setup *s)
{
	names_free(&s->sockets);
	mem_list_free(&s->unreachable_sockets);
}
