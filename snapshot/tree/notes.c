#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/path.h"
#include "base/sorted.h"
#include "snapshot/tree/catalog.h"

/* Index of the first note whose path is not before the given one. */
static size_t first_note_from(const struct snapshot *s, const char *path)
{
	return INDEX_BY_PATH(path, s->notes, s->note_count, path);
}

static bool has_note_at(const struct snapshot *s, enum note_kind kind,
			const char *path)
{
	size_t at = first_note_from(s, path);

	for (; at < s->note_count && strcmp(s->notes[at].path, path) == 0; at++)
		if (s->notes[at].kind == kind)
			return true;
	return false;
}

void snapshot_add_note(struct snapshot *s, enum note_kind kind,
		       const char *path, const char *text)
{
	size_t at;

	if (has_note_at(s, kind, path))
		return;
	at = first_note_from(s, path);
	GROW(s->notes, s->note_count, s->note_capacity);
	memmove(&s->notes[at + 1], &s->notes[at],
		(s->note_count - at) * sizeof(*s->notes));
	s->note_count++;
	s->notes[at] = (struct note){
		.kind = kind,
		.path = mem_strdup(path),
		.text = mem_strdup(text ? text : ""),
	};
}

/* Cuts the last part off; false at the root. */
static bool cut_last_part(char *path)
{
	char *slash = strrchr(path, '/');

	if (!*path)
		return false;
	*(slash ? slash : path) = '\0';
	return true;
}

bool snapshot_has_note(const struct snapshot *s, enum note_kind kind,
		       const char *path)
{
	auto_free char *at = mem_strdup(path);

	if (!s->note_count)
		return false;
	do {
		if (has_note_at(s, kind, at))
			return true;
	} while (cut_last_part(at));
	return false;
}

bool snapshot_moved(const struct snapshot *s, const char *path, bool in_tree)
{
	auto_free char *at = mem_strdup(path);
	bool marked, below_marked = false;

	if (!s->note_count)
		return false;
	if (has_note_at(s, NOTE_MOVED, at))
		return true;
	if (!in_tree && cut_last_part(at) && has_note_at(s, NOTE_MOVED, at))
		return true;
	while (cut_last_part(at)) {
		marked = has_note_at(s, NOTE_MOVED, at);
		if (marked && below_marked)
			return true;
		below_marked = marked;
	}
	return false;
}

int snapshot_covers_path(struct store *store, const struct snapshot *s,
			 const char *path, struct err *err)
{
	auto_free char *at = mem_strdup(path_rest(path, s->root_path));

	if (!(s->root.flags & ENTRY_INCOMPLETE))
		return 1;
	for (;;) {
		AUTO(entry) struct entry e = {0};
		auto_free char *up = NULL;
		bool is_exact = strcmp(at, path_rest(path, s->root_path)) == 0;
		int got = tree_lookup(store, &s->root, at, &e, err);

		if (got < 0 || (got && is_exact))
			return got;
		if (got)
			return !(e.flags & ENTRY_INCOMPLETE);
		up = path_parent(at);
		free(at);
		at = TAKE(up);
	}
}

bool snapshot_of_run(const struct snapshot *s)
{
	return strcmp(s->reason, "post-run") == 0 ||
	       strcmp(s->reason, "during-run") == 0;
}

bool snapshot_has_tag(const struct snapshot *s, const char *tag)
{
	size_t i;

	for (i = 0; s->tags && s->tags[i]; i++)
		if (strcmp(s->tags[i], tag) == 0)
			return true;
	return false;
}

char **snapshot_copy_texts(const char *const *texts)
{
	char **copy = NULL;
	size_t i;

	for (i = 0; texts && texts[i]; i++)
		mem_list_add(&copy, texts[i]);
	return copy;
}

bool snapshot_is_exclusion(const struct note *n)
{
	return strncmp(n->text, NOTE_EXCLUSION, strlen(NOTE_EXCLUSION)) == 0;
}
