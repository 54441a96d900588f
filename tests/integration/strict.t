#!/bin/sh
# guard run --strict and --allow.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- strict ---
gives 0 'a command runs' guard run --strict -- sh -c 'echo new >made; cat made'
is "$(cat "$out")" new 'and writes the project'
says "$err" 'network: none'
gives 0 'apply works as ever' guard apply -y
is "$(cat made)" new 'it is there'
gives 0 'what changed nothing has no changes' guard run --strict -- true
says "$err" 'changed nothing'
gives 0 'the home folder is empty' guard run --strict -- ls -A "$HOME"
is "$(cat "$out")" project 'but for the project'
gives 0 'and can be written' guard run --strict -- \
	sh -c 'echo x >~/.config && cat ~/.config'
no 'which nobody sees' test -f "$HOME/.config"
gives 0 'there is a loopback and no more' guard run --strict -- \
	sh -c 'ls /sys/class/net >/dev/null; test "$(wc -l </proc/net/dev)" = 3'
gives 0 'no capability is left, and none can be had' guard run --strict -- \
	sh -c '! grep -E "^Cap...:.*[1-9a-f]" /proc/self/status &&
		grep -q "^NoNewPrivs:.1" /proc/self/status'
gives 0 'nothing of the machine can be written' guard run --strict -- sh -c \
	'for folder in / /usr /etc /var /srv; do
		! (echo >$folder/guard-x) 2>/dev/null || exit 1
	done; echo x >/var/tmp/x && echo x >/dev/shm/x'
gives 0 'the sizes are docker'\''s' guard run --strict -- sh -c \
	'test "$(df -m /tmp | awk "NR == 2 { print \$2 }")" = 512'
says "$err" 'memory: '
says "$err" 'processors: '
says "$err" 'processes: '
gives 0 'a hundred processes' guard run --strict -- \
	sh -c 'test "$(ulimit -u 2>/dev/null || ulimit -p)" -le 100'
gives 0 'tools work' guard run --strict -- sh -c \
	'git status >/dev/null && mkdir -p a/b && echo x >a/b/f && mv a/b c &&
	ln c/f d && test "$(stat -c %h d)" = 2 && rm -r c && echo >/dev/null && echo t >/tmp/t && mv /tmp/t .'
gives 1 '/tmp has a size' guard run --strict --tmp-size 1m -- \
	sh -c 'head -c 2000000 /dev/zero >/tmp/x'
gives 0 'what is said otherwise wins' guard run --strict --net host -- true
says "$err" 'network: host'
gives 125 'but sandboxes inside cannot be had' \
	guard run --strict --nested -- true
says "$err" '--nested'

# Its pipes cannot be used the other way: to tell lies to who reads on.
echo input | {
	guard run -q --strict -- sh -c 'read -r x; echo lies >/proc/self/fd/0'
	cat
} >"$T/left" 2>&1
is "$(grep -c lies "$T/left")" 0 'nothing is written into its input'
mkfifo "$T/go"
guard run -q --strict -- cat <"$T/go" >/dev/null 2>&1 &
pid=$!
exec 8>"$T/go"
until guard exec -- true >/dev/null 2>&1; do
	kill -0 "$pid" || break
	sleep 0.1
done
echo input | {
	guard exec -- sh -c 'read -r x; echo lies >/proc/self/fd/0; echo $x'
	cat
} >"$T/left" 2>&1 8>&-
exec 8>&-
wait "$pid"
is "$(grep -c lies "$T/left")" 0 'nor by who comes later'
is "$(grep -c input "$T/left")" 1 'who gets what is written there'

# --- allow ---
gives 125 'what is allowed has a name' guard run --allow nothing -- true
says "$err" '--allow is perf'
gives 0 'several things may be allowed' \
	guard run --allow perf --allow 32bit --allow userfaultfd \
	--allow io_uring -- true
finish
