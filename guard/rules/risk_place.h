/* The places of lines and values in a file of settings: "jobs.test.steps.run".
 */
#ifndef GUARD_RULES_RISK_PLACE_H
#define GUARD_RULES_RISK_PLACE_H

#include <stddef.h>

/* The place of a key below another place, to free. At most 400 bytes: of a
 * longer one the middle goes. */
char *risk_place_join(const char *path, const char *key, size_t key_len);

#endif
