/*
 * Passphrases, and the words of a recovery sheet: typed on the terminal without
 * echo, or the first line of a file (--passphrase-file).
 */
#ifndef GUARD_CLI_PASSPHRASE_H
#define GUARD_CLI_PASSPHRASE_H

#include "base/err.h"
#include "snapshot/backup/destination.h"

/*
 * A new passphrase, never empty, for passphrase_free(), which is typed twice.
 * file: NULL for the terminal, where `question` is printed. A signal that ends
 * or stops guard finds the terminal as it was; after SIGCONT the question is
 * repeated. -ENOTTY: there is no terminal; the text names --passphrase-file.
 * -ECANCELED: nothing was typed, or control characters. -EINVAL: the two
 * differ, or it is too short.
 */
int passphrase_choose(const char *file, const char *question, char **ret,
		      struct err *err);
/* Sets the key of a destination, by the passphrase or the words of its recovery
 * sheet, which its guard-copy has. On a terminal three tries. Errors
 * as above and of keyfile_open(); -ENOENT: the content is empty. */
int passphrase_open_key(const char *file, struct destination *d,
			struct err *err);
/* Overwrites and frees it. */
void passphrase_free(char **secret);

#endif
