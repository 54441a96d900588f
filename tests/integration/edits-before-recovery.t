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
# saved NAME TEXT: as editors do
saved() {
	echo "$2" >"$1.tmp~"
	mv "$1.tmp~" "$1"
}
# Each file is as before, the run waits, and nothing of guard's is left.
taken_back() {
	is "$(cat gone/file "$long" src/edited src/second z-last | uniq)" old \
		'all is as before'
	no 'nothing new is there' test -e made
	no 'nor a folder of guard' test -e ".guard-staging-$id"
	ok 'the run waits' test -n "$(guard status -q)"
}

# --- the folder of what was put is somewhere else, gone, or no folder ---
stops 5
mv src elsewhere
gives 0 'taken back, after a folder was renamed' guard apply --abort
says "$err" "'src' was gone: it is made again"
taken_back
is "$(cat elsewhere/edited elsewhere/second | uniq)" new \
	'the renamed one is left alone'
stops 4
rm -r src
gives 1 'to go on is to take back, after one was deleted' \
	guard apply --continue
says "$err" 'was taken back'
says "$err" "'src' was gone: it is made again"
taken_back
is "$(stat -c %a src)" 755 'the folder has the mode that it had'
for kind in file link; do
	stops 5
	rm -r src
	case $kind in
	file) echo mine >src ;;
	link) ln -s /tmp src ;;
	esac
	gives 0 "taken back, after one became a $kind" guard apply --abort
	says "$err" "'src' is no folder any more: what was in it is kept in 'src.guard-kept-$id'"
	case $kind in
	file) is "$(cat src)" mine 'that one stays' ;;
	link) is "$(readlink src)" /tmp 'that one stays' ;;
	esac
	is "$(cat "src.guard-kept-$id/edited" "src.guard-kept-$id/second" |
		uniq)" old 'and what was there before'
	is "$(cat gone/file "$long" z-last | uniq)" old 'the rest is back'
done
stops 8
rm -r src
gives 0 'when all was put, it goes on without the folder' guard apply --continue
no 'which is not made again' test -e src
is "$(cat "$long" z-last fresh made/file | uniq)" new 'the rest is there'
gives 1 'an undo stops at it' guard undo -y -q
says "$err" "'src/edited'"

# --- what was put was edited since ---
for edit in 'saved fresh mine' 'saved src/edited mine' 'saved made mine'; do
	at=1
	while :; do
		stops 8
		[ "$edit" != 'saved made mine' ] || rm -r made
		$edit
		"$stopat" --at $at --only renameat2 --below "$HOME/project" -- \
			guard apply --abort >"$out" 2>"$err" </dev/null
		[ $? -eq 137 ] || break
		guard apply --abort >"$out" 2>"$err" ||
			flunk "'$edit', ended at rename $at: the next command"
		[ "$(grep -rsh mine . | uniq)" = mine ] ||
			flunk "'$edit', ended at rename $at: it is lost"
		at=$((at + 1))
	done
	ok "'$edit' is there, wherever the way back was ended" test $at -gt 7
	ok 'and named' grep -q "was changed meanwhile: kept as" "$err"
done

stops 8
echo mine >"$long"
gives 0 'taken back, with an edit under a long name' guard apply --abort
taken_back
is "$(cat 0*.guard-kept-"$id")" mine 'it is kept'

stops 8
echo mine >fresh
echo other >"fresh.guard-kept-$id"
gives 0 'taken back, with a file where it would be kept' guard apply --abort
taken_back
is "$(cat "fresh.guard-kept-$id" "fresh.guard-kept-$id-2")" 'other
mine' 'both are there'

stops 8
chmod 600 fresh
gives 0 'taken back, with other rights on what is new' guard apply --abort
taken_back
is "$(stat -c %a "fresh.guard-kept-$id")" 600 'it is kept'
stops 8
chmod 600 src/edited
gives 0 'finished, with other rights on what was put' guard apply --continue
gives 1 'an undo stops at it' guard undo -y -q
says "$err" "'src/edited'"
is "$(stat -c %a src/edited)" 600 'they are still so'

# --- what is in the way of the way back, and edits before the second try ---
stops 8
echo mine >fresh
rm src/second
"$stopat" --at 1 --only syncfs --error EIO -- guard apply --abort \
	>"$out" 2>"$err" </dev/null
is $? 1 'a way back that fails at its end'
says "$err" "'fresh' was changed meanwhile: kept as 'fresh.guard-kept-$id'"
saved src/second mine
gives 0 'the next one' guard apply --abort
is "$(cat src/second "fresh.guard-kept-$id")" 'mine
mine' 'leaves alone what was made since'

stops 5
"$stopat" --at 1 --on --only renameat2 --error ENOENT -- guard undo -y -q \
	>"$out" 2>"$err" </dev/null
is $? 1 'an undo that cannot end what was interrupted'
says "$err" 'take back an interrupted apply'
silent "$err" 'has changed nothing'

# --- who has a file open ---
stops 5
exec 5>>z-last
gives 1 'to go on is to take back, while a file is open' guard apply --continue
says "$err" "'z-last': another program has it open for writing"
echo mine >&5
exec 5>&-
is "$(cat z-last)" 'old
mine' 'what is written then is there'
stops 8
exec 5>>fresh 6>>made/file
gives 0 'taken back, while what is new is open' guard apply --abort
echo mine >&5
echo mine >&6
exec 5>&- 6>&-
is "$(cat "fresh.guard-kept-$id" "made.guard-kept-$id/file")" 'new
mine
new
mine' 'what is written then is there'

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
