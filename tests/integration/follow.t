#!/bin/sh
# Work beside a live run: `guard apply --follow`, and the user's own edits, which
# the run sees.
# shellcheck disable=SC2317 # functions that until_true calls
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/gate"
mkfifo "$HOME/gate/go"
printf '1\n2\n3\n4\n5\n6\n7\n' >both
echo first >seen
echo first >clash
guard snapshot -q

# begin NAME: a run that executes the lines from the gate
begin() {
	: >"$T/err" # what the follower before has said
	guard run --name "$1" --rw "$HOME/gate" -- sh -c '
		cat seen missing 2>/dev/null; : >ready
		while :; do read -r line <~/gate/go && eval "$line"; done' \
		>"$T/$1.out" 2>"$T/$1.err" &
	guard=$!
	until_true run_has ready
}
run_has() {
	run=$(guard status --porcelain | sed -n '1s/	.*//p')
	[ -n "$run" ] && [ -e "$state/runs/$run/upper/$1" ]
}
# until_true COMMAND: at most 20 s
until_true() {
	tries=0
	until "$@"; do
		tries=$((tries + 1))
		[ "$tries" -lt 1000 ] || return 1
		sleep 0.02
	done
}
tell() {
	echo "$1" >"$HOME/gate/go"
}
holds() {
	[ -e "$1" ] && [ "$(cat "$1")" = "$2" ]
}
said() {
	grep -qF "$2" "$1"
}

nothing_pending() {
	[ -z "$(guard diff --name-only "$1")" ]
}

begin one
gives 1 '--follow without a terminal needs -y' guard apply --follow one
says "$err" '--follow asks on a terminal; use -y'
guard apply --follow -y --rest 0.1s one >"$T/out" 2>"$T/err" &
follower=$!
ok 'the follower says what it does' until_true said "$T/err" \
	'following run one: its changes are applied at each pause of 0.1 s'
tell 'echo run >made; sed -i s/2/run/ both'
ok 'a new file is applied at the pause' until_true holds made run
ok 'a changed file is applied, too' until_true said both run
tell 'echo more >>made'
ok 'so is the next change of the same file' until_true holds made 'run
more'

# --- the user's own edits ---
echo user >seen.new
mv seen.new seen
echo user >missing
tell 'until grep -q user seen && [ -e missing ]; do sleep 0.05; done; cat seen missing; echo yes >saw'
ok 'the run sees a file that was replaced, and a new one' \
	until_true holds saw yes
is "$(tail -n 2 "$T/one.out")" 'user
user' 'with its content'
echo user >clash
tell 'echo run >clash; echo evil >.envrc; echo run >other'
ok 'a file without a conflict is applied' until_true holds other run
is "$(cat clash)" user "a file that both changed keeps the user's version"
ok 'the conflict is listed' until_true said "$T/err" "'clash'"
ok 'with the way out' said "$T/err" 'they stay pending: guard apply one PATH'
ok 'so is a change that needs a consent' said "$T/err" "'.envrc' runs when"
is "$(sed -n "/'clash'/,/applied to/{p;/applied to/q}" "$T/err" |
	grep -c 'they stay pending')" 1 'one line has the way out of both'
gives 0 'status names the edit that the run does not see' guard status
says "$err" "it does not see your edits of 'clash'"
silent "$err" "'made'"
silent "$err" "'seen'"
tell 'echo last >last; exit 0'
wait "$guard"
wait "$follower"
is $? 0 'the follower ends with the run'
is "$(cat last)" last 'and has applied its last change'
gives 0 'the conflict is still pending' guard diff --name-only one
says "$out" 'clash'
silent "$out" 'made'
gives 0 'its decision is the last of the run' \
	guard apply --yes-to all -y --theirs one
is "$(cat clash)" run 'the chosen version is in the project'
rm .envrc

# --- an applied change is no edit of the user ---
begin two
tell 'echo two >made; : >done1'
until_true run_has done1
gives 0 'a live run is applied' guard apply -y --yes-to all two
tell 'echo end >>made; exit 0'
wait "$guard"
gives 0 'the next change of the file' guard diff two
says "$out" 'made'
silent "$out" 'CHANGED HERE'
echo mine >>made
gives 0 'after an edit of the user' guard diff two
says "$out" 'CHANGED HERE'
guard discard -y -q two

# --- a merged file is no change of the run any more ---
seq 20 >edited
begin merged
guard apply --follow -y --rest 0.1s merged >"$T/out" 2>"$T/err" &
follower=$!
tell 'sed -i "2s/.*/two/" edited'
ok 'a file is applied' until_true said edited two
sed -i '19s/.*/mine/' edited
tell 'sed -i "8s/.*/eight/" edited'
ok 'the next change is merged with an edit of the user' \
	until_true said edited eight
is "$(sed -n 19p edited)" mine 'which stays'
ok 'the merge is done' until_true nothing_pending merged
tell 'sed -i "14s/.*/fourteen/" edited; exit 0'
wait "$guard"
wait "$follower"
is "$(sed -n '2p;8p;14p;19p' edited)" 'two
eight
fourteen
mine' 'so is the last one'
gives 0 'the run is applied' guard status
silent "$out" merged

# --- a move to the home, which no path names ---
seq 60 99 >leaves
begin away
guard apply --follow -y --rest 0.1s away >"$T/out" 2>"$T/err" &
follower=$!
tell 'mv leaves ~/leaves; echo with >along'
ok 'other changes are applied' until_true holds along with
ok 'half of a move is not applied' test -e leaves
ok 'the refusal names the command for both names' said "$T/err" \
	"guard apply away '$HOME/project/leaves' takes both"
tell 'exit 0'
wait "$guard"
wait "$follower"
guard discard -y -q away

# --- lines of a file ---
seq 7 >both
begin lines
guard apply --follow -y --rest 0.1s lines both:2 >"$T/out" 2>"$T/err" &
follower=$!
ok 'a follower of lines begins' until_true said "$T/err" 'following run lines'
tell 'echo elsewhere >elsewhere'
ok 'a pause without a change of them is named' \
	until_true said "$T/err" "'both:2'"
tell 'sed -i "2s/.*/two/;6s/.*/six/" both'
ok 'the lines are applied at the next one' until_true said both two
is "$(sed -n 6p both)" 6 'the rest of the file is not'
tell 'exit 0'
wait "$guard"
wait "$follower"
guard discard -y -q lines

# --- critical changes ---
begin critical
guard apply --follow -y --rest 0.1s critical -- .envrc beside \
	>"$T/out" 2>"$T/err" &
follower=$!
until_true said "$T/err" 'following'
tell 'echo evil >.envrc; echo b >beside; : >done3'
ok 'a change beside a critical one is applied' until_true holds beside b
no 'a critical one is not, though a path named it in advance' test -e .envrc
ok 'it is listed' until_true said "$T/err" "'.envrc' runs when"
kill "$follower"
wait "$follower"
printf 'n\ny\n' | TERM=dumb timeout 60 script -q -e -c \
	'guard apply --follow --rest 0.1s critical' /dev/null >"$T/raw" 2>&1 &
follower=$!
ok 'on a terminal --follow asks about it' \
	until_true said "$T/raw" 'apply it anyway?'
tell 'exit 0'
wait "$follower"
no 'a no leaves it out' test -e .envrc
wait "$guard"
guard discard -y -q critical

# --- a slow answer ---
# answer: a y to a question that is open; there is one more where a pause comes
# between the creation of a file and its content.
answer() {
	[ "$(grep -c 'continue?' "$T/raw")" -le "$answers" ] || {
		echo y
		answers=$((answers + 1))
	}
	holds second b
}
slow_answers() {
	until_true said "$T/raw" 'continue?'
	sleep 3
	echo y
	answers=1
	until_true answer
}
begin slow
: >"$T/raw"
slow_answers | TERM=dumb timeout 60 script -q -e -c \
	'guard apply --follow --rest 0.1s slow' /dev/null >>"$T/raw" 2>&1 &
follower=$!
tell 'echo a >first'
ok 'an answer after 3 seconds is taken' until_true holds first a
tell 'echo b >second'
ok 'and does not delay the next question' timeout 15 sh -c \
	'until [ "$(cat second 2>/dev/null)" = b ]; do sleep 0.1; done'
tell 'exit 0'
wait "$guard"
wait "$follower"
guard discard -y -q slow

# --- paths, bad input ---
begin three
guard apply --follow -y --rest 0.1s three -- inside >"$T/out" 2>"$T/err" &
follower=$!
until_true said "$T/err" 'following'
tell 'mkdir inside; echo a >inside/a; echo b >outside; : >done2'
ok 'a path that was named is applied' until_true holds inside/a a
no 'no other path is applied' test -e outside
kill "$follower"
wait "$follower"
gives 0 'the run goes on without its follower' guard status
says "$out" running
tell 'exit 0'
wait "$guard"
gives 1 'a run that has ended is not followed' guard apply --follow -y three
says "$err" 'is not running: guard apply three applies its changes'
gives 2 '--rest needs --follow' guard apply --rest 5s three
gives 2 '--rest needs a time' guard apply --follow --rest soon three
gives 2 '--follow and -n exclude each other' guard apply --follow -n three
guard discard -y -q three

finish
