/*
 * The protocol of the exec socket. A client sends one packet: a struct
 * exec_header with EXEC_FDS descriptors, the first of a file with the texts,
 * then those for 0, 1, 2 (ignored where the run's terminal replaces them).
 * The texts follow each other, each ended by NUL: the directory ("": that of
 * the run), the arguments, the variables; together at most EXEC_TEXT_MAX bytes.
 * After that both sides exchange struct message.
 */
#ifndef GUARD_SANDBOX_NS_EXEC_SERVER_H
#define GUARD_SANDBOX_NS_EXEC_SERVER_H

#include <stdint.h>

#include "guard/sandbox/ns/message.h"
#include "guard/sandbox/setup.h"
#include "guard/sandbox/inherited_state.h"

#define EXEC_VERSION 2
#define EXEC_FDS FD_MESSAGE_FDS
#define EXEC_TEXT_MAX (8U << 20)

struct exec_header {
	uint32_t version;
	uint32_t arguments, variables; /* how many texts of each */
	uint8_t replace[3], pipeline; /* as in struct setup */
	struct inherited_state inherited_state; /* of the client's process */
};

/* Serves one client on the socket conn, in a child of pid 1. first: pid 1's
 * setup. Errors go to the client as MESSAGE_ERROR. */
void exec_server_main(const struct setup *first, int conn)
	__attribute__((noreturn));

#endif
