/*
 * Profiles: the needs of one program in a run, as plain text.
 *
 *	line = blank | "#" anything | word blank value
 *
 * A # behind a blank is refused in a value, but for the text of write: a
 * comment there would silently be part of it.
 *
 *	home DIR	a directory of guard's own in its place, kept
 *			between runs
 *	seed PATH	settings that are copied into a home from the real one,
 *			with their keys, unless a run has changed the copy.
 *			Other runs see the real ones without secrets, as those
 *			of keys, write, nested, initial, ro and data FILE#KEY
 *	keys FROM#KEY,... TO
 *			members of a real JSON file that are copied into a JSON
 *			file of the home at each start, unless it has them; a.b
 *			is a member of a member, * the project
 *	write PATH TEXT	a file of one line in a home without that file;
 *			with PATH#KEY a member of a JSON or TOML file, set at
 *			each start unless the file has it; KEY[] in JSON: an
 *			item behind those of a list. "~/ in KEY: the home
 *	data GLOB	content of a home that no session executes or obeys;
 *			each other change of a home is named when a run ends,
 *			as code or as unknown data (agent_code.c)
 *	data FILE#KEY,...
 *			such members of a JSON or TOML file (members.h)
 *	code GLOB	named although a data line has it, too
 *	initial GLOB	content that the agent writes at its first start: not
 *			named in the run that creates it
 *	login PATH	a file with a login: never stored, one copy beside the
 *			home
 *	key NAME	a variable that replaces a login; named when it is set,
 *			not passed on, and there is no login
 *	history GLOB	conversations: their loss is named
 *	cache DIR	kept from run to run of one project
 *	ro PATH		readable; in a project: not writable
 *	hide PATH
 *	env NAME[=V]	passed on, or set
 *	nested [FILE#KEY=VALUE]
 *			sandboxes inside work; if that member of a JSON file has
 *			this value. A relative FILE is in the project
 *	tmp-size SIZE	/tmp in memory
 *	noise GLOB	folded in lists of changes
 *	acp PROGRAM [WORD]
 *			a command (a pattern) or a package, with this word among
 *			its arguments: it talks to an editor, and runs as with
 *			--acp, whatever the agent
 *
 * PATH, DIR and GLOB are absolute or begin with ~/; in a project's file they
 * may be relative to the project. A value of env that begins with ~/ is a path
 * too.
 *
 * A data line names a file or a directory that an agent writes in a plain
 * session, and that no session executes or obeys. A repository that an agent
 * keeps for itself is no data as a whole: git obeys its config and its hooks.
 *
 * A project's file can only restrict: it may hold ro and hide, and ro only for
 * paths in the project.
 *
 * Pure: no file is opened here. The names of files serve messages.
 */
#ifndef GUARD_AGENT_PROFILE_H
#define GUARD_AGENT_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/* The shipped profiles in the source tree: a file each (base/shipped.h), in the
 * words of a user's own. "default" is for every run. */
#define PROFILE_SHIPPED_DIR "guard/agent/profiles"

/* Largest file; a larger one is refused. */
#define PROFILE_BYTES_MAX (64u << 10)

enum profile_word {
	PROFILE_HOME,
	PROFILE_SEED,
	PROFILE_KEYS,
	PROFILE_WRITE,
	PROFILE_DATA,
	PROFILE_CODE,
	PROFILE_INITIAL,
	PROFILE_LOGIN,
	PROFILE_KEY,
	PROFILE_HISTORY,
	PROFILE_CACHE,
	PROFILE_RO,
	PROFILE_HIDE,
	PROFILE_ENV,
	PROFILE_NESTED,
	PROFILE_TMP_SIZE,
	PROFILE_NOISE,
	PROFILE_ACP,
	PROFILE_WORDS,
};

struct profile_item {
	enum profile_word word;
	char *value; /* a path without "~/": below the home directory, if */
	char *text; /* text of write, TO of keys (below the home directory),
		       else NULL */
	bool in_home; /* is set */
	bool project; /* from a project's file */
	char *where; /* "FILE:LINE", escaped, for messages */
};

struct profile {
	struct profile_item *items;
	size_t count, capacity;
};

/* Frees all that *p owns. */
void profile_free(struct profile *p);

/* The word as profiles write it; static. */
const char *profile_word_name(enum profile_word word);

/*
 * Adds the lines of a text. -EINVAL names file and line, and what would do;
 * the profile holds what stood before it then.
 */
int profile_parse(struct profile *p, const char *file, bool project,
		  const void *text, size_t len, struct err *err);

/* The lines of one word, in their order: the next one behind `after` (NULL:
 * the first), NULL when there is none. */
const struct profile_item *profile_next(const struct profile *p,
					enum profile_word word,
					const struct profile_item *after);

/* Whether a line of the word, a glob for a path below the home directory,
 * matches the path or a directory that it lies in. '*' matches no '/'. */
bool profile_match(const struct profile *p, enum profile_word word,
		   const char *path);

/* The path that a line means, to free: absolute, links as they are. project:
 * for lines that are relative to it. */
char *profile_path(const struct profile_item *item, const char *home,
		   const char *project);

/* An agent's name: letters, digits, '.', '_', '-', not in front. */
bool profile_name_ok(const char *name);

/* The text that guard brings along, or NULL. */
const char *profile_shipped(const char *name);
/* The n-th name, in their order; NULL behind the last. */
const char *profile_shipped_name(size_t n);

#endif
