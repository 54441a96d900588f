/*
 * The lines of one action in the log of actions and in next-action.
 */
#ifndef GUARD_CHANGE_ACTION_PRIVATE_H
#define GUARD_CHANGE_ACTION_PRIVATE_H

#include "base/record.h"
#include "guard/change/action.h"

/* Key of the first line: the action's number, and " undone". */
#define ACTION_KEY "action"

/* Sets what a line of the record says; false: the value is invalid. Lines with
 * another key are skipped. */
bool action_fields_parse(struct action *a, const char *key, const char *value);
/* Appends all lines of the action. */
void action_fields_add(struct record *r, const struct action *a);

#endif
