/*
 * Detection of moves in a hostile layer: moves_find(). The input is lines, each
 * an entry of one side:
 *
 *	-f PATH TEXT	a deleted file; +f: an added file, +o: one over another
 *	-d PATH		a directory; l: a link to TEXT; x: unreadable; b: large
 *
 * The first byte of TEXT is the number of its repetitions, so that it can be
 * long.
 */
#include "restore/git/moves.c"

#include <errno.h>
#include <sys/stat.h>

#include "base/path.h"
#include "guard/parse/parse_worker.h"
#include "tests/fuzz/fuzz.h"

#define THINGS_MAX 400

struct thing {
	char *path;
	struct buf text;
	char kind;
};

struct world {
	struct thing *sides[2]; /* gone, came */
	size_t counts[2], rooms[2];
};

static void world_free(struct world *w)
{
	size_t side, i;

	for (side = 0; side < 2; side++) {
		for (i = 0; i < w->counts[side]; i++) {
			free(w->sides[side][i].path);
			buf_free(&w->sides[side][i].text);
		}
		free(w->sides[side]);
	}
}

static void add_line(struct world *w, const char *line, size_t len)
{
	bool added = len && line[0] == '+';
	size_t path_len = 0, i;
	struct thing t = {0};

	if (len < 4 || w->counts[added] == THINGS_MAX)
		return;
	while (3 + path_len < len && line[3 + path_len] != ' ')
		path_len++;
	t.path = mem_strndup(line + 3, path_len);
	t.kind = line[1];
	if (!path_ok(t.path) || !*t.path) {
		free(t.path);
		return;
	}
	line += 3 + path_len;
	len -= 3 + path_len;
	for (i = 0; len > 2 && i <= (unsigned char)line[1]; i++)
		buf_add(&t.text, line + 2, len - 2);
	GROW(w->sides[added], w->counts[added], w->rooms[added]);
	w->sides[added][w->counts[added]++] = t;
}

static int by_path(const void *a, const void *b)
{
	return path_compare(((const struct thing *)a)->path,
			    ((const struct thing *)b)->path);
}

static uint32_t mode_of(char kind)
{
	return kind == 'd'   ? S_IFDIR | 0755
	       : kind == 'l' ? S_IFLNK | 0777
			     : S_IFREG | 0644;
}

/* In order, and each path once, as a scan has it. */
static void fill(struct world *w, bool added, struct moves *m)
{
	struct thing *list = w->sides[added];
	size_t i;

	if (w->counts[added])
		qsort(list, w->counts[added], sizeof(*list), by_path);
	for (i = 0; i < w->counts[added]; i++) {
		struct moves_file *f;

		if (i && strcmp(list[i - 1].path, list[i].path) == 0)
			continue;
		f = moves_add(m, added, list[i].path, mode_of(list[i].kind),
			      list[i].text.len);
		f->index = i;
		f->over = added && list[i].kind == 'o';
		f->plain = list[i].kind == 'p';
	}
}

static const struct thing *thing_of(const struct world *w,
				    const struct moves_file *f)
{
	return &w->sides[f->added][f->index];
}

static bool can_be_read(const struct thing *t)
{
	return t->kind != 'x' && t->kind != 'b';
}

static int key_of(void *arg, const struct moves_file *f,
		  unsigned char ret[HASH_LEN], struct err *err)
{
	const struct thing *t = thing_of(arg, f);
	uint64_t sum = hash_check(t->text.data, t->text.len);

	must(!S_ISDIR(f->mode));
	if (t->kind == 'x')
		return fail(err, EACCES, "unreadable");
	if (t->kind == 'b')
		return fail(err, EFBIG, "too much");
	memset(ret, 0, HASH_LEN);
	memcpy(ret, &sum, sizeof(sum));
	return 0;
}

static int bytes_of(void *arg, const struct moves_file *f, struct buf *to,
		    struct err *err)
{
	const struct thing *t = thing_of(arg, f);

	must(S_ISREG(f->mode) && f->size <= MOVES_SIMILAR_MAX && !f->plain);
	if (!can_be_read(t))
		return fail(err, EACCES, "unreadable");
	buf_add(to, t->text.data, t->text.len);
	return 0;
}

static bool same_bytes(const struct thing *a, const struct thing *b)
{
	return a->text.len == b->text.len &&
	       (!a->text.len ||
		memcmp(a->text.data, b->text.data, a->text.len) == 0);
}

/* The old parent directory was moved to the new parent directory. */
static void check_parents(const struct moves *m, const struct moves_file *from,
			  const struct moves_file *to)
{
	auto_free char *old = path_parent(from->path);
	auto_free char *now = path_parent(to->path);
	const struct moves_file *deleted = moves_find_path(m, false, old);
	const struct moves_file *added = moves_find_path(m, true, now);

	must(strcmp(path_name(from->path), path_name(to->path)) == 0);
	must(deleted && added);
	must(deleted->other == added);
}

static void check_pair(const struct world *w, const struct moves *m, size_t at)
{
	const struct moves_file *from = &m->deleted.items[at];
	const struct moves_file *to = from->other;
	const struct thing *old, *now;

	must(to->other == from && to->percent == from->percent);
	must(to->with_parent == from->with_parent);
	must((from->mode & S_IFMT) == (to->mode & S_IFMT));
	must(from->percent >= MOVES_SIMILAR && from->percent <= 100);
	if (from->with_parent)
		check_parents(m, from, to);
	if (S_ISDIR(from->mode)) {
		must(from->percent == 100);
		return;
	}
	old = thing_of(w, from);
	now = thing_of(w, to);
	must(can_be_read(old) && can_be_read(now));
	must(from->percent < 100 || same_bytes(old, now));
	must(from->percent == 100 ||
	     (!from->plain && !to->plain && !to->over && S_ISREG(from->mode)));
}

static void check(const struct world *w, const struct moves *m)
{
	size_t pairs = 0, i;

	for (i = 0; i < m->deleted.count; i++)
		if (m->deleted.items[i].other) {
			check_pair(w, m, i);
			pairs++;
		}
	for (i = 0; i < m->added.count; i++)
		if (m->added.items[i].other)
			pairs--;
	must(pairs == 0);
}

static void read_lines(struct world *w, const uint8_t *data, size_t len)
{
	const char *at = (const char *)data, *end = at + len;

	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));

		add_line(w, at, (size_t)((stop ? stop : end) - at));
		at = stop ? stop + 1 : end;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	AUTO(world) struct world w = {0};
	AUTO(moves) struct moves m = {0}, again = {0};
	const struct moves_source source = {key_of, bytes_of, &w};
	size_t i;

	parse_worker_install();
	read_lines(&w, data, len);
	fill(&w, false, &m);
	fill(&w, true, &m);
	moves_find(&m, &source);
	check(&w, &m);
	/* A second call gives the same result. */
	fill(&w, false, &again);
	fill(&w, true, &again);
	moves_find(&again, &source);
	for (i = 0; i < m.deleted.count; i++) {
		const struct moves_file *a = m.deleted.items[i].other;
		const struct moves_file *b = again.deleted.items[i].other;

		must(a ? b && a->index == b->index : !b);
	}
	return 0;
}
