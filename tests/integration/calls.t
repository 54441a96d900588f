#!/bin/sh
# users: one
# How often the program scans layers, compares trees and loads snapshots, counted
# by a program that is linked with tests/calls/count.c.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

counting=/opt/guard/build/tests/calls/guard
mkdir "$HOME/counted"
cd "$HOME/counted" || exit 99
for i in $(seq 20); do echo "$i" >"f$i"; done
ok 'a first snapshot' guard snapshot -q
ok 'a run changes three files' \
	guard run -q -- sh -c 'echo x >f1; rm f2; echo y >new'
settle

# at_most SCANS TREES LOADS ARGS: the counts of the command's own process
at_most() {
	scans=$1 trees=$2 loads=$3
	shift 3
	: >"$T/calls"
	gives 0 "guard $* works" env GUARD_CALLS="$T/calls" "$counting" "$@"
	tail -n 1 "$T/calls" >"$T/counts"
	read -r _ scanned _ compared _ loaded <"$T/counts"
	ok "guard $* scans at most $scans layers ($scanned)" \
		[ "$scanned" -le "$scans" ]
	ok "guard $* compares trees at most $trees times ($compared)" \
		[ "$compared" -le "$trees" ]
	ok "guard $* loads at most $loads snapshots ($loaded)" \
		[ "$loaded" -le "$loads" ]
}
at_most 0 1 2 status
at_most 0 1 2 diff --name-status
at_most 0 1 2 diff
# The fourth comparison is for build times: the newest file beside the applied
# ones.
at_most 0 4 5 apply -q -y
finish
