#!/bin/sh
# A month later: runs that nobody decided on, and formats of other guards.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
now=$(date +%s)

# age RUN DAYS [KEY DAYS]: as if it had ended then (and KEY were so old)
age() {
	then=$((now - $2 * 86400 - 60))
	sed -i -e "s/^started=.*/started=$then.000000000/" \
		-e "s/^ended=.*/ended=$then.000000000/" "$state/runs/$1/record"
	[ $# -lt 4 ] ||
		sed -i "s/^$3=.*/$3=$((now - $4 * 86400 - 60))/" \
			"$state/runs/$1/record"
}

echo first >file
gives 0 'a run' guard run -- sh -c 'echo late >file; echo x >~/.late'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
sed -i "s/^started=.*/started=$((now - 3 * 86400)).000000000/" \
	"$state/runs/$run/record"
gives 0 'one that took three days' guard status
says "$out" "$run  ended  "
silent "$out" '3 days ago'
age "$run" 29
gives 0 'after 29 days' guard status
silent "$err" 'has waited'
says "$out" "$run"
age "$run" 30
gives 0 'with another number of days' \
	env GUARD_PENDING_DAYS=31 guard status
silent "$err" 'has waited'
gives 0 'or for ever' env GUARD_PENDING_DAYS=0 guard status
silent "$err" 'has waited'
gives 0 'after 30 days' guard status
says "$err" "run $run in '$HOME/project' has waited for 30 days"
gives 0 'it is said once' guard status
silent "$err" 'has waited'
says "$out" "$run"
age "$run" 37 warned 6
gives 0 'it stays for a week after that' guard status
says "$out" "$run"
age "$run" 37 warned 7
gives 0 'then, at the end of another run' guard run -- true
says "$err" "run $run in '$HOME/project', which nobody decided on"
no 'it is gone' test -e "$state/runs/$run"
gives 0 'undo' guard undo -y
says "$err" "run $run waits for a decision again"
says "$err" "guard discard $run    does it again; the next guard undo is about"
gives 0 'brings it back' guard apply -y "$run"
is "$(cat file)" late 'whole'
age "$run" 8
gives 0 'an applied one goes after a week' guard status
no 'in silence' test -e "$state/runs/$run"
gives 0 'and undo of the apply still works' guard undo -y
is "$(cat file)" first 'without its layer'

# A run that goes on is not old.
gives 0 'another run' guard run -- sh -c 'echo again >file'
run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' "$err")
age "$run" 60
gives 0 'is warned of' guard status
says "$err" 'has waited for 60 days'
gives 0 'goes on' guard run --continue "$run" -- true
age "$run" 31 warned 40
gives 0 'and waits anew' guard status
says "$err" 'has waited for 31 days'

# --- records of other guards ---
record=$state/runs/$run/record
cp "$record" "$T/record"
sed -i '1s/.*/guard-run 9/' "$record"
gives 1 'a record of a newer guard is refused' guard apply -y "$run"
says "$err" 'newer guard'
is "$(cat file)" first 'and nothing is done'
cp "$T/record" "$record"
# One as an earlier guard wrote it, byte for byte but for what it names.
sed -e "s|@ID@|$run|" -e "s|@PROJECT@|$HOME/project|" -e "s|@HOME@|$HOME|" \
	-e "s|@DEV@|$(sed -n 's/^project-dev=//p' "$record")|" \
	-e "s|@INO@|$(sed -n 's/^project-ino=//p' "$record")|" \
	-e "s|@RESULT@|$(sed -n 's/^result=//p' "$record")|" \
	"${0%/*}/../data/run/record-1" >"$T/old"
cp "$T/old" "$record"
gives 0 'a record of an earlier guard is read' guard diff --name-only "$run"
is "$(cat "$out")" file 'with all it says'
gives 0 'and applied' guard apply -y "$run"
is "$(cat file)" again 'whole'
ok 'what this guard does not know of is kept' grep -q '^not-known=kept$' \
	"$record"

# --- a line of oplog that is from another guard, or torn ---
printf '{"time":"2031-01-01T00:00:00Z","action":"teleport","new":{"a":[1]}}\n{"ti' \
	>>"$state/oplog"
gives 0 'the actions are listed' guard log --actions
says "$out" apply
gives 0 'what is torn is no hindrance' guard undo -y
is "$(cat file)" first 'undo works'

finish
