/*
 * Reads every file below a directory, in one of several ways:
 *
 *	readers ring | plain | many | ahead DIR
 *
 * ring: two threads, each with a reader of snapshot/store/ring.h; plain: two
 * threads with plain calls; many: sixteen of them; ahead: two, and one before
 * them that only asks the kernel to read ahead. Prints the time at its end as
 * CLOCK_MONOTONIC nanoseconds, minus the time of the walk before the reading.
 */
#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "snapshot/store/ring.h"

#define BUFFER ((size_t)256 << 10)
#define BATCH 16
#define AHEAD 2000 /* files */

struct file {
	char *path;
	size_t size;
};

static struct file *files;
static size_t count, room;
static atomic_size_t next;
static atomic_ullong bytes;

static long long now(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long long)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int add(const char *path, const struct stat *st, int type,
	       struct FTW *unused)
{
	(void)unused;
	if (type != FTW_F || !S_ISREG(st->st_mode))
		return 0;
	if (count == room) {
		room = room ? room * 2 : 1024;
		files = realloc(files, room * sizeof(*files));
	}
	if (!files)
		err(1, "memory");
	files[count++] = (struct file){strdup(path), (size_t)st->st_size};
	return 0;
}

static void read_plain(const struct file *f, char *buffer)
{
	int fd = open(f->path, O_RDONLY | O_NOATIME | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		err(1, "%s", f->path);
	while ((n = read(fd, buffer, BUFFER)) > 0)
		atomic_fetch_add(&bytes, (unsigned long long)n);
	(void)close(fd);
}

static void *plain(void *unused)
{
	char *buffer = malloc(BUFFER);
	size_t i, k;

	(void)unused;
	if (!buffer)
		err(1, "memory");
	while ((i = atomic_fetch_add(&next, BATCH)) < count)
		for (k = i; k < i + BATCH && k < count; k++)
			read_plain(&files[k], buffer);
	free(buffer);
	return NULL;
}

static void *ahead(void *unused)
{
	size_t i;

	for (i = 0; i < count; i++) {
		int fd = open(files[i].path, O_RDONLY | O_NOATIME | O_CLOEXEC);

		while (i > atomic_load(&next) + AHEAD)
			(void)usleep(500);
		if (fd < 0)
			err(1, "%s", files[i].path);
		(void)posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
		(void)close(fd);
	}
	return unused;
}

static bool take(struct reader *r)
{
	struct reader_file file;

	if (!reader_next(r, &file))
		return false;
	if (file.error)
		errx(1, "%s: %s", files[file.cookie].path,
		     strerror(file.error));
	atomic_fetch_add(&bytes, file.len);
	return true;
}

static void *ring(void *unused)
{
	struct reader *r = reader_new(64, false);
	char *buffer = malloc(BUFFER);
	size_t i, k;

	(void)unused;
	if (!buffer)
		err(1, "memory");
	while ((i = atomic_fetch_add(&next, BATCH)) < count)
		for (k = i; k < i + BATCH && k < count; k++) {
			if (files[k].size > READER_LEN_MAX) {
				read_plain(&files[k], buffer);
				continue;
			}
			while (!reader_add(r, AT_FDCWD, files[k].path,
					   files[k].size, false, k))
				(void)take(r);
		}
	while (take(r))
		;
	reader_free(&r);
	free(buffer);
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*work)(void *) = plain;
	long long begin = now(), walked;
	pthread_t threads[17];
	size_t started = 0, wanted = 2, i;

	if (argc != 3)
		errx(2, "usage: readers ring|plain|many|ahead FOLDER");
	if (nftw(argv[2], add, 64, FTW_PHYS) < 0)
		err(1, "%s", argv[2]);
	walked = now() - begin;
	if (strcmp(argv[1], "ring") == 0)
		work = ring;
	if (strcmp(argv[1], "many") == 0)
		wanted = 16;
	if (strcmp(argv[1], "ahead") == 0 &&
	    pthread_create(&threads[started++], NULL, ahead, NULL))
		errx(1, "no thread");
	for (i = 0; i < wanted; i++)
		if (pthread_create(&threads[started++], NULL, work, NULL))
			errx(1, "no thread");
	while (started)
		(void)pthread_join(threads[--started], NULL);
	(void)printf("%lld\n", now() - walked);
	return 0;
}
