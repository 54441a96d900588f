/* The user's own risk rules, ~/.config/guard/risk.rules (see risk.h). */
#ifndef GUARD_CHANGE_USER_RULES_H
#define GUARD_CHANGE_USER_RULES_H

#include "base/err.h"

/*
 * Reads the rules of the user's home directory, and of no other place: a
 * project and a run cannot change the risks that the user sees. Without the
 * file there are none. -EINVAL names the file and the line; -EPERM: the file
 * belongs to another user, who could switch rules off.
 */
int user_rules_load(struct err *err);

#endif
