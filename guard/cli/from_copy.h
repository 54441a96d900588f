/*
 * A backup that a verb reads:
 *
 *	from_copy_open()	the destination, its key and its machines
 *	from_copy_choose()	one machine's backup
 *	from_copy_view()	its store, without the bytes of files, and a
 *				context with it as the user's own
 *	from_copy_import()	an entry of it, for the user's own store
 *	from_copy_free()
 *
 * The store of the view is in the trash of guard's state until
 * from_copy_free(): if guard is killed, the trash removes it.
 */
#ifndef GUARD_CLI_FROM_COPY_H
#define GUARD_CLI_FROM_COPY_H

#include "guard/change/restore_paths.h"
#include "guard/cli/options.h"
#include "guard/state/backups.h"
#include "guard/state/context.h"
#include "snapshot/backup/copy.h"
#include "snapshot/tree/transfer.h"

struct from_copy {
	struct context *c; /* the user's; borrowed */
	struct backups known;
	struct backup *own; /* in known; NULL: another machine's destination */
	struct destination destination;
	struct copy_sources sources;
	struct manifest_name last; /* of this machine; number 0: unknown */
	const struct copy_source *source; /* the chosen one */
	uint64_t number; /* the chosen backup */
	struct copy_store copy;
	char *name; /* the view's directory in the trash, or NULL */
	struct context view;
};

#define FROM_COPY_NONE                                                         \
	{                                                                      \
		.destination = DESTINATION_NONE, .view = CONTEXT_NONE          \
	}

void from_copy_free(struct from_copy *f);

/* Opens the destination with the key that the state has, else with a passphrase
 * or the words of its recovery sheet, from a file or a question. */
int from_copy_open(struct from_copy *f, struct context *c, const char *dir,
		   const char *passphrase_file, struct err *err);
/* Whether this machine writes there now; of clones' chains in one directory the
 * one that ends with its last backup, all if this is unknown. */
bool from_copy_is_own(const struct from_copy *f, const struct copy_source *s);
/* Prints the machines as a table. */
void from_copy_list(const struct from_copy *f, FILE *to);
/* Opens the backup of that number, 0: the newest. machine: a host's name, or
 * the beginning of a name in the list; NULL: this machine if its backups are
 * there, else the only one; of several the user chooses on a terminal. */
int from_copy_choose(struct from_copy *f, const char *machine, uint64_t number,
		     struct err *err);
/* All of it for an option --from. run: RUN or RUN@WHEN; without --at also a
 * path, for all runs that have versions of it; NULL: no timeline can be read.
 */
int from_copy_view(struct from_copy *f, struct context *c,
		   const struct options *o, const char *run, struct err *err);
/* Changes an error of reading the view: names the backup, and its home
 * directory if it is another one, instead of remedies for the user's own store.
 * Returns -err->num. */
int from_copy_fail(const struct from_copy *f, struct err *err);
/* Stores what a restore of the target needs in a store, the user's own or the
 * view's, and makes the target's snapshot a partial one there; lost and arg as
 * in transfer_entry(). *ret: its entry there, to free. Not flushed. */
int from_copy_import(struct from_copy *f, struct restore_target *t,
		     struct store *to, transfer_lost *lost, void *arg,
		     struct entry *ret, struct err *err);
/* "plain", "append-only" or "locked", a colon, and the meaning of the word. */
const char *from_copy_promise_text(enum destination_promise promise);
/* Prints a damage: a copy_fault. */
void from_copy_fault(void *unused, const char *object, const char *what,
		     const char *why);

#endif
