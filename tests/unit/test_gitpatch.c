/*
 * restore/git/gitpatch.c: names, headers, and changes that a patch cannot
 * express. tests/integration/patch.t applies patches with git itself.
 */
/* users: one */
#include "restore/git/gitpatch.c"

#include "guard/parse/parse_worker.h"
#include "tests/unit/plan_fixture.h"

struct got {
	struct buf text, lost;
};

static int add(void *arg, const void *data, size_t len, struct err *err)
{
	struct got *g = arg;

	(void)err;
	buf_add(&g->text, data, len);
	return 0;
}

static void lost(void *arg, const char *path, enum gitpatch_loss loss)
{
	struct got *g = arg;

	buf_printf(&g->lost, " %s:%d", path, loss);
}

static struct got make(struct box *box, const char *old, const char *now,
		       const char *const *paths)
{
	AUTO(entry) struct entry a = tree_of(box, old);
	AUTO(entry) struct entry b = tree_of(box, now);
	struct got g = {0};
	struct gitpatch_sink sink = {.add = add, .lost = lost, .arg = &g};
	struct gitpatch_job job = {.paths = paths};
	struct err err;

	ok(gitpatch_make(box->store, &a, &b, &job, &sink, &err));
	return g;
}

static void expect(struct got g, const char *text, const char *losses)
{
	assert_string_equal(buf_text(&g.text), text);
	assert_string_equal(buf_text(&g.lost), losses);
	buf_free(&g.text);
	buf_free(&g.lost);
}

static void expect_name(const char *path, const char *quoted)
{
	AUTO(buf) struct buf b = {0};

	gitpatch_name(&b, "a/", path);
	assert_string_equal(buf_text(&b), quoted);
}

static void quotes_names_as_git_does(void **state)
{
	(void)state;
	expect_name("plain name", "a/plain name");
	expect_name("a\tb\nc\"d\\", "\"a/a\\tb\\nc\\\"d\\\\\"");
	expect_name("\303\266\033", "\"a/\\303\\266\\033\"");
	expect_name("\a\b\v\f\r\177", "\"a/\\a\\b\\v\\f\\r\\177\"");
}

static void has_a_header_for_each_kind_of_change(void **state)
{
	expect(make(*state, "f x=1|", "f x=2|", NULL),
	       "diff --git a/x b/x\n"
	       "index d00491fd7e5bb6fa28c517a0bb32b8b506539d4d.."
	       "0cfbf08886fca9a91cb753ec8734c84fcbe52c9f 100644\n"
	       "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n",
	       "");
	expect(make(*state, "f x=1|", "f [755]x=1|", NULL),
	       "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", "");
	expect(make(*state, "", "f x=", NULL),
	       "diff --git a/x b/x\nnew file mode 100644\n"
	       "index 0000000000000000000000000000000000000000.."
	       "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\n",
	       "");
	expect(make(*state, "l x=y", "", NULL),
	       "diff --git a/x b/x\ndeleted file mode 120000\n"
	       "index e25f1814e51579d5f55c0f1fe0135ddb28a47f4a.."
	       "0000000000000000000000000000000000000000\n"
	       "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-y\n"
	       "\\ No newline at end of file\n",
	       "");
}

static void has_one_header_for_what_was_moved(void **state)
{
	static const char *const half[] = {"b", NULL};
	struct got g;

	expect(make(*state, "f a=1|", "f [755]b=1|", NULL),
	       "diff --git a/a b/b\nold mode 100644\nnew mode 100755\n"
	       "similarity index 100%\nrename from a\nrename to b\n",
	       "");
	expect(make(*state, "f a=1|2|3|4|5|6|7|8|", "f b=1|2|3|4|5|6|7|9|",
		    NULL),
	       "diff --git a/a b/b\nsimilarity index 87%\n"
	       "rename from a\nrename to b\n"
	       "index 535d2b01d3397c2228490875defc92370602ca46.."
	       "ef28dff566d65bead5c9f4b3e132bf55ba677882 100644\n"
	       "--- a/a\n+++ b/b\n@@ -5,4 +5,4 @@\n 5\n 6\n 7\n-8\n+9\n",
	       "");
	/* A change outside the patch is no end of a move. */
	g = make(*state, "f a=1|", "f b=1|", half);
	assert_non_null(strstr(buf_text(&g.text), "new file mode 100644\n"));
	buf_free(&g.text);
}

static void tells_what_it_cannot_hold(void **state)
{
	expect(make(*state, "d gone\nd d\nf x=1", "d new\nf x=1", NULL), "",
	       " d:0 gone:0 new:0");
	expect(make(*state, "f x=1", "f [600]x=1", NULL), "", " x:1");
	expect(make(*state, "d d\nf d/x=1", "d [700]d\nf +d/x=1", NULL), "",
	       " d:1 d/x:3");
	expect(make(*state, "", "p pipe\ns sock\nc node", NULL), "",
	       " node:4 pipe:4 sock:4");
	expect(make(*state, "d .git\nf .git/x=1", "d .git\nf .git/x=2", NULL),
	       "", " .git:5");
	expect(make(*state, "f x=1", "f !x=2", NULL), "", " x:7");
}

static void keeps_to_the_paths(void **state)
{
	static const char *const paths[] = {"d", NULL};
	struct got g = make(*state, "f a=1|\nd d\nf d/x=1|",
			    "f a=2|\nd d\nf d/x=2|\nd e", paths);

	assert_null(strstr(buf_text(&g.text), "a/a"));
	assert_non_null(strstr(buf_text(&g.text), "--- a/d/x\n"));
	assert_int_equal(g.lost.len, 0);
	buf_free(&g.text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(quotes_names_as_git_does),
		TEST(has_a_header_for_each_kind_of_change),
		TEST(has_one_header_for_what_was_moved),
		TEST(tells_what_it_cannot_hold),
		TEST(keeps_to_the_paths),
	};

	parse_worker_install();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
