/*
 * The protocol of the parsing worker. Only parse.c and parse_serve.c include
 * this header.
 *
 * Each side sends packets on a SOCK_SEQPACKET socket: a struct parse_head and,
 * if all data fits, the data; otherwise one descriptor, a sealed memfd with the
 * data. A request's data are its inputs one after the other. An answer with a
 * status has as data the text of an error.
 */
#ifndef GUARD_RESTORE_PARSE_PARSE_WIRE_H
#define GUARD_RESTORE_PARSE_PARSE_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "restore/parse/parse_text.h"

/* Data sent in the packet itself: two copies cost less than a memfd. */
#define PARSE_INLINE_MAX (64u << 10)
#define PARSE_MISSING UINT64_MAX

struct parse_head {
	uint32_t op; /* of a request, repeated in its answer */
	uint32_t number; /* counts requests, repeated in the answer */
	int32_t status; /* of an answer: 0 or a positive errno */
	uint32_t count; /* inputs of a request */
	uint64_t len[PARSE_INPUTS_MAX]; /* of an answer: the first */
};

/* Sends a packet with the data of these parts. Returns 0, or -1 with errno. */
int parse_wire_send(int fd, const struct parse_head *head,
		    const struct parse_text *parts, size_t count);

/*
 * Receives a packet into *head, and its data into the room behind it, or a
 * descriptor into *ret_fd (-1: none). Returns the number of bytes in `room`;
 * -1 with errno: ENODATA: the other side has closed the socket; EPROTO: the
 * packet has another form.
 */
ssize_t parse_wire_receive(int fd, struct parse_head *head,
			   unsigned char room[PARSE_INLINE_MAX], int *ret_fd);

/* Whether the memfd has this length and can change no more. */
bool parse_wire_is_sealed(int fd, uint64_t len);

#endif
