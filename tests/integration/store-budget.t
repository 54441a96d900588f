#!/bin/sh
# The size of the store: a snapshot stops before the disk is full; old snapshots
# are removed automatically.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- max-size ---
gives 0 'a small snapshot is stored' guard snapshot
echo 'max-size = 500K' >"$state/config"
head -c 1000000 /dev/urandom >big
gives 1 'a snapshot above max-size is refused' guard snapshot
says "$err" 'limit is 500 KB (max-size): `guard prune` frees space'
is "$(guard log | wc -l)" 1 'the refused snapshot is not listed'
is "$(ls "$state/store/tmp")" '' 'the refused snapshot leaves no temporary file'
gives 0 'verify --read-data accepts the store' guard verify --read-data
rm big
gives 0 'a small snapshot is stored after that' guard snapshot
echo 'max-size = huge' >"$state/config"
gives 1 'an invalid configuration is reported by snapshot' guard snapshot
says "$err" "config: line 1: max-size: invalid size 'huge'"
gives 0 'an invalid configuration does not prevent a run' guard run -- true
rm "$state/config"

# --- a small file system ---
if [ "$me" = root ] && mkdir -p /small &&
	mount -t tmpfs -o size=30m none /small 2>"$T/mount"; then
	mkdir "$HOME/data"
	i=0
	while [ $i -lt 12 ]; do
		i=$((i + 1))
		head -c 4000000 /dev/urandom >"$HOME/data/$i"
	done
	GUARD_HOME=/small/state
	export GUARD_HOME
	echo 'min-free = 8M' >"$T/config"
	gives 0 'du on a small file system is accepted' guard du
	cp "$T/config" /small/state/config
	gives 1 'a snapshot larger than the file system is refused' \
		guard snapshot "$HOME/data"
	says "$err" '8.0 MB must stay free (min-free)'
	ok 'the file system was never full' test \
		"$(df --output=avail -B 1000000 /small | tail -n 1)" -ge 7
	is "$(guard log -a)" '' 'the refused snapshot is not stored'
	is "$(ls /small/state/store/tmp)" '' \
		'the refused snapshot leaves no temporary file on the small file system'
	rm "$HOME/data"/1? "$HOME/data"/[5-9]
	gives 0 'a snapshot that fits is stored' guard snapshot "$HOME/data"
	gives 0 'verify --read-data accepts that store' guard verify --read-data
	rm /small/state/config
	gives 0 'a snapshot without max-size is stored' guard snapshot
	head -c 40000000 /dev/urandom >"$HOME/data/huge"
	gives 1 'a snapshot larger than the file system is refused without max-size' \
		guard snapshot "$HOME/data"
	says "$err" 'stay free (min-free)'
	says "$err" 'guard prune'
	mount -o remount,ro /small
	gives 1 'a snapshot on a read-only file system is refused' \
		guard snapshot
	says "$err" 'only log, ls, show and diff work'
	gives 0 'log works on a read-only file system' guard log
	unset GUARD_HOME
	umount /small
else
	skip 'the plain user cannot mount a small file system'
fi

# --- automatic prune ---
stamp=$state/last-prune
ok 'the time of the first prune is recorded' test -f "$stamp"
touch -d '3 days ago' "$stamp"
before=$(stat -c %Y "$stamp")
gives 0 'a snapshot days later is stored' guard snapshot
settle
ok 'a snapshot starts an automatic prune' \
	test "$(stat -c %Y "$stamp")" -gt "$before"
touch -d '3 days ago' "$stamp"
gives 0 'a run days later ends with 0' guard run -q -- true
settle
ok 'a run starts an automatic prune' test "$(stat -c %Y "$stamp")" -gt "$before"
touch -d '3 days ago' "$stamp"
before=$(stat -c %Y "$stamp")
echo 'auto-prune = no' >"$state/config"
gives 0 'a snapshot with automatic prune disabled is stored' guard snapshot
settle
is "$(stat -c %Y "$stamp")" "$before" 'automatic prune can be disabled'

finish
