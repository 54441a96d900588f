/*
 * The full screen of a review: buckets, list and text, single keys, a menu at
 * the end. Nothing is written to the project and nothing is deleted here: the
 * screen changes answers, and returns what the user chose to do with them.
 */
#ifndef GUARD_CLI_SCREEN_H
#define GUARD_CLI_SCREEN_H

#include "guard/cli/review_ui.h"

/* Whether stdin and stdout can have a full screen. Says why a terminal
 * cannot. */
bool screen_is_possible(void);
/* Until the user leaves. The answers are in the reviews. */
enum screen_choice screen_run(struct review_ui *u);
/* screen_conflict.c: shows conflicts with their three sides, and sets the
 * choices. false: the user goes back, or the terminal is gone. */
bool screen_conflict_run(struct review_ui *u, struct review_conflicts *list);

#endif
