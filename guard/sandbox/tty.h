/*
 * The caller's terminal and the master of the run's own, in guard's process.
 *
 *	tty_find()	before pid 1 exists
 *	tty_attach()	with the master from pid 1
 *	tty_enter()	raw mode, while guard is in the foreground
 *	tty_poll(), tty_relay()	in the loop
 *	tty_drain()	after the run's last process
 *	tty_leave()	the caller's modes again
 *	tty_free()
 */
#ifndef GUARD_SANDBOX_TTY_H
#define GUARD_SANDBOX_TTY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tty;

/*
 * Finds the terminals among descriptors 0, 1, 2 and sets ret_replace for them.
 * *ret_pipeline: only one of stdin and stdout is a terminal, so other programs
 * may use it as well. Returns NULL without a terminal.
 */
struct tty *tty_find(bool ret_replace[3], bool *ret_pipeline);
void tty_free(struct tty **t);

/* Takes over the master; its size and modes become those of the caller's
 * terminal. */
void tty_attach(struct tty *t, int master_fd);

/* Switches to raw mode if guard is in the foreground (of a pipeline: once the
 * command has wanted input). May be called again. */
void tty_enter(struct tty *t);

/* Restores the caller's modes. final: also restores the title, switches off the
 * modes that the run left on, and discards the terminal's answers to the run's
 * queries, which a shell would read as input. */
void tty_leave(struct tty *t, bool final);

/* Copies the window size to the run's terminal. */
void tty_resize(struct tty *t);

/* Stops (on) or resumes reading: a Ctrl-Z for a stopped command would be
 * lost. */
void tty_hold(struct tty *t, bool on);

/* The command of a pipeline wants input: tty_enter() takes effect from now. */
void tty_want_input(struct tty *t);

/* Whether the run's program reads lines: a program that reads keys may have
 * drawn a screen, which a line of guard would disturb. */
bool tty_takes_lines(const struct tty *t);

/* True while guard is in the background: the caller polls with a timeout, since
 * no signal reports the return to the foreground. */
bool tty_awaits_foreground(const struct tty *t);

/* Fills up to 3 entries and returns their number; pass the same to
 * tty_relay(). */
size_t tty_poll(struct tty *t, struct pollfd *fds);
void tty_relay(struct tty *t, const struct pollfd *fds, size_t count);

/* Writes the remaining output after the run's last process. */
void tty_drain(struct tty *t);

#endif
