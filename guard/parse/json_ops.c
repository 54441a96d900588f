#include "guard/parse/json_ops.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/codec.h"
#include "guard/agent/members.h"
#include "guard/agent/redact.h"
#include "base/settings.h"

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

int json_ops_members_undo(const struct parse_text *in, struct buf *ret,
			  struct err *err)
{
	AUTO(given) struct given g = read_given(&in[0]);
	const struct members m = {g.file, g.data, g.project};
	AUTO(buf) struct buf before = {0}, after = {0}, now = {0}, text = {0};

	(void)err;
	buf_add(&before, in[1].data, in[1].len);
	buf_add(&after, in[2].data, in[2].len);
	buf_add(&now, in[3].data, in[3].len);
	enc_u8(ret, members_undo(&m, in[1].data ? &before : NULL, &after, &now,
				 &text));
	buf_add(ret, text.data, text.len);
	return 0;
}

int json_ops_members_add(const struct parse_text *in, struct buf *ret,
			 struct err *err)
{
	auto_free char *wanted = mem_strndup(in[1].data, in[1].len);
	auto_free char *project = mem_strndup(in[2].data, in[2].len);
	auto_free char *name = mem_strndup(in[3].data, in[3].len);
	AUTO(buf) struct buf file = {0}, text = {0};

	(void)err;
	buf_add(&file, in[0].data, in[0].len);
	enc_u8(ret, members_add(name, in[0].data ? &file : NULL, wanted,
				project, &text));
	buf_add(ret, text.data, text.len);
	return 0;
}

int json_ops_members_merge(const struct parse_text *in, struct buf *ret,
			   struct err *err)
{
	auto_free char *name = mem_strndup(in[0].data, in[0].len);
	AUTO(buf) struct buf real = {0}, copy = {0}, text = {0};
	int got;

	buf_add(&real, in[1].data, in[1].len);
	buf_add(&copy, in[2].data, in[2].len);
	got = redact_merge(name, &real, &copy, &text);
	if (got < 0)
		return fail(err, -got, "the files differ too much");
	enc_u8(ret, (uint8_t)got);
	if (got)
		buf_add(ret, text.data, text.len);
	return 0;
}

int json_ops_member_is(const struct parse_text *in, struct buf *ret,
		       struct err *err)
{
	auto_free char *key = mem_strndup(in[1].data, in[1].len);
	auto_free char *value = mem_strndup(in[2].data, in[2].len);
	AUTO(buf) struct buf file = {0};

	(void)err;
	buf_add(&file, in[0].data, in[0].len);
	enc_u8(ret, members_value_is(&file, key, value));
	return 0;
}

/* --- values with their paths --- */

#define LINES_MAX (64u << 20)

/* Editors end a line there, and JavaScript, too. */
static bool ends_json_line(const char *at)
{
	return !*at || *at == '\n' || *at == '\r' ||
	       strncmp(at, "\u2028", 3) == 0 || strncmp(at, "\u2029", 3) == 0;
}

/* Blanks for the comments and last commas that settings of editors have. */
static void blank_json_comments(char *text)
{
	char *at = text, *comma = NULL;

	while (*at) {
		if (*at == '"') {
			comma = NULL;
			for (at++; *at && *at != '"'; at++)
				at += *at == '\\' && at[1];
			at += *at == '"';
		} else if (at[0] == '/' && at[1] == '/') {
			while (!ends_json_line(at))
				*at++ = ' ';
		} else if (at[0] == '/' && at[1] == '*') {
			while (*at && !(at[0] == '*' && at[1] == '/'))
				*at++ = ' ';
			if (*at)
				at[0] = at[1] = ' ';
		} else {
			if ((*at == '}' || *at == ']') && comma)
				*comma = ' ';
			if (!isspace((unsigned char)*at))
				comma = *at == ',' ? at : NULL;
			at++;
		}
	}
}

/* False: too much. */
static bool add_values(const char *path, json_t *value, struct buf *ret)
{
	const char *key;
	json_t *item;
	size_t i;

	if (ret->len > LINES_MAX)
		return false;
	if (!json_object_size(value) && !json_array_size(value)) {
		auto_free char *dumped =
			json_is_string(value)
				? mem_strdup(json_string_value(value))
				: json_dumps(value, JSON_ENCODE_ANY);

		buf_add_text(ret, path);
		buf_add_char(ret, '\0');
		buf_add_text(ret, dumped ? dumped : "");
		buf_add_char(ret, '\0');
		return true;
	}
	json_object_foreach(value, key, item)
	{
		auto_free char *below = settings_place(path, key, strlen(key));

		if (!add_values(below, item, ret))
			return false;
	}
	/* Entries of an array have its path: an entry before them moves none.
	 */
	json_array_foreach(value, i,
			   item) if (!add_values(path, item, ret)) return false;
	return true;
}

int json_ops_lines(const struct parse_text *in, struct buf *ret,
		   struct err *err)
{
	auto_free char *copy = mem_strndup(in[0].data, in[0].len);
	/* Tools disagree on which of two equal keys counts. */
	const size_t flags = JSON_DECODE_ANY | JSON_REJECT_DUPLICATES;
	json_t *value = json_loads(copy, flags, NULL);
	bool all;

	if (!value) {
		blank_json_comments(copy);
		value = json_loads(copy, flags, NULL);
	}
	enc_u8(ret, value != NULL);
	all = !value || add_values("", value, ret);
	json_decref(value);
	return all ? 0 : fail(err, E2BIG, "it has too many long names");
}
