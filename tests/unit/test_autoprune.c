/* guard/retention/autoprune.c: the automatic removal of old snapshots, and the
 * snapshots that it keeps. */
/* users: one */
#include "guard/retention/autoprune.c"

#include "tests/unit/snap_fixture.h"

#include "guard/retention/pins.h"

#define DAY ((int64_t)24 * 3600)

/* The box's directory as guard's state. */
static struct state state_of(struct box *box)
{
	static const char *const names[] = {"runs", "workspaces", "trash"};
	struct state s = {.path = box->dir, .store_path = box->store_root_fd};
	int *const fds[] = {&s.runs_fd, &s.workspaces_fd, &s.trash_fd};
	size_t i;

	s.fd = open(box->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(s.fd, errno);
	for (i = 0; i < 3; i++) {
		(void)mkdirat(s.fd, names[i], 0700);
		*fds[i] = openat(s.fd, names[i],
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		assert_return_code(*fds[i], errno);
	}
	return s;
}

static void state_done(const struct state *s)
{
	(void)close(s->fd);
	(void)close(s->runs_fd);
	(void)close(s->workspaces_fd);
	(void)close(s->trash_fd);
}

static void configure(const struct state *s, const char *text)
{
	auto_close int fd =
		openat(s->fd, "config",
		       O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(fd_write(fd, text, strlen(text)), 0);
}

static uint64_t add(struct box *box, const char *reason, int64_t age)
{
	struct snapshot s = {
		.time = {.sec = timestamp_now().sec - age},
		.reason = mem_strdup(reason),
		.run_id = mem_strdup(""),
		.command = mem_strdup(""),
		.message = mem_strdup(""),
		.root_path = mem_strdup("/p"),
		.root = {.name = mem_strdup("")},
	};
	uint64_t seq;
	struct err err;

	ok(catalog_add(box->store, &s, &err));
	seq = s.seq;
	snapshot_free(&s);
	return seq;
}

static bool is_there(struct box *box, uint64_t seq)
{
	AUTO(store) struct store *store = NULL;
	AUTO(snapshot) struct snapshot s = {0};
	struct err err;

	ok(store_open(&store, box->store_root_fd, STORE_READ, &err));
	return catalog_load(store, seq, &s, &err) == 0;
}

static void what_no_rule_keeps_goes(void **state)
{
	struct box *box = *state;
	struct state s = state_of(box);
	struct prune_result result;
	uint64_t old, mine, pinned;
	struct err err;
	int i;

	old = add(box, "pre-run", 100 * DAY);
	mine = add(box, "manual", 90 * DAY);
	pinned = add(box, "pre-run", 80 * DAY);
	for (i = 0; i < 3; i++)
		(void)add(box, "pre-run", 2 * DAY);
	store_free(&box->store);
	configure(&s, "keep-last = 1\n");
	ok(pins_user_change(&s, &pinned, 1, true, &err));
	ok(autoprune(&s, timestamp_now(), &result, &err));
	assert_int_equal(result.snapshots, 1);
	assert_false(is_there(box, old));
	assert_true(is_there(box, mine));
	assert_true(is_there(box, pinned));
	ok(autoprune(&s, timestamp_now(), &result, &err));
	assert_int_equal(result.snapshots, 0);
	state_done(&s);
}

static void the_default_rules_hold_without_a_config(void **state)
{
	struct box *box = *state;
	struct state s = state_of(box);
	struct prune_result result;
	uint64_t ancient;
	struct err err;
	int i;

	/* 30 newer days and 24 newer months have a snapshot. */
	ancient = add(box, "pre-run", 1000 * DAY);
	for (i = 32; i > 0; i--)
		(void)add(box, "pre-run", i * 31 * DAY);
	store_free(&box->store);
	ok(autoprune(&s, timestamp_now(), &result, &err));
	assert_false(is_there(box, ancient));
	assert_int_equal(result.snapshots, 3);
	state_done(&s);
}

static void a_broken_config_takes_nothing(void **state)
{
	struct box *box = *state;
	struct state s = state_of(box);
	struct prune_result result;
	uint64_t old = add(box, "pre-run", 1000 * DAY);
	struct err err;
	int i;

	for (i = 0; i < 4; i++)
		(void)add(box, "pre-run", 2 * DAY);
	store_free(&box->store);
	configure(&s, "keep-lots = 1\n");
	assert_int_equal(autoprune(&s, timestamp_now(), &result, &err),
			 -EINVAL);
	assert_true(is_there(box, old));
	state_done(&s);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(what_no_rule_keeps_goes),
		T(the_default_rules_hold_without_a_config),
		T(a_broken_config_takes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
