#!/bin/sh
# A run that is still running: another guard process lists and applies its
# changes.
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

# begin COMMANDS [OPTIONS]: starts a run in the background that executes the commands,
# then reads further commands from the gate until "out". A reader may open the
# gate before its last writer has closed it: then it reads nothing and opens it
# again.
begin() {
	: >"$T/live.err" # what the run before has said
	commands=$1
	shift
	guard run --rw "$HOME/gate" "$@" -- sh -c "$commands"'
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
# more COMMAND: returns when the run has executed the command
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
gives 0 'guard diff shows the changes of a live run' \
	guard diff --name-status "$run"
says "$out" 'file'
says "$out" 'new'
says "$out" 'dir/below'
silent "$err" 'cannot freeze'
gives 0 'the live run continues after guard diff' guard status
says "$out" running
gives 0 'apply accepts some paths of a live run' \
	guard apply --yes-to all -y "$run" file dir "$HOME/.tool"
is "$(cat file)" run 'apply changes a file while the run is live'
no 'apply deletes a directory while the run is live' test -e dir
is "$(cat "$HOME/.tool")" run \
	'apply changes a file of the home while the run is live'
no 'paths that are not named are not applied' test -e new
gives 0 'the run is still live after apply' guard status
says "$out" running
gives 0 'diff of the live run no longer lists the applied paths' \
	guard diff --name-only "$run"
silent "$out" 'file'
silent "$out" 'below'
silent "$out" '.tool'
says "$out" 'new'
more 'echo more >>file; echo more >>~/.tool'
gives 0 'diff lists what the live run changed after the apply' guard diff "$run"
says "$out" '+more'
gives 0 'apply accepts the same paths of the live run again' \
	guard apply -y "$run" file "$HOME/.tool"
is "$(cat file) $(cat "$HOME/.tool")" 'run
more run
more' 'content that apply wrote before is no conflict'
gives 0 'undo reverts the last apply of a live run' guard undo -y
is "$(cat file)" run 'undo restores the content of the first apply'
gives 0 'a second undo reverts the first apply' guard undo -y 1

# --- the user edits the project during the run ---
echo user >other
more 'echo run >other'
gives 1 'apply of a live run refuses a file that both sides changed' \
	guard apply -y "$run" other
is "$(cat other)" user "the refused apply keeps the user's edit"
gives 1 'discard refuses a live run' guard discard -y "$run"
says "$err" 'still running'
out
gives 0 'status lists the run as ended after its end' guard status
says "$out" ended
gives 0 'apply accepts the rest after the end of the run' \
	guard apply -y "$run" new
is "$(cat new)" new 'apply of the rest adds the complete file'
gives 0 'discard drops what is left' guard discard -y "$run"

# --- apply of the complete live run, which then ends without changes ---
echo first >file
begin 'echo all >file'
gives 0 'apply accepts all of a live run' guard apply --yes-to all -y "$run"
is "$(cat file)" all 'apply changes the file'
gives 0 'undo reverts the apply of the live run' guard undo -y
is "$(cat file)" first 'undo restores the file'
gives 0 'redo is accepted' guard redo -y
out
is "$(cat file)" all 'after the end of the run the file has the applied content'
says "$T/live.err" "all changes of run $run are applied"
gives 0 'status lists a run that was applied before its end' guard status -a
says "$out" 'applied'
gives 0 'status counts no pending run' guard status --porcelain
silent "$out" "$run"
gives 0 'undo gives an applied run back that ended without further changes' \
	guard undo -y "$run"
is "$(cat file)" first 'undo restores the file of the ended run'
gives 0 'the run is pending again' guard diff --name-only "$run"
says "$out" file
gives 0 'the run can be applied again' guard apply -y --yes-to all "$run"
is "$(cat file)" all 'the second apply changes the file again'
rm ready

# --- applied, then edited by the user before the end ---
begin 'echo run >file'
gives 0 'a live run is applied' guard apply --yes-to all -y "$run"
echo user >file
out
says "$T/live.err" "all changes of run $run are applied"
gives 0 'no run is pending after an edit of an applied file' \
	guard status --porcelain
silent "$out" "$run"
echo run >file
gives 0 'undo gives that run back' guard undo -y
gives 0 'it is pending again' guard status --porcelain
says "$out" "$run"
gives 0 'it can be discarded' guard discard -y "$run"

# --- applied, undone, and taken back by the run ---
echo first >file
begin 'echo run >file'
gives 0 'a live run is applied' guard apply --yes-to all -y "$run"
gives 0 'the apply is undone' guard undo -y
echo 'echo first >file; rm -f ready; exit 0' >"$HOME/gate/go"
wait "$guard"
silent "$T/live.err" 'are applied'
says "$T/live.err" "run $run changed nothing"
gives 0 'redo repeats the apply of a run without changes' guard redo -y
is "$(cat file)" run 'redo changes the file'
gives 0 'undo reverts the apply again' guard undo -y
gives 0 'the run can be discarded' guard discard -y "$run"

# --- only a file of the home, applied ---
begin 'echo home >~/.tool'
gives 0 'the home of a live run is applied' \
	guard apply --yes-to all -y "$run" "$HOME/.tool"
echo 'rm ready; exit 0' >"$HOME/gate/go"
wait "$guard"
gives 0 'undo gives a run back of which only the home was applied' \
	guard undo -y "$run"
gives 0 'that run can be discarded' guard discard -y "$run"

# --- a path discarded, and the others deleted by a later command ---
gives 0 'a run writes two files' guard run -q -- sh -c 'echo >one; echo >two'
one=$(guard status -q)
gives 0 'a path is discarded' guard discard -y "$one" one
gives 0 'a command in the run takes back the rest' guard exec "$one" rm two
gives 0 'undo brings the discarded path back' guard undo -y
gives 0 'the run has it' guard diff --name-only "$one"
is "$(cat "$out")" one 'the path is the change of the run'
gives 0 'the run is discarded' guard discard -y "$one"

# --- apply of the complete live run, which then continues ---
mkdir -p gone/below
echo a >gone/below/a
echo first >other
begin 'echo all >>other; rm -r gone; echo one >one'
gives 0 'apply accepts a live run that will continue' \
	guard apply -y --yes-to all "$run"
gives 0 'a second apply has nothing to do' guard apply -y "$run"
says "$err" 'nothing left to apply; the run is still running'
gives 0 'the run is still pending' guard status
says "$out" 'running'
more 'echo later >later'
out
gives 0 'log lists the snapshots after the run' guard log
result=$(sed -n 's/^\([0-9]*\)  .* post-run .*/\1/p' "$out" | head -n 1)
is "$(guard show "$result:other")" 'first
all' 'the snapshot after the run contains the applied content'
no 'the snapshot after the run lacks the deleted directory' \
	guard show "$result:gone"
gives 0 'apply accepts what the run changed after the first apply' \
	guard apply -y "$run"
is "$(sed -n 's/^  [A-Z]  //p' "$out" | grep -v step)" \
	'later  6 B' 'the second apply lists only the later changes'
is "$(cat other)" 'first
all' 'the second apply keeps the content of the first'
no 'the second apply does not bring back a deleted directory' test -e gone
rm one later

# --- some paths of a live run, which the user then edits ---
listed() {
	guard diff --name-status "$run" | grep -v -e ready -e step |
		tr '\t\n' '  '
}
mkdir parts
for name in bytes gone rights rest opened; do seq 5 >parts/$name; done
begin 'cd parts; for f in bytes rest new; do echo run >>$f; done; rm gone
	chmod 700 rights; : >>opened; touch -d 2001-02-03 opened; cd ..'
is "$(listed)" "D!! parts/gone M parts/bytes M parts/rest P parts/rights \
A parts/new " 'diff lists the changes of the live run'
gives 0 'apply accepts some paths of the live run' \
	guard apply -y -q "$run" parts/bytes \
	parts/gone parts/rights parts/new
sed -i 1s/.*/mine/ parts/opened
sed -i 1s/.*/mine/ parts/bytes
echo mine >parts/gone
echo mine >>parts/new
chmod 750 parts/rights
is "$(listed)" 'M parts/rest ' \
	'edits of the user after apply are no changes of the run'
gives 0 'status counts the changes of the run' guard status
says "$out" '  1 modified  '
gives 0 'apply -n accepts the rest of the live run' guard apply -n "$run" parts
is "$(cat "$out")" '  M  parts/rest  14 B' \
	'apply -n lists only the changes of the run'
more 'echo more >>parts/new; echo back >parts/gone; '"\
setfattr -n user.x -v y parts/bytes"
is "$(listed)" 'M parts/new M parts/rest P parts/bytes A parts/gone ' \
	'diff lists what the run changes after the apply'
out
says "$T/live.err" "run $run: 2 modified, 1 with other permissions, 2 added"
silent "$T/live.err" 'can change its user'

# --- two runs at once, each with its own layer ---
begin 'echo one >one'
one=$run
one_guard=$guard
gives 0 'a second run starts beside a live one' guard run -- sh -c \
	'test ! -e one; echo two >two; mkdir many; cd many; seq 100 | xargs touch'
two=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
# The first run's snapshot is held back: the first run began without "two".
flock "$state/runs/$one/base.lock" sh -c 'echo held; read -r go' \
	<"$T/hold" >"$T/held" &
exec 4>"$T/hold"
until [ -s "$T/held" ]; do kill -0 $! || break; done
mv "$state/runs/$one/base" "$T/base"
inode=$(stat -c %i "$state/runs/$one/base.lock")
# apply_waiting: starts an apply, pid $applying, and returns when it waits for
# that lock or has ended
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
gives 0 'status does not wait for the snapshot of another run' \
	guard status --porcelain
says "$out" "$(printf '%s\tended' "$two")"
apply_waiting
no 'apply waits for the snapshot that another run began with' test -e two
mv "$T/base" "$state/runs/$one/base"
exec 4>&-
wait $applying
is $? 0 'the waiting apply ends with 0'
gives 0 'apply accepts the first run too' guard apply -y "$one" one
is "$(cat one two)" 'one
two' 'both runs are applied'
guard=$one_guard
out

# --- guard is killed while it has suspended the run ---
# stopped PID: whether the process is stopped, or its group is frozen
# shellcheck disable=SC2317 # called by ok
stopped() {
	case $(cat "/proc/$1/stat") in
	*') T '*) return 0 ;;
	esac
	group=$(sed -n 's/^0:://p' "/proc/$1/cgroup")
	grep -qs 'frozen 1' "/sys/fs/cgroup$group/cgroup.events"
}
# resumed PID: waits, for some seconds at most, until the process runs
# shellcheck disable=SC2317 # called by ok
resumed() {
	i=0
	while stopped "$1"; do
		i=$((i + 1))
		[ "$i" -lt 1000 ] || return 1
		sleep 0.01
	done
}
# ended PID: waits, for some seconds at most, for the end of the process
# shellcheck disable=SC2317 # called by ok
ended() {
	i=0
	while kill -0 "$1" 2>/dev/null; do
		i=$((i + 1))
		[ "$i" -lt 1000 ] || return 1
		sleep 0.01
	done
}
# killed VERB OPTIONS: kills guard VERB at the system call of the options
stopat=/opt/guard/build/tests/lib/stopat
killed() {
	verb=$1
	shift
	# shellcheck disable=SC2086 # words
	gives 137 "guard $verb is killed" "$stopat" --every "$@" -- \
		guard $verb "$run"
}
# killed_reading VERB: ... while it reads the layer
killed_reading() {
	killed "$1" --only getdents64 --at 1 --below "$state/runs/$run/upper"
}
for limit in '' --memory=512M; do
	begin 'while :; do echo x; done >>busy & sh -c "kill -STOP \$\$" &' \
		${limit:+"$limit"}
	sleeper=
	until sleeper=$(sed -n 's/^\([0-9]*\) .*) T .*/\1/p' \
		/proc/[0-9]*/stat) && [ "$sleeper" ]; do
		kill -0 "$guard" || break
	done
	init=$(sed -n 's/^init=\([0-9]*\) .*/\1/p' "$state/runs/$run/record")
	points='1 2 4 6'
	! grep -q /guard- "/proc/$init/cgroup" || points=
	for verb in diff 'apply -n'; do
		for at in $points; do
			killed "$verb" --only kill --at "$at"
			ok 'the run continues' resumed "$init"
			ok 'a process that had stopped before stays stopped' \
				stopped "$sleeper"
		done
		killed_reading "$verb"
		ok 'the run continues' resumed "$init"
		ok 'a process that had stopped before stays stopped' \
			stopped "$sleeper"
	done
	# Stopped with the lock, it would keep guard diff from suspending.
	flock "$state/runs/$run/suspended" kill -STOP "$guard"
	killed_reading diff
	ok "the run stays suspended while the run's own guard is stopped" \
		stopped "$init"
	gives 0 'the next command resumes it' guard diff --name-only "$run"
	ok 'the run continues' resumed "$init"
	killed_reading diff
	kill -9 "$guard"
	wait "$guard"
	ok "a suspended run ends with the run's own guard" ended "$init"
	ok 'its layer is kept' guard discard -y -q "$run"
done

# --- stop ---
begin 'echo x >stopped; trap "echo asked >asked; exit 7" TERM'
gives 1 'discard of a live run names guard stop' guard discard -y "$run"
says "$err" "guard stop $run"
gives 0 'stop ends the only live run' guard stop
says "$err" "run $run stopped; its changes are pending: guard diff $run"
wait "$guard"
is $? 7 'the command could end in its own way'
is "$(guard show "$run:asked")" asked 'its last change is in the run'
gives 1 'stop is refused when no run is live' guard stop
says "$err" 'no run in'
gives 0 'stop of a run that has ended is no error' guard stop "$run"
says "$err" 'is not running any more'
ok 'the stopped run can be discarded' guard discard -y -q "$run"

begin 'echo x >deaf; trap "" TERM'
deaf=$run deaf_guard=$guard
begin 'echo x >second'
gives 4 'stop lists several live runs' guard stop
says "$err" "guard stop $deaf "
says "$err" "guard stop $run "
gives 2 'stop refuses a wrong time' guard stop -t soon "$deaf"
guard stop -t 0.3 "$deaf" >"$T/first" 2>&1 &
first=$!
gives 0 'two callers stop a run that ignores SIGTERM' guard kill -t 0.3 "$deaf"
wait $first
is $? 0 'the other caller ends with 0, too'
wait "$deaf_guard"
is $? 137 'the run was killed'
gives 0 'stop ends the run that is left' guard stop
wait "$guard"
ok 'both runs can be discarded' guard discard -y -q "$deaf"
ok 'the last run is discarded' guard discard -y -q "$run"

finish
