#!/bin/sh
# status, diff, apply, discard, undo: the way of a change into the project.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

gives 0 'a run without changes' guard run -- true
gives 0 'leaves nothing to decide' guard status
silent "$out" ended
no 'a diff without a run is refused' guard diff

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
gives 0 'a run that changes much' guard run -- sh "$work"
says "$err" 'guard apply'
says "$err" 'guard diff'
says "$err" 'guard discard'
gives 0 'status' guard status
says "$out" ended
gives 0 'status as lines' guard status --porcelain
is "$(wc -l <"$out")" 1 'one run, one line'
run=$(guard status -q | head -n 1)
ok 'it has an id' test -n "$run"

gives 0 'diff' guard diff
says "$out" 'return 400'
says "$out" 'src/deep'
says "$out" 'data/rows.db'
says "$out" '.bashrc'
says "$out" 'Dangerous, or executed later in your home folder'
says "$out" 'runs when a shell starts'
says "$out" 'leads out of the project: /elsewhere'
silent "$out" 'src/f6.c.same'
gives 1 'diff --exit-code' guard diff --exit-code
gives 0 'diff by id' guard diff "$run" --stat
says "$out" 'src/f4.c'
gives 0 'diff of a path' guard diff -- src/f4.c
says "$out" 'return 400'
silent "$out" 'rows.db'
gives 0 'diff --name-status' guard diff --name-status
first=$(head -n 1 "$out" | cut -c 1)
is "$first" D 'deletions come first'
says "$out" 'src/f4.c'
says "$out" 'run.sh'
says "$out" 'made/deeper/file'
gives 0 'diff --json' guard diff --json
ok 'is JSON' perl -MJSON::PP -0777 -ne 'decode_json($_)' "$out"
says "$out" '"level": "critical"'
says "$out" '"text": "runs when a shell starts"'
gives 0 'diff -z' guard diff -z
no 'has NULs' sh -c "tr -d '\\0' <'$out' | cmp -s - '$out'"

gives 0 'apply --dry-run' guard apply --dry-run
manifest "$HOME" >"$T/after"
ok 'changes nothing' same "$T/before" "$T/after"
gives 1 'apply without a yes' guard apply
gives 0 'neither leaves a snapshot behind' guard log
silent "$out" pre-apply

gives 0 'apply' guard apply -y
gives 0 'what was there before it is stored' guard log
says "$out" pre-apply
says src/f4.c 'return 400'
no 'deleted: a folder' test -e src/deep
no 'deleted: an ignored file' test -e data/rows.db
is "$(cat made/deeper/file)" new 'added'
is "$(stat -c %a run.sh)" 700 'mode'
is "$(readlink docs/dangling)" /elsewhere 'link'
is "$(getfattr --only-values -n user.colour notes.txt)" blue 'xattr'
is "$(stat -c %s data/blob.bin)" 100002 'binary'
no 'home is not applied by default' grep -q in-home ~/.bashrc
no 'nothing of overlayfs is left' sh -c \
	'getfattr -R -h -d -m - . 2>/dev/null | grep -a overlay'
manifest "$HOME/project" >"$T/applied"
gives 0 'undo' guard undo -y
manifest "$HOME" >"$T/after"
ok 'everything is as before the apply' same "$T/before" "$T/after"
gives 0 'undo of the undo' guard undo -y
manifest "$HOME/project" >"$T/after"
ok 'everything is as after the apply' same "$T/applied" "$T/after"
gives 0 'and undo again' guard undo -y
manifest "$HOME" >"$T/after"
ok 'everything is as before, again' same "$T/before" "$T/after"

ok 'the run waits again after the undo' test -n "$(guard status -q)"
ok 'it is discarded' guard discard -y

# --- a part of it ---
gives 0 'the same run once more' guard run -- sh "$work"
gives 0 'apply one path' guard apply -y src/f4.c
says src/f4.c 'return 400'
ok 'nothing else came along' test -e src/deep/er/file
gives 0 'what is applied is no change any more' guard diff --name-status
silent "$out" 'src/f4.c'
says "$out" 'rows.db'
gives 0 'discard one path' guard discard -y src/deep
gives 0 'what is discarded is no change any more' guard diff --name-status
silent "$out" 'src/deep'
says "$out" 'rows.db'
gives 0 'a change of home is applied by its path' guard apply -y ~/.bashrc
ok 'it alone' grep -q in-home ~/.bashrc
ok 'and taken back' guard undo -y -q
no 'as it was' grep -q in-home ~/.bashrc
gives 0 'discard the rest' guard discard -y
ok 'what was not applied did not happen' test -e data/rows.db
gives 0 'no run waits' guard status
is "$(guard status -q)" '' 'not one'
gives 0 'undo of the discard' guard undo -y
ok 'the run waits again' test -n "$(guard status -q)"
gives 0 'its diff' guard diff --name-status
says "$out" 'rows.db'
gives 0 'commit is another name for apply' guard commit -y
no 'deleted now' test -e data/rows.db
gives 1 'nothing is left to apply' guard apply -y

# --- without a terminal nothing is assumed ---
gives 0 'a run' guard run -q -- sh -c 'echo x >>README.md'
manifest . >"$T/before"
guard apply >"$out" 2>"$err" </dev/null
manifest . >"$T/after"
ok 'apply without a yes and a terminal changes nothing' \
	same "$T/before" "$T/after"
ok 'the run waits still' test -n "$(guard status -q)"
ok 'it is discarded' guard discard -y

# --- usage ---
gives 2 'an unknown verb' guard frobnicate
says "$err" 'frobnicate'
gives 2 'an unknown option' guard diff --frobnicate
gives 2 'no verb' guard
says "$err" 'discard    drop a run'
silent "$out" .
gives 0 'help' guard --help
says "$out" 'guard'
gives 0 'version' guard --version
for verb in run status diff apply discard undo snapshot log ls show restore; do
	gives 0 "$verb --help" guard $verb --help
done
# --- the home alone ---
gives 0 'a run that changes the home alone' \
	guard run -- sh -c 'echo mine >~/of-the-run'
silent "$err" 'guard apply'
gives 1 'has nothing to apply' guard apply -y
says "$err" 'takes one over'
ok 'and waits on' test -n "$(guard status -q)"
ok 'until it is discarded' guard discard -y

finish
