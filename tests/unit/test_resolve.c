/*
 * Conflicts and their resolution: merged texts, and --ours, --theirs and
 * --merge of an apply. test_plantable.c has the complete tables.
 */
/* users: one */
#include "guard/parse/parse_worker.h"
#include "tests/unit/plantell.h"

#include "restore/git/textmerge.h"

/* The bytes of x in the plan's only step, or NULL. */
static char *merged_text(struct box *box, const char *base, const char *want,
			 const char *now, enum plan_resolve resolve,
			 enum step_how how)
{
	struct plan_options options = {.resolve = resolve,
				       .our_label = "project",
				       .their_label = "run 7"};
	AUTO(entry) struct entry a = tree_of(box, base);
	AUTO(entry) struct entry b = tree_of(box, want);
	/* The root's mtime is the user's, and needs no step. */
	auto_free char *touched = mem_printf("d @3\n%s", now);
	AUTO(entry) struct entry c = tree_of(box, touched);
	AUTO(plan) struct plan p = {0};
	struct buf text = {0};
	struct err err;

	ok(plan_make(box->store, &a, &b, &c, &options, &p, &err));
	if (p.steps.count != 1 || p.conflicts.count ||
	    p.steps.items[0].how != how)
		return NULL;
	if (p.steps.items[0].to.size)
		ok(store_get(box->store, &p.steps.items[0].to.content, &text,
			     &err));
	assert_int_equal(text.len, p.steps.items[0].to.size);
	(void)buf_text(&text);
	return buf_take_text(&text);
}

static void expect_text(char *is, const char *text)
{
	assert_non_null(is);
	assert_string_equal(is, text);
	free(is);
}

static void puts_the_changes_of_both_into_one_text(void **state)
{
	struct box *box = *state;

	expect_text(merged_text(box, "f x=1|2|3|4|5|", "f x=1|2|3|4|five|",
				"f x=one|2|3|4|5|", RESOLVE_MERGE, STEP_MERGED),
		    "one\n2\n3\n4\nfive\n");
	/* A change that both made appears once. */
	expect_text(merged_text(box, "f x=1|2|3|4|5|6|7|",
				"f x=one|2|3|4|5|6|7|run|",
				"f x=one|2|3|4|user|6|7|", RESOLVE_MERGE,
				STEP_MERGED),
		    "one\n2\n3\n4\nuser\n6\n7\nrun\n");
	/* Lines that one side deleted, and an end without a line feed. */
	expect_text(merged_text(box, "f x=1|2|3|4|5|6", "f x=2|3|4|5|6",
				"f x=1|2|3|4|5|6|7", RESOLVE_MERGE,
				STEP_MERGED),
		    "2\n3\n4\n5\n6\n7");
	expect_text(merged_text(box, "f x=1|2|3|\r|5|", "f x=one|2|3|\r|5|",
				"f x=1|2|3|\r|5|\r|", RESOLVE_THEIRS,
				STEP_MERGED),
		    "one\n2\n3\n\r\n5\n\r\n");
}

static void takes_what_the_user_has_already_for_done(void **state)
{
	struct plan_options options = {.resolve = RESOLVE_MERGE};

	/* The user made all of the run's changes and more. */
	check(*state, "f x=1|2|3|4|5|", "f x=one|2|3|4|5|",
	      "f x=one|2|3|4|five|", &options, "already:1");
	/* The bytes are the user's, the mode is the run's. */
	check(*state, "f x=1|2|3|4|5|", "f [755]x=one|2|3|4|5|",
	      "f x=one|2|3|4|five|", &options, "merged-meta:x");
	check(*state, "f x", "f {user.a=1}x", "f {user.a=1,user.b=1}x",
	      &options, "already:1");
	check(*state, "d x", "d {user.a=1}x", "d {user.a=1,user.b=1}x",
	      &options, "already:1");
}

static void gives_each_of_mode_and_attributes_to_who_changed_it(void **state)
{
	struct plan_options options = {.resolve = RESOLVE_MERGE};
	AUTO(entry) struct entry a = tree_of(*state, "f x=1|");
	AUTO(entry) struct entry b = tree_of(*state, "f [700]x=run|");
	AUTO(entry) struct entry c = tree_of(*state, "d @3\nf @5+x=1|");
	AUTO(plan) struct plan p = {0};
	struct entry *to;
	struct err err;

	ok(plan_make(((struct box *)*state)->store, &a, &b, &c, &options, &p,
		     &err));
	assert_int_equal(p.steps.count, 1);
	to = &p.steps.items[0].to;
	assert_int_equal(to->mode, S_IFREG | 0700);
	assert_int_equal(to->attrs.type, OBJECT_ATTRSET);
	assert_int_equal(to->size, 4);
	/* Both changed the mode. */
	check(*state, "f x=1|", "f [700]x=1|2|", "f [711]x=1|", &options,
	      "!both-changed:x");
	check(*state, "f x=1|", "f [700]x=1|2|", "f [700]x=0|1|", &options,
	      "merged-replace:x meta:");
}

/* "mode {name=value,...}" of the plan's only step, to free; NULL: there is
 * none, or a conflict. */
static char *merged_meta(struct box *box, const char *base, const char *want,
			 const char *now)
{
	struct plan_options options = {.resolve = RESOLVE_MERGE};
	AUTO(entry) struct entry a = tree_of(box, base);
	AUTO(entry) struct entry b = tree_of(box, want);
	AUTO(entry) struct entry c = tree_of(box, now);
	AUTO(plan) struct plan p = {0};
	AUTO(xattrs) struct xattrs x = {0};
	struct buf text = {0};
	struct err err;
	size_t i;

	ok(plan_make(box->store, &a, &b, &c, &options, &p, &err));
	if (p.steps.count != 1 || p.conflicts.count ||
	    p.steps.items[0].how != STEP_MERGED)
		return NULL;
	if (p.steps.items[0].to.attrs.type != OBJECT_NONE) {
		ok(attrset_load(box->store, &p.steps.items[0].to.attrs, &x,
				&err));
		assert_true(x.count > 0);
	}
	buf_printf(&text, "%o", p.steps.items[0].to.mode & 07777);
	for (i = 0; i < x.count; i++)
		buf_printf(&text, " %s=%.*s", x.items[i].name,
			   (int)x.items[i].len, (char *)x.items[i].value);
	(void)buf_text(&text);
	return buf_take_text(&text);
}

static void gives_each_attribute_to_who_changed_it(void **state)
{
	expect_text(merged_meta(*state, "f {user.a=1,user.b=1,user.c=1}x",
				"f {user.a=2,user.b=1,user.e=2,user.s=9}x",
				"f {user.a=1,user.c=1,user.d=3,user.s=9}x"),
		    "644 user.a=2 user.d=3 user.e=2 user.s=9");
	expect_text(merged_meta(*state, "d {user.a=1}x", "d {user.a=2}x",
				"d [700]{user.a=1,user.b=1}x"),
		    "700 user.a=2 user.b=1");
	/* Both sides together removed all attributes. */
	expect_text(merged_meta(*state, "f {user.a=1,user.b=1}x",
				"f {user.a=1}x", "f {user.b=1}x"),
		    "644");
	assert_null(
		merged_meta(*state, "f {user.a=1}x", "f {user.a=2}x", "f x"));
	assert_null(
		merged_meta(*state, "f x", "f {user.a=2}x", "f {user.a=3}x"));
	/* A name that begins with the other's is another name. */
	expect_text(
		merged_meta(*state, "f x", "f {user.a=2}x", "f {user.aa=3}x"),
		"644 user.a=2 user.aa=3");
}

static void takes_an_access_list_and_the_mode_from_one_side(void **state)
{
	struct box *box = *state;

	expect_text(merged_meta(box, "f x",
				"f [664]{system.posix_acl_access=u}x",
				"f {user.a=1}x"),
		    "664 system.posix_acl_access=u user.a=1");
	expect_text(merged_meta(box, "f [664]{system.posix_acl_access=u}x",
				"f [664]{system.posix_acl_access=u,user.a=1}x",
				"f [640]{system.posix_acl_access=v}x"),
		    "640 system.posix_acl_access=v user.a=1");
	/* The ACL's mask is in the mode: one side's ACL does not fit to the
	 * other's mode. */
	assert_null(merged_meta(box, "f x", "f {system.posix_acl_access=u}x",
				"f [600]x"));
	assert_null(merged_meta(box, "f x", "f [600]x",
				"f {system.posix_acl_access=u}x"));
	assert_null(merged_meta(box, "f [664]{system.posix_acl_access=u}x",
				"f x", "f [644]{system.posix_acl_access=w}x"));
	/* The same ACL with another set-id bit is merged with the other's mode.
	 */
	expect_text(merged_meta(box, "f {system.posix_acl_access=u}x",
				"f [2644]{system.posix_acl_access=u}x",
				"f {system.posix_acl_access=u,user.a=1}x"),
		    "2644 system.posix_acl_access=u user.a=1");
	/* The default ACL does not affect the directory itself. */
	expect_text(merged_meta(box, "d x", "d {system.posix_acl_default=u}x",
				"d [700]x"),
		    "700 system.posix_acl_default=u");
	assert_null(merged_meta(box, "d x", "d {system.posix_acl_default=u}x",
				"d {system.posix_acl_default=v}x"));
}

static void hands_out_no_rights_by_merging(void **state)
{
	struct plan_options options = {.resolve = RESOLVE_MERGE,
				       .refuse_special = true};

	/* The user's set-id bits, the run's bytes. */
	check(*state, "f x=1|", "f x=run|", "f [4755]x=1|", &options,
	      "setid:x");
	check(*state, "f x=1|", "f [4644]x=1|", "f x=user|", &options,
	      "setid:x");
	check(*state, "f x=1|", "f ^x=1|", "f x=user|", &options, "setid:x");
	check(*state, "f x=1|", "f ^x=1|", "f +x=1|", &options, "setid:x");
	check(*state, "f x=1|", "f +x=run|", "f ^x=1|", &options, "setid:x");
	check(*state, "f {security.capability=a}x=1|",
	      "f {security.capability=b}x=1|",
	      "f {security.capability=a,user.u=1}x=1|", &options, "setid:x");
	/* A capability that the file already has, with the same bytes, is not
	 * granted. */
	check(*state, "f x=1|", "f {user.r=1}x=1|", "f ^x=1|", &options,
	      "merged-meta:x");
}

static void shuts_nobody_out_by_merging(void **state)
{
	struct plan_options options = {.resolve = RESOLVE_MERGE,
				       .refuse_special = true,
				       .refuse_unreadable = true};

	check(*state, "d x", "d [300]x", "d x", &options, "shut:x");
	check(*state, "d x", "d [300]x", "d +x", &options, "shut:x");
	options.resolve = RESOLVE_THEIRS;
	check(*state, "d x", "d [300]x", "d [711]x", &options,
	      "over:both-changed:x shut:x");
	options.agreed = (const char *const[]){"x", NULL};
	check(*state, "d x", "d [300]x", "d [711]x", &options,
	      "over-meta:x over:both-changed:x");
}

static void writes_markers_with_the_names_of_the_sides(void **state)
{
	struct box *box = *state;

	expect_text(merged_text(box, "f x=1|2|3|", "f x=1|run|3|",
				"f x=1|user|3|", RESOLVE_MARKERS, STEP_MARKED),
		    "1\n<<<<<<< project\nuser\n=======\nrun\n"
		    ">>>>>>> run 7\n3\n");
	expect_text(merged_text(box, "", "f x=run|", "f x=user|",
				RESOLVE_MARKERS, STEP_MARKED),
		    "<<<<<<< project\nuser\n=======\nrun\n>>>>>>> run 7\n");
	expect_text(merged_text(box, "f x=", "f x=run|", "f x=user|",
				RESOLVE_MARKERS, STEP_MARKED),
		    "<<<<<<< project\nuser\n=======\nrun\n>>>>>>> run 7\n");
	assert_null(merged_text(box, "f x=1|", "f x=run|", "f x=user|",
				RESOLVE_MERGE, STEP_MARKED));
}

/* A root with one file of these bytes. */
static struct entry one_file(struct box *box, const void *bytes, size_t len,
			     uint64_t group)
{
	struct entry root = tree_of(box, "");
	struct entry e = {.name = mem_strdup(""),
			  .mode = S_IFREG | 0644,
			  .uid = geteuid(),
			  .gid = getegid(),
			  .link_group = group,
			  .size = len};
	struct tree_editor *ed = tree_editor_new(box->store, &root);
	struct entry done;
	struct err err;

	ok(content_put_bytes(box->store, bytes, len, &e.content, &err));
	ok(tree_editor_put(ed, "x", &e, &err));
	ok(tree_editor_save(ed, &done, &err));
	tree_editor_free(&ed);
	entry_free(&root);
	entry_free(&e);
	return done;
}

/* The middle side differs from the two others at different ends. */
static void expect_no_merge(struct box *box, const struct buf *sides,
			    enum plan_resolve resolve, uint64_t group)
{
	struct plan_options options = {.resolve = resolve,
				       .our_label = "project",
				       .their_label = "run"};
	AUTO(entry)
	struct entry base = one_file(box, sides[0].data, sides[0].len, 0);
	AUTO(entry)
	struct entry want = one_file(box, sides[1].data, sides[1].len, 0);
	AUTO(entry)
	struct entry now = one_file(box, sides[2].data, sides[2].len, group);
	AUTO(plan) struct plan p = {0};
	struct err err;

	ok(plan_make(box->store, &base, &want, &now, &options, &p, &err));
	assert_int_equal(p.steps.count, 0);
	assert_int_equal(p.conflicts.count, 1);
	assert_int_equal(p.conflicts.items[0].kind, CONFLICT_BOTH_CHANGED);
}

static void merges_neither_binaries_nor_large_files_nor_links(void **state)
{
	struct buf sides[3] = {0};
	size_t i;

	for (i = 0; i < 3; i++) {
		if (i == 1)
			buf_add_text(&sides[i], "run\n");
		buf_add(&sides[i], "1\n2\n3\n4\n5\n\0\n", 12);
		if (i == 2)
			buf_add_text(&sides[i], "user\n");
	}
	expect_no_merge(*state, sides, RESOLVE_MERGE, 0);
	expect_no_merge(*state, sides, RESOLVE_MARKERS, 0);
	for (i = 0; i < 3; i++)
		sides[i].data[10 + (i == 1) * 4] = '6';
	expect_no_merge(*state, sides, RESOLVE_MERGE, 77);
	/* The last one is one byte too large. */
	for (i = 0; i < 3; i++)
		while (sides[i].len < TEXTMERGE_MAX - 8)
			buf_add_text(&sides[i], "more\n");
	while (sides[2].len <= TEXTMERGE_MAX)
		buf_add_char(&sides[2], '\n');
	expect_no_merge(*state, sides, RESOLVE_MERGE, 0);
	for (i = 0; i < 3; i++)
		buf_free(&sides[i]);
}

static void merges_nothing_without_a_base(void **state)
{
	struct snapshot notes = {0};
	struct plan_options options = {.base_notes = &notes,
				       .resolve = RESOLVE_MERGE};
	const char *base = "f x=1|2|3|", *run = "f x=1|2|3|run|",
		   *user = "f x=user|1|2|3|";

	snapshot_add_note(&notes, NOTE_MOVED, "x", "");
	check(*state, base, run, user, &options, "!moved:x");
	options.resolve = RESOLVE_MARKERS;
	check(*state, base, run, user, &options, "!moved:x");
	options.resolve = RESOLVE_OURS;
	check(*state, base, run, user, &options, "ours:moved:x");
	/* A file equal to base may still be the user's. */
	options.resolve = RESOLVE_THEIRS;
	check(*state, base, run, base, &options,
	      "over-replace:x meta: over:moved:x");
	check(*state, base, "", base, &options,
	      "over-delete:x meta: over:moved:x");
	snapshot_free(&notes);
}

static void decides_nothing_about_what_could_not_be_stored(void **state)
{
	struct plan_options options = {.resolve = RESOLVE_THEIRS};

	check(*state, "f x=1", "f x=2", "f !x=3", &options, "!incomplete:x");
	check(*state, "f x=1", "", "f !x=3", &options, "!incomplete:x");
	check(*state, "d d\nf d/x=1", "", "d d\nf !d/x=3", &options,
	      "!incomplete:d/x");
	check(*state, "d d\nf d/x=1", "", "d d\nf d/x=1\nf !d/y=3", &options,
	      "!incomplete:d/y");
	options.resolve = RESOLVE_OURS;
	check(*state, "f x=1", "f x=2", "f !x=3", &options,
	      "ours:incomplete:x");
	check(*state, "d d\nf d/x=1\nf d/y=1", "", "d d\nf !d/x=3\nf d/y=1",
	      &options, "delete:d/y ours:incomplete:d/x");
}

static void takes_what_was_added_only_by_its_own_name(void **state)
{
	static const char *const folder[] = {"d", NULL};
	static const char *const named[] = {"d", "d/u", NULL};
	struct plan_options options = {.resolve = RESOLVE_THEIRS,
				       .paths = folder};
	const char *base = "d d\nf d/x=1", *now = "d d\nf d/x=1\nf d/u=2";

	check(*state, base, "", now, &options,
	      "delete:d/x ours:added-below:d/u");
	options.paths = named;
	check(*state, base, "", now, &options, "delete:d over:added-below:d/u");
	/* One of two added files: the directory stays, and therefore this file
	 * too. */
	check(*state, base, "", "d d\nf d/x=1\nf d/u=2\nf d/v=3", &options,
	      "delete:d/x ours:added-below:d/u ours:added-below:d/v");
}

static void decides_nothing_about_a_git(void **state)
{
	static const char *const git[] = {".git", "x", NULL};
	struct plan_options options = {
		.git_apart = true, .paths = git, .resolve = RESOLVE_THEIRS};
	const char *base = "d .git\nf .git/HEAD=a\nf x=1",
		   *run = "d .git\nf .git/HEAD=b\nf x=2",
		   *now = "d .git\nf .git/HEAD=c\nf x=1";

	check(*state, base, run, now, &options, "replace:x !git:.git");
	options.resolve = RESOLVE_OURS;
	check(*state, base, run, now, &options, "replace:x ours:git:.git");
}

/* Decisions for single paths, beside one for all. */
static void a_choice_counts_for_its_path_alone(void **state)
{
	struct buf text = {0};
	struct plan_choice choices[] = {
		{.path = "a", .resolve = RESOLVE_OURS},
		{.path = "b", .resolve = RESOLVE_THEIRS},
		{.path = "d/x", .resolve = RESOLVE_OURS},
	};
	struct plan_options options = {
		.resolve = RESOLVE_MERGE,
		.choices = choices,
		.choice_count = 3,
	};
	const char *base = "f a=1\nf b=1\nf c=1\nd d\nf d/x=1\nf d/y=1";
	const char *run = "f a=2\nf b=2\nf c=2";
	const char *now = "f a=3\nf b=3\nf c=3\nd d\nf d/x=3\nf d/y=3";

	check(*state, base, run, now, &options,
	      "over-replace:b meta: ours:both-changed:a "
	      "ours:changed-now:d/x over:both-changed:b !both-changed:c "
	      "!changed-now:d/y");
	buf_add_text(&text, "both");
	choices[0] = (struct plan_choice){
		.path = "a", .resolve = RESOLVE_MERGE, .text = &text};
	choices[2] = (struct plan_choice){.path = "c",
					  .resolve = RESOLVE_MERGE,
					  .text = &text,
					  .marked = true};
	check(*state, "f a=1\nf b=1\nf c=1", run, "f a=3\nf b=3\nf c=3",
	      &options,
	      "merged-replace:a over-replace:b marked-replace:c meta: "
	      "over:both-changed:b");
	/* The mode is in conflict, too: the text does not solve that. */
	options.choice_count = 1;
	check(*state, "f a=1", "f [700]a=2", "f [711]a=3", &options,
	      "!both-changed:a");
	buf_free(&text);
}

static void says_when_a_text_is_none(void **state)
{
	struct buf b = {0};

	(void)state;
	assert_true(textmerge_is_text(&b));
	buf_add(&b, "a\0b", 3);
	assert_false(textmerge_is_text(&b));
	buf_clear(&b);
	while (b.len < TEXTMERGE_MAX)
		buf_add_char(&b, 'x');
	assert_true(textmerge_is_text(&b));
	buf_add_char(&b, 'x');
	assert_false(textmerge_is_text(&b));
	buf_free(&b);
}

/* --- every lost edit is reported --- */

#define TOPS 3
#define SUBS 2

/* A small range, so that names coincide often. */
struct random_tree {
	unsigned int top[TOPS], sub[TOPS][SUBS];
};

static unsigned int dice(unsigned int *seed, unsigned int sides)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 16) % sides;
}

static void throw_all(struct random_tree *t, unsigned int *seed, bool all)
{
	size_t i, k;

	for (i = 0; i < TOPS; i++) {
		if (all || dice(seed, 3) == 0)
			t->top[i] = dice(seed, 10);
		for (k = 0; k < SUBS; k++)
			if (all || dice(seed, 3) == 0)
				t->sub[i][k] = dice(seed, 8);
	}
}

static void write_thing(struct buf *to, unsigned int kind, const char *path)
{
	static const char *const kinds[] = {
		"",
		"f %s=1|2|3|4|5|\n",
		"f %s=one|2|3|4|5|\n",
		"f %s=1|2|3|4|five|\n",
		"f %s=eins|2|3|4|5|\n",
		"f [755]%s=1|2|3|4|5|\n",
		"l %s=somewhere\n",
		"d %s\n",
		"d %s\n",
		"d [700]%s\n",
	};
	const char *percent = strchr(kinds[kind], '%');

	if (percent)
		buf_printf(to, "%.*s%s%s", (int)(percent - kinds[kind]),
			   kinds[kind], path, percent + 2);
}

static char *write_tree(const struct random_tree *t)
{
	struct buf to = {0};
	size_t i, k;

	for (i = 0; i < TOPS; i++) {
		char path[] = {(char)('x' + i), '\0', '\0', '\0'};

		write_thing(&to, t->top[i], path);
		path[1] = '/';
		for (k = 0; k < SUBS && t->top[i] >= 7; k++) {
			path[2] = (char)('a' + k);
			write_thing(&to, t->sub[i][k], path);
		}
	}
	(void)buf_text(&to);
	return buf_take_text(&to);
}

struct checker {
	const struct plan *plan;
	const struct entry *result;
	struct box *box;
	const char *say; /* the origin of the trees */
};

static bool listed(const struct conflict *list, size_t count, const char *path)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (strcmp(list[i].path, path) == 0 ||
		    (list[i].kind == CONFLICT_ADDED_BELOW &&
		     path_below(path, list[i].path)))
			return true;
	return false;
}

static bool put_together(const struct plan *p, const char *path)
{
	size_t i;

	for (i = 0; i < p->steps.count; i++)
		if (strcmp(p->steps.items[i].path, path) == 0)
			return p->steps.items[i].how == STEP_MERGED ||
			       p->steps.items[i].how == STEP_MARKED;
	return false;
}

/* An edit of the user at path: it stays, or it is listed. */
static int check_edit(void *arg, const char *path, const struct entry *base,
		      const struct entry *now, struct err *err)
{
	struct checker *c = arg;
	AUTO(entry) struct entry then = {0};
	int got;

	if (base && now && entry_same_content(base, now) &&
	    entry_same_meta(base, now))
		return 0;
	got = tree_lookup(c->box->store, c->result, path, &then, err);
	if (got < 0)
		return got;
	if (!now ? !got
		 : got && entry_same_content(&then, now) &&
			    entry_same_meta(&then, now))
		return 0;
	if (!listed(c->plan->over.items, c->plan->over.count, path) &&
	    !put_together(c->plan, path))
		fail_msg("%s: the edit of %s is lost in silence", c->say, path);
	return 0;
}

static struct entry carried_out(struct box *box, const struct entry *now,
				const struct plan *p)
{
	struct tree_editor *ed = tree_editor_new(box->store, now);
	struct entry done;
	struct err err;
	size_t i;

	for (i = 0; i < p->steps.count; i++) {
		const struct step *s = &p->steps.items[i];

		if (s->kind == STEP_DELETE)
			ok(tree_editor_remove(ed, s->path, &err));
		else if (S_ISDIR(s->to.mode))
			ok(tree_editor_put_dir(ed, s->path, &s->to, &err));
		else
			ok(tree_editor_put(ed, s->path, &s->to, &err));
	}
	ok(tree_editor_save(ed, &done, &err));
	tree_editor_free(&ed);
	return done;
}

static void check_random(struct box *box, unsigned int seed,
			 enum plan_resolve resolve, unsigned int *carried)
{
	static const char *const named[] = {"", "x/a", "y/b", NULL};
	struct plan_options options = {.resolve = resolve,
				       .our_label = "project",
				       .their_label = "run"};
	struct random_tree base = {0}, want, now;
	auto_free char *say = mem_printf("seed %u, resolve %d", seed, resolve);
	AUTO(plan) struct plan p = {0};
	auto_free char *a = NULL, *b = NULL, *c = NULL;
	struct err err;

	options.paths = dice(&seed, 2) ? named : NULL;
	throw_all(&base, &seed, true);
	want = now = base;
	throw_all(&want, &seed, false);
	throw_all(&now, &seed, false);
	a = write_tree(&base);
	b = write_tree(&want);
	c = write_tree(&now);
	AUTO(entry) struct entry ea = tree_of(box, a);
	AUTO(entry) struct entry eb = tree_of(box, b);
	AUTO(entry) struct entry ec = tree_of(box, c);
	ok(plan_make(box->store, &ea, &eb, &ec, &options, &p, &err));
	if (resolve == RESOLVE_OURS)
		assert_int_equal(p.conflicts.count, 0);
	if (resolve != RESOLVE_THEIRS)
		assert_int_equal(p.over.count, 0);
	if (p.conflicts.count)
		return;
	AUTO(entry) struct entry result = carried_out(box, &ec, &p);
	struct checker check = {
		.plan = &p, .result = &result, .box = box, .say = say};

	++*carried;
	ok(tree_diff(box->store, &ea, &ec, check_edit, &check, &err));
}

static void loses_no_edit_in_silence(void **state)
{
	unsigned int carried[RESOLVE_MARKERS + 1] = {0}, seed, resolve;

	for (seed = 1; seed <= 700; seed++)
		for (resolve = RESOLVE_NOT; resolve <= RESOLVE_MARKERS;
		     resolve++)
			check_random(*state, seed * 7919, resolve,
				     &carried[resolve]);
	/* Many of the plans must be without conflicts. */
	for (resolve = RESOLVE_NOT; resolve <= RESOLVE_MARKERS; resolve++)
		assert_true(carried[resolve] > 50);
	assert_true(carried[RESOLVE_OURS] == 700);
	assert_true(carried[RESOLVE_MERGE] > carried[RESOLVE_NOT]);
	assert_true(carried[RESOLVE_THEIRS] > carried[RESOLVE_MERGE]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(puts_the_changes_of_both_into_one_text),
		TEST(takes_what_the_user_has_already_for_done),
		TEST(gives_each_of_mode_and_attributes_to_who_changed_it),
		TEST(gives_each_attribute_to_who_changed_it),
		TEST(takes_an_access_list_and_the_mode_from_one_side),
		TEST(hands_out_no_rights_by_merging),
		TEST(shuts_nobody_out_by_merging),
		TEST(writes_markers_with_the_names_of_the_sides),
		TEST(merges_neither_binaries_nor_large_files_nor_links),
		TEST(merges_nothing_without_a_base),
		TEST(decides_nothing_about_what_could_not_be_stored),
		TEST(takes_what_was_added_only_by_its_own_name),
		TEST(decides_nothing_about_a_git),
		TEST(a_choice_counts_for_its_path_alone),
		TEST(says_when_a_text_is_none),
		TEST(loses_no_edit_in_silence),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
