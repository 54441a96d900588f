#!/bin/sh
# A program that uses libguard.a through guard/guard.h: docs/examples/apply.c.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
example=/opt/guard/build/docs/examples/apply

# applies STATUS TITLE ANSWER RUN: the example with an answer on its stdin
applies() {
	gives "$1" "$2" sh -c "echo $3 | $example $4"
}

gives 0 'the example lists no run' "$example"
says "$out" "no run is pending in $HOME/project"
gives 1 'the example refuses an unknown run' "$example" 3mk9zq-4t
says "$err" "no such run: '3mk9zq-4t'"

ok 'a run changes, adds and deletes files' guard run -q -- \
	sh -c 'echo run >src/f1.c; echo run >new; rm src/f2.c'
run=$(guard status -q)
gives 0 'the example lists the pending run' "$example"
says "$out" "$run  ended  sh -c"
cd src || exit 99
gives 0 'the example finds the project from a directory in it' "$example"
says "$out" "$run"
cd .. || exit 99

manifest "$HOME" >"$T/before"
applies 1 'the example applies nothing after a no' n "$run"
says "$out" 'delete src/f2.c'
says "$out" 'replace src/f1.c'
says "$out" 'create new'
says "$err" 'declined'
manifest "$HOME" >"$T/after"
ok 'a declined apply changes no file' same "$T/before" "$T/after"
gives 1 'without an answer the example applies nothing' "$example" "$run"

applies 0 'the example applies the run after a yes' y "$run"
is "$(cat src/f1.c new)" "run
run" 'the files are as in the run'
no 'the deleted file is gone' test -e src/f2.c
is "$(guard status -q)" '' 'no run is pending after the apply'
applies 1 'the example refuses to apply the run twice' y "$run"
ok 'guard undo takes the apply back' guard undo -y
manifest "$HOME" >"$T/after"
ok 'the files are as before the apply' restored "$T/before" "$T/after"
ok 'the run is discarded' guard discard -y

ok 'a run changes a file' guard run -q -- sh -c 'echo run >src/f1.c'
run=$(guard status -q)
settle
echo user >src/f1.c
applies 1 'the example refuses a run that conflicts' y "$run"
says "$out" 'cannot apply src/f1.c: '
says "$err" "guard apply -n $run"
is "$(cat src/f1.c)" user "the refused apply keeps the user's file"
ok 'the run is discarded' guard discard -y

ok 'a run changes a file' guard run -q -- sh -c 'echo same >src/f3.c'
run=$(guard status -q)
settle
echo same >src/f3.c
gives 0 'the example does not ask when the files are as in the run' \
	"$example" "$run"
silent "$out" apply
is "$(guard status -q)" '' 'the run then counts as applied'

ok 'a run changes only the home directory' guard run -q -- \
	sh -c 'echo run >~/.only-home'
run=$(guard status -q)
applies 1 'the example refuses a run that changed only the home directory' \
	y "$run"
says "$err" "guard apply $run -- PATH"
is "$(guard status -q)" "$run" 'the refused run is still pending'
no 'the refused apply changes nothing in the home' test -e "$HOME/.only-home"
ok 'the run is discarded' guard discard -y

ok 'a run makes a critical change' guard run -q -- \
	sh -c 'echo evil >.envrc; echo new >other'
run=$(guard status -q)
applies 1 'the example refuses a critical change' y "$run"
says "$out" 'cannot apply .envrc: runs when you enter the directory'
says "$err" "guard apply -n $run names the remedies"
no 'nothing of the run is applied' test -e .envrc -o -e other
ok 'the run is discarded' guard discard -y

gives 1 'the example cannot be used inside of a run' \
	guard run -q -- "$example"
says "$err" 'inside a run'
finish
