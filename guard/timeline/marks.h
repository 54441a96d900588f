/*
 * Marks: moments of a run that have a name, set by a line of text. Processes
 * of the run and guard's own commands outside write the line to one FIFO, so
 * a mark is the run's word: it is shown, and decides nothing.
 *
 *	fd = marks_open(run_fd)		at the run's start, and in the worker
 *	marks_take(fd, &marks, &w)	when fd is readable, once a tick
 *	marks_end(&marks, &w)		when the run has ended
 *
 * The FIFO is in the run's directory, and mounted in the run. No process can
 * open it for reading in the run without its own user namespace; the version
 * worker, which has it open for reading and writing, is always a reader, so
 * that no open for writing waits for one. A writer that must not wait for
 * space in the FIFO either opens it with O_NONBLOCK.
 *
 * At most ten marks a second are kept. What a run writes beyond that is read,
 * counted and dropped, 64 KiB a call.
 */
#ifndef GUARD_TIMELINE_MARKS_H
#define GUARD_TIMELINE_MARKS_H

#include "guard/timeline/timeline.h"

/* The directory in a run, and in it the FIFO and guard's program, which writes
 * a mark without waiting. */
#define MARKS_RUN_DIR "/run/guard"
#define MARKS_RUN_FIFO MARKS_RUN_DIR "/mark"
#define MARKS_RUN_PROGRAM MARKS_RUN_DIR "/guard"

/* Bytes of a line; the rest of a longer one is cut off. */
#define MARK_MAX 256

struct marks {
	int64_t next; /* monotonic ms: each mark takes a tenth of a second */
	uint64_t dropped; /* since the last mark that was kept */
};

/* Opens the FIFO, and makes it if there is none. Returns the descriptor, which
 * never blocks, or -1 with errno. */
int marks_open(int run_fd);
/* Writes one mark into the FIFO, without waiting; line feeds become blanks.
 * Returns 0, or -1 with errno. ENOENT, ENXIO: no process takes marks; EAGAIN:
 * there are too many. */
int marks_put(int dirfd, const char *fifo, const char *text);
/* Adds a record for each line that is there, its control characters escaped,
 * and one for the lines that were dropped before. */
void marks_take(int fd, struct marks *m, struct timeline_writer *w);
/* Adds a record for the lines that were dropped last. */
void marks_end(struct marks *m, struct timeline_writer *w);

#endif
