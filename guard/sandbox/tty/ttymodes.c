#include "guard/sandbox/tty/ttymodes.h"

#include <string.h>

/* DEC private modes and their initial state. The alternate screen comes last:
 * leaving it restores the cursor. */
static const struct {
	unsigned int number;
	bool on;
} known[] = {
	{1, false},    {5, false},    {6, false},    {7, true},
	{9, false},    {25, true},    {66, false},   {1000, false},
	{1001, false}, {1002, false}, {1003, false}, {1004, false},
	{1005, false}, {1006, false}, {1015, false}, {1016, false},
	{2004, false}, {2026, false}, {2031, false}, {2048, false},
	{47, false},   {1047, false}, {1049, false},
};

/* Pops all entries of the stack, then clears the flags below it. */
#define KEYS_OFF "\x1b[<99u\x1b[=0u"

#define KNOWN (sizeof(known) / sizeof(*known))

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
	case 'm':
		m->colors = m->count > 0 || first != 0;
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
	case '(':
		m->state = TTY_CHARSET;
		break;
	case ']':
	case 'P':
	case '_':
	case '^':
		/* OSC, DCS and similar: terminals reply to many of them. */
		m->state = TTY_STRING;
		m->has_query = true;
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
		*m = (struct ttymodes){.has_query = m->has_query,
				       .status_queries = m->status_queries};
		break;
	default:
		break;
	}
}

void ttymodes_read(struct ttymodes *m, const void *data, size_t len)
{
	const unsigned char *at = data, *end = at + len;

	for (; at < end; at++) {
		switch (m->state) {
		case TTY_TEXT:
			if (*at == 0x1b)
				m->state = TTY_ESC;
			else if (*at == 0x0e || *at == 0x0f)
				m->shifted = *at == 0x0e;
			else if (*at == 0x05)
				m->has_query = true;
			break;
		case TTY_ESC:
			read_escape(m, *at);
			break;
		case TTY_CSI:
			read_csi(m, *at);
			break;
		case TTY_CHARSET:
			m->charset = *at != 'B';
			m->state = TTY_TEXT;
			break;
		case TTY_STRING:
			/* Ends at BEL, or at ESC \, which is read as ESC. */
			if (*at == 0x07)
				m->state = TTY_TEXT;
			else if (*at == 0x1b)
				m->state = TTY_ESC;
			break;
		}
	}
}

void ttymodes_undo(const struct ttymodes *m, struct buf *to)
{
	size_t i;

	/* Ends an incomplete sequence. */
	if (m->state == TTY_STRING)
		buf_add_text(to, "\x1b\\");
	else if (m->state != TTY_TEXT)
		buf_add_text(to, "\x18");
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
	if (m->shifted)
		buf_add_text(to, "\x0f");
	if (m->keypad)
		buf_add_text(to, "\x1b>");
	if (m->charset)
		buf_add_text(to, "\x1b(B");
	if (m->colors)
		buf_add_text(to, "\x1b[0m");
}
