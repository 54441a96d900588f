#!/bin/sh
# A large directory outside of the home that is no git repository is not stored
# unasked. Its runs can be reviewed and applied all the same.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

pty=$(dirname "$(command -v guard)")/tests/lib/pty
large=$T/large
make_large() {
	mkdir "$1" "$1/sub"
	(cd "$1" && seq 120 | split -l 1 -a 2)
	for f in edited theirs later; do seq 20 >"$1/$f"; done
	echo x >"$1/sub/file"
	ln -s sub "$1/link"
}
mkdir -p "$state"
chmod 700 "$state"
echo 'ask-above = 100 files' >"$state/config"
make_large "$large"
cd "$large" || exit 99
snapshots() { guard log | awk '{ print $4 }'; }
files_of() {
	(cd "$large" && guard log) |
		awk -v kind="$1" '$4 == kind { print $6; exit }'
}
# begin COMMANDS: a run that waits for `finish_run`.
begin() {
	rm -f "$T/go"
	: >"$T/live.out"
	mkfifo "$T/go"
	guard run -- sh -c "$1; echo begun; read line" <>"$T/go" \
		>"$T/live.out" 2>"$T/live.err" &
	guard=$!
	until grep -q begun "$T/live.out"; do kill -0 "$guard" || break; done
}
finish_run() {
	kill -0 "$guard" && echo go >"$T/go"
	wait "$guard"
}

# --- a run ---
gives 0 'a run that changes nothing is accepted' guard run -- true
settle
gives 0 'a run is accepted' guard run -- sh -c '
	echo new >xaa; rm xab; mkdir made; echo in >made/file; mv xac moved
	rm -r sub; chmod 600 xad; ln -sf xae link'
says "$err" "'$large' ("
says "$err" ' files) was not stored: guard snapshot stores it'
silent "$err" 'Store it?'
settle
is "$(snapshots)" 'post-run
pre-run' 'one snapshot before the run and one after it exist'
ok 'the snapshot before the run has the changed files alone' \
	test "$(files_of pre-run)" -lt 10
gives 0 'status shows the run' guard status
gives 0 'diff shows the changes' guard diff
says "$out" '+new'
gives 0 'patch writes the changes' guard patch
says "$out" '+new'
gives 0 'export is accepted' guard export --tar
find . | sort >"$T/before"
gives 0 'apply is accepted' guard apply -y
is "$(cat xaa made/file moved)" "$(printf 'new\nin\n3')" 'files are applied'
is "$(readlink link)" xae 'a link is applied'
is "$(stat -c %a xad)" 600 'a mode is applied'
no 'deleted files are gone' ls -d xab xac sub
ok 'the snapshot before the apply has few files' \
	test "$(files_of pre-apply)" -lt 10
gives 0 'undo is accepted' guard undo -y
find . | sort >"$T/after"
ok 'undo brings back every file' restored "$T/before" "$T/after"
is "$(cat xaa sub/file)" "$(printf '1\nx')" 'undo brings back the content'
gives 0 'discard is accepted' guard discard -y

# --- edits of the user ---
begin 'echo run >>edited; echo run >>theirs; rm xba; echo run >xbb
	echo run >>later; echo run >new'
sed -i 's/^1$/mine/' edited theirs
echo mine >xba
echo mine >xbc
finish_run
sed -i 's/^1$/mine/' later
gives 1 'apply refuses files that were edited during the run' guard apply -y
says "$err" edited
says "$err" xba
says "$err" 'changed'
silent "$err" later
is "$(cat xbb xba)" "$(printf '28\nmine')" 'nothing was applied'
gives 0 'apply of the other files is accepted' guard apply -y xbb later new
is "$(cat xbb new)" "$(printf 'run\nrun')" 'they are applied'
is "$(sed -n '1p;$p' later)" "$(printf 'mine\nrun')" \
	'an edit after the run is merged'
gives 0 'apply --theirs is accepted' guard apply -y --theirs
is "$(tail -n 1 edited)" run 'the file of the run is there'
no 'the file that it deleted is gone' test -e xba
is "$(cat xbc)" mine 'a file that the run did not change is left'

# --- a live run, and a run that goes on ---
begin 'echo one >xca; echo one >xcb; echo new >live'
gives 0 'apply of a live run is accepted' guard apply -y xca live
is "$(cat xca live)" "$(printf 'one\nnew')" 'its files are there'
finish_run
gives 0 'a command in the ended run is accepted' \
	guard exec latest -- sh -c 'echo two >xca; echo two >xcc'
gives 0 'the rest is applied' guard apply -y
is "$(cat xca xcb xcc)" "$(printf 'two\none\ntwo')" 'all files are there'
gives 0 'no run is pending' guard status
is "$(cat "$out")" '' '... in the list'

# --- killed ---
begin 'echo killed >xda'
kill -9 "$guard"
wait "$guard" 2>"$T/meanwhile"
settle
echo mine >xdb
gives 0 'a run whose guard was killed can be applied' guard apply -y
is "$(cat xda xdb)" "$(printf 'killed\nmine')" 'its file is there'

# --- the question ---
# at_terminal TITLE: a run at a terminal, played by the script on stdin
at_terminal() {
	cat - >"$T/script"
	gives 0 "$1" "$pty" "$T/script" guard run -- true
}
at_terminal 'a terminal is asked' <<'END'
< ' holds
< and is no git repository. Store it? [y/N]
> n\r
end 0
END
at_terminal 'a terminal is not asked again after no' <<'END'
! Store it?
< was not stored: guard snapshot stores it
end 0
END
gives 0 'a quiet run is accepted' guard run -q -- true
silent "$err" 'not stored'
cp -a "$large" "$T/large-2"
cd "$T/large-2" || exit 99
gives 0 'a run in another directory is accepted' guard run -- touch one
at_terminal 'yes is accepted' <<'END'
< Store it? [y/N]
> y\r
< in the background
end 0
END
settle
gives 0 'the whole directory is stored' guard show xaa
is "$(cat "$out")" 1 '... with its content'
gives 0 'a run after yes is accepted' guard run -- sh -c 'echo other >xaa'
silent "$err" 'not stored'
settle
ok 'the snapshot before that run is complete' test "$(cd "$T/large-2" &&
	guard log | awk '$4 == "pre-run" { print $6; exit }')" -gt 100

# --- directories that are stored unasked ---
make_large "$HOME/large"
cd "$HOME/large" || exit 99
gives 0 'a run in the home is accepted' guard run -- touch one
silent "$err" 'not stored'
make_large "$T/large-3"
cd "$T/large-3" || exit 99
git init -q
gives 0 'a run in a git repository is accepted' guard run -- touch one
silent "$err" 'not stored'
make_large "$T/large-4"
cd "$T/large-4" || exit 99
echo 'ask-above = 100 files
ask-above = no' >"$state/config"
gives 0 'a run without a limit is accepted' guard run -- touch one
silent "$err" 'not stored'
rm -r "$T/large-4/sub"
make_large "$T/large-5"
cd "$T/large-5" || exit 99
head -c 3000000 /dev/zero >bytes
echo 'ask-above = 2M' >"$state/config"
gives 0 'a run above a limit of bytes is accepted' guard run -- touch one
says "$err" 'was not stored'
echo 'ask-above = 2 things' >"$state/config"
gives 1 'another unit is refused' guard snapshot
says "$err" 'write 4G, 200000 files or no'

finish
