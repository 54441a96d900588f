#!/bin/sh
# Random sequences of runs, applies, discards, undos and the like, compared with
# a model: tests/lib/sequence. SEQUENCE_SEED and SEQUENCE_COUNT play others.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

seed=${SEQUENCE_SEED:-1}
count=${SEQUENCE_COUNT:-60}
# in memory, where it is faster
place=$HOME
holds_layers /small && place=/small
mkdir "$place/sequences"
gives 0 'the project and the changes of the runs equal those of the model' \
	perl "${0%/*}/../lib/sequence" --count "$count" --seed "$seed" \
	"$place/sequences"
note "$(cat "$out")"
mkdir "$place/sequences/home"
gives 0 'the home directory and the changes of it equal those of the model' \
	perl "${0%/*}/../lib/sequence" --home 1 --count $((count / 3)) \
	--seed "$seed" "$place/sequences/home"
note "$(cat "$out")"
settle
chmod -R u+rwX "$place/sequences"
finish
