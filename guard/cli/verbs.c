#include "guard/cli/options.h"

#include <stddef.h>

/* Options that more than one verb has. */
#define OPTION_JSON OPT_JSON, "json", NULL, "print JSON"
#define OPTION_YES 'y', "yes", NULL, "do not ask"
#define OPTION_DRY                                                             \
	'n', "dry-run", NULL, "show what would be done, change nothing"
#define OPTION_ONLY                                                            \
	OPT_ONLY, "only", NULL, "take only the named one of a move's two paths"
#define OPTION_QUIET 'q', "quiet", NULL, "print less"
#define OPTION_PAGER OPT_NO_PAGER, "no-pager", NULL, "do not start a pager"
#define OPTION_COLOR                                                           \
	OPT_COLOR, "color", "[WHEN]", "colors: auto, always or never",         \
		"auto always never"
#define OPTION_PROGRESS                                                        \
	OPT_PROGRESS, "progress", "HOW",                                       \
		"auto (on a terminal) or json (lines on stderr)", "auto json"
#define OPTION_ENV                                                             \
	OPT_ENV, "env", "NAME[=VALUE]", "pass a variable of the environment",  \
		"VARIABLE"

static const struct option_spec run_options[] = {
	{OPT_RO, "ro", "PATH", "expose a masked path for reading"},
	{OPT_RW, "rw", "PATH", "expose a real path for writing (stored first)"},
	{OPT_COW, "cow", "PATH", "a layer over this directory too", "DIR"},
	{'C', NULL, "DIR", "the project around DIR, and start there"},
	{OPT_HIDE, "hide", "PATH", "mask this path too"},
	{OPTION_ENV},
	{OPT_NET, "net", "MODE", "host (default), private or none",
	 "host private none"},
	{OPT_PUBLISH, "publish", "PORTS",
	 "publish ports like 8080:80, with --net private"},
	{OPT_NESTED, "nested", NULL, "let sandboxes work inside"},
	{OPT_AGENT, "agent", "NAME",
	 "use this profile, not that of CMD; or none", "none NAME"},
	{OPT_SHARE_LOGIN, "share-login", NULL,
	 "expose your login and settings to the agent"},
	{OPT_SHARED_CACHE, "shared-cache", NULL,
	 "share caches with runs of other projects"},
	{OPT_ALLOW, "allow", "WHAT", "perf, io_uring, userfaultfd or 32bit",
	 "perf io_uring userfaultfd 32bit"},
	{OPT_WHY, "why", "PATH",
	 "run nothing, explain how a run would see PATH"},
	{OPT_STRICT, "strict", NULL, "no network, an empty home, small limits"},
	{OPT_TIMEOUT, "timeout", "TIME", "end it after 30s, 5m, 2h"},
	{OPT_VERSIONS, "versions", "TIME",
	 "keep versions every 30s, 5m; 0: none (1m)"},
	{OPT_PIDS_LIMIT, "pids-limit", "N", "at most N processes"},
	{OPT_MEMORY, "memory", "SIZE", "at most 512m, 2g of memory"},
	{OPT_CPUS, "cpus", "N", "at most N processors, 1.5 too"},
	{OPT_TMP_SIZE, "tmp-size", "SIZE", "a /tmp in memory of 64m, 1g"},
	{OPT_USER, "user", "UID[:GID]", "run as another user (root only)"},
	{OPT_NAME, "name", "NAME", "call the run so instead of by its id"},
	{OPT_FROZEN, "frozen", NULL,
	 "run in a copy that your edits do not reach"},
	{OPT_HOME, "home", NULL, "your whole home directory is the project"},
	{OPT_LAYER_SIZE, "layer-size", "SIZE",
	 "end it above 500M, 20G of changes"},
	{OPT_LAYER_FILES, "layer-files", "N", "end it above N new files"},
	{OPT_CONTINUE, "continue", "[RUN]",
	 "continue in a pending run's layer"},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec shell_options[] = {
	{'C', NULL, "DIR", "start in DIR, as the run sees it"},
	{OPTION_ENV},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec exec_options[] = {
	{'a', "all", NULL, "in a throw-away copy of each pending run"},
	{'C', NULL, "DIR", "start in DIR, as the run sees it"},
	{OPTION_ENV},
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec stop_options[] = {
	{'t', "time", "TIME", "SIGKILL after 10s, 2m"},
	{OPT_SNAPSHOT, "snapshot", NULL,
	 "end the snapshot that is taken beside a run"},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec status_options[] = {
	{'a', "all", NULL, "runs of every project, applied and discarded too"},
	{OPTION_JSON, .group = 1},
	{OPT_PORCELAIN, "porcelain", NULL,
	 "one line per run, fields separated by TAB", .group = 1},
	{'q', "quiet", NULL, "ids only"},
	{0},
};

static const struct option_spec diff_options[] = {
	{'U', "unified", "N", "N lines of context, 3 by default"},
	{OPT_WORD_DIFF, "word-diff", "[MODE]",
	 "changed words inside the lines: plain or color", "plain color"},
	{OPT_SIDE_BY_SIDE, "side-by-side", NULL, "texts in two columns"},
	{OPT_TOOL, "tool", "[NAME]",
	 "open each text in your git difftool, or in NAME"},
	{OPT_NO_RENAMES, "no-renames", NULL,
	 "show a move as a deletion and an addition"},
	{OPT_RISK, "risk", "[LEVEL]",
	 "only changes of this level: note, high (default) or critical",
	 "note high critical"},
	{OPT_FULL, "full", NULL, "fold no directory, show all texts"},
	{OPT_KINDS, "kinds", NULL,
	 "similar hunks as one kind, with a sample, rare ones first"},
	{OPT_HTML, "html", "FILE", "write a report to a new HTML file"},
	{OPT_STAT, "stat", NULL, "changed lines per file, no text"},
	{OPT_NAME_STATUS, "name-status", NULL, "letter and name only"},
	{OPT_NAME_ONLY, "name-only", NULL, "names only"},
	{'z', NULL, NULL, "letter and raw name, each ended by NUL"},
	{OPT_JSON, "json", "[FORM]", "print JSON; hunks: an object a line",
	 "hunks"},
	{OPT_EXIT_CODE, "exit-code", NULL,
	 "exit with 1 when there are changes, 3 for a severe one"},
	{OPTION_PAGER},
	{OPTION_COLOR},
	{0},
};

static const struct option_spec review_options[] = {
	{OPT_KINDS, "kinds", NULL, "ask about kinds of similar hunks first"},
	{OPT_FORGET, "forget", NULL,
	 "drop the decisions of an earlier review, begin again"},
	{OPT_PLAIN, "plain", NULL, "ask line by line, without a full screen"},
	{OPT_MOUSE, "mouse", NULL, "the mouse selects and scrolls"},
	{OPT_TEST, "test", "CMD", "for key t: runs CMD in a copy of the run"},
	{OPTION_PAGER},
	{OPTION_COLOR},
	{0},
};

static const struct option_spec apply_options[] = {
	{'p', "patch", NULL, "ask about each hunk, like review"},
	{OPT_KIND, "kind", "ID",
	 "only the hunks of a kind, as of diff --kinds"},
	{OPT_COMMIT, "commit", NULL, "also commit the changes on HEAD's branch",
	 .group = 1},
	{OPT_BRANCH, "branch", "NAME", "commit the changes to that branch only",
	 "BRANCH", 1},
	{OPT_COMMITS, "commits", NULL,
	 "with the run's commits on HEAD's branch", .group = 1},
	{'m', "message", "TEXT", "the commit's message"},
	{OPT_FOLLOW, "follow", NULL, "of a running run, at each of its pauses"},
	{OPT_REST, "rest", "TIME", "with --follow: a pause is 5s, 1m"},
	{OPT_CONTINUE, "continue", NULL, "finish an interrupted apply",
	 .group = 2},
	{OPT_ABORT, "abort", NULL, "roll back an interrupted apply",
	 .group = 2},
	{OPT_OURS, "ours", NULL, "conflicts: your version stays", .group = 3},
	{OPT_THEIRS, "theirs", NULL, "conflicts: the run's version wins",
	 .group = 3},
	{OPT_MERGE, "merge", NULL, "conflicts: markers in texts, exit 1",
	 .group = 3},
	{OPTION_ONLY},
	{OPT_YES_TO, "yes-to", "PATH",
	 "apply this critical change; RULE, all: such ones"},
	{OPT_EXCEPT, "except", "PATH",
	 "leave it out, or all that is `critical`"},
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
	{OPT_TAR, "tar", NULL, "as a tar archive (pax); required"},
	{'o', "output", "FILE", "write to a new FILE instead of stdout"},
	{0},
};

static const struct option_spec discard_options[] = {
	{'a', "all", NULL, "every pending run of this project"},
	{OPTION_ONLY},
	{OPT_KEEP_AGENT, "keep-agent", NULL,
	 "leave settings in the home of its agent"},
	{OPTION_DRY},
	{OPTION_YES},
	{OPTION_QUIET},
	{0},
};

static const struct option_spec import_options[] = {
	{OPT_FF, "ff", "BRANCH", "then fast-forward your branch to the run's"},
	{OPTION_DRY},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec snapshot_options[] = {
	{'m', "message", "TEXT", "a description of the snapshot"},
	{OPT_TAG, "tag", "TAG", "a tag for the snapshot; repeatable"},
	{OPT_EXCLUDE, "exclude", "GLOB",
	 "exclude matching paths; repeatable, recorded"},
	{OPTION_QUIET},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec log_options[] = {
	{'n', "number", "N", "at most N lines"},
	{OPT_ACTIONS, "actions", NULL, "actions of guard: runs, applies, ..."},
	{'a', "all", NULL, "of every project"},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{OPTION_PAGER},
	{0},
};

#define OPTION_AT                                                              \
	OPT_AT, "at", "WHEN", "in one snapshot: 12, latest~2, '2h ago'",       \
		.group = 1
#define OPTION_VERSIONS                                                        \
	OPT_ALL_VERSIONS, "all-versions", NULL,                                \
		"in every snapshot (the default)", .group = 1

static const struct option_spec find_options[] = {
	{OPTION_AT},
	{OPTION_VERSIONS},
	{'a', "all", NULL, "of every project"},
	{'i', "ignore-case", NULL, "ignore case"},
	{OPTION_JSON},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec grep_options[] = {
	{OPTION_AT},
	{OPTION_VERSIONS},
	{'a', "all", NULL, "of every project"},
	{'i', "ignore-case", NULL, "ignore case"},
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
	{OPT_TO, "to", "DIR", "restore into DIR instead"},
	{OPT_OVERWRITE, "overwrite", "HOW",
	 "replace existing files: if-changed, always, never",
	 "always if-changed never"},
	{OPT_EXACT, "exact", NULL,
	 "delete files that the snapshot does not have"},
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
	{OPT_READ_DATA, "read-data", NULL, "read and check every byte",
	 .group = 1},
	{OPT_SAMPLE, "sample", "N%", "read and check a share of the bytes",
	 .group = 1},
	{OPTION_JSON},
	{OPTION_QUIET},
	{OPTION_PROGRESS},
	{0},
};

static const struct option_spec prune_options[] = {
	{OPTION_DRY},
	{OPT_CACHES, "caches", NULL, "only the caches of runs", .group = 1},
	{OPT_TRASH, "trash", NULL, "only empty the trash now", .group = 1},
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
	{OPT_EVERYTHING, "everything", NULL,
	 "remove all of guard's state, before guard is uninstalled"},
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

static const struct option_spec repair_options[] = {
	{OPTION_YES}, {OPTION_QUIET}, {OPTION_JSON}, {OPTION_PROGRESS}, {0},
};

static const struct option_spec explain_options[] = {
	{OPT_RO, "ro", "PATH", "as with run"},
	{OPT_RW, "rw", "PATH", "as with run"},
	{OPT_HIDE, "hide", "PATH", "as with run"},
	{OPT_COW, "cow", "PATH", "as with run", "DIR"},
	{'C', NULL, "DIR", "as with run"},
	{OPT_AGENT, "agent", "NAME", "as with run", "none NAME"},
	{OPT_STRICT, "strict", NULL, "as with run"},
	{OPT_HIDDEN, "hidden", NULL,
	 "list all that a run does not see as it is"},
	{OPTION_JSON},
	{0},
};

static const struct option_spec agents_options[] = {
	{OPT_AGENT_UNDO, "undo", NULL,
	 "undo the last N runs that changed its home (1)"},
	{OPT_RESET, "reset", "NAME",
	 "move its home, with its login, to the trash"},
	{OPTION_YES},
	{OPTION_QUIET},
	{OPTION_JSON},
	{0},
};

static const struct option_spec shell_init_options[] = {
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
	"RUN is a run's name, its id or the beginning of its id; the "         \
	"default is\n"                                                         \
	"the newest pending run of this project. Arguments after -- are "      \
	"PATHS.\n"

const struct verb options_verbs[] = {
	{"run", NULL, "[--] CMD [ARGS...]", "run a command in a layer",
	 "Its changes do not reach the real files until they are applied. "
	 "Exits\n"
	 "with the command's status; 125: guard itself failed, 126: not\n"
	 "executable, 127: not found, 124: ended by guard.\n",
	 run_options, true},
	{"exec", NULL, "[RUN | --all [GLOB]] -- CMD [ARGS...]",
	 "run one more command in a run, live or ended",
	 "In a live run: with its processes, in the same sandbox, and no\n"
	 "longer than the run. In an ended run: in its layer, with its\n"
	 "options; the pending changes are computed again afterwards. Exit\n"
	 "status as for run. With --all, RUN is a glob of names: the runs\n"
	 "stay as they are, and a table shows how each command ended.\n",
	 exec_options, true},
	{"shell", NULL, "[RUN]", "open a shell in a run, live or ended",
	 "Like exec, with your own shell.\n", shell_options, false},
	{"stop", "kill", "[RUN]", "end a running run; its changes stay pending",
	 "Its command gets SIGTERM, and all its processes SIGKILL 10 s "
	 "later.\n",
	 stop_options, false},
	{"status", "list", "[DIR | RUN | GLOB]", "show the pending runs",
	 "DIR: those of the project around it; RUN or GLOB: those of such a "
	 "name.\n",
	 status_options, false, "DIR"},
	{"diff", NULL, "[RUN [RUN] | SNAP [SNAP]] [--] [PATHS...]",
	 "show a run's changes, or differences from a snapshot",
	 RUN_TEXT
	 "RUN RUN: compare their results, at the paths that one of them "
	 "changed.\n"
	 "SNAP SNAP: compare the first with the second; SNAP alone: compare\n"
	 "with the current files. SNAP is a number, latest~2, '2h ago',\n"
	 "yesterday, '2026-11-21 14:30'. Deletions come first and are never\n"
	 "cut off.\n",
	 diff_options, false},
	{"review", NULL, "[RUN] [--] [PATHS...]",
	 "decide on each change of a run and apply what you accept",
	 RUN_TEXT
	 "Deletions, and dangerous or later executed files, come first. On a\n"
	 "terminal a full screen shows list, texts and keys; with --plain\n"
	 "each change is asked about, with the keys of `git add -p`. No file\n"
	 "changes before you choose so at the end; q and Ctrl-C keep the\n"
	 "answers for the next review. Without a terminal the list is "
	 "printed.\n",
	 review_options, false},
	{"apply", "commit", "[RUN] [--] [PATHS...]",
	 "apply a run's changes to the real files",
	 RUN_TEXT
	 "All or nothing; `guard undo` reverts it. Texts changed on both\n"
	 "sides are merged when there is no conflict; else nothing is "
	 "applied.\n"
	 "A .git is skipped unless a path names it, and so are changes in "
	 "your\n"
	 "home directory: `guard apply ~/.config/app`.\n"
	 "FILE:10-20 applies the hunks that change these lines.\n",
	 apply_options, false},
	{"discard", NULL, "[RUN] [--] [PATHS...]", "discard a run's changes",
	 RUN_TEXT
	 "They go to guard's trash first; `guard undo` restores them.\n"
	 "A glob of names discards all these runs after one question.\n",
	 discard_options, false},
	{"import", NULL, "[RUN]", "import a run's commits into your repository",
	 "As objects and refs below refs/guard/RUN/: branches, tags, stash,\n"
	 "detached HEADs, and commits that only a reflog names. Your own\n"
	 "branches, HEAD, index, configuration and hooks are unchanged.\n",
	 import_options, false},
	{"patch", NULL, "[RUN] [--] [PATHS...]",
	 "print a run's changes as a patch for git",
	 RUN_TEXT "For `git apply`, also with its options for the index and "
		  "binary files.\n"
		  "Changes that a patch cannot hold are listed on stderr.\n",
	 patch_options, false},
	{"export", NULL, "--tar [RUN | SNAP] [--] [PATHS...]",
	 "write a run's changes, or a snapshot, as a tar archive",
	 RUN_TEXT
	 "SNAP is a number, latest~2, '2h ago', '2026-11-21 14:30'. Deleted\n"
	 "paths, and entries that a tar cannot hold, are listed on stderr. A\n"
	 ".git is skipped unless a path names it.\n",
	 export_options, false},
	{"undo", NULL, "[N | RUN]", "undo the last apply, restore or discard",
	 "Each further undo goes one step back. With N: the last N actions, "
	 "the\n"
	 "newest first; with RUN: those of that run. `guard log --actions` "
	 "lists\n"
	 "all. Refused commands changed nothing and do not count. Files that "
	 "have\n"
	 "changed since are conflicts.\n",
	 undo_options, false},
	{"redo", NULL, "[N]", "repeat the last undone action, or the last N",
	 "A new apply, restore or discard ends the list of undone actions.\n",
	 undo_options, false},
	{"snapshot", NULL, "[PATHS...]",
	 "store the project, or directories, as they are now",
	 "PATHS are directories: each gets its own snapshot, without the "
	 "project\n"
	 "around it. All entries are stored unless a GLOB excludes them: by "
	 "name\n"
	 "anywhere, or with a / by path in the directory. Excluded entries "
	 "are\n"
	 "never treated as deleted.\n",
	 snapshot_options, false, "DIR"},
	{"log", NULL, "[PATH]", "list snapshots, or the versions of a path", "",
	 log_options, false},
	{"find", NULL, "NAME|GLOB", "find a path in the snapshots",
	 "NAME is a complete name; a GLOB in quotes may have *, ? and [...]. "
	 "With\n"
	 "a / it is a path, and ** matches any directories. Each version is\n"
	 "listed once: the snapshots that have it, since when, until when.\n"
	 "Exits with 1 when there is none.\n",
	 find_options, false, "FILE"},
	{"grep", NULL, "RE [PATHS...]", "search the text of stored files",
	 "RE is an extended regular expression. Each text is searched once,\n"
	 "however many snapshots have it, and a line in several versions of\n"
	 "a file is printed once, with the newest of them: SNAP:PATH, as for\n"
	 "`guard show`. A .git is skipped unless a path names it. Exits with "
	 "1\n"
	 "when nothing matches.\n",
	 grep_options, false},
	{"ls", NULL, "SNAP [PATH]", "list a directory of a snapshot",
	 "With a run's id as SNAP: files that it left in its own /tmp and\n"
	 "/var/tmp; RUN:PATH is a directory there or in its project or home.\n",
	 ls_options, false},
	{"show", NULL, "SNAP[:PATH] | PATH", "print a file of a snapshot",
	 "PATH alone: of the latest snapshot; SNAP alone: its metadata.\n"
	 "RUN:PATH prints a file of a run: of its project or home, or of its "
	 "own /tmp or /var/tmp.\n",
	 show_options, false},
	{"restore", NULL, "PATHS...", "restore stored files",
	 "Deletes nothing without --exact; the current files are stored "
	 "first.\n"
	 "Without --at: from the newest snapshot that has the path. Wildcards\n"
	 "in quotes are matched against stored paths; ** matches any\n"
	 "directories.\n",
	 restore_options, false},
	{"verify", NULL, "", "check that the store is intact",
	 "Reads and never writes. Exits with 1 on damage: lists each damaged\n"
	 "pack, record and snapshot, and each affected path.\n",
	 verify_options, false},
	{"prune", NULL, "", "remove old snapshots",
	 "A snapshot stays when any rule keeps it. The default rules are "
	 "those\n"
	 "of the file config in guard's state, else all of 14 days, then 30\n"
	 "daily, 12 weekly and 24 monthly ones. The newest three of each\n"
	 "directory, all of the last 24 hours, pinned ones and those that "
	 "runs\n"
	 "and undo need always stay. `guard undelete` restores for 7 days.\n",
	 prune_options, false},
	{"purge", NULL, "[PATH]", "remove a leaked secret from the store",
	 "From every snapshot, every layer of a run and both trashes, which "
	 "are\n"
	 "emptied: this cannot be undone. The file itself is unchanged. Asks\n"
	 "for the word purge on a terminal; without one --confirm must name "
	 "the\n"
	 "path again. --everything removes all state instead: every version, "
	 "layer\n"
	 "and agent's home; --confirm names the directory of the state "
	 "then.\n",
	 purge_options, false},
	{"pin", NULL, "[SNAP...]", "protect a snapshot from prune",
	 "Without SNAP: lists the pinned snapshots.\n", pin_options, false},
	{"unpin", NULL, "SNAP...", "let prune remove a pinned snapshot again",
	 "", unpin_options, false},
	{"undelete", NULL, "[SNAP...]", "restore snapshots that prune removed",
	 "Without SNAP: lists the snapshots in the trash.\n", pin_options,
	 false, "TRASH"},
	{"du", NULL, "", "show guard's disk usage", "", du_options, false},
	{"repair", NULL, "", "repair a damaged store",
	 "Saves the intact objects of damaged packs, and stores directories "
	 "with\n"
	 "lost entries again: files that still have the same bytes are\n"
	 "recovered. Exits with 1 when bytes stay lost, and lists them.\n",
	 repair_options, false},
	{"agents", NULL, "[NAME [N]]",
	 "list the profiles of agents, or show one",
	 "A profile lists what runs of a program need; `guard run` uses the "
	 "one\n"
	 "with the command's name (or of the program that npx, uvx and the "
	 "like\n"
	 "start), or --agent NAME. Your own are in "
	 "~/.config/guard/agents/NAME\n"
	 "and are added to guard's. An agent's home is guard's own: log in "
	 "once\n"
	 "inside; your real one is unchanged. It is stored before and after\n"
	 "each run, without the login.\n",
	 agents_options, false},
	{"shell-init", NULL, "bash|zsh|fish",
	 "print shell functions that start agents in a run",
	 "For each profile whose program is in PATH: `claude` then means\n"
	 "`guard run -- claude`, and `command claude` bypasses it. In "
	 "~/.bashrc:\n"
	 "eval \"$(guard shell-init bash)\"; in ~/.config/fish/config.fish:\n"
	 "guard shell-init fish | source. Prints nothing inside a run.\n",
	 shell_init_options, false, "bash zsh fish"},
	{"doctor", NULL, "", "check which layers of protection work here",
	 "Each layer: ok, weaker (runs work with less protection) or missing\n"
	 "(no run starts), and the remedy. Exits with 1 when one is missing.\n",
	 doctor_options, false},
	{"explain", NULL, "PATHS...", "explain how a run would see a path",
	 "Prints the rule that decides: layer, read-only, private, masked or\n"
	 "exposed, with the options of the run. `guard run ... --why PATH` "
	 "does\n"
	 "the same.\n",
	 explain_options, false},
	{0},
};
