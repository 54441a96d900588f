/*
 * --publish, as docker writes it:
 *
 *	[ADDRESS:][OUTSIDE:]INSIDE[/tcp|/udp]
 *
 * OUTSIDE and INSIDE are a port or as many ports, FIRST-LAST; without OUTSIDE
 * they are the same (docker would take any free one). ADDRESS is one of the
 * machine's, an IPv6 one in [ ]; 127.0.0.1 when it is left out: docker's
 * 0.0.0.0 would be open to the whole network.
 */
#ifndef GUARD_RUN_PUBLISH_H
#define GUARD_RUN_PUBLISH_H

#include "base/err.h"
#include "guard/sandbox/sandbox.h"

/* -EINVAL: err names the invalid part. */
int publish_parse(const char *text, struct sandbox_port *ret, struct err *err);

#endif
