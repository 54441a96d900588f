/*
 * Destroys files in nine ways and prints what stood how long:
 *
 *	destroyer SECONDS FILES HOT SEED WAYS [MAX_SIZE]
 *
 * In the current directory it creates FILES files with random content; HOT of
 * them get another content again and again, after 0.1 to 1.5 s, the others once
 * in a while. WAYS: letters, see ways[].
 *
 *	D MS WAY HASH SIZE PATH		a content that was destroyed after MS
 *	E 0 - HASH SIZE PATH		a content that stands at the end
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char ways[] = "otruacshm"; /* overwrite, O_TRUNC, rename over,
					   unlink, append, truncate(2), shrink,
					   held write, mmap */

struct file {
	char path[64];
	char *bytes;
	size_t size;
	int64_t since, next; /* ns */
	int held; /* descriptor of an unfinished write, or -1 */
};

static uint64_t state;
static size_t max_size = 20000;

static uint64_t number(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

static int64_t now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void die(const char *what, const char *path)
{
	(void)fprintf(stderr, "destroyer: %s %s: %s\n", what, path,
		      strerror(errno));
	exit(1);
}

static void fill(struct file *f, size_t from, size_t size)
{
	size_t i;

	f->bytes = realloc(f->bytes, size + 1);
	for (i = from; i < size; i++)
		f->bytes[i] = (char)number(256);
	f->size = size;
}

static void print(const struct file *f, char kind, int64_t ms, char way)
{
	uint64_t hash = 14695981039346656037u;
	size_t i;

	for (i = 0; i < f->size; i++)
		hash = (hash ^ (unsigned char)f->bytes[i]) * 1099511628211u;
	(void)printf("%c %" PRId64 " %c %016" PRIx64 " %zu %s\n", kind, ms, way,
		     hash, f->size, f->path);
}

static int open_file(const struct file *f, const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd < 0)
		die("open", f->path);
	return fd;
}

static void put(const struct file *f, int fd, size_t from)
{
	if (pwrite(fd, f->bytes + from, f->size - from, (off_t)from) !=
	    (ssize_t)(f->size - from))
		die("write", f->path);
}

static void write_new(const struct file *f, const char *path, int flags)
{
	int fd = open_file(f, path, flags | O_WRONLY | O_CREAT);

	put(f, fd, 0);
	(void)close(fd);
}

static void destroy(struct file *f, char way)
{
	int64_t stood = (now() - f->since) / 1000000;
	size_t size = 20 + number(max_size), old = f->size;
	char temporary[80];
	char *map;
	int fd;

	print(f, 'D', stood, way);
	if (old < 40 && strchr("csm", way))
		way = 't';
	switch (way) {
	case 'o':
		fill(f, 0, size < old ? old : size);
		write_new(f, f->path, 0);
		break;
	case 't':
		fill(f, 0, size);
		write_new(f, f->path, O_TRUNC);
		break;
	case 'r':
		fill(f, 0, size);
		(void)snprintf(temporary, sizeof(temporary), "%s.new", f->path);
		write_new(f, temporary, O_TRUNC);
		if (rename(temporary, f->path) < 0)
			die("rename", f->path);
		break;
	case 'u':
		fill(f, 0, size);
		if (unlink(f->path) < 0)
			die("unlink", f->path);
		write_new(f, f->path, O_EXCL);
		break;
	case 'a':
		fill(f, old, old + 100);
		fd = open_file(f, f->path, O_WRONLY | O_APPEND);
		if (write(fd, f->bytes + old, 100) != 100)
			die("append", f->path);
		(void)close(fd);
		break;
	case 'c':
		f->size = old - 1 - number(old / 2);
		if (truncate(f->path, (off_t)f->size) < 0)
			die("truncate", f->path);
		break;
	case 's':
		f->size = old - 1 - number(old / 2);
		fd = open_file(f, f->path, O_RDWR);
		if (ftruncate(fd, (off_t)f->size) < 0)
			die("ftruncate", f->path);
		(void)close(fd);
		break;
	case 'h':
		f->held = open_file(f, f->path, O_WRONLY | O_TRUNC);
		fill(f, 0, size);
		f->size = size / 2;
		put(f, f->held, 0);
		f->size = size;
		f->next = now() + (int64_t)(30 + number(300)) * 1000000;
		return;
	case 'm':
	default:
		fd = open_file(f, f->path, O_RDWR);
		map = mmap(NULL, old, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			   0);
		if (map == MAP_FAILED)
			die("mmap", f->path);
		fill(f, 0, old);
		memcpy(map, f->bytes, old);
		(void)munmap(map, old);
		(void)close(fd);
		break;
	}
	f->since = now();
}

static void finish_write(struct file *f)
{
	put(f, f->held, f->size / 2);
	(void)close(f->held);
	f->held = -1;
	f->since = now();
}

static void set_next(struct file *f)
{
	f->next = now() + (int64_t)(100 + number(1400)) * 1000000;
}

int main(int argc, char **argv)
{
	size_t count, hot, i;
	struct file *files;
	int64_t end, first;
	const char *some;

	if (argc < 6)
		return 2;
	count = strtoul(argv[2], NULL, 10);
	hot = strtoul(argv[3], NULL, 10);
	state = strtoul(argv[4], NULL, 10) * 2654435761u + 88172645463325252u;
	some = *argv[5] ? argv[5] : ways;
	if (argc > 6)
		max_size = strtoul(argv[6], NULL, 10);
	files = calloc(count, sizeof(*files));
	for (i = 0; i < count; i++) {
		struct file *f = &files[i];

		(void)snprintf(f->path, sizeof(f->path), "d%zu", i / 100);
		if (i % 100 == 0 && mkdir(f->path, 0755) < 0 && errno != EEXIST)
			die("mkdir", f->path);
		(void)snprintf(f->path, sizeof(f->path), "d%zu/f%zu", i / 100,
			       i);
		f->held = -1;
		fill(f, 0, 20 + number(max_size));
		write_new(f, f->path, O_TRUNC);
		f->since = now();
		set_next(f);
	}
	end = now() + (int64_t)(strtod(argv[1], NULL) * 1e9);
	while (now() < end) {
		struct file *f = &files[0];
		struct timespec wait = {0};

		for (i = 1; i < hot; i++)
			if (files[i].next < f->next)
				f = &files[i];
		first = f->next - now();
		if (first > 0) {
			wait.tv_sec = first / 1000000000;
			wait.tv_nsec = first % 1000000000;
			(void)nanosleep(&wait, NULL);
		}
		if (count > hot && number(4) == 0) {
			f = &files[hot + number(count - hot)];
			if (f->held >= 0)
				continue;
			destroy(f, 't');
			continue;
		}
		if (f->held >= 0) {
			finish_write(f);
			set_next(f);
			continue;
		}
		destroy(f, some[number(strlen(some))]);
		if (f->held < 0)
			set_next(f);
	}
	for (i = 0; i < count; i++) {
		if (files[i].held >= 0)
			finish_write(&files[i]);
		print(&files[i], 'E', 0, '-');
	}
	return 0;
}
