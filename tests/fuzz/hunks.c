/*
 * Selecting parts of a text: hunks_make() and the actions on its hunks. The
 * input: a byte for each action, then after a NUL the old text, after the next
 * the new text, after another the text that a user wrote in the editor.
 */
#include <errno.h>

#include "guard/parse/parse_worker.h"
#include "restore/git/hunks.h"
#include "tests/fuzz/fuzz.h"

#define STEPS_MAX 64

static struct buf next_text(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *stop = memchr(*at, '\0', (size_t)(end - *at));
	struct buf text = {0};

	buf_add(&text, *at, (size_t)((stop ? stop : end) - *at));
	*at = stop ? stop + 1 : end;
	return text;
}

static void take_all(struct hunks *h, bool accepted)
{
	size_t i;

	for (i = 0; i < h->count; i++)
		h->items[i].accepted = accepted;
}

static void composes(const struct hunks *h, const struct buf *old,
		     const struct buf *wanted)
{
	AUTO(buf) struct buf got = {0};

	hunks_compose(h, old, &got);
	must(got.len == wanted->len &&
	     (!got.len || memcmp(got.data, wanted->data, got.len) == 0));
}

/* Hunks are in order and do not overlap, and each has its own lines. */
static void check(const struct hunks *h)
{
	size_t i, k, at = 0;

	for (i = 0; i < h->count; i++) {
		const struct hunk *hunk = &h->items[i];
		size_t old = 0, now = 0;

		must(hunk->old_at >= at);
		at = hunk->old_at + hunk->old_count;
		for (k = 0; k < hunk->lines.count; k++) {
			must(strchr(" +-", hunk->lines.items[k].kind));
			old += hunk->lines.items[k].kind != '+';
			now += hunk->lines.items[k].kind != '-';
		}
		must(old == hunk->old_count && now == hunk->new_count);
	}
}

/* The text for an editor is valid, and means the same hunk. */
static void print_and_read(struct hunks *h, size_t at, const struct buf *old)
{
	AUTO(buf) struct buf text = {0}, before = {0};
	bool accepted = h->items[at].accepted;
	struct err err;

	hunks_compose(h, old, &before);
	hunks_print(&h->items[at], &text);
	must(hunks_edit(h, at, buf_text(&text), &err) == 0);
	h->items[at].accepted = accepted;
	composes(h, old, &before);
}

static void edit(struct hunks *h, size_t at, const struct buf *old,
		 const char *text)
{
	AUTO(buf) struct buf before = {0};
	bool accepted = h->items[at].accepted;
	struct err err;
	int got;

	h->items[at].accepted = false;
	hunks_compose(h, old, &before);
	got = hunks_edit(h, at, text, &err);
	must(got == 0 || got == -EINVAL || got == -ECANCELED);
	/* A rejected hunk gives the old text, whatever the user wrote. */
	h->items[at].accepted = false;
	composes(h, old, &before);
	h->items[at].accepted = accepted;
}

static void step(struct hunks *h, uint8_t what, const struct buf *old,
		 const char *text)
{
	size_t at = what / 4u % h->count;

	switch (what % 4) {
	case 0:
		h->items[at].accepted = !h->items[at].accepted;
		break;
	case 1:
		if (hunks_can_split(&h->items[at])) {
			AUTO(buf) struct buf before = {0};

			hunks_compose(h, old, &before);
			hunks_split(h, at);
			composes(h, old, &before);
		}
		break;
	case 2:
		print_and_read(h, at, old);
		break;
	default:
		edit(h, at, old, text);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const uint8_t *at = data, *end = data + len;
	AUTO(buf) struct buf steps = next_text(&at, end);
	AUTO(buf) struct buf old = next_text(&at, end);
	AUTO(buf) struct buf now = next_text(&at, end);
	AUTO(buf) struct buf text = next_text(&at, end);
	AUTO(hunks) struct hunks h = {0};
	struct err err;
	size_t i;
	int got;

	parse_worker_install();
	got = hunks_make(&old, &now, &h, &err);

	must(got >= 0);
	if (got) {
		must(h.count == 0);
		return 0;
	}
	take_all(&h, true);
	composes(&h, &old, &now);
	take_all(&h, false);
	composes(&h, &old, &old);
	for (i = 0; h.count && i < steps.len && i < STEPS_MAX; i++) {
		step(&h, steps.data[i], &old, buf_text(&text));
		check(&h);
	}
	take_all(&h, false);
	composes(&h, &old, &old);
	return 0;
}
