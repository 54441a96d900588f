#include "guard/cli/options.h"

#include <stddef.h>

/* Options that more than one verb has. */
#define OPTION_JSON OPT_JSON, "json", NULL, "print JSON"
#define OPTION_YES 'y', "yes", NULL, "do not ask"
#define OPTION_DRY                                                             \
	'n', "dry-run", NULL, "show what would be done, change nothing"
#define OPTION_QUIET 'q', "quiet", NULL, "say less"
#define OPTION_PAGER OPT_NO_PAGER, "no-pager", NULL, "do not start a pager"
#define OPTION_COLOR                                                           \
	OPT_COLOR, "color", "[WHEN]", "colours: auto, always or never"
#define OPTION_PROGRESS                                                        \
	OPT_PROGRESS, "progress", "HOW",                                       \
		"auto (on a terminal) or json (lines on stderr)"

static const struct option_spec run_options[] = {
	{OPT_RO, "ro", "PATH", "let a hidden path be read"},
	{OPT_RW, "rw", "PATH", "let a real path be written (stored first)"},
	{OPT_COW, "cow", "PATH", "a layer over this folder, too"},
	{'C', NULL, "DIR", "the project around DIR, and start there"},
	{OPT_HIDE, "hide", "PATH", "hide this path, too"},
	{OPT_ENV, "env", "NAME[=VALUE]", "pass a variable of the environment"},
	{OPT_NET, "net", "MODE", "host (default), private or none"},
	{OPT_PUBLISH, "publish", "PORTS", "let 8080:80 in, with --net private"},
	{OPT_NESTED, "nested", NULL, "let sandboxes work inside"},
	{OPT_AGENT, "agent", "NAME", "its profile, not that of CMD; or none"},
	{OPT_SHARE_LOGIN, "share-login", NULL,
	 "let the agent have your login and settings"},
	{OPT_SHARED_CACHE, "shared-cache", NULL,
	 "share caches with runs of other projects"},
	{OPT_ALLOW, "allow", "WHAT", "perf, io_uring, userfaultfd or 32bit"},
	{OPT_WHY, "why", "PATH", "run nothing, say how PATH would be seen"},
	{OPT_STRICT, "strict", NULL, "no network, an empty home, small limits"},
	{OPT_TIMEOUT, "timeout", "TIME", "end it after 30s, 5m, 2h"},
	{OPT_VERSIONS, "versions", "TIME",
	 "keep versions every 30s, 5m; 0: none (1m)"},
	{OPT_PIDS_LIMIT, "pids-limit", "N", "at most N processes"},
	{OPT_MEMORY, "memory", "SIZE", "at most 512m, 2g of memory"},
	{OPT_CPUS, "cpus", "N", "at most N processors, 1.5 too"},
	{OPT_TMP_SIZE, "tmp-size", "SIZE", "a /tmp in memory of 64m, 1g"},
	{OPT_USER, "user", "UID[:GID]", "be somebody else (root only)"},
	{OPT_FROZEN, "frozen", NULL,
	 "run in a copy that your edits do not reach"},
	{OPT_HOME, "home", NULL, "your whole home folder is the project"},
	{OPT_LAYER_SIZE, "layer-size", "SIZE",
	 "end it above 500M, 20G of changes"},
	{OPT_LAYER_FILES, "layer-files", "N", "end it above N new files"},
	{OPT_CONTINUE, "continue", "[RUN]", "work on in a pending run's layer"},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec exec_options[] = {
	{'C', NULL, "DIR", "start in DIR, as the run sees it"},
	{OPT_ENV, "env", "NAME[=VALUE]", "pass a variable of the environment"},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec status_options[] = {
	{'a', "all", NULL, "runs of every project, also decided ones"},
	{OPTION_JSON},
	{OPT_PORCELAIN, "porcelain", NULL, "one line a run, fields by TAB"},
	{'q', "quiet", NULL, "ids only"},
	{0},
};

static const struct option_spec diff_options[] = {
	{OPT_STAT, "stat", NULL, "changed lines a file, no text"},
	{OPT_NAME_STATUS, "name-status", NULL, "letter and name only"},
	{OPT_NAME_ONLY, "name-only", NULL, "names only"},
	{'z', NULL, NULL, "letter and raw name, each ended by NUL"},
	{OPTION_JSON},
	{OPT_EXIT_CODE, "exit-code", NULL, "end with 1 when there are changes"},
	{OPTION_PAGER},
	{OPTION_COLOR},
	{0},
};

static const struct option_spec review_options[] = {
	{OPTION_PAGER},
	{OPTION_COLOR},
	{0},
};

static const struct option_spec apply_options[] = {
	{'p', "patch", NULL, "ask about each hunk, as review does"},
	{OPT_COMMIT, "commit", NULL, "one commit of it on HEAD's branch"},
	{OPT_BRANCH, "branch", "NAME",
	 "commit it to that branch, and change nothing else"},
	{'m', "message", "TEXT", "the commit's message"},
	{OPT_CONTINUE, "continue", NULL, "finish one that was interrupted"},
	{OPT_ABORT, "abort", NULL, "take back one that was interrupted"},
	{OPT_OURS, "ours", NULL, "conflicts: your version stays"},
	{OPT_THEIRS, "theirs", NULL, "conflicts: the run's version wins"},
	{OPT_MERGE, "merge", NULL, "conflicts: markers in texts, exit 1"},
	{OPT_YES_TO, "yes-to", "PATH",
	 "take it though it is set-id, or git obeys it"},
	{OPTION_DRY},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec patch_options[] = {
	{0},
};

static const struct option_spec export_options[] = {
	{OPT_TAR, "tar", NULL, "as a tar archive (pax); must be given"},
	{'o', "output", "FILE", "into a new FILE instead of stdout"},
	{0},
};

static const struct option_spec discard_options[] = {
	{OPTION_YES},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec import_options[] = {
	{OPT_FF, "ff", "BRANCH", "then move your branch on to the run's"},
	{OPTION_DRY},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec snapshot_options[] = {
	{'m', "message", "TEXT", "a note to find it by"},
	{OPT_TAG, "tag", "TAG", "a word to keep with it; repeatable"},
	{OPT_EXCLUDE, "exclude", "GLOB", "leave out; repeatable, recorded"},
	{OPTION_QUIET},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec log_options[] = {
	{'n', "number", "N", "at most N lines"},
	{OPT_ACTIONS, "actions", NULL, "what guard did: runs, applies, ..."},
	{'a', "all", NULL, "of every project"},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{OPTION_PAGER},
	{0},
};

#define OPTION_VERSIONS                                                        \
	OPT_ALL_VERSIONS, "all-versions", NULL,                                \
		"in every snapshot (the default)"

static const struct option_spec find_options[] = {
	{OPT_AT, "at", "WHEN", "in one snapshot: 12, latest~2, '2h ago'"},
	{OPTION_VERSIONS},
	{'a', "all", NULL, "of every project"},
	{'i', "ignore-case", NULL, "upper and lower case are the same"},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec grep_options[] = {
	{OPT_AT, "at", "WHEN", "in one snapshot: 12, latest~2, '2h ago'"},
	{OPTION_VERSIONS},
	{'a', "all", NULL, "of every project"},
	{'i', "ignore-case", NULL, "upper and lower case are the same"},
	{'F', "fixed-strings", NULL, "RE is plain text"},
	{'l', "files-with-matches", NULL, "names only"},
	{'n', "line-number", NULL, "lines with their numbers"},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{OPTION_PAGER},
	{OPTION_COLOR},
	{0},
};

static const struct option_spec ls_options[] = {
	{'l', "long", NULL, "mode, owner, size and time too"},
	{'z', NULL, NULL, "raw names, each ended by NUL"},
	{OPTION_JSON},
	{0},
};

static const struct option_spec show_options[] = {
	{OPTION_JSON},
	{OPTION_PAGER},
	{0},
};

static const struct option_spec restore_options[] = {
	{OPT_AT, "at", "WHEN", "12, latest~2, '2h ago', '2026-11-21 14:30'"},
	{OPT_TO, "to", "DIR", "put it into DIR instead"},
	{OPT_OVERWRITE, "overwrite", "HOW",
	 "replace what is there: if-changed, always, never"},
	{OPT_EXACT, "exact", NULL, "delete what the snapshot does not have"},
	{OPTION_DRY},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec undo_options[] = {
	{OPTION_DRY},
	{OPTION_YES},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec verify_options[] = {
	{OPT_READ_DATA, "read-data", NULL, "read and check every byte"},
	{OPT_SAMPLE, "sample", "N%", "read and check a share of the bytes"},
	{OPTION_JSON},
	{OPTION_QUIET},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec prune_options[] = {
	{OPTION_DRY},
	{OPT_CACHES, "caches", NULL, "the caches of runs, and nothing else"},
	{OPT_TRASH, "trash", NULL, "empty the trash now, and nothing else"},
	{OPT_KEEP_LAST, "keep-last", "N", "the newest N"},
	{OPT_KEEP_WITHIN, "keep-within", "TIME", "all of 12h, 14d, 8w"},
	{OPT_KEEP_HOURLY, "keep-hourly", "N", "the last of N hours"},
	{OPT_KEEP_DAILY, "keep-daily", "N", "the last of N days"},
	{OPT_KEEP_WEEKLY, "keep-weekly", "N", "the last of N weeks"},
	{OPT_KEEP_MONTHLY, "keep-monthly", "N", "the last of N months"},
	{OPT_KEEP_YEARLY, "keep-yearly", "N", "the last of N years"},
	{OPT_KEEP_TAG, "keep-tag", "TAG", "all with that tag; repeatable"},
	{OPT_MAX_SIZE, "max-size", "SIZE", "the newest that fit in 500M, 20G"},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec purge_options[] = {
	{OPT_CONFIRM, "confirm", "PATH", "the same path again: do not ask"},
	{OPTION_DRY},
	{OPTION_QUIET},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec pin_options[] = {
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec unpin_options[] = {
	{OPTION_QUIET},
	{0},
};

static const struct option_spec undelete_options[] = {
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec repair_options[] = {
	{OPTION_YES}, {OPTION_QUIET}, {OPTION_JSON}, {OPTION_PROGRESS}, {0},
};

static const struct option_spec explain_options[] = {
	{OPT_RO, "ro", "PATH", "as with run"},
	{OPT_RW, "rw", "PATH", "as with run"},
	{OPT_HIDE, "hide", "PATH", "as with run"},
	{OPT_COW, "cow", "PATH", "as with run"},
	{'C', NULL, "DIR", "as with run"},
	{OPT_AGENT, "agent", "NAME", "as with run"},
	{OPT_STRICT, "strict", NULL, "as with run"},
	{OPTION_JSON},
	{0},
};

static const struct option_spec agents_options[] = {
	{OPT_RESET, "reset", "NAME", "take its home away, with its login"},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec doctor_options[] = {
	{OPTION_JSON},
	{0},
};

static const struct option_spec du_options[] = {
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

#define RUN_TEXT                                                               \
	"RUN is a run's id or its beginning; without it the newest pending\n"  \
	"run of this project. PATHS behind -- are never taken for a run.\n"

const struct verb options_verbs[] = {
	{"run", NULL, "[--] CMD [ARGS...]", "run a command in a layer",
	 "Nothing it does reaches the real files until it is applied. Ends\n"
	 "with the command's own status; 125: guard itself failed, 126: not\n"
	 "executable, 127: not found, 124: ended by guard.\n",
	 run_options, true},
	{"exec", NULL, "[RUN] -- CMD [ARGS...]",
	 "run one more command in a run, live or ended",
	 "In a live run: with its processes, behind the same fence, and no\n"
	 "longer than it. In one that has ended: in its layer, with the\n"
	 "options that it was begun with; what waits for a decision is\n"
	 "looked at anew then. Ends as run does.\n",
	 exec_options, true},
	{"shell", NULL, "[RUN]", "open a shell in a run, live or ended",
	 "As exec, with your own shell.\n", exec_options, false},
	{"status", "list", "", "show the runs that wait for a decision", "",
	 status_options, false},
	{"diff", NULL, "[RUN | SNAP [SNAP]] [--] [PATHS...]",
	 "show what a run changed, or what differs from a snapshot",
	 RUN_TEXT
	 "SNAP SNAP: what the second has otherwise than the first; SNAP\n"
	 "alone: what the files have now. SNAP is a number, latest~2, '2h\n"
	 "ago', yesterday, '2026-11-21 14:30'. Deletions come first and are\n"
	 "never cut off.\n",
	 diff_options, false},
	{"review", NULL, "[RUN] [--] [PATHS...]",
	 "go through a run's changes and apply what you accept",
	 RUN_TEXT
	 "Deletions, and what is dangerous or executed later, come first;\n"
	 "keys are those of `git add -p`. Nothing is written before the end,\n"
	 "where you are asked once more. Without a terminal it is printed.\n",
	 review_options, false},
	{"apply", "commit", "[RUN] [--] [PATHS...]",
	 "take a run's changes over into the real files",
	 RUN_TEXT
	 "All or nothing; `guard undo` takes it back. Texts that both\n"
	 "sides changed are merged when that is clear; else nothing is\n"
	 "applied. A .git is left alone unless a path names it, and so are\n"
	 "changes of your home folder: `guard apply ~/.config/app`.\n",
	 apply_options, false},
	{"discard", NULL, "[RUN] [--] [PATHS...]", "drop a run's changes",
	 RUN_TEXT
	 "They go to guard's trash first; `guard undo` brings them back.\n",
	 discard_options, false},
	{"import", NULL, "[RUN]", "bring a run's commits into your repository",
	 "As objects and refs below refs/guard/RUN/: branches, tags, stash,\n"
	 "detached HEADs, and what only a reflog names. Your own branches,\n"
	 "HEAD, index, configuration and hooks stay as they are.\n",
	 import_options, false},
	{"patch", NULL, "[RUN] [--] [PATHS...]",
	 "print what a run changed as a patch for git",
	 RUN_TEXT
	 "For `git apply`, which takes it whole with its options for\n"
	 "index and binary. What no patch can hold is named on stderr.\n",
	 patch_options, false},
	{"export", NULL, "--tar [RUN | SNAP] [--] [PATHS...]",
	 "write what a run changed, or a snapshot, as a tar archive",
	 RUN_TEXT
	 "SNAP is a number, latest~2, '2h ago', '2026-11-21 14:30'. What the\n"
	 "run deleted, and what a tar cannot hold, is named on stderr. A .git\n"
	 "is left out unless a path names it.\n",
	 export_options, false},
	{"undo", NULL, "[N]",
	 "take the last apply, restore, discard or undo back",
	 "With N: the last N applies, restores and discards that are in\n"
	 "effect, one by one, the newest first. `guard log --actions` lists\n"
	 "what was done. What was refused did nothing and does not count.\n"
	 "Files that have changed since are conflicts.\n",
	 undo_options, false},
	{"snapshot", NULL, "[PATHS...]",
	 "store the project, or folders, as they are now",
	 "PATHS are folders: each gets a snapshot of its own, of that folder\n"
	 "and not of the project around it. Everything is in unless a GLOB\n"
	 "leaves it out: of names anywhere, or with a / of paths in the\n"
	 "folder. What was left out is never taken for deleted.\n",
	 snapshot_options, false},
	{"log", NULL, "[PATH]", "list snapshots, or the versions of a path", "",
	 log_options, false},
	{"find", NULL, "NAME|GLOB", "find a path in what is stored",
	 "NAME is a whole name; a GLOB in quotes may hold *, ? and [...]. "
	 "With\n"
	 "a / it is a path, and ** stands for any folders. Each version is\n"
	 "listed once: the snapshots that hold it, since when, until when.\n"
	 "Ends with 1 when there is none.\n",
	 find_options, false},
	{"grep", NULL, "RE [PATHS...]", "search the text of what is stored",
	 "RE is an extended regular expression. Each text is searched once,\n"
	 "however many snapshots hold it, and a line that several versions of\n"
	 "a file have is printed once, with the newest of them: SNAP:PATH, as\n"
	 "`guard show` takes it. A .git is left out unless a path names it.\n"
	 "Ends with 1 when nothing matches.\n",
	 grep_options, false},
	{"ls", NULL, "SNAP [PATH]", "list a folder of a snapshot",
	 "With a run's id for SNAP: what it left in its own /tmp and "
	 "/var/tmp;\n"
	 "RUN:PATH is a folder there or in its project or home.\n",
	 ls_options, false},
	{"show", NULL, "SNAP[:PATH]", "print a file of a snapshot",
	 "Without PATH: what is known of the snapshot. RUN:PATH prints a file\n"
	 "of a run: of its project or home, or of its own /tmp or /var/tmp.\n",
	 show_options, false},
	{"restore", NULL, "PATHS...", "bring stored files back",
	 "Deletes nothing without --exact; what stands there now is stored\n"
	 "first. Without --at: from the newest snapshot that has the path.\n"
	 "Wildcards in quotes are matched against what is stored; ** stands\n"
	 "for any folders.\n",
	 restore_options, false},
	{"verify", NULL, "", "check that the store is whole",
	 "Reads and never writes. Ends with 1 when something is damaged: each\n"
	 "damaged pack, record and snapshot is named, and each path that\n"
	 "suffers from it.\n",
	 verify_options, false},
	{"prune", NULL, "", "take old snapshots away",
	 "A snapshot stays when any rule keeps it. Without one: those of the\n"
	 "file config in guard's state, else all of 14 days, then 30 daily,\n"
	 "12 weekly and 24 monthly ones. Whatever the rules say, the newest\n"
	 "three of each folder, all of the last 24 hours, pinned ones and "
	 "what\n"
	 "runs and undo need stay. `guard undelete` brings back for 7 days.\n",
	 prune_options, false},
	{"purge", NULL, "PATH",
	 "remove a leaked secret from all that is stored",
	 "From every snapshot, every layer of a run and both trashes, which "
	 "are\n"
	 "emptied: nothing brings it back. The file itself stays where it is.\n"
	 "Asks for the word purge on a terminal; without one --confirm must\n"
	 "name the path again.\n",
	 purge_options, false},
	{"pin", NULL, "[SNAP...]", "let no prune take a snapshot",
	 "Without SNAP: lists those that are pinned.\n", pin_options, false},
	{"unpin", NULL, "SNAP...", "let prune take a pinned snapshot again", "",
	 unpin_options, false},
	{"undelete", NULL, "[SNAP...]", "bring back what prune took away",
	 "Without SNAP: lists what is in the trash.\n", undelete_options,
	 false},
	{"du", NULL, "", "show what guard takes up", "", du_options, false},
	{"repair", NULL, "", "mend a damaged store",
	 "Saves what is whole in damaged packs, and stores folders anew of "
	 "which\n"
	 "something is lost: what still has the same bytes is there again. "
	 "Ends\n"
	 "with 1 when something stays lost, and names it.\n",
	 repair_options, false},
	{"agents", NULL, "[NAME]", "list the profiles of agents, or show one",
	 "A profile says what runs of a program need; `guard run` takes that\n"
	 "of the command's name (of what npx, uvx and the like start), or\n"
	 "--agent NAME. Your own lie in ~/.config/guard/agents/NAME and are\n"
	 "added to guard's. An agent's home is guard's own: log in once\n"
	 "inside, your real one stays as it is.\n",
	 agents_options, false},
	{"doctor", NULL, "",
	 "say which parts of the fence work on this machine",
	 "Each layer: ok, weaker (runs work, with less) or missing (nothing\n"
	 "is run), and how to mend it. Ends with 1 when one is missing.\n",
	 doctor_options, false},
	{"explain", NULL, "PATHS...", "say how a run would see a path",
	 "Which rule decides: the layer, read-only, private, hidden, let in,\n"
	 "with the options that the run would have. `guard run ... --why "
	 "PATH`\n"
	 "does the same.\n",
	 explain_options, false},
	{0},
};
