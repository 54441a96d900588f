#include "guard/cli/options.h"

#include <stdint.h>
#include <string.h>

#include "base/auto.h"
#include "base/mem.h"

/* Edits (insert, delete, change) from a to b; b is short. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[32], len = strlen(b), i;

	if (len >= 32)
		return len;
	for (i = 0; i <= len; i++)
		row[i] = i;
	for (; *a; a++) {
		size_t corner = row[0]++;

		for (i = 1; i <= len; i++) {
			size_t best = corner + (*a != b[i - 1]);

			corner = row[i];
			if (row[i] + 1 < best)
				best = row[i] + 1;
			if (row[i - 1] + 1 < best)
				best = row[i - 1] + 1;
			row[i] = best;
		}
	}
	return row[len];
}

/* Verbs of other tools. */
static const char *const verb_habits[][2] = {
	{"accept", "apply"},	 {"merge", "apply"},	 {"reject", "discard"},
	{"drop", "discard"},	 {"destroy", "discard"}, {"abort", "discard"},
	{"start", "run"},	 {"attach", "shell"},	 {"enter", "shell"},
	{"ps", "status"},	 {"history", "log"},	 {"snapshots", "log"},
	{"save", "snapshot"},	 {"backup", "snapshot"}, {"cat", "show"},
	{"checkout", "restore"}, {"revert", "undo"},	 {"rollback", "undo"},
	{"changes", "diff"},	 {"delete", "discard"},	 {"remove", "discard"},
	{"rm", "discard"},	 {"pick", "review"},	 {"redo", "undo"},
	{"unapply", "undo"},	 {"sh", "shell"},	 {"search", "find"},
	{"versions", "log"},	 {"check", "verify"},	 {"fsck", "verify"},
	{"clean", "prune"},	 {"gc", "prune"},	 {"size", "du"},
};

const struct verb *options_near_verb(const char *name)
{
	const struct verb *v, *best = NULL;
	size_t least = strlen(name) <= 3 ? 1 : 2, i;

	for (i = 0; i < sizeof(verb_habits) / sizeof(verb_habits[0]); i++)
		if (strcmp(name, verb_habits[i][0]) == 0)
			return options_verb(verb_habits[i][1]);
	for (v = options_verbs; v->name; v++) {
		size_t d = edit_distance(name, v->name);

		if (v->other && edit_distance(name, v->other) < d)
			d = edit_distance(name, v->other);
		if (d <= least && (!best || d < least)) {
			best = v;
			least = d;
		}
	}
	return best;
}

/* The same of options. */
static const char *const option_habits[][2] = {
	{"network", "net"}, {"volume", "rw"}, {"bind", "rw"},
	{"ro-bind", "ro"},  {"force", "yes"}, {"tmpfs", "tmp-size"},
	{"mem", "memory"},
};

static const struct option_spec *find_option_by_name(const struct verb *verb,
						     const char *name)
{
	const struct option_spec *o;

	for (o = verb->options; o->id; o++)
		if (o->name && strcmp(o->name, name) == 0)
			return o;
	return NULL;
}

const struct option_spec *options_near_option(const struct verb *verb,
					      const char *given, size_t len)
{
	auto_free char *name = mem_strndup(given, len);
	const struct option_spec *o, *best = NULL;
	size_t least = len <= 3 ? 1 : 2, i;

	for (i = 0; i < sizeof(option_habits) / sizeof(option_habits[0]); i++)
		if (strcmp(name, option_habits[i][0]) == 0)
			return find_option_by_name(verb, option_habits[i][1]);
	for (o = verb->options; o->id; o++) {
		size_t d = o->name ? edit_distance(name, o->name) : SIZE_MAX;

		if (d <= least && (!best || d < least)) {
			best = o;
			least = d;
		}
	}
	return best;
}
