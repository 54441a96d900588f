#include "guard/agent/settings.h"

#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "restore/parse/parse.h"

static void add_members(struct buf *to, const struct members *m)
{
	enc_text(to, m->file);
	enc_text(to, m->data);
	enc_text(to, m->project);
}

bool settings_compare(const struct members *m, const struct buf *before,
		      const struct buf *now, members_visit *each, void *arg)
{
	AUTO(buf) struct buf members = {0}, answer = {0};
	size_t count = 0, max;
	struct err ignored;
	struct dec d;

	add_members(&members, m);
	if (parse_call(PARSE_MEMBERS,
		       (struct parse_text[]){parse_text_of(&members),
					     parse_text_of(before),
					     parse_text_of(now)},
		       3, &answer, &ignored) < 0)
		return false;
	d = dec_start(answer.data, answer.len);
	if (dec_u8(&d) != 1)
		return false;
	/* More members than bytes are an invalid answer. */
	max = (before ? before->len : 0) + (now ? now->len : 0);
	while (d.at < d.end && !d.bad) {
		char letter = (char)dec_u8(&d);
		auto_free char *member = dec_text(&d);

		d.bad |= count++ > max;

		if (!d.bad && letter && strchr("AMDamd", letter))
			each(arg, letter, member);
	}
	if (d.bad)
		(void)parse_refuse(&ignored);
	return !d.bad;
}

/* u8: 1 and a text, or 0. */
static int take_new_text(const struct buf *answer, struct buf *ret,
			 struct err *err)
{
	if (!answer->len || answer->data[0] > 1 ||
	    (answer->data[0] == 0 && answer->len > 1))
		return parse_refuse(err);
	buf_add(ret, answer->data + 1, answer->len - 1);
	return answer->data[0];
}

int settings_undo(const struct members *m, const struct buf *before,
		  const struct buf *after, const struct buf *now,
		  struct buf *ret, struct err *err)
{
	AUTO(buf) struct buf members = {0}, answer = {0};

	add_members(&members, m);
	if (parse_call(PARSE_MEMBERS_UNDO,
		       (struct parse_text[]){
			       parse_text_of(&members), parse_text_of(before),
			       parse_text_of(after), parse_text_of(now)},
		       4, &answer, err) < 0)
		return -err->num;
	return take_new_text(&answer, ret, err);
}

static struct parse_text input_of(const char *text)
{
	return (struct parse_text){text, strlen(text)};
}

int settings_merge(const char *name, const struct buf *real,
		   const struct buf *copy, struct buf *ret, struct err *err)
{
	AUTO(buf) struct buf answer = {0};

	if (parse_call(PARSE_MEMBERS_MERGE,
		       (struct parse_text[]){input_of(name),
					     parse_text_of(real),
					     parse_text_of(copy)},
		       3, &answer, err) < 0)
		return -err->num;
	return take_new_text(&answer, ret, err);
}

int settings_add(const char *file, const struct buf *text, const char *wanted,
		 const char *project, struct buf *ret, struct err *err)
{
	AUTO(buf) struct buf answer = {0};

	if (parse_call(PARSE_MEMBERS_ADD,
		       (struct parse_text[]){parse_text_of(text),
					     input_of(wanted),
					     input_of(project), input_of(file)},
		       4, &answer, err) < 0)
		return -err->num;
	return take_new_text(&answer, ret, err);
}

bool settings_member_is(const struct buf *text, const char *key,
			const char *value)
{
	AUTO(buf) struct buf answer = {0};
	struct err ignored;

	return parse_call(PARSE_MEMBER_IS,
			  (struct parse_text[]){parse_text_of(text),
						input_of(key), input_of(value)},
			  3, &answer, &ignored) == 0 &&
	       answer.len == 1 && answer.data[0] == 1;
}

void settings_texts(const struct members *m, struct buf *file,
		    void (*each)(void *arg, const char *text), void *arg)
{
	AUTO(buf) struct buf members = {0}, answer = {0};
	struct err ignored;
	size_t count = 0;
	struct dec d;

	add_members(&members, m);
	if (parse_call(PARSE_MEMBER_TEXTS,
		       (struct parse_text[]){parse_text_of(&members),
					     parse_text_of(file)},
		       2, &answer, &ignored) < 0) {
		each(arg, buf_text(file));
		return;
	}
	d = dec_start(answer.data, answer.len);
	while (d.at < d.end && !d.bad) {
		auto_free char *text = dec_text(&d);

		d.bad |= count++ > file->len;

		if (!d.bad)
			each(arg, text);
	}
	if (d.bad)
		(void)parse_refuse(&ignored);
}
