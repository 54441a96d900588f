#!/bin/sh
# verify, prune, undelete, du: maintenance of the store.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

gives 1 'verify without a store is refused' guard verify
says "$err" 'nothing is stored yet'
gives 0 'du without a store is accepted' guard du
gives 0 'a first snapshot is stored' guard snapshot -q
echo changed >README.md
gives 0 'a second snapshot is stored' guard snapshot -q
gives 0 'verify is accepted' guard verify
says "$err" 'the store is intact: 2 snapshots'
gives 0 'verify --read-data is accepted' guard verify --read-data
says "$err" 'every byte read'
gives 0 'verify --sample --json is accepted' guard verify --sample 10% --json
says "$out" '"whole": true'
gives 2 'verify --read-data with --sample is refused' \
	guard verify --read-data --sample 10%
gives 2 'verify with an invalid share is refused' guard verify --sample 0
gives 1 'verify of a missing directory of backups is refused' guard verify now
says "$err" "/project/now': No such file or directory"
gives 0 'du is accepted' guard du
says "$out" '2 snapshots'
gives 0 'du --json is accepted' guard du --json
says "$out" '"snapshot_count": 2'

# --- minimum retention holds against every rule ---
gives 0 'prune with the strictest rules is accepted' \
	guard prune -y --keep-last 1 --max-size 1K
says "$err" 'moved to the trash, deleted in 7 days'
says "$err" 'guard prune --trash deletes them now'
says "$err" 'no rule may remove them'
gives 0 'verify accepts the store after that prune' guard verify
says "$err" '2 snapshots'
gives 0 'prune without candidates needs no --yes' guard prune
says "$err" 'nothing to do'
gives 2 'rules that keep nothing are refused' guard prune --keep-last 0
gives 2 'an invalid time is refused' guard prune --keep-within soon
gives 2 'an invalid size is refused' guard prune --max-size lots
gives 2 'a size of 0 is refused' guard prune --max-size 0
says "$err" 'keep no'
gives 2 'an empty tag is refused' guard prune --keep-tag ''
says "$err" 'invalid tag'
gives 0 'undelete without a number lists the trash' guard undelete
says "$err" 'no snapshot is in the trash'
gives 1 'undelete of an unknown snapshot is refused' guard undelete 1
says "$err" 'no such snapshot in the trash'
gives 2 'undelete of a word is refused' guard undelete latest

# --- tags, pins, rules of the configuration ---
# why SNAPSHOT: prints the rules by which the last prune --json keeps it
why() {
	python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["snapshots"]:
	if s["snapshot"] == int(sys.argv[2]): print(*s["kept_by"])' "$out" "$1"
}
gives 0 'a snapshot with a tag is stored' guard snapshot -q --tag release
gives 0 'prune --json with --keep-tag is accepted' \
	guard prune -n --json --keep-tag release
is "$(why 3)" 'newest day tag' \
	'prune --json names the rules for the tagged snapshot'
is "$(why 1)" 'newest day' 'prune --json names the rules for another snapshot'
gives 0 'pin accepts two snapshots' guard pin 1 latest
says "$err" 'snapshot 3 is kept'
gives 0 'pin without a number is accepted' guard pin
is "$(sed 's/ .*//' "$out" | tr '\n' ' ')" '1 3 ' \
	'pin without a number lists the pinned snapshots'
gives 0 'log accepts pinned snapshots' guard log
is "$(grep -c '(pinned)' "$out")" 2 'log marks pinned snapshots'
gives 0 'prune --json with pins is accepted' guard prune -n --json --keep-last 1
is "$(why 1)" 'newest day pin' 'prune --json names the pin'
gives 0 'unpin is accepted' guard unpin 1
gives 0 'pin --json is accepted' guard pin --json
is "$(tr -d ' \n' <"$out")" '{"schema":"guard.pins/1","snapshots":[3]}' \
	'are one less'
gives 1 'pin of an unknown snapshot is refused' guard pin 99
gives 2 'unpin without a number is refused' guard unpin
echo 'keep-yearly = 2' >"$state/config"
gives 0 'prune with rules of the configuration is accepted' \
	guard prune -n --json
is "$(why 3)" 'newest day pin yearly' \
	'prune --json names the rules of the configuration'
gives 0 'prune with options is accepted' guard prune -n --json --keep-last 1
is "$(why 3)" 'newest day pin last' \
	'options replace the rules of the configuration'
echo 'keep-forever = yes' >"$state/config"
gives 1 'prune with an invalid configuration is refused' guard prune -n
says "$err" "config: line 1: no such setting: 'keep-forever'"
rm "$state/config"
gives 0 'undelete --json is accepted' guard undelete --json
says "$out" '"snapshots": []'
gives 0 'repair --json of an intact store is accepted' guard repair --json
says "$out" '"whole": true'
gives 0 'verify --progress=json is accepted' guard verify --progress=json \
	--read-data
says "$err" '"progress": "verify"'
guard unpin -q 3

# --- the process that uses the store is named ---
mkfifo "$T/go"
(
	exec 9<"$state/store/lock"
	flock -s 9
	: >"$T/locked"
	read -r _ <"$T/go"
) &
holder=$!
while [ ! -e "$T/locked" ]; do kill -0 "$holder" || break; done
guard prune -y >"$out" 2>"$T/waiting" &
pruner=$!
while ! grep -q 'waiting' "$T/waiting"; do
	kill -0 "$pruner" 2>/dev/null || break
done
ok 'prune names the process that uses the store' \
	grep -q 'in use by' "$T/waiting"
echo >"$T/go"
wait "$holder"
wait "$pruner"
is $? 0 'prune continues after that process'

# --- undelete ---
# The clock of this prune is a month ahead.
mkdir "$HOME/old"
for i in 1 2 3 4 5 6; do
	echo "$i" >"$HOME/old/f"
	guard -C "$HOME/old" snapshot -q -m "the $i. of old"
done >"$T/numbers"
second=$(sed -n 2p "$T/numbers")
ok 'prune a month later is accepted' \
	/opt/guard/build/tests/crash/storeact prune \
	"$state/store" 1
gives 1 'show of a pruned snapshot is refused' guard show "$second:f"
gives 0 'undelete lists the pruned snapshot' guard undelete
says "$out" 'the 2. of old'
gives 0 'undelete --json lists it too' guard undelete --json
says "$out" "\"snapshot\": $second"
gives 0 'undelete brings back the snapshot' guard undelete "$second"
says "$err" "snapshot $second is restored"
gives 0 'show of that snapshot is accepted' guard show "$second:f"
is "$(cat "$out")" 2 'the snapshot has its content'
gives 0 'log lists the snapshot again' guard -C "$HOME/old" log
says "$out" 'the 2. of old'
gives 0 'verify --read-data accepts the store after undelete' \
	guard verify --read-data

# --- a damaged store ---
# The first pack with file content (kind 0).
data_pack() {
	find "$state/store/packs" -name '*.gpk' | sort | while read -r pack; do
		[ "$(od -An -tu1 -j10 -N1 "$pack" | tr -d ' ')" != 0 ] || {
			echo "$pack"
			break
		}
	done
}

pack=$(data_pack)
chmod 600 "$pack"
printf 'XXXXXXXX' | dd of="$pack" bs=1 seek=200 conv=notrunc 2>"$T/dd"
gives 1 'verify reports a damaged pack' guard verify --read-data
says "$out" "${pack##*/}"
says "$out" 'lost     snapshot 1: '
says "$err" 'repairs the store as far as possible'
gives 1 'verify --json reports a damaged pack' guard verify --read-data --json
says "$out" '"whole": false'
gives 1 'repair without --yes is refused' guard repair
says "$err" 'use -y'
gives 1 'repair --json without --yes is refused' guard repair --json
ok 'repair --json reports the damage and changes nothing' \
	python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
assert not told["whole"] and not told["done"] and told["faults"]' "$out"
git show HEAD:README.md >README.md
gives 0 'repair restores content that still exists in files' guard repair -y
gives 0 'verify --read-data accepts the repaired store' guard verify --read-data
gives 0 'show of an old version is accepted after repair' guard show 1:README.md
ok 'the old version has its content' cmp "$out" README.md
gives 0 'repair of an intact store is accepted' guard repair
says "$err" 'nothing to repair'

# --- damage that cannot be repaired ---
chmod 700 "$state/store" "$state/store/packs"
for pack in "$state/store/packs"/*.gpk; do
	[ "$(od -An -tu1 -j10 -N1 "$pack" | tr -d ' ')" != 0 ] || rm "$pack"
done
chmod 500 "$state/store/packs" "$state/store"
gives 1 'prune of a damaged store is refused' guard prune -y
says "$err" 'nothing removed'
says "$err" 'guard repair repairs'
gives 1 'show of lost content is refused' guard show 2:README.md
says "$err" 'guard repair'
gives 1 'repair of lost content ends with 1' guard repair -y
says "$out" 'lost     snapshot 2: README.md'
gives 1 'show of lost content is refused after repair' guard show 2:README.md
gives 0 'show of intact content is accepted' guard show 1:README.md
ok 'intact content is unchanged' cmp "$out" README.md
gives 1 'verify after repair reports the loss' guard verify
says "$err" 'others are lost'
gives 0 'prune works after repair' guard prune -y
# The store stays damaged on purpose.
mv "$state" "$T/home-state"
finish
