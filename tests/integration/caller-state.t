#!/bin/sh
# Odd callers: signals ignored or blocked, masks, low limits, closed
# descriptors, a command or guard itself stopped and woken by somebody. The
# command notices as little of guard as it can.
# shellcheck source=tests/lib/tap.sh
# shellcheck disable=SC2016 # $ is for shells inside
. "${0%/*}/../lib/tap.sh"

mkdir "$HOME/project"
cd "$HOME/project" || exit 99
mkfifo "$T/go" "$T/come"

# alike WHAT SCRIPT: says the same and ends alike with guard in front of the
# command, where the script has $G, as without.
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
alike 'children whose ends nobody is told of' \
	'trap "" CHLD; exec $G sh -c "exit 3"'
alike 'ignored signals stay ignored' \
	'exec env --ignore-signal=PIPE,CHLD,USR1,TSTP,HUP $G \
		grep SigIgn /proc/self/status'
alike 'blocked ones stay blocked' \
	'exec env --block-signal=TERM,USR1,CHLD $G \
		grep SigBlk /proc/self/status'
alike 'others are as they were' 'exec $G grep -E "Sig(Ign|Blk)" /proc/self/status'

for signal in USR1 USR2 ALRM RTMIN; do
	: >"$T/heard" # the one in the background may be late with it
	guard run -q -- bash -c "trap 'echo heard; exit 4' $signal
		(trap 'exit 9' TERM; echo; while :; do read -r _; done) &
		wait" >"$T/heard" </dev/zero &
	runner=$!
	timeout 60 tail -s 0.02 -n +1 -f --pid=$runner "$T/heard" | head -n 1 >/dev/null
	kill -s $signal $runner
	wait $runner
	is $? 4 "$signal reaches the command"
	is "$(tail -n 1 "$T/heard")" heard 'and is taken'
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
ok 'guard stops as its command does' until_state $runner T
echo >&8
wait $runner
is $? 6 'and goes on when it does'
is "$(cat "$out")" woke 'which was let go by the run itself'
exec 8>&-
gives 124 'a stopped command still has its time' \
	timeout 60 guard run -q --timeout 1s -- sh -c 'kill -STOP $$'
# shellcheck disable=SC2016
gives 124 'and the rest of its run no more room than before' \
	timeout 60 guard run -q --layer-size 8M -- sh -c '
	(while :; do head -c 1000000 /dev/zero; done >filled) & kill -STOP $$'
guard discard -q -y
guard run -q -- sh -c 'echo >up; kill -STOP $$; exit 5' &
runner=$!
until_state $runner T
kill -CONT $runner
wait $runner
is $? 5 'who lets guard go on lets the command go on'
guard discard -q -y

# --- nobody hears ---
mkfifo "$T/deaf"
(guard run -- sh -c 'read -r _; echo x >new' <"$T/go" 2>"$T/deaf"
	echo $? >"$T/status") &
runner=$!
exec 8>"$T/go"
head -c 1 <"$T/deaf" >/dev/null
echo >&8
exec 8>&-
wait $runner
is "$(cat "$T/status")" 0 'a run whose messages nobody reads ends in order'
gives 0 'its result' guard diff --name-status
says "$out" new
gives 0 'and its state' guard status
silent "$out" interrupted
guard discard -q -y

# --- masks, limits ---
for mask in 022 077 000 777; do
	alike "umask $mask" "umask $mask; \$G sh -c 'umask; echo >made
		mkdir folder; stat -c %a made folder'; rm -rf made folder"
done
if [ "$me" = root ]; then
	mkdir -m 755 "/var/tmp/callers.$$"
	cd "/var/tmp/callers.$$" || exit 99
	umask 077
	gives 0 'a mask of root'\''s shuts no other user out' \
		guard run -q --user 65534 -- pwd
	is "$(cat "$out")" "$PWD" 'from the project'
	umask 022
	cd "$HOME/project" || exit 99
	rmdir "/var/tmp/callers.$$"
fi
alike 'few descriptors' 'ulimit -Sn 32; $G sh -c "ulimit -n; ulimit -Hn"'
alike 'a small stack' 'ulimit -Ss 64; $G sh -c "ulimit -s; ulimit -Hs"'
alike 'enough descriptors' 'ulimit -n 64; $G sh -c "ulimit -n"'
gives 125 'too few descriptors' sh -c 'ulimit -n 16; guard run -q -- true'
says "$err" 'ulimit -n'
gives 0 'too small files' sh -c '(ulimit -f 0; guard run -q -- true 2>&1
	echo "status $?") | cat'
says "$out" 'ulimit -f'
says "$out" 'status 125'
gives 125 'too small a stack' sh -c 'ulimit -s 64; guard run -q -- true'
says "$err" 'ulimit -s'

# --- descriptors ---
alike 'no stdin' '$G cat <&-'
alike 'no stdout' '$G sh -c "echo lost || exit 4" >&-'
alike 'no stderr' '$G sh -c "echo lost >&2; echo \$?" 2>&-'
printf '%s\n' one two three >"$T/lines"
chmod 644 "$T/lines"
ln "$T/lines" "$T/other name"
exec 4<"$T/other name"
rm "$T/other name"
gives 0 'a file that cannot be opened again' \
	sh -c 'guard run -q -- sh -c "readlink /proc/self/fd/0; cat" <&4'
says "$out" pipe:
is "$(tail -n 1 "$out")" three 'goes through a pipe'
exec 4<&-
alike 'a file that is read on by the next' \
	"{ read -r a; \$G sh -c 'read -r b; echo \$b'; read -r c; echo \$c
		} <'$T/lines'"
guard run -q -- sh -c 'echo; read -r _' <"$T/go" >"$T/come" &
runner=$!
exec 8>"$T/go"
read -r _ <"$T/come"
gives 0 'and by one who came into the run' sh -c "{ read -r a
	guard exec -q -- sh -c 'read -r b; echo \$b'; read -r c; echo \$c
	} <'$T/lines'"
is "$(tr '\n' ' ' <"$out")" 'two three ' 'line after line'
gives 1 'no stdin there' sh -c 'guard exec -q -- cat <&-'
says "$err" 'Bad file descriptor'
echo >&8
exec 8>&-
wait $runner
finish
