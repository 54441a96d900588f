/*
 * Whether anybody has been at a layer since its run ended. A time of change
 * cannot be set back, so that what is older than the end is as the run left it
 * and needs not be read again.
 */
#ifndef GUARD_OVERLAY_UNTOUCHED_H
#define GUARD_OVERLAY_UNTOUCHED_H

#include "base/meta.h"

/* 1: every entry of the layer was changed last before that time; 0: one was
 * not, or it cannot be told. */
int untouched_since(int upper_fd, struct moment since);

#endif
