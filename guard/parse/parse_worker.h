/*
 * The parsing worker of this program, see restore/parse/parse.h.
 *
 * A program that links this source becomes the worker when it is executed with
 * PARSER_NAME as argv[0]: a constructor serves the requests and ends the
 * process, so that main() of a program with libguard.a needs no part for it.
 */
#ifndef GUARD_PARSE_PARSE_WORKER_H
#define GUARD_PARSE_PARSE_WORKER_H

/* Makes this process use such workers, and git in its sandbox for an import.
 * Call before the first parse_call(). */
void parse_worker_install(void);

#endif
