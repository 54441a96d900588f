#include "guard/sandbox/internal.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

union control {
	struct cmsghdr header;
	char room[CMSG_SPACE(sizeof(int))];
};

int note_send(int socket, enum note_type type, int value, const char *text,
	      int fd)
{
	struct note note = {.type = (int32_t)type, .value = value};
	size_t len = text ? strnlen(text, sizeof(note.text) - 1) : 0;
	struct iovec part = {&note, offsetof(struct note, text) + len + 1};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (len)
		memcpy(note.text, text, len);
	if (fd >= 0) {
		struct cmsghdr *c = &control.header;

		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(int));
	}
	while (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			return -1;
	return 0;
}

int note_receive(int socket, struct note *ret, int *ret_fd)
{
	struct iovec part = {ret, sizeof(*ret)};
	union control control = {0};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	struct cmsghdr *c;
	ssize_t n;

	if (ret_fd)
		*ret_fd = -1;
	do
		n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		return (int)n;
	if ((size_t)n < offsetof(struct note, text) + 1) {
		errno = EBADMSG;
		return -1;
	}
	ret->text[sizeof(ret->text) - 1] = '\0';
	c = CMSG_FIRSTHDR(&message);
	if (ret_fd && c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fd, CMSG_DATA(c), sizeof(int));
	return 1;
}
