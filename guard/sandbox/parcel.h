/*
 * Bytes and descriptors in one message of a SOCK_SEQPACKET socket.
 */
#ifndef GUARD_SANDBOX_PARCEL_H
#define GUARD_SANDBOX_PARCEL_H

#include <stddef.h>
#include <sys/types.h>

#define PARCEL_FDS 4 /* at most */

/* -1 and errno. */
int parcel_send(int socket, const void *data, size_t len, const int *fds,
		size_t count);
/*
 * The bytes that came, at most len; 0: nobody will send any more; -1 and errno.
 * fds: room for PARCEL_FDS; those that came, close-on-exec and the caller's,
 * then -1.
 */
ssize_t parcel_receive(int socket, void *data, size_t len, int *fds);

#endif
