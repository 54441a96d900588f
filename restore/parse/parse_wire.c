#include "restore/parse/parse_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

union control {
	char bytes[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

static int make_memfd(const struct parse_text *parts, size_t count)
{
	auto_close int fd =
		memfd_create("guard-parse", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	size_t i;

	if (fd < 0)
		return -1;
	for (i = 0; i < count; i++)
		if (parts[i].len &&
		    fd_write(fd, parts[i].data, parts[i].len) < 0)
			return -1;
	return fcntl(fd, F_ADD_SEALS, SEALS) < 0 ? -1 : TAKE_FD(fd);
}

bool parse_wire_is_sealed(int fd, uint64_t len)
{
	int seals = fcntl(fd, F_GET_SEALS);

	/* glibc's fstat(3) makes a call that takes a path, too. */
	return seals >= 0 && (seals & SEALS) == SEALS &&
	       lseek(fd, 0, SEEK_END) == (off_t)len;
}

int parse_wire_send(int fd, const struct parse_head *head,
		    const struct parse_text *parts, size_t count)
{
	struct iovec at[1 + PARSE_INPUTS_MAX] = {
		{.iov_base = (void *)(uintptr_t)head, .iov_len = sizeof(*head)},
	};
	struct msghdr packet = {.msg_iov = at, .msg_iovlen = 1};
	union control control = {.bytes = {0}};
	auto_close int memfd = -1;
	struct cmsghdr *c;
	size_t total = 0, i;
	ssize_t sent;

	for (i = 0; i < count; i++)
		total += parts[i].len;
	if (total > PARSE_INLINE_MAX) {
		memfd = make_memfd(parts, count);
		if (memfd < 0)
			return -1;
		packet.msg_control = control.bytes;
		packet.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&packet);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &memfd, sizeof(int));
	} else {
		for (i = 0; i < count; i++)
			at[packet.msg_iovlen++] = (struct iovec){
				(void *)(uintptr_t)parts[i].data, parts[i].len};
	}
	do
		sent = sendmsg(fd, &packet, MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -1 : 0;
}

/* Takes the first descriptor of a packet. */
static int take_descriptor(struct msghdr *packet)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(packet);
	int fd;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
	    c->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof(int));
	return fd;
}

ssize_t parse_wire_receive(int fd, struct parse_head *head,
			   unsigned char room[PARSE_INLINE_MAX], int *ret_fd)
{
	struct iovec at[] = {{head, sizeof(*head)}, {room, PARSE_INLINE_MAX}};
	union control control = {.bytes = {0}};
	struct msghdr packet = {
		.msg_iov = at,
		.msg_iovlen = 2,
		.msg_control = control.bytes,
		/* Space for one descriptor. */
		.msg_controllen = CMSG_LEN(sizeof(int)),
	};
	ssize_t len;

	do
		len = recvmsg(fd, &packet, MSG_CMSG_CLOEXEC);
	while (len < 0 && errno == EINTR);
	*ret_fd = len < 0 ? -1 : take_descriptor(&packet);
	if (len < 0)
		return -1;
	if (len >= (ssize_t)sizeof(*head) &&
	    !(packet.msg_flags & (MSG_TRUNC | MSG_CTRUNC)))
		return len - (ssize_t)sizeof(*head);
	fd_close(ret_fd);
	errno = len ? EPROTO : ENODATA;
	return -1;
}
