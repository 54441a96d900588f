/*
 * Makes a tree that looks like a source tree to a backup program:
 *
 *	maketree FOLDER FILES
 *
 * About 15 files a folder, three levels deep; sizes spread like those of the
 * Linux sources (half of them below 6 KB, a few of hundreds); text of
 * identifiers that come again as they do in code. The same bytes every time.
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
	int64_t exponent; /* of two, in 1/1024 */
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

static void make_file(long number)
{
	long folder = number / FILES_A_FOLDER;
	long top = folder / FOLDERS_A_FOLDER / FOLDERS_A_FOLDER;
	size_t len = make_text(pick_size());
	char path[64];
	int fd;

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
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, len) != (ssize_t)len || close(fd) < 0)
		err(1, "%s", path);
}

int main(int argc, char **argv)
{
	long count, i;

	if (argc != 3 || (count = atol(argv[2])) <= 0)
		errx(2, "usage: maketree FOLDER FILES");
	make_folder(argv[1]);
	if (chdir(argv[1]) < 0)
		err(1, "%s", argv[1]);
	make_words();
	for (i = 0; i < count; i++)
		make_file(i);
	return 0;
}
