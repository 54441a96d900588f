/*
 * Cleanup by scope: a local variable frees its value when its block ends.
 *
 *	auto_free char *text = mem_printf(...);
 *	auto_close int fd = open(...);
 *	AUTO(buf) struct buf b = {0};
 *
 * TAKE(), of a pointer or a struct, and TAKE_FD() pass the value on to a new
 * owner and leave nothing to clean up. No function has these macros and goto.
 */
#ifndef GUARD_BASE_AUTO_H
#define GUARD_BASE_AUTO_H

#include <stdlib.h>
#include <unistd.h>
#include <errno.h>

static inline void auto_free_cleanup(void *pointer)
{
	int saved = errno;

	free(*(void **)pointer);
	errno = saved;
}

static inline void auto_close_cleanup(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		(void)close(*fd);
	errno = saved;
}

#define auto_free __attribute__((cleanup(auto_free_cleanup)))
#define auto_close __attribute__((cleanup(auto_close_cleanup)))

/* AUTO(x) calls x_free(&variable) at the end of the block. */
#define AUTO(name) __attribute__((cleanup(name##_free)))

#define TAKE(value)                                                            \
	({                                                                     \
		__typeof__(value) taken_ = (value);                            \
		(value) = (__typeof__(value)){0};                              \
		taken_;                                                        \
	})

#define TAKE_FD(fd)                                                            \
	({                                                                     \
		int taken_ = (fd);                                             \
		(fd) = -1;                                                     \
		taken_;                                                        \
	})

#endif
