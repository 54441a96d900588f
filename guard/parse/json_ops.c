#include "guard/parse/json_ops.h"

#include <stdlib.h>

#include "base/auto.h"
#include "base/codec.h"
#include "guard/agent/members.h"

/* The three texts of a struct members, to be freed. */
struct given {
	char *file, *data, *project;
};

static void given_free(struct given *g)
{
	free(g->file);
	free(g->data);
	free(g->project);
}

static struct given read_given(const struct parse_text *text)
{
	struct dec d = dec_start(text->data, text->len);
	struct given g;

	g.file = dec_text(&d);
	g.data = dec_text(&d);
	g.project = dec_text(&d);
	return g;
}

static void add_member(void *arg, char letter, const char *name)
{
	enc_u8(arg, (uint8_t)letter);
	enc_text(arg, name);
}

int json_ops_members(const struct parse_text *in, struct buf *ret,
		     struct err *err)
{
	AUTO(given) struct given g = read_given(&in[0]);
	const struct members m = {g.file, g.data, g.project};
	AUTO(buf) struct buf before = {0}, now = {0}, found = {0};

	(void)err;
	buf_add(&before, in[1].data, in[1].len);
	buf_add(&now, in[2].data, in[2].len);
	enc_u8(ret,
	       members_compare(&m, in[1].data ? &before : NULL,
			       in[2].data ? &now : NULL, add_member, &found));
	buf_add(ret, found.data, found.len);
	return 0;
}

static void add_member_text(void *arg, const char *text)
{
	enc_text(arg, text);
}

int json_ops_member_texts(const struct parse_text *in, struct buf *ret,
			  struct err *err)
{
	AUTO(given) struct given g = read_given(&in[0]);
	const struct members m = {g.file, g.data, g.project};
	AUTO(buf) struct buf file = {0};

	(void)err;
	buf_add(&file, in[1].data, in[1].len);
	members_texts(&m, &file, add_member_text, ret);
	return 0;
}
