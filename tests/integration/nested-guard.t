#!/bin/sh
# guard inside of a run: refused with one line that says why and what to do.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# refused WHAT SCRIPT WANTED: in a plain run and in one with --nested
refused() {
	for how in -q '-q --nested'; do
		# shellcheck disable=SC2086 # options
		gives 125 "$1 is refused ($how)" guard run $how -- sh -c "$2"
		is "$(grep -c "^guard: .*this is inside run '.*$3" "$err")" 1 \
			'one line says what to do'
	done
}
refused 'guard run in a run' 'guard run -- touch made' 'need no guard'
refused 'guard exec in a run' 'guard exec -- true' 'need no guard'
refused 'with a state of its own' 'export GUARD_HOME=/tmp/state
	guard run -q -- touch made' 'start the command without guard, or outside'
no 'the refused commands executed nothing' test -e made
gives 0 'status works after them' guard status -q
is "$(cat "$out")" '' 'no run is pending after them'
gives 0 'doctor in a run ends with 1' \
	guard run -q -- sh -c 'guard doctor; [ $? = 1 ]'
says "$out" 'this is inside run'
finish
