/*
 * The files that only commits of a run have (guard/change/commit_files.h), for
 * people and as JSON.
 */
#ifndef GUARD_CLI_COMMIT_FILES_SHOW_H
#define GUARD_CLI_COMMIT_FILES_SHOW_H

#include <jansson.h>

#include "guard/change/commit_files.h"
#include "guard/cli/jsonstream.h"
#include "guard/cli/styled.h"

/* Finds them for a display of an ended run with these changes, if it has new
 * objects of git and no other process holds it; else there are none. */
void commit_files_show_load(struct context *c, struct session *s,
			    const struct changes *changes,
			    struct commit_files *ret);
/* One line with their number, and how they are listed. */
void commit_files_show_count(const struct commit_files *f, const char *run,
			     struct styled *to);
/* Appends their risks to the "risks" of a diff, with the commit. */
void commit_files_show_risks(const struct commit_files *f,
			     struct jsonstream *to);
/* The first ones, each with its worst risk; nothing when there are none. */
void commit_files_show(const struct commit_files *f, struct styled *to);
/* Shows the error -EFBIG of an import, and asks: whether the user wants so
 * large a copy. Then the next one has no limit. */
bool commit_files_show_large(struct context *c, const struct err *err);
/* Adds "only_in_commits" and "commits_not_examined". */
void commit_files_show_json(const struct commit_files *f, json_t *object);

#endif
