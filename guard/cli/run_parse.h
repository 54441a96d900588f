/*
 * The options of a run, from the command line into struct run_options: also
 * those of `explain`, and those that a record keeps.
 */
#ifndef GUARD_CLI_RUN_PARSE_H
#define GUARD_CLI_RUN_PARSE_H

#include "base/vec.h"
#include "guard/cli/options.h"
#include "guard/run/run.h"

struct parsed {
	struct run_options options; /* borrows from struct options */
	char **env;
	gid_t *groups; /* supplementary groups of --user */
	VEC(struct sandbox_port) ports;
};

/* 0 or negative; parsed_free() in each case. */
int run_parse(struct parsed *p, const struct options *o, struct err *err);
void parsed_free(struct parsed *p);
/* Checks the values of --env; env may be NULL. */
int run_parse_env(char *const *env, struct err *err);

/* A command in a run that has ended already, by the options that are noted
 * there. Returns the exit status. */
struct run_exec {
	char *const *argv;
	const char *const *env;
	const char *cwd; /* absolute */
	const char *copy_dir; /* see struct run_options; NULL: none */
	void (*instead)(void *arg, const struct session *s);
	void *instead_arg;
};
int run_exec(const struct session *s, const struct run_exec *v);

/* cmd_explain.c: prints how a run with these options would see the paths. The
 * exit status, or negative. */
int cmd_explain_paths(const struct run_options *options, char *const *paths,
		      bool json, struct err *err);

#endif
