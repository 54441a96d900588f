/* Inside guard/rules only: rules, the lines of a file, and how risks are added.
 */
#ifndef GUARD_RULES_RISK_PRIVATE_H
#define GUARD_RULES_RISK_PRIVATE_H

#include <regex.h>

#include "base/settings.h"
#include "base/vec.h"
#include "guard/rules/risk.h"

/* A longer line is read by no person. */
#define RISK_LINE_MAX 5000
/* So many lines are judged between two looks at the clock. */
#define RISK_LINES_OF_TIME 64

/* A rule without its condition. */
struct risk_rule {
	const char *id;
	enum risk_level level;
	const char *text;
};

/* Adds a risk of the rule, at another level if it is not RISK_NONE. */
void risk_add(struct risks *r, const struct risk_rule *rule,
	      enum risk_level level);
/* The same with the line that shows it; key: printed in front of it, or NULL.
 * Returns the risk; NULL: the fourth and further lines of a rule are only
 * counted. */
struct risk *risk_add_line(struct risks *r, const struct risk_rule *rule,
			   enum risk_level level, size_t number,
			   const char *key, const char *line);

/* --- risk_rules.c --- */

/* How a change of a file with a known name is judged. */
enum risk_as {
	AS_NAME, /* each change of its content */
	AS_ADDED, /* added lines, unless they are comments or versions */
	AS_AGENT, /* settings, prose or a script, by its name */
	AS_ATTRIBUTES,
	AS_CARGO,
	AS_CHECKS, /* reviews and checks that others ask for */
	AS_CI,
	AS_CMAKE,
	AS_CODE, /* settings that are a program */
	AS_CONTAINER,
	AS_DOCKER,
	AS_EDITOR,
	AS_ENV,
	AS_GIT,
	AS_GO,
	AS_IGNORES,
	AS_LOCK,
	AS_MAKE,
	AS_MESON,
	AS_NPM,
	AS_PRECOMMIT,
	AS_PROSE, /* instructions for agents */
	AS_PYTHON,
	AS_REPOSITORY, /* texts that git keeps in a repository */
	AS_SHAPE, /* settings of an unknown name */
	AS_SHELL, /* configure, m4 */
	AS_STATE, /* the view of an editor, beside its settings */
	AS_SUBMODULE,
	AS_TOOL, /* settings that are data */
	AS_VENV, /* an environment of Python */
};

/* The lines that a condition is about. */
enum rule_on {
	ON_ADDED,
	ON_OTHER, /* added lines that the expression does not match */
	ON_REMOVED,
	ON_BOTH,
};

struct rule_condition {
	char *at, *text; /* extended regular expressions; NULL: any */
	enum rule_on on;
	bool any_case, compiled;
	bool file_stays; /* a deletion of the file is no removal of its lines */
	regex_t at_regex, text_regex;
};

struct rule_files {
	enum risk_as as;
	const char *globs; /* separated by blanks, unless there is one */
	bool one;
};

struct rule_sample {
	bool fires;
	const char *text; /* PATH [[OLD] ~> NEW] */
	unsigned int number; /* line number */
};

struct rule {
	struct risk_rule rule; /* level RISK_NONE: "define", or */
	bool off; /* lowers the rule of this id */
	VEC(struct rule_files) files;
	enum risk_as lines; /* judges such lines; AS_NAME: none */
	bool code; /* found by a function */
	VEC(struct rule_condition) conditions;
	VEC(struct rule_sample) samples;
	unsigned int number; /* first line */
};

struct rule_list {
	struct rule *items;
	size_t count, capacity;
	char *bytes; /* owns the texts */
};

/* guard's own rules in their files. An id that is in two of them has the same
 * level in both. */
enum rule_text { RULES_CODE, RULES_LINES, RULES_NAMES, RULES_SHIPPED };

/* The rules of a file, parsed at its first call, and the user's. */
const struct rule_list *rule_list_shipped(enum rule_text which);
const struct rule_list *rule_list_users(void);
/* The rule that a function finds; its text has "code". */
const struct risk_rule *risk_rule(const char *id);
/* -EINVAL: an expression is none. */
int rule_condition_compile(struct rule_condition *c, struct err *err);
/* --- risk_names.c --- */

/* The rule for a file of that name, and how its content is judged; NULL: none.
 */
const struct risk_rule *risk_name_rule(const char *path, enum risk_as *ret_as);
/* The rule for files that a link of that name would bring, if it leads to a
 * directory: .vscode, .github. NULL: none. */
const struct risk_rule *risk_link_rule(const char *path);
/* Calls each(), without wildcards, for each name of a critical rule and each
 * directory on the way to it, in their order; directory: all below it is
 * critical. each() returns whether the path is a directory: nothing below
 * another one is called. */
void risk_each_critical_name(bool (*each)(void *arg, const char *path,
					  bool directory),
			     void *arg);

/* Whether a pattern of a rule matches the path, at any depth. */
bool risk_pattern_matches(const char *pattern, const char *path);

/* --- risk_time.c --- */

/* Milliseconds of processor time of this thread and the parsing worker. */
int64_t risk_time(void);
/* The time of the next file begins. */
void risk_begin_file(void);
/* Microseconds that the file has used at most. */
int64_t risk_file_time(void);
/* The file has used the time that one may use: its rest is not examined. */
bool risk_is_late(void);

/* --- risk_user.c --- */

/* Adds the risks of the user's rules, and lowers those that the user switched
 * off. complete: not only of critical rules. */
void risk_user_judge(const struct risk_file *f, bool complete,
		     struct risks *ret);

/* --- risk_lines.c --- */

/* A line, or a value of JSON, and where it stands: "jobs.test.steps.run",
 * "scripts.test", "recipe" of a makefile, "code" of Markdown. */
struct risk_line {
	const char *path;
	const char *text; /* without blanks around it */
	size_t number; /* 0: unknown */
	bool added;
};

struct risk_lines {
	struct risk_line *items;
	size_t count, capacity;
	char *bytes; /* of the texts, and of the paths of JSON */
	struct names *paths;
	bool keyed; /* JSON: a line is the value at its path */
	bool deleted; /* with their file */
};

/* Splits a text of any format but JSON into lines with their places. */
void risk_lines_split(enum settings_format format, const struct buf *bytes,
		      struct risk_lines *ret);
/* The same for all formats. 1; 0: it is not of the format; a negative errno:
 * the parsing worker could not read it. */
int risk_lines_parse(enum settings_format format, const struct buf *bytes,
		     struct risk_lines *ret, struct err *err);
void risk_lines_free(struct risk_lines *l);
/* Sets `added` of each line that `old` does not have at such a place. Versions
 * and hashes count as equal, and blanks and comments (from this text on; NULL:
 * there are none) are never added. */
void risk_lines_compare(struct risk_lines *now, const struct risk_lines *old,
			const char *comment);
/* The same, with each byte different. */
void risk_lines_compare_bytes(struct risk_lines *now,
			      const struct risk_lines *old);

/* --- risk_content.c --- */

/*
 * Judges what a change adds to a file with a known name: both texts are
 * complete. Adds the risks of the rules that match; else one of `rule` itself:
 * a note, or at its own level when the text cannot be judged.
 */
void risk_judge_content(const char *path, const struct risk_rule *rule,
			enum risk_as as, const struct buf *old,
			const struct buf *now, struct risks *ret);

/* Files that an agent reads: any change of them instructs it, and commands in
 * them may run at once, whatever the level of their name. */
bool risk_is_for_agents(enum risk_as as);
/* The same for a file that is no longer there: all its lines are removed. */
void risk_judge_deletion(const char *path, const struct risk_rule *rule,
			 enum risk_as as, const struct buf *old,
			 struct risks *ret);

/* Judges a file that a rule of the user names, by the rule's conditions, else
 * by its class. now NULL: it was deleted. */
void risk_judge_user_rule(const char *path, const struct rule *rule,
			  enum risk_as as, const struct buf *old,
			  const struct buf *now, struct risks *ret);
/* Judges a file of an unknown name that looks like settings with commands. */
void risk_judge_shape(const char *path, const struct buf *old,
		      const struct buf *now, struct risks *ret);

/* Whether the line has the condition's place and text. removed: the line is of
 * the old file. */
bool risk_condition_holds(struct rule_condition *c, bool removed,
			  const struct risk_line *line);
/* Agents read prose, settings, and scripts that they execute. */
enum risk_as risk_agent_as(const char *path, const struct buf *now);
enum settings_format risk_format_of(const char *path, enum risk_as as);

/* --- risk_refs.c --- */

/* The rule of the highest level that a reference gives the path, how its
 * content is judged, and the reference; NULL: none does. */
const struct risk_rule *risk_refs_rule(const struct risk_refs *refs,
				       const char *path, enum risk_as *ret_as,
				       const struct risk_ref **ret);

/* --- risk_places.c --- */

/* Whether the path is that of a loose object or a pack below a .git: git
 * compresses them, they are no text. */
bool risk_is_git_object(const char *path);

/* The name of a program that people type, of a file in a directory with a name
 * as PATH has them; NULL: none. system: a program of this machine counts, too,
 * else those alone that rules name. */
const char *risk_typed_name(const char *path, bool system);
/* The content changed, or cannot be compared. */
bool risk_has_other_bytes(const struct risk_file *f);
/* Adds a risk if the file would run in place of a program that people type. */
void risk_judge_typed(const struct risk_file *f, struct risks *ret);
/* A new file of an environment of Python: `python3 -m venv DIR`, whatever the
 * name, or of pip in it. The project itself is none. Reads the files that
 * Python or PATH would run. */
bool risk_in_new_venv(const struct risk_file *f);
/* The .pth file that setuptools installs, with exactly its text. */
bool risk_is_setuptools(const struct risk_file *f);

/* --- risk_text.c --- */

/* Judges any text: characters that hide or deceive, keys, line ends. existed:
 * there was a file before. */
void risk_judge_text(const char *path, bool existed, const struct buf *old,
		     const struct buf *now, struct risks *ret);
/* Whether a terminal would obey a character of the text, or not show it. */
bool risk_hides_text(const char *text);
/* Whether the bytes have a NUL. */
bool risk_has_nul(const struct buf *b);

/* --- risk_shape.c --- */

/* Judges kind, mode, name and the target of a link. */
void risk_judge_entry(const struct risk_file *f, struct risks *ret);
/* Judges a .pyc by its header, which Python trusts. */
void risk_judge_bytecode(const struct risk_file *f, struct risks *ret);
/* Judges the bytes of both sides, apart from text. */
void risk_judge_bytes(const struct risk_file *f, const struct buf *old,
		      const struct buf *now, struct risks *ret);

#endif
