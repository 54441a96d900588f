#!/bin/sh
# What the store may take: a snapshot stops before the disk is full; old ones
# go by themselves.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

# --- max-size ---
gives 0 'a snapshot' guard snapshot
echo 'max-size = 500K' >"$state/config"
head -c 1000000 /dev/urandom >big
gives 1 'one that is larger than the store may be' guard snapshot
says "$err" 'may take 500 KB (max-size): `guard prune` makes room'
is "$(guard log | wc -l)" 1 'is not there'
is "$(ls "$state/store/tmp")" '' 'and leaves nothing behind'
gives 0 'the store' guard verify --read-data
rm big
gives 0 'a small one' guard snapshot
echo 'max-size = huge' >"$state/config"
gives 1 'a broken config' guard snapshot
says "$err" "config: line 1: max-size: 'huge' is no size"
gives 0 'does not keep anything from running' guard run -- true
rm "$state/config"

# --- a small disk ---
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
	gives 0 'a first look' guard du
	cp "$T/config" /small/state/config
	gives 1 'more than there is room for' guard snapshot "$HOME/data"
	says "$err" '8.0 MB stay free (min-free)'
	ok 'the disk never was full' test \
		"$(df --output=avail -B 1000000 /small | tail -n 1)" -ge 7
	is "$(guard log -a)" '' 'nothing is stored'
	is "$(ls /small/state/store/tmp)" '' 'and nothing left behind'
	rm "$HOME/data"/1? "$HOME/data"/[5-9]
	gives 0 'what has room' guard snapshot "$HOME/data"
	gives 0 'is whole' guard verify --read-data
	rm /small/state/config
	gives 0 'without a setting there is a limit too' guard snapshot
	head -c 40000000 /dev/urandom >"$HOME/data/huge"
	gives 1 'more than the disk' guard snapshot "$HOME/data"
	says "$err" 'stay free (min-free)'
	says "$err" 'guard prune'
	mount -o remount,ro /small
	gives 1 'a disk that is read-only' guard snapshot
	says "$err" 'can be read'
	gives 0 'and is read' guard log
	unset GUARD_HOME
	umount /small
else
	skip 'a small disk: nothing can be mounted'
fi

# --- by themselves ---
stamp=$state/last-prune
ok 'the first time is noted' test -f "$stamp"
touch -d '3 days ago' "$stamp"
before=$(stat -c %Y "$stamp")
gives 0 'a snapshot days later' guard snapshot
settle
ok 'prunes beside' test "$(stat -c %Y "$stamp")" -gt "$before"
touch -d '3 days ago' "$stamp"
gives 0 'a run days later' guard run -q -- true
settle
ok 'does, too' test "$(stat -c %Y "$stamp")" -gt "$before"
touch -d '3 days ago' "$stamp"
before=$(stat -c %Y "$stamp")
echo 'auto-prune = no' >"$state/config"
gives 0 'and where it is switched off' guard snapshot
settle
is "$(stat -c %Y "$stamp")" "$before" 'it does not'

finish
