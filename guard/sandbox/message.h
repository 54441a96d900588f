/*
 * Messages between guard and pid 1, one a packet of a SOCK_SEQPACKET socket
 * pair. End of file on the socket means that the other process has ended.
 */
#ifndef GUARD_SANDBOX_MESSAGE_H
#define GUARD_SANDBOX_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* Packets of bytes and descriptors on a SOCK_SEQPACKET socket. */

#define FD_MESSAGE_FDS 5 /* largest number in a packet */

/* Sends a packet. Returns 0, or -1 with errno. */
int fd_message_send(int socket, const void *data, size_t len, const int *fds,
		    size_t count);
/* Receives a packet of up to len bytes. Returns its length; 0 at end of file;
 * -1 with errno. fds has FD_MESSAGE_FDS entries: the received descriptors,
 * close-on-exec and owned by the caller, then -1. */
ssize_t fd_message_receive(int socket, void *data, size_t len, int *fds);

/* The numbers travel between guard and pid 1, also of an `exec` client of
 * another build: a changed order needs a new EXEC_VERSION (namespaces.h). */
enum message_type {
	/* pid 1 to guard */
	MESSAGE_ERROR, /* value: errno; text */
	MESSAGE_READY, /* setup is complete; the pty's master, if any */
	MESSAGE_STARTED, /* the command runs */
	MESSAGE_NOT_STARTED, /* value: errno of the exec */
	MESSAGE_STOPPED, /* value: the signal, as SIGTSTP */
	MESSAGE_RESUMED, /* by a SIGCONT that guard did not send */
	MESSAGE_WANTS_INPUT, /* the command reads from its terminal */
	MESSAGE_CONTINUED, /* reply to MESSAGE_CONTINUE */
	MESSAGE_RENAME_REFUSED, /* value, text: see struct sandbox_result */
	MESSAGE_STDIO_OFFSET, /* value: a descriptor; text: its file offset */
	MESSAGE_EXITED, /* value: wait status of the command */
	MESSAGE_EMPTY, /* pid 1 is the last process and unmounts */
	/* guard to pid 1 */
	MESSAGE_MAPPED, /* the maps of the user namespace are written */
	MESSAGE_NETWORK, /* pasta's device exists */
	MESSAGE_RELEASE, /* execute the command */
	MESSAGE_SIGNAL, /* value: the signal, for the command's group */
	MESSAGE_CONTINUE, /* send SIGCONT to the stopped command */
	/* pid 1 to guard */
	MESSAGE_UNASKED, /* text: see sandbox_unasked() */
};

struct message {
	int32_t type, value;
	char text[ERR_TEXT_LEN];
};

/* Sends a message with a descriptor (fd -1: without). text may be NULL.
 * Returns 0, or -1 with errno. */
int message_send(int socket, enum message_type type, int value,
		 const char *text, int fd);

/*
 * Receives a message. Returns 1; 0 at end of file; -1 with errno (EBADMSG: too
 * short). *ret_fd gets the descriptor, which is then the caller's, or -1; with
 * ret_fd NULL a descriptor is closed.
 */
int message_receive(int socket, struct message *ret, int *ret_fd);

#endif
