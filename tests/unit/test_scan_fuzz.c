/*
 * Random operations in a merged view; the change list, applied to a model of
 * the real directory, must give the merged view: type, bytes, mode, link
 * target, xattrs. Then random paths are discarded: they must be as in the real
 * directory, and everything else as before.
 *
 * FUZZ_SEED=n runs one seed, FUZZ_COUNT=n as many from a random start.
 */
#include "snapshot/tree/tree.c"

#include "overlay_lab.h"

#include <time.h>

#include "base/beneath.h"
#include "base/codec.h"
#include "overlay/scan_range.h"

#define COUNT 40
#define OPS 120
#define NAMES "abcde"
#define DEPTH 3
#define DATA_MAX 40

struct layer_entry {
	char *path;
	uint32_t mode;
	struct buf content; /* bytes or link target */
	struct buf xattrs;
};

struct model {
	struct layer_entry *items;
	size_t count, room;
};

static unsigned int seed, state_now;

static unsigned int any(unsigned int below)
{
	return (unsigned int)rand_r(&state_now) % below;
}

static void layer_entry_free(struct layer_entry *e)
{
	free(e->path);
	buf_free(&e->content);
	buf_free(&e->xattrs);
	*e = (struct layer_entry){0};
}

static void model_free(struct model *m)
{
	while (m->count)
		layer_entry_free(&m->items[--m->count]);
	free(m->items);
	*m = (struct model){0};
}

static struct layer_entry *model_find(struct model *m, const char *path)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (strcmp(m->items[i].path, path) == 0)
			return &m->items[i];
	return NULL;
}

static void model_remove(struct model *m, const char *path)
{
	struct layer_entry *e = model_find(m, path);

	assert_non_null(e);
	layer_entry_free(e);
	*e = m->items[--m->count];
}

/* Loads an entry without its content, and without attributes that never leave a
 * layer. */
static struct layer_entry load(int dirfd, const char *name, const char *path)
{
	struct layer_entry e = {.path = mem_strdup(path)};
	struct xattrs x = {0};
	struct err err;
	struct meta m;

	if (meta_get(dirfd, name, &m) < 0)
		abort();
	e.mode = m.mode;
	if (xattrs_get(dirfd, name, &x, &err) < 0)
		abort();
	(void)xattrs_remove_prefix(&x, LAYER_XATTR_PREFIX);
	(void)xattrs_remove_prefix(&x, "trusted.");
	attrset_encode(&x, &e.xattrs);
	xattrs_free(&x);
	return e;
}

static void load_content(struct layer_entry *e, int dirfd, const char *name)
{
	struct err err;

	if (S_ISREG(e->mode) &&
	    fd_slurp_at(dirfd, name, 1 << 20, &e->content, &err) < 0)
		abort();
	if (S_ISLNK(e->mode)) {
		ssize_t len = readlinkat(dirfd, name,
					 buf_reserve(&e->content, 4096), 4096);

		if (len < 0)
			abort();
		e->content.len = (size_t)len;
	}
}

static void take_model(int dir, const char *path, struct model *ret)
{
	struct dirlist list = {0};
	struct err err;
	size_t i;

	if (dirlist_read(dir, &list, &err) < 0)
		abort();
	for (i = 0; i < list.count; i++) {
		const char *name = list.items[i].name;
		auto_free char *below = path_join(path, name);
		struct layer_entry e = load(dir, name, below);

		load_content(&e, dir, name);
		GROW(ret->items, ret->count, ret->room);
		ret->items[ret->count++] = e;
		if (S_ISDIR(e.mode)) {
			auto_close int fd =
				openat(dir, name, O_RDONLY | O_DIRECTORY);

			take_model(fd, below, ret);
		}
	}
	dirlist_free(&list);
}

static struct model model_of(int dirfd)
{
	auto_close int dir = openat(dirfd, ".", O_RDONLY | O_DIRECTORY);
	struct model m = {0};
	struct layer_entry root = load(dir, "", "");

	GROW(m.items, m.count, m.room);
	m.items[m.count++] = root;
	take_model(dir, "", &m);
	return m;
}

static void save_model(const struct model *m, int dirfd)
{
	struct buf b = {0};
	size_t i;
	int fd = openat(dirfd, "model", O_WRONLY | O_CREAT | O_TRUNC, 0600);

	for (i = 0; i < m->count; i++) {
		const struct layer_entry *e = &m->items[i];

		enc_text(&b, e->path);
		enc_u32(&b, e->mode);
		enc_bytes(&b, e->content.data, e->content.len);
		enc_bytes(&b, e->xattrs.data, e->xattrs.len);
	}
	if (fd < 0 || fd_write(fd, b.data, b.len) < 0)
		abort();
	(void)close(fd);
	buf_free(&b);
}

static struct model load_model(int dirfd)
{
	struct model m = {0};
	struct buf b = {0};
	struct err err;
	struct dec d;

	assert_int_equal(fd_slurp_at(dirfd, "model", 64 << 20, &b, &err), 0);
	d = dec_start(b.data, b.len);
	while (d.at < d.end && !d.bad) {
		struct layer_entry e = {.path = dec_text(&d),
					.mode = dec_u32(&d)};
		const unsigned char *data;
		size_t len;

		data = dec_bytes(&d, &len);
		buf_add(&e.content, data, len);
		data = dec_bytes(&d, &len);
		buf_add(&e.xattrs, data, len);
		GROW(m.items, m.count, m.room);
		m.items[m.count++] = e;
	}
	assert_true(dec_end(&d));
	buf_free(&b);
	return m;
}

static bool same_buf(const struct buf *a, const struct buf *b)
{
	return a->len == b->len &&
	       (!a->len || memcmp(a->data, b->data, a->len) == 0);
}

static const char *differs(const struct layer_entry *a,
			   const struct layer_entry *b)
{
	if (!a || !b)
		return a == b ? NULL : "is there on one side only";
	if (a->mode != b->mode)
		return "has another mode";
	if (!same_buf(&a->content, &b->content))
		return "has another content";
	if (!same_buf(&a->xattrs, &b->xattrs))
		return "has other xattrs";
	return NULL;
}

static int complain(const char *what, const char *path, const char *why)
{
	print_error("seed %u: %s: '%s' %s\n", seed, what, path, why);
	return 1;
}

static int compare_models(const char *what, struct model *got,
			  struct model *want)
{
	const char *why;
	size_t i;

	for (i = 0; i < want->count; i++) {
		why = differs(&want->items[i],
			      model_find(got, want->items[i].path));
		if (why)
			return complain(what, want->items[i].path, why);
	}
	for (i = 0; i < got->count; i++)
		if (!model_find(want, got->items[i].path))
			return complain(what, got->items[i].path, "too much");
	return 0;
}

/* ---- the random operations, in the current directory ---- */

static void any_path(char *to)
{
	unsigned int depth = 1 + any(DEPTH), i;

	for (i = 0; i < depth; i++) {
		*to++ = NAMES[any(sizeof(NAMES) - 1)];
		*to++ = '/';
	}
	to[-1] = '\0';
}

static void any_write(const char *path, int flags)
{
	char data[DATA_MAX];
	size_t len = any(DATA_MAX);
	int fd = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | flags, 0644);

	memset(data, 'A' + (int)any(3), sizeof(data));
	if (fd >= 0 && write(fd, data, len) < 0)
		abort();
	if (fd >= 0)
		(void)close(fd);
}

/* Failures of random operations do not matter. */
static void ignore(int result)
{
	(void)result;
}

/* The project's own attributes below user.overlay. are invisible in every run.
 */
static void any_xattr(const char *path, bool lower)
{
	static const char *const names[] = {"user.a", "user.b",
					    "user.overlay.opaque",
					    "user.overlay.overlay.x"};
	const char *name = names[any(lower ? 2 : 4)];

	if (any(3))
		(void)lsetxattr(path, name, "yy", 1 + any(2), 0);
	else
		(void)lremovexattr(path, name);
}

static void any_node(const char *path)
{
	if (any(2))
		(void)mkfifo(path, 0600);
	else
		ignore(symlink(any(2) ? "a" : "../nowhere", path));
}

/* Rewrites a file with the same content. */
static void rewrite(const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode)) {
		(void)chmod(path, 0666);
		(void)chmod(path, st.st_mode & 07777);
	}
}

static void remove_tree(const char *path)
{
	struct err err;

	(void)dirtree_remove(AT_FDCWD, path, &err);
}

static void any_op(bool lower)
{
	char path[32], other[32];

	any_path(path);
	any_path(other);
	switch (any(lower ? 8 : 18)) {
	case 0:
	case 1:
	case 2:
		(void)mkdir(path, 0700 | any(0100));
		break;
	case 3:
	case 4:
		any_write(path, 0);
		break;
	case 5:
		any_xattr(path, lower);
		break;
	case 6:
		any_node(path);
		break;
	case 7:
		ignore(link(path, other));
		break;
	case 8:
		any_write(path, any(2) ? O_TRUNC : O_APPEND);
		break;
	case 9:
		(void)unlink(path);
		break;
	case 10:
		remove_tree(path);
		break;
	case 11:
		remove_tree(path);
		(void)mkdir(path, 0755);
		break;
	case 12:
	case 13:
		(void)rename(path, other);
		break;
	case 14:
		(void)renameat2(AT_FDCWD, path, AT_FDCWD, other,
				RENAME_EXCHANGE);
		break;
	case 15:
		rewrite(path);
		break;
	case 16:
		/* Always with the owner's own permissions, because a plain user
		 * reads the merged view back. */
		ignore(fchmodat(AT_FDCWD, path, 0700 | any(0100), 0));
		break;
	case 17:
		(void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
		break;
	}
}

static int do_work(void *arg)
{
	struct lab *lab = arg;
	struct model m;
	int i;

	for (i = 0; i < OPS; i++)
		any_op(false);
	m = model_of(AT_FDCWD);
	save_model(&m, lab->root_fd);
	return 0;
}

static int do_look(void *arg)
{
	struct lab *lab = arg;
	struct model m = model_of(AT_FDCWD);

	save_model(&m, lab->root_fd);
	return 0;
}

static void make_lower(struct lab *lab)
{
	int i, before = open(".", O_RDONLY | O_DIRECTORY);

	assert_int_equal(fchdir(lab->project_fd), 0);
	for (i = 0; i < OPS; i++)
		any_op(true);
	assert_int_equal(fchdir(before), 0);
	(void)close(before);
}

/* ---- the checks ---- */

static void put_from_upper(struct lab *lab, struct model *m,
			   const struct change *c)
{
	struct layer_entry *old = model_find(m, c->path);
	const char *name;
	struct err err;
	struct layer_entry e;
	auto_close int dir = -1;

	if (!*c->path) {
		e = load(lab->upper_fd, "", "");
	} else {
		dir = beneath_parent(lab->upper_fd, c->path, &name, &err);
		assert_true(dir >= 0);
		e = load(dir, name, c->path);
	}
	if (c->kind == CHANGE_META && old) {
		buf_add(&e.content, old->content.data, old->content.len);
	} else if (S_ISREG(e.mode)) {
		auto_close int fd = scan_open(lab->upper_fd, c->path, &err);

		assert_true(fd >= 0);
		assert_int_equal(fd_slurp(fd, 1 << 20, &e.content, &err), 0);
	} else if (S_ISLNK(e.mode)) {
		load_content(&e, dir, name);
	}
	assert_int_equal(e.mode, c->now.mode);
	if (old) {
		layer_entry_free(old);
		*old = e;
	} else {
		GROW(m->items, m->count, m->room);
		m->items[m->count++] = e;
	}
}

/* Every listed change must be a real one. */
static int check_change(struct model *lower, struct model *merged,
			const struct change *c)
{
	struct layer_entry *was = model_find(lower, c->path);
	struct layer_entry *is = model_find(merged, c->path);

	if (c->flags & CHANGE_UNREADABLE)
		return complain("scan", c->path, "unreadable");
	if (!differs(was, is))
		return complain("scan", c->path,
				"is listed and did not change");
	if ((c->kind == CHANGE_DELETED) != !is ||
	    (c->kind == CHANGE_ADDED) != !was)
		return complain("scan", c->path, "is of another kind");
	if (was && is &&
	    (c->kind == CHANGE_TYPE) !=
		    ((was->mode & S_IFMT) != (is->mode & S_IFMT)))
		return complain("scan", c->path, "is of another type");
	if (was && is && c->kind == CHANGE_META &&
	    !same_buf(&was->content, &is->content))
		return complain("scan", c->path, "changed more than its mode");
	return 0;
}

/* Two ranges, joined, are the whole, wherever they meet. */
static int check_ranges(struct lab *lab, const struct change_list *whole)
{
	size_t i, k;

	for (i = 0; i < whole->count; i++) {
		const char *at = whole->items[i].path;
		struct scan_range r = {.upper_fd = lab->upper_fd,
				       .lower_fd = lab->project_fd,
				       .until = at};
		AUTO(change_list) struct change_list list = {0}, end = {0};
		struct err err;

		if (scan_range(&r, &list, &err) < 0)
			return complain("range", at, err.text);
		r.from = at;
		r.until = NULL;
		if (scan_range(&r, &end, &err) < 0)
			return complain("range", at, err.text);
		change_list_append(&list, &end);
		if (list.count != whole->count ||
		    list.touched_count != whole->touched_count ||
		    timestamp_compare(list.newest, whole->newest) != 0)
			return complain("range", at, "other totals");
		for (k = 0; k < list.count; k++)
			if (strcmp(list.items[k].path, whole->items[k].path) ||
			    list.items[k].kind != whole->items[k].kind ||
			    list.items[k].flags != whole->items[k].flags)
				return complain("range", at, "other changes");
	}
	return 0;
}

static int check_scan(struct lab *lab, struct model *lower,
		      struct model *merged)
{
	AUTO(change_list) struct change_list list = lab_scan(lab);
	struct model m = model_of(lab->project_fd);
	int bad = 0;
	size_t i;

	for (i = 0; i < list.count && !bad; i++) {
		const struct change *c = &list.items[i];

		if (i && path_compare(list.items[i - 1].path, c->path) >= 0)
			bad = complain("scan", c->path, "is not in order");
		bad = bad || check_change(lower, merged, c);
		if (c->kind == CHANGE_DELETED)
			model_remove(&m, c->path);
		else
			put_from_upper(lab, &m, c);
	}
	bad = bad || compare_models("scan", &m, merged) ||
	      check_ranges(lab, &list);
	model_free(&m);
	return bad;
}

/* Whether a discard of `taken` must leave the path unchanged. */
static bool is_apart(const char *path, const char *taken, struct model *before)
{
	if (path_below(path, taken))
		return false;
	/* A parent directory may be restored to hold it. */
	return !path_below(taken, path) || model_find(before, path);
}

static int check_revert(struct lab *lab, const char *path, int number,
			struct model *lower, struct model *before)
{
	auto_free char *name = mem_printf("%d", number);
	struct model after;
	struct err err;
	int got, bad = 0;
	size_t i;

	got = upper_discard(lab->upper_fd, lab->project_fd, path, lab->trash_fd,
			    name, &err);
	if (got < 0 && got != -ENOTDIR)
		return complain("take back", path, err.text);
	assert_int_equal(lab_run(lab, do_look, lab), 0);
	after = load_model(lab->root_fd);
	if (got == -ENOTDIR)
		bad = compare_models("refused", &after, before);
	for (i = 0; i < lower->count && !bad && got == 0; i++) {
		const struct layer_entry *e = &lower->items[i];
		const char *why =
			path_below(e->path, path)
				? differs(e, model_find(&after, e->path))
				: NULL;

		if (why)
			bad = complain(path, e->path, why);
	}
	for (i = 0; i < after.count && !bad && got == 0; i++) {
		const struct layer_entry *e = &after.items[i];

		if (path_below(e->path, path) && !model_find(lower, e->path))
			bad = complain(path, e->path, "was not taken back");
		else if (is_apart(e->path, path, before) &&
			 differs(e, model_find(before, e->path)))
			bad = complain(path, e->path, "changed as well");
	}
	for (i = 0; i < before->count && !bad && got == 0; i++)
		if (!path_below(before->items[i].path, path) &&
		    !model_find(&after, before->items[i].path))
			bad = complain(path, before->items[i].path, "vanished");
	model_free(before);
	*before = after;
	return bad;
}

static int check_reverts(struct lab *lab, struct model *lower,
			 struct model *merged)
{
	int i, bad = 0;

	for (i = 0; i < 6 && !bad; i++) {
		AUTO(change_list) struct change_list list = lab_scan(lab);
		auto_free char *path = NULL;

		if (!list.count)
			break;
		path = mem_strdup(
			list.items[any((unsigned int)list.count)].path);
		bad = check_revert(lab, path, i, lower, merged) ||
		      check_scan(lab, lower, merged);
	}
	return bad;
}

static int run_seed(unsigned int number)
{
	struct model lower, merged, after;
	struct lab lab;
	int bad;

	seed = state_now = number;
	lab_open(&lab, "p");
	make_lower(&lab);
	lower = model_of(lab.project_fd);
	bad = lab_run(&lab, do_work, &lab);
	assert_int_equal(bad, 0);
	merged = load_model(lab.root_fd);
	bad = check_scan(&lab, &lower, &merged) ||
	      check_reverts(&lab, &lower, &merged);
	after = model_of(lab.project_fd);
	bad = bad || compare_models("the real folder", &after, &lower);
	model_free(&lower);
	model_free(&merged);
	model_free(&after);
	lab_close(&lab);
	return bad;
}

static void test_fuzz(void **state)
{
	const char *one = getenv("FUZZ_SEED"), *many = getenv("FUZZ_COUNT");
	unsigned int from =
		one ? (unsigned int)atoi(one) : (unsigned int)time(NULL) * 1000;
	unsigned int count = one ? 1 : many ? (unsigned int)atoi(many) : COUNT;
	unsigned int i;

	(void)state;
	print_message("# seeds %u to %u\n", from, from + count - 1);
	for (i = 0; i < count; i++)
		assert_int_equal(run_seed(from + i), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fuzz),
	};

	return cmocka_run_group_tests_name("scan_fuzz", tests, NULL, NULL);
}
