#!/bin/sh
# The versions during a run in the store: hidden from lists, purged, thinned,
# and kept when the run's directory has gone.
# users: one
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"
# shellcheck source=tests/lib/told.sh
. "${0%/*}/../lib/told.sh"

check=/opt/guard/build/tests/timeline/check

# rewrite [COMMAND]: a run that waits after each line until its file is held.
# COMMAND is executed when it has a spool.
rewrite() {
	# shellcheck disable=SC2119 # no options
	begin
	rundir=$told
	until [ -d "$rundir/timeline/spool" ]; do
		kill -0 $run || return 1
		sleep 0.02
	done
	"${1:-:}"
	while read -r file line; do
		tell "$line"
		[ "$file" = - ] || held "$file"
	done
	end
}

# has RUN-DIR TEXT: the content of a record, wherever it is stored.
# shellcheck disable=SC2317 # called through ok and no
has() {
	echo "$2" >"$T/wanted"
	"$check" has "$1" "$T/wanted"
}

make_home
cd "$HOME/project" || exit 99
echo base >base
guard snapshot -q >"$out"
rewrite <<-'END'
	a echo one >a
	a echo two >a
	b echo 1 >b
	b echo 2 >b
	b echo 3 >b
	b echo 4 >b
	b echo 5 >b
	key echo secret >key
	key.bak mv key key.bak
	later echo x >later
	key.bak echo other >key.bak
	records echo mine >records
	contents/x mkdir contents; echo mine >contents/x
	- rm a
END
settle
is "$(ls "$rundir/timeline/spool")" '' 'the end of the run empties the spool'
number=$(sed -n 's/^snapshot=//p' "$rundir/timeline/stored")
ok 'a content is in the store' has "$rundir" one
ok 'a deleted one is there, too' has "$rundir" two

gives 0 'log lists snapshots' guard log
no 'but not the one with the versions' grep "^$number " "$out"
gives 0 'log --json lists them' guard log --json
silent "$out" timeline
gives 2 'a diff with its number is refused' guard diff "$number"
says "$err" 'is no snapshot of files'
for verb in "show $number" "show $number:records" \
	"restore --at $number records" "find --at $number records" \
	"grep --at $number mine" "pin $number"; do
	# shellcheck disable=SC2086 # words
	gives 1 "guard $verb is refused" guard $verb
	says "$err" 'is no snapshot of files'
done
gives 0 'find searches snapshots of files' guard find records
is "$(wc -l <"$out")" 1 'and no versions by number'
gives 0 'du works' guard du --json
says "$out" '"runs_bytes"'

gives 0 'purge -n counts versions during runs' guard purge -n key
says "$err" '0 versions in snapshots, 2 versions during runs'
ok 'and removes none' has "$rundir" secret
gives 0 'purge removes them' guard purge --confirm key key
says "$err" 'purged from 0 snapshots, 2 versions during runs'
no 'also under the name to which the file was moved' has "$rundir" secret
ok 'others stay' has "$rundir" two
gives 1 'a second purge has nothing to remove' guard purge --confirm key key
gives 0 'purge of a directory called contents' \
	guard purge --confirm contents contents
ok 'leaves other versions alone' has "$rundir" one

gives 0 'the store verifies' guard verify --read-data
gives 0 'discard does not wait for an import' \
	flock "$rundir/timeline/lock" timeout 20 guard discard -y
settle
gives 0 'undo restores the run' guard undo -y
ok 'with its versions' has "$rundir" one
gives 0 'apply works' guard apply -y -q
settle
rundir=$(echo "$state"/runs/closed/*-*)
gives 0 'prune keeps all for a day' guard prune -y
ok 'one that stood shorter is there' has "$rundir" one
touch -d '2 days ago' "$rundir/record"
gives 0 'prune thins afterwards' guard prune -y
ok 'the last one before the deletion stays' has "$rundir" two
kept=0
for content in 1 2 3 4; do
	if has "$rundir" $content; then
		kept=$((kept + 1))
	fi
done
ok 'one of four is left' [ $kept -ge 1 ]
ok 'or two, of two minutes' [ $kept -le 2 ]
ok 'and the one at the end' has "$rundir" 5

# A discard does not wait for an import at work: until its end the versions are
# in the trash.
# shellcheck disable=SC2317 # called by rewrite
hold_imports() {
	exec 7>"$rundir/timeline/lock"
	flock 7
}
# shows NAME: all of the run can be read
shows() {
	gives 0 "$1: a log" guard log --json "$run_id"
	time=$(sed -n '/"time"/h; /"path": "draft"/{x;s/.*T\(.*\)Z.*/\1/p;q;}' \
		"$out")
	gives 0 'a version is restored' \
		guard restore -y --at "$run_id@$time" draft
	is "$(cat draft)" "first" 'with its content'
	rm draft
}
rewrite hold_imports <<-'END'
	draft echo first >draft
	draft echo second >draft
	- rm draft; echo >other
END
run_id=${rundir##*/}
gives 0 'a discard while the versions are stored' guard discard -q -y "$run_id"
no 'they are not in the store yet' rmdir "$state"/trash/*-"$run_id"/timeline/spool
shows 'the trash has them'
flock -u 7
settle
ok 'then they are in the store' rmdir "$state"/trash/*-"$run_id"/timeline/spool
rm -r "$state"/trash/*-"$run_id"
shows 'without the trash'

# A run that changes nothing leaves its versions in the store.
rewrite <<-'END'
	gone echo gone >gone
	- rm gone
END
settle
is "$(echo "$state"/runs/*-*)" "$state/runs/*-*" 'an unchanged run goes'
gives 0 'and what it destroyed is stored' guard purge -n gone
says "$err" '1 version during runs'

gives 0 'purge --everything removes all' \
	guard purge --everything --confirm "$state"
finish
