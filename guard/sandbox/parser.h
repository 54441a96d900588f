/*
 * The process of the parsing worker (restore/parse/parse.h): how guard starts
 * it, and how the worker gives up everything but memory and its socket.
 *
 * parser_start() executes the program of this process again, with no variable
 * but LD_LIBRARY_PATH, with /dev/null and one socket. That program, in its
 * constructor, finds PARSER_NAME as its name, loads its libraries and calls
 * parser_lock_down() before it reads the first request.
 *
 * Where the kernel allows it the worker has namespaces of its own: pid and, for
 * a plain user, user from the start; mount with an empty root, network and IPC
 * later. A plain user in a container, or root there, may have none of them:
 * then no_new_privs, the list of system calls and Landlock hold alone. With the
 * list, which has no call that opens, connects, executes or signals, the others
 * are a second line.
 */
#ifndef GUARD_SANDBOX_PARSER_H
#define GUARD_SANDBOX_PARSER_H

#include <sys/types.h>

#include "base/err.h"

/* argv[0] of a worker. */
#define PARSER_NAME "guard-parse"
/* The worker's end of the socket. */
#define PARSER_SOCKET 3
/* Address space of the worker; its libraries take some 100 MB of it. */
#define PARSER_MEMORY (1u << 30)

/* Starts a worker; word is its argv[1]. Returns 0; *ret_pid is a child of this
 * process, *ret_fd the other end of its socket. */
int parser_start(const char *word, pid_t *ret_pid, int *ret_fd,
		 struct err *err);

/* The program of this process (O_PATH), or -1 with errno. */
int parser_open_program(void);

/* In the worker: does all of the above, without a way back. */
int parser_lock_down(struct err *err);

#endif
