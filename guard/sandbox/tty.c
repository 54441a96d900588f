#include "guard/sandbox/tty.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/fd.h"

/*
 * Terminal modes that a run's output switches on, so that guard can switch off
 * those that it leaves on: alternate screen, hidden cursor, mouse reports,
 * bracketed paste. Colors, character sets and unterminated sequences are reset
 * after any control sequence: guard's summary is printed next, and an open
 * string or a changed color would hide it. The output itself is not changed.
 */
struct ttymodes {
	enum { TTY_TEXT, TTY_ESC, TTY_CSI, TTY_OSC, TTY_STRING } state;
	char prefix; /* first byte of a CSI sequence: ? > < = or 0 */
	unsigned int numbers[16], count;
	uint32_t changed; /* bits of known modes that differ from the default */
	bool has_controls; /* the output has a control beyond CR, LF and such */
	bool keypad, insert, region;
	bool other_keys; /* xterm's modifyOtherKeys */
	bool key_set; /* kitty's keyboard flags */
	unsigned int key_depth; /* entries on kitty's stack */
	bool has_query; /* the run sent a query that terminals reply to */
	unsigned int status_queries; /* number of queries CSI 5 n */
};

/* DEC private modes and their initial state. The alternate screen comes last:
 * leaving it restores the cursor. */
static const struct {
	unsigned int number;
	bool on;
} known[] = {
	{1, false},    {5, false},    {6, false},    {7, true},
	{9, false},    {25, true},    {66, false},   {69, false},
	{1000, false}, {1001, false}, {1002, false}, {1003, false},
	{1004, false}, {1005, false}, {1006, false}, {1015, false},
	{1016, false}, {2004, false}, {2026, false}, {2031, false},
	{2048, false}, {47, false},   {1047, false}, {1049, false},
};

/* Pops all entries of the stack, then clears the flags below it. */
#define KEYS_OFF "\x1b[<99u\x1b[=0u"

#define KNOWN ARRAY_SIZE(known)

static void set_private_mode(struct ttymodes *m, unsigned int number, bool on)
{
	size_t i;

	for (i = 0; i < KNOWN; i++) {
		if (known[i].number != number)
			continue;
		if (known[i].on == on)
			m->changed &= ~(1U << i);
		else
			m->changed |= 1U << i;
	}
}

/* Ends a sequence without a prefix. */
static void end_plain(struct ttymodes *m, unsigned char final)
{
	unsigned int first = m->numbers[0];

	switch (final) {
	case 'h':
	case 'l':
		if (first == 4)
			m->insert = final == 'h';
		break;
	case 'r':
		m->region = m->count > 0 || first != 0;
		break;
	case 'n':
		m->status_queries += first == 5;
		break;
	default:
		break;
	}
}

/* Pushes, pops or sets the keyboard flags. */
static void set_key_flags(struct ttymodes *m)
{
	unsigned int count = m->numbers[0] ? m->numbers[0] : 1;

	if (m->prefix == '>')
		m->key_depth++;
	else if (m->prefix == '<')
		m->key_depth -= count < m->key_depth ? count : m->key_depth;
	else if (m->prefix == '=')
		m->key_set = m->numbers[0] != 0;
}

static void end_prefixed(struct ttymodes *m, unsigned char final)
{
	unsigned int i;

	if (m->prefix == '?' && (final == 'h' || final == 'l'))
		for (i = 0; i <= m->count && i < 16; i++)
			set_private_mode(m, m->numbers[i], final == 'h');
	if (m->prefix == '>' && final == 'm' && m->numbers[0] == 4)
		m->other_keys = m->count > 0 && m->numbers[1] != 0;
	if (final == 'u')
		set_key_flags(m);
}

static void end_csi(struct ttymodes *m, unsigned char final)
{
	m->state = TTY_TEXT;
	if (strchr("nctupqx", final))
		m->has_query = true;
	if (m->prefix)
		end_prefixed(m, final);
	else
		end_plain(m, final);
}

static void read_csi(struct ttymodes *m, unsigned char c)
{
	if (c >= '0' && c <= '9') {
		if (m->count < 16 && m->numbers[m->count] < 100000)
			m->numbers[m->count] =
				m->numbers[m->count] * 10 + (c - '0');
	} else if (c == ';' || c == ':') {
		if (m->count < 16 && ++m->count < 16)
			m->numbers[m->count] = 0;
	} else if (c >= '<' && c <= '?') {
		m->prefix = (char)c;
	} else if (c == 0x1b) {
		m->state = TTY_ESC;
	} else if (c >= 0x40 && c <= 0x7e) {
		end_csi(m, c);
	}
}

static void read_escape(struct ttymodes *m, unsigned char c)
{
	m->state = TTY_TEXT;
	switch (c) {
	case '[':
		m->state = TTY_CSI;
		m->prefix = 0;
		m->count = 0;
		m->numbers[0] = 0;
		break;
	case ']': /* OSC */
		m->state = TTY_OSC;
		m->has_query = true;
		break;
	case 'P': /* DCS */
	case '_': /* APC */
	case '^': /* PM */
		m->state = TTY_STRING;
		m->has_query = true;
		break;
	case 'X': /* SOS */
	case 'k': /* the window's name in screen and tmux */
		m->state = TTY_STRING;
		break;
	case '=':
		m->keypad = true;
		break;
	case '>':
		m->keypad = false;
		break;
	case 'Z':
		m->has_query = true;
		break;
	case 'c':
		*m = (struct ttymodes){.has_controls = true,
				       .has_query = m->has_query,
				       .status_queries = m->status_queries};
		break;
	default:
		break;
	}
}

/* Reads a piece of the run's output, which may end inside a sequence. */
static void ttymodes_read(struct ttymodes *m, const void *data, size_t len)
{
	const unsigned char *at = data, *end = at + len;

	for (; at < end; at++) {
		/* A terminal may read bytes from 0x80 to 0x9f, or their UTF-8
		 * form, as control characters. */
		if (*at == 0x1b || *at == 0x0e || (*at >= 0x80 && *at < 0xa0))
			m->has_controls = true;
		switch (m->state) {
		case TTY_TEXT:
			if (*at == 0x1b)
				m->state = TTY_ESC;
			else if (*at == 0x05)
				m->has_query = true;
			break;
		case TTY_ESC:
			read_escape(m, *at);
			break;
		case TTY_CSI:
			read_csi(m, *at);
			break;
		case TTY_OSC:
		case TTY_STRING:
			/* ESC \ ends each string and is read as ESC, BEL ends
			 * an OSC only. */
			if (*at == 0x07 && m->state == TTY_OSC)
				m->state = TTY_TEXT;
			else if (*at == 0x1b)
				m->state = TTY_ESC;
			break;
		}
	}
}

/* Ends a sequence of any kind: terminals differ in what ends a string, and some
 * end only some strings at CAN. Then ANSI instead of VT52, where the other
 * sequences are none, and display instead of printing (CSI 4 i). */
#define SEQUENCE_END "\x18\x1b\\\x1b<\x1b[4i"
/* Modes that take keys away or change lines: a locked keyboard, local echo, LF
 * as a new line, VT52 (which ESC < leaves), keys as records of Windows; bytes
 * that are no UTF-8. Sent after any control, so that no terminal's own way to
 * write them matters. */
#define MODES_RESET "\x1b[2l\x1b[12h\x1b[20l\x1b[?9001l\x1b[?2l\x1b<\x1b%G"
/* Ends a hyperlink. */
#define LINK_END "\x1b]8;;\x1b\\"
/* US-ASCII in G0, and G0 in use. */
#define CHARSET_RESET "\x1b(B\x0f"
/* The palette; the colors of text, background and cursor. */
#define COLORS_RESET "\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b]112\x1b\\"
/* The same on the Linux console; any other terminal reads an open OSC. */
#define COLORS_RESET_LINUX "\x1b]R"
#define COLOR_OFF "\x1b[0m"
/* Text of the run below and beside the lines that follow. */
#define ERASE_BELOW "\x1b[J"

/* Appends the sequences that end an open string, make text visible and restore
 * the default modes; nothing if the output had no control sequence. term: the
 * terminal's type, as in TERM. */
static void ttymodes_undo(const struct ttymodes *m, const char *term,
			  struct buf *to)
{
	size_t i;

	if (!m->has_controls)
		return;
	buf_add_text(to, SEQUENCE_END MODES_RESET);
	/* The alternate screen has its own keyboard flags. */
	if (m->key_set || m->key_depth)
		buf_add_text(to, KEYS_OFF);
	for (i = 0; i < KNOWN; i++)
		if (m->changed & 1U << i)
			buf_printf(to, "\x1b[?%u%c", known[i].number,
				   known[i].on ? 'h' : 'l');
	if (m->key_set || m->key_depth)
		buf_add_text(to, KEYS_OFF);
	if (m->other_keys)
		buf_add_text(to, "\x1b[>4m");
	if (m->insert)
		buf_add_text(to, "\x1b[4l");
	/* Resets the scroll region and keeps the cursor. */
	if (m->region)
		buf_add_text(to, "\0337\033[r\0338");
	if (m->keypad)
		buf_add_text(to, "\x1b>");
	buf_add_text(to, CHARSET_RESET);
	buf_add_text(to, strcmp(term, "linux") == 0 ? COLORS_RESET_LINUX
						    : LINK_END COLORS_RESET);
	buf_add_text(to, COLOR_OFF ERASE_BELOW);
}

/* Small, so that a slow reader throttles a fast writer. */
#define PIPE_LEN 16384

struct tty_pipe {
	/* the first byte is reserved for a CR that is held back */
	char data[PIPE_LEN];
	size_t start, len;
};

struct tty {
	int in_fd, out_fd; /* borrowed from the caller */
	int master_fd;
	bool pipeline, wanted; /* see struct setup */
	bool raw; /* saved has the modes from before */
	bool in_end; /* end of input */
	bool held; /* input is not read */
	bool after_cr; /* a CR is held back: see read_run_output() */
	bool title_saved; /* on the terminal's own stack */
	struct termios saved;
	struct tty_pipe in, out; /* to the run; to the terminal */
	struct ttymodes modes;
	/* Replies to the query CSI 5 n. */
	unsigned int status_answers;
	char last_typed;
};

struct tty *tty_find(bool ret_replace[3], bool *ret_pipeline)
{
	static const int out_first[] = {1, 2, 0};
	bool any = false;
	struct tty *t;
	int in = -1, out = -1, i;

	for (i = 0; i < 3; i++) {
		ret_replace[i] = isatty(i);
		any = any || ret_replace[i];
		if (ret_replace[i] && in < 0 &&
		    (fcntl(i, F_GETFL) & O_ACCMODE) != O_WRONLY)
			in = i;
	}
	for (i = 0; i < 3 && out < 0; i++)
		if (ret_replace[out_first[i]] &&
		    (fcntl(out_first[i], F_GETFL) & O_ACCMODE) != O_RDONLY)
			out = out_first[i];
	if (!any)
		return NULL;
	*ret_pipeline = !ret_replace[0] || !ret_replace[1];
	t = mem_zalloc(sizeof(*t));
	t->in_fd = in;
	t->out_fd = out;
	t->master_fd = -1;
	t->pipeline = *ret_pipeline;
	return t;
}

void tty_free(struct tty **t)
{
	if (!*t)
		return;
	fd_close(&(*t)->master_fd);
	free(*t);
	*t = NULL;
}

static int terminal_fd(const struct tty *t)
{
	return t->in_fd >= 0 ? t->in_fd : t->out_fd;
}

/* True also for a terminal that is not guard's controlling terminal. */
static bool in_foreground(const struct tty *t)
{
	pid_t group = tcgetpgrp(terminal_fd(t));

	return group < 0 || group == getpgrp();
}

void tty_attach(struct tty *t, int master_fd)
{
	struct termios modes;

	t->master_fd = master_fd;
	(void)fcntl(master_fd, F_SETFL, O_NONBLOCK);
	if (tcgetattr(terminal_fd(t), &modes) == 0) {
		/* Another program set the current modes: a shell at its prompt,
		 * a pager. */
		if (t->pipeline || !in_foreground(t)) {
			modes.c_iflag |= ICRNL | IXON | BRKINT;
			modes.c_iflag &= ~(tcflag_t)(INLCR | IGNCR);
			modes.c_oflag |= OPOST | ONLCR;
			modes.c_lflag |= ICANON | ISIG | IEXTEN | ECHO | ECHOE |
					 ECHOK | ECHOCTL | ECHOKE;
		}
		(void)tcsetattr(master_fd, TCSANOW, &modes);
	}
	tty_resize(t);
}

void tty_resize(struct tty *t)
{
	struct winsize size;

	if (ioctl(terminal_fd(t), TIOCGWINSZ, &size) == 0)
		(void)ioctl(t->master_fd, TIOCSWINSZ, &size);
}

/* ---- buffers ---- */

/* Returns false at end of file or without data. */
static bool fill_tty_pipe(struct tty_pipe *p, int fd)
{
	ssize_t n = read(fd, p->data + 1, sizeof(p->data) - 1);

	if (n <= 0)
		return false;
	p->start = 1;
	p->len = (size_t)n;
	return true;
}

/* Writes at most len bytes at once. */
static bool write_tty_pipe(struct tty_pipe *p, int fd, size_t len)
{
	ssize_t n = write(fd, p->data + p->start, p->len < len ? p->len : len);

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	p->start += (size_t)n;
	p->len -= (size_t)n;
	return true;
}

/* Called before the modes change: the line ends in the buffer fit the current
 * modes. */
static void flush_output(struct tty *t)
{
	while (t->out.len && write_tty_pipe(&t->out, t->out_fd, PIPE_LEN))
		;
	t->out.len = 0;
}

/* ---- terminal modes ---- */

/* Blocks SIGTTOU: from the background the call would stop guard. */
static int set_terminal_modes(const struct tty *t, int when,
			      const struct termios *modes)
{
	sigset_t set, before;
	int rc;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTTOU);
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	do
		rc = tcsetattr(terminal_fd(t), when, modes);
	while (rc < 0 && errno == EINTR);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return rc;
}

/* Reads lines that were typed before. In raw mode the kernel would return a
 * pending end of file as a NUL byte. */
static void read_typed_lines(struct tty *t)
{
	struct pollfd p = {.fd = t->in_fd, .events = POLLIN};
	struct termios inside;
	struct tty_pipe *in = &t->in;
	size_t at;

	if (!(t->saved.c_lflag & ICANON) ||
	    tcgetattr(t->master_fd, &inside) < 0)
		return;
	if (!in->len)
		in->start = 1;
	while ((at = in->start + in->len) < sizeof(in->data) &&
	       poll(&p, 1, 0) > 0 && p.revents == POLLIN) {
		ssize_t n =
			read(t->in_fd, in->data + at, sizeof(in->data) - at);

		if (n < 0)
			return;
		if (n == 0)
			in->data[at] = (char)inside.c_cc[VEOF];
		in->len += n ? (size_t)n : 1;
	}
}

void tty_enter(struct tty *t)
{
	struct termios modes;

	tty_resize(t);
	if (t->raw || (t->pipeline && !t->wanted) || t->in_fd < 0 ||
	    !in_foreground(t) || tcgetattr(t->in_fd, &t->saved) < 0)
		return;
	flush_output(t);
	read_typed_lines(t);
	modes = t->saved;
	cfmakeraw(&modes);
	if (set_terminal_modes(t, TCSADRAIN, &modes) == 0)
		t->raw = true;
}

void tty_hold(struct tty *t, bool on)
{
	t->held = on;
}

void tty_want_input(struct tty *t)
{
	t->wanted = true;
	tty_enter(t);
}

/* CSI 0 n means no malfunction, CSI 3 n a malfunction. */
static void count_answers(struct tty *t, const char *bytes, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (bytes[i] == 'n' &&
		    (t->last_typed == '0' || t->last_typed == '3'))
			t->status_answers++;
		t->last_typed = bytes[i];
	}
}

/* The run may have sent a query just before it ended; a shell would read the
 * reply as input. A query of guard's own is answered last. A terminal without a
 * reply costs 300 ms. */
static void discard_answers(struct tty *t)
{
	struct pollfd p = {.fd = t->in_fd, .events = POLLIN};
	char bytes[256];

	if (!t->modes.has_query || t->out_fd < 0 ||
	    fd_write(t->out_fd, "\x1b[5n", 4) < 0)
		return;
	/* The run may have sent the same query. */
	while (t->status_answers <= t->modes.status_queries &&
	       poll(&p, 1, 300) > 0) {
		ssize_t n = read(t->in_fd, bytes, sizeof(bytes));

		if (n <= 0)
			return;
		count_answers(t, bytes, (size_t)n);
	}
}

static const char *terminal_type(void)
{
	const char *term = getenv("TERM");

	return term ? term : "";
}

/* Saves the window's title before the run's first output, because a later
 * sequence could split one of the run's. Terminals without a title may print
 * the sequence. */
static void save_title(struct tty *t)
{
	const char *term = terminal_type();

	if (t->title_saved || t->out_fd < 0 || !*term ||
	    strcmp(term, "dumb") == 0 || strcmp(term, "linux") == 0 ||
	    !in_foreground(t))
		return;
	t->title_saved = true;
	(void)fd_write(t->out_fd, "\x1b[22;0t", 7);
}

/* In the background another program may have set modes of its own. guard's own
 * lines follow there, too. */
static void reset_terminal(struct tty *t)
{
	AUTO(buf) struct buf undo = {0};
	bool foreground = in_foreground(t);

	if (foreground)
		ttymodes_undo(&t->modes, terminal_type(), &undo);
	else if (t->modes.has_controls)
		buf_add_text(&undo, SEQUENCE_END COLOR_OFF ERASE_BELOW);
	if (t->title_saved && foreground)
		buf_add_text(&undo, "\x1b[23;0t");
	if (undo.len && t->out_fd >= 0)
		(void)fd_write(t->out_fd, undo.data, undo.len);
}

static void leave_raw_mode(struct tty *t, bool final)
{
	if (final)
		discard_answers(t);
	if (in_foreground(t))
		(void)set_terminal_modes(t, final ? TCSAFLUSH : TCSADRAIN,
					 &t->saved);
	t->raw = false;
}

void tty_leave(struct tty *t, bool final)
{
	flush_output(t);
	if (final)
		reset_terminal(t);
	if (t->raw)
		leave_raw_mode(t, final);
	if (final) {
		t->modes = (struct ttymodes){0};
		t->status_answers = 0;
		t->title_saved = false;
	}
}

/* ---- the relay ---- */

static bool reads_input(const struct tty *t)
{
	return t->raw && !t->held && !t->in_end && t->in.len == 0;
}

bool tty_takes_lines(const struct tty *t)
{
	struct termios modes;

	return tcgetattr(t->master_fd, &modes) < 0 || modes.c_lflag & ICANON;
}

/* A shell's fg sends no signal to a process that is already running. */
bool tty_awaits_foreground(const struct tty *t)
{
	return !t->raw && !t->in_end && t->in_fd >= 0 &&
	       (t->wanted || !t->pipeline);
}

size_t tty_poll(struct tty *t, struct pollfd *fds)
{
	short master = 0;

	/* Another process may have the terminal by now. */
	if (t->raw && !in_foreground(t))
		t->raw = false;
	if (tty_awaits_foreground(t))
		tty_enter(t);
	if (t->out.len == 0)
		master |= POLLIN;
	if (t->in.len)
		master |= POLLOUT;
	fds[0] = (struct pollfd){.fd = master ? t->master_fd : -1,
				 .events = master};
	/* poll(2) reports a hangup without any event. */
	fds[1] = (struct pollfd){.fd = t->in_end ? -1 : t->in_fd,
				 .events = reads_input(t) ? POLLIN : 0};
	fds[2] = (struct pollfd){.fd = t->out.len ? t->out_fd : -1,
				 .events = POLLOUT};
	return 3;
}

static void read_run_output(struct tty *t)
{
	struct tty_pipe *p = &t->out;

	if (!fill_tty_pipe(p, t->master_fd))
		return;
	save_title(t);
	ttymodes_read(&t->modes, p->data + p->start, p->len);
	/* The run's terminal ends lines with CR LF, and so does the caller's,
	 * unless it is raw: then one CR is dropped. A CR at the end is held
	 * back until the next byte. */
	if (!t->raw || t->after_cr) {
		char *from = p->data + p->start, *end = from + p->len;
		char *to = p->data;

		for (; from < end; from++) {
			if (t->after_cr && *from != '\n')
				*to++ = '\r';
			t->after_cr = *from == '\r' && !t->raw;
			if (!t->after_cr)
				*to++ = *from;
		}
		p->start = 0;
		p->len = (size_t)(to - p->data);
	}
	if (t->out_fd < 0)
		t->out.len = 0;
}

/*
 * Handles a hangup of the terminal. guard relays SIGHUP to a command in the
 * foreground. A command in the background reads end of file, so that it does
 * not wait for ever. A program in raw mode has no end of file: its own terminal
 * hangs up as well.
 */
static void end_input(struct tty *t)
{
	struct termios modes;

	t->in_end = true;
	if (tcgetattr(t->master_fd, &modes) == 0 && modes.c_lflag & ICANON) {
		(void)!write(t->master_fd, &modes.c_cc[VEOF], 1);
		return;
	}
	fd_close(&t->master_fd);
	t->in.len = 0;
}

void tty_relay(struct tty *t, const struct pollfd *fds, size_t count)
{
	if (count < 3)
		return;
	if (fds[0].fd >= 0 && fds[0].revents & POLLOUT)
		(void)write_tty_pipe(&t->in, t->master_fd, PIPE_LEN);
	if (fds[0].fd >= 0 && fds[0].revents & POLLIN)
		read_run_output(t);
	if (fds[1].fd >= 0 && fds[1].revents & POLLIN && reads_input(t)) {
		if (!fill_tty_pipe(&t->in, t->in_fd))
			end_input(t);
		else if (t->modes.status_queries)
			count_answers(t, t->in.data + t->in.start, t->in.len);
	} else if (fds[1].fd >= 0 && fds[1].revents) {
		end_input(t);
	}
	if (fds[2].fd >= 0 && fds[2].revents &&
	    !write_tty_pipe(&t->out, t->out_fd, 4096))
		t->out.len = 0;
}

void tty_drain(struct tty *t)
{
	if (t->master_fd < 0)
		return;
	do {
		flush_output(t);
		read_run_output(t);
	} while (t->out.len);
	if (t->after_cr)
		(void)fd_write(t->out_fd, "\r", 1);
	t->after_cr = false;
}
