#!/bin/sh
# Signals after the end of a command, when guard cannot print its summary.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
echo a >f

# Standard error is a full pipe: guard cannot print its summary.
mkdir "$HOME/gate"
mkfifo "$T/full" "$HOME/gate/go"
exec 4<>"$T/full"
for signal in INT TERM HUP; do
	# shellcheck disable=SC2016 # variables of the run
	env --default-signal=INT guard run --rw "$HOME/gate" -- sh -c \
		'echo "$1" >f; read -r _ <~/gate/go' sh "$signal" 2>"$T/full" &
	guard=$!
	exec 5>"$HOME/gate/go"
	for size in 4096 1; do
		dd if=/dev/zero bs=$size oflag=nonblock >&4 2>"$T/dd"
	done
	exec 5>&-
	i=0
	until grep -qs '^state=ended' "$state"/runs/*/record; do
		i=$((i + 1))
		[ $i -lt 500 ] || break
		sleep 0.01
	done
	kill -$signal $guard
	i=0
	while kill -0 $guard 2>/dev/null; do
		i=$((i + 1))
		[ $i -lt 500 ] || break
		sleep 0.01
	done
	no "SIG$signal ends guard while it prints what the run changed" \
		kill -9 $guard
	wait $guard
	timeout 1 cat <&4 >"$T/said"
	gives 0 'the run is pending' guard diff --no-pager
	says "$out" "+$signal"
	ok 'it can be discarded' guard discard -y -q latest
done

finish
