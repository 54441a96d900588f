#include "guard/sandbox/ns/message.h"

#include "base/fd.h"
#include "guard/sandbox/ns/fd_message.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

int message_send(int socket, enum message_type type, int value,
		 const char *text, int fd)
{
	struct message message = {.type = (int32_t)type, .value = value};
	size_t len = text ? strnlen(text, sizeof(message.text) - 1) : 0;

	if (len)
		memcpy(message.text, text, len);
	return fd_message_send(socket, &message,
			       offsetof(struct message, text) + len + 1, &fd,
			       fd >= 0);
}

int message_receive(int socket, struct message *ret, int *ret_fd)
{
	int fds[FD_MESSAGE_FDS];
	size_t i;
	ssize_t n = fd_message_receive(socket, ret, sizeof(*ret), fds);

	/* ECONNRESET is reported once if the other side ended with unread data;
	 * its last messages are still in the queue. */
	if (n < 0 && errno == ECONNRESET)
		n = fd_message_receive(socket, ret, sizeof(*ret), fds);
	if (ret_fd)
		*ret_fd = fds[0];
	for (i = ret_fd ? 1 : 0; i < FD_MESSAGE_FDS; i++)
		fd_close(&fds[i]);
	if (n <= 0)
		return (int)n;
	if ((size_t)n < offsetof(struct message, text) + 1) {
		errno = EBADMSG;
		return -1;
	}
	ret->text[sizeof(ret->text) - 1] = '\0';
	return 1;
}
