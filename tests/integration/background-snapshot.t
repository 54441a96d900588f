#!/bin/sh
# The snapshot that is taken beside a run, and goes on when the run has ended.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

mkdir -p "$HOME/project"
cd "$HOME/project" || exit 99
for d in $(seq 110); do
	mkdir "$d"
	for f in $(seq 100); do
		echo "$d $f" >"$d/$f"
	done
done

# A process that has ended may wait for its parent (Z) a little longer.
keeper() {
	grep -l '(guard-keeper) [^Z]' /proc/[0-9]*/stat 2>"$T/meanwhile" |
		sed -n 's,/proc/\([0-9]*\)/stat,\1,p'
}
mkfifo "$T/go"
# begin COMMANDS: starts a run whose snapshot is stopped in the middle.
begin() {
	rm -f "$state"/workspaces/*/stat-cache
	guard run -- sh -c "$1" <>"$T/go" >"$T/live.out" 2>"$T/live.err" &
	guard=$!
	until grep -q total-files=1 "$state"/workspaces/*/storing \
		2>"$T/meanwhile"; do
		kill -0 "$guard" || break
		sleep 0.01
	done
	snapshot=$(keeper)
	kill -STOP "$snapshot"
	ok 'the snapshot is still being taken' \
		test -e "$state"/workspaces/*/storing
}

begin 'sleep 3'
wait "$guard"
says "$T/live.err" "storing '$HOME/project' in the background: "
says "$T/live.err" 'guard stop --snapshot ends it'
gives 0 'status shows a snapshot that goes on' guard status
says "$err" "storing '$HOME/project' in the background: "
gives 2 'stop --snapshot refuses a run' guard stop --snapshot latest
gives 0 'stop --snapshot ends a snapshot' guard stop --snapshot
says "$err" 'was stopped'
is "$(keeper)" '' 'no process is left'
gives 0 'status shows no snapshot that was stopped' guard status
silent "$err" storing
gives 1 'stop --snapshot fails without a snapshot' guard stop --snapshot
says "$err" "no snapshot of '$HOME/project' is being taken"

begin 'echo x >new; echo y >1/1; echo y >1/2; read line'
echo mine >1/2
gives 0 'stop --snapshot is accepted while a run needs it' \
	guard stop --snapshot
says "$err" 'can be applied without it'
echo go >"$T/go"
wait "$guard"
silent "$T/live.err" 'finishing the snapshot'
gives 1 'a file that the user changed meanwhile is a conflict' guard apply -y
says "$err" '1/2'
silent "$err" '1/1'
gives 0 'the other files are applied' guard apply -y new 1/1
is "$(cat new 1/1 1/2)" "$(printf 'x\ny\nmine')" 'they are there'
guard discard -q -y

# A run does not wait for that of a large directory, unless the user has changed
# the same files.
begin 'echo z >newer; echo z >2/1; rm 2/2; touch 2/3; mv 2/4 2/moved'
wait "$guard"
silent "$T/live.err" 'finishing the snapshot'
gives 0 'a run ends while the snapshot goes on' guard log newer
says "$out" post-run
gives 0 'its changes are shown' guard diff --name-status
is "$(sort "$out" | tr '\t' ' ')" \
	"$(printf '%s\n' 'A newer' 'D 2/2' 'M 2/1' 'R100 2/4 2/moved')" \
	'all of them'
gives 0 'a part of it is applied while the snapshot goes on' \
	guard apply -q -y 2/1
is "$(cat 2/1)" z 'it is there'
kill -CONT "$snapshot"
settle
gives 0 'the snapshot is complete then' guard log 60/100
says "$out" pre-run
gives 0 'the run keeps its base' guard diff --name-status
is "$(sort "$out" | tr '\t' ' ')" \
	"$(printf '%s\n' 'A newer' 'D 2/2' 'R100 2/4 2/moved')" \
	'only what was applied is no change any more'
gives 0 'undo takes the part back' guard undo -q -y
is "$(cat 2/1)" '2 1' 'the file is as before'
gives 0 'the rest is applied' guard apply -q -y
is "$(cat newer 2/1 2/moved)" "$(printf 'z\nz\n2 4')" 'they are there'
no 'a deleted file is gone' test -e 2/2
no 'a moved one, too' test -e 2/4
gives 0 'and taken back' guard undo -q -y
is "$(cat 2/1 2/2 2/4)" "$(printf '2 1\n2 2\n2 4')" 'all are as before'
no 'the new one is gone' test -e newer
gives 0 'the run is discarded' guard discard -q -y
seq 9 >lines
begin 'sed -i s/^9/run/ lines; echo z >2/1'
wait "$guard"
gives 0 'a part is applied' guard apply -q -y 2/1
kill -CONT "$snapshot"
settle
sed -i s/^1/mine/ lines
echo mine >3/1
gives 0 'the run goes on, with the complete snapshot as its base' \
	guard run -q --continue -- sh -c 'rm 3/1; sed -i s/^5/more/ lines'
gives 0 'its changes are shown' guard diff --name-status
is "$(sort "$out" | tr '\t' ' ')" "$(printf '%s\n' 'D 3/1' 'M lines')" \
	'what was applied is none of them'
gives 1 'a file that the user has changed since is a conflict' \
	guard apply -q -y
says "$err" '3/1'
gives 0 'edits of both sides are merged' guard apply -q -y lines
is "$(tr '\n' ' ' <lines)" 'mine 2 3 4 more 6 7 8 run ' 'all of them'
gives 0 'the rest is dropped' guard discard -q -y
begin 'echo z >1/3; read line'
echo mine >1/3
echo go >"$T/go"
wait "$guard"
says "$T/live.err" 'finishing the snapshot'
says "$T/live.err" ' (guard stop --snapshot ends it)'
says "$T/live.err" "storing '$HOME/project' in the background"
settle
gives 0 'a run ends without a snapshot that takes too long' guard log 1/3
says "$out" post-run
gives 0 'one of all follows' guard log
says "$out" manual
gives 0 'its changes are shown' guard diff --name-status latest
is "$(tr '\t' ' ' <"$out")" 'M 1/3' 'all of them'
gives 0 'they can be applied' guard apply -q -y --theirs latest
is "$(cat 1/3)" z 'the run wins'
begin 'echo z >third; read line'
echo mine >third
echo go >"$T/go"
until grep -q finishing "$T/live.err"; do
	kill -0 "$guard" || break
	sleep 0.1
done
# so that it does not end the snapshot itself meanwhile
kill -STOP "$guard"
gives 0 'stop --snapshot is accepted at the end of a run' guard stop --snapshot
kill -CONT "$guard"
wait "$guard"
silent "$T/live.err" 'in the background'
gives 0 'its change can be applied' guard apply -q -y --theirs latest third
begin 'sleep 0.1'
kill -CONT "$snapshot"
wait "$guard"
silent "$T/live.err" 'in the background'
gives 0 'a snapshot works after one that was stopped' guard snapshot -q
settle
no 'the record of progress is gone' test -e "$state"/workspaces/*/storing

finish
