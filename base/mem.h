/* Memory. A failed allocation ends the process: every transaction of guard
 * survives a crash at any point. Callers bound sizes that come from outside
 * before they allocate. */
#ifndef GUARD_BASE_MEM_H
#define GUARD_BASE_MEM_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Allocates len bytes, never NULL; mem_zalloc() fills them with zeros. The
 * results of all functions here are for free(3). */
void *mem_alloc(size_t len) __attribute__((malloc));
void *mem_zalloc(size_t len) __attribute__((malloc));
/* Resizes an array to count items of size bytes; an overflow ends the process.
 */
void *mem_resize(void *old, size_t count, size_t size);
void *mem_dup(const void *data, size_t len);
/* Random bytes of the kernel, at most 256: getrandom(2) gives so many at once.
 */
void mem_random(void *to, size_t len);
/* How many of len bytes are equal from the first one on, or back from the last
 * one, which stands in front of the end. */
size_t mem_equal_start(const void *a, const void *b, size_t len);
size_t mem_equal_end(const void *a_end, const void *b_end, size_t len);
/* The order of two strings of bytes, as of memcmp(3); the shorter one comes
 * first where it is the start of the other. */
int mem_compare(const void *a, size_t a_len, const void *b, size_t b_len);
char *mem_strdup(const char *text); /* NULL gives NULL */
char *mem_strndup(const char *text, size_t len);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *mem_vprintf(const char *format, va_list list)
	__attribute__((format(printf, 1, 0)));

/* Makes room for one more item in a growing array. base/vec.h replaces this
 * macro. */
#define GROW(items, count, capacity)                                           \
	do {                                                                   \
		if ((count) == (capacity)) {                                   \
			(capacity) = (capacity) ? (capacity)*2 : 16;           \
			(items) = mem_resize((items), (capacity),              \
					     sizeof(*(items)));                \
		}                                                              \
	} while (0)

/* The number of items of an array, not of a pointer. */
#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))

/* A NULL-terminated list of texts that the list owns; NULL is the empty list.
 */
void mem_list_add(char ***list, const char *text);
/* Unless the list has it: whether it did not. */
bool mem_list_add_once(char ***list, const char *text);
/* Whether the list, or a constant one, has this text. The argument is the list
 * itself. */
union mem_texts {
	char *const *own;
	const char *const *constant;
} __attribute__((transparent_union));
bool mem_list_has(union mem_texts list, const char *text);
void mem_list_free(char ***list);

/* A counted list of texts that the list owns; {0} is the empty list. */
struct names {
	char **items;
	size_t count, capacity;
};

/* names_free() frees all texts and empties the list; names_add() appends a
 * copy; names_have() compares with each text. */
void names_free(struct names *t);
void names_add(struct names *t, const char *text);
bool names_have(const struct names *t, const char *text);

/* A growing byte buffer; {0} is empty. buf_text() is NUL-terminated. */
struct buf {
	unsigned char *data;
	size_t len, capacity;
};

void buf_free(struct buf *b); /* and leaves it empty */
void buf_clear(struct buf *b); /* keeps the memory */
/* Makes room for len more bytes and returns the address behind the content;
 * b->len is unchanged. */
void *buf_reserve(struct buf *b, size_t len);
void buf_add(struct buf *b, const void *data, size_t len);
void buf_add_text(struct buf *b, const char *text);
void buf_add_char(struct buf *b, char c);
void buf_printf(struct buf *b, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
const char *buf_text(struct buf *b);
bool buf_has(const struct buf *b, const char *text); /* somewhere */
bool buf_same(const struct buf *a, const struct buf *b); /* the same bytes */
/* Passes the bytes on as a NUL-terminated string for the caller to free, and
 * leaves the buffer empty. */
char *buf_take_text(struct buf *b);

#endif
