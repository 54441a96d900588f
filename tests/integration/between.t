#!/bin/sh
# The user works on between the sudden end of an apply and the next command:
# that one goes on, takes back, or says what is in the way, and what he did is
# still there, in its place or beside it.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/crash/lib.sh
. "${0%/*}/../crash/lib.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

long=$(printf '%0240d' 0)
mkdir -p "$HOME/project/gone" "$HOME/project/src" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
for file in gone/file src/edited src/second z-last "$long"; do
	echo old >"$file"
done
# Its renames, in order: gone, the long name, src/edited, src/second, z-last,
# fresh, made.
ok 'a run' guard run -q -- sh -ec 'rm -r gone; mkdir made
	for file in "$1" src/edited src/second z-last fresh made/file; do
		echo new >"$file"
	done' sh "$long"
settle
crash_put_aside pending

# stops N: an apply of it that is ended before its N-th rename; 8: before it
# can be noted that all is done.
stops() {
	crash_put_back pending
	if [ "$1" -lt 8 ]; then
		set -- --at "$1" --only renameat2
	else
		set -- --at 1 --only utimensat --since renameat2
	fi
	"$stopat" "$@" --below "$HOME/project" -- guard apply -q -y \
		>"$out" 2>"$err" </dev/null
	# shellcheck disable=SC2012 # one name
	id=$(ls -d .guard-staging-* | cut -c 16-23)
}

# --- what is in the way is said ---
stops 5
"$stopat" --at 1 --on --only renameat2 --error ENOENT -- guard undo -y -q \
	>"$out" 2>"$err" </dev/null
is $? 1 'an undo that cannot end what was interrupted'
says "$err" 'take back an interrupted apply'
silent "$err" 'has changed nothing'

# --- all of the project is gone ---
stops 5
cd "$HOME" || exit 99
rm -r project
gives 0 'a restore of the folder, in which an apply was interrupted' \
	guard restore -q -y --at 1 "$HOME/project"
cd project || exit 99
is "$(cat gone/file "$long" src/edited src/second z-last | uniq)" old \
	'all is there again'
finish
