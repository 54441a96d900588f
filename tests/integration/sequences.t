#!/bin/sh
# Random sequences of runs, applies, discards, undos and the like, compared with
# a model: tests/lib/sequence. SEQUENCE_SEED and SEQUENCE_COUNT play others.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# Most of the time is spent in waiting, so that some are played at once.
seed=${SEQUENCE_SEED:-1}
jobs=3
each=$((${SEQUENCE_COUNT:-60} / jobs))
i=0
while [ $i -lt $jobs ]; do
	mkdir "$HOME/sequence$i"
	perl "${0%/*}/../lib/sequence" --count $each \
		--seed $((seed + i * each)) "$HOME/sequence$i" \
		>"$T/said$i" 2>&1 &
	pids="${pids:-} $!"
	i=$((i + 1))
done
i=0
for pid in $pids; do
	gives 0 "$each sequences equal those of the model" wait "$pid"
	note "$(cat "$T/said$i")"
	chmod -R u+rwX "$HOME/sequence$i"
	i=$((i + 1))
done
finish
