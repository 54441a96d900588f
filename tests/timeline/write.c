/*
 * Writes a timeline into the directory of a run, for tests that need exact
 * times.
 *
 *	write RUNDIR <LINES
 *
 * Each line is a record, with blanks between its parts:
 *
 *	TIME file ROOT PATH MODE TEXT...	the content goes to the spool
 *	TIME lost ROOT PATH MODE TEXT...	... or nowhere
 *	TIME same ROOT PATH MODE NUMBER		the content of that record
 *	TIME dir|opaque ROOT PATH MODE INO
 *	TIME link ROOT PATH TARGET
 *	TIME gone|none ROOT PATH
 *	TIME gap ROOT PATH NUMBER TEXT...
 *	TIME mark|alarm|begin|end TEXT...
 *
 * TIME is in seconds since 1970, with a fraction, or +SECONDS after the line
 * before. PATH . is the root. In a TEXT of a file \n is a line feed.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "guard/timeline/timeline.h"

static struct err err;

static void die(const char *what)
{
	(void)fprintf(stderr, "timeline: %s: %s\n", what, strerror(errno));
	exit(99);
}

/* Cuts off the first word. */
static char *word(char **at)
{
	char *start = *at, *end = start + strcspn(start, " ");

	*at = *end ? end + 1 : end;
	*end = '\0';
	return start;
}

static void unescape(char *text)
{
	char *to = text;

	for (; *text; text++) {
		bool feed = text[0] == '\\' && text[1] == 'n';

		*to++ = feed ? '\n' : *text;
		text += feed;
	}
	*to = '\0';
}

static void spool(int dir, uint64_t number, const struct timeline_record *r,
		  const char *text)
{
	char name[64];
	auto_close int fd = -1;
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
				    {(time_t)r->mtime.sec, r->mtime.nsec}};

	(void)snprintf(name, sizeof(name), "%s/%llu", TIMELINE_SPOOL,
		       (unsigned long long)number);
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    r->mode & 07777);
	if (fd < 0 || fd_write(fd, text, strlen(text)) < 0 ||
	    futimens(fd, times) < 0)
		die(name);
}

static void read_line(int dir, char *line, struct timeline_record *r,
		      struct buf *to)
{
	static const char *const kinds[] = {
		"begin", "dir",	    "opaque",  "gone", "none",
		"gap",	 "sampled", "thinned", "mark", "alarm",
		"end",	 "file",    "lost",    "same", "link"};
	char *time = word(&line), *kind = word(&line);
	double seconds = strtod(time, NULL);
	static int64_t ms;
	unsigned int i = 0;

	ms = (*time == '+' ? ms : 0) + (int64_t)(seconds * 1000 + 0.5);
	while (i < sizeof(kinds) / sizeof(*kinds) &&
	       strcmp(kind, kinds[i]) != 0)
		i++;
	*r = (struct timeline_record){
		.number = r->number + 1,
		.kind = i < 11 ? i + 1 : TIMELINE_ENTRY,
		.time = {ms / 1000, (uint32_t)(ms % 1000) * 1000000},
		.boot_ns = ms * 1000000,
		.path = "",
		.text = "",
		.uid = geteuid(),
		.gid = getegid(),
	};
	r->mtime = r->time;
	if (i == 0 || i == 8 || i == 9 || i == 10) {
		r->text = line;
	} else {
		r->root = strtoull(word(&line), NULL, 10);
		r->path = word(&line);
		r->path = strcmp(r->path, ".") == 0 ? "" : r->path;
	}
	if (i == 1 || i == 2) {
		r->mode = S_IFDIR | (mode_t)strtoul(word(&line), NULL, 8);
		r->ino = strtoull(word(&line), NULL, 10);
	} else if (i >= 5 && i <= 7) {
		r->content = strtoull(word(&line), NULL, 10);
		r->text = line;
	} else if (i >= 11 && i <= 13) {
		r->mode = S_IFREG | (mode_t)strtoul(word(&line), NULL, 8);
		r->content = i == 13 ? strtoull(line, NULL, 10) : r->number;
		unescape(line);
		r->size = strlen(line);
		if (i == 11)
			spool(dir, r->number, r, line);
	} else if (i == 14) {
		r->mode = S_IFLNK | 0777;
		r->text = line;
	} else if (i > 14) {
		(void)fprintf(stderr, "timeline: unknown kind '%s'\n", kind);
		exit(99);
	}
	timeline_encode(to, r);
}

int main(int argc, char **argv)
{
	auto_close int dir =
		argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC)
			  : -1;
	struct timeline_record r = {0};
	struct timeline_writer w;
	AUTO(buf) struct buf bytes = {0};
	char *line = NULL;
	size_t capacity = 0;
	ssize_t len;

	if (dir < 0)
		die("open RUNDIR");
	if (timeline_open(&w, dir, &err) < 0) {
		(void)fprintf(stderr, "timeline: %s\n", err.text);
		return 99;
	}
	r.number = w.next - 1;
	while ((len = getline(&line, &capacity, stdin)) > 0) {
		if (line[len - 1] == '\n')
			line[len - 1] = '\0';
		if (*line)
			read_line(dir, line, &r, &bytes);
	}
	free(line);
	if (fd_write(w.fd, bytes.data, bytes.len) < 0)
		die("write");
	timeline_close(&w);
	return 0;
}
