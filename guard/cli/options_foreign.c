#include "guard/cli/options_private.h"

#include <string.h>

#define TERMINAL "a run uses the terminal that it is started from"
#define MOUNT                                                                  \
	"use --ro PATH, --rw PATH or --cow PATH: a run sees your files at "    \
	"their own paths"
#define INDEX "a run has no index; `git diff` compares yours"

const struct foreign_option options_foreign[] = {
	{"run", 'e', NULL, true, .same = OPT_ENV},
	{"run", 0, "network", true, .same = OPT_NET},
	{"run", 'i', "interactive", .unused = TERMINAL},
	{"run", 't', "tty", .unused = TERMINAL},
	{"run", 0, "rm",
	 .unused = "a run is kept until it is applied or discarded"},
	{"run", 'v', "volume", true, .refused = MOUNT},
	{"run", 0, "mount", true, .refused = MOUNT},
	{"run", 'w', "workdir", true, .refused = "use -C DIR"},
	{"run", 'd', "detach",
	 .refused = "runs stay in the foreground: start it in tmux, or with & "
		    "behind it"},
	{"exec", 'e', NULL, true, .same = OPT_ENV},
	{"exec", 'i', "interactive", .unused = TERMINAL},
	{"exec", 't', "tty", .unused = TERMINAL},
	{"exec", 'w', "workdir", true, .same = 'C'},
	{"diff", 'p', "patch", .unused = "texts are printed in any case"},
	{"diff", 0, "color-words", .refused = "use --word-diff=color"},
	{"diff", 0, "ext-diff", .refused = "use --tool"},
	{"diff", 0, "cached", .refused = INDEX},
	{"diff", 0, "staged", .refused = INDEX},
	{"log", 0, "oneline", .unused = "each entry is one line"},
	{"log", 'p', "patch",
	 .refused = "`guard diff SNAP SNAP` compares two of the snapshots"},
	{"log", 0, "stat",
	 .refused = "`guard diff --stat SNAP SNAP` compares two of the "
		    "snapshots"},
	{"status", 's', "short", .same = OPT_PORCELAIN},
	{0},
};

const struct foreign_option *options_foreign_letter(const struct verb *verb,
						    int letter)
{
	const struct foreign_option *f;

	for (f = options_foreign; f->verb; f++)
		if (f->letter == letter && strcmp(f->verb, verb->name) == 0)
			return f;
	return NULL;
}
