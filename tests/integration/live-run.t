#!/bin/sh
# A run that is still going: seen, and taken over from, by another guard.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/gate" dir
mkfifo "$HOME/gate/go" "$T/hold"
echo first >file
echo first >other
echo first >dir/below
echo first >"$HOME/.tool"

# A reader may open the gate before its last writer has left: then it reads
# nothing, and opens it again.
# begin COMMANDS: a run in the background that does them and then waits at the
# gate for more of them, until it is let out
begin() {
	: >"$T/live.err" # what the run before has said
	guard run --rw "$HOME/gate" -- sh -c "$1"'
		: >ready
		while :; do read -r line <~/gate/go && eval "$line"; done' \
		>"$T/live.out" 2>"$T/live.err" &
	guard=$!
	until run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' \
		"$T/live.err") && [ -n "$run" ] &&
		[ -e "$state/runs/$run/upper/ready" ]; do
		kill -0 "$guard" || break
	done
}
# more COMMAND: it has been done when this returns
steps=0
more() {
	steps=$((steps + 1))
	echo "$1; : >step$steps" >"$HOME/gate/go"
	until [ -e "$state/runs/$run/upper/step$steps" ]; do
		kill -0 "$guard" || break
	done
}
out() {
	echo 'exit 0' >"$HOME/gate/go"
	wait "$guard"
}

begin 'echo run >file; rm -r dir; echo new >new; echo run >~/.tool'
gives 0 'a diff while it goes on' guard diff --name-status "$run"
says "$out" 'file'
says "$out" 'new'
says "$out" 'dir/below'
silent "$err" 'cannot hold'
gives 0 'it goes on afterwards' guard status
says "$out" running
gives 0 'a part of it is applied' guard apply -y "$run" file dir "$HOME/.tool"
is "$(cat file)" run 'a file came'
no 'a folder went' test -e dir
is "$(cat "$HOME/.tool")" run 'one of the home came'
no 'the rest did not' test -e new
gives 0 'it is still going' guard status
says "$out" running
gives 0 'what was applied is no difference any more' \
	guard diff --name-only "$run"
silent "$out" 'file'
silent "$out" 'below'
silent "$out" '.tool'
says "$out" 'new'
more 'echo more >>file; echo more >>~/.tool'
gives 0 'what it did since then is' guard diff "$run"
says "$out" '+more'
gives 0 'and can be applied too' guard apply -y "$run" file "$HOME/.tool"
is "$(cat file) $(cat "$HOME/.tool")" 'run
more run
more' 'what was applied before is no edit of the user'
gives 0 'undo' guard undo -y
is "$(cat file)" run 'takes the last one back'
gives 0 'and again' guard undo -y

# --- the user edits meanwhile ---
echo user >other
more 'echo run >other'
gives 1 'an edit on both sides is a conflict' guard apply -y "$run" other
is "$(cat other)" user 'as ever'
gives 1 'a discard has to wait' guard discard -y "$run"
says "$err" 'still going'
out
gives 0 'it ends as ever' guard status
says "$out" ended
gives 0 'what is left is applied' guard apply -y "$run" new
is "$(cat new)" new 'whole'
gives 0 'the rest is dropped' guard discard -y "$run"

# --- all of it, and then it ends ---
echo first >file
begin 'echo all >file'
gives 0 'all of a live run' guard apply -y "$run"
is "$(cat file)" all 'is applied'
gives 0 'undo' guard undo -y
is "$(cat file)" first 'takes it back'
gives 0 'and does it again' guard undo -y
out
is "$(cat file)" all 'it ends'

# --- all of it, and it goes on ---
mkdir -p gone/below
echo a >gone/below/a
echo first >other
begin 'echo all >>other; rm -r gone; echo one >one'
gives 0 'all of a live run' guard apply -y "$run"
more 'echo later >later'
out
gives 0 'the versions' guard log
result=$(sed -n 's/^\([0-9]*\)  .* post-run .*/\1/p' "$out" | head -n 1)
is "$(guard show "$result:other")" 'first
all' 'what it left is stored with what was applied of it'
no 'of a folder too' guard show "$result:gone"
gives 0 'what it did later' guard apply -y "$run"
is "$(sed -n 's/^  [A-Z]  //p' "$out" | grep -v step)" 'later  6 B' \
	'is all that is left of it'
is "$(cat other)" 'first
all' 'nothing is taken back'
no 'nor does a folder come again' test -e gone
rm one later

# --- a part of it, edited by the user, while it goes on ---
listed() {
	guard diff --name-status "$run" | grep -v -e ready -e step |
		tr '\t\n' '  '
}
mkdir parts
for name in bytes gone rights rest opened; do seq 5 >parts/$name; done
begin 'cd parts; for f in bytes rest new; do echo run >>$f; done; rm gone
	chmod 700 rights; : >>opened; touch -d 2001-02-03 opened; cd ..'
is "$(listed)" "D parts/gone M parts/bytes M parts/rest P parts/rights \
A parts/new " 'what a run has done by now'
gives 0 'a part of it is applied' guard apply -y -q "$run" parts/bytes \
	parts/gone parts/rights parts/new
sed -i 1s/.*/mine/ parts/opened
sed -i 1s/.*/mine/ parts/bytes
echo mine >parts/gone
echo mine >>parts/new
chmod 750 parts/rights
is "$(listed)" 'M parts/rest ' 'what was edited since is no change of the run'
gives 0 'status counts none of it' guard status
says "$out" '  1 modified  '
gives 0 'an apply would not touch it' guard apply -n "$run" parts
is "$(cat "$out")" '  M  parts/rest  14 B' 'as it says'
more 'echo more >>parts/new; echo back >parts/gone; '"\
setfattr -n user.x -v y parts/bytes"
is "$(listed)" 'M parts/bytes M parts/gone M parts/new M parts/rest ' \
	'what the run goes on with is'
out
says "$T/live.err" "run $run: 4 modified"
silent "$T/live.err" 'other rights'

# --- two at once, each in a layer of its own ---
begin 'echo one >one'
one=$run
one_guard=$guard
gives 0 'a second run beside the first' guard run -- sh -c \
	'test ! -e one; echo two >two; mkdir many; cd many; seq 100 | xargs touch'
two=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
# As if the first one's snapshot took its time: it began without "two".
flock "$state/runs/$one/base.lock" sh -c 'echo held; read -r go' \
	<"$T/hold" >"$T/held" &
exec 4>"$T/hold"
until [ -s "$T/held" ]; do :; done
inode=$(stat -c %i "$state/runs/$one/base.lock")
# apply_waiting: $applying waits for that lock, or has ended
apply_waiting() {
	guard apply -y "$two" >"$out" 2>"$err" 4>&- &
	applying=$!
	until grep -q -- "-> FLOCK.* $applying .*:$inode " /proc/locks; do
		kill -0 $applying || break
	done
}
apply_waiting
kill $applying
wait $applying
gives 0 'who does not want to wait' guard status --porcelain
says "$out" "$(printf '%s\tended' "$two")"
apply_waiting
no 'an apply waits for what another run began with' test -e two
exec 4>&-
wait $applying
is $? 0 'is applied then'
gives 0 'and the first one too' guard apply -y "$one" one
is "$(cat one two)" 'one
two' 'both are there'
guard=$one_guard
out

# --- who froze it is killed ---
begin 'while :; do echo x; done >>busy &'
i=0
while [ $i -lt 5 ]; do
	guard diff "$run" >/dev/null 2>&1 &
	kill -9 $!
	i=$((i + 1))
done
more 'echo alive >alive'
ok 'a run goes on when the guard that held it is killed' \
	test -e "$state/runs/$run/upper/alive"
out

finish
