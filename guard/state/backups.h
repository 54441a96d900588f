/*
 * Destinations of backups that this machine knows: their keys, and the
 * newest backup there. A directory of the state for each, named by the
 * destination's id:
 *
 *	backups/<id>/key	the key of the destination, and the XXH3-64 of
 *				it; mode 0400
 *	backups/<id>/guard-copy	the content of guard-copy, which a backup
 *				writes again where it is missing or damaged
 *	backups/<id>/record	path=, number= and space= of the newest backup,
 *				or of the one that was recovered,
 *				failure= of the last try,
 *				sheet=untried until the user has typed its words
 *	backups/<id>/success	empty; its mtime is the time of the last success
 *	backups/<id>/taken	paths that backup-command has taken, a line
 *				each; missing after a backup without it
 *	backups/<id>/unsent	the other ones, while it runs and if it failed;
 *				its mtime is when the command began
 *
 * and the files of push_store(). Several destinations may have one path: disks
 * that are mounted there by turns.
 */
#ifndef GUARD_STATE_BACKUPS_H
#define GUARD_STATE_BACKUPS_H

#include "guard/state/state.h"
#include "snapshot/backup/keyfile.h"
#include "snapshot/backup/push.h"

struct backup {
	int dir; /* the directory in the state; -1: none */
	unsigned char id[KEYFILE_ID_LEN], key[SEAL_KEY_LEN];
	bool has_key; /* false: it is missing or damaged */
	char *path; /* absolute, without symbolic links */
	struct buf keyfile; /* the content of guard-copy; empty: not known */
	uint64_t number; /* of the newest backup, if time is 0 of the recovered
			    one; 0: none */
	unsigned char space[SEAL_SPACE_LEN]; /* when number is not 0 */
	int64_t time; /* of the last success, in seconds since 1970; 0: none */
	bool changed; /* the store has got or lost snapshots since */
	char *failure; /* text of the last try; NULL: it succeeded */
	bool untried; /* the user has not typed the words of its recovery sheet
			 yet */
	int64_t unsent; /* when backup-command began that has not taken all
			   files, in seconds since 1970; 0: it has */
};

struct backups {
	struct backup *items; /* by id */
	size_t count, capacity;
};

void backups_free(struct backups *b);
/* None is no error. Entries without a readable record are skipped. */
int backups_load(const struct state *state, struct backups *ret,
		 struct err *err);
/* The first destination of that path, and that of the id, with its key; or
 * NULL: a backup to it asks for the passphrase. */
struct backup *backups_find(const struct backups *b, const char *path);
struct backup *backups_find_id(const struct backups *b,
			       const unsigned char id[KEYFILE_ID_LEN]);

/* Reads guard-copy of a destination, into it. -ENOENT: it has none. */
int backups_read_keyfile(struct destination *d, struct err *err);
/* 0: guard-copy and its second copy are both intact. */
int backups_check_keyfiles(const struct destination *d, struct err *err);
/* Writes those of guard-copy and its second copy that are missing or
 * damaged. */
int backups_write_keyfile(struct destination *d, const struct buf *bytes,
			  struct err *err);
/* Remembers the destination, with the content of its guard-copy, at its path,
 * which replaces an earlier one, with its key. space and number: of the backup
 * that the store was recovered from; NULL: of none. */
int backups_remember(const struct state *state, const struct destination *d,
		     const unsigned char *space, uint64_t number,
		     struct err *err);
/* Records whether the words of its recovery sheet have to be tried yet. */
int backups_note_sheet(struct backup *b, bool untried, struct err *err);
/* Forgets those destinations that have the path, and their keys; nothing in
 * them changes. */
int backups_forget(const struct state *state, const struct backups *b,
		   const char *path, struct err *err);

/* Opens the destination of the path that is there now, with seal_init() done:
 * *ret is an item of b, whose key and id the destination gets; NULL: none of
 * these, with the content of its guard-copy, or none. A known one without a
 * readable guard-copy is found by its files, with the content of guard-copy
 * from the state. -ENODEV: the path is known, but none of its files is there: a
 * disk that is not mounted. */
int backups_open(const struct backups *b, const char *path,
		 struct destination *ret_destination, struct backup **ret,
		 struct err *err);
/*
 * Sends what the destination lacks, then runs `command` (NULL: none) by
 * /bin/sh, with the paths of new files on its stdin. Success is recorded, with
 * the destination's path of now; number and space of *b are those of the new
 * backup. 1: all is in the destination, but the command has not taken it; err
 * says why. -EBUSY: another backup there is running.
 */
int backups_send(const struct state *state, struct backup *b,
		 struct store *store, struct destination *d,
		 const char *command, const struct push_options *o,
		 struct push_result *ret, struct err *err);

/* Records why a backup failed, for status and doctor, until the next success.
 * Nothing is recorded while another backup there is running. */
void backups_note_failure(const struct backup *b, const struct err *why);

#endif
