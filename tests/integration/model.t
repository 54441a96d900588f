#!/bin/sh
# Random changes of a run and of the user are applied, merged, selected and
# reverted, and compared with a model: tests/lib/model. MODEL_SEED and
# MODEL_SECONDS play more.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

seed=${MODEL_SEED:-$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')}
note "seed $seed: MODEL_SEED=$seed"
for way in '' --git; do
	mkdir "$HOME/model$way"
	# shellcheck disable=SC2086 # a word, or none
	gives 0 "the results equal those of the model $way" perl \
		"${0%/*}/../lib/model" --seconds "${MODEL_SECONDS:-5}" \
		--seed "$seed" $way "$HOME/model$way"
	note "$(cat "$out")"
	chmod -R u+rwX "$HOME/model$way"
done
finish
