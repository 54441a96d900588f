/*
 * Common parts of the fuzz targets. A target is one file:
 * LLVMFuzzerTestOneInput() over one decoder. It is built twice: with driver.c,
 * which replays the corpus and makes mutations by a seed (make check), and with
 * libFuzzer (make fuzz).
 *
 * Every format has checksums, and a mutation that breaks one tests nothing
 * else: the first byte of an input selects the checksums that are corrected
 * ("sealed") before the decoder sees the rest.
 */
#ifndef GUARD_TESTS_FUZZ_H
#define GUARD_TESTS_FUZZ_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/codec.h"
#include "base/fd.h"
#include "base/dirtree.h"
#include "snapshot/store/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* A condition that holds for every input. */
#define must(condition)                                                        \
	do {                                                                   \
		if (!(condition)) {                                            \
			(void)fprintf(stderr, "# %s:%d: not so: %s\n",         \
				      __FILE__, __LINE__, #condition);         \
			abort();                                               \
		}                                                              \
	} while (0)

static char fuzz_dir_name[64];

static __attribute__((unused)) void fuzz_dir_remove(void)
{
	struct err ignored;

	(void)dirtree_remove(AT_FDCWD, fuzz_dir_name, &ignored);
}

/* A directory of the process's own, for decoders that read files; removed at a
 * normal end. */
static __attribute__((unused)) int fuzz_dir(void)
{
	static int fd = -1;
	const char *above = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";

	if (fd >= 0)
		return fd;
	(void)snprintf(fuzz_dir_name, sizeof(fuzz_dir_name),
		       "%s/guard-fuzz-XXXXXX", above);
	must(mkdtemp(fuzz_dir_name));
	(void)atexit(fuzz_dir_remove);
	fd = open(fuzz_dir_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(fd >= 0);
	return fd;
}

static __attribute__((unused)) void fuzz_file(const char *name,
					      const void *data, size_t len)
{
	auto_close int fd =
		openat(fuzz_dir(), name,
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && fd_write(fd, data, len) == 0);
}

/* A copy of the input without its first byte, to be changed and freed. */
static __attribute__((unused)) uint8_t *fuzz_copy(const uint8_t *data,
						  size_t *len)
{
	*len -= 1;
	return mem_dup(data + 1, *len);
}

static __attribute__((unused)) void seal_u64(uint8_t *at, uint64_t v)
{
	int i;

	for (i = 0; i < 8; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

/* The checksum in the last 8 bytes. */
static __attribute__((unused)) void seal_tail(uint8_t *data, size_t len)
{
	if (len >= 8)
		seal_u64(data + len - 8, hash_check(data, len - 8));
}

/* fuzz_copy() for formats whose only checksum is at the end: sealed when the
 * first byte is 1; NULL: the input is empty. */
static __attribute__((unused)) uint8_t *fuzz_sealed(const uint8_t *data,
						    size_t *len)
{
	uint8_t *bytes;

	if (!*len)
		return NULL;
	bytes = fuzz_copy(data, len);
	if (data[0] & 1)
		seal_tail(bytes, *len);
	return bytes;
}

#endif
