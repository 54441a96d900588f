#!/bin/sh
# Old runs without a decision, and records of other versions of guard.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
now=$(date +%s)

# age RUN DAYS [KEY DAYS]: makes the run end that many days ago, and KEY be so
# old
age() {
	then=$((now - $2 * 86400 - 60))
	record=$(ls "$state/runs/$1/record" "$state/runs/closed/$1/record" \
		2>/dev/null)
	sed -i -e "s/^started=.*/started=$then.000000000/" \
		-e "s/^ended=.*/ended=$then.000000000/" "$record"
	[ $# -lt 4 ] ||
		sed -i "s/^$3=.*/$3=$((now - $4 * 86400 - 60))/" "$record"
}

# checked COMMAND: runs it as if the last check was more than an hour ago
# shellcheck disable=SC2317 # called by gives
checked() {
	rm -f "$state/last-retired" "$state/last-warned"
	"$@"
}

echo first >file
gives 0 'a run changes project and home' \
	guard run -- sh -c 'echo late >file; echo x >~/.late'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
sed -i "s/^started=.*/started=$((now - 3 * 86400)).000000000/" \
	"$state/runs/$run/record"
gives 0 'status shows a run that took three days' checked guard status
says "$out" "$run  ended  "
silent "$out" '3 days ago'
age "$run" 29
gives 0 'status of a run after 29 days works' checked guard status
silent "$err" 'has been pending'
says "$out" "$run"
age "$run" 30
gives 0 'GUARD_PENDING_DAYS sets another number of days' \
	checked env GUARD_PENDING_DAYS=31 guard status
silent "$err" 'has been pending'
gives 0 'GUARD_PENDING_DAYS=0 disables expiry' \
	checked env GUARD_PENDING_DAYS=0 guard status
silent "$err" 'has been pending'
gives 0 'status warns after 30 days' checked guard status
says "$err" "run $run in '$HOME/project' has been pending for 30 days"
gives 0 'status warns only once' checked guard status
silent "$err" 'has been pending'
says "$out" "$run"
age "$run" 37 warned 6
gives 0 'the run stays for a week after the warning' checked guard status
says "$out" "$run"
age "$run" 37 warned 7
gives 0 'the next run retires it a week after the warning' \
	checked guard run -- true
says "$err" "run $run in '$HOME/project' was pending too long"
no 'the retired run is no longer in the state' test -e "$state/runs/$run"
gives 0 'undo reverts the retirement' guard undo -y
says "$err" "run $run is pending again"
says "$err" 'guard redo repeats it'
gives 0 'apply accepts the run after that undo' \
	guard apply -y --yes-to all "$run"
is "$(cat file)" late 'apply writes the file of that run'
age "$run" 8
gives 0 'status works with an applied run after a week' checked guard status
ok 'status leaves the applied run' test -e "$state/runs/closed/$run"
gives 0 'the next run retires an applied run after a week' \
	checked guard run -q -- true
no 'the applied run is removed without a message' \
	test -e "$state/runs/closed/$run"
gives 0 "undo of an apply works without the run's layer" guard undo -y
is "$(cat file)" first 'that undo restores the file'

# A run that is continued is not old.
gives 0 'a second run changes the file' guard run -- sh -c 'echo again >file'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
age "$run" 60
gives 0 'status warns of the second run' checked guard status
says "$err" 'has been pending for 60 days'
gives 0 'run --continue works after the warning' \
	guard run --continue "$run" -- true
age "$run" 31 warned 40
gives 0 'status does not warn of a continued run' checked guard status
says "$err" 'has been pending for 31 days'

# --- records of other versions of guard ---
record=$state/runs/$run/record
cp "$record" "$T/record"
sed -i '1s/.*/guard-run 9/' "$record"
gives 1 'apply refuses a record of a newer guard' guard apply -y "$run"
says "$err" 'newer guard'
is "$(cat file)" first 'the refused apply changes no file'
cp "$T/record" "$record"
# A record as an older guard wrote it, byte for byte except for its names.
sed -e "s|@ID@|$run|" -e "s|@PROJECT@|$HOME/project|" -e "s|@HOME@|$HOME|" \
	-e "s|@DEV@|$(sed -n 's/^project-dev=//p' "$record")|" \
	-e "s|@INO@|$(sed -n 's/^project-ino=//p' "$record")|" \
	-e "s|@RESULT@|$(sed -n 's/^result=//p' "$record")|" \
	"${0%/*}/../data/run/record-1" >"$T/old"
cp "$T/old" "$record"
gives 0 'diff reads a record of an older guard' guard diff --name-only "$run"
is "$(cat "$out")" file 'diff lists the change of that record'
gives 0 'apply accepts that record' guard apply -y --yes-to all "$run"
is "$(cat file)" again 'apply writes the file of that record'
ok 'apply keeps unknown keys of a record' grep -q '^not-known=kept$' \
	"$state/runs/closed/$run/record"

# --- unknown and torn lines of oplog ---
printf '{"time":"2031-01-01T00:00:00Z","action":"teleport","new":{"a":[1]}}\n{"ti' \
	>>"$state/oplog"
gives 0 'log --actions works with unknown and torn lines' guard log --actions
says "$out" apply
gives 0 'undo works with unknown and torn lines' guard undo -y
is "$(cat file)" first 'undo restores the file'

finish
