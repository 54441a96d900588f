#include "guard/sandbox/filter_calls.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/shipped.h"
#include "base/text.h"
#include "base/vec.h"

#define BLANKS " \t\n"

void filter_calls(const char *list, struct names *ret)
{
	const char *at = shipped_text("guard/sandbox/calls.list");
	size_t len = strlen(list);

	for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
		const char *word = at + len, *end = at + strcspn(at, "\n");

		if (strncmp(at, list, len) != 0 || *word != ' ')
			continue;
		while ((word += strspn(word, " ")) < end) {
			size_t n = strcspn(word, BLANKS);

			*VEC_ADD(ret) = mem_strndup(word, n);
			word += n;
		}
	}
}

int filter_calls_check(const char *path, const char *text, struct err *err)
{
	static const char *const lists[] = {
		"allow",       "x86_64",     "i386",	   "refuse", "nested",
		"git",	       "nested-new", "git-ignore", "perf",   "affinity",
		"userfaultfd", "io_uring",   NULL};
	unsigned int number = 1;

	for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
		size_t len = strcspn(text, "\n");
		auto_free char *line = mem_strndup(text, len);
		size_t word = strcspn(line, " ");

		if (len && *line != '#' && line[word] &&
		    strspn(line + word, "abcdefghijklmnopqrstuvwxyz0123456789_"
					" ") == len - word)
			line[word] = '\0';
		if (len && *line != '#' && !mem_list_has(lists, line))
			return fail(err, EINVAL,
				    "%s:%u: expected a list and names of calls",
				    text_quote(path), number);
		number++;
	}
	return 0;
}
