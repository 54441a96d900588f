/*
 * Passphrases, and the words of a recovery sheet: typed on the terminal without
 * echo, or the first line of a file (--passphrase-file).
 */
#ifndef GUARD_CLI_PASSPHRASE_H
#define GUARD_CLI_PASSPHRASE_H

#include "base/err.h"

/*
 * Reads a secret, never empty, for passphrase_free(). file: NULL for the
 * terminal, where `question` is printed. A signal that ends or stops guard
 * finds the terminal as it was; after SIGCONT the question is repeated.
 * -ENOTTY: there is no terminal; the text names --passphrase-file. -ECANCELED:
 * nothing was typed.
 */
int passphrase_read(const char *file, const char *question, char **ret,
		    struct err *err);
/* The same for a new passphrase, which is typed twice. -EINVAL: the two
 * differ. */
int passphrase_choose(const char *file, const char *question, char **ret,
		      struct err *err);
/* Overwrites and frees it. */
void passphrase_free(char **secret);

#endif
