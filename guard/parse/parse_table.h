/* The operations of the parsing worker: one function each, which runs in the
 * worker and only there. */
#ifndef GUARD_PARSE_PARSE_TABLE_H
#define GUARD_PARSE_PARSE_TABLE_H

#include "restore/parse/parse.h"

extern const struct parse_row parse_table[PARSE_OPS];

#endif
