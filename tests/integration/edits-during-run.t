#!/bin/sh
# Edits of the user during a run: the edits that the run sees; apply loses none
# of them. docs/layers.md has the table.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

watcher=/opt/guard/build/tests/lib/watcher
make_home
cd "$HOME/project" || exit 99
mkdir -p "$HOME/gate" folder
mkfifo "$HOME/gate/go" "$HOME/gate/back"
for name in in-place saved looked-saved gone looked-gone copied folder/x; do
	echo old >$name
done

# begin NAME...: starts a run that has read these files and executes lines from
# the gate. It returns after the first snapshot: an earlier edit would be a
# conflict of another kind.
begin() {
	: >"$T/live.err" # the one in the background may be late with it
	guard run --rw "$HOME/gate" -- sh -c '
		cat '"$*"' >/dev/null; : >ready
		while :; do read -r line <~/gate/go && eval "$line"; done' \
		>"$T/live.out" 2>"$T/live.err" &
	guard=$!
	until run=$(sed -n 's/^guard: run \([^ ]*\) in .*/\1/p' \
		"$T/live.err") && [ -n "$run" ] &&
		[ -e "$state/runs/$run/upper/ready" ]; do
		kill -0 "$guard" || break
	done
	base_stored "$run"
}
# inside COMMAND: prints the output of the command in the run, "-" when it fails
inside() {
	said='>/tmp/said 2>&1 || echo - >/tmp/said; cat /tmp/said >~/gate/back'
	echo "{ $1; } $said" >"$HOME/gate/go"
	timeout 60 cat "$HOME/gate/back"
}
out() {
	echo 'exit 0' >"$HOME/gate/go"
	wait "$guard"
}
# save NAME TEXT: saves the file by a rename, as editors do
save() {
	echo "$2" >"$1.tmp~"
	mv "$1.tmp~" "$1"
}

begin looked-saved looked-gone
echo new >in-place
is "$(inside 'cat in-place')" new 'the run sees an edit in place at once'
save saved new
is "$(inside 'cat saved')" new 'the run sees a file saved by a rename'
save looked-saved new
case $(inside 'cat looked-saved') in
old | new) pass 'a file that the run has read has its old or its new content' ;;
*) flunk 'a file that the run has read has its old or its new content' ;;
esac
rm gone
is "$(inside 'cat gone 2>/dev/null')" - \
	'the run does not see a file that the user deleted'
rm looked-gone
case $(inside 'cat looked-gone 2>/dev/null') in
old | -) pass 'a deleted file that the run has read has its old content or is gone' ;;
*) flunk 'a deleted file that the run has read has its old content or is gone' ;;
esac
echo new >fresh
is "$(inside 'cat fresh')" new 'the run sees a new file'
is "$(inside 'echo run >>copied; cat copied')" 'old
run' 'the run changes a file'
echo new >copied
is "$(inside 'cat copied')" 'old
run' 'the run does not see later edits of a file that it has changed'

# --- apply after edits of both sides ---
inside 'echo run >>looked-saved; echo run >looked-gone; rm -rf folder' >"$out"
mkdir -p folder
echo user >folder/new
out
gives 1 'apply refuses files that both sides changed' guard apply -y "$run"
says "$err" "'copied': changed on both sides"
says "$err" "'looked-saved'"
says "$err" "'looked-gone'"
says "$err" "'folder/new'"
is "$(cat copied looked-saved folder/new)" 'new
new
user' 'the refused apply keeps all edits'
no 'the refused apply does not bring back a deleted file' test -e looked-gone
gives 0 'discard drops the run' guard discard -y "$run"

# --- inotify and servers ---
gives 0 'inotify works in a run' guard run -q -- "$watcher" watch . \
	'echo x >made; echo y >>in-place; mv made moved; rm saved'
is "$(sort "$out" | tr '\n' ' ')" 'in-place made moved saved ' \
	'inotify reports writes of the run itself'
gives 0 'discard drops the run of inotify' guard discard -y
guard run -q -- "$watcher" serve port >"$T/live.out" 2>"$T/live.err" &
guard=$!
until run=$(guard status -q) && [ -n "$run" ] &&
	port=$(cat "$state/runs/$run/upper/port" 2>/dev/null); do
	kill -0 "$guard" || break
done
is "$("$watcher" fetch "$port")" served \
	'a server in a run can be reached from outside'
wait "$guard"
gives 0 'a server works in a run without network' \
	guard run -q --net none -- sh -c \
	"$watcher serve port2 & until [ -e port2 ]; do :; done
	$watcher fetch \$(cat port2)"
is "$(cat "$out")" served 'that server can be reached in the run'
no 'that server cannot be reached from outside' "$watcher" fetch \
	"$(cat "$state/runs/$(guard status -q | tail -n 1)/upper/port2")"

# --- the project has moved since the run ---
mkdir "$HOME/moving"
cd "$HOME/moving" || exit 99
echo old >file
gives 0 'a run changes a file before the project moves' \
	guard run -q -- sh -c 'echo new >file'
run=$(guard status -q)
cd "$HOME" || exit 99
mv moving elsewhere
for verb in 'apply -y' diff patch; do
	# shellcheck disable=SC2086 # words
	no "'$verb' is refused where the project was" guard $verb "$run"
	# shellcheck disable=SC2086 # words
	guard $verb "$run" >"$out" 2>"$err" </dev/null
	says "$err" "'$HOME/moving' no longer exists"
done
ln -s elsewhere moving
gives 1 "apply is refused when a symbolic link is in the project's place" \
	guard apply -y "$run"
says "$err" 'reached through a link'
rm moving
mv elsewhere moving
cd moving || exit 99
gives 0 'apply is accepted when the project is back' guard apply -q -y
is "$(cat file)" new 'apply writes the file'

# --- a process has a replaced file open for writing ---
mkdir "$HOME/held"
cd "$HOME/held" || exit 99
echo old >replaced
echo old >removed
ok 'a run replaces one file and deletes another' \
	guard run -q -- sh -c 'echo new >replaced; rm removed'
run=$(guard status -q)
cd "$HOME/held" || exit 99
for file in replaced removed; do
	exec 5>>$file
	gives 1 "apply is refused while '$file' is open for writing" \
		guard apply -q -y
	says "$err" "'$file': another program has it open for writing"
	exec 5>&-
	is "$(cat replaced removed)" "$(printf 'old\nold')" \
		"the refused apply changes no file ('$file')"
	is "$(guard status -q)" "$run" \
		"the run is pending after the refused apply ('$file')"
done
exec 5<replaced
gives 0 'apply is accepted while a file is open for reading' guard apply -q -y
exec 5<&-
exec 5>>replaced
gives 1 'undo is refused while a file is open for writing' guard undo -q -y
says "$err" 'open for writing'
exec 5>&-
is "$(cat replaced)" new 'the refused undo changes no file'
ok 'undo is accepted after the file is closed' guard undo -q -y
is "$(cat replaced removed)" "$(printf 'old\nold')" 'undo restores both files'
ok 'discard drops the run of open files' guard discard -q -y
# An open file in a directory that apply deletes, and in a directory that undo
# deletes.
mkdir -p folder/in/deep
echo old >folder/in/deep/file
echo old >folder/beside
ok 'a run deletes a directory and creates another' guard run -q -- sh -c \
	'rm -r folder; mkdir -p new/in; echo new >new/in/file'
exec 5>>folder/in/deep/file
gives 1 'apply is refused while a file of the deleted directory is open' \
	guard apply -q -y
says "$err" "'folder': another program has 'in/deep/file' in it open"
echo user >&5
exec 5>&-
is "$(cat folder/in/deep/file folder/beside)" "$(printf 'old\nuser\nold')" \
	'text written to the open file is kept'
gives 1 'apply is refused after that file was changed' guard apply -q -y
echo old >folder/in/deep/file
exec 5<folder/in/deep/file
gives 0 'apply is accepted while the file is open for reading' guard apply -q -y
exec 5<&-
no 'apply deletes the directory' test -e folder
exec 5>>new/in/file
gives 1 'undo is refused while a file of the new directory is open' \
	guard undo -q -y
says "$err" "'new': another program has 'in/file' in it open"
exec 5>&-
gives 0 'undo is accepted after that file is closed' guard undo -q -y
is "$(find . -path ./new -o -name file)" ./folder/in/deep/file \
	'undo brings back the deleted directory'
ok 'discard drops the run of directories' guard discard -q -y
finish
