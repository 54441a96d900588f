#!/bin/sh
# Two runs on one project, both of which wait: what both changed is told, and
# when one is applied the review of the other goes on from there.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 30 >both
ok 'one run' guard run -q -- sh -c 'echo same >same; sed -i 3s/.*/one/ both
	echo one >clash; echo 1 >one; rm src/f4.c; rm -r docs
	git -c user.name=a -c user.email=a commit -q --allow-empty -m one'
first=$(guard status -q)
gives 0 'status of one run' guard status
silent "$err" 'both changed'
ok 'and another' guard run -q -- sh -c 'echo same >same; sed -i 27s/.*/two/ both
	echo two >clash; echo 2 >two; rm src/f4.c; echo late >docs/late
	git -c user.name=a -c user.email=a commit -q --allow-empty -m two'
second=$(guard status -q | grep -v "$first")
gives 0 'status of both' guard status
says "$err" "$first and $second both changed 'both', 'clash', 'docs/late' and 1 more"
silent "$err" .git
gives 0 'status --json' guard status --json
says "$out" '"count": 4'
says "$out" '"first": "both"'

gives 0 'one is applied' guard apply -y -q "$first" both clash same one src
gives 0 'the other is reviewed' guard review "$second"
no 'what is the same by now is gone from it' \
	grep -q '^  [AMD]  \(same\|src/f4\)' "$out"
says "$out" 'both  +1 -1'
says "$out" '! changed here since the run began'
gives 0 'what goes together is merged' guard apply -y "$second" both two
is "$(sed -n '3p;27p' both | tr '\n' ' ')" 'one two ' 'both lines are there'
gives 1 'what does not is a conflict' guard apply -y "$second" clash
says "$err" 'added on both sides'
is "$(cat clash)" one 'and nothing is done'
gives 0 'status afterwards' guard status
says "$err" "both changed 'docs/late'"
silent "$err" "'both'"
ok 'one is dropped' guard discard -y -q "$first"
gives 0 'then nothing overlaps' guard status
silent "$err" 'both changed'
finish
