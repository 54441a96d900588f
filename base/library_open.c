#include "base/library_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

/* The library's addresses. */
static uintptr_t begin, end;

static _Thread_local char refused[PATH_MAX];
static _Thread_local uint32_t refused_mode;

static int find_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t symbol = (uintptr_t)arg, from, to;
	int i;

	(void)size;
	for (i = 0; i < info->dlpi_phnum; i++) {
		from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
		to = from + info->dlpi_phdr[i].p_memsz;
		/* The segment with the code has the symbol and each call. */
		if (info->dlpi_phdr[i].p_type != PT_LOAD || symbol < from ||
		    symbol >= to)
			continue;
		begin = from;
		end = to;
		return 1;
	}
	return 0;
}

void library_open_check(const void *symbol)
{
	(void)dl_iterate_phdr(find_library, (void *)(uintptr_t)symbol);
}

void library_open_forget(void)
{
	*refused = '\0';
}

const char *library_open_refused(uint32_t *ret_mode)
{
	*ret_mode = refused_mode;
	return *refused ? refused : NULL;
}

static bool may_open(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return true;
	/* Users set core.excludesFile and the like to /dev/null. */
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		return true;
	(void)snprintf(refused, sizeof(refused), "%s", path);
	refused_mode = st.st_mode;
	return false;
}

static int open_checked(uintptr_t caller, const char *path, int flags,
			mode_t mode)
{
	if (caller >= begin && caller < end && !may_open(path)) {
		errno = EINVAL;
		return -1;
	}
	return openat(AT_FDCWD, path, flags, mode);
}

#define DEFINE_OPEN(function, symbol)                                          \
	int function(const char *path, int flags, ...) __asm__(symbol);        \
	int function(const char *path, int flags, ...)                         \
	{                                                                      \
		mode_t mode = 0;                                               \
		va_list list;                                                  \
                                                                               \
		va_start(list, flags);                                         \
		if (flags & (O_CREAT | __O_TMPFILE))                           \
			mode = va_arg(list, mode_t);                           \
		va_end(list);                                                  \
		return open_checked((uintptr_t)__builtin_return_address(0),    \
				    path, flags, mode);                        \
	}

/* A library has one of the two names, by the size of its off_t. */
DEFINE_OPEN(library_open_file, "open")
DEFINE_OPEN(library_open_file64, "open64")
