/*
 * The profiles that hold for a run, and their effect: options that are added to
 * those of the command line, and directories that are kept between runs.
 *
 *	agent_load()	finds and reads the profiles; changes nothing. The
 *			resulting options are in `options` then
 *	agent_open()	makes the directories, copies settings into new ones
 *	agent_end()	takes the mount points out of the layers
 *	agent_code_compare()	finds the changes in them that are executed
 *			later
 *
 * The profile "default" holds for every run, then that of the agent (--agent,
 * or the name of the command), then the project's own file, which can only
 * restrict:
 *
 *	shipped			guard/agent/profiles/NAME, compiled in
 *	the user's		~/.config/guard/agents/NAME, added to it
 *	the project's		.guard/profile
 *
 * The directories of an agent are agents/NAME/home/... in guard's state. They
 * are mounted over those of the home directory, for all runs of the agent.
 * Caches are in the project's workspace, or in caches/ for all projects.
 */
#ifndef GUARD_AGENT_AGENT_H
#define GUARD_AGENT_AGENT_H

#include <stddef.h>

#include "base/vec.h"
#include "guard/agent/profile.h"
#include "guard/agent/run_options.h"
#include "guard/change/changes.h"
#include "guard/sandbox/grant.h"
#include "guard/state/state.h"
#include "guard/state/usage.h"
#include "overlay/persistent_mount.h"
#include "overlay/session.h"

/* Where a project says what is closed to runs. */
#define AGENT_PROJECT_FILE ".guard/profile"
#define AGENT_NONE "none"

struct agent_place {
	char *path; /* absolute, without links */
	const struct profile_item *item; /* the line that says so */
	uint64_t before; /* --share-login: snapshot before the command */
};

struct agent {
	char *name; /* NULL: no agent's profile holds */
	bool nested; /* only its profile can set it */
	bool shared; /* the host's own directories: --share-login */
	bool had_login; /* in its home before the run */
	struct profile profile;
	struct run_options options; /* with the options of the profiles */
	VEC(struct agent_place) places;
	VEC(struct agent_place) rules; /* ro and hide lines that hold */
	struct grants grants; /* of the options and the profiles */
	char **lists[2]; /* own the texts of options' lists */
	struct persistent_mount
		*persistent_mount; /* NULL before agent_open() */
	uint64_t home_before; /* snapshot of its home before the command; 0:
				 none */
	bool code_changed; /* by the command: agent_code_compare() */
	/* Absolute paths that its settings may name as commands, and as files
	 * that a command appends to, see agent_code_compare(). */
	struct names commands, written;
};

/* Frees the agent and sets *a to NULL. */
void agent_free(struct agent **a);

/* -EINVAL: names the file and the line, or that there is no such agent. */
int agent_load(const struct run_options *o, const struct state *state,
	       const char *project, struct agent **ret, struct err *err);

/* Whether a command talks to an editor (run_options.acp): a profile, shipped or
 * the user's own, names it, and it is on no terminal. in_acp_run: it enters a
 * run with --acp; then so does any command between pipes. */
bool agent_talks_acp(const struct state *state, char *const *argv,
		     bool in_acp_run);

/* The line that lets a path in or hides it (as run_check_grants() has it), or
 * NULL: it was not a profile. */
const char *agent_rule(const struct agent *a, enum profile_word word,
		       const char *path);
/* The place that decides about a path, NULL: none does. */
const struct agent_place *agent_place_of(const struct agent *a,
					 const char *path);

/* Whether a path, as it is written, is in a directory of the agent: guard's
 * own, or the real one with --share-login. */
bool agent_owns_path(const struct agent *a, const char *home, const char *path);

/* notes: lines for people are appended. Fills the session's record with what
 * later commands must know. */
int agent_open(struct agent *a, const struct state *state, struct session *s,
	       struct buf *notes, struct err *err);

/* After the last process is gone: takes the mount points out of the layers. */
void agent_end(const struct agent *a, const struct session *s);

/* Appends ", agent: claude" for the run's header; says what it warns of. */
void agent_describe(const struct agent *a, struct buf *to);

/* agent_home.c: opens agents/ in the state, or with name the directory of one
 * agent. -ENOENT: no agent has a directory yet. */
int agent_open_state(const struct state *state, const char *name, bool make,
		     struct err *err);
/* Makes the directory of a home, with its settings when it is new, sets the
 * members of JSON files that the profile wants there, and returns its absolute
 * path, to free; NULL with err. */
char *agent_make_home(const struct agent *a, const struct state *state,
		      const char *project, const struct profile_item *home,
		      struct buf *notes, struct err *err);

/* The member of a write line with PATH#KEY as settings_add() takes it, to free;
 * NULL: the line has none. */
char *agent_own_member(const struct profile_item *item, const char *home);

/* Whether a member "a.b" of a JSON file has the value, as JSON writes it. */
bool agent_json_is(const char *path, const char *key, const char *value);

/* Adds all that holds for it: shipped, then the user's own. 0 or 1 (found). */
int agent_read(const struct state *state, const char *name, struct profile *to,
	       struct err *err);
/* The names of guard's profiles, then of the user's own; homes: and of agents
 * with a home. A list to free with mem_list_free(). */
char **agent_names(const struct state *state, bool homes);
/* Adds the settings and logins that any profile names to the places of
 * credentials: for other runs they have secrets. Before places_find(). */
void agent_find_settings(const struct state *state);
/* The directory of the user's own profiles, to free; NULL without a home
 * directory. */
char *agent_config_dir(const struct state *state);

/*
 * agent_code.c: compares two snapshots of a home, or of the directory `below`
 * in it ("": the home), and adds each change to the
 * session's record but for the profile's data, history, login and noise lines,
 * and new empty files: those that the next session may execute or obey, and
 * files of an unknown purpose that are of no such kind. Data is code when a
 * link or a command in the settings leads to it. Leaves the paths of such
 * commands in a->commands, and in a->written the files in the home directory
 * that commands of the settings from before the run write to. 1: something was
 * added, 0: nothing.
 */
int agent_code_compare(struct agent *a, const struct state *state,
		       struct store *store, const char *below, uint64_t before,
		       uint64_t now, struct session *s, struct err *err);
/* Adds to the session's record the changes of the run whose paths are in
 * a->commands: the next session executes these files. Makes those noise that
 * are in a->written and no less than before. True: some were added. */
bool agent_code_commands(const struct agent *a, struct changes *changes,
			 struct session *s);

/* The patterns of all "data FILE#KEY,..." lines for the file, to free. */
char *agent_data_members(const struct profile *profile, const char *path);

/* The paths of these changes below the home, sorted, to free with
 * mem_list_free(); NULL: none. */
char **agent_code_paths(const struct session *s);

/* In the session's record; all but the name may be repeated. */
#define AGENT_NAME "agent"
#define AGENT_CODE "agent-code" /* "M PATH" or "M FILE#MEMBER" in the home */
#define AGENT_UNKNOWN "agent-unknown" /* as AGENT_CODE: of no such kind */
#define AGENT_INITIAL "agent-initial" /* "A PATH": of its first start */
#define AGENT_LOG "agent-log" /* "M ~/PATH": lines of a hook of the user */
#define AGENT_COMMAND "agent-command" /* "M PATH": of the run's changes */

/*
 * agent_run.c: the caches of runs, of all projects together: caches/ in guard's
 * state (for --shared-cache) and in each workspace (persistent_mount.h).
 */

#define CACHES_DIR "caches"

struct caches {
	struct usage usage;
	size_t count, busy; /* directories; those that a run uses */
};

/* Disk usage of the caches. */
void caches_measure(const struct state *state, struct caches *ret);

/* Removes all caches that no run uses; ret describes the removed ones. */
int caches_clear(const struct state *state, struct caches *ret,
		 struct err *err);

#endif
