#!/bin/sh
# Edits of the user while guard changes the project, or between a kill and the
# recovery, are not guard's: undo leaves them.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

stopat=/opt/guard/build/tests/lib/stopat
[ -x "$stopat" ] || stopat=$(dirname "$(command -v guard)")/tests/lib/stopat
[ -x "$stopat" ] || exit 99

mkdir -p "$HOME/project/d" "$HOME/aside"
cd "$HOME/project" || exit 99
for name in a b c mine d/x; do
	echo old >$name
done
chmod 755 d

# cut N: an apply that is killed before its N-th rename
cut() {
	guard run -q -- sh -c 'echo new >a; echo new >b; rm c
		mkdir made; echo new >made/file; echo new >n1' || exit 99
	settle
	"$stopat" --at "$1" --only rename --below "$HOME/project" -- \
		guard apply -q -y >/dev/null 2>&1
}

cut 3
ok 'an apply is killed in the middle' test -e .guard-staging-*
echo user >mine
echo user >added
rm d/x
chmod 700 d
gives 0 'apply --continue is accepted after edits' guard apply --continue
is "$(cat a b n1 made/file; test -e c; echo $?)" 'new
new
new
new
1' 'apply --continue applies all files'
gives 0 'undo -n is accepted' guard undo -n
silent "$out" mine
silent "$out" added
silent "$out" d/x
gives 0 'undo is accepted after edits' guard undo -q -y
is "$(cat a b c)" 'old
old
old' 'undo restores the files of the apply'
no 'undo deletes new files of the apply' test -e made
is "$(cat mine added) $(ls d) $(stat -c %a d)" 'user
user  700' 'undo keeps every edit of the user'
gives 0 'redo is accepted' guard redo -q -y
is "$(cat a mine added)" 'new
user
user' 'redo keeps every edit of the user'
gives 0 'a further undo is accepted' guard undo -q -y
gives 0 'discard drops the run' guard discard -q -y

cut 3
gives 0 'apply --continue is accepted in a second run' guard apply --continue
gives 0 'undo reverts the second run' guard undo -q -y
gives 0 'discard drops the second run' guard discard -q -y
cut 6
for name in a b made/file; do
	[ "$(cat $name)" = old ] || break
done
is "$(cat "$name")" new 'one file of the killed apply is in its place'
echo user >"$name"
gives 0 'apply --continue accepts that file' guard apply --continue
gives 1 'undo is refused when an applied file was edited' guard undo -y
says "$err" "$name"
is "$(cat "$name")" user 'the refused undo keeps the edit'
echo new >"$name"
gives 0 'undo is accepted without the edit' guard undo -y
gives 0 'discard drops the run' guard discard -q -y

# During the apply two names outside of it are exchanged at one of its calls.
guard run -q -- sh -c 'echo new >a; echo new >b; mkdir made
	echo new >made/file' || exit 99
settle
echo swapped >"$HOME/aside/mine"
"$stopat" --count "$T/count" --at 3 --only rename --below "$HOME/project" \
	--swap "$HOME/project/mine" "$HOME/aside/mine" -- \
	guard apply -q -y >"$out" 2>"$err"
is $? 0 'apply ends with 0 while the user works'
is "$(cat mine a)" 'swapped
new' "apply does not revert the user's exchange"
gives 0 'undo reverts that apply' guard undo -q -y
is "$(cat mine a)" 'swapped
old' "undo does not revert the user's exchange"
finish
