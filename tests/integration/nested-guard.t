#!/bin/sh
# guard inside of a run: refused in one line that says why and what to do.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# refused WHAT SCRIPT WANTED: inside of a plain run and of one with --nested
refused() {
	for how in -q '-q --nested'; do
		# shellcheck disable=SC2086 # options
		gives 125 "$1, $how" guard run $how -- sh -c "$2"
		is "$(grep -c "^guard: .*this is inside of run '.*$3" "$err")" 1 \
			'one line says what to do'
	done
}
refused 'a run in a run' 'guard run -- touch made' 'needs no guard'
refused 'guard exec there' 'guard exec -- true' 'needs no guard'
refused 'with a state of its own' 'export GUARD_HOME=/tmp/state
	guard run -q -- touch made' 'start the command as it is, or outside'
no 'nothing was run' test -e made
gives 0 'nothing waits' guard status -q
is "$(cat "$out")" '' 'of it'
gives 0 'doctor' guard run -q -- sh -c 'guard doctor; [ $? = 1 ]'
says "$out" 'this is inside of run'
finish
