#include "guard/review/loss.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/pathset.h"
#include "base/sorted.h"
#include "base/text.h"
#include "guard/review/loss_private.h"
#include "snapshot/store/hash.h"

/* Blocks of large files that are compared at the same offsets. */
#define BLOCK 4096u
#define BLOCKS 64u

/* Both sides are read in such pieces. */
#define PIECE (1u << 14)

static void loss_ref_free(struct loss_ref *r)
{
	free(r->text);
	free(r->brief);
	free(r->path);
}

void losses_free(struct losses *l)
{
	size_t i;

	for (i = 0; i < l->refs.count; i++)
		loss_ref_free(&l->refs.items[i]);
	VEC_FREE(&l->refs);
	free(l->unread);
	*l = (struct losses){0};
}

/* --- lines --- */

struct line {
	const unsigned char *text;
	size_t len;
};

struct lines {
	struct line *items;
	size_t count, capacity;
};

static int compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return mem_compare(x->text, x->len, y->text, y->len);
}

/* The part of a line in front of its value: "a" of "a = 1". */
static size_t key_len(const unsigned char *line, size_t len)
{
	size_t at = 0;

	while (at < len && !strchr("=:\t0123456789", line[at]))
		at++;
	return at ? at : len;
}

/* Sorted; without blank lines and the ends of lines. */
static void split_lines(const struct buf *text, bool keys, struct lines *ret)
{
	const unsigned char *at = text->data, *end = at + text->len;

	while (at < end) {
		size_t len = text_line_len(at, end);
		const unsigned char *next = at + len + (at + len < end);

		while (len && strchr(" \t\r", at[len - 1]) && at[len - 1])
			len--;
		if (len)
			*VEC_ADD(ret) = (struct line){
				at, keys ? key_len(at, len) : len};
		at = next;
	}
	VEC_SORT(ret, compare_lines);
}

/* Splits a into the lines that b has, and those that it lacks. */
static size_t count_common(const struct lines *a, const struct lines *b,
			   struct lines *ret_lacking)
{
	size_t common = 0, i = 0, k = 0;

	while (i < a->count) {
		int order = k < b->count
				    ? compare_lines(&a->items[i], &b->items[k])
				    : -1;

		if (order < 0 && ret_lacking)
			*VEC_ADD(ret_lacking) = a->items[i];
		common += order == 0;
		i += order <= 0;
		k += order >= 0;
	}
	return common;
}

#define LINES_LEAST 3

/* Whether less than half of the lines survive that old has and head (NULL: no
 * such file) lacks; now NULL: the file was deleted. An edit of fewer than
 * LINES_LEAST such lines is no loss, unless all is back as in head. */
static bool loss_of_lines(const struct buf *old, const struct buf *head,
			  const struct buf *now)
{
	struct lines o = {0}, h = {0}, n = {0}, own = {0};
	size_t kept, lost, added;

	split_lines(old, false, &o);
	if (now)
		split_lines(now, false, &n);
	if (head)
		split_lines(head, false, &h);
	(void)count_common(&o, &h, &own);
	kept = count_common(&own, &n, NULL);
	lost = own.count - kept;
	/* Equal to head: everything was reverted. */
	added = n.count == h.count ? n.count - count_common(&n, &h, NULL) : 1;
	VEC_FREE(&o);
	VEC_FREE(&h);
	VEC_FREE(&n);
	VEC_FREE(&own);
	return lost > kept && (lost >= LINES_LEAST || !head || !now || !added);
}

/* --- repositories --- */

/* The repository of a directory and of all below it: nested ones have their
 * own. */
struct nest {
	char *dir;
	struct gitcopies *git; /* or NULL */
	bool owned; /* false: that of the directory above */
};

/* A file after the run. */
struct result {
	const struct change *change;
	bool is_read; /* `start` is known */
	uint64_t start; /* hash_start() of the file */
};

struct judge {
	struct view *view;
	const char *path; /* of the root */
	struct losses *losses;
	VEC(struct nest) nests; /* from the root down */
	/* Files of the result by size, those that an
	 * apply takes, and those in a .git that it leaves out. */
	struct results {
		struct result *items;
		size_t count, capacity;
	} taken, left_out;
	const struct change_list *all;
	/* Names of new objects of git-annex and git-lfs in left_out. */
	struct pathset objects;
	bool in_git; /* the last file has a copy in left_out alone */
	bool partly; /* the last file was overwritten in part */
	uint64_t left; /* bytes that may be read */
};

static void judge_free(struct judge *j)
{
	size_t i;

	for (i = 0; i < j->nests.count; i++) {
		free(j->nests.items[i].dir);
		if (j->nests.items[i].owned)
			gitcopies_free(&j->nests.items[i].git);
	}
	VEC_FREE(&j->nests);
	VEC_FREE(&j->taken);
	VEC_FREE(&j->left_out);
	pathset_free(&j->objects);
}

static void push_nest(struct judge *j, const char *dir)
{
	struct nest *above =
		j->nests.count ? &j->nests.items[j->nests.count - 1] : NULL;
	struct nest nest = {.dir = mem_strdup(dir),
			    .git = above ? above->git : NULL};
	auto_free char *name = mem_printf("%s%s.git", dir, *dir ? "/" : "");
	auto_free char *path = NULL;
	struct gitcopies *git = NULL;
	struct err err;
	int got = 0;

	if (!above) {
		got = gitcopies_open(j->path, false, &git, &err);
	} else {
		auto_close int fd = beneath_open(j->view->root->lower_fd, name,
						 O_PATH, 0, &err);

		path = path_join(j->path, dir);
		if (fd >= 0)
			got = gitcopies_open(path, true, &git, &err);
	}
	if (got < 0 && !j->losses->unread)
		j->losses->unread = mem_strdup(err.text);
	if (got > 0) {
		nest.git = git;
		nest.owned = true;
	}
	*VEC_ADD(&j->nests) = nest;
}

/* The entries come in the order of their paths. */
static struct gitcopies *find_git(struct judge *j, const char *path)
{
	const struct nest *nest;
	const char *slash;

	if (!j->nests.count)
		push_nest(j, "");
	for (;;) {
		nest = &j->nests.items[j->nests.count - 1];
		if (path_below(path, nest->dir))
			break;
		free(nest->dir);
		if (nest->owned)
			gitcopies_free(&j->nests.items[j->nests.count - 1].git);
		j->nests.count--;
	}
	while ((slash = strchr(path_rest(path, nest->dir), '/'))) {
		auto_free char *dir = mem_strndup(path, (size_t)(slash - path));

		push_nest(j, dir);
		nest = &j->nests.items[j->nests.count - 1];
	}
	return nest->git;
}

/* --- copies in the result --- */

static int compare_sizes(const void *a, const void *b)
{
	const struct result *x = a, *y = b;
	uint64_t m = x->change->now.size, n = y->change->now.size;

	return m == n ? 0 : m < n ? -1 : 1;
}

static void add_result(struct results *to, const struct change *c)
{
	if (S_ISREG(c->now.mode) && c->kind != CHANGE_META)
		*VEC_ADD(to) = (struct result){.change = c};
}

/* The user's .git has nothing of that name. */
static bool is_new(const struct judge *j, const struct change *c)
{
	struct err ignored;
	auto_close int fd =
		changes_open(j->view->root, c->path, false, &ignored);

	return c->now.mode && fd < 0;
}

static void list_results(struct judge *j)
{
	const struct changes_root *root = j->view->root;
	VEC(const char *) names = {0};
	size_t i;

	j->all = root->all ? root->all : &root->list;
	for (i = 0; i < j->view->count; i++) {
		const struct change *c = j->view->items[i].change;

		if (root->git_taken || !(c->flags & CHANGE_GIT))
			add_result(&j->taken, c);
	}
	for (i = 0; i < j->all->count && !root->git_taken; i++) {
		const struct change *c = &j->all->items[i];

		if (!(c->flags & CHANGE_GIT))
			continue;
		add_result(&j->left_out, c);
		if (S_ISREG(c->now.mode) &&
		    (strstr(c->path, "annex/objects/") ||
		     (!root->lfs_taken && strstr(c->path, "lfs/objects/"))) &&
		    is_new(j, c))
			*VEC_ADD(&names) = path_name(c->path);
	}
	*VEC_ADD(&names) = NULL;
	j->objects = pathset_make(names.items);
	VEC_FREE(&names);
	VEC_SORT(&j->taken, compare_sizes);
	VEC_SORT(&j->left_out, compare_sizes);
}

/* A hash of the first bytes of an open file, which are read; then the file is
 * at its beginning again. 0 for an unreadable one. */
static uint64_t hash_start(int fd)
{
	unsigned char block[BLOCK];
	ssize_t got = fd < 0 ? -1 : fd_read(fd, block, sizeof(block));

	if (got < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return 0;
	return hash_check(block, (size_t)got);
}

/* Whether the result has the bytes of the open file, whose start is given. The
 * hash of a result's start is kept: thousands of results of one size would
 * otherwise be read for every lost file of that size. */
static bool is_equal_result(struct judge *j, struct result *r, int fd,
			    uint64_t start)
{
	unsigned char x[PIECE], y[PIECE];
	struct err ignored;
	auto_close int now = -1;
	ssize_t got, other;

	if (r->is_read && r->start != start)
		return false;
	now = changes_open(j->view->root, r->change->path, true, &ignored);
	r->start = hash_start(now);
	r->is_read = true;
	if (now < 0 || r->start != start || lseek(fd, 0, SEEK_SET) < 0)
		return false;
	do {
		got = fd_read(fd, x, sizeof(x));
		other = fd_read(now, y, sizeof(y));
		if (got < 0 || got != other || (uint64_t)got > j->left ||
		    memcmp(x, y, (size_t)got) != 0)
			return false;
		j->left -= (uint64_t)got;
	} while (got);
	return true;
}

static bool is_among(struct judge *j, struct results *in,
		     const struct change *c)
{
	size_t low = 0, high, i;
	auto_close int fd = -1;
	struct err ignored;
	uint64_t start;

	for (high = in->count; low < high;) {
		size_t at = low + (high - low) / 2;

		if (in->items[at].change->now.size < c->old.size)
			low = at + 1;
		else
			high = at;
	}
	if (low == in->count || in->items[low].change->now.size != c->old.size)
		return false;
	fd = changes_open(j->view->root, c->path, false, &ignored);
	if (fd < 0)
		return false;
	start = hash_start(fd);
	for (i = low; i < in->count; i++) {
		struct result *r = &in->items[i];

		if (r->change->now.size != c->old.size)
			return false;
		if (is_equal_result(j, r, fd, start))
			return true;
	}
	return false;
}

/* Whether the run has moved the bytes into a .git that is left out, as
 * git-annex and git-lfs do, and has no other file with them. */
static bool is_left_in_git(struct judge *j, const struct change *c)
{
	j->in_git = is_among(j, &j->left_out, c) && !is_among(j, &j->taken, c);
	return j->in_git;
}

/* --- files --- */

static bool has_early_nul(const struct buf *b)
{
	return b->len && memchr(b->data, '\0', b->len < 8000 ? b->len : 8000);
}

#define ZIP_END 22 /* bytes of the record at the end, without a comment */

/* The bytes in front of the directory at the end of a ZIP archive, which each
 * new entry overwrites; 0: it is none. */
static uint64_t zip_entries(int fd, uint64_t size)
{
	unsigned char b[ZIP_END];
	uint64_t n;

	if (size <= ZIP_END || fd_pread(fd, b, 4, 0) != 4 ||
	    memcmp(b, "PK\3\4", 4) != 0 ||
	    fd_pread(fd, b, ZIP_END, size - ZIP_END) != ZIP_END ||
	    memcmp(b, "PK\5\6", 4) != 0)
		return 0;
	n = b[16] | b[17] << 8 | b[18] << 16 | (uint64_t)b[19] << 24;
	return n < size ? n : 0;
}

/* How many bytes of the old file a writer that loses nothing leaves as they
 * are. */
static uint64_t kept_size(int old, uint64_t old_size, int now,
			  uint64_t now_size)
{
	uint64_t entries = zip_entries(old, old_size);

	return entries && zip_entries(now, now_size) >= entries ? entries
								: old_size;
}

/* In blocks at the same offsets, less than half of the bytes that are not zero
 * are as they were. */
static bool has_other_bytes(const struct judge *j, const struct change *c,
			    const char *now_path, uint64_t now_size)
{
	unsigned char x[BLOCK], y[BLOCK];
	uint64_t step = c->old.size / BLOCKS, at = 0, kept;
	size_t same = 0, other = 0;
	struct err ignored;
	auto_close int old =
		changes_open(j->view->root, c->path, false, &ignored);
	auto_close int now =
		changes_open(j->view->root, now_path, true, &ignored);

	if (old < 0 || now < 0 || now_size < c->old.size / 2)
		return true;
	kept = kept_size(old, c->old.size, now, now_size);
	for (; at<kept; at += step> BLOCK ? step : BLOCK) {
		size_t most = kept - at < BLOCK ? (size_t)(kept - at) : BLOCK;
		ssize_t a = fd_pread(old, x, most, at), i;
		ssize_t b = fd_pread(now, y, most, at);

		for (i = 0; i < a; i++) {
			same += x[i] && i < b && x[i] == y[i];
			other += x[i] && (i >= b || x[i] != y[i]);
		}
	}
	return other > same;
}

/* --- files overwritten in part --- */

/* Bytes in a row that are others than before, but for a few. */
#define OVERWRITTEN_BINARY 8
#define OVERWRITTEN_LINES 16 /* of a text, the end of a line among them */
#define OVERWRITTEN_TEXT 256

struct overwriting {
	bool binary; /* has a NUL before the run */
	bool new_nul; /* a text has one now */
	bool found;
	size_t run, lines; /* of the current row */
	uint64_t cut_lines; /* in the bytes behind the new end */
	size_t page; /* of a write-ahead log's database; 0: none */
};

/* At the same offsets: an edit moves the bytes behind it, a write in place does
 * not. Zeros of a binary file are room that its program fills. */
static void compare_in_place(struct overwriting *o, const unsigned char *old,
			     const unsigned char *now, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (old[i] == now[i]) {
			o->run -= o->run < 4 ? o->run : 4;
			o->lines = o->run ? o->lines : 0;
			continue;
		}
		if (o->binary && !old[i])
			continue;
		o->lines += old[i] == '\n' || now[i] == '\n';
		o->run++;
		o->found |= o->run >= (o->binary  ? OVERWRITTEN_BINARY
				       : o->lines ? OVERWRITTEN_LINES
						  : OVERWRITTEN_TEXT);
	}
}

#define SQLITE "SQLite format 3"

/* A transaction of SQLite, which counts them in the header. One of a
 * write-ahead log that leaves the header adds, frees and retypes no page:
 * ret_page. */
static bool is_transaction(const unsigned char *old, const unsigned char *now,
			   uint64_t now_size, size_t *ret_page)
{
	size_t page = (size_t)old[16] << 8 | old[17];

	page = page > 1 ? page : 65536;
	if (memcmp(old, SQLITE, sizeof(SQLITE)) != 0 ||
	    memcmp(old, now, 18) != 0 || now_size % page != 0)
		return false;
	*ret_page = old[18] == 2 ? page : 0;
	return memcmp(old + 24, now + 24, 4) != 0;
}

#define JOURNAL "-journal"

/* A journal of SQLite in the mode "persist", whose zeros at the beginning end a
 * transaction: the database needs none of it. */
static bool is_spent_journal(const struct judge *j, const char *path)
{
	static const char spent[28];
	char head[sizeof(spent)];
	auto_free char *database = NULL;
	auto_close int journal = -1, fd = -1;
	struct err ignored;

	if (!path_ends(path, JOURNAL))
		return false;
	database = mem_strndup(path, strlen(path) - strlen(JOURNAL));
	journal = changes_open(j->view->root, path, false, &ignored);
	fd = changes_open(j->view->root, database, false, &ignored);
	return journal >= 0 && fd >= 0 &&
	       fd_pread(journal, head, sizeof(head), 0) == sizeof(head) &&
	       memcmp(head, spent, sizeof(spent)) == 0 &&
	       fd_pread(fd, head, sizeof(SQLITE), 0) == sizeof(SQLITE) &&
	       memcmp(head, SQLITE, sizeof(SQLITE)) == 0;
}

/* Whether the first byte of a page, its type, is another one. */
static bool has_other_page(const unsigned char *old, const unsigned char *now,
			   size_t len, size_t offset, size_t page)
{
	size_t i = offset ? page - offset : 0;

	while (i < len && old[i] == now[i])
		i += page;
	return i < len;
}

static size_t count_bytes(const unsigned char *at, size_t len, char byte)
{
	size_t n = 0, i;

	for (i = 0; i < len; i++)
		n += at[i] == (unsigned char)byte;
	return n;
}

/* Whether bytes of the file are gone that an edit does not remove: a binary
 * file has others at their place or is shorter, a text has them at the same
 * length, has a NUL, or was cut off. */
static bool is_partly_overwritten(struct judge *j, const struct change *c,
				  const char *path, uint64_t size)
{
	unsigned char x[PIECE], y[PIECE], last_old = 0, last_now = 0;
	struct overwriting o = {0};
	struct err ignored;
	auto_close int old =
		changes_open(j->view->root, c->path, false, &ignored);
	auto_close int now = changes_open(j->view->root, path, true, &ignored);
	bool shorter = size < c->old.size;
	bool in_place = size == c->old.size;
	uint64_t at, kept;

	if (old < 0 || now < 0)
		return false;
	kept = kept_size(old, c->old.size, now, size);
	for (at = 0; at < kept && j->left && !o.new_nul; at += PIECE) {
		size_t most = kept - at < PIECE ? (size_t)(kept - at) : PIECE;
		ssize_t a = fd_read(old, x, most);
		ssize_t b = fd_read(now, y, most);
		size_t len = (size_t)(a < b ? a : b);

		if (a <= 0 || b < 0)
			break;
		if (!at && a >= 100 && b >= 100 &&
		    is_transaction(x, y, size, &o.page))
			return false;
		j->left -= (uint64_t)a < j->left ? (uint64_t)a : j->left;
		o.binary |= memchr(x, '\0', (size_t)a) != NULL;
		o.new_nul = !o.binary && memchr(y, '\0', (size_t)b);
		if (o.page && in_place)
			o.found |=
				has_other_page(x, y, len, at % o.page, o.page);
		else if (o.binary || in_place)
			compare_in_place(&o, x, y, len);
		else if (memcmp(x, y, len) != 0)
			shorter = false;
		o.cut_lines += count_bytes(x + len, (size_t)a - len, '\n');
		if (b)
			last_now = y[b - 1];
		last_old = x[a - 1];
	}
	if (o.found || o.new_nul)
		return true;
	return shorter && (o.binary || o.cut_lines >= LINES_LEAST ||
			   (last_old == '\n' && last_now != '\n'));
}

/* What is at the file's place, or where it was moved: "" and mode 0 nothing. */
static const char *find_successor(const struct view *v, const struct change *c,
				  const struct change_side **ret)
{
	const struct change_move *m = changes_move(v->list, c);

	*ret = &c->now;
	if (m && !m->half && c->kind == CHANGE_DELETED) {
		*ret = &m->now;
		return m->to;
	}
	return c->path;
}

/* Whether a line is gone, or its key; else they are in another order. */
static bool lacks_lines(const struct buf *old, const struct buf *now, bool keys)
{
	struct lines o = {0}, n = {0};
	bool lacks;

	split_lines(old, keys, &o);
	split_lines(now, keys, &n);
	lacks = count_common(&o, &n, NULL) < o.count;
	VEC_FREE(&o);
	VEC_FREE(&n);
	return lacks;
}

/* A text, or a file small enough to be compared as one. */
static bool is_replaced(struct judge *j, const struct gitcopies *git,
			const struct change *c, const struct buf *old)
{
	AUTO(buf) struct buf now = {0}, head = {0};
	const struct change_side *side;
	const char *path = find_successor(j->view, c, &side);
	bool tracked = git && gitcopies_head(git, c->path, &head);
	bool written = risk_is_defined("written", c->path);
	struct err ignored;

	if (!S_ISREG(side->mode)) {
		/* Deleted. An edit of blanks alone is no work. */
		return !tracked || has_early_nul(old) ||
		       loss_of_lines(old, &head, NULL);
	}
	if (!side->size)
		return true;
	if (!written && gitcopies_is_ignored(git, c->path) &&
	    risk_is_defined("rewritten", c->path))
		return false;
	if (c->old.size > LOSS_TEXT_MAX || side->size > LOSS_TEXT_MAX ||
	    has_early_nul(old)) {
		if (is_spent_journal(j, c->path))
			return false;
		if (has_other_bytes(j, c, path, side->size))
			return true;
	} else if (changes_read(j->view->root, path, side->mode, true, &now,
				&ignored) < 0 ||
		   loss_of_lines(old, tracked ? &head : NULL, &now)) {
		return true;
	} else if (!lacks_lines(old, &now, false)) {
		return false;
	} else if (gitcopies_is_ignored(git, c->path) &&
		   lacks_lines(old, &now, !written)) {
		/* Keys and data; others will be committed, and are edited. */
		j->partly = true;
		return true;
	}
	j->partly = !gitcopies_is_tracked(git, c->path) &&
		    is_partly_overwritten(j, c, path, side->size);
	return j->partly;
}

static enum gitcopy find_copy(struct judge *j, const struct gitcopies *git,
			      const struct change *c, const struct buf *old)
{
	struct err ignored;

	if (c->old.size <= LOSS_TEXT_MAX)
		return gitcopies_find(git, c->path, old);
	if (c->old.size <= j->left) {
		auto_close int fd =
			changes_open(j->view->root, c->path, false, &ignored);

		j->left -= c->old.size;
		return fd < 0 ? GITCOPY_NONE
			      : gitcopies_find_file(git, c->path, fd);
	}
	return GITCOPY_NONE;
}

static bool is_moved(const struct view *v, const struct change *c)
{
	const struct change_move *m = changes_move(v->list, c);

	return m && !m->half && m->percent == 100 && c->kind == CHANGE_DELETED;
}

static enum loss judge_file(struct judge *j, const struct change *c)
{
	AUTO(buf) struct buf old = {0};
	struct gitcopies *git;
	enum gitcopy copy;
	struct err ignored;

	j->in_git = j->partly = false;
	if (is_moved(j->view, c))
		return LOSS_COPIED;
	if (!j->nests.count)
		push_nest(j, "");
	/* The index of the root's repository has no file of a nested one. */
	if (j->nests.items[0].git) {
		j->losses->repository = true;
		if (gitcopies_is_staged(j->nests.items[0].git, c->path,
					&c->old))
			return LOSS_IN_GIT;
	}
	if (risk_in_generated(c->path))
		return LOSS_GENERATED;
	git = find_git(j, c->path);
	if (!git && is_left_in_git(j, c))
		return LOSS_NO_COPY;
	if (!git && c->now.mode && (!S_ISREG(c->now.mode) || c->now.size))
		return LOSS_NONE;
	if (!git)
		return loss_generated(j->view->root, NULL, c->path)
			       ? LOSS_GENERATED
			       : LOSS_UNKNOWN;
	j->losses->repository = true;
	if (gitcopies_is_staged(git, c->path, &c->old))
		return LOSS_IN_GIT;
	if (c->old.size <= LOSS_TEXT_MAX &&
	    changes_read(j->view->root, c->path, c->old.mode, false, &old,
			 &ignored) < 0)
		return LOSS_UNKNOWN;
	copy = find_copy(j, git, c, &old);
	if (copy != GITCOPY_NONE)
		return copy == GITCOPY_CURRENT ? LOSS_IN_GIT : LOSS_IN_HISTORY;
	if (is_among(j, &j->taken, c))
		return LOSS_COPIED;
	if (loss_generated(j->view->root, git, c->path))
		return LOSS_GENERATED;
	if (is_left_in_git(j, c))
		return LOSS_NO_COPY;
	if (!is_replaced(j, git, c, &old))
		return c->kind == CHANGE_MODIFIED ? LOSS_NONE : LOSS_IN_GIT;
	return gitcopies_is_tracked(git, c->path) ? LOSS_WORK : LOSS_NO_COPY;
}

#define POINTER_MAX 1024
#define LINKS_MAX 40

/* The new content is only in a .git that is left out: of a link, also through
 * other new links, and of a pointer of git-annex or git-lfs, a small file with
 * the object's name. */
static bool is_content_left(const struct judge *j, const struct change *c,
			    int links)
{
	AUTO(buf) struct buf text = {0};
	auto_free char *copy = NULL, *path = NULL;
	struct err ignored;
	char *at, *word;

	if (c->flags & CHANGE_GIT && !S_ISLNK(c->now.mode))
		return is_new(j, c);
	if (links > LINKS_MAX || c->now.size > POINTER_MAX ||
	    (!S_ISLNK(c->now.mode) && !j->objects.count) ||
	    changes_read(j->view->root, c->path, c->now.mode, true, &text,
			 &ignored) < 0)
		return false;
	at = copy = buf_take_text(&text);
	if (S_ISLNK(c->now.mode)) {
		path = path_below(at, j->path)
			       ? mem_strdup(path_rest(at, j->path))
			       : risk_refs_follow(c->path, at);
		c = path ? FIND_BY_PATH(path, j->all->items, j->all->count,
					path)
			 : NULL;
		return c && is_content_left(j, c, links + 1);
	}
	while ((word = strsep(&at, "/:\r\n")))
		if (pathset_contains(&j->objects, word))
			return true;
	return false;
}

/* The directory of a version system other than git, whose history goes with it,
 * unless most of its files were moved; a .git is applied by its name alone. */
static bool is_deleted_repository(const struct view *v, size_t i)
{
	static const char *const names[] = {".hg",    ".sl",	".jj", ".bzr",
					    "_darcs", ".pijul", NULL};
	const struct change *dir = v->items[i].change;
	size_t moved = 0, deleted = 0;

	if (!S_ISDIR(dir->old.mode) || dir->now.mode ||
	    dir->flags & CHANGE_GIT ||
	    !mem_list_has(names, path_name(dir->path)))
		return false;
	for (i++; i < v->count; i++) {
		const struct change *c = v->items[i].change;

		if (!path_below(c->path, dir->path))
			break;
		if (!S_ISREG(c->old.mode))
			continue;
		deleted++;
		moved += v->items[i].moved_across || is_moved(v, c);
	}
	return moved * 2 <= deleted;
}

void loss_drop_edited_refs(const struct view *v, struct losses *l)
{
	size_t kept = 0, i;

	for (i = 0; i < l->refs.count; i++) {
		struct loss_ref *r = &l->refs.items[i];
		const struct view_entry *e = view_find(v, r->path);

		/* A packed ref had no file: the user has made one since, or
		 * there is none yet. */
		if (e && changes_is_edited(v->root, e->change))
			loss_ref_free(r);
		else
			l->refs.items[kept++] = *r;
	}
	l->refs.count = kept;
}

void loss_judge_home(struct view *v)
{
	size_t i;

	for (i = 0; i < v->count; i++) {
		const struct change *c = v->items[i].change;

		if (S_ISREG(c->old.mode) && c->old.size && !c->now.mode &&
		    !changes_is_cache(c->path) && !is_moved(v, c) &&
		    !v->items[i].moved_across)
			v->items[i].loss = LOSS_HOME;
	}
}

void loss_find_generated(struct view *v, const char *path,
			 const struct conflict_list *list, bool *ret)
{
	AUTO(losses) struct losses ignored = {0};
	AUTO(judge)
	struct judge j = {.view = v, .path = path, .losses = &ignored};
	size_t i;

	for (i = 0; i < list->count; i++) {
		const struct conflict *c = &list->items[i];

		ret[i] =
			c->kind <= CONFLICT_CHANGED_NOW && v->root &&
			loss_generated(v->root, find_git(&j, c->path), c->path);
	}
}

void loss_judge(struct view *v, const char *path, struct losses *ret)
{
	AUTO(judge)
	struct judge j = {
		.view = v,
		.path = path,
		.losses = ret,
		.left = LOSS_READ_MAX,
	};
	size_t i;

	*ret = (struct losses){0};
	if (!v->root)
		return;
	list_results(&j);
	for (i = 0; i < v->count; i++) {
		const struct change *c = v->items[i].change;

		if (is_deleted_repository(v, i))
			v->items[i].loss = LOSS_NO_COPY;
		if (S_ISREG(c->old.mode) && c->old.size &&
		    c->kind != CHANGE_META && c->kind != CHANGE_ADDED &&
		    !(c->flags & CHANGE_GIT)) {
			v->items[i].loss = v->items[i].moved_across
						   ? LOSS_COPIED
						   : judge_file(&j, c);
			v->items[i].in_git = j.in_git;
			v->items[i].partly = j.partly;
		}
		if (j.left_out.count && !(c->flags & CHANGE_GIT) &&
		    c->kind != CHANGE_META && is_content_left(&j, c, 0)) {
			v->items[i].loss = LOSS_NO_COPY;
			v->items[i].in_git = true;
		}
	}
	loss_refs_judge(v, path, ret);
}
