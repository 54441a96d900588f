/*
 * Error values: a number to compare, a text to read.
 *
 * A function that can fail for more than one reason takes `struct err *err` as
 * its last parameter and returns a negative errno. The value lives on the
 * caller's stack and owns no memory. On success it is unchanged, on failure it
 * is always filled. Callers that know the context put it in front:
 *
 *	back up 'src/a.c': write object: No space left on device
 *
 * Libraries never print: only guard/ does.
 */
#ifndef GUARD_BASE_ERR_H
#define GUARD_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>

#define ERR_TEXT_LEN 1536

struct err {
	int num; /* positive errno */
	int line; /* place of the first error */
	const char *file; /* static memory */
	char text[ERR_TEXT_LEN];
};

/* Fills err with the formatted text and returns -num. num must be positive; 0
 * becomes EIO, so that a failure never looks like a success. */
int err_set_at(struct err *err, int num, const char *file, int line,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* As err_set_at(), with ": " and the system's text for num appended. */
int err_sys_at(struct err *err, int num, const char *file, int line,
	       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* cmocka.h has a macro of this name; include cmocka.h first. */
#undef fail
#define fail(err, num, ...)                                                    \
	err_set_at((err), (num), __FILE__, __LINE__, __VA_ARGS__)
#define fail_errno(err, ...)                                                   \
	err_sys_at((err), errno, __FILE__, __LINE__, __VA_ARGS__)
#define fail_num(err, num, ...)                                                \
	err_sys_at((err), (num), __FILE__, __LINE__, __VA_ARGS__)

/*
 * True for an errno of a process or a kernel without descriptors or memory.
 * Such an error says nothing about the file of the call: code that skips
 * unreadable files must fail instead. Of a result, pass the negated value: a
 * descriptor or a count that it may be is no errno then.
 */
bool err_is_exhaustion(int num);

/* Puts "context: " in front of the text; returns -err->num. */
int err_context(struct err *err, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
