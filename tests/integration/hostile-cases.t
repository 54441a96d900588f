#!/bin/sh
# users: one
# Changes that act later, and a fifth of their twins; all of them, and the
# proof that they act without guard: make hostile.
exec "${0%/*}/../hostile/cases" --twins 5 \
	"${HOSTILE_SEED:-$(date +%N)}"
