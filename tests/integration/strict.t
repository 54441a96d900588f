#!/bin/sh
# guard run --strict and --allow.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- strict ---
gives 0 '--strict: a command runs and writes a file' \
	guard run --strict -- sh -c 'echo new >made; cat made'
is "$(cat "$out")" new '--strict: the command sees its file'
says "$err" 'network: none'
gives 0 'apply accepts a run with --strict' guard apply -y
is "$(cat made)" new 'apply writes the file'
gives 0 '--strict: a run without changes has none' guard run --strict -- true
says "$err" 'changed nothing'
gives 0 '--strict: ls of the home ends with 0' \
	guard run --strict -- ls -A "$HOME"
is "$(cat "$out")" project '--strict: the home contains only the project'
gives 0 '--strict: the home can be written' guard run --strict -- \
	sh -c 'echo x >~/.config && cat ~/.config'
no '--strict: files in the home are not kept' test -f "$HOME/.config"
gives 0 '--strict: the network is a loopback only' guard run --strict -- \
	sh -c 'ls /sys/class/net >/dev/null; test "$(wc -l </proc/net/dev)" = 3'
gives 0 '--strict: there is no capability and no way to get one' \
	guard run --strict -- \
	sh -c '! grep -E "^Cap...:.*[1-9a-f]" /proc/self/status &&
		grep -q "^NoNewPrivs:.1" /proc/self/status'
gives 0 '--strict: no directory of the machine can be written' \
	guard run --strict -- sh -c \
	'for folder in / /usr /etc /var /srv; do
		! (echo >$folder/guard-x) 2>/dev/null || exit 1
	done; echo x >/var/tmp/x && echo x >/dev/shm/x'
gives 0 "--strict: /tmp and /dev/shm have docker's sizes" \
	guard run --strict -- sh -c \
	'test "$(df -m /tmp | awk "NR == 2 { print \$2 }")" = 512'
says "$err" 'memory: '
says "$err" 'processors: '
says "$err" 'processes: '
gives 0 '--strict: a run can have one hundred processes' guard run --strict -- \
	sh -c 'test "$(ulimit -u 2>/dev/null || ulimit -p)" -le 100'
gives 0 '--strict: common tools work' guard run --strict -- sh -c \
	'git status >/dev/null && mkdir -p a/b && echo x >a/b/f && mv a/b c &&
	ln c/f d && test "$(stat -c %h d)" = 2 && rm -r c && echo >/dev/null && echo t >/tmp/t && mv /tmp/t .'
gives 1 '--strict with --tmp-size limits /tmp' \
	guard run --strict --tmp-size 1m -- \
	sh -c 'head -c 2000000 /dev/zero >/tmp/x'
gives 0 '--strict with --net host has the network of the host' \
	guard run --strict --net host -- true
says "$err" 'network: host'
gives 125 '--strict with --nested is refused' \
	guard run --strict --nested -- true
says "$err" '--nested'

# The run's pipes cannot be used in the other direction, to send data to the
# next reader.
echo input | {
	guard run -q --strict -- sh -c 'read -r x; echo lies >/proc/self/fd/0'
	cat
} >"$T/left" 2>&1
is "$(grep -c lies "$T/left")" 0 '--strict: a run cannot write into its stdin'
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
is "$(grep -c lies "$T/left")" 0 \
	'--strict: guard exec cannot write into its stdin'
is "$(grep -c input "$T/left")" 1 '--strict: guard exec reads its stdin'

# --- allow ---
gives 125 '--allow refuses an unknown name' guard run --allow nothing -- true
says "$err" '--allow must be perf'
gives 0 '--allow accepts several names' \
	guard run --allow perf --allow 32bit --allow userfaultfd \
	--allow io_uring -- true

# --- a home directory in /tmp, which a run does not see ---
mkdir -p /tmp/home
gives 0 'the home directory of --strict may lie in /tmp' \
	env HOME=/tmp/home guard run -q --strict -- sh -c \
	'[ "$(ls -A /tmp/home)" = "" ] && touch /tmp/home/x'
rm -rf /tmp/home
finish
