/*
 * The options of a run, from the command line into struct run_options: also
 * those of `explain`, and those that a record keeps.
 */
#ifndef GUARD_CLI_RUN_PARSE_H
#define GUARD_CLI_RUN_PARSE_H

#include "base/vec.h"
#include "guard/cli/options.h"
#include "guard/run/run.h"

/* Lists that grow with each option; always NULL-terminated. */
struct strings {
	const char **items;
	size_t count, capacity;
};

struct parsed {
	struct run_options options;
	struct strings env, read_only, read_write, hide, cow;
	char *runtime; /* one of env */
	bool net_given, memory_given, cpus_given;
	gid_t *groups; /* supplementary groups of --user */
	VEC(struct sandbox_port) ports;
	struct strings why; /* paths to be explained, nothing is run */
	bool json; /* explain in JSON */
	bool hidden; /* explain all masked paths */
};

/* 0; 1: help was asked for and printed; negative, with an empty text when it
 * was explained already. */
int run_parse(struct parsed *p, const struct verb *verb, int argc, char **argv,
	      struct err *err);
void parsed_free(struct parsed *p);

/* A command in a run that has ended already, by the options that are noted
 * there. Returns the exit status. */
struct run_exec {
	char *const *argv;
	const char *const *env;
	const char *cwd; /* absolute */
	const char *copy_dir; /* see struct run_options; NULL: none */
};
int run_exec(const struct session *s, const struct run_exec *v);

/* cmd_explain.c: prints how a run with these options would see the paths. */
int cmd_explain_paths(const struct run_options *options, char *const *paths,
		      bool json);

#endif
