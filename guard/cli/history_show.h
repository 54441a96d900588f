/*
 * The rows of guard/history/history.h on stdout, the newest first, `count` at
 * most: as a table or as one object of JSON ("guard.log/1").
 */
#ifndef GUARD_CLI_HISTORY_SHOW_H
#define GUARD_CLI_HISTORY_SHOW_H

#include "guard/history/history.h"

void history_show_text(const struct history *h, size_t count);
void history_show_json(const struct history *h, size_t count);

#endif
