#!/bin/sh
# The decisions of a review outlive its end: q, a kill, another change.
# users: one
# shellcheck disable=SC2317 # functions are called through ok
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
seq 1 40 >text
echo one >a
echo two >b
echo three >c
git add -A
git commit -q -m files
ok 'a run changes some files' guard run -q -- sh -c '
	sed -i "3s/.*/three/;38s/.*/near the end/" text
	for i in a b c; do echo more >>$i; done'
run=$(guard status -q)
record=$state/runs/$run/review
manifest "$HOME/project" >"$T/before"

# killed COMMAND ANSWER...: the answers, and then SIGKILL out of the editor
cat >"$HOME/killer.sh" <<'END2'
pid=$$
while [ "$(cat /proc/$pid/comm)" != guard ]; do
	pid=$(cut -d ' ' -f 4 /proc/$pid/stat)
done
kill -KILL "$pid"
END2
EDITOR="sh $HOME/killer.sh"
export EDITOR

# --- q, then on ---
no 'a review that ends after two answers applies nothing' \
	answers review '/^a$' y '/^b$' n q n
ok 'the answers are in a file of the run' test -s "$record"
is "$(stat -c %a "$record")" 600 'only the user can read the answers'
is "$(head -n 1 "$record")" 'guard-review 1' 'the record has a version'
manifest "$HOME/project" >"$T/after"
ok 'a review that was ended changes no file' same "$T/before" "$T/after"
no 'the next review continues, and q keeps its answers, too' \
	answers review q
says "$out" 'continuing an earlier review: 2 of 4 changes are decided'
says "$out" 'Accepted: 1 of 4 changes; 1 skipped; 2 undecided'
no 'the first question is about an undecided change' \
	grep -q 'Apply this.*so far' "$out"

# --- kill -9 in the middle ---
no 'a review is killed by SIGKILL' answers review '/^c$' y '/three' y '/near' e
says "$out" 'continuing an earlier review'
no 'apply -p continues the review that was killed' answers 'apply -p' q
says "$out" 'continuing an earlier review: 4 of 4 changes are decided'
says "$out" '3 of 4 changes, 1 of them in part; 1 skipped'

# --- a torn line ---
size=$(stat -c %s "$record")
truncate -s $((size - 3)) "$record"
no 'a torn last line does not count' answers review q
says "$out" '2 of 4 changes; 1 skipped; 1 undecided'
no 'an answer after a torn line is kept' answers review y n q
no 'and is there in the next review' answers review q
says "$out" '3 of 4 changes'

# --- other files ---
ok 'the run is continued' guard run -q --continue="$run" -- sh -c 'echo x >>c'
no 'a changed file is undecided again' answers review q
says "$out" '1 decision dropped: the files changed'
says "$out" '2 of 4 changes, 1 of them in part; 1 skipped; 1 undecided'

# --- begin again ---
no 'review --forget drops the answers' answers 'review --forget' q
silent "$out" 'continuing'
no 'no answer is left' test -s "$record"

# --- the end ---
no 'answers of a review that is ended' answers review '/^a$' y q n
ok 'undecided changes are not applied' answers review '/^b$' y q y
is "$(tail -n 1 a)" more 'a change that an earlier review took is applied'
is "$(tail -n 1 c)" three 'an undecided change is not applied'
is "$(sed -n 3p text)" 3 'an undecided hunk is not applied'
no 'an apply drops the answers' test -e "$record"

# --- a record that cannot be used ---
echo 'guard-review 2' >"$record"
gives 1 'the record of a newer guard is refused' answers review q
says "$out" 'written by a newer guard'
no 'and --forget removes it' answers 'review --forget' q
silent "$out" 'newer guard'
finish
