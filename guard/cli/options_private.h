/*
 * Options that users of git and docker type: another name of an option of
 * guard, one that has no effect here, or one that is refused with the right
 * option.
 */
#ifndef GUARD_CLI_OPTIONS_PRIVATE_H
#define GUARD_CLI_OPTIONS_PRIVATE_H

#include <stdbool.h>

#include "guard/cli/options.h"

struct foreign_option {
	const char *verb;
	char letter; /* 0: none */
	const char *name; /* NULL: none */
	bool value; /* it has a value */
	int same; /* id of the option of guard with this meaning, or 0 */
	const char *unused; /* why it has no effect, or NULL */
	const char *refused; /* what to type instead, or NULL */
};

/* Ends with an entry without a verb. An entry's index + FOREIGN_OPTION is its
 * id for getopt. */
extern const struct foreign_option options_foreign[];

#define FOREIGN_OPTION 0x10000

/* The entry of a letter of the verb, or NULL. */
const struct foreign_option *options_foreign_letter(const struct verb *verb,
						    int letter);

#endif
