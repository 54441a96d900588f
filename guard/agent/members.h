/*
 * Members of settings files. An agent writes its settings and its notes (start
 * counters, tips, costs) into one JSON or TOML file; only the settings decide
 * about the next session. A list of patterns says which members are data:
 *
 *	list = pattern *( "," pattern )
 *	pattern = part *( "." part ) [ "=" value ]
 *
 * A part is a name with the wildcards of fnmatch(3), or "<project>", which
 * matches the project's path and paths below it. A pattern matches a member and
 * all that is in it; with a value (as JSON writes it) only a member that has
 * this value now.
 *
 * Pure: all bytes come from the caller. Runs in the parsing worker; guard calls
 * it by settings.h.
 */
#ifndef GUARD_AGENT_MEMBERS_H
#define GUARD_AGENT_MEMBERS_H

#include <jansson.h>
#include <stdbool.h>

#include "base/mem.h"

struct members {
	const char *file; /* its name selects the syntax */
	const char *data; /* the list of patterns; "" for none */
	const char *project; /* absolute path */
};

/* letter: 'A', 'M' or 'D'; 'a', 'm' or 'd' for a member that is plain data:
 * numbers, switches and texts, none of which can be a command, an address, a
 * path or an instruction, by names that mean nothing of the kind. member:
 * "a.b", "" in TOML, where members have no names here, and for an array. */
typedef void members_visit(void *arg, char letter, const char *member);

/* Whether a name, of a member or of a file, has a word for what agents execute
 * or obey: "hook", "plugin", "settings"... */
bool members_name_acts(const char *name);
/* Whether a line of a text is plain data in this sense. */
bool members_line_is_plain(const char *line, const char *project);

/*
 * Calls each() for the topmost members that differ and that no pattern matches.
 * An empty object or array counts as absent. before or now is NULL for a file
 * that is absent. Without patterns the file is no settings file, and plain
 * texts may have several words. False: one of the texts cannot be read as JSON
 * or TOML, or the name has another ending; each() was not called.
 */
bool members_compare(const struct members *m, struct buf *before,
		     struct buf *now, members_visit *each, void *arg);

/*
 * Takes the change of a JSON file from before to after back in its present
 * text: each member that members_compare() names gets its former value, unless
 * its present one is another than after. before: NULL for an absent file.
 * Appends the new text. False: nothing is appended, because a text is no JSON,
 * or no member goes back.
 */
bool members_undo(const struct members *m, struct buf *before,
		  struct buf *after, struct buf *now, struct buf *ret);

/* Parses JSON, also with comments and with commas at the end of a list, which
 * become blanks in the text. NULL: it is none, or a name is there twice, where
 * other readers may take another value. */
json_t *members_load(struct buf *text);

/* Calls each() for every text in the file that may name a command: the strings
 * of a JSON file in members that no pattern matches, else the complete file. */
void members_texts(const struct members *m, struct buf *file,
		   void (*each)(void *arg, const char *text), void *arg);

/* The object that holds the last part of the key, "projects.*.trusted", and
 * that part in *ret_name, to free; NULL: a part on the way is missing or no
 * object. "*" stands for the project. make: missing objects are created. */
json_t *members_find(json_t *root, const char *key, const char *project,
		     bool make, char **ret_name);

/* Appends the text (NULL: an absent file) of a JSON or TOML file with the
 * wanted members that it lacks: [["KEY", VALUE], ...] as JSON. In JSON a key
 * that ends in [] is a list, which lacks the value unless an item is equal to
 * it. False: the file lacks none, or is no object. */
bool members_add(const char *file, const struct buf *text, const char *wanted,
		 const char *project, struct buf *ret);

/* Whether the member has the value, as JSON writes it. */
bool members_value_is(const struct buf *text, const char *key,
		      const char *value);

#endif
