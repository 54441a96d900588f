#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/record.h"
#include "base/dirtree.h"
#include "base/sorted.h"
#include "guard/agent/agent.h"

/* Texts are compared up to these lengths, one and all together; other files by
 * their stat data. */
#define TEXT_MAX (64u << 10)
#define TEXTS_MAX (4u << 20)
#define JSON_MAX (32u << 20)
#define ENTRIES_MAX 20000
#define DEPTH_MAX 32
/* All names in a run's record, whose length is limited. */
#define NAMES_MAX (4u << 20)

struct code_scan {
	struct record *to;
	const char *user_home; /* where the run has it */
	int home; /* the agent's home, open */
	size_t entries, texts;
};

static void record_code(struct code_scan *l, const char *path, const char *sign,
			const char *text)
{
	record_add(l->to, "path", path);
	record_add(l->to, "sign", sign);
	record_add(l->to, "text", text);
}

/* Too much to be compared, so it counts as changed each time. */
static void record_unknown_code(struct code_scan *l, const char *path)
{
	struct timespec now = {0};
	char text[64];

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)snprintf(text, sizeof(text), "%lld.%ld", (long long)now.tv_sec,
		       now.tv_nsec);
	record_code(l, path, "unknown", text);
}

/* A text that can be kept; false: too big, or it has bytes 0. */
static bool read_code_text(int dir, const char *name, size_t max,
			   struct buf *to)
{
	struct err ignored;
	auto_close int fd =
		beneath_open(dir, name, O_RDONLY | O_NONBLOCK, 0, &ignored);

	return fd >= 0 && fd_slurp(fd, max, to, &ignored) == 0 &&
	       !(to->len && memchr(to->data, '\0', to->len));
}

static void scan_code_entry(struct code_scan *l, int dir, const char *name,
			    const char *path, int depth);

/* Without "." and "..", which are taken by the letter. */
static char *clean_absolute_path(const char *path)
{
	char *clean = mem_strdup("");

	while (*path) {
		size_t len = strcspn(path, "/");
		char *longer = NULL;

		if (len == 2 && memcmp(path, "..", 2) == 0) {
			char *slash = strrchr(clean, '/');

			if (slash)
				*slash = '\0';
		} else if (len && !(len == 1 && *path == '.')) {
			longer = mem_printf("%s/%.*s", clean, (int)len, path);
			free(clean);
			clean = longer;
		}
		path += len;
		path += *path == '/';
	}
	return clean;
}

/* The agent follows the link in the run: its target is scanned instead. Targets
 * outside of the homes are not scanned. */
static void scan_code_link(struct code_scan *l, int dir, const char *name,
			   const char *path, int depth)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir, name, target, sizeof(target) - 1);
	auto_close int above = -1;
	auto_free char *parent = path_parent(path);
	auto_free char *full_path = NULL, *clean = NULL;
	struct err err;
	struct meta m = {0};
	const char *last, *rest = NULL; /* rest: below the home */

	target[len < 0 ? 0 : len] = '\0';
	full_path = *target == '/' ? mem_strdup(target)
				   : mem_printf("%s/%s/%s", l->user_home,
						parent, target);
	clean = clean_absolute_path(full_path);
	if (path_below(clean, l->user_home) && strcmp(clean, l->user_home) != 0)
		rest = path_rest(clean, l->user_home);
	if (rest)
		above = beneath_parent(l->home, rest, &last, &err);
	if (rest && above < 0 && above != -ENOENT) {
		record_unknown_code(l, path);
		return;
	}
	if (above >= 0 && meta_get(above, last, &m) < 0)
		m.mode = 0;
	if (!m.mode || S_ISDIR(m.mode))
		record_code(l, path, "link", target);
	if (m.mode)
		scan_code_entry(l, above, last, path, depth + 1);
}

static void scan_code_entry(struct code_scan *l, int dir, const char *name,
			    const char *path, int depth)
{
	AUTO(dirlist) struct dirlist list = {0};
	AUTO(buf) struct buf text = {0};
	struct err ignored;
	auto_close int fd = -1;
	char sign[128];
	struct meta m;
	size_t i;

	if (meta_get(dir, name, &m) < 0 || ++l->entries > ENTRIES_MAX + 1)
		return;
	if (l->entries > ENTRIES_MAX || depth > DEPTH_MAX) {
		record_unknown_code(l, path);
		return;
	}
	if (S_ISLNK(m.mode)) {
		scan_code_link(l, dir, name, path, depth);
		return;
	}
	if (S_ISREG(m.mode) && m.size <= TEXT_MAX && l->texts < TEXTS_MAX &&
	    read_code_text(dir, name, TEXT_MAX, &text)) {
		l->texts += text.len;
		(void)snprintf(sign, sizeof(sign), "text %o", m.mode);
		record_code(l, path, sign, buf_text(&text));
		return;
	}
	if (!S_ISDIR(m.mode)) {
		(void)snprintf(
			sign, sizeof(sign),
			"%o %" PRIu64 " %" PRIu64 " %" PRId64 ".%" PRIu32,
			m.mode, m.ino, m.size, m.ctime.sec, m.ctime.nsec);
		record_code(l, path, sign, "");
		return;
	}
	fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY, 0, &ignored);
	if (fd < 0 || dirlist_read(fd, &list, &ignored) < 0) {
		record_unknown_code(l, path);
		return;
	}
	for (i = 0; i < list.count; i++) {
		auto_free char *below = path_join(path, list.items[i].name);

		scan_code_entry(l, fd, list.items[i].name, below, depth + 1);
	}
}

/* ---- members of a JSON file ---- */

/* All of that name, wherever they stand, in one text. */
static void gather_json_members(json_t *value, const char *wanted,
				struct buf *to)
{
	const char *key;
	json_t *member;
	size_t i;

	json_array_foreach(value, i, member)
		gather_json_members(member, wanted, to);
	json_object_foreach(value, key, member)
	{
		char *text;

		if (strcmp(key, wanted) != 0) {
			gather_json_members(member, wanted, to);
			continue;
		}
		/* An empty one is as good as none. */
		if ((json_is_object(member) && !json_object_size(member)) ||
		    (json_is_array(member) && !json_array_size(member)))
			continue;
		text = json_dumps(member, JSON_SORT_KEYS | JSON_COMPACT |
						  JSON_ENCODE_ANY);
		buf_add_text(to, text ? text : "?");
		buf_add_char(to, '\n');
		free(text);
	}
}

/* Some agents write comments, each in a line of its own. */
static void blank_comment_lines(struct buf *text)
{
	char *at = (char *)text->data, *end = at + text->len;

	while (at < end) {
		char *eol = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((eol ? eol : end) - at);
		size_t blanks = 0;

		while (blanks < len &&
		       (at[blanks] == ' ' || at[blanks] == '\t'))
			blanks++;
		if (len - blanks >= 2 && memcmp(at + blanks, "//", 2) == 0)
			memset(at, ' ', len);
		at += len + 1;
	}
}

static void scan_json_members(struct code_scan *l, const char *path,
			      const char *keys)
{
	AUTO(buf) struct buf text = {0};
	json_t *value = NULL;

	if (read_code_text(l->home, path, JSON_MAX, &text)) {
		blank_comment_lines(&text);
		value = json_loads(buf_text(&text), 0, NULL);
	}
	/* A link, or what other readers may take for JSON all the same. */
	if (!value) {
		const char *name;
		struct err ignored;
		auto_close int above =
			beneath_parent(l->home, path, &name, &ignored);

		if (above >= 0)
			scan_code_entry(l, above, name, path, 0);
	}
	while (value && *keys) {
		size_t len = strcspn(keys, ",");
		auto_free char *key = mem_strndup(keys, len);
		auto_free char *name = mem_printf("%s#%s", path, key);
		AUTO(buf) struct buf found = {0};

		gather_json_members(value, key, &found);
		if (found.len)
			record_code(l, name, "member", buf_text(&found));
		keys += len + (keys[len] == ',');
	}
	json_decref(value);
}

/* ---- all of it ---- */

/*
 * path: of dir, below the home. A symbolic link to a directory leads the agent
 * elsewhere, where every file may be obeyed.
 */
static void scan_code_glob(struct code_scan *l, int dir, const char *path,
			   const char *glob)
{
	size_t len = strcspn(glob, "/"), i;
	auto_free char *part = mem_strndup(glob, len);
	const char *rest = glob + len + (glob[len] == '/');
	AUTO(dirlist) struct dirlist list = {0};
	struct err ignored;

	if (dir < 0 || dirlist_read(dir, &list, &ignored) < 0)
		return;
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_free char *below = path_join(path, name);
		auto_close int fd = -1;
		struct meta m;

		if (fnmatch(part, name, 0) != 0)
			continue;
		if (!*rest) {
			scan_code_entry(l, dir, name, below, 0);
			continue;
		}
		if (meta_get(dir, name, &m) == 0 && S_ISLNK(m.mode)) {
			scan_code_link(l, dir, name, below, 0);
			continue;
		}
		fd = beneath_open(dir, name, O_RDONLY | O_DIRECTORY, 0,
				  &ignored);
		scan_code_glob(l, fd, below, rest);
	}
}

void agent_code_scan(const struct agent *a, const struct state *state,
		     struct record *ret)
{
	const struct profile_item *item = NULL;
	struct code_scan l = {.to = ret, .user_home = state->home};
	struct err ignored;
	auto_close int dir =
		a->name ? agent_open_state(state, a->name, false, &ignored)
			: -1;
	auto_close int home =
		dir < 0 ? -1
			: beneath_open(dir, "home", O_RDONLY | O_DIRECTORY, 0,
				       &ignored);

	l.home = home;
	while (home >= 0 && state->home &&
	       (item = profile_next(&a->profile, PROFILE_CODE, item))) {
		size_t len = strcspn(item->value, "#");
		auto_free char *glob = mem_strndup(item->value, len);

		if (item->value[len])
			scan_json_members(&l, glob, item->value + len + 1);
		else
			scan_code_glob(&l, home, "", glob);
	}
}

struct code_piece {
	const char *path, *sign, *text;
};

struct code_pieces {
	struct code_piece *items;
	size_t count;
};

/* Borrows from the record. Sorted; globs may overlap. */
static struct code_pieces sort_code_pieces(const struct record *r)
{
	struct code_pieces p = {mem_alloc((r->count + 1) * sizeof(*p.items)),
				0};
	size_t i, kept = 0;

	for (i = 0; i + 2 < r->count; i += 3)
		p.items[p.count++] = (struct code_piece){r->items[i].value,
							 r->items[i + 1].value,
							 r->items[i + 2].value};
	SORT_BY_PATH(p.items, p.count, path);
	for (i = 0; i < p.count; i++)
		if (!i || strcmp(p.items[i - 1].path, p.items[i].path) != 0)
			p.items[kept++] = p.items[i];
	p.count = kept;
	return p;
}

/* had: so much of the record is older; room: for names, in bytes. */
static bool record_code_change(struct session *s, size_t had,
			       size_t *bytes_left, char letter,
			       const char *path)
{
	auto_free char *text = mem_printf("%c %s", letter, path);
	const struct record_item *item;

	if (strlen(text) > *bytes_left)
		return false;
	*bytes_left -= strlen(text);
	/* A run that went on has some already. */
	for (item = s->more.items; had--; item++)
		if (strcmp(item->value, text) == 0 &&
		    strcmp(item->key, AGENT_CODE) == 0)
			return false;
	record_add(&s->more, AGENT_CODE, text);
	return true;
}

bool agent_code_compare(const struct record *before, const struct record *now,
			struct session *s)
{
	struct code_pieces old = sort_code_pieces(before),
			   new = sort_code_pieces(now);
	size_t i = 0, k = 0, had = s->more.count;
	size_t taken = 0, bytes_left, n;
	bool any = false;

	for (n = 0; n < had; n++)
		if (strcmp(s->more.items[n].key, AGENT_CODE) == 0)
			taken += strlen(s->more.items[n].value);
	bytes_left = taken < NAMES_MAX ? NAMES_MAX - taken : 0;
	while (i < old.count || k < new.count) {
		const struct code_piece *a =
			i < old.count ? &old.items[i] : NULL;
		const struct code_piece *b =
			k < new.count ? &new.items[k] : NULL;
		int order = !a ? 1 : !b ? -1 : path_compare(a->path, b->path);

		if (order < 0)
			any |= record_code_change(s, had, &bytes_left, 'D',
						  a->path);
		else if (order > 0)
			any |= record_code_change(s, had, &bytes_left, 'A',
						  b->path);
		else if (strcmp(a->sign, b->sign) != 0 ||
			 strcmp(a->text, b->text) != 0)
			any |= record_code_change(s, had, &bytes_left, 'M',
						  a->path);
		i += order <= 0;
		k += order >= 0;
	}
	free(old.items);
	free(new.items);
	return any;
}

char **agent_code_paths(const struct session *s)
{
	char **paths = NULL;
	size_t i, count = 0;

	for (i = 0; i < s->more.count; i++) {
		const char *change = s->more.items[i].value;
		const char *member;
		auto_free char *file = NULL;

		if (strcmp(s->more.items[i].key, AGENT_CODE) != 0 ||
		    strlen(change) < 3)
			continue;
		/* "M .claude/.claude.json#hooks": the file of the member. */
		member = strstr(change, ".json#");
		if (member)
			file = mem_strndup(change + 2,
					   (size_t)(member - change) + 3);
		mem_list_add(&paths, file ? file : change + 2);
		count++;
	}
	if (paths)
		qsort(paths, count, sizeof(*paths), sorted_compare_paths);
	return paths;
}
