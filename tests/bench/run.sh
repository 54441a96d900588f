#!/bin/sh
# make bench: GUARD=build/guard tests/bench/run.sh; BENCH=quick for a minute's
# worth of it. Helper programs are tests/bench/*.c, one file each, libc only;
# run.sh compiles what is missing.
set -eu
echo "bench: not written yet" >&2
exit 1
