#include "guard/timeline/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/text.h"

/* What a pipe holds. */
#define READ_MAX 65535

static const struct {
	int64_t ms;
	unsigned int marks;
} limits[] = {{1000, 10}, {3600 * 1000, 1000}};

#define LIMITS (sizeof(limits) / sizeof(*limits))

int marks_open(int run_fd)
{
	auto_close int point = -1, fd = -1;
	struct stat st;

	if ((mkdirat(run_fd, TIMELINE_DIR, 0700) < 0 && errno != EEXIST) ||
	    (mkfifoat(run_fd, TIMELINE_FIFO, 0600) < 0 && errno != EEXIST))
		return -1;
	point = openat(run_fd, TIMELINE_FIFO, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (point < 0 || fstat(point, &st) < 0)
		return -1;
	if (!S_ISFIFO(st.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	/* In the run every user may write, and no user read: a reader would
	 * take marks away. The directories above are guard's alone. */
	if (fd_chmod(point, 0600) < 0)
		return -1;
	fd = open(fd_proc_path(point).text, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, 0222) < 0)
		return -1;
	return TAKE_FD(fd);
}

int marks_put(int dirfd, const char *fifo, const char *text)
{
	auto_close int fd = openat(dirfd, fifo,
				   O_WRONLY | O_NONBLOCK | O_NOCTTY |
					   O_NOFOLLOW | O_CLOEXEC);
	/* In one piece. */
	auto_free char *line = mem_printf("%.*s\n", MARK_MAX, text);
	size_t len = strlen(line), i;

	for (i = 0; i + 1 < len; i++)
		if (line[i] == '\n')
			line[i] = ' ';
	return fd < 0 || write(fd, line, len) < 0 ? -1 : 0;
}

static void add_mark(struct timeline_writer *w, const char *text)
{
	timeline_add(w, &(struct timeline_record){
				.kind = TIMELINE_MARK,
				.path = "",
				.text = text,
			});
}

void marks_end(struct marks *m, struct timeline_writer *w)
{
	auto_free char *text = NULL;

	if (!m->dropped)
		return;
	text = mem_printf("%s dropped: more than %u in a second, or %u in an "
			  "hour",
			  text_count(m->dropped, "mark"), limits[0].marks,
			  limits[1].marks);
	m->dropped = 0;
	add_mark(w, text);
}

/* Counts a mark; false: it is one too many. */
static bool is_within_limits(struct marks *m)
{
	int64_t now = timestamp_monotonic_ms();
	bool within = true;
	size_t i;

	for (i = 0; i < LIMITS; i++) {
		if (!m->windows[i].count ||
		    now - m->windows[i].began >= limits[i].ms) {
			m->windows[i].began = now;
			m->windows[i].count = 0;
		}
		within = within && m->windows[i].count < limits[i].marks;
	}
	for (i = 0; within && i < LIMITS; i++)
		m->windows[i].count++;
	return within;
}

static void take_line(const char *line, size_t len, struct marks *m,
		      struct timeline_writer *w)
{
	auto_free char *text = NULL;
	AUTO(buf) struct buf escaped = {0};

	/* No part of a character stays. */
	if (len > MARK_MAX)
		for (len = MARK_MAX; len && (line[len] & 0xc0) == 0x80; len--)
			;
	text = text_trim(line, len);
	/* text_trim() ends at a NUL, which is none of a text. */
	if (!*text)
		return;
	if (!is_within_limits(m)) {
		m->dropped++;
		return;
	}
	marks_end(m, w);
	text_escape_name(&escaped, text);
	add_mark(w, buf_text(&escaped));
}

void marks_take(int fd, struct marks *m, struct timeline_writer *w)
{
	AUTO(buf) struct buf bytes = {0};
	const char *at, *end;
	ssize_t got = read(fd, buf_reserve(&bytes, READ_MAX), READ_MAX);

	if (got <= 0)
		return;
	/* A writer's call of up to PIPE_BUF bytes comes in one piece. A text
	 * without a line feed ends where the FIFO is empty. */
	at = (const char *)bytes.data;
	end = at + got;
	while (at < end) {
		size_t len = text_line_len(at, end);

		take_line(at, len, m, w);
		at += len + (at + len < end);
	}
}
