#!/bin/sh
# Calls that overwrite a file and would pass a lease on it by: the holder of the
# lease, outside of the run, sees the earlier content, and the caller sees the
# result that the call has without guard.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

overwriter=/opt/guard/build/tests/lib/overwriter
make_home
cd "$HOME/project" || exit 99
mkdir "$T/alone"
(cd "$T/alone" && "$overwriter" alone) | sed 's/^done //' >"$T/wanted"

# all_kept WHAT COMMAND...: makes all calls by the command, in a run
all_kept() {
	what=$1
	shift
	gives 0 "$what: the calls are made" timeout 60 "$overwriter" hold \
		"$state/runs/*/upper" "$@" "$overwriter" calls
	# Root of a namespace can write to it, root of a run cannot.
	is "$(sed -n 's/^no-write-mode \([0-9]*\).*/\1/p' "$out")" \
		"$(case $what in *unshare*) echo 0 ;; *) echo 13 ;; esac)" \
		"$what: a file without write permission has its errno"
	grep -v '^no-write-mode 13' "$out" | grep ' .* ' >"$T/held"
	is "$(grep -c kept "$T/held") $(grep -v 'kept$' "$T/held")" \
		"$(wc -l <"$T/held") " "$what: the earlier contents are kept"
	sed 's/\( [0-9]*\) [a-z]*$/\1/' "$out" | grep -v '^no-write' >"$T/got"
	ok "$what: the results are those without guard" \
		sh -c 'grep -v ^no-write "$1" | diff - "$2"' - "$T/wanted" "$T/got"
	guard discard -q -y latest
}

# guard itself takes no lease: it would between that of the test and the call.
keep=--versions=60s
all_kept 'a plain run' guard run -q "$keep" --
for how in '' 'unshare -Ur' 'unshare -Urmpf'; do
	# shellcheck disable=SC2086 # a command
	all_kept "--nested $how" guard run -q "$keep" --nested -- $how
done
if needs 'bubblewrap inside of a run' bwrap; then
	all_kept '--nested bwrap' guard run -q "$keep" --nested -- \
		bwrap --bind / / --dev /dev --unshare-all
fi

# --- files of an earlier run, which may be on the upper layer ---
gives 0 'a run writes files' guard run -q --name first -- "$overwriter" prepare
now=$(date +%s)
until [ "$(date +%s)" -gt $((now + 1)) ]; do :; done
all_kept 'a continued run' guard run -q "$keep" --continue first --

# --- guard exec ---
mkfifo "$T/end"
guard run -q "$keep" --name live -- sh -c 'touch begun; cat' <"$T/end" >/dev/null &
exec 7>"$T/end"
until ls "$state"/runs/*/upper/begun >/dev/null 2>&1; do
	kill -0 $! || break
done
gives 0 'guard exec makes a call' timeout 60 "$overwriter" hold \
	"$state/runs/*/upper" guard exec live -- "$overwriter" calls truncate
is "$(cat "$out")" 'truncate 0 kept' 'guard exec: the earlier content is kept'

# --- while the caller waits ---
export ON_BREAK="guard diff --stat live >$T/diff 2>&1"
gives 0 'a run is suspended while a call waits' timeout 60 "$overwriter" hold \
	"$state/runs/*/upper" guard exec live -- "$overwriter" calls open-empty
is "$(cat "$out")" 'open-empty 0 kept' 'the call goes on when it is resumed'
says "$T/diff" 'open-empty'
silent "$T/diff" 'does not stop'
# The lease is broken a little before that process begins.
export ON_BREAK='guard exec live -- sh -c "
	until [ \"\$killed\" ]; do
		for p in /proc/[0-9]*; do
			[ \"\$(cat \"\$p/comm\")\" != guard-lease ] ||
				kill -KILL \"\${killed:=\${p#/proc/}}\"
		done
	done" 2>/dev/null'
gives 0 "the run kills guard's process that waits" timeout 60 "$overwriter" \
	hold "$state/runs/*/upper" guard exec live -- "$overwriter" calls open2
is "$(cat "$out")" 'open2 11 kept' 'the call is made at once, and fails'
unset ON_BREAK
exec 7>&-
wait
guard discard -q -y live

# --- without the notifier, the timeline has a row that says why ---
for allow in io_uring 32bit; do
	gives 0 "a run can use --allow $allow" \
		guard run -q --allow $allow -- touch made
	ok "a row of the timeline names $allow" \
		grep -qa "${allow%bit}" "$state"/runs/*/timeline/records
	guard discard -q -y latest
done
gives 0 'a plain run' guard run -q -- touch made
no 'a plain run has no such row' grep -qaE 'io_uring|32-bit|Linux 5.19' \
	"$state"/runs/*/timeline/records
guard discard -q -y latest

# --- a call that fails leaves the lower file where it is ---
echo text >closed
chmod 444 closed
for how in '--name lower' '--continue lower'; do
	# shellcheck disable=SC2086 # options
	gives 0 "a run opens a file without write permission $how" guard run -q \
		$how -- python3 -c 'import os
open("made", "w")
for call in (lambda: os.truncate("closed", 0),
             lambda: os.open("closed", os.O_WRONLY | os.O_NONBLOCK)):
    try:
        call()
        raise SystemExit(1)
    except PermissionError:
        pass'
done
is "$(find "$state"/runs/*/upper -name closed)" '' \
	'a call that fails copies no file up'
finish
