/* The record of a review: decisions_open() and each of its lines. */
#include "guard/review/decisions.c"

#include "tests/fuzz/fuzz.h"

/* A valid line has one form only. */
static void decode_line(const char *line, size_t len)
{
	AUTO(buf) struct buf again = {0};
	struct decision a;

	if (!decision_decode(line, len, &a))
		return;
	decision_encode(&a, &again);
	must(again.len == len + 1 && memcmp(again.data, line, len) == 0);
	decision_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(decisions) struct decisions *d = NULL;
	const char *at = (const char *)data, *end = at + len, *feed;
	AUTO(buf) struct buf left = {0};
	struct err err;

	for (; (feed = memchr(at, '\n', (size_t)(end - at))); at = feed + 1)
		decode_line(at, (size_t)(feed - at));
	fuzz_file("review", data, len);
	if (decisions_open(fuzz_dir(), true, &d, &err) < 0)
		return 0;
	decisions_free(&d);
	/* The valid part is left, up to the end of a line. */
	must(fd_slurp_at(fuzz_dir(), "review", 1 << 20, &left, &err) == 0);
	must(left.len <= len &&
	     (!left.len || (memcmp(left.data, data, left.len) == 0 &&
			    left.data[left.len - 1] == '\n')));
	return 0;
}
