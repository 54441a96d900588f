/* Packets of bytes and descriptors on a SOCK_SEQPACKET socket. */
#ifndef GUARD_SANDBOX_NS_FD_MESSAGE_H
#define GUARD_SANDBOX_NS_FD_MESSAGE_H

#include <stddef.h>
#include <sys/types.h>

#define FD_MESSAGE_FDS 4 /* largest number in a packet */

/* Sends a packet. Returns 0, or -1 with errno. */
int fd_message_send(int socket, const void *data, size_t len, const int *fds,
		    size_t count);
/* Receives a packet of up to len bytes. Returns its length; 0 at end of file;
 * -1 with errno. fds has FD_MESSAGE_FDS entries: the received descriptors,
 * close-on-exec and owned by the caller, then -1. */
ssize_t fd_message_receive(int socket, void *data, size_t len, int *fds);

#endif
