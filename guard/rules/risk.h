/*
 * Risks of a change: files that are executed later, or are dangerous otherwise.
 * They are judged by name, type and mode, by shape, and by what the change adds
 * to a file's content; nothing of a run is ever executed for it, and no command
 * of the run is inspected. A hint where to look first, no proof of
 * harmlessness: any source file is executed some day.
 *
 * Each risk has the id of its rule, which stays the same between versions. All
 * rules are text (risk_rules.c): names.rules (names), lines.rules (lines that a
 * change adds to such a file), code.rules (found by functions: risk_text.c for
 * any text, risk_shape.c for the rest).
 * All functions here are pure apart from the callbacks of struct risk_file, the
 * user's rules (risk_user.c) and the parsing worker, which reads JSON.
 */
#ifndef GUARD_RULES_RISK_H
#define GUARD_RULES_RISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct err;

enum risk_level {
	RISK_NONE,
	RISK_NOTE, /* worth knowing */
	RISK_HIGH, /* executed by a routine command: build, install, commit */
	RISK_CRITICAL, /* executed without a request, or harmful at once */
};

struct risk {
	enum risk_level level;
	const char *id; /* of the rule; static */
	char *text; /* escaped; the same for all risks of a rule */
	char *line; /* what shows it, escaped and cut, or NULL */
	size_t number; /* of that line, from 1; 0: unknown */
	uint32_t character; /* in that line, which the rule is about; or 0 */
	size_t more; /* further lines of this rule in the file */
};

struct risks {
	struct risk *items; /* the worst first */
	size_t count, capacity;
};

/* A file of a root that a critical or high file executes or reads. */
struct risk_ref {
	char *path;
	bool below; /* the path is a directory, with all files below it */
	/* Judged as a file of this name; NULL: each change has the rule. */
	char *named;
	const struct risk_rule *rule; /* of the file that has the reference */
	char *by; /* names that file, for people */
};

struct risk_refs {
	struct risk_ref *items; /* by path */
	size_t count, capacity;
	/* Not followed, by the limits of the search, and the first file that
	 * has some, escaped. */
	size_t left;
	char *left_by;
};

/* Where references are searched; paths are absolute, without "." and "..".
 * now: after the run. */
struct risk_tree {
	const char *root, *home; /* NULL: unknown */
	/* The mode of a path, 0 for none; appends a link's target. */
	uint32_t (*look)(void *arg, const char *path, bool now,
			 struct buf *target);
	/* Reads a regular file; false: not readable, or now, and the run has
	 * not changed it. */
	bool (*read)(void *arg, const char *path, bool now, struct buf *to);
	void *arg;
};

/* One file before and after the run; mode 0: absent. */
struct risk_file {
	const char *path;
	uint32_t old_mode, now_mode;
	uint64_t old_size, now_size;
	/* Stands in front of the names in the root: risk_above(). */
	const char *above;
	/* Stands for the path where rules of names are asked; or NULL. */
	const char *named;
	const struct risk_refs *refs; /* or NULL */
	const char *twin; /* the name that this new one is a twin of, or NULL */
	bool acl; /* has a new ACL */
	bool same_time; /* mtime is equal */
	bool special; /* new set-id bits or capabilities */
	bool torn; /* a power cut may have damaged the bytes */
	/* Reads the bytes or a link's target, before or (now) after; false: not
	 * readable. */
	bool (*read)(void *arg, bool now, struct buf *to);
	/* Whether a path exists, before or after; NULL: unknown. */
	bool (*exists)(void *arg, const char *path);
	void *arg;
};

/* Larger files are judged by their names alone, and are not examined. */
#define RISK_READ_MAX (1u << 20)

/* Begins the time of another run's files: those that are judged after it is
 * used up are reported as not examined, at the level of their names. Processor
 * time of this thread and of the parsing worker. */
void risk_renew_time(void);

/* Frees the risks and their texts. */
void risks_free(struct risks *r);
/* Appends copies of all risks of another list. */
void risks_copy(struct risks *to, const struct risks *from);
/* Adds the risks of one file to *ret, the worst first. Reads it by f->read().
 */
void risk_judge(const struct risk_file *f, struct risks *ret);
/* Adds only risks whose rule is critical: few files are read for that. Others
 * may be among them. */
void risk_judge_critical(const struct risk_file *f, struct risks *ret);
/* The level of a rule, RISK_NONE for an unknown id. A rule with conditions of
 * different levels has the highest one. */
enum risk_level risk_id_level(const char *id);
/* A risk as a sentence without a subject: "runs at make (line 3): curl x". To
 * free. */
char *risk_sentence(const struct risk *risk);
/* "note", "high" or "critical". */
const char *risk_level_name(enum risk_level level);
/* risk_repository.c: the path of a file that git obeys, as if the repository
 * that it lies in were called .git, to free: git takes any directory with HEAD,
 * objects and refs, whatever its name, when a command runs in it. NULL: the
 * path is no such file, or has a .git already. Asks f->exists(). */
char *risk_repository_path(const struct risk_file *f);
/* risk_refs.c: finds the files that critical and high files execute or read.
 * changed: paths below the root that are new or links, NULL-terminated.
 * is_home: the root is the home directory, of which only known names are read.
 */
void risk_refs_find(const struct risk_tree *tree, char *const *changed,
		    bool is_home, struct risk_refs *ret);
void risk_refs_free(struct risk_refs *l);
/* The level that a path has by references to it. */
enum risk_level risk_refs_level(const struct risk_refs *refs, const char *path);
/* Where a link leads, below the root, to free; NULL: out of it, or to the root.
 */
char *risk_refs_follow(const char *path, const char *target);
/* The level of the worst risk; RISK_NONE for no risk. */
enum risk_level risks_worst(const struct risks *r);
/* The last names of the path of a run's root, if files in it are executed
 * without a request: "u/.ssh", ".config/nvim". To free; NULL: their own names
 * tell all. */
char *risk_above(const char *root);
/* The level of a file of that name by itself. */
enum risk_level risk_by_name(const char *path);
/* Whether a new file of that name is a risk by the characters of the name, such
 * as invisible ones. */
bool risk_by_shape(const char *path);

/* guard's own rules in the source tree (base/shipped.h). */
#define RULES_SHIPPED_DIR "guard/rules"

/*
 * risk_rules.c: adds the rules of a text, in the format of the man page's
 * section RISKS; file: its name, for messages. They hold for all later calls in
 * this process. -EINVAL names the file and the line.
 */
int risk_user_parse(const char *text, const char *file, struct err *err);
/* Forgets the user's rules. */
void risk_user_clear(void);
/* Whether a text of guard's own has only complete rules, with samples. -EINVAL
 * names the file and the line. */
int risk_rules_check(const char *path, const char *text, struct err *err);

/* Whether a word is in a list that lines.rules defines. */
bool risk_is_defined(const char *list, const char *word);

/* A directory that tools fill: node_modules, __pycache__. */
bool risk_is_generated(const char *name);
/* Whether the path is in such a directory: names mean nothing there, and there
 * are thousands. */
bool risk_in_generated(const char *path);
/* The topmost such directory below dir that is the path or above it, to free;
 * NULL: none. */
char *risk_generated_dir(const char *path, const char *dir);
/* Whether a path in an environment of Python is of a directory that Python
 * fills. */
bool risk_is_venv_part(const char *path);
/* Installed packages: node_modules, .venv; not the notes and caches of a tool
 * in them. */
bool risk_is_installed(const char *path);
/* Files in it that run without a command of the user: start-up files of Python.
 */
bool risk_always_runs(const char *path);

#endif
