/*
 * The timeline of a run: what its layers held at each moment, and marks.
 *
 *	struct timeline_writer w;
 *
 *	timeline_open(&w, run_fd, &err)		the version worker alone
 *	timeline_add(&w, &record)		any number of times
 *	timeline_flush(&w, &err)		once a tick: one write
 *	timeline_close(&w)
 *
 *	timeline_load(&t, run_fd, &err)		any process, at any time
 *	... t.items ...
 *	timeline_free(&t)
 *
 * In the run's directory:
 *
 *	timeline/records	the records, in the order of their numbers
 *	timeline/spool/N	the content of record N, saved before the run
 *				destroyed it, until it is in the store
 *	timeline/mark		a FIFO; the run has it as /run/guard/mark
 *
 * A record says what the layer has at a path from its time on, until the next
 * record of that path. Together with the base of the root they give the state
 * of the run at any time.
 *
 *	file   = *record
 *	record = length:4 check:8 body			; check: of body
 *	body   = number:var kind:1 sec:svar nsec:var boot:svar rest
 *	rest   = root:var path text mode:var size:var mtime ino:var content:var
 *		 uid:var gid:var
 *	path, text = length:var bytes
 *	mtime  = sec:svar nsec:var
 *
 * A reader stops at the first record that is short or has a wrong check: the
 * end of a file that a power cut or a kill tore. A writer that goes on cuts
 * such an end off.
 */
#ifndef GUARD_TIMELINE_TIMELINE_H
#define GUARD_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/timestamp.h"

#define TIMELINE_DIR "timeline"
/* The version worker has an exclusive flock(2) on it while a content that a
 * process of the run overwrites is neither in the file nor in the spool. */
#define TIMELINE_RECORDS TIMELINE_DIR "/records"
#define TIMELINE_SPOOL "timeline/spool"
#define TIMELINE_FIFO "timeline/mark"

/* Numbers on disk. A reader skips a kind that it does not know. */
enum timeline_kind {
	TIMELINE_BEGIN = 1, /* a worker began; text: boot id */
	/* The entry of the layer at a path: */
	TIMELINE_ENTRY = 2, /* any type; mode, size, mtime, ino; content of a
			       regular file; text: target of a link. */
	TIMELINE_OPAQUE = 3, /* as TIMELINE_ENTRY, a directory that hides
				everything below it in the base */
	TIMELINE_GONE = 4, /* deleted: a whiteout */
	TIMELINE_NONE = 5, /* nothing: the base shows */
	/* A content that cannot be restored, or not exactly: */
	TIMELINE_GAP = 6, /* text: why; content 0: all below path */
	/* Read while it was open for writing. content 0, with a text: any may
	 * be lost for this reason. */
	TIMELINE_SAMPLED = 7,
	TIMELINE_THINNED = 8, /* dropped, or never kept: too many, too large */
	/* Headings: */
	TIMELINE_MARK = 9, /* text: as set */
	TIMELINE_ALARM = 10, /* text: the counts */
	/* From here on nothing changes any more, the result is stored. */
	TIMELINE_END = 11,
};

/* "entry", "gap", ...; a constant text. */
const char *timeline_kind_name(enum timeline_kind kind);

struct timeline_record {
	uint64_t number; /* from 1, rising */
	enum timeline_kind kind;
	struct timestamp time; /* CLOCK_REALTIME */
	int64_t boot_ns; /* CLOCK_BOOTTIME, unimpressed by clock changes */
	size_t root; /* index as in session.h: 0 is the project */
	/* Relative to the root; "" is the root itself. Of GAP and its like with
	 * a content, "" in the file: the path of the content's record. */
	const char *path;
	const char *text;
	uint32_t mode; /* with the type */
	uint32_t uid, gid;
	uint64_t size;
	struct timestamp mtime;
	uint64_t ino; /* in the layer */
	/* For a regular file the number of the record that first had this
	 * content, its own or an earlier one (after a rename or a chmod). For
	 * GAP, SAMPLED and THINNED the content that is meant. */
	uint64_t content;
};

/* An open with O_TRUNC leaves a file empty for a moment: before the first
 * write, for less than the time for which a content is kept. */
#define TIMELINE_TRUNC_NS INT64_C(250000000)

/* The record says what the layer has at a path. */
static inline bool timeline_is_state(const struct timeline_record *r)
{
	return r->kind >= TIMELINE_ENTRY && r->kind <= TIMELINE_NONE;
}

/* The record puts a file, a directory or a link at its path. */
static inline bool timeline_is_entry(const struct timeline_record *r)
{
	return r->kind == TIMELINE_ENTRY || r->kind == TIMELINE_OPAQUE;
}

/* The record is about a content that cannot be restored, or not exactly. */
static inline bool timeline_is_lost(const struct timeline_record *r)
{
	return r->kind >= TIMELINE_GAP && r->kind <= TIMELINE_THINNED;
}

/* A user can name the record by its text. */
static inline bool timeline_is_heading(const struct timeline_record *r)
{
	return (r->kind == TIMELINE_MARK || r->kind == TIMELINE_ALARM) &&
	       *r->text;
}

struct timeline {
	struct timeline_record *items; /* texts point into bytes */
	size_t count, capacity;
	struct buf bytes;
	size_t valid; /* bytes up to the end of the last good record */
};

/* Adds the records of the run's directory to an empty timeline. A run without
 * one has no records. */
int timeline_load(struct timeline *t, int run_fd, struct err *err);
/* The same from the bytes of a file, which the timeline takes over. */
void timeline_parse(struct timeline *t, struct buf *bytes);
void timeline_free(struct timeline *t);
/* Whether the last of its workers saw the end of the run. */
bool timeline_has_end(const struct timeline *t);
/* Appends a record to the bytes of a timeline file. */
void timeline_encode(struct buf *to, const struct timeline_record *r);

struct timeline_writer {
	int fd;
	uint64_t next; /* number of the next record */
	struct buf pending; /* records since the last flush */
	uint64_t bytes; /* length of the file with them */
};

/* Opens the file for appending, and makes the directory and the spool. */
int timeline_open(struct timeline_writer *w, int run_fd, struct err *err);
/* Sets number, time and boot_ns of r, a content of 0 of a regular file to the
 * number, and returns the number. */
uint64_t timeline_add(struct timeline_writer *w, struct timeline_record *r);
/* Writes the pending records. After an error they stay pending. */
int timeline_flush(struct timeline_writer *w, struct err *err);
void timeline_close(struct timeline_writer *w);

#endif
