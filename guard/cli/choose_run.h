/*
 * The run of a verb that changes or exports: without RUN, a verb that does not
 * ask must not choose between several pending runs.
 */
#ifndef GUARD_CLI_CHOOSE_RUN_H
#define GUARD_CLI_CHOOSE_RUN_H

#include <stdbool.h>

#include "guard/change/changes.h"
#include "guard/change/resolve_run.h"

struct options;

/* As resolve_run_open(), with the operands of the verb, and without its lock.
 * Where no run is pending, an interrupted undo is finished first, which makes
 * one pending. */
int choose_run_open(struct context *c, const struct options *o,
		    struct resolved_run *ret, struct err *err);
/* "run fix-login (make test)", for a question; to free. */
char *choose_run_text(const struct session *s);
/* The changes of a pending run as a table shows them: "2 modified, 1 in home",
 * "" for a closed run; to free. Unreadable layers are reported on stderr. */
char *choose_run_changes(struct context *c, const struct session *s);
/* The same, and the numbers of choose_run_count(), zeros on an error. */
char *choose_run_counted_changes(struct context *c, const struct session *s,
				 struct change_counts *ret_counts,
				 size_t *ret_home);
/* Counts the changes of the project and the additional roots, and those in the
 * home directory; zeros for a closed run. */
int choose_run_count(struct context *c, const struct session *s,
		     struct change_counts *ret, size_t *ret_home,
		     struct err *err);
/*
 * Whether the verb may use the run that was opened: it was named, it is the
 * only pending one, or the verb will ask (yes is false and there is a
 * terminal). Otherwise the pending runs are listed on stderr, each with the
 * command that names it (with -y, without which it would ask), and
 * STATUS_AMBIGUOUS is returned. operands is the
 * verb's argv + optind. 0: use it.
 */
int choose_run_check(struct context *c, const struct resolved_run *p, bool yes,
		     char *const *operands, struct err *err);

/*
 * Opens the run of this name, without its lock; NULL: the only running one of
 * the project. Several: they are listed, as above.
 * Returns 0, STATUS_AMBIGUOUS or a negative errno; -ENOENT: none is running.
 */
int choose_run_live(struct context *c, const char *name, char *const *operands,
		    struct session *ret, struct err *err);

#endif
