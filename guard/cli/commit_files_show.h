/*
 * The files that only commits of a run have (guard/change/commit_files.h), for
 * people and as JSON.
 */
#ifndef GUARD_CLI_COMMIT_FILES_SHOW_H
#define GUARD_CLI_COMMIT_FILES_SHOW_H

#include <jansson.h>

#include "guard/change/commit_files.h"
#include "guard/cli/styled.h"

/* The first ones, each with its worst risk; nothing when there are none. */
void commit_files_show(const struct commit_files *f, struct styled *to);
/* Adds "only_in_commits" and "commits_not_examined". */
void commit_files_show_json(const struct commit_files *f, json_t *object);

#endif
