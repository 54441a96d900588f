/*
 * Bytes and descriptors in one message of a SOCK_SEQPACKET socket.
 */
#ifndef GUARD_SANDBOX_NS_FD_MESSAGE_H
#define GUARD_SANDBOX_NS_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#define FD_MESSAGE_FDS 4 /* at most */

/* -1 and errno. */
int fd_message_send(int socket, const void *data, size_t len, const int *fds,
		    size_t count);
/*
 * The bytes that came, at most len; 0: nobody will send any more; -1 and errno.
 * fds: room for FD_MESSAGE_FDS; those that came, close-on-exec and the
 * caller's, then -1.
 */
ssize_t fd_message_receive(int socket, void *data, size_t len, int *fds);

#endif
