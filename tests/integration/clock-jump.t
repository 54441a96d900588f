#!/bin/sh
# A clock that jumps deletes nothing: not the trash of runs, not the trash of
# snapshots, and no pending run is retired.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99
shift_clock=/opt/guard/build/tests/lib/clock.so
mkdir "$HOME/other" || exit 99

# in_days N ARGS: guard in another project with a clock that is N days ahead;
# -N: N days back. CLOCK_ALL=1: the time since boot, too.
# shellcheck disable=SC2317 # called by gives
in_days() {
	(
		cd "$HOME/other" || exit 99
		days=$1
		shift
		CLOCK_DAYS=$days LD_PRELOAD=$shift_clock exec guard "$@"
	)
}

# discarded NAME: a run that is discarded
discarded() {
	guard run -q --name "$1" -- sh -c "echo $1 >$1" || exit 99
	guard discard -q -y "$1" || exit 99
}

# back NAME: whether the discarded run can be restored and applied
# shellcheck disable=SC2317 # called by ok
back() {
	settle
	guard undo -y && guard apply -y "$1" && [ "$(cat "$1")" = "$1" ]
}

# steady: the clock has been right for long
steady() {
	settle
	guard status >/dev/null 2>&1 || exit 99
	sed -i 's/^until=.*/until=0/' "$state/clock"
}

# older DIR DAYS: its entries came to the trash so many days earlier
older() {
	settle
	for entry in "$1"/[0-9]*-*; do
		time=${entry##*/}
		time=${time%%-*}
		mv "$entry" "$1/$((time - $2 * 86400))-${entry#*/"$time"-}" ||
			exit 99
	done
}

for days in 8 400 -3650; do
	discarded "run$days"
	gives 0 "status $days days ahead works" in_days "$days" status
	gives 0 "a run $days days ahead works" in_days "$days" run -q -- true
	gives 0 "a second run $days days ahead works" \
		in_days "$days" run -q -- true
	gives 0 "a snapshot $days days ahead works" in_days "$days" snapshot -q
	gives 0 "a run with the right clock works" guard run -q -- true
	ok "a run discarded before a jump of $days days is restored" \
		back "run$days"
	steady
done

discarded all
export CLOCK_ALL=1
gives 0 'a run with all clocks ahead works' in_days 8 run -q -- true
unset CLOCK_ALL
ok 'a run discarded before all clocks jumped is restored' back all
steady

guard run -q --name early -- sh -c 'echo early >early' || exit 99
(
	CLOCK_DAYS=-3650 LD_PRELOAD=$shift_clock exec guard discard -q -y early
) || exit 99
gives 0 'a run after a discard ten years ago works' guard run -q -- true
ok 'a run discarded ten years ago by the clock is restored' back early
steady

# --- snapshots ---
echo a >a
guard snapshot -q || exit 99
rm a
guard snapshot -q || exit 99
guard snapshot -q || exit 99
gives 0 'prune moves snapshots to the trash' guard prune -y --keep-last 1
kept=$(guard undelete | wc -l)
ok 'the trash has snapshots' test "$kept" -gt 0
gives 0 'prune 8 days ahead works' in_days 8 prune -y
says "$err" 'the clock has jumped'
ok 'prune 8 days ahead leaves the trash' \
	test "$(guard undelete | wc -l)" -ge "$kept"
touch -d '3 days ago' "$state/last-prune"
gives 0 'a snapshot 8 days ahead works' in_days 8 snapshot -q
settle
ok 'the automatic prune 8 days ahead leaves the trash' \
	test "$(guard undelete | wc -l)" -ge "$kept"

# --- a pending run ---
guard run -q --name pending -- sh -c 'echo p >p' || exit 99
rm -f "$state/last-retired" "$state/last-warned"
gives 0 'a run 40 days ahead works' in_days 40 run -q -- true
silent "$err" 'has been pending'
rm -f "$state/last-retired" "$state/last-warned"
gives 0 'a run 50 days ahead works' in_days 50 run -q -- true
ok 'a pending run stays after two jumps' guard apply -y pending

# --- a clock that is right ---
steady
discarded old
older "$state/trash" 8
older "$state/store/trash" 8
before=$(find "$state/trash" -mindepth 1 -maxdepth 1 | wc -l)
gives 0 'status with old trash works' guard status
is "$(find "$state/trash" -mindepth 1 -maxdepth 1 | wc -l)" "$before" \
	'status deletes nothing'
gives 0 'a run with old trash works' guard run -q -- true
settle
no 'a run deletes runs that were in the trash for a week' \
	ls -d "$state"/trash/*-discard-*
gives 0 'prune with old trash works' guard prune -y
gives 0 'undelete works after the prune' guard undelete
silent "$out" 'pruned 8 d ago'

# --- the record ---
discarded again
older "$state/trash" 8
: >"$state/clock"
gives 0 'a run after the loss of the record works' guard run -q -- true
settle
ok 'without the record of the clock nothing is deleted' \
	ls -d "$state"/trash/*-discard-*

finish
