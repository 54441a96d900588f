#include "guard/sandbox/message.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FD_MESSAGE_FDS * sizeof(int))];
};

int fd_message_send(int socket, const void *data, size_t len, const int *fds,
		    size_t count)
{
	struct iovec part = {(void *)(uintptr_t)data, len};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (count) {
		struct cmsghdr *c = &control.header;

		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(count * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(count * sizeof(int));
		memcpy(CMSG_DATA(c), fds, count * sizeof(int));
	}
	while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

ssize_t fd_message_receive(int socket, void *data, size_t len, int *fds)
{
	struct iovec part = {data, len};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	size_t i;
	ssize_t n;

	for (i = 0; i < FD_MESSAGE_FDS; i++)
		fds[i] = -1;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n >= 0 ? CMSG_FIRSTHDR(&message) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return n;
}

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
