#!/bin/sh
# The user edits the project after an apply was killed and before the next
# command: that command finishes, rolls back or names the obstacle.
# Every edit stays, in its place or beside it.
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
# The order of the renames: gone, the long name, src/edited, src/second, z-last,
# fresh, made.
ok 'a run changes, adds and deletes files' \
	guard run -q -- sh -ec 'rm -r gone; mkdir made
	for file in "$1" src/edited src/second z-last fresh made/file; do
		echo new >"$file"
	done' sh "$long"
settle
crash_put_aside pending

# stops N: an apply that is killed before its N-th rename; 8: before its record
# says that it is complete.
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
# saved NAME TEXT: saves the file by a rename, as editors do
saved() {
	echo "$2" >"$1.tmp~"
	mv "$1.tmp~" "$1"
}
# taken_back: the files are as before the apply, the run is pending, nothing of
# guard is left
taken_back() {
	is "$(cat gone/file "$long" src/edited src/second z-last | uniq)" old \
		'the files are as before the apply'
	no 'no new directory is left' test -e made
	no 'no staging directory is left' test -e ".guard-staging-$id"
	ok 'the run is pending' test -n "$(guard status -q)"
}

# --- the directory of applied files was moved, deleted or replaced ---
stops 4
mv src elsewhere
gives 0 'apply --abort is accepted when a directory was renamed' \
	guard apply --abort
says "$err" "'src' was missing: recreated"
taken_back
is "$(cat elsewhere/edited elsewhere/second | uniq)" new \
	'the renamed directory is unchanged'
stops 3
rm -r src
gives 1 'apply --continue rolls back when a directory was deleted' \
	guard apply --continue
says "$err" 'rolled back'
says "$err" "'src' was missing: recreated"
taken_back
is "$(stat -c %a src)" 755 'the recreated directory has its mode'
for kind in file link; do
	stops 5
	rm -r src
	case $kind in
	file) echo mine >src ;;
	link) ln -s /tmp src ;;
	esac
	gives 0 "apply --abort is accepted when a directory became a $kind" \
		guard apply --abort
	says "$err" "'src' is no longer a directory: its entries are kept in 'src.guard-kept-$id'"
	case $kind in
	file) is "$(cat src)" mine 'the new file stays' ;;
	link) is "$(readlink src)" /tmp 'the new link stays' ;;
	esac
	is "$(cat "src.guard-kept-$id/edited" "src.guard-kept-$id/second" |
		uniq)" old 'the files of the directory are kept beside it'
	is "$(cat gone/file "$long" z-last | uniq)" old \
		'the other files are as before the apply'
done
stops 8
rm -r src
gives 0 'apply --continue is accepted when a directory is gone after all renames' \
	guard apply --continue
no 'apply --continue does not recreate the directory' test -e src
is "$(cat "$long" z-last fresh made/file | uniq)" new \
	'the other files are applied'
gives 1 'undo is refused when the directory is gone' guard undo -y -q
says "$err" "'src/edited'"

# --- applied files were edited ---
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
			flunk "after '$edit' and a kill at rename $at apply --abort is accepted"
		[ "$(grep -rsh mine . | uniq)" = mine ] ||
			flunk "after '$edit' and a kill at rename $at the edit is kept"
		at=$((at + 1))
	done
	ok "apply --abort after '$edit' was killed at more than 6 renames" \
		test $at -gt 7
	ok "apply --abort names the kept file after '$edit'" \
		grep -q "was changed during the command: kept as" "$err"
done

stops 8
echo mine >"$long"
gives 0 'apply --abort accepts an edit of a file with a long name' \
	guard apply --abort
taken_back
is "$(cat 0*.guard-kept-"$id")" mine \
	'the edit of a file with a long name is kept'

stops 8
echo mine >fresh
echo other >"fresh.guard-kept-$id"
gives 0 'apply --abort accepts an existing file at the name of the kept one' \
	guard apply --abort
taken_back
is "$(cat "fresh.guard-kept-$id" "fresh.guard-kept-$id-2")" 'other
mine' 'the existing file and the edit are kept'

stops 8
chmod 600 fresh
gives 0 'apply --abort accepts a changed mode of a new file' guard apply --abort
taken_back
is "$(stat -c %a "fresh.guard-kept-$id")" 600 \
	'the new file with another mode is kept'
stops 8
chmod 600 src/edited
gives 0 'apply --continue accepts a changed mode of an applied file' \
	guard apply --continue
gives 1 'undo is refused when the mode was changed' guard undo -y -q
says "$err" "'src/edited'"
is "$(stat -c %a src/edited)" 600 'the refused undo keeps the mode'

# --- a rollback that fails, and edits before the next try ---
stops 8
echo mine >fresh
rm src/second
"$stopat" --at 1 --only syncfs --error EIO -- guard apply --abort \
	>"$out" 2>"$err" </dev/null
is $? 1 'apply --abort with a failing sync ends with 1'
says "$err" "'fresh' was changed during the command: kept as 'fresh.guard-kept-$id'"
saved src/second mine
gives 0 'the next apply --abort is accepted' guard apply --abort
is "$(cat src/second "fresh.guard-kept-$id")" 'mine
mine' 'the next apply --abort keeps files made since'

stops 4
"$stopat" --at 1 --on --only renameat2 --error ENOENT -- guard undo -y -q \
	>"$out" 2>"$err" </dev/null
is $? 1 'undo that cannot roll back an interrupted apply ends with 1'
says "$err" 'roll back an interrupted apply'
silent "$err" 'nothing to undo'

# --- open files ---
stops 4
exec 5>>z-last
gives 1 'apply --continue rolls back while a replaced file is open' \
	guard apply --continue
says "$err" "'z-last': another program has it open for writing"
echo mine >&5
exec 5>&-
is "$(cat z-last)" 'old
mine' 'text written to the open file is kept'
stops 8
exec 5>>fresh 6>>made/file
gives 0 'apply --abort is accepted while new files are open' guard apply --abort
echo mine >&5
echo mine >&6
exec 5>&- 6>&-
is "$(cat "fresh.guard-kept-$id" "made.guard-kept-$id/file")" 'new
mine
new
mine' 'text written to open new files is kept'

# --- an interrupted undo, and no other run ---
crash_put_back pending
guard apply -q -y
"$stopat" --at 2 --only renameat2 --below "$HOME/project" -- \
	guard undo -y -q >"$out" 2>"$err" </dev/null
gives 0 'diff finds the run that the undo makes pending' guard diff --stat
says "$err" 'an interrupted undo'
gives 0 'apply is accepted' guard apply -q -y

# --- a directory of the home, of which apply read only some paths ---
cd "$HOME/project" || exit 99
guard discard -y -q >"$out" 2>"$err" </dev/null
mkdir -p "$HOME/dir/deep"
for file in a b deep/c; do
	echo old >"$HOME/dir/$file"
done
ok 'a run changes files of the home' \
	guard run -q -- sh -c 'for f in a b deep/c; do echo new >~/dir/$f; done'
settle
cp -a "$HOME/dir" "$T/dir"
crash_put_aside home
for kind in nothing file link; do
	crash_put_back home
	rm -rf "$HOME/dir"
	cp -a "$T/dir" "$HOME/dir"
	"$stopat" --at 5 --only utimensat --below "$HOME" -- guard apply -y ~ \
		>"$out" 2>"$err" </dev/null
	rm -r "$HOME/dir"
	case $kind in
	file) echo mine >"$HOME/dir" ;;
	link) ln -s /tmp "$HOME/dir" ;;
	esac
	gives 0 "apply --continue is accepted with $kind in place of a directory" \
		guard apply --continue
	says "$err" 'was finished'
	gives 1 "undo is refused with $kind in place of a directory" \
		guard undo -y -q
	says "$err" "'~/dir"
	silent "$err" 'could not be read'
done

# --- the whole project was deleted ---
stops 4
cd "$HOME" || exit 99
rm -r project
gives 0 'restore is accepted for a deleted project with an interrupted apply' \
	guard restore -q -y --at 1 "$HOME/project"
cd project || exit 99
is "$(cat gone/file "$long" src/edited src/second z-last | uniq)" old \
	'restore brings back all files'
finish
