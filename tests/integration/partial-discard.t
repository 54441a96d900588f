#!/bin/sh
# Paths that were discarded out of a run come back into it by undo, whatever
# the layer had at them: all of them or none, and never over what the run did
# there since.
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

# What the run did, in all of its folders.
look() {
	guard diff --name-status >"$1" 2>"$err" &&
		guard diff --color=never >"$T/text" 2>"$err" &&
		sed 1d "$T/text" >>"$1"
}
waiting() {
	look "$T/is" && same "$1" "$T/is"
}

# shellcheck disable=SC2016 # of the run
ok 'a run' guard run -q --cow "$HOME/beside" -- sh -ec '
	echo new >edited; echo new >kept/edited; rm -r gone deleted
	rm -r turned; mkdir turned; echo new >turned/new; ln -s edited link
	mkdir -p made/below; echo new >made/below/file; chmod 555 made/below made
	chmod 700 .; echo new >"$HOME/beside/edited"
	echo new >"$HOME/beside/new"; echo new >"$HOME/.config/edited"
	rm "$HOME/.config/gone"'
settle
run=$(guard status -q)
look "$T/all"
# trip NAME PATHS...: they go, and come back.
trip() {
	name=$1
	shift
	gives 0 "$name" guard discard -q -y -- "$@"
	no 'is not in the run any more' waiting "$T/all"
	gives 0 'undo' guard undo -y
	says "$err" "guard discard $run PATHS    does it again;"
	ok 'brings it back' waiting "$T/all"
	is "$(ls "$state/trash")" '' 'and leaves nothing in the trash'
}
left=$(stat -c %y "$state/runs/$run/upper/kept")
trip 'an edit' edited kept/edited
is "$(stat -c %y "$state/runs/$run/upper/kept")" "$left" \
	'and its folder has the time that the run left'
trip 'a new folder that is read-only, and a link' made link
trip 'a deletion' deleted
trip 'one file of a folder that was deleted as a whole' gone/deep/y
trip 'two' gone/x gone/deep/z
trip 'one inside of the other' gone/deep/y gone gone/deep
trip 'a deletion in a folder that was made anew' turned/in
trip 'what was made in it' turned/new
trip 'all of that' turned
trip 'the same twice, and what is in it' made made made/below
trip 'what lies in a folder beside, and in the home' "$HOME/beside/edited" \
	"$HOME/.config/gone" kept
trip 'a folder beside as a whole' "$HOME/beside"
trip 'the project, with the mode of its folder' .

# --- what is said of it ---
gives 0 'two paths are dropped' guard discard -y edited gone/deep/y
says "$err" 'guard undo brings it back'
look "$T/less"
gives 0 'undo -n' guard undo -n
says "$err" "the last thing done here was to discard 2 paths of run $run"
is "$(cat "$out")" '  edited
  gone/deep/y' 'names them'
ok 'and does nothing' waiting "$T/less"
gives 1 'without a yes' guard undo
ok 'nothing happens' waiting "$T/less"
gives 0 'a third one is dropped' guard discard -q -y "$HOME/.config/gone"
gives 0 'the list of what was done' guard log --actions
is "$(grep -c 'undo 1  *discard .*path=~/.config/gone' "$out")" 1 'has it'
is "$(grep -c 'undo 2  *discard .*path=' "$out")" 2 'and the two before it'
no 'names in the trash are not for people' grep -q 'kept=' "$out"
gives 0 'as JSON' guard log --actions --json
says "$out" '"path": "gone/deep/y"'
gives 0 'undo -n of two' guard undo -n 2
is "$(cat "$out")" '  ~/.config/gone
  edited
  gone/deep/y' 'names all three'
gives 0 'status' guard status
says "$out" 'in home'
gives 0 'an apply of the rest' guard apply -q -y
is "$(cat edited)" old 'leaves out what was dropped'
ok 'which is there' test -f gone/deep/y
gives 0 'three are taken back' guard undo -q -y 3
ok 'and all waits again' waiting "$T/all"
is "$(cat kept/edited)" old 'nothing of it is applied'
gives 0 'an apply' guard apply -q -y . "$HOME/.config/gone"
is "$(cat edited)" new 'is of what came back, too'
no 'the deletions' test -e gone -o -e "$HOME/.config/gone"
gives 0 'taken back' guard undo -q -y

# --- all of a run ---
gives 0 'all paths of it' guard discard -q -y . "$HOME/beside" \
	"$HOME/.config"
is "$(guard status -q)" '' 'are the run'
gives 0 'which undo brings back' guard undo -q -y
ok 'as a whole' waiting "$T/all"

# --- what the run did since ---
gives 0 'a path is dropped' guard discard -q -y edited
gives 0 'and another one' guard discard -q -y gone/deep/y
gives 0 'the run goes on' guard run -q --continue "$run" -- \
	sh -c 'echo newer >gone/deep/newer'
settle
look "$T/less"
gives 1 'what it put there would be lost: undo -n' guard undo -n
says "$err" "something else at 'gone/deep/newer' since"
gives 1 'undo' guard undo
ok 'nothing is done' waiting "$T/less"
gives 1 'it can be passed over' guard undo -y
says "$err" 'it stays discarded'
ok 'then nothing is done, too' waiting "$T/less"
gives 0 'and what was before it' guard undo -q -y
is "$(guard diff --name-only | grep -c -x edited)" 1 'is back'
gives 0 'once more' guard discard -q -y edited
gives 0 'the run writes it again' guard run -q --continue "$run" -- \
	sh -c 'echo newer >edited'
settle
gives 1 'which is in the way' guard undo -y
says "$err" "something else at 'edited' since"

# --- a run that goes on, or is gone ---
gives 0 'a path is dropped' guard discard -q -y made
look "$T/less"
mkfifo "$T/up" "$T/on"
guard run -q --rw "$T" --continue "$run" -- \
	sh -c "echo >'$T/up'; read -r _ <'$T/on'" &
runner=$!
read -r _ <"$T/up"
gives 1 'not while the run goes on' guard undo -y
says "$err" 'comes back when that has ended'
echo >"$T/on"
wait $runner
settle
gives 0 'but then' guard undo -q -y
is "$(guard diff --name-only | grep -c made)" 3 'it is there'

# What lies in the trash is no run, whatever it looks like.
gives 0 'the run goes on' guard run -q --continue "$run" -- \
	sh -c 'mkdir fake; echo nonsense >fake/base'
settle
gives 0 'a folder is dropped that looks like a run' guard discard -q -y fake
gives 0 'prune does not mind it' guard prune -q -y
gives 0 'the trash is emptied' guard prune -q -y --trash
gives 1 'undo -n' guard undo -n
says "$err" 'no longer in'
gives 1 'undo' guard undo -y
says "$err" 'cannot be taken back'
gives 0 'the run is applied' guard apply -q -y
gives 0 'taken back' guard undo -q -y
gives 0 'dropped' guard discard -q -y

# --- ended in the middle ---
ok 'one more run' guard run -q -- sh -c 'rm -r gone kept; echo new >edited'
settle
look "$T/all"
# ends VERB COMMAND...: at each of its renames and at what removes a name; the
# next command finds all of it or nothing. $half: where it does not.
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
gives 0 'what is dropped' guard discard -q -y $paths
look "$T/less"
gives 0 'comes back' guard undo -q -y
for call in rename unlink; do
	ends $call "discard -q -y $paths" all
	is "$half" '' "killed at each $call of a discard: all of it or nothing"
	ok 'both were seen' test $all -gt 0 -a $at -gt 2
	is "$ended" 0 'then it is done'
	ends $call 'undo -q -y' less
	is "$half" '' "killed at each $call of its undo: all of it or nothing"
	is "$ended" 0 'then it is done'
	ok 'and all is as it was' waiting "$T/all"
done
# A failure is told, and nothing is done.
at=1
until "$stopat" --count "$T/count" --at $at --only rename --below "$state" \
	--error EIO -- guard discard -q -y gone/deep/y edited \
	>"$out" 2>"$err" </dev/null; do
	waiting "$T/all" || flunk "a rename fails ($at)"
	at=$((at + 1))
done
ok 'some of the renames failed' test $at -gt 3
ok 'until none does' waiting "$T/less"
finish
