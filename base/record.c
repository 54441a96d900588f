#include "base/record.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"

#define RECORD_MAX (16u << 20)

void record_free(struct record *r)
{
	size_t i;

	for (i = 0; i < r->count; i++) {
		free(r->items[i].key);
		free(r->items[i].value);
	}
	free(r->items);
	*r = (struct record){0};
}

void record_add(struct record *r, const char *key, const char *value)
{
	*VEC_ADD(r) = (struct record_item){
		.key = mem_strdup(key),
		.value = mem_strdup(value),
	};
}

const char *record_get_nth(const struct record *r, const char *key, size_t n)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(r->items[i].key, key) == 0 && n-- == 0)
			return r->items[i].value;
	return NULL;
}

bool record_has(const struct record *r, const char *key, const char *value)
{
	size_t i;

	for (i = 0; i < r->count; i++)
		if (strcmp(r->items[i].key, key) == 0 &&
		    strcmp(r->items[i].value, value) == 0)
			return true;
	return false;
}

const char *record_get(const struct record *r, const char *key)
{
	return record_get_nth(r, key, 0);
}

int64_t record_get_int(const struct record *r, const char *key)
{
	const char *text = record_get(r, key);

	return text ? strtoll(text, NULL, 10) : 0;
}

void record_set(struct record *r, const char *key, const char *value)
{
	size_t kept = 0, i;
	bool done = !value;

	for (i = 0; i < r->count; i++) {
		struct record_item *item = &r->items[i];

		if (strcmp(item->key, key) != 0) {
			r->items[kept++] = *item;
		} else if (!done) {
			char *copy = mem_strdup(value);

			free(item->value);
			item->value = copy;
			r->items[kept++] = *item;
			done = true;
		} else {
			free(item->key);
			free(item->value);
		}
	}
	r->count = kept;
	if (!done)
		record_add(r, key, value);
}

void record_set_int(struct record *r, const char *key, int64_t value)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%" PRId64, value);
	record_set(r, key, text);
}

void record_encode(const struct record *r, const char *kind, int version,
		   struct buf *to)
{
	size_t i;

	buf_printf(to, "guard-%s %d\n", kind, version);
	for (i = 0; i < r->count; i++) {
		const char *value = r->items[i].value;

		buf_printf(to, "%s=", r->items[i].key);
		for (; *value; value++) {
			if (*value == '\n')
				buf_add_text(to, "\\n");
			else if (*value == '\r')
				buf_add_text(to, "\\r");
			else if (*value == '\\')
				buf_add_text(to, "\\\\");
			else
				buf_add_char(to, *value);
		}
		buf_add_char(to, '\n');
	}
}

int record_save(int dirfd, const char *name, const char *kind, int version,
		const struct record *r, enum atomic_durability how,
		struct err *err)
{
	AUTO(buf) struct buf b = {0};

	record_encode(r, kind, version, &b);
	return atomic_write(dirfd, name, b.data, b.len, 0600, how, err);
}

int record_put(int dirfd, const char *name, const char *kind, int version,
	       const struct record *r, struct atomic_set *to, struct err *err)
{
	AUTO(buf) struct buf b = {0};

	record_encode(r, kind, version, &b);
	return atomic_set_write(to, dirfd, name, b.data, b.len, 0600, err);
}

/* Reverses the escapes of record_encode() in place; false for an invalid
 * backslash. */
static bool unescape_record_value(char *value)
{
	char *to = value;

	for (; *value; value++) {
		if (*value != '\\') {
			*to++ = *value;
			continue;
		}
		value++;
		if (*value == 'n')
			*to++ = '\n';
		else if (*value == 'r')
			*to++ = '\r';
		else if (*value == '\\')
			*to++ = '\\';
		else
			return false;
	}
	*to = '\0';
	return true;
}

static int parse_record(char *text, struct record *r)
{
	while (*text) {
		char *end = strchr(text, '\n');
		char *equals;

		if (!end)
			return -1;
		*end = '\0';
		equals = strchr(text, '=');
		if (!equals || equals == text)
			return -1;
		*equals = '\0';
		if (!unescape_record_value(equals + 1))
			return -1;
		record_add(r, text, equals + 1);
		text = end + 1;
	}
	return 0;
}

int record_set_aside(int dirfd, const char *name, struct err *err)
{
	auto_free char *aside = mem_printf("%s.damaged", name);

	if (renameat(dirfd, name, dirfd, aside) < 0)
		return fail(err, ENOENT,
			    "%s is damaged, by a power cut or a failing disk",
			    text_quote(name));
	return fail(err, ENOENT,
		    "%s was damaged, by a power cut or a failing disk, and is "
		    "kept as %s",
		    text_quote(name), text_quote(aside));
}

int record_decode(struct buf *bytes, const char *name, const char *kind,
		  int version, struct record *ret, struct err *err)
{
	AUTO(record) struct record r = {0};
	auto_free char *head = mem_printf("guard-%s ", kind);
	char *text = (char *)(uintptr_t)buf_text(bytes), *rest;
	long found;

	if (strlen(text) != bytes->len ||
	    strncmp(text, head, strlen(head)) != 0)
		return fail(err, EBADMSG, "%s is not a %s record",
			    text_quote(name), kind);
	found = strtol(text + strlen(head), &rest, 10);
	if (*rest != '\n' || found < 1)
		return fail(err, EBADMSG, "%s is damaged", text_quote(name));
	if (found > version)
		return fail(err, EPROTO,
			    "%s was written by a newer guard (format %ld; this "
			    "guard reads up to %d): update guard",
			    text_quote(name), found, version);
	if (parse_record(rest + 1, &r) < 0)
		return fail(err, EBADMSG, "%s is damaged", text_quote(name));
	*ret = TAKE(r);
	return 0;
}

int record_load(int dirfd, const char *name, const char *kind, int version,
		struct record *ret, struct err *err)
{
	AUTO(buf) struct buf b = {0};

	if (fd_slurp_at(dirfd, name, RECORD_MAX, &b, err) < 0)
		return -err->num;
	return record_decode(&b, name, kind, version, ret, err);
}
