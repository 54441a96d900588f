/*
 * Makes files for the bench, with the same bytes on every call:
 *
 *	maketree [-p | -t] DIR FILES
 *	maketree -b FILE MEGABYTES
 *
 * The tree resembles a source tree for a backup program: about 15 files per
 * directory, three levels deep; sizes spread like those of the Linux sources
 * (half of them below 6 KB, a few of hundreds); text of identifiers that repeat
 * as in code. -p: like the packages below a node_modules: smaller files, one in
 * eight packages twice, all licences equal. -t: tiny files, 50 per directory.
 * -b: one long file, every other megabyte of it random.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WORD_BITS 12
#define WORDS (1 << WORD_BITS)
#define FILES_A_FOLDER 15
#define FOLDERS_A_FOLDER 12
#define LARGEST (1 << 20)

static char words[WORDS][16];
static char text[LARGEST + 128];
static uint64_t state = 88172645463325252ULL;

/* xorshift64 */
static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void make_words(void)
{
	static const char *const parts[] = {
		"get",	"set", "dev", "buf", "len", "reg", "ctl", "init",
		"page", "_",   "io",  "ret", "ptr", "str", "int", "map",
	};
	size_t i, n;

	for (i = 0; i < WORDS; i++)
		for (n = 1 + next() % 3; n > 0; n--)
			(void)strcat(words[i], parts[next() % 16]);
}

/* Few words make most of a text (Zipf's law, roughly). */
static const char *word(void)
{
	size_t least = (size_t)1 << next() % WORD_BITS;

	return words[least + next() % least];
}

static size_t make_text(size_t want)
{
	static const char head[] = "/* SPDX-License-Identifier: GPL-2.0 */\n"
				   "#include <linux/kernel.h>\n";
	size_t len = sizeof(head) - 1;

	(void)memcpy(text, head, len);
	while (len < want)
		len += (size_t)sprintf(text + len, "\t%s->%s = %s(%s, %u);\n",
				       word(), word(), word(), word(),
				       (unsigned int)(next() % 64));
	return want;
}

/*
 * Log-normal without libm: the sum of twelve dice is nearly normal, and two
 * to the power of it is a shift, with the fraction taken as it is.
 */
static size_t pick_size(void)
{
	uint64_t dice = 0, size;
	int64_t exponent; /* to base 2, in 1/1024 */
	int i;

	for (i = 0; i < 12; i++)
		dice += next() % 2048;
	exponent = 12 * 1024 + 400 + ((int64_t)dice - 6 * 2047);
	if (exponent < 0)
		exponent = 0;
	size = (1024 + (uint64_t)exponent % 1024) << exponent / 1024 >> 10;
	return size > LARGEST ? LARGEST : (size_t)size;
}

static void make_folder(const char *path)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		err(1, "%s", path);
}

static void write_file(const char *path, const void *data, size_t len)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len || close(fd) < 0)
		err(1, "%s", path);
}

static void make_file(long number)
{
	long folder = number / FILES_A_FOLDER;
	long top = folder / FOLDERS_A_FOLDER / FOLDERS_A_FOLDER;
	size_t len = make_text(pick_size());
	char path[64];

	(void)snprintf(path, sizeof(path), "part%ld", top);
	make_folder(path);
	(void)snprintf(path, sizeof(path), "part%ld/unit%ld", top,
		       folder / FOLDERS_A_FOLDER % FOLDERS_A_FOLDER);
	make_folder(path);
	(void)snprintf(path + strlen(path), sizeof(path) - strlen(path),
		       "/sub%ld", folder % FOLDERS_A_FOLDER);
	make_folder(path);
	(void)snprintf(path + strlen(path), sizeof(path) - strlen(path),
		       "/file%ld.c", number);
	write_file(path, text, len);
}

/* The same package comes out for the same state. */
static void make_package(const char *where, long files)
{
	static const char *const folders[] = {"", "/lib", "/dist", "/types"};
	char path[128];
	long i;

	make_folder(where);
	for (i = 0; i < 4; i++) {
		(void)snprintf(path, sizeof(path), "%s%s", where, folders[i]);
		make_folder(path);
	}
	(void)snprintf(path, sizeof(path), "%s/LICENSE", where);
	memset(text, 'l', 1100);
	write_file(path, text, 1100);
	(void)snprintf(path, sizeof(path), "%s/package.json", where);
	write_file(path, text, make_text(900 + next() % 1200));
	for (i = 2; i < files; i++) {
		static const char *const ends[] = {"js", "d.ts", "js.map"};
		uint64_t dice = next();

		(void)snprintf(path, sizeof(path), "%s%s/part%ld.%s", where,
			       folders[dice % 4], i, ends[dice / 4 % 3]);
		write_file(path, text, make_text(pick_size() / 3 + 20));
	}
}

static void make_packages(long count)
{
	uint64_t last = state, now;
	char path[64], inner[112];
	long made = 0, files, i;

	for (i = 0; made < count; i++) {
		(void)snprintf(path, sizeof(path), "package%ld", i);
		if (i % 8 < 7)
			last = state;
		files = 4 + (long)(next() % 40);
		make_package(path, files);
		made += files;
		if (i % 8 < 7)
			continue;
		/* The previous package again, below this one. */
		now = state;
		state = last;
		(void)snprintf(inner, sizeof(inner), "%s/node_modules", path);
		make_folder(inner);
		(void)strcat(inner, "/again");
		files = 4 + (long)(next() % 40);
		make_package(inner, files);
		made += files;
		state = now;
	}
}

static void make_tiny(long number)
{
	char path[64];
	int len;

	(void)snprintf(path, sizeof(path), "t%ld", number / 50000);
	if (number % 50000 == 0)
		make_folder(path);
	(void)snprintf(path, sizeof(path), "t%ld/f%ld", number / 50000,
		       number / 50);
	if (number % 50 == 0)
		make_folder(path);
	len = snprintf(text, sizeof(text), "%ld %s %s %s %llx\n", number,
		       word(), word(), word(), (unsigned long long)next());
	(void)snprintf(path, sizeof(path), "t%ld/f%ld/x%ld", number / 50000,
		       number / 50, number);
	write_file(path, text, (size_t)len);
}

static void make_big(const char *path, long megabytes)
{
	static uint64_t block[(1 << 20) / 8];
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	size_t i;
	long mb;

	if (fd < 0)
		err(1, "%s", path);
	for (mb = 0; mb < megabytes; mb++) {
		for (i = 0; i < sizeof(block) / 8; i++)
			block[i] = mb % 2 ? next() : next() % 64;
		if (write(fd, block, sizeof(block)) != sizeof(block))
			err(1, "%s", path);
	}
	if (close(fd) < 0)
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	char kind = 's';
	long count, i;

	if (argc == 4 && argv[1][0] == '-')
		kind = argv++[1][1];
	if (argc != (kind == 's' ? 3 : 4) || (count = atol(argv[2])) <= 0)
		errx(2, "usage: maketree [-p | -t] FOLDER FILES\n"
			"       maketree -b FILE MEGABYTES");
	make_words();
	if (kind == 'b') {
		make_big(argv[1], count);
		return 0;
	}
	make_folder(argv[1]);
	if (chdir(argv[1]) < 0)
		err(1, "%s", argv[1]);
	if (kind == 'p')
		make_packages(count);
	for (i = 0; kind != 'p' && i < count; i++) {
		if (kind == 't')
			make_tiny(i);
		else
			make_file(i);
	}
	return 0;
}
