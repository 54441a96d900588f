/* link: -Wl,--wrap=fsopen */
#include "overlay_lab.h"

#include <grp.h>
#include <sys/prctl.h>
#include <sys/statvfs.h>

#include "overlay/layers_private.h"
#include "overlay/mount.h"
#include "tests/unit/skip.h"

#define OTHER_GROUP 4321

static bool without_fsopen;

int __real_fsopen(const char *type, unsigned int flags);
int __wrap_fsopen(const char *type, unsigned int flags);
int __wrap_fsopen(const char *type, unsigned int flags)
{
	if (!without_fsopen)
		return __real_fsopen(type, flags);
	errno = ENOSYS;
	return -1;
}

static bool covers(const struct layers *l, const char *path)
{
	size_t i;

	for (i = 0; i < l->count; i++)
		if (strcmp(l->items[i].path, path) == 0)
			return true;
	return false;
}

static int do_write(void *arg)
{
	struct statvfs fs;

	(void)arg;
	return lab_file(AT_FDCWD, "new", "new") < 0 || statvfs(".", &fs) < 0 ||
	       (fs.f_flag & (ST_NOSUID | ST_NODEV)) != (ST_NOSUID | ST_NODEV);
}

static void check_project(const char *name)
{
	struct lab lab;

	lab_open(&lab, name);
	assert_int_equal(lab_file(lab.project_fd, "old", "old"), 0);
	assert_int_equal(lab_run(&lab, do_write, NULL), 0);
	assert_int_equal(faccessat(lab.project_fd, "new", F_OK, 0), -1);
	lab_expect(&lab, "A new");
	lab_close(&lab);
}

static void test_odd_paths(void **state)
{
	char name[512];

	(void)state;
	check_project("plain");
	check_project("comma,colon:back\\slash");
	check_project("line\nfeed \t\"quoted\"");
	/* Longer than a mount option can be. */
	memset(name, 'n', 301);
	name[150] = '/';
	name[301] = '\0';
	check_project(name);
	memset(name, 'm', 255);
	name[255] = '\0';
	check_project(name);
}

static void test_without_fsopen(void **state)
{
	(void)state;
	without_fsopen = true;
	check_project("plain");
	check_project("comma,colon:back\\slash");
	without_fsopen = false;
}

static int do_root(void *arg)
{
	struct stat st;
	char value[8];

	(void)arg;
	return stat(".", &st) < 0 || (st.st_mode & 07777) != 02751 ||
	       st.st_mtim.tv_sec != 2001 || st.st_mtim.tv_nsec != 7 ||
	       getxattr(".", "user.mine", value, sizeof(value)) != 3 ||
	       chmod(".", 0700) < 0;
}

static int do_root_again(void *arg)
{
	struct stat st;

	(void)arg;
	return stat(".", &st) < 0 || (st.st_mode & 07777) != 0700;
}

static void test_root_of_the_view(void **state)
{
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {2001, 7}};
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(fchmod(lab.project_fd, 02751), 0);
	assert_int_equal(fsetxattr(lab.project_fd, "user.mine", "abc", 3, 0),
			 0);
	assert_int_equal(futimens(lab.project_fd, times), 0);
	assert_int_equal(lab_run(&lab, do_root, NULL), 0);
	lab_expect(&lab, "m ");
	/* A second mount keeps the run's changes, with a new work directory. */
	assert_int_equal(lab_run(&lab, do_root_again, NULL), 0);
	assert_int_equal(faccessat(lab.s.fd, "work/1", F_OK, 0), -1);
	assert_int_equal(faccessat(lab.s.fd, "work/2", F_OK, 0), 0);
	lab_close(&lab);
}

static int do_home(void *arg)
{
	struct lab *lab = arg;
	auto_free char *secret = mem_printf("%s/home/p/deep", lab->root);

	return lab_file(AT_FDCWD, "../of-home", "x") < 0 ||
	       lab_file(AT_FDCWD, "of-project", "x") < 0 ||
	       lab_file(AT_FDCWD, "deep", "changed") < 0 ||
	       access(secret, F_OK) < 0;
}

static void test_project_in_home(void **state)
{
	static const char *const skip[] = {"p", NULL};
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	struct change_list list;
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "home/p");
	assert_int_equal(lab_file(lab.project_fd, "deep", "old"), 0);
	auto_free char *home = mem_printf("%s/home", lab.root);
	if (layers_plan(&lab.s, home, &l, &notes, &err) < 0)
		lab_fail(&err);
	assert_true(covers(l, home));
	assert_int_equal(notes.len, 0);
	assert_int_equal(lab_run_layers(l, lab.project, do_home, &lab), 0);
	lab_expect(&lab, "M deep, A of-project");
	auto_close int upper = openat(lab.s.fd, "home-upper", O_PATH);
	auto_close int lower = open(home, O_PATH);
	assert_int_equal(scan_layer(upper, lower, skip, &list, &err), 0);
	auto_free char *text = lab_text(&list);
	assert_string_equal(text, "A of-home");
	change_list_free(&list);
	lab_close(&lab);
}

static void test_home_that_cannot_be_covered(void **state)
{
	static const char *const homes[] = {"/", "/none/such", NULL};
	struct lab lab;
	struct err err;
	size_t i;

	(void)state;
	lab_open(&lab, "p");
	for (i = 0; i < 3; i++) {
		AUTO(layers) struct layers *l = NULL;
		AUTO(buf) struct buf notes = {0};

		if (layers_plan(&lab.s, homes[i], &l, &notes, &err) < 0)
			lab_fail(&err);
		assert_false(homes[i] && covers(l, homes[i]));
		assert_non_null(strstr(buf_text(&notes), "home directory"));
	}
	lab_close(&lab);
}

/* In namespaces of its own: a mount inside of the project. */
static int with_mount(struct lab *lab)
{
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	auto_free char *path = mem_printf("%s/a/sub folder\n", lab->project);
	struct err err;

	if (mount("none", path, "tmpfs", 0, NULL) < 0)
		return 2;
	if (layers_plan(&lab->s, NULL, &l, &notes, &err) != -EXDEV)
		return 3;
	return strstr(err.text, "sub folder") ? 0 : 4;
}

static int home_with_mount(struct lab *lab)
{
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	auto_free char *path = mem_printf("%s/h/sub", lab->root);
	auto_free char *home = mem_printf("%s/h", lab->root);
	struct err err;

	if (mount("none", path, "tmpfs", 0, NULL) < 0)
		return 2;
	if (layers_plan(&lab->s, home, &l, &notes, &err) < 0)
		return 3;
	return !covers(l, home) || !strstr(buf_text(&notes), "mounts");
}

/* The number of mounts in the directory, -1: a failure. */
static int count_mounts(const char *folder)
{
	auto_close int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char **mounts = NULL;
	struct err err;
	int got = fd < 0 ? -1 : mount_list_below(fd, folder, &mounts, &err);

	mem_list_free(&mounts);
	return got;
}

static int mounts_come_and_go(struct lab *lab)
{
	auto_free char *home = mem_printf("%s/h", lab->root);
	auto_free char *path = mem_printf("%s/h/sub", lab->root);

	if (count_mounts(home) != 0 || count_mounts(home) != 0)
		return 2;
	if (mount("none", path, "tmpfs", 0, NULL) < 0)
		return 3;
	if (count_mounts(home) != 1 || count_mounts(home) != 1)
		return 4;
	/* Another namespace with another mount table. */
	if (unshare(CLONE_NEWNS) < 0 || count_mounts(home) != 1 ||
	    umount2(path, MNT_DETACH) < 0)
		return 5;
	return count_mounts(home) != 0 ? 6 : 0;
}

/* A state on a file system that cannot hold an upper. */
static int unfit_state(struct lab *lab)
{
	auto_free char *path = mem_printf("%s/h", lab->root);
	auto_close int fd = -1;
	struct err err;

	if (mount("none", path, "ramfs", 0, NULL) < 0)
		return 2;
	fd = open(path, O_PATH | O_DIRECTORY);
	if (layers_check_state(fd, &err) != -EOPNOTSUPP)
		return 4;
	return strstr(err.text, "GUARD_HOME") ? 0 : 5;
}

static int in_namespaces(struct lab *lab, int (*run)(struct lab *lab))
{
	int go[2], ready[2], status;
	pid_t pid;
	char c;

	assert_int_equal(pipe2(go, O_CLOEXEC), 0);
	assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)close(go[1]);
		if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
		    write(ready[1], "", 1) != 1 || read(go[0], &c, 1) != 1 ||
		    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
			_exit(1);
		_exit(run(lab));
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	lab_maps(pid);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(ready[0]);
	return WEXITSTATUS(status);
}

static void test_mount_inside(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(mkdirat(lab.project_fd, "a", 0755), 0);
	assert_int_equal(mkdirat(lab.project_fd, "a/sub folder\n", 0755), 0);
	assert_int_equal(mkdirat(lab.root_fd, "h", 0755), 0);
	assert_int_equal(mkdirat(lab.root_fd, "h/sub", 0755), 0);
	assert_int_equal(in_namespaces(&lab, with_mount), 0);
	assert_int_equal(in_namespaces(&lab, home_with_mount), 0);
	assert_int_equal(in_namespaces(&lab, mounts_come_and_go), 0);
	lab_close(&lab);
}

static void test_replaced_project(void **state)
{
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	struct lab lab;
	struct err err;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(layers_plan(&lab.s, NULL, &l, &notes, &err), 0);
	assert_int_equal(renameat(lab.root_fd, "p", lab.root_fd, "q"), 0);
	assert_int_equal(layers_open(l, &err), -ENOENT);
	(void)close(lab_mkdir(lab.root_fd, "p"));
	assert_int_equal(layers_open(l, &err), -ESTALE);
	layers_free(&l);
	assert_int_equal(layers_plan(&lab.s, NULL, &l, &notes, &err), -ESTALE);
	/* A symbolic link in the path is not followed. */
	assert_int_equal(unlinkat(lab.root_fd, "p", AT_REMOVEDIR), 0);
	assert_int_equal(symlinkat("q", lab.root_fd, "p"), 0);
	assert_true(layers_plan(&lab.s, NULL, &l, &notes, &err) < 0);
	lab_close(&lab);
}

static int do_hidden(void *arg)
{
	struct lab *lab = arg;
	auto_free char *hidden = mem_printf("%s/tree", lab->root);
	auto_free char *path = mem_printf("%s%s", hidden, lab->project);
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	struct err err;
	int root;

	/* A root that does not contain the path to the project yet. */
	if (mkdir(hidden, 0755) < 0 ||
	    layers_plan(&lab->s, NULL, &l, &notes, &err) < 0 ||
	    layers_open(l, &err) < 0 ||
	    mount("none", hidden, "tmpfs", 0, NULL) < 0)
		return 1;
	root = open(hidden, O_PATH | O_DIRECTORY);
	if (lab_mount_layers(l, root, &err) < 0 || chdir(path) < 0)
		return 2;
	return access("old", F_OK) < 0 ? 3 : 0;
}

static void test_missing_mount_point(void **state)
{
	AUTO(layers) struct layers *none = mem_zalloc(64 * 16);
	struct lab lab;

	(void)state;
	lab_open(&lab, "deep/er/p");
	assert_int_equal(lab_file(lab.project_fd, "old", "x"), 0);
	assert_int_equal(lab_run_layers(none, "/", do_hidden, &lab), 0);
	lab_close(&lab);
}

static int do_groups(void *arg)
{
	struct stat st;

	(void)arg;
	return lab_file(AT_FDCWD, "shared/file", "more text") < 0 ||
	       lab_file(AT_FDCWD, "shared/new", "x") < 0 ||
	       rename("shared/other", "shared/moved") < 0 ||
	       stat("shared/new", &st) < 0;
}

/* As a plain user in a second group, which only root can set up. */
static void groups_child(struct lab *lab)
{
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	gid_t groups[2] = {1777, OTHER_GROUP};
	struct err err;
	struct stat st;
	int got;

	if (setgroups(2, groups) < 0 || setgid(1777) < 0 || setuid(1777) < 0)
		_exit(90);
	/* After a change of ids the new user cannot read /proc/self. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	if (layers_plan(&lab->s, NULL, &l, &notes, &err) < 0)
		_exit(91);
	if (notes.len && !strstr(buf_text(&notes), "no home"))
		_exit(92);
	got = lab_run_layers(l, lab->project, do_groups, NULL);
	if (got)
		_exit(got);
	/* The layer's directory passes on the user's first group: an apply
	 * gives new entries the real directory's (restore/result.h). */
	if (fstatat(lab->upper_fd, "shared/file", &st, 0) < 0 ||
	    st.st_gid != OTHER_GROUP ||
	    fstatat(lab->upper_fd, "shared/new", &st, 0) < 0 ||
	    st.st_gid != 1777)
		_exit(93);
	lab_expect(lab, "M shared/file, A shared/moved, A shared/new, "
			"D shared/other");
	_exit(0);
}

static void give(struct lab *lab, const char *path, gid_t gid)
{
	assert_int_equal(fchownat(lab->root_fd, path, 1777, gid, 0), 0);
}

static void give_session(struct lab *lab)
{
	static const char *const names[] = {"",		"upper",  "work",
					    "lock",	"record", "home-upper",
					    "home-work"};
	size_t i;

	give(lab, ".", 1777);
	give(lab, "p", 1777);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		auto_free char *path =
			mem_printf("runs/%s/%s", lab->s.id, names[i]);

		give(lab, path, 1777);
	}
	give(lab, "runs", 1777);
}

static void test_other_groups(void **state)
{
	struct lab lab;
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip_because("only root can join another group");
	lab_open(&lab, "p");
	assert_int_equal(mkdirat(lab.project_fd, "shared", 0755), 0);
	assert_int_equal(lab_file(lab.project_fd, "shared/file", "text"), 0);
	assert_int_equal(lab_file(lab.project_fd, "shared/other", "text"), 0);
	assert_int_equal(lab_file(lab.project_fd, "shared/third", "text"), 0);
	assert_int_equal(lab_file(lab.project_fd, "apart", "text"), 0);
	give_session(&lab);
	give(&lab, "p/shared", OTHER_GROUP);
	give(&lab, "p/shared/file", OTHER_GROUP);
	give(&lab, "p/shared/other", OTHER_GROUP);
	give(&lab, "p/shared/third", OTHER_GROUP);
	give(&lab, "p/apart", OTHER_GROUP);
	assert_int_equal(fchmodat(lab.project_fd, "shared", 02775, 0), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		groups_child(&lab);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	lab_close(&lab);
}

static void test_unfit_state(void **state)
{
	struct lab lab;

	(void)state;
	lab_open(&lab, "p");
	assert_int_equal(mkdirat(lab.root_fd, "h", 0755), 0);
	assert_int_equal(in_namespaces(&lab, unfit_state), 0);
	lab_close(&lab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_odd_paths),
		cmocka_unit_test(test_without_fsopen),
		cmocka_unit_test(test_root_of_the_view),
		cmocka_unit_test(test_project_in_home),
		cmocka_unit_test(test_home_that_cannot_be_covered),
		cmocka_unit_test(test_mount_inside),
		cmocka_unit_test(test_replaced_project),
		cmocka_unit_test(test_missing_mount_point),
		cmocka_unit_test(test_other_groups),
		cmocka_unit_test(test_unfit_state),
	};

	return cmocka_run_group_tests_name("layers", tests, NULL, NULL);
}
