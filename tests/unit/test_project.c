#include "tests/unit/snap_fixture.h"

#include "restore/transaction.h"

static struct project open_project(const struct box *box)
{
	struct project p;
	struct err err;
	auto_close int workspaces = -1;

	(void)mkdirat(box->root_fd, "../workspaces", 0700);
	workspaces = openat(box->root_fd, "../workspaces",
			    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_return_code(workspaces, errno);
	ok(project_open(box->root, workspaces, false, &p, &err));
	return p;
}

static void a_snapshot_leaves_its_stat_cache_in_the_workspace(void **state)
{
	struct box *box = *state;
	struct project p = open_project(box);
	const struct project_after o = {.reason = "manual", .run_id = ""};
	struct snapshot s = {0};
	struct stat st;
	struct err err;

	assert_return_code(mkdirat(box->root_fd, "sub", 0755), errno);
	ok(project_snapshot_after(box->store, &p, &o, &s, &err));
	assert_int_equal(stat(p.cache_path, &st), 0);
	assert_int_equal(fstatat(p.workspace_fd, "stat-cache", &st, 0), 0);
	snapshot_free(&s);
	project_close(&p);
}

static void a_project_is_opened_by_one_at_a_time(void **state)
{
	struct box *box = *state;
	struct project p = open_project(box), other;
	struct err err;
	auto_close int workspaces = openat(box->root_fd, "../workspaces",
					   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(
		project_open(box->root, workspaces, false, &other, &err),
		-EBUSY);
	project_close(&p);
	p = open_project(box);
	project_close(&p);
}

static void a_project_beside_skips_the_same_paths(void **state)
{
	struct box *box = *state;
	struct project p = open_project(box), other;
	const struct project_after o = {.reason = "manual", .run_id = ""};
	struct snapshot s = {0};
	struct entry e = {0};
	auto_free char *beside = mem_printf("%s-beside", box->root);
	auto_free char *copies = mem_printf("%s/copies", beside);
	struct err err;
	auto_close int workspaces = openat(box->root_fd, "../workspaces",
					   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_return_code(mkdir(beside, 0755), errno);
	assert_return_code(mkdir(copies, 0755), errno);
	mem_list_add(&p.skip, copies);
	ok(project_open_beside(&p, beside, workspaces, &other, &err));
	ok(project_snapshot_after(box->store, &other, &o, &s, &err));
	assert_int_equal(tree_lookup(box->store, &s.root, "copies", &e, &err),
			 0);
	snapshot_free(&s);
	project_close(&other);
	project_close(&p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_snapshot_leaves_its_stat_cache_in_the_workspace),
		T(a_project_is_opened_by_one_at_a_time),
		T(a_project_beside_skips_the_same_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
