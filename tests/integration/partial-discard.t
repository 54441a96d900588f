#!/bin/sh
# undo brings back paths that were discarded out of a run, whatever the layer
# had at them: all of them or none, and never over later changes of the run.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

mkdir -p "$HOME/project" "$HOME/beside" "$HOME/.config" "$HOME/.local/share"
[ "$me" = root ] || mkdir -m 700 "$state"
cd "$HOME/project" || exit 99
mkdir -p kept gone/deep turned
for file in edited kept/edited gone/x gone/deep/y gone/deep/z turned/in \
	deleted; do
	echo old >$file
done
chmod 755 .
echo old | tee "$HOME/beside/edited" "$HOME/.config/gone" \
	>"$HOME/.config/edited"

# look FILE: writes down the changes of the run in all of its directories
look() {
	guard diff --name-status >"$1" 2>"$err" &&
		guard diff --color=never >"$T/text" 2>"$err" &&
		sed 1d "$T/text" >>"$1"
}
waiting() {
	look "$T/is" && same "$1" "$T/is"
}

# shellcheck disable=SC2016 # of the run
ok 'a run changes entries of every kind' \
	guard run -q --cow "$HOME/beside" -- sh -ec '
	echo new >edited; echo new >kept/edited; rm -r gone deleted
	rm -r turned; mkdir turned; echo new >turned/new; ln -s edited link
	mkdir -p made/below; echo new >made/below/file; chmod 555 made/below made
	chmod 700 .; echo new >"$HOME/beside/edited"
	echo new >"$HOME/beside/new"; echo new >"$HOME/.config/edited"
	rm "$HOME/.config/gone"'
settle
run=$(guard status -q)
look "$T/all"
# trip WHAT PATHS...: discards the paths and reverts that
trip() {
	name=$1
	shift
	gives 0 "discard accepts $name" guard discard -q -y -- "$@"
	no "the run no longer has $name" waiting "$T/all"
	gives 0 "undo accepts a discard of $name" guard undo -y
	says "$err" 'guard redo repeats it'
	ok "undo brings back $name" waiting "$T/all"
	is "$(ls "$state/trash")" '' "undo leaves no trash of $name"
}
left=$(stat -c %y "$state/runs/$run/upper/kept")
trip 'two edited files' edited kept/edited
is "$(stat -c %y "$state/runs/$run/upper/kept")" "$left" \
	'undo restores the mtime of the directory in the upper layer'
trip 'a new read-only directory and a symbolic link' made link
trip 'a deleted file' deleted
trip 'one file of a deleted directory' gone/deep/y
trip 'two files of a deleted directory' gone/x gone/deep/z
trip 'nested deleted paths' gone/deep/y gone gone/deep
trip 'a deletion in a recreated directory' turned/in
trip 'a new file in a recreated directory' turned/new
trip 'a recreated directory' turned
trip 'the same path twice and a path below it' made made made/below
trip 'paths of a --cow directory, the home and the project' "$HOME/beside/edited" \
	"$HOME/.config/gone" kept
trip 'a complete --cow directory' "$HOME/beside"
trip 'the complete project with its mode' .

# --- messages and lists ---
gives 0 'discard accepts two paths' guard discard -y edited gone/deep/y
says "$err" 'guard undo restores it'
look "$T/less"
gives 0 'undo -n accepts the discard' guard undo -n
says "$err" "the last action here was to discard 2 paths of run $run"
is "$(cat "$out")" '  edited
  gone/deep/y' 'undo -n names the two paths'
ok 'undo -n changes nothing' waiting "$T/less"
gives 1 'undo without a terminal and --yes is refused' guard undo
ok 'the refused undo changes nothing' waiting "$T/less"
gives 0 'discard accepts a path in the home' \
	guard discard -q -y "$HOME/.config/gone"
gives 0 'log --actions works after two discards' guard log --actions
is "$(grep -c 'undo 1  *discard .*path=~/.config/gone' "$out")" 1 \
	'log --actions lists the path in the home'
is "$(grep -c 'undo 2  *discard .*path=' "$out")" 2 \
	'log --actions lists the two paths before it'
no 'log --actions prints no name of the trash' grep -q 'kept=' "$out"
gives 0 'log --actions --json works after two discards' \
	guard log --actions --json
says "$out" '"path": "gone/deep/y"'
gives 0 'undo -n 2 accepts both discards' guard undo -n 2
is "$(cat "$out")" '  ~/.config/gone
  edited
  gone/deep/y' 'undo -n 2 names all three paths'
gives 0 'status works after discards' guard status
says "$out" 'in home'
gives 0 'apply accepts the rest of the run' guard apply -q -y
is "$(cat edited)" old 'apply leaves out a discarded edit'
ok 'apply leaves out a discarded deletion' test -f gone/deep/y
gives 0 'undo 3 reverts the apply and both discards' guard undo -q -y 3
ok 'after undo 3 all changes are pending again' waiting "$T/all"
is "$(cat kept/edited)" old 'undo 3 reverts the applied edit'
gives 0 'apply accepts paths that undo brought back' \
	guard apply -q -y . "$HOME/.config/gone"
is "$(cat edited)" new 'apply writes an edit that undo brought back'
no 'apply executes deletions that undo brought back' \
	test -e gone -o -e "$HOME/.config/gone"
gives 0 'undo reverts that apply' guard undo -q -y

# --- all paths of a run ---
gives 0 'discard accepts all paths of a run' \
	guard discard -q -y . "$HOME/beside" \
	"$HOME/.config"
is "$(guard status -q)" '' 'a run without paths is no longer pending'
gives 0 'undo brings back all paths' guard undo -q -y
ok 'the run is complete after undo' waiting "$T/all"

# --- later changes of the run at discarded paths ---
gives 0 'discard accepts an edit' guard discard -q -y edited
gives 0 'discard accepts a deletion' guard discard -q -y gone/deep/y
gives 0 'run --continue writes at the discarded deletion' \
	guard run -q --continue "$run" -- \
	sh -c 'echo newer >gone/deep/newer'
settle
look "$T/less"
gives 1 'undo -n is refused where the run has written since' guard undo -n
says "$err" "a different entry at 'gone/deep/newer' since then"
gives 1 'undo is refused where the run has written since' guard undo
ok 'the refused undo changes nothing' waiting "$T/less"
gives 1 'undo -y skips a discard that cannot be reverted' guard undo -y
says "$err" 'nothing restored; the next guard undo'
ok 'the skipped discard changes nothing' waiting "$T/less"
gives 0 'the next undo reverts the discard before it' guard undo -q -y
is "$(guard diff --name-only | grep -c -x edited)" 1 \
	'that undo brings back the edit'
gives 0 'discard accepts the edit again' guard discard -q -y edited
gives 0 'run --continue writes the file again' \
	guard run -q --continue "$run" -- \
	sh -c 'echo newer >edited'
settle
gives 1 'undo -y is refused where the run has written the file again' \
	guard undo -y
says "$err" "a different entry at 'edited' since then"

# --- a live run, and an emptied trash ---
gives 0 'discard accepts a new directory' guard discard -q -y made
look "$T/less"
mkfifo "$T/up" "$T/on"
guard run -q --rw "$T" --continue "$run" -- \
	sh -c "echo >'$T/up'; read -r _ <'$T/on'" &
runner=$!
read -r _ <"$T/up"
gives 1 'undo of a discard is refused while the run is live' guard undo -y
says "$err" 'is in use: wait for its end'
echo >"$T/on"
wait $runner
settle
gives 0 'undo is accepted after the end of the run' guard undo -q -y
is "$(guard diff --name-only | grep -c made)" 3 \
	'undo brings back the new directory'

# A directory in the trash is no run, even if it looks like one.
gives 0 'run --continue creates a directory that looks like a run' \
	guard run -q --continue "$run" -- \
	sh -c 'mkdir fake; echo nonsense >fake/base'
settle
gives 0 'discard accepts a directory that looks like a run' \
	guard discard -q -y fake
gives 0 'prune accepts that directory in the trash' guard prune -q -y
gives 0 'prune --trash empties the trash' guard prune -q -y --trash
gives 1 'undo -n is refused after the trash was emptied' guard undo -n
says "$err" 'no longer in'
gives 1 'undo is refused after the trash was emptied' guard undo -y
says "$err" 'cannot be undone'
gives 0 'apply accepts the rest of the run' guard apply -q -y
gives 0 'undo reverts the apply' guard undo -q -y
gives 0 'discard drops the run' guard discard -q -y

# --- guard is killed during discard and undo ---
ok 'a run deletes two directories and edits a file' \
	guard run -q -- sh -c 'rm -r gone kept; echo new >edited'
settle
look "$T/all"
# ends CALL COMMAND STATE: kills the command at each such call; the next command
# must find the run as before or as after. $half: the points where it does not.
ends() {
	at=1 half='' all=0 less=0
	# shellcheck disable=SC2086 # words
	while :; do
		"$stopat" --count "$T/count" --at $at --only "$1" -- guard $2 \
			>"$out" 2>"$err" </dev/null
		ended=$?
		[ $ended -eq 137 ] || break
		look "$T/is"
		if same "$T/all" "$T/is" >/dev/null; then
			all=$((all + 1))
			[ "$3" = all ] || guard discard -q -y $paths >/dev/null
		elif same "$T/less" "$T/is" >/dev/null; then
			less=$((less + 1))
			[ "$3" = less ] || guard undo -q -y
		else
			half="$half $at"
		fi
		at=$((at + 1))
	done
}
paths='gone/deep/y edited'
# shellcheck disable=SC2086 # words
gives 0 'discard accepts two paths of that run' guard discard -q -y $paths
look "$T/less"
gives 0 'undo brings both back' guard undo -q -y
for call in rename unlink; do
	ends $call "discard -q -y $paths" all
	is "$half" '' \
		"discard killed at each $call is complete or has changed nothing"
	ok 'both states occurred at the kill points' \
		test $all -gt 0 -a $at -gt 2
	is "$ended" 0 'the last discard without a kill ends with 0'
	ends $call 'undo -q -y' less
	is "$half" '' \
		"undo killed at each $call is complete or has changed nothing"
	is "$ended" 0 'the last undo without a kill ends with 0'
	ok 'after the last undo the run is complete' waiting "$T/all"
done
# A failing call is reported, and nothing changes.
at=1
until "$stopat" --count "$T/count" --at $at --only rename --below "$state" \
	--error EIO -- guard discard -q -y gone/deep/y edited \
	>"$out" 2>"$err" </dev/null; do
	waiting "$T/all" || flunk "discard with a failing rename changes nothing ($at)"
	at=$((at + 1))
done
ok 'several renames of discard failed' test $at -gt 3
ok 'discard without a failing rename is complete' waiting "$T/less"

# --- a half of a move ---
gives 0 'the run is discarded' guard discard -q -y
echo moved >old
gives 0 'a run moves a file' guard run -q -- mv old new
gives 0 'one half of the move is discarded' guard discard -q -y --only new
gives 0 'undo takes that back' guard undo -q -y
gives 0 'redo repeats it' guard redo -q -y
gives 0 'the run is pending after the redo' guard diff --name-status
is "$(cat "$out")" "$(printf 'D\told')" \
	'redo discards only the half that was discarded'
finish
