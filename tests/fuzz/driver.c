/*
 * Runs a fuzz target without libFuzzer, as TAP:
 *
 *	TARGET CORPUS
 *
 * First every file of the directory CORPUS, then mutations of them for
 * FUZZ_SECONDS (1). Mutation n depends on the seed, n and the corpus alone:
 * FUZZ_SEED=s FUZZ_CASE=n, which a failure prints, repeats it.
 */
/* users: one */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/dirtree.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);
void __sanitizer_set_death_callback(void (*callback)(void))
	__attribute__((weak));

enum {
	FILE_MAX = 4 << 20,
	INPUT_MAX = 64 << 10, /* mutations only: small ones are fast */
	CASE_SECONDS = 30, /* more counts as a hang */
};

static struct buf *corpus;
static size_t corpus_count, corpus_room;
static uint64_t seed, number;
static const char *applied_op = "";

/* Prints how to repeat the case; only calls that a signal handler may make. */
static void tell(void)
{
	static char text[256];
	int n = snprintf(text, sizeof(text),
			 "# died at %s; again with FUZZ_SEED=%" PRIu64
			 " FUZZ_CASE=%" PRIu64 "\n",
			 applied_op, seed, number);

	if (write(STDERR_FILENO, text, (size_t)n) < 0)
		_exit(1);
}

static void on_signal(int sig)
{
	tell();
	(void)signal(sig, SIG_DFL);
	(void)raise(sig);
}

static uint64_t chance(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static size_t below(uint64_t *state, size_t limit)
{
	return limit ? (size_t)(chance(state) % limit) : 0;
}

/* --- mutations --- */

static void overwrite(struct buf *b, size_t at, uint64_t v, size_t len)
{
	size_t i;

	for (i = 0; i < len && at + i < b->len; i++)
		b->data[at + i] = (unsigned char)(v >> 8 * i);
}

static void insert(struct buf *b, size_t at, const void *data, size_t len)
{
	auto_free unsigned char *copy = mem_dup(data, len);

	(void)buf_reserve(b, len);
	memmove(b->data + at + len, b->data + at, b->len - at);
	memcpy(b->data + at, copy, len);
	b->len += len;
}

static void cut(struct buf *b, size_t at, size_t len)
{
	memmove(b->data + at, b->data + at + len, b->len - at - len);
	b->len -= len;
}

static uint64_t odd_number(uint64_t *state)
{
	static const uint64_t odd[] = {
		0,	    1,
		0x7f,	    0x80,
		0xff,	    0x100,
		0x7fff,	    0x8000,
		0xffff,	    0x10000,
		0x7fffffff, 0x80000000,
		0xffffffff, 0x3fffffff,
		0x40000000, (uint64_t)1 << 32,
		UINT64_MAX, UINT64_MAX - 7,
		INT64_MAX,  (uint64_t)1 << 63,
	};

	return odd[below(state, sizeof(odd) / sizeof(*odd))];
}

static void mutate_once(struct buf *b, uint64_t *state)
{
	static const size_t widths[] = {1, 2, 4, 8};
	const struct buf *other = &corpus[below(state, corpus_count)];
	size_t at = below(state, b->len + 1);
	size_t len = 1 + below(state, below(state, 4) ? 16 : 4096);
	uint64_t v = chance(state);

	switch (below(state, 8)) {
	case 0:
		if (at < b->len)
			b->data[at] ^= (unsigned char)(1u << v % 8);
		break;
	case 1:
		overwrite(b, at, v, widths[v % 4]);
		break;
	case 2:
		overwrite(b, at, odd_number(state), widths[v % 4]);
		break;
	case 3:
		v = (uint64_t)((int64_t)below(state, 9) - 4);
		if (at < b->len)
			b->data[at] = (unsigned char)(b->data[at] + v);
		break;
	case 4:
		cut(b, at, len < b->len - at ? len : b->len - at);
		break;
	case 5: /* repeat bytes of the input */
		v = below(state, b->len + 1);
		len = len < b->len - v ? len : b->len - v;
		insert(b, at, b->data + v, len);
		break;
	case 6: /* insert bytes of another input */
		v = below(state, other->len + 1);
		len = len < other->len - v ? len : other->len - v;
		insert(b, at, other->data + v, len);
		break;
	default:
		b->len = below(state, 4) ? b->len : at;
	}
}

static void run(const struct buf *b)
{
	/* An allocation of exactly this length, so that a sanitizer sees reads
	 * beyond the end. */
	auto_free unsigned char *copy = mem_dup(b->data, b->len);

	(void)alarm(CASE_SECONDS);
	(void)LLVMFuzzerTestOneInput(copy, b->len);
	(void)alarm(0);
}

static void run_case(void)
{
	uint64_t state = seed ^ number * 0xd1342543de82ef95u;
	const struct buf *from = &corpus[below(&state, corpus_count)];
	AUTO(buf) struct buf b = {0};
	size_t times = 1 + below(&state, below(&state, 3) ? 4 : 24);

	buf_add(&b, from->data, from->len < INPUT_MAX ? from->len : INPUT_MAX);
	while (times--)
		mutate_once(&b, &state);
	run(&b);
}

/* --- the corpus --- */

static int load(const char *dir)
{
	AUTO(dirlist) struct dirlist list = {0};
	auto_close int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct err err;
	size_t i;

	if (fd < 0 || dirlist_read(fd, &list, &err) < 0)
		return -1;
	for (i = 0; i < list.count; i++) {
		GROW(corpus, corpus_count, corpus_room);
		corpus[corpus_count] = (struct buf){0};
		if (fd_slurp_at(fd, list.items[i].name, FILE_MAX,
				&corpus[corpus_count], &err) < 0)
			return -1;
		corpus_count++;
	}
	return corpus_count ? 0 : -1;
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static const int deadly[] = {SIGSEGV, SIGBUS, SIGABRT,
				     SIGFPE,  SIGILL, SIGALRM};
	double end;
	size_t i;

	if (argc != 2 || load(argv[1]) < 0) {
		(void)fprintf(stderr, "usage: %s CORPUS-FOLDER\n", argv[0]);
		return 2;
	}
	for (i = 0; i < sizeof(deadly) / sizeof(*deadly); i++)
		(void)signal(deadly[i], on_signal);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(tell);
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return 2;
	seed = from_env("FUZZ_SEED", seed >> 32);
	(void)printf("1..2\n# seed %" PRIu64 "\n", seed);
	(void)fflush(stdout);

	applied_op = "the corpus";
	for (number = 0; number < corpus_count; number++)
		run(&corpus[number]);
	(void)printf("ok 1 - every one of %zu inputs is read or refused\n",
		     corpus_count);
	applied_op = "a mutation";
	end = now() + (double)from_env("FUZZ_SECONDS", 1);
	number = from_env("FUZZ_CASE", 0);
	if (getenv("FUZZ_CASE"))
		run_case();
	else
		for (; now() < end; number++)
			run_case();
	(void)printf("ok 2 - so is every mutation of them\n# %" PRIu64
		     " mutations\n",
		     number);
	for (i = 0; i < corpus_count; i++)
		buf_free(&corpus[i]);
	free(corpus);
	return 0;
}
