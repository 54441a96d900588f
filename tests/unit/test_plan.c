/*
 * Plans: the order of steps, and special cases (paths, .git, notes, refusals).
 * test_plantable.c has every pair of a change of the run and a change of the
 * user.
 */
/* users: one */
#include "tests/unit/plantell.h"

static void orders_deletes_replacements_creates_and_metadata(void **state)
{
	struct plan_options options = {0};

	check(*state, "d a\nf a/gone=1\nf b=1\nd m\nd m/n\nf t=1\nd z\nf z/y=1",
	      "d @1a\nf @1b=2\nd [700]m\nd [700]m/n\nd t\nf t/u=1\nd "
	      "n\nd n/o\nf n/o/p=1\nf [600]z=5",
	      "d a\nf a/gone=1\nf b=1\nd m\nd m/n\nf t=1\nd z\nf z/y=1",
	      &options,
	      "delete:a/gone delete:t delete:z replace:b create:n create:n/o "
	      "create:n/o/p create:t create:t/u create:z meta:m/n meta:m "
	      "meta:a meta:");
}

static void gives_a_folder_its_time_back_after_work_in_it(void **state)
{
	struct plan_options options = {0};

	/* Edited in place there: the directory's mtime is unchanged. */
	check(*state, "d d\nf d/x=1\nd e\nf e/x=1",
	      "d d\nf d/x=2\nd e\nf e/x=1", "d d\nf d/x=1\nd e\nf e/x=1",
	      &options, "replace:d/x meta:d");
}

static void takes_only_the_paths_that_were_asked_for(void **state)
{
	static const char *const paths[] = {"b", "d/e", NULL};
	struct plan_options options = {.paths = paths};

	check(*state, "f a=1\nf b=1\nf bb=1",
	      "f a=2\nf b=2\nf bb=2\nd d\nd d/e\nf d/e/x=1\nf d/f=1",
	      "f a=1\nf b=1\nf bb=1", &options,
	      "replace:b create:d create:d/e create:d/e/x");
}

static void does_not_make_a_folder_that_the_user_deleted(void **state)
{
	static const char *const paths[] = {"d/new", NULL};
	struct plan_options options = {.paths = paths};

	check(*state, "d d\nf d/x=1", "d d\nf d/x=1\nf d/new=2", "", &options,
	      "!parent:d/new");
}

static void deletes_and_unfolds_nothing_when_additive(void **state)
{
	struct plan_options options = {.additive = true};
	const char *now = "f new=1\nd d\nf d/new=1\nf x=2\nd y\nf y/z=1\nf w=1";

	check(*state, now, "d @1d\nf x=1\nf y=5\nd w\nf old=1", now, &options,
	      "delete:w replace:x create:old create:w !folder:y");
}

static void gives_only_what_is_missing(void **state)
{
	struct plan_options options = {.additive = true, .missing_only = true};
	const char *now = "d d\nf d/x=1\nf y=1\nd z\nf z/own=1\nf w=1";

	/* An existing entry stays, also if it has another type. */
	check(*state, now,
	      "d [700]d\nf [600]d/x=1\nf d/new=1\nf y=2\nf z=5\nd w\n"
	      "f w/in=1\nd n\nf n/in=1",
	      now, &options, "create:d/new create:n create:n/in");
}

static void deletes_no_git_that_is_not_named(void **state)
{
	static const char *const all[] = {"", NULL};
	static const char *const git[] = {"", "v/.git", NULL};
	struct plan_options options = {.keep_git = true, .paths = all};
	const char *now = "d .git\nf .git/HEAD=m\nf x=1\nd v\nd v/.git\n"
			  "f v/.git/HEAD=m\nf v/y=1";

	check(*state, now, "f @1x=1", now, &options, "delete:v/y meta:x git:2");
	check(*state, now, "d .git\nf .git/HEAD=old\nf x=1", now, &options,
	      "delete:v/y replace:.git/HEAD meta:.git git:1");
	options.paths = git;
	check(*state, now, "f @1x=1", now, &options,
	      "delete:v meta:x meta: git:1");
}

static void takes_away_what_a_restore_made_when_nothing_was(void **state)
{
	struct plan_options options = {0};

	check(*state, "d d\nf d/x=1\nf y=2", "-", "d d\nf d/x=1\nf y=2",
	      &options, "delete:d delete:y");
	check(*state, "-", "d d\nf d/x=1", "-", &options,
	      "create: create:d create:d/x");
}

#define GIT                                                                    \
	"d .git\nf .git/HEAD=m\nf .git/config=c\nd .git/refs\n"                \
	"d .git/refs/heads\nf .git/refs/heads/m=1"
#define GIT_RUN                                                                \
	"d .git\nf .git/HEAD=m\nf .git/config=evil\nd .git/refs\n"             \
	"d .git/refs/heads\nf .git/refs/heads/m=2"

static void leaves_git_out_unless_it_is_named(void **state)
{
	static const char *const git[] = {".git", NULL};
	static const char *const inside[] = {".git/config", "f", NULL};
	struct plan_options options = {.git_apart = true};

	check(*state, GIT "\nf f=1", GIT_RUN "\nf f=2", GIT "\nf f=1", &options,
	      "replace:f meta: git:5");
	options.paths = git;
	check(*state, GIT "\nf f=1", GIT_RUN "\nf f=2", GIT "\nf f=1", &options,
	      "replace:.git/config replace:.git/refs/heads/m "
	      "meta:.git/refs/heads meta:.git");
	options.paths = inside;
	check(*state, GIT "\nf f=1", GIT_RUN "\nf f=2", GIT "\nf f=1", &options,
	      "replace:.git/config replace:.git/refs/heads/m replace:f "
	      "meta:.git/refs/heads meta:.git");
	options.git_apart = false;
	options.paths = NULL;
	check(*state, "d .git\nf .git/x=1", "d .git\nf .git/x=2",
	      "d .git\nf .git/x=1", &options, "replace:.git/x meta:.git");
}

static void refuses_a_git_that_has_moved(void **state)
{
	static const char *const git[] = {".git", NULL};
	static const char *const moved[] = {
		"d .git\nf .git/HEAD=other\nf .git/config=c\nd .git/refs\n"
		"d .git/refs/heads\nf .git/refs/heads/m=1",
		"d .git\nf .git/HEAD=m\nf .git/config=c\nd .git/refs\n"
		"d .git/refs/heads\nf .git/refs/heads/m=3",
		GIT "\nf .git/refs/heads/topic=1",
		GIT "\nf .git/index=i",
		GIT "\nf .git/packed-refs=i",
	};
	struct plan_options options = {.git_apart = true, .paths = git};
	size_t i;

	for (i = 0; i < COUNT(moved); i++)
		check(*state, GIT, GIT_RUN, moved[i], &options, "!git:.git");
	/* A longer log does not mean that the repository moved on. */
	check(*state, GIT "\nf .git/log=1", GIT_RUN "\nf .git/log=1",
	      GIT "\nf .git/log=2", &options,
	      "replace:.git/config replace:.git/refs/heads/m "
	      "meta:.git/refs/heads meta:.git");
}

static void keeps_a_nested_git_when_its_folder_is_deleted(void **state)
{
	static const char *const git[] = {"v/.git", "v", NULL};
	struct plan_options options = {.git_apart = true};
	const char *base = "d v\nd v/.git\nf v/.git/HEAD=m\nf v/x=1\nd v/s\nf "
			   "v/s/y=1";

	check(*state, base, "", base, &options, "delete:v/s delete:v/x git:2");
	options.paths = git;
	check(*state, base, "", base, &options, "delete:v");
}

static void counts_entries_that_moved_as_the_users(void **state)
{
	struct snapshot notes = {0};
	struct plan_options options = {.base_notes = &notes};

	snapshot_add_note(&notes, NOTE_MOVED, "d", "");
	snapshot_add_note(&notes, NOTE_MOVED, "e/x", "");
	snapshot_add_note(&notes, NOTE_MOVED, "f", "");
	/* The directory d moved: for a name that base does not have, the user
	 * may have deleted it; a name in base is known. */
	check(*state, "d d\nf d/x=1\nf f=1", "d d\nf d/x=2\nf d/new=1\nf f=2",
	      "d d\nf d/x=1\nf f=1", &options,
	      "replace:d/x meta:d !moved:d/new !moved:f");
	check(*state, "d d\nf f=1", "d d\nd d/n\nf d/n/new=1\nf f=1",
	      "d d\nf f=1", &options, "!moved:d/n");
	check(*state, "d e\nf e/x=1\nf e/y=1", "", "d e\nf e/x=1\nf e/y=1",
	      &options, "!moved:e/x");
	check(*state, "f f=1", "", "f f=1", &options, "!moved:f");
	/* A change that the project already has cannot be lost. */
	check(*state, "f f=1", "f f=2", "f f=2", &options, "already:1");
	check(*state, "d d", "d d\nf d/new=1", "d d\nf d/new=1", &options,
	      "already:1");
	check(*state, "f f=1", "f @1f=1", "f f=1", &options, "meta:f");
	snapshot_free(&notes);
}

/* A rename leaves no trace on the entries of the directory. */
static void counts_what_a_folder_brought_along_as_the_users(void **state)
{
	struct snapshot notes = {0};
	struct plan_options options = {.base_notes = &notes};

	snapshot_add_note(&notes, NOTE_MOVED, "", "");
	snapshot_add_note(&notes, NOTE_MOVED, "d", "");
	check(*state, "d d\nf d/x=user", "d d\nf d/x=run", "d d\nf d/x=user",
	      &options, "!moved:d/x");
	check(*state, "d e\nf e/x=1", "d e\nf e/x=2", "d e\nf e/x=1", &options,
	      "replace:e/x meta:e");
	snapshot_free(&notes);
}

static void takes_nothing_incomplete_for_the_file(void **state)
{
	struct snapshot notes = {0};
	struct plan_options options = {0};

	check(*state, "f !x=1", "f x=2", "f !x=1", &options, "!incomplete:x");
	check(*state, "f x=1", "f !x=2", "f x=1", &options, "!incomplete:x");
	check(*state, "f x=1", "f x=2", "f !x=1", &options, "!incomplete:x");
	check(*state, "", "f !x=2", "", &options, "!incomplete:x");
	check(*state, "d d\nf !d/x=1", "", "d d\nf !d/x=1", &options,
	      "!incomplete:d/x");
	/* The run's changes in the directory are not completely known. */
	check(*state, "d d\nf d/x=1", "d !d\nf d/x=2", "d d\nf d/x=1", &options,
	      "!incomplete:d");
	check(*state, "f !x=1\nf y=1", "f !x=1\nf y=2", "f !x=1\nf y=1",
	      &options, "replace:y meta:");
	/* The state to restore in it is not completely known: here an mtime. */
	check(*state, "d !d", "d d\nf @1d/x=1", "d d\nf d/x=1", &options,
	      "!incomplete:d");
	snapshot_add_note(&notes, NOTE_INCOMPLETE, "d", "no permission");
	options.base_notes = &notes;
	check(*state, "d d", "d d\nf d/x=1", "d d", &options,
	      "!incomplete:d/x");
	check(*state, "d d", "", "d d", &options, "!incomplete:d");
	snapshot_free(&notes);
}

/* A missing entry of a directory that was not completely read does not count as
 * deleted. */
static void takes_nothing_that_could_not_be_seen_for_gone(void **state)
{
	struct snapshot notes = {0};
	struct plan_options options = {.now_notes = &notes};
	const char *base = "d d\nf d/x=1\nd e\nf e/x=1";

	snapshot_add_note(&notes, NOTE_INCOMPLETE, "d", "Input/output error");
	check(*state, base, "d d\nf @1d/x=1\nd e\nf @1e/x=1",
	      "d !d\nd e\nf e/x=1", &options, "meta:e/x !incomplete:d/x");
	check(*state, base, "d d\nf d/x=2\nd e\nf e/x=1", "d !d\nd e\nf e/x=1",
	      &options, "!incomplete:d/x");
	check(*state, base, "d d\nd e\nf e/x=1", "d !d\nd e\nf e/x=1", &options,
	      "!incomplete:d/x");
	check(*state, "d d\nd d/f\nf y=1", "d d\nd @1d/f\nf y=1", "d !d\nf y=1",
	      &options, "!incomplete:d/f");
	check(*state, "f x=1", "f @1x=1", "f !x=1", &options, "!incomplete:x");
	snapshot_free(&notes);
}

/* The flag of a parent directory has no meaning, its note does. */
static void knows_what_could_not_be_read_of_a_few_paths(void **state)
{
	struct snapshot notes = {0};
	struct plan_options options = {.now_notes = &notes,
				       .partial_now = true};

	check(*state, "d d\nf d/x=1", "d [700]d\nf @1d/x=1", "d !d\nf d/x=1",
	      &options, "meta:d/x meta:d");
	check(*state, "d d\nf d/x=1", "", "d !d\nf d/x=1", &options,
	      "!incomplete:d");
	snapshot_add_note(&notes, NOTE_INCOMPLETE, "d", "Input/output error");
	check(*state, "d d\nf d/x=1", "d [700]d\nf @1d/x=1", "d !d", &options,
	      "!incomplete:d");
	snapshot_free(&notes);
}

static void refuses_what_hands_out_rights(void **state)
{
	struct plan_options options = {.refuse_special = true};

	check(*state, "f a=1\nf b=1\nf g=1",
	      "f [4755]a=1\nf ^b=1\nc node\ns sock\np pipe\nf [2755]g=1\nd "
	      "[2755]d\nf [4755]new=1",
	      "f a=1\nf b=1\nf g=1", &options,
	      "create:d create:pipe meta: ours:special:node ours:special:sock "
	      "setid:a setid:b setid:g setid:new");
	/* Set-id bits that the file already has, and the same bytes. */
	check(*state, "f [4755]a=1\nf [4755]b=1", "f [4755]@1a=1\nf [4755]b=2",
	      "f [4755]a=1\nf [4755]b=1", &options, "meta:a setid:b");
	options.refuse_special = false;
	check(*state, "f a=1", "f [4755]a=1\nc node", "f a=1", &options,
	      "create:node meta:a meta:");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(orders_deletes_replacements_creates_and_metadata),
		TEST(gives_a_folder_its_time_back_after_work_in_it),
		TEST(takes_only_the_paths_that_were_asked_for),
		TEST(does_not_make_a_folder_that_the_user_deleted),
		TEST(deletes_and_unfolds_nothing_when_additive),
		TEST(gives_only_what_is_missing),
		TEST(deletes_no_git_that_is_not_named),
		TEST(takes_away_what_a_restore_made_when_nothing_was),
		TEST(leaves_git_out_unless_it_is_named),
		TEST(refuses_a_git_that_has_moved),
		TEST(keeps_a_nested_git_when_its_folder_is_deleted),
		TEST(counts_entries_that_moved_as_the_users),
		TEST(counts_what_a_folder_brought_along_as_the_users),
		TEST(takes_nothing_incomplete_for_the_file),
		TEST(takes_nothing_that_could_not_be_seen_for_gone),
		TEST(knows_what_could_not_be_read_of_a_few_paths),
		TEST(refuses_what_hands_out_rights),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
