/*
 * What is dangerous in a diff, or will be executed later: see risk.h.
 */
#ifndef GUARD_DIFFRISK_H
#define GUARD_DIFFRISK_H

#include <jansson.h>

#include "guard/difftext.h"

/* A section on stdout, nothing when there is none. home: names stand behind
 * "~/", and caches are left out. */
void diffrisk_print(const struct change_list *list,
		    const struct difftext_source *from, bool home);
/* [{"path", "level", "text"}] appended. */
void diffrisk_json(const struct change_list *list,
		   const struct difftext_source *from, bool home,
		   json_t *array);

#endif
