#!/bin/sh
# Two pending runs of one project: status names what both changed, and after an
# apply of one the review of the other takes that into account.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 30 >both
ok 'the first run changes files' \
	guard run -q -- sh -c 'echo same >same; sed -i 3s/.*/one/ both
	echo one >clash; echo 1 >one; rm src/f4.c; rm -r docs
	git -c user.name=a -c user.email=a commit -q --allow-empty -m one'
first=$(guard status -q)
gives 0 'status accepts one pending run' guard status
silent "$err" 'both changed'
ok 'the second run changes files too' \
	guard run -q -- sh -c 'echo same >same; sed -i 27s/.*/two/ both
	echo two >clash; echo 2 >two; rm src/f4.c; echo late >docs/late
	git -c user.name=a -c user.email=a commit -q --allow-empty -m two'
second=$(guard status -q | grep -v "$first")
gives 0 'status names paths that both runs changed' guard status
says "$err" "$first and $second both changed 'both', 'clash', 'docs/late' and 1 more"
silent "$err" .git
gives 0 'status --json names paths that both runs changed' guard status --json
says "$out" '"count": 4'
says "$out" '"first": "both"'

gives 0 'apply accepts paths of the first run' \
	guard apply -y -q "$first" both clash same one src
gives 0 'review accepts the second run after that apply' guard review "$second"
no 'review does not list an equal file any more' \
	grep -q '^  [AMD]  \(same\|src/f4\)' "$out"
says "$out" 'both  +1 -1'
says "$out" '! changed here since the run started'
gives 0 "apply merges the second run's text" guard apply -y "$second" both two
is "$(sed -n '3p;27p' both | tr '\n' ' ')" 'one two ' \
	'the merged text has the lines of both runs'
gives 1 'apply refuses a conflict with the first run' \
	guard apply -y "$second" clash
says "$err" 'added on both sides'
is "$(cat clash)" one "the refused apply keeps the first run's text"
gives 0 'status works after both applies' guard status
says "$err" "both changed 'docs/late'"
silent "$err" "'both'"
ok 'discard drops the first run' guard discard -y -q "$first"
gives 0 'status works when no paths overlap' guard status
silent "$err" 'both changed'
finish
