#!/bin/sh
# needs: network
# A sample of the attacks; all of them: make hostile.
exec "${0%/*}/../hostile/play" --sample 40 \
	--seed "${HOSTILE_SEED:-$(date +%N)}"
