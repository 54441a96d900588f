#!/bin/sh
# What the user does while guard changes the project, or between its sudden end
# and its recovery, is none of guard's doing: undo leaves it alone.
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

# cut N: an apply that ends suddenly before its N-th rename.
cut() {
	guard run -q -- sh -c 'echo new >a; echo new >b; rm c
		mkdir made; echo new >made/file; echo new >n1' || exit 99
	settle
	"$stopat" --at "$1" --only rename --below "$HOME/project" -- \
		guard apply -q -y >/dev/null 2>&1
}

cut 3
ok 'an apply ends suddenly' test -e .guard-staging-*
echo user >mine
echo user >added
rm d/x
chmod 700 d
gives 0 'it is finished' guard apply --continue
is "$(cat a b n1 made/file; test -e c; echo $?)" 'new
new
new
new
1' 'all of it is there'
gives 0 'what undo would take back' guard undo -n
silent "$out" mine
silent "$out" added
silent "$out" d/x
gives 0 'it is taken back' guard undo -q -y
is "$(cat a b c)" 'old
old
old' 'as before'
no 'what it made is gone' test -e made
is "$(cat mine added) $(ls d) $(stat -c %a d)" 'user
user  700' "and all of the user's is as he left it"
gives 0 'and done again' guard undo -q -y
is "$(cat a mine added)" 'new
user
user' 'the same holds'
gives 0 'back' guard undo -q -y
gives 0 'the run is dropped' guard discard -q -y

cut 3
gives 0 'one more is finished' guard apply --continue
gives 0 'and taken back' guard undo -q -y
gives 0 'dropped' guard discard -q -y
cut 6
for name in a b made/file; do
	[ "$(cat $name)" = old ] || break
done
is "$(cat "$name")" new 'some of the next is in its place'
echo user >"$name"
gives 0 'that goes on with what it finds' guard apply --continue
gives 1 'what was written to since it was put is a conflict' guard undo -y
says "$err" "$name"
is "$(cat "$name")" user 'and stays'
echo new >"$name"
gives 0 'without it' guard undo -y
gives 0 'dropped' guard discard -q -y

# While it goes on: two names change places at one of its calls.
guard run -q -- sh -c 'echo new >a; echo new >b; mkdir made
	echo new >made/file' || exit 99
settle
echo swapped >"$HOME/aside/mine"
"$stopat" --count "$T/count" --at 3 --only rename --below "$HOME/project" \
	--swap "$HOME/project/mine" "$HOME/aside/mine" -- \
	guard apply -q -y >"$out" 2>"$err"
is $? 0 'an apply while somebody works'
is "$(cat mine a)" 'swapped
new' 'does its work'
gives 0 'is taken back' guard undo -q -y
is "$(cat mine a)" 'swapped
old' 'and nothing else is'
finish
