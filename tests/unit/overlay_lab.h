/*
 * A state, a project and real overlays for tests: in a directory of its own
 * below /var/tmp, mounted in the user and mount namespace of a child, as guard
 * run does it. As root all ids are mapped, as a plain user only the user's own.
 */
#ifndef TESTS_OVERLAY_LAB_H
#define TESTS_OVERLAY_LAB_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/auto.h"
#include "base/fd.h"
#include "base/mem.h"
#include "base/meta.h"
#include "base/path.h"
#include "base/dirtree.h"
#include "overlay/layers.h"
#include "overlay/scan.h"
#include "overlay/session.h"

/* base/err.h has a fail() of its own, so cmocka's cannot be used. */
static inline void lab_fail(const struct err *err)
{
	print_error("%s\n", err->text);
	assert_false(err->num);
}

struct lab {
	char root[64]; /* the lab's directory below /var/tmp */
	char *project;
	int root_fd, runs_fd, trash_fd, project_fd, upper_fd;
	struct session s;
};

static inline int lab_mkdir(int dirfd, const char *name)
{
	int fd;

	assert_int_equal(mkdirat(dirfd, name, 0755), 0);
	fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* project: relative; its parents are created. */
static inline void lab_open(struct lab *lab, const char *project)
{
	auto_free char *copy = mem_strdup(project);
	char *part, *rest = copy;
	struct err err;
	int dir;

	(void)umask(022);
	*lab = (struct lab){.root = "/var/tmp/guard-overlay-XXXXXX"};
	assert_non_null(mkdtemp(lab->root));
	lab->root_fd = open(lab->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	lab->runs_fd = lab_mkdir(lab->root_fd, "runs");
	lab->trash_fd = lab_mkdir(lab->root_fd, "trash");
	dir = dup(lab->root_fd);
	while ((part = strsep(&rest, "/"))) {
		int next = lab_mkdir(dir, part);

		(void)close(dir);
		dir = next;
	}
	lab->project_fd = dir;
	lab->project = mem_printf("%s/%s", lab->root, project);
	if (session_create(lab->runs_fd, lab->project, lab->project_fd, "",
			   "test", &lab->s, &err) < 0)
		lab_fail(&err);
	lab->upper_fd =
		openat(lab->s.fd, "upper", O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(lab->upper_fd >= 0);
}

static inline void lab_close(struct lab *lab)
{
	auto_close int dir = -1;
	struct err err;

	(void)close(lab->runs_fd);
	(void)close(lab->trash_fd);
	(void)close(lab->project_fd);
	(void)close(lab->upper_fd);
	(void)close(lab->root_fd);
	session_free(&lab->s);
	free(lab->project);
	/* Deep trees are moved to the parent directory for their removal. */
	dir = open("/var/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dirtree_remove(dir, path_name(lab->root + 1), &err) < 0)
		lab_fail(&err);
}

static inline void lab_put(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	if (!file || fputs(text, file) < 0 || fclose(file) != 0)
		abort();
}

static inline int lab_file(int dirfd, const char *path, const char *text)
{
	auto_close int fd = openat(
		dirfd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	return fd_write(fd, text, strlen(text));
}

static inline void write_map(pid_t pid, const char *name, const char *text)
{
	auto_free char *path = mem_printf("/proc/%d/%s", pid, name);

	lab_put(path, text);
}

static inline void lab_maps(pid_t pid)
{
	char map[64];

	if (geteuid() == 0) {
		write_map(pid, "uid_map", "0 0 4294967295");
		write_map(pid, "gid_map", "0 0 4294967295");
		return;
	}
	write_map(pid, "setgroups", "deny");
	(void)snprintf(map, sizeof(map), "%u %u 1", geteuid(), geteuid());
	write_map(pid, "uid_map", map);
	(void)snprintf(map, sizeof(map), "%u %u 1", getegid(), getegid());
	write_map(pid, "gid_map", map);
}

/* Mounts all layers. */
static inline int lab_mount_layers(struct layers *l, int root, struct err *err)
{
	size_t n;
	int got = 0;

	for (n = 0; got == 0 && layers_path(l, n); n++)
		got = layers_mount(l, n, root, err);
	return got;
}

/* Runs in the child; the test gets its exit status. */
static inline void lab_child(struct layers *l, const char *cwd, int go,
			     int ready, int (*run)(void *arg), void *arg)
{
	struct err err;
	int root;
	char c;

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ||
	    write(ready, "", 1) != 1 || read(go, &c, 1) != 1 ||
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(99);
	root = open("/", O_PATH | O_DIRECTORY);
	if (layers_open(l, &err) < 0 || lab_mount_layers(l, root, &err) < 0) {
		(void)fprintf(stderr, "# %s\n", err.text);
		_exit(98);
	}
	if (chdir(cwd) < 0)
		_exit(97);
	_exit(run(arg));
}

/* Runs a function in the merged view; returns its result (0-96). */
static inline int lab_run_layers(struct layers *l, const char *cwd,
				 int (*run)(void *arg), void *arg)
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
		lab_child(l, cwd, go[0], ready[1], run, arg);
	}
	(void)close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	lab_maps(pid);
	assert_int_equal(write(go[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	(void)close(go[0]);
	(void)close(go[1]);
	(void)close(ready[0]);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

static inline int lab_run(struct lab *lab, int (*run)(void *arg), void *arg)
{
	AUTO(layers) struct layers *l = NULL;
	AUTO(buf) struct buf notes = {0};
	struct err err;

	if (layers_plan(&lab->s, NULL, &l, &notes, &err) < 0)
		lab_fail(&err);
	return lab_run_layers(l, lab->project, run, arg);
}

static inline struct change_list lab_scan(struct lab *lab)
{
	struct change_list list = {0};
	struct err err;

	if (scan_layer(lab->upper_fd, lab->project_fd, NULL, &list, &err) < 0)
		lab_fail(&err);
	return list;
}

static inline const struct change *lab_find(const struct change_list *list,
					    const char *path)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (strcmp(list->items[i].path, path) == 0)
			return &list->items[i];
	return NULL;
}

/* "D a, A b" in the list's order: kind letters D T M m A. */
static inline char *lab_text(const struct change_list *list)
{
	struct buf b = {0};
	size_t i;

	for (i = 0; i < list->count; i++)
		buf_printf(&b, "%s%c%s %s", i ? ", " : "",
			   "DTMmA"[list->items[i].kind],
			   list -> items[i].flags &CHANGE_WITH_PARENT ? "+"
								      : "",
			   list->items[i].path);
	return buf_take_text(&b);
}

static inline void lab_expect(struct lab *lab, const char *want)
{
	AUTO(change_list) struct change_list list = lab_scan(lab);
	auto_free char *text = lab_text(&list);

	assert_string_equal(text, want);
}

#endif
