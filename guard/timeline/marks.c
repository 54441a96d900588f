#include "guard/timeline/marks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/text.h"

/* A pipe holds so many bytes. */
#define READ_MAX 65535

#define EVERY_MS 100
#define BURST_MS 1000

int marks_open(int run_fd)
{
	auto_close int fd = -1;

	if ((mkdirat(run_fd, TIMELINE_DIR, 0700) < 0 && errno != EEXIST) ||
	    (mkfifoat(run_fd, TIMELINE_FIFO, 0600) < 0 && errno != EEXIST) ||
	    fchmodat(run_fd, TIMELINE_FIFO, 0600, 0) < 0)
		return -1;
	fd = openat(run_fd, TIMELINE_FIFO,
		    O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	/* In the run every user may write, and no user read: a reader would
	 * take marks away. The directories above are guard's alone. */
	return fd < 0 || fchmod(fd, 0222) < 0 ? -1 : TAKE_FD(fd);
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
	text = mem_printf("%s dropped: more than ten in a second",
			  text_count(m->dropped, "mark"));
	m->dropped = 0;
	add_mark(w, text);
}

static bool is_within_limit(struct marks *m)
{
	int64_t now = timestamp_monotonic_ms();
	int64_t next = (m->next > now ? m->next : now) + EVERY_MS;

	if (next > now + BURST_MS)
		return false;
	m->next = next;
	return true;
}

static void take_line(const char *line, size_t len, struct marks *m,
		      struct timeline_writer *w)
{
	auto_free char *text = NULL;
	AUTO(buf) struct buf escaped = {0};

	text = text_trim(line, len < MARK_MAX ? len : MARK_MAX);
	/* text_trim() ends at a NUL, which is none of a text. */
	if (!*text)
		return;
	if (!is_within_limit(m)) {
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
