#include "base/mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static void *check_allocated(void *pointer)
{
	if (!pointer)
		abort();
	return pointer;
}

void *mem_alloc(size_t len)
{
	return check_allocated(malloc(len ? len : 1));
}

void *mem_zalloc(size_t len)
{
	return check_allocated(calloc(1, len ? len : 1));
}

void *mem_resize(void *old, size_t count, size_t size)
{
	return check_allocated(reallocarray(old, count ? count : 1, size));
}

void *mem_dup(const void *data, size_t len)
{
	void *copy = mem_alloc(len);

	if (len)
		memcpy(copy, data, len);
	return copy;
}

void mem_random(void *to, size_t len)
{
	if (getrandom(to, len, 0) != (ssize_t)len)
		abort();
}

int mem_compare(const void *a, size_t a_len, const void *b, size_t b_len)
{
	size_t len = a_len < b_len ? a_len : b_len;
	int order = len ? memcmp(a, b, len) : 0;

	return order ? order : (a_len > b_len) - (a_len < b_len);
}

char *mem_strdup(const char *text)
{
	return text ? mem_dup(text, strlen(text) + 1) : NULL;
}

char *mem_strndup(const char *text, size_t len)
{
	char *copy = mem_alloc(len + 1);

	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

char *mem_vprintf(const char *format, va_list list)
{
	char *text;

	if (vasprintf(&text, format, list) < 0)
		abort();
	return text;
}

char *mem_printf(const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = mem_vprintf(format, list);
	va_end(list);
	return text;
}

void mem_list_add(char ***list, const char *text)
{
	size_t count = 0;

	while (*list && (*list)[count])
		count++;
	*list = mem_resize(*list, count + 2, sizeof(**list));
	(*list)[count] = mem_strdup(text);
	(*list)[count + 1] = NULL;
}

bool mem_list_has(union mem_texts list, const char *text)
{
	const char *const *at = list.constant;

	while (at && *at && strcmp(*at, text) != 0)
		at++;
	return at && *at;
}

bool mem_list_add_once(char ***list, const char *text)
{
	if (mem_list_has(*list, text))
		return false;
	mem_list_add(list, text);
	return true;
}

void mem_list_free(char ***list)
{
	char **at = *list;

	while (at && *at)
		free(*at++);
	free(*list);
	*list = NULL;
}

void names_free(struct names *t)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		free(t->items[i]);
	free(t->items);
	*t = (struct names){0};
}

void names_add(struct names *t, const char *text)
{
	GROW(t->items, t->count, t->capacity);
	t->items[t->count++] = mem_strdup(text);
}

bool names_have(const struct names *t, const char *text)
{
	size_t i;

	for (i = 0; i < t->count; i++)
		if (strcmp(t->items[i], text) == 0)
			return true;
	return false;
}

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

bool buf_has(const struct buf *b, const char *text)
{
	return b->len && memmem(b->data, b->len, text, strlen(text));
}

bool buf_same(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	       (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

void buf_clear(struct buf *b)
{
	b->len = 0;
}

void *buf_reserve(struct buf *b, size_t len)
{
	size_t capacity = b->capacity ? b->capacity : 256;

	if (len > SIZE_MAX / 4 || b->len > SIZE_MAX / 4)
		abort();
	while (capacity < b->len + len + 1)
		capacity *= 2;
	if (capacity != b->capacity) {
		b->data = mem_resize(b->data, capacity, 1);
		b->capacity = capacity;
	}
	return b->data + b->len;
}

void buf_add(struct buf *b, const void *data, size_t len)
{
	void *to = buf_reserve(b, len);

	if (len)
		memcpy(to, data, len);
	b->len += len;
}

void buf_add_text(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void buf_add_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *format, ...)
{
	va_list list;
	char *text;

	va_start(list, format);
	text = mem_vprintf(format, list);
	va_end(list);
	buf_add_text(b, text);
	free(text);
}

const char *buf_text(struct buf *b)
{
	*(char *)buf_reserve(b, 1) = '\0';
	return (const char *)b->data;
}

char *buf_take_text(struct buf *b)
{
	char *text;

	(void)buf_text(b);
	text = (char *)b->data;
	*b = (struct buf){0};
	return text;
}

/* --- equal bytes --- */

#define COMPARED_AT_ONCE 64

size_t mem_equal_start(const void *a, const void *b, size_t len)
{
	const char *p = a, *q = b;
	size_t at = 0;

	while (at + COMPARED_AT_ONCE <= len &&
	       memcmp(p + at, q + at, COMPARED_AT_ONCE) == 0)
		at += COMPARED_AT_ONCE;
	while (at < len && p[at] == q[at])
		at++;
	return at;
}

size_t mem_equal_end(const void *a_end, const void *b_end, size_t len)
{
	const char *p = (const char *)a_end - len;
	const char *q = (const char *)b_end - len;
	size_t left = len;

	while (left >= COMPARED_AT_ONCE &&
	       memcmp(p + left - COMPARED_AT_ONCE, q + left - COMPARED_AT_ONCE,
		      COMPARED_AT_ONCE) == 0)
		left -= COMPARED_AT_ONCE;
	while (left && p[left - 1] == q[left - 1])
		left--;
	return len - left;
}
