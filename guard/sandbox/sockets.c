#include "guard/sandbox/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/path.h"

/* Private in a run, whatever is in them. */
static const char *const private[] = {"/run",	  "/var/run", "/tmp",
				      "/var/tmp", "/dev",     "/proc"};

/* The columns of /proc/net/unix before the path; the fourth has the flags, in
 * which this bit means listening. */
#define COLUMNS 7
#define FLAGS_COLUMN 3
#define LISTENING 0x10000UL

static bool is_private(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof(private) / sizeof(*private); i++)
		if (path_below(path, private[i]))
			return true;
	return false;
}

/* Datagram sockets listen without the bit: they have no other end. */
static const char *path_in(const char *line)
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

/*
 * A read-only mount keeps nobody from connecting. Those in private folders
 * are not there, those below a layer are other ones there; the rest of what
 * programs of this machine listen on gets a mask each.
 */
void sockets_find(struct setup *s)
{
	AUTO(buf) struct buf b = {0};
	struct err ignored;
	auto_close int fd = open("/proc/self/net/unix", O_RDONLY | O_CLOEXEC);
	char *save = NULL, *line;
	size_t room = 0;

	if (fd < 0 || fd_slurp(fd, 16 << 20, &b, &ignored) < 0)
		return;
	(void)buf_text(&b);
	line = strtok_r((char *)b.data, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		const char *path = path_in(line);

		if (!path || is_private(path))
			continue;
		GROW(s->sockets, s->socket_count, room);
		s->sockets[s->socket_count++] = mem_strdup(path);
	}
}

void sockets_free(struct setup *s)
{
	size_t i;

	for (i = 0; i < s->socket_count; i++)
		free(s->sockets[i]);
	free(s->sockets);
	s->sockets = NULL;
	s->socket_count = 0;
}
