#!/bin/sh
# docs/runner.md: a program that executes code through guard, by that page alone.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

# member JSON-PATH: prints a member of the object in $out, as JSON
member() {
	python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2].split("."):
    value = value[int(key) if key.isdigit() else key]
print(json.dumps(value))' "$out" "$1"
}

dir=$HOME/project
git init -q "$dir"
echo one >"$dir/one"
git -C "$dir" add one
git -C "$dir" commit -q -m one
cd / || exit 99

# --- run ---
gives 3 'the status is that of the program' guard -C "$dir" run -q --name job-1 \
	--timeout 60s --net none --env SET=value -- \
	sh -c 'echo "$0 $1 $SET $GUARD $GUARD_NAME"; pwd; echo text >&2
		echo two >one; mkdir sub; echo new >sub/new; exit 3' 'a  b' '$HOME *'
is "$(cat "$out")" "a  b \$HOME * value 1 job-1
$dir" 'arguments and standard output are the program'"'"'s own'
is "$(cat "$err")" text 'so is standard error'
gives 125 'a name that is in use' guard -C "$dir" run -q --name job-1 -- true
is "$(grep -vc '^guard:' "$err")" 0 'lines of guard begin with its name'
is "$(cat "$out")" '' 'and nothing of guard is on standard output'
is "$(printf 'in\0put' | guard -C "$dir" run -q -- od -An -c | tr -d ' ')" \
	'in\0put' 'standard input is passed on'
gives 125 'a wrong command line' guard -C "$dir" run -q --no-such-option -- true
gives 125 'a missing directory' guard -C "$dir/none" run -q -- true
gives 127 'a missing program' guard -C "$dir" run -q -- no-such-program
gives 126 'no program' guard -C "$dir" run -q -- ./one
gives 137 'a signal' guard -C "$dir" run -q -- sh -c 'kill -9 $$'
gives 124 'a limit' guard -C "$dir" run -q --timeout 0.2s -- sleep 60
gives 143 'a signal to guard reaches the program' \
	timeout -s TERM --preserve-status 1 guard -C "$dir" run -q -- sleep 60
is "$(cat "$dir/one")" one 'no file has changed'

# --- inspect ---
gives 0 'the changes as JSON' guard -C "$dir" diff --json job-1 --
is "$(member schema)" '"guard.diff/1"' 'its schema'
is "$(member exit)" 3 "the program's exit status"
is "$(member counts.modified) $(member counts.added)" '1 2' 'counts'
is "$(member entries.0.path) $(member risks)" '"one" []' 'a path, no risks'
gives 1 'whether there are changes' \
	guard -C "$dir" diff --json --exit-code job-1 --
gives 0 'pending runs' guard -C "$dir" status --json
is "$(member runs.0.name)" '"job-1"' 'by name'
gives 0 'a run that changes nothing' guard -C "$dir" run -q --name job-2 -- true
gives 2 'is not kept' guard -C "$dir" diff --json job-2 --
gives 0 'a path that is not UTF-8, and a critical change' guard -C "$dir" run -q \
	--name job-3 -- sh -c 'echo x >"$(printf "\377")"; mkdir .vscode
	echo "{\"tasks\": [{\"command\": \"x\"}]}" >.vscode/tasks.json'
gives 3 'a critical change' guard -C "$dir" diff --json --exit-code job-3 --
is "$(member risks.0.path) $(member risks.0.level)" \
	'".vscode/tasks.json" "critical"' 'is a risk'
is "$(grep -c '"path_b64": "/w=="' "$out")" 1 'the bytes of the path'

# --- decide ---
gives 4 'several runs' guard -C "$dir" apply -y
gives 2 'wrong usage' guard -C "$dir" apply --no-such-option
gives 0 'one path' guard -C "$dir" apply -y job-1 -- sub
is "$(cat "$dir/sub/new" "$dir/one")" "$(printf 'new\none')" 'alone'
echo mine >"$dir/one"
gives 1 'an edit of both sides' guard -C "$dir" apply -y --json job-1 --
is "$(member applied) $(member conflicts.0.path)" 'false "one"' 'is named'
is "$(cat "$dir/one")" mine 'and is kept'
gives 0 'a decision' guard -C "$dir" apply -y --theirs job-1 --
is "$(cat "$dir/one")" two 'for the run'
gives 0 'taken back' guard -C "$dir" undo -y
is "$(cat "$dir/one")" mine 'the edit is there again'
gives 1 'a critical change needs more' guard -C "$dir" apply -y job-3 --
no 'nothing was done' test -e "$dir/.vscode"
gives 0 'without it' guard -C "$dir" apply -y --except critical job-3 --
no 'it was left out' test -e "$dir/.vscode/tasks.json"
gives 0 'with consent' \
	guard -C "$dir" apply -y --yes-to .vscode/tasks.json job-3 --
ok 'it is there' test -e "$dir/.vscode/tasks.json"
gives 0 'dropped' guard -C "$dir" discard -y job-1 --
guard -C "$dir" run -q --name job-4 -- sh -c 'mkdir job-5; echo 1 >job-5/x'
guard -C "$dir" run -q --name job-5 -- true
gives 2 'a path is no run' guard -C "$dir" diff --json job-5 --
gives 1 '... for apply' guard -C "$dir" apply -y job-5 --
gives 1 '... and discard' guard -C "$dir" discard -y job-5 --
echo 1 >"$dir/job-4"
gives 0 'a run with the name of a file' guard -C "$dir" discard -y job-4 --
rm "$dir/job-4"
gives 125 'no name is that of a snapshot' guard -C "$dir" run --name s12 -- true
for i in 1 2 3 4; do
	guard -C "$dir" run -q --name one -- touch "$i" 2>"$T/one.$i" &
done
wait
is "$(grep -l "already called 'one'" "$T"/one.* | wc -l)" 3 \
	'of runs that start at once one has the name'
gives 0 '... and is the only one' guard -C "$dir" discard -y one --
gives 0 'nothing is pending' guard -C "$dir" status --json
is "$(member runs)" '[]' 'in the list'
finish
