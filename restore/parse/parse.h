/*
 * Bytes that a run wrote are parsed in a process of its own, the parsing
 * worker: a defect of a parser that such bytes exploit gives access to nothing
 * but the bytes of this command's requests.
 *
 * guard's side, parse.c: parse_call() sends an operation and its inputs and
 * returns the answer's bytes. The answer is untrusted, too: the caller decodes
 * it with base/codec.h, and checks each number before it is used. There is no
 * fallback into guard: a worker that dies, is silent or breaks the protocol
 * makes the call fail with -EPROTO and a reason such as "worker: signal 11".
 * The next call starts another worker.
 *
 * The worker's side, parse_serve.c: receives requests, runs the function of a
 * table and sends what the function appends.
 *
 * A new operation is an id here, a row in guard/parse/parse_table.c and one
 * function there that turns inputs into an answer.
 */
#ifndef GUARD_RESTORE_PARSE_PARSE_H
#define GUARD_RESTORE_PARSE_PARSE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "restore/parse/parse_text.h"

enum parse_op {
	/* With libgit2; a worker that has not loaded it is replaced. */
	PARSE_DIFF, /* old, now, context -> hunks (textdiff.c) */
	PARSE_MERGE, /* base, ours, theirs, labels -> text (textmerge.c) */
	PARSE_BINARY, /* old, now -> body of a binary patch (gitpatch.c) */
	PARSE_SIMILAR, /* old, now -> percent (similar.c) */
	PARSE_SIGN, /* text, number -> whether it has a signature */
	PARSE_COMPARE, /* pairs of numbers -> percents */
	PARSE_GIT_LAST = PARSE_COMPARE,
	/* Without. */
	PARSE_MEMBERS, /* patterns, before, now -> members (settings.c) */
	PARSE_MEMBER_TEXTS, /* patterns, file -> texts (settings.c) */
	PARSE_MEMBERS_UNDO, /* patterns, before, after, now -> text (settings.c)
			     */
	PARSE_MEMBERS_MERGE, /* name, real file, copy -> text (settings.c) */
	PARSE_MEMBERS_ADD, /* file, wanted, project, name -> text (settings.c)
			    */
	PARSE_MEMBER_IS, /* file, key, value -> whether (settings.c) */
	PARSE_JSON_LINES, /* text -> values (risk_lines.c) */
	PARSE_OPS
};

/* Bytes of an answer; a longer one is refused. */
#define PARSE_ANSWER_MAX (1u << 30)

/* The bytes as an input; NULL: it does not exist. */
struct parse_text parse_text_of(const struct buf *text);

/*
 * Runs an operation in the worker. The answer, for buf_free(), is not checked.
 *
 * -EPROTO: the worker ended, was silent or broke the protocol. Another errno is
 * the operation's own (-ENOPKG: libgit2 is missing); its text comes from the
 * worker and is escaped.
 */
int parse_call(enum parse_op op, const struct parse_text *inputs, size_t count,
	       struct buf *ret, struct err *err);

/* For an answer that the caller's check refuses: ends the worker, which is not
 * trusted any longer. Returns -EPROTO. */
int parse_refuse(struct err *err);

/* Starts the worker if none is running, so that it loads its libraries while
 * the caller does other work. A failure is reported by the first call. */
void parse_prepare(bool git);

/* Milliseconds of processor time that all workers have used. A system call. */
int64_t parse_time(void);

/* Ends the worker, if one is running. */
void parse_end(void);

struct parse_launcher {
	/* Starts a worker, with libgit2 or without. *ret_fd: guard's end of a
	 * SOCK_SEQPACKET socket, *ret_pid: a child of this process. */
	int (*start)(bool git, pid_t *ret_pid, int *ret_fd, struct err *err);
	/* Limits of a request, in seconds. processor: of the worker's processor
	 * time; silence: without an answer and without any processor time. */
	unsigned int processor, silence;
};

/* Sets how workers are started, once for the process. Without a launcher
 * parse_call() fails with -ENOTSUP. */
void parse_use(const struct parse_launcher *launcher);

/* A function of the worker: appends the answer to *ret. Returns 0, or a
 * negative errno with the text in *err. Missing inputs have data NULL. */
typedef int parse_function(const struct parse_text *in, struct buf *ret,
			   struct err *err);

struct parse_row {
	parse_function *run;
	size_t inputs; /* how many */
};

/* Answers the requests on fd until guard closes the socket. rows: PARSE_OPS of
 * them. Returns the exit status. */
int parse_serve(int fd, const struct parse_row *rows);

#endif
