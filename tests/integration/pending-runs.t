#!/bin/sh
# The other runs of a project: one line at the start of a run, and the state of
# the project by guard without a verb.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
tail='its changes are not in this one; guard run --continue'
tails='their changes are not in this one; guard run --continue RUN -- CMD'

# others TITLE WANTED COMMAND...: the lines about other runs
others_are() {
	title=$1 lines=$2
	shift 2
	gives 0 "$title: it works" "$@"
	is "$(grep -E '^guard: [0-9]+ runs? (is|are) ' "$err")" "$lines" \
		"$title"
}

rmdir "$state"
gives 2 'guard alone prints the help' guard
says "$err" 'guard [-C DIR] VERB'
no 'it creates no state' test -e "$state"
others_are 'the first run names none' '' guard run -q --name one -- touch a
others_are 'the second names it' \
	"guard: 1 run is pending here (one): $tail one -- CMD goes on in it" \
	guard run -- true
others_are 'so does a run from a directory below' \
	"guard: 1 run is pending here (one): $tail one -- CMD goes on in it" \
	guard run -C src --frozen -- true
gives 0 'the command that it names works' \
	guard run --continue one -- touch b
silent "$err" 'pending here'
others_are 'guard run -q names none' '' guard run -q -- true
others_are 'guard exec names none' '' guard exec one -- true
gives 0 'guard alone shows the state' guard
says "$out" one
is "$(cat "$out")" "$(guard status)" 'as status does'
gives 0 'with -C, too' guard -C src
says "$out" one
mkdir "$T/other"
cd "$T/other" || exit 99
gives 2 'guard alone elsewhere prints the help' guard
others_are 'a run elsewhere names none' '' guard run --name far -- touch a
cd "$HOME/project" || exit 99
others_are 'a run of the home names none of the project' '' \
	guard run --home --name home -- touch "$HOME/of-home"
others_are 'a project names none of the home' \
	"guard: 1 run is pending here (one): $tail one -- CMD goes on in it" \
	guard run --name two -- touch c
id=$(guard run -- touch d 2>&1 | sed -n 's/^guard: run \([^ ]*\) in .*/\1/p')
others_are 'a run without a name has its id' \
	"guard: 3 runs are pending here (one, two and $id): $tails goes on in one" \
	guard run --name four -- touch e
gives 0 'one more run works' guard run -q --name five -- touch f
others_are 'of five, two are counted' \
	"guard: 5 runs are pending here (one, two, $id and 2 more): $tails goes on in one" \
	guard run -- true
for run in two "$id" four five home; do
	guard discard -qy "$run"
done
mkfifo "$T/pipe"
guard run -q --name live --rw "$T" -- sh -c "echo >$T/up; read -r x <$T/pipe" &
until [ -e "$T/up" ]; do kill -0 $! || break; done
others_are 'one that goes on is told apart' \
	"guard: 1 run is pending here (one): $tail one -- CMD goes on in it
guard: 1 run is running here (live): its changes are not in this one; guard exec live -- CMD joins it" \
	guard run -- true
echo >"$T/pipe"
wait
gives 0 'the last one is applied' guard apply -y one
others_are 'an applied run is named no more' '' guard run -- true
gives 2 'guard alone prints the help again' guard
finish
