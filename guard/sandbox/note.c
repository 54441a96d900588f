#include "guard/sandbox/internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

int note_send(int socket, enum note_type type, int value, const char *text,
	      int fd)
{
	struct note note = {.type = (int32_t)type, .value = value};
	size_t len = text ? strnlen(text, sizeof(note.text) - 1) : 0;

	if (len)
		memcpy(note.text, text, len);
	return parcel_send(socket, &note, offsetof(struct note, text) + len + 1,
			   &fd, fd >= 0);
}

int note_receive(int socket, struct note *ret, int *ret_fd)
{
	int fds[PARCEL_FDS];
	size_t i;
	ssize_t n = parcel_receive(socket, ret, sizeof(*ret), fds);

	/* The other side ended with something unread: told once, before what
	 * it said last. */
	if (n < 0 && errno == ECONNRESET)
		n = parcel_receive(socket, ret, sizeof(*ret), fds);
	if (ret_fd)
		*ret_fd = fds[0];
	for (i = ret_fd ? 1 : 0; i < PARCEL_FDS; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]);
	if (n <= 0)
		return (int)n;
	if ((size_t)n < offsetof(struct note, text) + 1) {
		errno = EBADMSG;
		return -1;
	}
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 1;
}
