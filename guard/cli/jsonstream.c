#include "guard/cli/jsonstream.h"

#include <stdio.h>
#include <string.h>

static void print_line_break(unsigned int depth)
{
	(void)printf("\n%*s", (int)(2 * depth), "");
}

static void begin_member(struct jsonstream *j, const char *key)
{
	if (j->any)
		(void)putchar(',');
	if (j->depth)
		print_line_break(j->depth);
	j->any = true;
	if (key)
		(void)printf("\"%s\": ", key);
}

void jsonstream_open(struct jsonstream *j, const char *key, char bracket)
{
	begin_member(j, key);
	(void)putchar(bracket);
	j->depth++;
	j->any = false;
}

/* A DEL is ASCII for jansson, and a control character for a terminal. It is in
 * texts only, where \u007f means the same. */
static void write_json(const char *text, size_t len)
{
	const char *end = text + len, *del;

	for (; (del = memchr(text, 0x7f, (size_t)(end - text)));
	     text = del + 1) {
		(void)fwrite(text, 1, (size_t)(del - text), stdout);
		(void)fputs("\\u007f", stdout);
	}
	(void)fwrite(text, 1, (size_t)(end - text), stdout);
}

static int write_as_it_is(const char *text, size_t len, void *arg)
{
	(void)arg;
	write_json(text, len);
	return 0;
}

/* The lines of a value are in by as much as the value is: no text in JSON has
 * a line feed of its own. */
static int write_indented(const char *text, size_t len, void *arg)
{
	const struct jsonstream *j = arg;

	while (len) {
		const char *feed = memchr(text, '\n', len);
		size_t part = feed ? (size_t)(feed - text) : len;

		write_json(text, part);
		if (feed)
			print_line_break(j->depth);
		text += part + (feed != NULL);
		len -= part + (feed != NULL);
	}
	return 0;
}

void jsonstream_put(struct jsonstream *j, const char *key, json_t *value)
{
	begin_member(j, key);
	(void)json_dump_callback(value, write_indented, j,
				 JSON_INDENT(2) | JSON_ENSURE_ASCII |
					 JSON_ENCODE_ANY);
	json_decref(value);
}

void jsonstream_begin(struct jsonstream *j, json_t *object)
{
	const char *key;
	json_t *value;

	jsonstream_open(j, NULL, '{');
	json_object_foreach(object, key, value)
	{
		jsonstream_put(j, key, json_incref(value));
	}
	json_decref(object);
}

void jsonstream_close(struct jsonstream *j, char bracket)
{
	j->depth--;
	if (j->any)
		print_line_break(j->depth);
	(void)putchar(bracket);
	j->any = true;
	if (!j->depth)
		(void)putchar('\n');
}

void jsonstream_print(json_t *value)
{
	(void)json_dump_callback(value, write_as_it_is, NULL,
				 JSON_INDENT(2) | JSON_ENSURE_ASCII);
	(void)fputc('\n', stdout);
	json_decref(value);
}

void jsonstream_line(json_t *value)
{
	(void)json_dump_callback(value, write_as_it_is, NULL,
				 JSON_COMPACT | JSON_ENSURE_ASCII);
	(void)fputc('\n', stdout);
	json_decref(value);
}

void jsonstream_print_list(const char *schema, const char *key, json_t *list)
{
	jsonstream_print(json_pack("{s:s, s:o}", "schema", schema, key, list));
}
