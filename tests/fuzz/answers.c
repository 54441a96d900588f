/*
 * Answers of the parsing worker, which a file of a run may have taken over. The
 * input: a byte that selects the operation, the lengths of two texts, the
 * texts, the answer. An accepted difference is one: with all hunks the old text
 * becomes the new one.
 */
#include <signal.h>
#include <sys/socket.h>

#include "guard/agent/settings.h"
#include "guard/rules/risk_private.h"
#include "restore/git/hunks.h"
#include "restore/git/similar.h"
#include "restore/git/textmerge.h"
#include "restore/parse/parse.h"
#include "restore/parse/parse_wire.h"
#include "tests/fuzz/fuzz.h"

static struct parse_text lie;
static uint32_t op, number;

/* A child that does nothing; its answer is in the socket before the request. */
static int start_liar(bool git, pid_t *ret_pid, int *ret_fd, struct err *err)
{
	struct parse_head head = {.op = op, .number = ++number};
	int pair[2];

	(void)git;
	(void)err;
	must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	*ret_pid = fork();
	if (*ret_pid == 0)
		for (;;)
			(void)pause();
	must(*ret_pid > 0);
	head.len[0] = lie.len;
	must(parse_wire_send(pair[1], &head, &lie, 1) == 0);
	/* Kept open: the request is sent before the answer is read. */
	static int far = -1;
	fd_close(&far);
	far = pair[1];
	*ret_fd = pair[0];
	return 0;
}

static void difference(const struct buf *old, const struct buf *now)
{
	AUTO(hunks) struct hunks h = {0};
	AUTO(buf) struct buf all = {0}, none = {0};
	struct err err;
	size_t i;

	op = PARSE_DIFF;
	if (hunks_make(old, now, &h, &err) != 0)
		return;
	hunks_compose(&h, old, &none);
	must(buf_same(&none, old));
	for (i = 0; i < h.count; i++)
		h.items[i].accepted = true;
	hunks_compose(&h, old, &all);
	must(buf_same(&all, now));
}

static void merge(const struct buf *old, const struct buf *now)
{
	const struct textmerge_sides sides = {old, old, now, "a", "b"};
	AUTO(buf) struct buf merged = {0};
	struct textmerge_parts parts = {0};
	struct err err;

	op = PARSE_MERGE;
	(void)textmerge(&sides, &merged, &err);
	parse_end();
	(void)textmerge_parts_make(&sides, &parts, &err);
	textmerge_parts_free(&parts);
}

static void similarity(const struct buf *old, const struct buf *now)
{
	AUTO(similar) struct similar s = {0};
	struct err err;
	int percent;

	op = PARSE_SIMILAR;
	percent = similar_percent(old, now, &err);
	must(percent < 100);
	parse_end();
	op = PARSE_SIGN;
	(void)similar_add(&s, old, &err);
	must(s.has.count <= 1);
}

static void see_member(void *arg, char letter, const char *member)
{
	(void)arg;
	must(letter && strchr("AMDamd", letter) && member);
}

static void see_text(void *arg, const char *text)
{
	must(text);
	++*(size_t *)arg;
}

static void settings(const struct buf *old, const struct buf *now)
{
	const struct members m = {"a.json", "", "/p"};
	AUTO(buf) struct buf file = {0}, undone = {0};
	struct err err;
	size_t count = 0;

	buf_add(&file, now->data, now->len);
	op = PARSE_MEMBERS;
	(void)settings_compare(&m, old, now, see_member, NULL);
	parse_end();
	op = PARSE_MEMBER_TEXTS;
	settings_texts(&m, &file, see_text, &count);
	parse_end();
	op = PARSE_MEMBERS_UNDO;
	must(settings_undo(&m, old, old, now, &undone, &err) == 1 ||
	     !undone.len);
}

static void values(const struct buf *old, const struct buf *now)
{
	AUTO(risk_lines) struct risk_lines lines = {0};
	struct err err;
	size_t i, len = 0;

	(void)now;
	op = PARSE_JSON_LINES;
	if (risk_lines_parse(SETTINGS_JSON, old, &lines, &err) > 0 && old->len)
		for (i = 0; i < lines.count; i++)
			len += strlen(lines.items[i].path) +
			       strlen(lines.items[i].text) + 2;
	must(len <= lie.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const struct parse_launcher launcher = {
		.start = start_liar,
		.processor = 60,
		.silence = 60,
	};
	static void (*const calls[])(const struct buf *, const struct buf *) = {
		difference, merge, similarity, settings, values};
	AUTO(buf) struct buf old = {0}, now = {0};
	struct dec d = dec_start(data, len);
	uint8_t which = dec_u8(&d), old_len = dec_u8(&d), now_len = dec_u8(&d);
	const unsigned char *a = dec_raw(&d, old_len);
	const unsigned char *b = a ? dec_raw(&d, now_len) : NULL;

	if (!b || d.end - d.at > PARSE_INLINE_MAX)
		return 0;
	buf_add(&old, a, old_len);
	buf_add(&now, b, now_len);
	lie = (struct parse_text){d.at, (size_t)(d.end - d.at)};
	parse_use(&launcher);
	calls[which % (sizeof(calls) / sizeof(*calls))](&old, &now);
	parse_end();
	return 0;
}
