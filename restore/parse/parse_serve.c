#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/auto.h"
#include "restore/parse/parse.h"
#include "restore/parse/parse_wire.h"

/* The data of one request. */
struct request {
	struct parse_head head;
	unsigned char *room;
	void *map; /* of a memfd; NULL: the data is in room */
	size_t map_len;
	struct parse_text in[PARSE_INPUTS_MAX];
};

/* guard is trusted here: only what would misplace the inputs is checked. */
static int read_request(int fd, struct request *r)
{
	auto_close int memfd = -1;
	ssize_t len = parse_wire_receive(fd, &r->head, r->room, &memfd);
	const unsigned char *at = r->room;
	uint64_t total = 0;
	size_t i;

	if (len < 0)
		return -1;
	if (r->head.op >= PARSE_OPS || r->head.count > PARSE_INPUTS_MAX)
		return -1;
	for (i = 0; i < r->head.count; i++)
		total += r->head.len[i] == PARSE_MISSING ? 0 : r->head.len[i];
	if (memfd < 0 ? total != (uint64_t)len
		      : !parse_wire_is_sealed(memfd, total))
		return -1;
	r->map = NULL;
	if (memfd >= 0) {
		r->map_len = total;
		r->map = mmap(NULL, total, PROT_READ, MAP_PRIVATE, memfd, 0);
		if (r->map == MAP_FAILED)
			return -1;
		at = r->map;
	}
	memset(r->in, 0, sizeof(r->in));
	for (i = 0; i < r->head.count; i++) {
		if (r->head.len[i] == PARSE_MISSING)
			continue;
		r->in[i] = (struct parse_text){at, r->head.len[i]};
		at += r->head.len[i];
	}
	return 0;
}

int parse_serve(int fd, const struct parse_row *rows)
{
	auto_free unsigned char *room = mem_alloc(PARSE_INLINE_MAX);
	struct request r = {.room = room};
	AUTO(buf) struct buf answer = {0};
	int got = 0;

	while (got == 0 && read_request(fd, &r) == 0) {
		const struct parse_row *row = &rows[r.head.op];
		struct parse_text out;
		struct err err;

		buf_clear(&answer);
		got = row->inputs == r.head.count
			      ? row->run(r.in, &answer, &err)
			      : fail(&err, EPROTO, "wrong number of inputs");
		r.head.status = got < 0 ? err.num : 0;
		out = got < 0 ? (struct parse_text){err.text, strlen(err.text)}
			      : (struct parse_text){answer.data, answer.len};
		r.head.len[0] = out.len;
		got = parse_wire_send(fd, &r.head, &out, 1);
		if (r.map)
			(void)munmap(r.map, r.map_len);
	}
	/* guard has closed the socket, or sent what no guard sends. */
	return got < 0;
}
