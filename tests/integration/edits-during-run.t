#!/bin/sh
# The user goes on working while a run does: what the run sees of it, and that
# an apply loses none of it. docs/layers.md has the table.
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

# begin NAME...: a run that has looked at these, and does what comes in at the
# gate. What the user edits before the version of the start is stored is a
# conflict of another kind: it is waited for.
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
# inside COMMAND: what it prints in the run; "-" when it fails
inside() {
	said='>/tmp/said 2>&1 || echo - >/tmp/said; cat /tmp/said >~/gate/back'
	echo "{ $1; } $said" >"$HOME/gate/go"
	timeout 60 cat "$HOME/gate/back"
}
out() {
	echo 'exit 0' >"$HOME/gate/go"
	wait "$guard"
}
# save NAME TEXT: as editors do
save() {
	echo "$2" >"$1.tmp~"
	mv "$1.tmp~" "$1"
}

begin looked-saved looked-gone
echo new >in-place
is "$(inside 'cat in-place')" new 'an edit in place is seen at once'
save saved new
is "$(inside 'cat saved')" new 'so is a file saved by a rename'
save looked-saved new
case $(inside 'cat looked-saved') in
old | new) pass 'one that the run has looked at is seen old or new' ;;
*) flunk 'one that the run has looked at is seen old or new' ;;
esac
rm gone
is "$(inside 'cat gone 2>/dev/null')" - 'a file that was deleted is gone'
rm looked-gone
case $(inside 'cat looked-gone 2>/dev/null') in
old | -) pass 'one that the run has looked at is there or gone' ;;
*) flunk 'one that the run has looked at is there or gone' ;;
esac
echo new >fresh
is "$(inside 'cat fresh')" new 'a new file is seen'
is "$(inside 'echo run >>copied; cat copied')" 'old
run' 'the run edits a file'
echo new >copied
is "$(inside 'cat copied')" 'old
run' 'and sees the edits of the user no more'

# --- an apply loses none of it ---
inside 'echo run >>looked-saved; echo run >looked-gone; rm -rf folder' >"$out"
mkdir -p folder
echo user >folder/new
out
gives 1 'what both changed is a conflict' guard apply -y "$run"
says "$err" "'copied': changed on both sides"
says "$err" "'looked-saved'"
says "$err" "'looked-gone'"
says "$err" "'folder/new'"
is "$(cat copied looked-saved folder/new)" 'new
new
user' 'and nothing is lost'
no 'nor brought back' test -e looked-gone
gives 0 'it is dropped' guard discard -y "$run"

# --- watching, serving ---
gives 0 'inotify in a run' guard run -q -- "$watcher" watch . \
	'echo x >made; echo y >>in-place; mv made moved; rm saved'
is "$(sort "$out" | tr '\n' ' ')" 'in-place made moved saved ' \
	'tells of its own writes'
gives 0 'it is dropped' guard discard -y
guard run -q -- "$watcher" serve port >"$T/live.out" 2>"$T/live.err" &
guard=$!
until run=$(guard status -q) && [ -n "$run" ] &&
	port=$(cat "$state/runs/$run/upper/port" 2>/dev/null); do
	kill -0 "$guard" || break
done
is "$("$watcher" fetch "$port")" served \
	'a server in a run is reached from outside'
wait "$guard"
gives 0 'without a network' guard run -q --net none -- sh -c \
	"$watcher serve port2 & until [ -e port2 ]; do :; done
	$watcher fetch \$(cat port2)"
is "$(cat "$out")" served 'it is reached from inside'
no 'and from nowhere else' "$watcher" fetch \
	"$(cat "$state/runs/$(guard status -q | tail -n 1)/upper/port2")"

# --- a project that is somewhere else now ---
mkdir "$HOME/moving"
cd "$HOME/moving" || exit 99
echo old >file
gives 0 'a run' guard run -q -- sh -c 'echo new >file'
run=$(guard status -q)
cd "$HOME" || exit 99
mv moving elsewhere
for verb in 'apply -y' diff patch; do
	# shellcheck disable=SC2086 # words
	no "$verb where it was" guard $verb "$run"
	# shellcheck disable=SC2086 # words
	guard $verb "$run" >"$out" 2>"$err" </dev/null
	says "$err" "'$HOME/moving' is gone"
done
ln -s elsewhere moving
gives 1 'a link in its place' guard apply -y "$run"
says "$err" 'reached by a link'
rm moving
mv elsewhere moving
cd moving || exit 99
gives 0 'put back' guard apply -q -y
is "$(cat file)" new 'it is applied'

# --- held open for writing by somebody, who would write to nowhere ---
mkdir "$HOME/held"
cd "$HOME/held" || exit 99
echo old >replaced
echo old >removed
ok 'a run' guard run -q -- sh -c 'echo new >replaced; rm removed'
run=$(guard status -q)
cd "$HOME/held" || exit 99
for file in replaced removed; do
	exec 5>>$file
	gives 1 "an apply while $file is open" guard apply -q -y
	says "$err" "'$file': another program has it open for writing"
	exec 5>&-
	is "$(cat replaced removed)" "$(printf 'old\nold')" 'all is as before'
	is "$(guard status -q)" "$run" 'and the run waits'
done
exec 5<replaced
gives 0 'one who reads does not matter' guard apply -q -y
exec 5<&-
exec 5>>replaced
gives 1 'an undo while it is open' guard undo -q -y
says "$err" 'open for writing'
exec 5>&-
is "$(cat replaced)" new 'changes nothing'
ok 'afterwards' guard undo -q -y
is "$(cat replaced removed)" "$(printf 'old\nold')" 'it is taken back'
ok 'and dropped' guard discard -q -y
# In a folder that goes as a whole, and made by the run: an undo takes it away.
mkdir -p folder/in/deep
echo old >folder/in/deep/file
echo old >folder/beside
ok 'a run' guard run -q -- sh -c \
	'rm -r folder; mkdir -p new/in; echo new >new/in/file'
exec 5>>folder/in/deep/file
gives 1 'an apply while a file below is open' guard apply -q -y
says "$err" "'folder': another program has 'in/deep/file' in it open"
echo user >&5
exec 5>&-
is "$(cat folder/in/deep/file folder/beside)" "$(printf 'old\nuser\nold')" \
	'what was written is there'
gives 1 'an apply over what was written' guard apply -q -y
echo old >folder/in/deep/file
exec 5<folder/in/deep/file
gives 0 'one who reads it does not matter' guard apply -q -y
exec 5<&-
no 'it is gone' test -e folder
exec 5>>new/in/file
gives 1 'an undo while one is open' guard undo -q -y
says "$err" "'new': another program has 'in/file' in it open"
exec 5>&-
gives 0 'afterwards' guard undo -q -y
is "$(find . -path ./new -o -name file)" ./folder/in/deep/file \
	'it is taken back'
ok 'and dropped' guard discard -q -y
finish
