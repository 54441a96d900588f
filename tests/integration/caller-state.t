#!/bin/sh
# Unusual states of the caller: ignored or blocked signals, umasks, low limits,
# closed descriptors, a stopped command or guard. A command sees them as it does
# without guard.
# shellcheck source=tests/lib/tap.sh
# shellcheck disable=SC2016 # $ is expanded by the inner shells
. "${0%/*}/../lib/tap.sh"

mkdir "$HOME/project"
cd "$HOME/project" || exit 99
mkfifo "$T/go" "$T/come"

# alike WHAT SCRIPT: checks that output and status of the script are the same
# with guard in front of the command ($G) and without it
alike() {
	G='env' sh -c "$2" >"$T/bare" 2>&1 </dev/null
	echo "status $?" >>"$T/bare"
	G='guard run -q --' timeout -k 5 60 sh -c "$2" >"$out" 2>&1 </dev/null
	echo "status $?" >>"$out"
	guard discard -q -y >/dev/null 2>&1
	if cmp -s "$T/bare" "$out"; then
		pass "$1"
	else
		flunk "$1"
		diff "$T/bare" "$out" | sed 's/^/#   /'
	fi
}

# --- signals ---
alike 'guard ends with the status of the command where SIGCHLD is ignored' \
	'trap "" CHLD; exec $G sh -c "exit 3"'
alike 'ignored signals of the caller are ignored in the command' \
	'exec env --ignore-signal=PIPE,CHLD,USR1,TSTP,HUP $G \
		grep SigIgn /proc/self/status'
alike 'blocked signals of the caller are blocked in the command' \
	'exec env --block-signal=TERM,USR1,CHLD $G \
		grep SigBlk /proc/self/status'
alike 'all other signals have the state of the caller' \
	'exec $G grep -E "Sig(Ign|Blk)" /proc/self/status'

for signal in USR1 USR2 ALRM RTMIN; do
	: >"$T/heard" # the background process may truncate it too late
	guard run -q -- bash -c "trap 'echo heard; exit 4' $signal
		(trap 'exit 9' TERM; echo; while :; do read -r _; done) &
		wait" >"$T/heard" </dev/zero &
	runner=$!
	timeout 60 tail -s 0.02 -n +1 -f --pid=$runner "$T/heard" | head -n 1 >/dev/null
	kill -s $signal $runner
	wait $runner
	is $? 4 "guard forwards $signal to the command"
	is "$(tail -n 1 "$T/heard")" heard "the command handles $signal"
done

# --- stopped and woken ---

# until_state PID LETTER
until_state() {
	timeout 60 sh -c "until grep -q '^State:.$2' /proc/$1/status
		do sleep 0.02; done"
}

guard run -q -- sh -c 'exec 3<&0
	(read -r _ <&3; kill -CONT $$) & kill -STOP $$; echo woke; exit 6' \
	<"$T/go" >"$out" &
runner=$!
exec 8>"$T/go"
ok 'guard stops when its command stops' until_state $runner T
echo >&8
wait $runner
is $? 6 'guard continues when its command continues'
is "$(cat "$out")" woke 'a process of the run itself can continue the command'
exec 8>&-
gives 124 '--timeout ends a run with a stopped command' \
	timeout 60 guard run -q --timeout 1s -- sh -c 'kill -STOP $$'
# shellcheck disable=SC2016
gives 124 '--layer-size ends a run with a stopped command' \
	timeout 60 guard run -q --layer-size 8M -- sh -c '
	(while :; do head -c 1000000 /dev/zero; done >filled) & kill -STOP $$'
guard discard -q -y
guard run -q -- sh -c 'echo >up; kill -STOP $$; exit 5' &
runner=$!
until_state $runner T
kill -CONT $runner
wait $runner
is $? 5 'SIGCONT to guard continues its stopped command'
guard discard -q -y

# --- guard's stderr has no reader ---
mkfifo "$T/deaf"
(guard run -- sh -c 'read -r _; echo x >new' <"$T/go" 2>"$T/deaf"
	echo $? >"$T/status") &
runner=$!
exec 8>"$T/go"
head -c 1 <"$T/deaf" >/dev/null
echo >&8
exec 8>&-
wait $runner
is "$(cat "$T/status")" 0 'a run ends with 0 when no process reads its messages'
gives 0 'diff accepts the run' guard diff --name-status
says "$out" new
gives 0 'status accepts the run' guard status
silent "$out" interrupted
guard discard -q -y

# --- umask and limits ---
for mask in 022 077 000 777; do
	alike "the command has the umask $mask of the caller" "umask $mask; \$G sh -c 'umask; echo >made
		mkdir folder; stat -c %a made folder'; rm -rf made folder"
done
if [ "$me" = root ]; then
	mkdir -m 755 "/var/tmp/callers.$$"
	cd "/var/tmp/callers.$$" || exit 99
	umask 077
	gives 0 "root's umask does not exclude the user of --user from the project" \
		guard run -q --user 65534 -- pwd
	is "$(cat "$out")" "$PWD" 'the user of --user starts in the project'
	umask 022
	cd "$HOME/project" || exit 99
	rmdir "/var/tmp/callers.$$"
fi
alike 'a soft limit of 32 descriptors holds for the command only' \
	'ulimit -Sn 32; $G sh -c "ulimit -n; ulimit -Hn"'
alike 'a soft limit of the stack holds for the command only' \
	'ulimit -Ss 64; $G sh -c "ulimit -s; ulimit -Hs"'
alike 'a hard limit of 64 descriptors is enough' 'ulimit -n 64; $G sh -c "ulimit -n"'
gives 125 'guard refuses a hard limit of 16 descriptors' \
	sh -c 'ulimit -n 16; guard run -q -- true'
says "$err" 'ulimit -n'
gives 0 'guard started with a file size limit of 0 prints a message' \
	sh -c '(ulimit -f 0; guard run -q -- true 2>&1
	echo "status $?") | cat'
says "$out" 'ulimit -f'
says "$out" 'status 125'
gives 125 'guard refuses a hard limit of 64 KB for the stack' \
	sh -c 'ulimit -s 64; guard run -q -- true'
says "$err" 'ulimit -s'

# --- descriptors ---
alike 'a closed stdin is closed in the command' '$G cat <&-'
alike 'a closed stdout is closed in the command' '$G sh -c "echo lost || exit 4" >&-'
alike 'a closed stderr is closed in the command' '$G sh -c "echo lost >&2; echo \$?" 2>&-'
printf '%s\n' one two three >"$T/lines"
chmod 644 "$T/lines"
ln "$T/lines" "$T/other name"
exec 4<"$T/other name"
rm "$T/other name"
gives 0 'a deleted file can be stdin of a run' \
	sh -c 'guard run -q -- sh -c "readlink /proc/self/fd/0; cat" <&4'
says "$out" pipe:
is "$(tail -n 1 "$out")" three \
	'a deleted file reaches the command through a pipe'
exec 4<&-
alike 'the offset of a file on stdin continues after the run' \
	"{ read -r a; \$G sh -c 'read -r b; echo \$b'; read -r c; echo \$c
		} <'$T/lines'"
guard run -q -- sh -c 'echo; read -r _' <"$T/go" >"$T/come" &
runner=$!
exec 8>"$T/go"
read -r _ <"$T/come"
gives 0 'guard exec accepts a file on stdin that is read further afterwards' \
	sh -c "{ read -r a
	guard exec -q -- sh -c 'read -r b; echo \$b'; read -r c; echo \$c
	} <'$T/lines'"
is "$(tr '\n' ' ' <"$out")" 'two three ' \
	'the offset of a file on stdin continues after guard exec'
gives 1 'guard exec accepts a closed stdin' sh -c 'guard exec -q -- cat <&-'
says "$err" 'Bad file descriptor'
echo >&8
exec 8>&-
wait $runner
finish
