#!/bin/sh
# verify, prune, undelete, du: looking after the store.
# shellcheck source=tests/lib/tap.sh
. "${0%/*}/../lib/tap.sh"

make_home
cd "$HOME/project" || exit 99

gives 1 'verify of nothing' guard verify
says "$err" 'nothing is stored yet'
gives 0 'du of nothing' guard du
gives 0 'a snapshot' guard snapshot -q
echo changed >README.md
gives 0 'another' guard snapshot -q
gives 0 'verify' guard verify
says "$err" 'the store is whole: 2 snapshots'
gives 0 'verify of all bytes' guard verify --read-data
says "$err" 'every byte read'
gives 0 'as JSON' guard verify --sample 10% --json
says "$out" '"whole": true'
gives 2 'all and a share' guard verify --read-data --sample 10%
gives 2 'an odd share' guard verify --sample 0
gives 2 'an operand too many' guard verify now
gives 0 'du' guard du
says "$out" '2 snapshots'
gives 0 'du as JSON' guard du --json
says "$out" '"snapshot_count": 2'

# --- floors hold against any rule ---
gives 0 'prune by the hardest rule' guard prune -y --keep-last 1 --max-size 1K
says "$err" 'no rule may take it'
gives 0 'takes nothing of today' guard verify
says "$err" '2 snapshots'
gives 0 'prune without a question to ask' guard prune
says "$err" 'nothing was to be done'
gives 2 'rules that keep nothing' guard prune --keep-last 0
gives 2 'an odd time' guard prune --keep-within soon
gives 2 'an odd size' guard prune --max-size lots
gives 2 'a size of nothing' guard prune --max-size 0
says "$err" 'keep nothing'
gives 2 'a tag that no snapshot can have' guard prune --keep-tag ''
says "$err" 'is no tag'
gives 0 'undelete' guard undelete
says "$err" 'no snapshot is in the trash'
gives 1 'undelete of what is not there' guard undelete 1
says "$err" 'not in the trash'
gives 2 'undelete of no number' guard undelete latest

# --- tags, pins, rules of the config ---
# why SNAPSHOT: by which rules the last prune --json keeps it
why() {
	python3 -c 'import json, sys
for s in json.load(open(sys.argv[1]))["snapshots"]:
	if s["snapshot"] == int(sys.argv[2]): print(*s["kept_by"])' "$out" "$1"
}
gives 0 'a snapshot with a tag' guard snapshot -q --tag release
gives 0 'prune as JSON' guard prune -n --json --keep-tag release
is "$(why 3)" 'newest day tag' 'tells why one stays'
is "$(why 1)" 'newest day' 'and another'
gives 0 'pin' guard pin 1 latest
says "$err" 'snapshot 3 stays'
gives 0 'the pinned ones' guard pin
is "$(sed 's/ .*//' "$out" | tr '\n' ' ')" '1 3 ' 'are listed'
gives 0 'log' guard log
is "$(grep -c '(pinned)' "$out")" 2 'marks them'
gives 0 'prune as JSON' guard prune -n --json --keep-last 1
is "$(why 1)" 'newest day pin' 'tells of the pin'
gives 0 'unpin' guard unpin 1
gives 0 'the pinned ones as JSON' guard pin --json
is "$(tr -d ' \n' <"$out")" '{"schema":"guard.pins/1","snapshots":[3]}' \
	'are one less'
gives 1 'pin of none' guard pin 99
gives 2 'unpin without a number' guard unpin
echo 'keep-yearly = 2' >"$state/config"
gives 0 'prune by the config' guard prune -n --json
is "$(why 3)" 'newest day pin yearly' 'goes by its rules'
gives 0 'prune by rules of its own' guard prune -n --json --keep-last 1
is "$(why 3)" 'newest day pin last' 'goes by those'
echo 'keep-forever = yes' >"$state/config"
gives 1 'prune by a broken config' guard prune -n
says "$err" "config: line 1: there is no setting 'keep-forever'"
rm "$state/config"
gives 0 'undelete as JSON' guard undelete --json
says "$out" '"snapshots": []'
gives 0 'repair of a whole store as JSON' guard repair --json
says "$out" '"whole": true'
gives 0 'verify with progress for programs' guard verify --progress=json \
	--read-data
says "$err" '"progress": "verify"'
guard unpin -q 3

# --- who is in the way is named ---
mkfifo "$T/go"
(
	exec 9<"$state/store/lock"
	flock -s 9
	: >"$T/locked"
	read -r _ <"$T/go"
) &
holder=$!
while [ ! -e "$T/locked" ]; do :; done
guard prune -y >"$out" 2>"$T/waiting" &
pruner=$!
while ! grep -q 'waiting' "$T/waiting"; do
	kill -0 "$pruner" 2>/dev/null || break
done
ok 'prune waits for who uses the store' grep -q 'in use by' "$T/waiting"
echo >"$T/go"
wait "$holder"
wait "$pruner"
is $? 0 'and goes on'

# --- out of the trash ---
# Its clock is a month ahead.
mkdir "$HOME/old"
for i in 1 2 3 4 5 6; do
	echo "$i" >"$HOME/old/f"
	guard -C "$HOME/old" snapshot -q -m "the $i. of old"
done >"$T/numbers"
second=$(sed -n 2p "$T/numbers")
ok 'a month later' /opt/guard/build/tests/crash/storeact prune \
	"$state/store" 1
gives 1 'a snapshot that no rule kept' guard show "$second:f"
gives 0 'is in the trash' guard undelete
says "$out" 'the 2. of old'
gives 0 'as JSON' guard undelete --json
says "$out" "\"snapshot\": $second"
gives 0 'comes back' guard undelete "$second"
says "$err" "snapshot $second is back"
gives 0 'with its bytes' guard show "$second:f"
is "$(cat "$out")" 2 'as they were'
gives 0 'and is listed' guard -C "$HOME/old" log
says "$out" 'the 2. of old'
gives 0 'the store is whole' guard verify --read-data

# --- damage ---
# The first pack of files' bytes (kind 0).
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
gives 1 'verify of a damaged store' guard verify --read-data
says "$out" "${pack##*/}"
says "$out" 'lost     snapshot 1: '
says "$err" 'mends what can be mended'
gives 1 'as JSON' guard verify --read-data --json
says "$out" '"whole": false'
gives 1 'repair asks first' guard repair
says "$err" 'say it with -y'
gives 1 'repair as JSON that nobody agreed to' guard repair --json
ok 'says that it is damaged and nothing is done' python3 -c 'import json, sys
told = json.load(open(sys.argv[1]))
assert not told["whole"] and not told["done"] and told["faults"]' "$out"
git show HEAD:README.md >README.md
gives 0 'repair with all bytes still there' guard repair -y
gives 0 'leaves a whole store' guard verify --read-data
gives 0 'an old version' guard show 1:README.md
ok 'has its bytes' cmp "$out" README.md
gives 0 'a whole store' guard repair
says "$err" 'nothing to mend'

# --- what cannot be mended ---
chmod 700 "$state/store" "$state/store/packs"
for pack in "$state/store/packs"/*.gpk; do
	[ "$(od -An -tu1 -j10 -N1 "$pack" | tr -d ' ')" != 0 ] || rm "$pack"
done
chmod 500 "$state/store/packs" "$state/store"
gives 1 'prune of a store that misses something' guard prune -y
says "$err" 'nothing is removed'
says "$err" 'guard repair mends'
gives 1 'show of what is missing' guard show 2:README.md
says "$err" 'guard repair'
gives 1 'repair' guard repair -y
says "$out" 'lost     snapshot 2: README.md'
gives 1 'and never makes it up' guard show 2:README.md
gives 0 'another version' guard show 1:README.md
ok 'is there' cmp "$out" README.md
gives 1 'verify after it' guard verify
says "$err" 'until its snapshots are pruned'
gives 0 'prune goes on' guard prune -y
# What is left is damaged on purpose.
mv "$state" "$T/home-state"
finish
