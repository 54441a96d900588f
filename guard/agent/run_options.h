/*
 * The options of `guard run`, each in the words of its help. All texts and
 * lists are borrowed.
 */
#ifndef GUARD_AGENT_RUN_OPTIONS_H
#define GUARD_AGENT_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "guard/sandbox/sandbox.h"

struct session;

struct run_options {
	const char *dir; /* -C, NULL: the current directory */
	bool resume; /* --continue */
	const char *resume_id; /* NULL: the newest pending one */
	const char *const *env; /* NULL-terminated, as all lists here */
	const char *const *read_only, *const *read_write, *const *hide;
	const char *const *cow; /* additional roots */
	enum sandbox_net net;
	const struct sandbox_port *ports; /* --publish */
	size_t port_count;
	bool nested, strict, env_clean;
	bool pause_on_alarm;
	bool allow_perf, allow_io_uring, allow_userfaultfd, allow_32bit;
	int64_t timeout_ms;
	int64_t versions_ms; /* rest of a kept content; 0: none are kept */
	uint64_t pids_limit, memory, tmp_size;
	unsigned int cpus_milli;
	bool has_user;
	uid_t user;
	gid_t group;
	const gid_t *groups;
	size_t group_count;
	const char *name; /* session_name_ok(), or NULL */
	bool frozen; /* a copy of the project is the lower */
	bool durable; /* fsync(2) in the run reaches the disk */
	bool home; /* the home directory is the project */
	uint64_t layer_bytes, layer_files; /* 0: the defaults */
	bool quiet;
	const char *agent; /* NULL: by the command's name; "none" */
	bool share_login; /* the host's own directories of the agent */
	bool shared_cache; /* one for all projects */
	bool acp; /* the command talks to an editor: acp_filter.h */
	char *const *argv;
	/* The same as words of the command line, for the record: see
	 * run_open.c. */
	char **saved_options;
	/* A visit to a pending run: what its command was and how it ended
	 * stays in the record. Absolute; NULL: none. */
	const char *exec_project, *exec_cwd;
	/* The visit is to a throw-away copy of the layers, whose directories
	 * are made in this one; absolute. The run and its record stay as they
	 * are. NULL: none. */
	const char *copy_dir;
	/* Called in place of the command of a visit, with the layers mounted,
	 * and again without a session when they are unmounted. NULL: the
	 * command is executed. */
	void (*instead)(void *arg, const struct session *s);
	void *instead_arg;
};

#endif
