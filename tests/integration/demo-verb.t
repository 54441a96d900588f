#!/bin/sh
# guard demo: it plays to its end, in a directory that it removes, and touches
# neither the home directory nor the state of the user. tests/demo checks what its
# steps do.
# shellcheck disable=SC2317 # demo is called through gives
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
git config --global user.name tester
cd "$HOME/project" || exit 99
guard run -q -- touch pending >"$out" 2>"$err"
settle
manifest "$HOME" >"$T/before"
find "$state" ! -name '*log*' >"$T/state"

# demo COMMAND...: with variables that would lead out of the demo's directory
demo() {
	env TMPDIR=/var/tmp GIT_DIR="$HOME/project/.git" GIT_AUTHOR_NAME=other \
		XDG_CONFIG_HOME="$HOME/config" GUARD_PAGER=false "$@"
}
# removed TITLE
removed() {
	is "$(find /var/tmp /tmp -maxdepth 1 -name 'guard-demo*')" '' "$1"
}

gives 0 'demo without a terminal plays to its end' demo guard demo
removed '... and removes its directory'
says "$out" '$ guard run -- sh ~/agent.sh'
says "$out" ' !! 5 deleted files have no other copy: .env'
says "$out" '$ rm -rf ~'
# Examples of hooks, of which each version of git has others, are among them.
ok 'the restored project has its files' \
	grep -qE 'home/projects/greeter/  7[0-9] new files, 3.1 MB' "$out"
is "$(tail -n 2 "$out" | head -n 1)" \
	'In a project of your own: guard run -- COMMAND' '... the last line'
silent "$out" 'is not visible'
silent "$err" 'not passed on: TMPDIR'
is "$(grep -c '^guard demo' "$err")" 0 '... without an error'
gives 2 'demo with an operand is refused' guard demo now

# --- a terminal ---
# typed KEYS...: what guard demo prints on a terminal of 40 columns
typed() {
	printf '%s\n' "$@" | timeout 60 script -q -e -c \
		'stty cols 40; guard demo' /dev/null | tr -d '\r' >"$out"
}
typed '' '' >"$T/log" 2>&1
says "$out" 'Enter executes each command'
says "$out" notes.md
silent "$out" 'All done!'
removed 'demo that reads the end of its input removes its directory'
gives 0 'demo -y on a terminal waits for no key' answers 'demo -y'
says "$out" 'In a project of your own'
removed '... and removes its directory'

# --- signals ---
# A process group of its own gets the signal, as of Ctrl-C: while a command of
# guard works, and while demo waits for Enter.
for signal in INT TERM HUP; do
	mkfifo "$T/$signal"
	: >"$T/shown" # without what the last one showed
	env --default-signal=INT setsid --wait script -q -c \
		'echo $$; exec guard demo' /dev/null \
		<>"$T/$signal" >"$T/shown" 2>&1 &
	demo=$!
	until grep -q 'oneline --all' "$T/shown"; do
		kill -0 $demo || break
	done
	pid=$(head -n 1 "$T/shown" | tr -d '\r')
	# A signal just before the shell reads waits for the next key.
	until grep -q '^State:.S' "/proc/$pid/status"; do
		kill -0 "$pid" || break
	done
	kill -s $signal -- "-$pid"
	timeout 60 tail -s 0.02 --pid="$demo" -f /dev/null
	removed "SIG$signal at a question ends demo and removes its directory"
done
: >"$T/shown"
env --default-signal=INT setsid --wait sh -c 'echo $$ >"$1"; exec guard demo' sh "$T/pid" \
	>"$T/shown" 2>&1 </dev/null &
demo=$!
until grep -q 'cd chapters' "$T/shown"; do kill -0 $demo || break; done
kill -s INT -- "-$(cat "$T/pid")"
wait $demo
is $? 130 'SIGINT during a run ends demo with 130'
removed '... and removes its directory'
mkdir "$T/deleted"
(
	cd "$T/deleted" || exit
	rmdir "$T/deleted"
	guard demo 2>"$err" | head -n 3 >"$out"
)
settle
removed 'demo into a closed pipe removes its directory'
is "$(cat "$err")" '' '... without a message, also in a deleted directory'

# --- missing parts of the machine ---
gives 1 'demo is refused where TMPDIR cannot be written' \
	env TMPDIR=/proc/self guard demo
says "$err" "cannot make a directory in '/proc/self': set TMPDIR to another"
mkdir "$T/bin"
for tool in sh mktemp realpath mkdir ln rm chmod awk; do
	ln -s "$(command -v $tool)" "$T/bin/"
done
gives 1 'demo is refused without git' env PATH="$T/bin" "$(command -v guard)" demo
is "$(cat "$err")" 'guard demo: git is not installed' '... by name'
gives 1 'demo is refused where namespaces are forbidden' \
	/opt/guard/build/tests/lib/refuse mount 1 guard demo
says "$err" 'missing '
says "$err" 'a seccomp filter around guard forbids it'
says "$err" 'guard demo: guard run does not work here'
removed '... and removes its directory'
gives 1 'demo is refused inside of a run' guard run -q -- guard demo
silent "$out" agent.sh

# --- nothing of the user was touched ---
settle
manifest "$HOME" >"$T/after"
ok 'the home directory is unchanged' same "$T/before" "$T/after"
is "$(guard status -q | wc -l)" 1 "the user's own run is still pending"
no 'no configuration was read' test -e "$HOME/config"
finish
