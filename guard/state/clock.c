#include "guard/state/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/boot.h"
#include "base/record.h"
#include "base/timestamp.h"

#define NAME "clock"
#define VERSION 1
#define HOUR ((int64_t)3600)
#define DAY (24 * HOUR)
/* Summed up over a boot. A virtual machine that was paused for a night is no
 * jump. */
#define DRIFT_MAX DAY
#define OFF_MAX (2 * DAY)
#define DOUBT DAY

/* Seconds of both clocks. */
struct clock_reading {
	const char *boot; /* boot_id(); borrowed */
	int64_t now; /* since 1970 */
	int64_t up; /* since boot */
};

struct clock_note {
	char boot[40]; /* "": nothing is known */
	int64_t ahead; /* now - up, when the boot or the doubt began */
	int64_t last; /* now, at the last reading */
	int64_t until; /* no age is believed before this time */
};

/* Compares a reading with the note and updates the note. Returns whether ages
 * may be believed. */
static bool clock_step(struct clock_note *note, const struct clock_reading *r)
{
	int64_t ahead = r->now - r->up;
	bool same = strcmp(note->boot, r->boot) == 0;
	bool jumped;

	if (!note->boot[0])
		jumped = true;
	else if (same)
		jumped = llabs(ahead - note->ahead) > DRIFT_MAX;
	else
		jumped = r->now < note->last - HOUR ||
			 r->now > note->last + OFF_MAX;
	if (jumped)
		note->until = r->now + DOUBT;
	if (jumped || !same) {
		note->ahead = ahead;
		(void)snprintf(note->boot, sizeof(note->boot), "%s", r->boot);
	}
	note->last = r->now;
	/* Small steps of the wall clock, which are no jump, do not shorten the
	 * doubt: the time since boot counts. */
	return note->ahead + r->up >= note->until;
}

/* The system call: libraries that are preloaded to shift the wall clock shift
 * the functions of libc for the time since boot, too. */
static struct clock_reading read_clocks(void)
{
	struct timespec up = {0};

	(void)syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &up);
	return (struct clock_reading){
		.boot = *boot_id() ? boot_id() : "unknown",
		.now = timestamp_now().sec,
		.up = up.tv_sec,
	};
}

static void load_note(int state_fd, struct clock_note *ret)
{
	AUTO(record) struct record r = {0};
	struct err ignored;

	*ret = (struct clock_note){0};
	if (record_load(state_fd, NAME, NAME, VERSION, &r, &ignored) < 0 ||
	    !record_get(&r, "until"))
		return;
	(void)snprintf(ret->boot, sizeof(ret->boot), "%s",
		       record_get(&r, "boot") ?: "");
	ret->ahead = record_get_int(&r, "ahead");
	ret->last = record_get_int(&r, "last");
	ret->until = record_get_int(&r, "until");
}

/* Not synced: without the record, or with an older one, ages are believed
 * later. */
static void save_note(int state_fd, const struct clock_note *note)
{
	AUTO(record) struct record r = {0};
	struct err ignored;

	record_set(&r, "boot", note->boot);
	record_set_int(&r, "ahead", note->ahead);
	record_set_int(&r, "last", note->last);
	record_set_int(&r, "until", note->until);
	(void)record_save(state_fd, NAME, NAME, VERSION, &r, ATOMIC_NO_SYNC,
			  &ignored);
}

static bool step_record(int state_fd, bool fresh)
{
	struct clock_reading r = read_clocks();
	struct clock_note before, note;
	bool believed;

	load_note(state_fd, &before);
	note = before;
	believed = clock_step(&note, &r);
	if (fresh && !before.boot[0]) {
		note.until = 0;
		believed = true;
	}
	/* Most commands leave the file as it is. */
	if (strcmp(note.boot, before.boot) != 0 || note.ahead != before.ahead ||
	    note.until != before.until || note.last < before.last ||
	    note.last > before.last + HOUR)
		save_note(state_fd, &note);
	return believed;
}

void clock_keep(int state_fd, bool fresh)
{
	(void)step_record(state_fd, fresh);
}

bool clock_believed(int state_fd)
{
	return step_record(state_fd, false);
}
