#!/bin/sh
# status, diff, apply, discard, undo: from a run to the project and back.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

gives 0 'a run can change nothing' guard run -- true
gives 0 'guard status accepts a project without a pending run' guard status
silent "$out" ended
no 'guard diff without a run is refused' guard diff

cat >"$HOME/work.sh" <<'END'
sed -i 's/return 4/return 400/' src/f4.c
rm -r src/deep
rm data/rows.db
mkdir -p made/deeper
echo new >made/deeper/file
chmod 700 run.sh
printf '\000\001' >>data/blob.bin
ln -sf /elsewhere docs/dangling
setfattr -n user.colour -v blue notes.txt
touch src/f6.c.same
rm src/f6.c.same
echo in-home >>~/.bashrc
END
work="$HOME/work.sh"
manifest "$HOME" >"$T/before"
gives 0 'a run can change many kinds of entries' guard run -- sh "$work"
says "$err" 'guard apply'
says "$err" 'guard diff'
says "$err" 'guard discard'
gives 0 'guard status lists the ended run' guard status
says "$out" ended
gives 0 'guard status --porcelain prints lines' guard status --porcelain
is "$(wc -l <"$out")" 1 'status --porcelain prints one line for one run'
gives 0 'with --json it prints JSON' guard status --json --porcelain
says "$out" '"runs"'
gives 1 'status fails when its output cannot be written' \
	sh -c 'exec guard status >/dev/full'
says "$err" 'write to stdout: No space left on device'
gives 2 'diff fails when its output cannot be written' \
	sh -c 'exec guard diff --exit-code >/dev/full'
run=$(guard status -q | head -n 1)
ok 'status -q prints the id of the run' test -n "$run"

gives 0 'guard diff prints the changes' guard diff
says "$out" 'return 400'
says "$out" 'src/deep'
says "$out" 'data/rows.db'
says "$out" '.bashrc'
says "$out" 'Look at these first in your home directory'
says "$out" 'runs when a shell starts'
says "$out" 'leads out of the project: /elsewhere'
silent "$out" 'src/f6.c.same'
gives 3 'diff --exit-code ends with 3 when a change is severe' \
	guard diff --exit-code
gives 0 'diff --stat accepts the id of a run' guard diff "$run" --stat
says "$out" 'src/f4.c'
gives 0 'diff accepts a path' guard diff -- src/f4.c
says "$out" 'return 400'
silent "$out" 'rows.db'
gives 0 'diff --name-status lists the changes' guard diff --name-status
first=$(head -n 1 "$out" | cut -c 1)
is "$first" D 'diff --name-status lists deletions first'
says "$out" 'src/f4.c'
says "$out" 'run.sh'
says "$out" 'made/deeper/file'
gives 0 'diff --json prints the changes as JSON' guard diff --json
ok 'diff --json prints valid JSON' \
	perl -MJSON::PP -0777 -ne 'decode_json($_)' "$out"
says "$out" '"level": "critical"'
says "$out" '"text": "runs when a shell starts"'
gives 0 'diff -z lists the changes' guard diff -z
no 'diff -z ends its lines with NUL' \
	sh -c "tr -d '\\0' <'$out' | cmp -s - '$out'"

gives 0 'apply --dry-run is accepted' \
	guard apply --dry-run --yes-to only-copy
manifest "$HOME" >"$T/after"
ok 'apply --dry-run changes no file' same "$T/before" "$T/after"
gives 1 'apply without --yes and without a terminal is refused' guard apply
gives 0 'guard log works after refused applies' guard log
silent "$out" pre-apply

gives 0 'apply -y applies the run' guard apply -y --yes-to only-copy
gives 0 'guard log lists the snapshot before the apply' guard log
says "$out" pre-apply
says src/f4.c 'return 400'
no 'apply deletes a directory' test -e src/deep
no 'apply deletes an ignored file' test -e data/rows.db
is "$(cat made/deeper/file)" new 'apply adds a file'
is "$(stat -c %a run.sh)" 700 'apply changes a mode'
is "$(readlink docs/dangling)" /elsewhere 'apply changes a symbolic link'
is "$(getfattr --only-values -n user.colour notes.txt)" blue \
	'apply changes an extended attribute'
is "$(stat -c %s data/blob.bin)" 100002 'apply changes a binary file'
no 'apply does not change the home by default' grep -q in-home ~/.bashrc
no 'apply leaves no attribute of overlayfs in the project' sh -c \
	'getfattr -R -h -d -m - . 2>/dev/null | grep -a overlay'
manifest "$HOME/project" >"$T/applied"
gives 0 'undo reverts the apply' guard undo -y
manifest "$HOME" >"$T/after"
ok 'after undo project and home are as before the apply' \
	restored "$T/before" "$T/after"
gives 0 'redo is accepted' guard redo -y
manifest "$HOME/project" >"$T/after"
ok 'redo restores the applied state' restored "$T/applied" "$T/after"
gives 0 'a further undo is accepted' guard undo -y
manifest "$HOME" >"$T/after"
ok 'a third undo restores the state before the apply' \
	restored "$T/before" "$T/after"

ok 'the run is pending again after undo' test -n "$(guard status -q)"
ok 'discard drops the run' guard discard -y

# --- apply and discard of single paths ---
gives 0 'the same run is repeated' guard run -- sh "$work"
gives 0 'apply accepts one path' guard apply -y src/f4.c
says "$err" "guard discard $(guard status -q) drops the rest"
says src/f4.c 'return 400'
ok 'apply of one path changes nothing else' test -e src/deep/er/file
gives 0 'diff works after an apply of one path' guard diff --name-status
silent "$out" 'src/f4.c'
says "$out" 'rows.db'
gives 0 'discard accepts one path' guard discard -y src/deep
gives 0 'diff works after a discard of one path' guard diff --name-status
silent "$out" 'src/deep'
says "$out" 'rows.db'
gives 0 'apply accepts a path in the home' guard apply -y ~/.bashrc
ok 'apply of a home path changes that file' grep -q in-home ~/.bashrc
ok 'undo reverts the apply of a home path' guard undo -y -q
no 'undo restores the file in the home' grep -q in-home ~/.bashrc
gives 0 'discard drops the rest of the run' guard discard -y
ok 'a discarded deletion leaves the file in the project' test -e data/rows.db
gives 0 'status works when no run is pending' guard status
is "$(guard status -q)" '' 'status -q prints nothing when no run is pending'
gives 0 'undo reverts a discard' guard undo -y
ok 'the discarded run is pending again' test -n "$(guard status -q)"
gives 0 'diff shows the run after undo of its discard' guard diff --name-status
says "$out" 'rows.db'
gives 0 'commit is another name of apply' guard commit -y --yes-to all
no 'commit deletes a file that the run deleted' test -e data/rows.db
gives 1 'apply is refused when nothing is left to apply' guard apply -y

# --- without a terminal every answer is no ---
gives 0 'a run can append to a file' guard run -q -- sh -c 'echo x >>README.md'
manifest . >"$T/before"
guard apply >"$out" 2>"$err" </dev/null
manifest . >"$T/after"
ok 'apply without --yes and a terminal changes no file' \
	same "$T/before" "$T/after"
ok 'the run is still pending' test -n "$(guard status -q)"
ok 'discard drops this run' guard discard -y

# --- usage ---
gives 2 'an unknown verb ends guard with 2' guard frobnicate
says "$err" 'frobnicate'
gives 2 'an unknown option ends guard with 2' guard diff --frobnicate
gives 2 'guard without a verb ends with 2' guard
says "$err" 'discard    discard a run'
silent "$out" .
gives 0 '--help prints the help' guard --help
is "$(grep -c '^  [a-z]' "$out")" 10 '--help lists ten verbs'
says "$out" '`guard help -a` lists every verb'
gives 0 'help -a prints all verbs' guard help -a
says "$out" '  prune '
says "$out" '(or: undelete)'
says "$out" 'guard'
gives 0 '--version prints the version' guard --version
for verb in run status diff apply discard undo snapshot log ls show restore; do
	gives 0 "$verb --help prints the help of the verb" guard $verb --help
done
# --- changes in the home only ---
gives 0 'a run can change only the home' \
	guard run -- sh -c 'echo mine >~/of-the-run'
silent "$err" 'guard apply'
gives 1 'apply without a path does not apply changes of the home' guard apply -y
says "$err" 'applies one'
ok 'the run with changes of the home is still pending' \
	test -n "$(guard status -q)"
ok 'discard drops the run with changes of the home' guard discard -y

# --- a repository that lies in a directory of another name ---
git init -q --bare vendor/lib
guard run -q --name hook -- sh -c 'echo evil >vendor/lib/hooks/post-update
	git --git-dir=vendor/lib config core.fsmonitor ./evil'
gives 0 'diff names what git would run in it' guard diff hook
says "$out" 'vendor/lib/hooks/post-update'
says "$out" 'runs by git at commit, checkout, merge, push or fetch'
says "$out" 'fsmonitor'
gives 0 'review names it, too' guard review hook
says "$out" 'runs by git at commit, checkout, merge, push or fetch'
guard discard -y -q hook

# --- a change of type has one word ---
mkdir "$HOME/types"
cd "$HOME/types" || exit 99
mkdir dir
for file in dir/a file other; do echo 1 >"$file"; done
ln -s file link
guard run -- sh -c 'rm -r dir; echo 1 >dir; rm file; mkdir file; echo 2 >file/x
	rm link; echo 3 >link; rm other; ln -s file other' >"$out" 2>"$err"
says "$err" ': 1 deleted, 4 of another type, 1 added'
guard diff >"$out"
rows=$(grep -E '^  [DTAMP]  ' "$out" | sort)
gives 0 'apply is accepted' guard apply -y
is "$(grep -E '^  [DTAMP]  ' "$out" | sort)" "$rows" 'apply has the rows of diff'
says "$err" ': 1 deleted, 4 of another type, 1 added'

finish
