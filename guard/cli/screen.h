/*
 * The full screen of a review: buckets, list and text, single keys, a menu at
 * the end. Nothing is written to the project and nothing is deleted here: the
 * screen changes answers, and returns what the user chose to do with them.
 */
#ifndef GUARD_CLI_SCREEN_H
#define GUARD_CLI_SCREEN_H

#include "guard/review/decisions.h"
#include "guard/review/review_conflict.h"
#include "guard/review/verdict.h"

enum screen_choice {
	SCREEN_NOT, /* no full screen here: ask line by line */
	SCREEN_KEEP, /* quit: the run stays pending */
	SCREEN_APPLY,
	SCREEN_APPLY_DISCARD, /* apply, then discard the rest of the run */
	SCREEN_COMMITS, /* apply with the run's commits */
	SCREEN_BRANCH, /* commit to the branch */
	SCREEN_PATCH, /* to the file */
	SCREEN_DISCARD,
};

struct screen_job {
	struct review **reviews; /* of each root */
	size_t count;
	struct decisions *decisions; /* where answers are kept, or NULL */
	const struct verdict *verdict; /* on the first screen */
	/* A directory for a hunk that is edited, and its path. */
	int scratch_fd;
	const char *scratch;
	const char *run; /* label */
	const char *project; /* path */
	const char *branch, *patch, *html; /* names for the menu */
	const char *commits_to; /* the branch that the run's commits move;
				   NULL: none */
	bool running; /* the run still is: it cannot be discarded */
	bool part; /* only some changes of the run: paths were named */
	const char *const *root_paths; /* absolute, of each root */
	const char *test; /* command of --test, or NULL */
	bool mouse; /* a click selects, the wheel scrolls */
	/* Runs a command in a throw-away copy of the run, whose output it
	 * prints; *ret_summary: its end in words, to free. The terminal is
	 * free. */
	int (*try)(void *arg, const char *command, char **ret_summary,
		   struct err *err);
	/* Writes the HTML report to a new file. */
	int (*write_html)(void *arg, const char *file, struct err *err);
	/* The conflicts of changes that are not left, with the choices so far;
	 * borrowed until the next call. */
	int (*list_conflicts)(void *arg, struct review_conflicts **ret,
			      struct err *err);
	void *arg; /* of all */
	const char *message; /* shown at the start, escaped; or NULL */
};

/* Whether stdin and stdout can have a full screen. Says why a terminal
 * cannot. */
bool screen_is_possible(void);
/* Until the user leaves. The answers are in the reviews. */
enum screen_choice screen_run(const struct screen_job *job);
/* screen_conflict.c: shows conflicts with their three sides, and sets the
 * choices. Uses decisions and scratch of the job. false: the user goes back,
 * or the terminal is gone. */
bool screen_conflict_run(const struct screen_job *job, struct store *store,
			 struct review_conflicts *list);

#endif
